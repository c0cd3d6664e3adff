"""Growing documents from a vocabulary: what may stand where, and how often, is told by its tables alone.

What the tables do not tell, that names are unique or that a body is there for its joint, the subclasses for the
two languages know: they fix what was grown, element by element (`settle_…`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

from hypothesis import strategies as st
from msgspec import Struct, field

from exoskel.source.vocabulary import Attribute, Element, Vocabulary

Draw = Callable[[st.SearchStrategy[Any]], Any]
Texts = Mapping[str, st.SearchStrategy[str]]


class Branch(Struct, eq=False):
    """An element that was grown.  `raw` is XML that is written as it is, in place of children."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Branch] = field(default_factory=list)
    text: str = ""
    raw: str = ""

    def all(self, *tags: str) -> list[Branch]:
        return [child for child in self.children if child.tag in tags]

    def one(self, tag: str) -> Branch | None:
        return next(iter(self.all(tag)), None)

    def drop(self, *tags: str) -> None:
        self.children[:] = [child for child in self.children if child.tag not in tags]

    def iter(self) -> Iterator[Branch]:
        yield self
        for child in self.children:
            yield from child.iter()


# --- texts --------------------------------------------------------------------------------------------

NICE = (0.0, 1.0, -1.0, 0.5, 2.0, -0.25, 0.1, -3.0, 1e-3, 12.5, -0.0, 1e-9, 4.0)
_SPELLINGS: tuple[Callable[[float], str], ...] = (
    lambda v: repr(v).removesuffix(".0"),
    repr,
    lambda v: f"{v:+.17g}",
    lambda v: f" {v!r}",
    lambda v: f"{v:.16e}",
    lambda v: f"{v:.17G}\t",
    lambda v: repr(v).replace("0.", ".", 1) if repr(v).lstrip("-").startswith("0.") else repr(v),
    lambda v: f"{v:.0f}." if v == int(v) and abs(v) < 1e6 else f"00{v!r}" if v > 0 else repr(v),
)
"""Ways to write a number that all read back to the same double."""


def values(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers from `low` to `high`, the simple ones more often."""
    nice = [v for v in NICE if low <= v <= high] or [high]
    return st.sampled_from(nice) | st.sampled_from(nice) | st.floats(low, high, allow_subnormal=False)


def spelled(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[str]:
    return st.builds(lambda v, spell: spell(v), numbers, st.sampled_from(_SPELLINGS))


def joined(numbers: st.SearchStrategy[float], count: int) -> st.SearchStrategy[str]:
    """Several numbers in one text."""
    parts = st.lists(numbers, min_size=count, max_size=count)
    return st.builds(lambda some, spell: " ".join(spell(v) for v in some), parts, st.sampled_from(_SPELLINGS))


ANY = values(-10.0, 10.0)
POSITIVE = values(1e-3, 5.0)
"""Not too small: of a speck of matter far from the origin, rounding leaves no moment about its centre."""
NOT_NEGATIVE = values(0.0, 5.0)
FRACTION = values(0.0, 1.0)
DIRECTIONS = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 0, 0), (0, 0, -2), (1, 1, 0), (1, -2, 3), (0.6, 0, 0.8), (0, 3, -4))
"""No two of the first three, and none of these and one of the last five, are parallel."""

WORDS = (
    "a",
    "arm",
    "left leg",
    "größe",
    "x.y",
    "a&b",
    "<b>",
    "b/c",
    "~1",
    'quo"te',
    "it's",
    "body_1",
    "名",
    "environment",
)
REMARKS = (
    " a remark ",
    "",
    " <body name='x'/> ",
    "\n  two\n  lines\n",
    " größe ",
    "-> ",
    "[CDATA[",
    " carried ",
    " </body> ",
)


# --- growth -------------------------------------------------------------------------------------------


class Growth:
    """One document on its way.  `texts` are those of kinds of value, by name; `places` those of leaves
    (`tag`) and attributes (`@name`) that are particular."""

    vocabulary: Vocabulary
    texts: Texts
    places: Texts

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def document(self, room: int) -> Branch:
        root = self.grow(self.vocabulary.root, room)
        self.finish(root)
        return root

    def finish(self, root: Branch) -> None:
        """Fix what concerns the whole document."""

    def chance(self, percent: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) >= 100 - percent)

    def some(self, options: Sequence[Any], most: int = 4) -> list[Any]:
        """Some of the options, each as likely as any other, in their order."""
        if not options:
            return []
        places = st.lists(st.integers(0, len(options) - 1), unique=True, max_size=min(most, len(options)))
        return [options[place] for place in sorted(self.draw(places))]

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def name(self, taken: set[str], words: Sequence[str] = WORDS) -> str:
        """A name that is not taken, which it is then."""
        word = str(self.pick(words))
        fresh = next(name for name in (word, *(f"{word} {i}" for i in range(1, 999))) if name not in taken)
        taken.add(fresh)
        return fresh

    def grow(self, rule: Element, room: float) -> Branch:
        """An element, with room for so many more inside of it that need not be."""
        branch = Branch(rule.name)
        declared = [attribute for attribute in rule.attributes.values() if attribute.in_schema]
        chosen = self.some([a for a in declared if not (a.required or a.demanded)])
        branch.attributes = {a.name: self.value(a) for a in declared if a.required or a.demanded or a in chosen}
        if rule.kind is not None:
            branch.text = self.draw(self.places.get(rule.name, self.texts[rule.kind.name]))
        elif rule.opaque:
            branch.raw = self.foreign()
        else:
            branch.children = self._children(rule, room)
        settle = getattr(self, f"settle_{rule.name}", None)
        if settle is not None:
            settle(branch, rule)
        return branch

    def foreign(self) -> str:
        """What may stand in an element that is nobody's business."""
        raise NotImplementedError

    def value(self, attribute: Attribute) -> str:
        return str(self.draw(self.places.get(f"@{attribute.name}", self.texts[attribute.kind.name])))

    def _children(self, rule: Element, room: float) -> list[Branch]:
        wanted = self._wanted(rule, room)
        families = sum(not _is_small(child) for child in wanted)
        share = (room - families) / families if families else 0.0
        grown = [self.grow(child, share) for child in wanted]
        if not rule.ordered and len(grown) > 1 and self.chance(20):
            grown = self.draw(st.permutations(grown))
        return grown

    def _wanted(self, rule: Element, room: float) -> list[Element]:
        """The children that there are to be."""
        options = [child for child in rule.children.values() if child.in_schema]
        alone = [child for child in options if child.name in rule.alone]
        if alone and self.chance(25):
            return [self.pick(alone)]
        choice = [child for child in options if child.name in rule.one_of]
        wanted = [self.pick(choice)] if choice else []
        rest = [child for child in options if child.name not in (*rule.one_of, *rule.alone)]
        wanted += self.optional(rule, [c for c in rest if c.card == "?" and (room > 0 or _is_small(c))])
        for child in rest:
            if child.card.isdigit():
                wanted += [child] * int(child.card)
            elif child.card == "+":
                wanted += [child] * (child.least + (self.pick([0, 0, 1, 2]) if room > 0 else 0))
        repeated = [child for child in rest if child.card == "*" and (room > 0 or child.opaque)]
        wanted += self.repeated(rule, repeated) if repeated else []
        wanted.sort(key=list(rule.children.values()).index)
        return wanted or ([self.pick(rest)] if rule.filled else [])

    def repeated(self, rule: Element, options: list[Element]) -> list[Element]:
        """Children that may stand any number of times."""
        found: list[Element] = self.draw(st.lists(st.sampled_from(options), max_size=4))
        return found

    def optional(self, rule: Element, options: list[Element]) -> list[Element]:
        """Those of the children that may stand once which do; of the remarkable ones at most one, and seldom."""
        plain = self.some([child for child in options if not child.remark])
        remarkable = [child for child in options if child.remark]
        if not remarkable or not self.chance(15):
            return plain
        return [*plain, self.pick(remarkable)]


def _is_small(rule: Element) -> bool:
    """Whether an element holds no others, so that there is always room for it."""
    return rule.is_leaf or not rule.children


# --- layout -------------------------------------------------------------------------------------------


class Layout(Struct, frozen=True):
    """How a document is spelled."""

    line_end: str
    indent: str
    quote: str
    empty: str
    beginning: str
    end: str
    mark: bool = False


LAYOUTS = st.builds(
    Layout,
    line_end=st.sampled_from(["\n", "\r\n"]),
    indent=st.sampled_from(["  ", "\t", "    ", ""]),
    quote=st.sampled_from(['"', "'"]),
    empty=st.sampled_from(["/>", " />", "></{tag}>"]),
    beginning=st.sampled_from(
        ["", '<?xml version="1.0"?>\n', '<?xml version="1.0" encoding="utf-8"?>\n<!-- first -->\n\n']
    ),
    end=st.sampled_from(["\n", "", "\n<!-- last -->\n", "\n\n"]),
    mark=st.sampled_from([False, False, False, True]),
)


def written(draw: Draw, root: Branch) -> bytes:
    """A document's bytes, with comments sprinkled in."""
    layout: Layout = draw(LAYOUTS)
    remarks = iter(draw(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(REMARKS)), max_size=4)))
    lines = [*_lines(root, "", layout, _Sprinkler(remarks))]
    text = layout.beginning + "\n".join(lines) + layout.end
    data = text.replace("\n", layout.line_end).encode()
    return b"\xef\xbb\xbf" + data if layout.mark else data


class _Sprinkler:
    """Hands out comments, each after so many elements."""

    def __init__(self, remarks: Iterator[tuple[int, str]]) -> None:
        self.remarks = remarks
        self.wait, self.text = next(remarks, (-1, ""))

    def next(self) -> str:
        if self.wait < 0:
            return ""
        self.wait -= 1
        if self.wait >= 0:
            return ""
        found = f"<!--{self.text}-->"
        self.wait, self.text = next(self.remarks, (-1, ""))
        return found


def _lines(branch: Branch, margin: str, layout: Layout, remarks: _Sprinkler) -> Iterator[str]:
    comment = remarks.next()
    if comment:
        yield margin + comment
    opening = margin + "<" + branch.tag
    for name, value in branch.attributes.items():
        opening += f" {name}={layout.quote}{_quoted(value, layout.quote)}{layout.quote}"
    if branch.children:
        yield opening + ">"
        for child in branch.children:
            yield from _lines(child, margin + layout.indent, layout, remarks)
        yield f"{margin}</{branch.tag}>"
    elif branch.text or branch.raw:
        yield f"{opening}>{branch.raw or escape(branch.text)}</{branch.tag}>"
    else:
        yield opening + layout.empty.format(tag=branch.tag)


def _quoted(value: str, quote: str) -> str:
    return escape(value, {quote: "&#34;" if quote == '"' else "&apos;", "\t": "&#9;"})
