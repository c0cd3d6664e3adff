"""Vocabularies: the elements, attributes and value types of a format, as data.

One table drives structural checks, suggestions, defaults, the XML Schema, `exoskel describe`, the fates of a conversion
and the reference pages.  To support another element, add a row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from operator import itemgetter
from typing import Any

from msgspec import Struct

from exoskel.scene.body import Body
from exoskel.scene.fields import FIELDS
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import World


class SceneField(Struct, frozen=True):
    """The field of a scene item that an element or attribute sets.

    Without a `name` it sets none by itself: it holds other elements, or names the kind of its parent.
    """

    name: str = ""
    parts: tuple[str, ...] = ()
    """The parts of the field that it sets, where it does not set all of it."""
    owner: str = ""
    """Whose field it is, if not that of the item around the element: `child`, `body`, `world`, all `joints`, `shapes`
    or `bodies`, or the world, if the element is an `actuator`."""
    unused: str = ""
    """Why it sets nothing."""
    affects_motion: bool = False
    """It would change the motion if it were used."""
    elsewhere: str = ""
    """Where the scene has it, if no single field does."""
    later: str = ""
    """The field of the item around it that elements after the first of their kind set instead."""


_OWNERS: dict[str, type[Item]] = {
    "child": Body,
    "body": Body,
    "bodies": Body,
    "world": World,
    "joints": Joint,
    "actuator": World,
    "shapes": Shape,
}
"""The types of items that `SceneField.owner` names."""

STRUCTURE = SceneField()
FLATTENED = SceneField("flattened")
"""The scene has it in the items inside of the element, or in those that refer to it."""

FieldRows = Mapping[type[Item] | None, Mapping[str, SceneField | str]]
"""Fields by the type of the item around an element and the path from the item's own element.

A path is empty for the item's own element and ends in `@name` for an attribute.  One that ends in `/**` counts for
everything below, unless a longer path does.  A text is the name of a field.
"""


def dof_field(*parts: str, owner: str = "") -> SceneField:
    """Fields of the degrees of freedom of a joint."""
    return SceneField("dofs", parts, owner)


def unused(reason: str, *, affects_motion: bool = False) -> SceneField:
    return SceneField(unused=reason, affects_motion=affects_motion)


class SceneFieldTable:
    """The fields that the elements of one format set."""

    def __init__(self, rows: FieldRows) -> None:
        self._exact: dict[tuple[type[Item] | None, str], SceneField] = {}
        self._below: dict[type[Item] | None, list[tuple[str, SceneField]]] = {}
        for kind, paths in rows.items():
            for path, row in paths.items():
                field = SceneField(row) if isinstance(row, str) else row
                if path.endswith("/**"):
                    self._below.setdefault(kind, []).append((path[:-2], field))
                    self._exact.setdefault((kind, path[:-3]), field)
                else:
                    self._exact[kind, path] = field

    def find(self, kind: type[Item] | None, path: str) -> SceneField | None:
        """The field that an element sets; None if the table does not have the element."""
        found = self._exact.get((kind, path))
        if found is None:
            around = [(len(start), field) for start, field in self._below.get(kind, ()) if path.startswith(start)]
            found = max(around, key=itemgetter(0))[1] if around else None
            if found is not None:
                self._exact[kind, path] = found
        return found


# --- the vocabulary ------------------------------------------------------------------------------------


ABSENT: Any = type("Absent", (), {"__repr__": lambda self: "ABSENT", "__bool__": lambda self: False})()
"""Marks a value that is missing or invalid."""


class Finding(Struct, frozen=True):
    """A problem with a value that has no position yet: a message key, the text to point at, and details."""

    key: str
    token: str = ""
    details: dict[str, Any] = {}


class Outcome(Struct, frozen=True):
    """The result of reading a questionable text: the value to use, and the findings to report."""

    value: Any = ABSENT
    findings: tuple[Finding, ...] = ()


class ValueType(ABC):
    """A type of value: how text is parsed, and how the schema and the reference describe it.

    `parse_valid` returns the value of a text without problems, or None.  Such values are immutable and are cached,
    because files repeat the same texts.  `examine` reads all other texts; with `literal`, as the original reader does.
    """

    _MAX_CACHED, _LONGEST_CACHED = 20_000, 1_000

    def __init__(
        self,
        name: str,
        meaning: str,
        *,
        base: str = "xs:string",
        pattern: str = "",
        above: str = "",
        enumeration: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.meaning = meaning
        self.schema_type = SchemaType(name, base, pattern, above, enumeration)
        self.memo: dict[str, Any] = {}

    def value(self, text: str) -> Any:
        """The value of `text`, or None if the text has problems."""
        value = self.parse_valid(text)
        if value is not None and len(text) <= self._LONGEST_CACHED:
            if len(self.memo) >= self._MAX_CACHED:
                self.memo.clear()
            self.memo[text] = value
        return value

    @abstractmethod
    def parse_valid(self, text: str) -> Any: ...

    @abstractmethod
    def examine(self, text: str, literal: bool) -> Outcome: ...


class Text(ValueType):
    """Any text, unchanged."""

    def parse_valid(self, text: str) -> str:
        return text

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(text)


class SchemaType(Struct, frozen=True):
    """An XML Schema simple type: a base type with facets."""

    name: str
    base: str = "xs:string"
    pattern: str = ""
    above: str = ""
    """A number that values must exceed."""
    enumeration: tuple[str, ...] = ()


class Attribute(Struct, frozen=True):
    """A row for one attribute."""

    name: str
    kind: ValueType
    meaning: str
    required: bool = False
    demanded: bool = False
    """The standard requires it, but readers accept files without it; only the schema enforces it."""
    default: str = ""
    unit: str = ""
    reader_note: str = ""
    in_schema: bool = True
    """False: the reader accepts it, the schema does not."""
    field: SceneField | str | None = None
    """The field of the scene that it sets; None: that of its element."""


ChildRow = tuple[str, bool, "dict[str, Any] | None", str, "Element"]
"""A child as the reader looks it up for each element: name, repeatable, cached values (None for a container), the
key for every occurrence, and the declaration itself.  Unpacking one tuple is faster than reading five attributes."""
AttributeRow = tuple[str, "dict[str, Any]", ValueType]
"""An attribute as the reader looks it up: its key in the fields of a node, its cached values, and its type."""
PieceMeaning = tuple[str, Any, "Element | None", "dict[str, Any] | None", bool]
"""What a tag and the text after it mean: a leaf with its value; or a container with its declaration, its attributes and
whether it continues; or else the end of a container."""


class Element:
    """A row for one element in one place.

    `card` is the number of occurrences: `1`, `?`, `+` or `*`.  A leaf has a `kind`, a container has `children`.
    Exactly one of the children named in `one_of` is expected; the reader checks it.  A `nonempty` element has at least
    one child.  A child named in `exclusive_children` excludes all others.

    `occurrence_code` is the key of a message for every occurrence: the name is old, misplaced or without effect.
    `alias_of` is the sibling that it replaces; `ignored_by_reader` marks an alias that the original reader ignores.
    `missing`, `repeated` and `unknown_child_code` are the keys for an element that is required and missing, occurs too
    often, or has an unknown child; `unknown_attribute_code` is the key for an unknown attribute.  Without them, those
    of the vocabulary apply.  `refused` is the key for a required leaf that the original reader demands, although a
    document gives it a `default`: it replaces `missing` if values are read literally; else the default is the value.

    `streamed` children are passed on one by one as they are read, so that a large document is never in memory as a
    whole.  All `gathered` children are read although only one is allowed, for the reader to choose.  The content of an
    `opaque` element is not checked.  `ordered` children must have the order of the rows.  Elements that are not
    `in_schema` are accepted by the reader only.  A `+` element occurs at least `least` times; the reader checks more
    than one.

    Each row names what it is in the scene.  An element that is read as an item has the type of the `item`.  All others
    name the `field` of that item that they set.  Attributes and children set the same field, or `content` if it is
    given, unless their own rows name another.  STRUCTURE is not inherited; it is the field of a container that names
    and inherits none.  Rows with an `occurrence_code` need no field: the message says why they have no effect.  An
    `extension` has data of other applications.

    A document states the field that a row sets, and the parts of it, wherever the row occurs.  `states` names more
    fields of the item around the element: the list that an item is added to, or what the rows inside set together.
    """

    _MAX_CACHED = 4096

    def __init__(
        self,
        name: str,
        card: str,
        meaning: str,
        *children: Element,
        kind: ValueType | None = None,
        attributes: Iterable[Attribute] = (),
        default: str = "",
        unit: str = "",
        reader_note: str = "",
        occurrence_code: str = "",
        alias_of: str = "",
        missing: str = "",
        refused: str = "",
        repeated: str = "",
        ignored_by_reader: bool = False,
        streamed: bool = False,
        one_of: tuple[str, ...] = (),
        exclusive_children: tuple[str, ...] = (),
        nonempty: bool = False,
        unknown_child_code: str = "",
        unknown_attribute_code: str = "",
        gathered: bool = False,
        opaque: bool = False,
        ordered: bool = False,
        in_schema: bool = True,
        least: int = 1,
        item: type[Item] | None = None,
        field: SceneField | str | None = None,
        content: SceneField | str | None = None,
        states: tuple[str, ...] = (),
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
        self.reader_note = reader_note
        self.occurrence_code = occurrence_code
        self.alias_of = alias_of
        self.missing = missing
        self.refused = refused
        self.repeated = repeated
        self.ignored_by_reader = ignored_by_reader
        self.streamed = streamed
        self.one_of = one_of
        self.exclusive_children = exclusive_children
        self.nonempty = nonempty
        self.unknown_child_code = unknown_child_code
        self.unknown_attribute_code = unknown_attribute_code
        self.opaque = opaque
        self.ordered = ordered
        self.in_schema = in_schema
        self.least = least
        self.item = item
        self.field = STRUCTURE if item is not None else _as_field(field)
        inside = self.field if content is None else _as_field(content)
        self.content = None if inside == STRUCTURE else inside
        self.states = states
        self.extension = extension
        self._stated: dict[tuple[str, ...], frozenset[str]] = {}
        self.attributes = {attribute.name: attribute for attribute in attributes}
        self.attribute_rows: dict[str, AttributeRow] = {
            a.name: ("@" + a.name, a.kind.memo, a.kind) for a in self.attributes.values()
        }
        self.required_attributes = tuple(("@" + a.name, a.name) for a in self.attributes.values() if a.required)
        """Their keys in the fields of a node, and their names."""
        self.children: dict[str, Element] = {}
        self.rows: dict[str, ChildRow] = {}
        self.plain_values: dict[str, dict[str, Any]] = {}
        """The cached values of leaves that occur at most once and have no message."""
        self.piece_meanings: dict[bytes, PieceMeaning] = {}
        """What the tags of children, with the text after them, mean: a cache of `read_plain`."""
        self.required: frozenset[str] = frozenset()
        self.adopt(*children)

    def adopt(self, *children: Element) -> None:
        """Add children, for example the element itself."""
        for child in children:
            memo = child.kind.memo if child.kind else None
            self.children[child.name] = child
            self.rows[child.name] = (child.name, child.many, memo, child.occurrence_code, child)
            if memo is not None and not (child.many or child.occurrence_code):
                self.plain_values[child.name] = memo
        self.required = frozenset(c.name for c in self.children.values() if c.card in "1+" and not c.gathered)

    def has_required_attributes(self, fields: Mapping[str, Any]) -> bool:
        """Whether the fields of a node contain all attributes that the element needs."""
        return all(key in fields for key, _ in self.required_attributes)

    def rows_setting(self, field: str) -> dict[str, SceneField]:
        """The children, and the attributes with an `@` before their names, that set a field of the scene."""
        rows = {f"@{a.name}": _as_field(a.field) for a in self.attributes.values()}
        rows |= {child.name: child.field for child in self.children.values()}
        return {name: row for name, row in rows.items() if row is not None and row.name == field}

    def part_of_each_row(self, field: str) -> dict[str, str]:
        """The names of the rows that set one part of a field, as in `rows_setting`, and that part."""
        return {name: row.parts[0] for name, row in self.rows_setting(field).items() if len(row.parts) == 1}

    @cached_property
    def _stated_by(self) -> dict[str, frozenset[str]]:
        """The fields that each child, and each attribute with an `@` before its name, states."""
        found = {f"@{a.name}": _own_names(_as_field(a.field) or self.content) for a in self.attributes.values()}
        for child in self.children.values():
            found[child.name] = _own_names(child.field or self.content) | {*child.states}
        return found

    def stated_fields(self, names: Iterable[str]) -> frozenset[str]:
        """The scene fields that some children and attributes state; an attribute has an `@` before its name.

        Files repeat a few combinations over and over, so the sets are shared.
        """
        key = tuple(names)
        found = self._stated.get(key)
        if found is None:
            if len(self._stated) >= self._MAX_CACHED:
                self._stated.clear()
            nothing: frozenset[str] = frozenset()
            found = self._stated[key] = nothing.union(*(self._stated_by.get(name, nothing) for name in key))
        return found

    @cached_property
    def holds_streamed(self) -> bool:
        """Whether a streamed element may occur below this one, outside of other streamed elements."""
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


def leaf(
    name: str,
    kind: ValueType,
    meaning: str,
    *,
    card: str = "?",
    default: str = "",
    unit: str = "",
    reader_note: str = "",
    occurrence_code: str = "",
    missing: str = "",
    refused: str = "",
    field: SceneField | str | None = None,
    states: tuple[str, ...] = (),
) -> Element:
    """An element with a value, in the form of an attribute."""
    return Element(
        name,
        card,
        meaning,
        kind=kind,
        default=default,
        unit=unit,
        reader_note=reader_note,
        occurrence_code=occurrence_code,
        missing=missing,
        refused=refused,
        field=field,
        states=states,
    )


def _own_names(field: SceneField | None) -> frozenset[str]:
    """The names of a field of the item around a row and of its parts; none if the row sets nothing of that item."""
    if field is None or field in (STRUCTURE, FLATTENED) or field.owner or field.unused:
        return frozenset()
    return frozenset({field.name, *field.parts} - {""})


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
    """The vocabulary of a format: its root element, and the keys of its structural diagnostics."""

    def __init__(self, language: str, title: str, root: Element, codes: StructureCodes) -> None:
        self.language = language
        self.title = title
        self.root = root
        self.codes = codes
        self.known = frozenset(self.names())
        self._found: dict[str, list[tuple[str, Element]]] = {}

    def rows(self) -> Iterator[tuple[str, Element]]:
        """Every row once, parents first, with the first path that leads to it."""
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
        """All rows whose name or end of path is `name`, each with its first path."""
        wanted = name.strip("/")
        if wanted not in self._found:
            rows = [(path, e) for path, e in self.rows() if path == wanted or path.endswith("/" + wanted)]
            self._found[wanted] = rows
        return list(self._found[wanted])

    def names(self) -> list[str]:
        return sorted({element.name for _, element in self.rows()})

    def field_rows(self, transparent: frozenset[str] = frozenset()) -> Iterator[FieldRow]:
        """What each element and attribute sets.

        Each row is given once for every path that leads to it from an item.  Paths start again at `transparent`
        elements, which only group others, and end where an element is inside one of its own name.
        """
        seen: set[tuple[int, type[Item] | None, str]] = set()
        start: _FieldPlace = (self.root, self.root.item, "", None)
        waiting = [start]
        while waiting:
            element, kind, path, inherited = waiting.pop()
            if (id(element), kind, path) in seen:
                continue
            seen.add((id(element), kind, path))
            is_container = element is self.root or (element.children and not element.occurrence_code)
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

    def item_fields(self, transparent: frozenset[str] = frozenset()) -> frozenset[tuple[type[Item], str]]:
        """The fields of items that a document can set, each with the type of its item."""
        fields = (
            (_OWNERS.get(row.field.owner, row.kind), row.field) for row in self.field_rows(transparent) if row.field
        )
        return frozenset(
            (kind, field.name)
            for kind, field in fields
            if kind is not None and not field.unused and field.name in FIELDS[kind]
        )

    def field_parts(self, kind: type[Item], field: str) -> tuple[str, ...]:
        """The parts of a field of an item that a document can set, in alphabetical order."""
        rows = [row.field for row in self.field_rows() if row.kind is kind and row.field is not None]
        return tuple(sorted({part for found in rows if found.name == field for part in found.parts}))

    def kinds(self) -> dict[str, ValueType]:
        """All value types in use, by name."""
        kinds: dict[str, ValueType] = {}
        for _, element in self.rows():
            for kind in [element.kind, *(a.kind for a in element.attributes.values())]:
                if kind is not None:
                    kinds.setdefault(kind.name, kind)
        return kinds


_FieldPlace = tuple[Element, "type[Item] | None", str, "SceneField | None"]
"""An element, the type of the item around it, the path from there, and the field that it inherits."""


def _join(path: str, step: str) -> str:
    return f"{path}/{step}" if path else step


class StructureCodes(Struct, frozen=True):
    """The message keys of structural problems."""

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
    """For a known element in the wrong place; empty: it counts as unknown."""
    namespaced: str = ""
    """For a known element in a namespace; empty: only a default namespace is accepted."""
    prefix_excuses: bool = True
    """Whether unknown elements with a prefix are accepted everywhere, even where `unknown_child_code` is set."""
