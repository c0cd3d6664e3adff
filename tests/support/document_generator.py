"""Generation of random documents from a vocabulary, which determines the elements, their places and their counts.

The vocabulary does not state that names are unique, or that the bodies of a joint exist.  The subclasses for SKEL and
XODE adjust each element for that (`adjust_…`).
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


class GeneratedElement(Struct, eq=False):
    """A generated element.  `raw` is XML that is written unchanged instead of children."""

    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[GeneratedElement] = field(default_factory=list)
    text: str = ""
    raw: str = ""

    def all(self, *tags: str) -> list[GeneratedElement]:
        return [child for child in self.children if child.tag in tags]

    def one(self, tag: str) -> GeneratedElement | None:
        return next(iter(self.all(tag)), None)

    def drop(self, *tags: str) -> None:
        self.children[:] = [child for child in self.children if child.tag not in tags]

    def iter(self) -> Iterator[GeneratedElement]:
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
"""Spellings of a number that all read back to the same double."""


def values(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers from `low` to `high`, the simple ones more often."""
    nice = [v for v in NICE if low <= v <= high] or [high]
    return st.sampled_from(nice) | st.sampled_from(nice) | st.floats(low, high, allow_subnormal=False)


def number_texts(numbers: st.SearchStrategy[float]) -> st.SearchStrategy[str]:
    return st.builds(lambda v, spell: spell(v), numbers, st.sampled_from(_SPELLINGS))


def number_list_texts(numbers: st.SearchStrategy[float], count: int) -> st.SearchStrategy[str]:
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


# --- elements -----------------------------------------------------------------------------------------


class DocumentGenerator:
    """Generates one document.

    `texts` are strategies by kind of value; `places` those of particular leaves (`tag`) and attributes (`@name`).
    """

    vocabulary: Vocabulary
    texts: Texts
    places: Texts

    def __init__(self, draw: Draw) -> None:
        self.draw = draw

    def document(self, room: int) -> GeneratedElement:
        root = self.generate_element(self.vocabulary.root, room)
        self.finish(root)
        return root

    def finish(self, root: GeneratedElement) -> None:
        """Adjust the whole document."""

    def chance(self, percent: int) -> bool:
        return bool(self.draw(st.integers(0, 99)) >= 100 - percent)

    def some(self, options: Sequence[Any], most: int = 4) -> list[Any]:
        """A random selection of the options, in their order."""
        if not options:
            return []
        places = st.lists(st.integers(0, len(options) - 1), unique=True, max_size=min(most, len(options)))
        return [options[place] for place in sorted(self.draw(places))]

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def name(self, taken: set[str], words: Sequence[str] = WORDS) -> str:
        """A name that is not in use; it is added to `taken`."""
        word = str(self.pick(words))
        fresh = next(name for name in (word, *(f"{word} {i}" for i in range(1, 999))) if name not in taken)
        taken.add(fresh)
        return fresh

    def generate_element(self, rule: Element, room: float) -> GeneratedElement:
        """Generate an element with about `room` optional descendants."""
        element = GeneratedElement(rule.name)
        declared = [attribute for attribute in rule.attributes.values() if attribute.in_schema]
        chosen = self.some([a for a in declared if not (a.required or a.demanded)])
        element.attributes = {a.name: self.value(a) for a in declared if a.required or a.demanded or a in chosen}
        if rule.kind is not None:
            element.text = self.draw(self.places.get(rule.name, self.texts[rule.kind.name]))
        elif rule.opaque:
            element.raw = self.extension_content()
        else:
            element.children = self._children(rule, room)
        settle = getattr(self, f"adjust_{rule.name}", None)
        if settle is not None:
            settle(element, rule)
        return element

    def extension_content(self) -> str:
        """The content of an extension element."""
        raise NotImplementedError

    def value(self, attribute: Attribute) -> str:
        return str(self.draw(self.places.get(f"@{attribute.name}", self.texts[attribute.kind.name])))

    def _children(self, rule: Element, room: float) -> list[GeneratedElement]:
        wanted = self._wanted(rule, room)
        containers = sum(not _is_small(child) for child in wanted)
        share = (room - containers) / containers if containers else 0.0
        generated = [self.generate_element(child, share) for child in wanted]
        if not rule.ordered and len(generated) > 1 and self.chance(20):
            generated = self.draw(st.permutations(generated))
        return generated

    def _wanted(self, rule: Element, room: float) -> list[Element]:
        """The declarations of the children to generate."""
        options = [child for child in rule.children.values() if child.in_schema]
        alone = [child for child in options if child.name in rule.exclusive_children]
        if alone and self.chance(25):
            return [self.pick(alone)]
        choice = [child for child in options if child.name in rule.one_of]
        wanted = [self.pick(choice)] if choice else []
        rest = [child for child in options if child.name not in (*rule.one_of, *rule.exclusive_children)]
        wanted += self.optional(rule, [c for c in rest if c.card == "?" and (room > 0 or _is_small(c))])
        for child in rest:
            if child.card.isdigit():
                wanted += [child] * int(child.card)
            elif child.card == "+":
                wanted += [child] * (child.least + (self.pick([0, 0, 1, 2]) if room > 0 else 0))
        repeated = [child for child in rest if child.card == "*" and (room > 0 or child.opaque)]
        wanted += self.repeated(rule, repeated) if repeated else []
        wanted.sort(key=list(rule.children.values()).index)
        return wanted or ([self.pick(rest)] if rule.nonempty else [])

    def repeated(self, rule: Element, options: list[Element]) -> list[Element]:
        """A selection of repeatable children."""
        found: list[Element] = self.draw(st.lists(st.sampled_from(options), max_size=4))
        return found

    def optional(self, rule: Element, options: list[Element]) -> list[Element]:
        """A selection of optional children; rarely one of those that cause a diagnostic."""
        usual = self.some([child for child in options if not child.occurrence_code])
        reported = [child for child in options if child.occurrence_code]
        if not reported or not self.chance(15):
            return usual
        return [*usual, self.pick(reported)]


def _is_small(rule: Element) -> bool:
    """Whether an element has no children, so that it can always be generated."""
    return rule.is_leaf or not rule.children


# --- layout -------------------------------------------------------------------------------------------


class Layout(Struct, frozen=True):
    """The layout of a document."""

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


def write_document(draw: Draw, root: GeneratedElement) -> bytes:
    """The bytes of a document, with some comments."""
    layout: Layout = draw(LAYOUTS)
    comments = iter(draw(st.lists(st.tuples(st.integers(0, 30), st.sampled_from(REMARKS)), max_size=4)))
    lines = [*_lines(root, "", layout, _Comments(comments))]
    text = layout.beginning + "\n".join(lines) + layout.end
    data = text.replace("\n", layout.line_end).encode()
    return b"\xef\xbb\xbf" + data if layout.mark else data


class _Comments:
    """Yields comments, each after a number of elements."""

    def __init__(self, comments: Iterator[tuple[int, str]]) -> None:
        self.comments = comments
        self.wait, self.text = next(comments, (-1, ""))

    def next(self) -> str:
        if self.wait < 0:
            return ""
        self.wait -= 1
        if self.wait >= 0:
            return ""
        found = f"<!--{self.text}-->"
        self.wait, self.text = next(self.comments, (-1, ""))
        return found


def _lines(element: GeneratedElement, margin: str, layout: Layout, comments: _Comments) -> Iterator[str]:
    comment = comments.next()
    if comment:
        yield margin + comment
    opening = margin + "<" + element.tag
    for name, value in element.attributes.items():
        opening += f" {name}={layout.quote}{_escape(value, layout.quote)}{layout.quote}"
    if element.children:
        yield opening + ">"
        for child in element.children:
            yield from _lines(child, margin + layout.indent, layout, comments)
        yield f"{margin}</{element.tag}>"
    elif element.text or element.raw:
        yield f"{opening}>{element.raw or escape(element.text)}</{element.tag}>"
    else:
        yield opening + layout.empty.format(tag=element.tag)


def _escape(value: str, quote: str) -> str:
    return escape(value, {quote: "&#34;" if quote == '"' else "&apos;", "\t": "&#9;"})
