"""Documents that are no XML: the objects in a file, such as the prims of USD and the nodes of glTF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from msgspec import Struct, field

from exoskel.diagnostics import Place, Position
from exoskel.source.document import Document, Outline
from exoskel.source.positions import Scan, Span

_NOWHERE = Span(0, 0)


class SourceObject(Struct):
    """One object: its type, the number of the object around it (-1: none), its path, and the names of its properties.

    `line` is where it is in a text file; 0 if that is unknown.
    """

    tag: str
    parent: int
    path: str
    properties: Sequence[str] = ()
    line: int = 0
    property_lines: Mapping[str, int] = field(default_factory=dict)


class ObjectDocument(Document):
    """The bytes of one file, and the objects in it."""

    def __init__(self, document: Document, objects: Sequence[SourceObject], separator: str = ".") -> None:
        super().__init__(document.data, document.name, document.location)
        self.stored, self.included = document.stored, document.included
        self.objects = objects
        self.separator = separator
        """Between the path of an object and the name of a property."""
        self.unused: dict[tuple[int, str], str] = {}
        """Why properties have no effect, by the numbers of their objects and their names."""

    @cached_property
    def text(self) -> bytes:
        """Empty: there is no markup to scan."""
        return b""

    @cached_property
    def scan(self) -> Scan:
        return Scan(b" ")

    @cached_property
    def outline(self) -> Outline:
        return ObjectOutline(self.objects)

    @cached_property
    def _source_lines(self) -> list[str]:
        return self.data.decode("utf-8", "replace").splitlines()

    def position(self, place: Place) -> Position | None:
        if place.position is not None or place.node < 0:
            return place.position
        one = self.objects[place.node]
        line = one.property_lines.get(place.attribute, one.line)
        if not 0 < line <= len(self._source_lines):
            return None
        text = self._source_lines[line - 1]
        start = len(text) - len(text.lstrip())
        return Position(line, start + 1, max(len(text.strip()), 1))

    def element(self, place: Place) -> int:
        return place.node

    def lines(self, nodes: Sequence[int]) -> list[int]:
        return [self.objects[node].line for node in nodes]

    def path(self, place: Place) -> str:
        if place.node < 0:
            return ""
        path = self.path_of(place.node)
        return f"{path}{self.separator}{place.attribute}" if place.attribute else path

    def path_of(self, node: int) -> str:
        return self.objects[node].path

    def line_text(self, line: int) -> str:
        return self._source_lines[line - 1] if 0 < line <= len(self._source_lines) else ""

    def attributes(self, node: int) -> dict[str, Span]:
        """The properties of an object; their spans are unknown."""
        return dict.fromkeys(self.objects[node].properties, _NOWHERE)

    def attribute_text(self, node: int, name: str) -> str:
        return ""


class ObjectOutline(Outline):
    """The structure of the objects of a document."""

    def __init__(self, objects: Sequence[SourceObject]) -> None:
        self.tags = [one.tag for one in objects]
        self.parents = [one.parent for one in objects]
        self.ends = list(range(1, len(objects) + 1))
        for number in range(len(objects) - 1, 0, -1):
            parent = self.parents[number]
            self.ends[parent] = max(self.ends[parent], self.ends[number])
