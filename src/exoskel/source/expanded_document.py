"""Documents that were made from others by expanding macros.  Their positions are those of the files that were written.

Scenes refer to the elements of the expanded document.  Messages, fates and differences name the line of the element in
the file that it was written in: the document with the macros, or a file that this includes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from exoskel.diagnostics import Locator, Place
from exoskel.source.document import Document
from exoskel.source.file_lookup import Location
from exoskel.source.positions import Span
from exoskel.source.well_formedness import MalformedError


class ElementOrigin(NamedTuple):
    """Where an element was written: the number of the file, 0 for the main document, and that of the element in it.

    For other files, `call` is the element of the main document that includes the file or calls the macro.
    """

    file: int
    number: int
    call: int


class RegionOrigin(NamedTuple):
    """Where a comment or the like was written: its line in the main document, or the element that includes it."""

    call: int
    line: int


class ExpandedDocument(Document):
    """The result of expanding the macros of a document, with the origin of each element.

    `files` are the paths and contents of included files.  `regions` has the origins of comments, instructions and CDATA
    sections.  References are relative to the original document, and nothing is saved to its file.
    """

    def __init__(
        self,
        data: bytes,
        main: Document,
        files: Sequence[tuple[str, bytes]],
        elements: Sequence[ElementOrigin],
        regions: Sequence[RegionOrigin],
    ) -> None:
        location = Location(path=main.location.path, uri=main.location.uri, is_base=True)
        super().__init__(data, main.name, location, main.path_style)
        self.main = main
        self.is_generated = True
        self.included = [main.location.path] if main.location.path and not main.location.is_base else []
        self.included += [path for path, _ in files]
        self._files = [main, *(Document(content, self._shown(path)) for path, content in files)]
        self._elements = elements
        self._regions = regions

    def _shown(self, path: str) -> str:
        """The path of an included file as messages show it: relative like that of the main document."""
        own = self.main.location
        if not own.path or own.is_base or os.path.isabs(self.main.name):
            return path
        try:
            return os.path.relpath(path)
        except ValueError:  # on another drive
            return path

    def origin(self, place: Place) -> tuple[Locator, Place]:
        """The file that a place was written in, and the place there."""
        if place.node < 0 or not self._is_matched:
            return self.main, Place()
        node = self.element(place)
        origin = self._elements[node]
        file = self._files[origin.file]
        try:
            if not 0 <= origin.number < len(file.outline.tags):
                return self.main, Place(max(origin.call, 0))
        except MalformedError:
            return self.main, Place(max(origin.call, 0))
        if place.attribute:
            return file, Place(origin.number, "", place.attribute)
        text = file.value_text(origin.number) if place.child or place.token else ""
        if "<" in text:  # there are elements inside
            text = ""
        return file, Place(origin.number, "", "", place.token if place.token and place.token in text else text)

    def main_place(self, place: Place) -> Place:
        """The element of the main document that a place was written in, or that includes or calls it."""
        return Place(self._main_number(self.element(place)) if place.node >= 0 else -1)

    def lines(self, nodes: Sequence[int]) -> list[int]:
        """The lines of elements in the main document; for those of other files, that of the include or call."""
        return self.main.lines([self._main_number(node) for node in nodes])

    def region_line(self, number: int) -> int:
        """The line in the main document of a comment, instruction or CDATA section, by its number."""
        number -= len(self.scan.regions) - len(self._regions)  # the declaration of the expanded document
        if not 0 <= number < len(self._regions):
            return 1
        origin = self._regions[number]
        return origin.line or self.main.lines([max(origin.call, 0)])[0]

    def _main_number(self, node: int) -> int:
        if not self._is_matched:
            return 0
        origin = self._elements[node]
        return max(origin.call if origin.file else origin.number, 0)

    @cached_property
    def _is_matched(self) -> bool:
        """Whether the expanded document has as many elements as there are origins."""
        return len(self._elements) == len(self.scan.starts)


def region_line(document: Document, number: int) -> int:
    """The line of a comment, declaration, instruction or CDATA section, by its number."""
    if isinstance(document, ExpandedDocument):
        return document.region_line(number)
    return document.scan.position(Span(*document.scan.regions[number])).line
