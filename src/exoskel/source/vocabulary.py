"""How a language is declared: its elements, attributes and kinds of value, as data.

One declaration drives structural checking, suggestions, defaults, the XML Schema, `exoskel describe`
and the reference pages.  Adding an element to a language is adding a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

from msgspec import Struct

from exoskel.scene.item import Item
from exoskel.source.scene_fields import STRUCTURE, SceneField

ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT", "__bool__": lambda self: False})()
"""Stands for a value that is not there, or was too wrong to be used."""


class Finding(Struct, frozen=True):
    """Something to report about a value: a message key, the piece of text to point at, its details."""

    key: str
    token: str = ""
    details: dict[str, Any] = {}


class Outcome(Struct, frozen=True):
    """What became of a text that is not beyond reproach: the value to use, and what to say."""

    value: Any = ABSENT
    findings: tuple[Finding, ...] = ()


class Kind:
    """A kind of value: how text becomes a value, and what the schema and the reference say about it.

    `clean` gives the value of a text that needs no comment, or None; such values are immutable and are
    remembered, because files repeat themselves.  `examine` deals with all other texts; `literal` asks for
    what the old reader makes of them.
    """

    _MOST_REMEMBERED = 20_000

    def __init__(self, name: str, meaning: str) -> None:
        self.name = name
        self.meaning = meaning
        self.memo: dict[str, Any] = {}

    def value(self, text: str) -> Any:
        """The clean value of `text`, or None."""
        value = self.clean(text)
        if value is not None:
            if len(self.memo) >= self._MOST_REMEMBERED:
                self.memo.clear()
            self.memo[text] = value
        return value

    def clean(self, text: str) -> Any:
        raise NotImplementedError

    def examine(self, text: str, literal: bool) -> Outcome:
        raise NotImplementedError

    def schema_type(self) -> SchemaType:
        raise NotImplementedError

    def example(self) -> str:
        """A text of this kind, for documentation."""
        raise NotImplementedError


class SchemaType(Struct, frozen=True):
    """An XML Schema simple type: a base with facets."""

    name: str
    base: str = "xs:string"
    pattern: str = ""
    above: str = ""
    """A number that values have to exceed."""
    enumeration: tuple[str, ...] = ()


class Attribute(Struct, frozen=True):
    """A row for one attribute."""

    name: str
    kind: Kind
    meaning: str
    required: bool = False
    demanded: bool = False
    """The standard demands it, but a reader can do without; only the schema insists."""
    default: str = ""
    unit: str = ""
    engine: str = ""
    in_schema: bool = True
    """What is not is only tolerated."""
    field: SceneField | str | None = None
    """The field of the scene that it sets; None: that of its element."""


Row = tuple[str, bool, "dict[str, Any] | None", str, "Element"]
"""A child as the reader looks it up for each element: name, repeatable, values seen before (None for a
container), remark, and the declaration itself.  One tuple to unpack is faster than five attributes."""


class Element:
    """A row for one element in one place.

    `card` is how often it may stand there: `1`, `?`, `+` or `*`.  A leaf has a `kind`, a container has
    `children`.  Of the children named in `one_of` exactly one is wanted, which the reader judges; a `filled`
    element holds at least one child; a child named in `alone` suffers no others beside it.

    `remark` is the key of a message to give whenever the element is met, for names that are old, misplaced
    or without effect.  `alias_of` names the sibling it stands in for; `dead_in_engine` marks an alias that
    the old reader ignores.  `missing`, `repeated` and `stranger` are the keys to report when the element is
    required and absent, stands once too often, or holds an unknown child, `stranger_attribute` for an unknown
    attribute; the language has its own for each.

    `streamed` children are handed over one by one as they are read, so that a large document is never held
    as a whole.  Of a `gathered` child all are read although only one may stand there, for the reader to
    judge.  An `opaque` element is not looked into.  `ordered` children have to stand in the order declared.
    What is not `in_schema` is only tolerated.  Of a `+` element there are at `least` so many, which beyond one
    the reader judges.

    An element that is read as an item of the scene has the type of the `item`.  All other elements name the `field` of
    the item that they set.  Their attributes and children set the same one, or `content` where it is given, unless
    their own rows name another; nothing is inherited from STRUCTURE, which is what an element with children has that
    names no field and inherits none.  Rows with a `remark` need no field: the message
    explains why they have no effect.  Data of other applications is an `extension`.
    """

    def __init__(
        self,
        name: str,
        card: str,
        meaning: str,
        *children: Element,
        kind: Kind | None = None,
        attributes: Iterable[Attribute] = (),
        default: str = "",
        unit: str = "",
        engine: str = "",
        remark: str = "",
        alias_of: str = "",
        missing: str = "",
        repeated: str = "",
        dead_in_engine: bool = False,
        streamed: bool = False,
        one_of: tuple[str, ...] = (),
        alone: tuple[str, ...] = (),
        filled: bool = False,
        stranger: str = "",
        stranger_attribute: str = "",
        gathered: bool = False,
        opaque: bool = False,
        ordered: bool = False,
        in_schema: bool = True,
        least: int = 1,
        item: type[Item] | None = None,
        field: SceneField | str | None = None,
        content: SceneField | str | None = None,
        extension: bool = False,
    ) -> None:
        self.name = name
        self.card = card
        self.gathered = gathered
        self.many: bool = card not in ("1", "?") or gathered
        self.meaning = meaning
        self.kind = kind
        self.default = default
        self.unit = unit
        self.engine = engine
        self.remark = remark
        self.alias_of = alias_of
        self.missing = missing
        self.repeated = repeated
        self.dead_in_engine = dead_in_engine
        self.streamed = streamed
        self.one_of = one_of
        self.alone = alone
        self.filled = filled
        self.stranger = stranger
        self.stranger_attribute = stranger_attribute
        self.opaque = opaque
        self.ordered = ordered
        self.in_schema = in_schema
        self.least = least
        self.item = item
        self.field = STRUCTURE if item is not None else _as_field(field)
        inside = self.field if content is None else _as_field(content)
        self.content = None if inside == STRUCTURE else inside
        self.extension = extension
        self.attributes = {attribute.name: attribute for attribute in attributes}
        self.attribute_rows = {a.name: ("@" + a.name, a.kind.memo, a.kind) for a in self.attributes.values()}
        self.required_attributes = tuple(a.name for a in self.attributes.values() if a.required)
        self.children: dict[str, Element] = {}
        self.rows: dict[str, Row] = {}
        self.required: frozenset[str] = frozenset()
        self.adopt(*children)

    def adopt(self, *children: Element) -> None:
        """Take in more children: how an element comes to hold its own kind."""
        for child in children:
            memo = child.kind.memo if child.kind else None
            self.children[child.name] = child
            self.rows[child.name] = (child.name, child.many, memo, child.remark, child)
        self.required = frozenset(c.name for c in self.children.values() if c.card in "1+" and not c.gathered)

    def rows_setting(self, field: str) -> dict[str, SceneField]:
        """The children, and the attributes with an `@` before their names, that set a field of the scene."""
        rows = {f"@{a.name}": _as_field(a.field) for a in self.attributes.values()}
        rows |= {child.name: child.field for child in self.children.values()}
        return {name: row for name, row in rows.items() if row is not None and row.name == field}

    @cached_property
    def holds_streamed(self) -> bool:
        """Whether a streamed element may stand somewhere below, not counting what is below a streamed one."""
        seen: set[int] = set()
        waiting = list(self.children.values())
        while waiting:
            child = waiting.pop()
            if child.streamed:
                return True
            if id(child) not in seen:
                seen.add(id(child))
                waiting.extend(child.children.values())
        return False

    @property
    def is_leaf(self) -> bool:
        return self.kind is not None

    def __repr__(self) -> str:
        return f"Element({self.name!r})"


def _as_field(field: SceneField | str | None) -> SceneField | None:
    return SceneField(field) if isinstance(field, str) else field


class FieldRow(Struct, frozen=True):
    """An element or attribute, and the field that it sets of the `kind` of item around it.

    `path` leads there from the item's own element.  `field` is None if neither the row nor a row around it names one.
    """

    kind: type[Item] | None
    path: str
    row: Element | Attribute
    field: SceneField | None


class Vocabulary:
    """A language: its root and how its structural findings are called."""

    def __init__(self, language: str, title: str, root: Element, codes: StructureCodes) -> None:
        self.language = language
        self.title = title
        self.root = root
        self.codes = codes
        self.known = frozenset(self.names())

    def rows(self) -> Iterator[tuple[str, Element]]:
        """Every declaration once, parents first, by the first path that leads to it."""
        seen: set[int] = set()
        waiting = [("", self.root)]
        while waiting:
            path, element = waiting.pop()
            if id(element) in seen:
                continue
            seen.add(id(element))
            here = f"{path}/{element.name}" if path else element.name
            yield here, element
            waiting.extend((here, child) for child in reversed(element.children.values()))

    def find(self, name: str) -> list[tuple[str, Element]]:
        """All rows whose name, or the end of whose path, is `name`; each row once, by its first path."""
        wanted = name.strip("/")
        return [(path, e) for path, e in self.rows() if path == wanted or path.endswith("/" + wanted)]

    def names(self) -> list[str]:
        return sorted({element.name for _, element in self.rows()})

    def field_rows(self, transparent: frozenset[str] = frozenset()) -> Iterator[FieldRow]:
        """What each element and attribute sets.

        Each row is given once for every path that leads to it from an item.  Paths start again at `transparent`
        elements, which only group others, and end where an element is inside one of its own name.
        """
        seen: set[tuple[int, type[Item] | None, str]] = set()
        start: _Place = (self.root, self.root.item, "", None)
        waiting = [start]
        while waiting:
            element, kind, path, inherited = waiting.pop()
            if (id(element), kind, path) in seen:
                continue
            seen.add((id(element), kind, path))
            is_container = element is self.root or (element.children and not element.remark)
            yield FieldRow(kind, path, element, element.field or inherited or (STRUCTURE if is_container else None))
            content = element.content or (inherited if element.field is None else None)
            for attribute in element.attributes.values():
                field = _as_field(attribute.field) or content
                yield FieldRow(kind, _join(path, f"@{attribute.name}"), attribute, field)
            for child in element.children.values():
                if child.item is not None:
                    waiting.append((child, child.item, "", None))
                elif child.name in transparent:
                    waiting += [(child, one, child.name, None) for one in {kind, None}]
                elif child.name not in path.split("/"):
                    waiting.append((child, kind, _join(path, child.name), content))

    def scene_fields(self, transparent: frozenset[str] = frozenset()) -> dict[type[Item] | None, dict[str, SceneField]]:
        """The rows of a `SceneFieldTable`."""
        found: dict[type[Item] | None, dict[str, SceneField]] = {None: {"": STRUCTURE}}
        for one in self.field_rows(transparent):
            rows = found.setdefault(one.kind, {})
            if one.field is not None and (one.row.field is not None or one.field == STRUCTURE):
                rows[one.path] = one.field
            if isinstance(one.row, Element) and one.row.content is not None and not one.row.is_leaf:
                rows[f"{one.path}/**"] = one.row.content
        return found

    def kinds(self) -> dict[str, Kind]:
        """All kinds of value in use, by name."""
        kinds: dict[str, Kind] = {}
        for _, element in self.rows():
            for kind in [element.kind, *(a.kind for a in element.attributes.values())]:
                if kind is not None:
                    kinds.setdefault(kind.name, kind)
        return kinds


_Place = tuple[Element, "type[Item] | None", str, "SceneField | None"]
"""An element, the type of the item around it, the path from there, and the field that it inherits."""


def _join(path: str, step: str) -> str:
    return f"{path}/{step}" if path else step


class StructureCodes(Struct, frozen=True):
    """The keys under which a language reports what is wrong with a document's structure."""

    unknown_element: str
    unknown_prefixed_element: str
    unknown_attribute: str
    unknown_prefixed_attribute: str
    repeated: str
    stray_text: str
    missing_child: str
    missing_attribute: str
    empty: str
    split_text: str
    misplaced: str = ""
    """For an element that is known, but not here; without it, such an element is as unknown as any other."""
    namespaced: str = ""
    """For an element that is known but for its namespace; without it, only a default namespace is forgiven."""
    prefix_excuses: bool = True
    """Whether an unknown element with a prefix is harmless even where others are not (`stranger`), and so much that
    the schema allows it anywhere."""
