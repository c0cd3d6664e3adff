"""Compares the copy of a document with its source: the same elements and attributes, and the same files.

MuJoCo compiles the same model from both, to the bit, because it gets the same input.  Included files are inserted, and
references to files are compared by the files that they lead to.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import NodeKey, ReadOptions, SourceCopy
from exoskel.formats.mjcf.reader.asset_paths import COMPILER_FOLDERS, asset_path, compiler_settings
from exoskel.formats.mjcf.source_copy import FILES, NAMED_AFTER_FILES
from exoskel.formats.mjcf.source_edits import EDITED
from exoskel.scene.world import Scene
from exoskel.source.document import Document, tag_as_written
from exoskel.source.file_access import read_referenced
from exoskel.source.file_lookup import Location, confinement, find_file
from exoskel.source.output_context import OutputContext

_EXACT = Verdict(Fate.EXACT)


class _Stated(Struct):
    """An element as it is written: its depth, tag and attributes, and its node in the main document."""

    depth: int
    tag: str
    attributes: dict[str, str]
    node: int


def count_differences(scene: Scene, copy: SourceCopy, output: OutputContext) -> int:
    """The number of elements of a scene's document that differ in a copy, edited values aside."""
    document = scene.documents[0]
    assert isinstance(document, Document)
    if copy.data == document.data and not _depends_on_folder(document, output):
        return 0
    options = ReadOptions.of(scene)
    place = Location(str(output.folder / "output.xml"), is_base=True) if output.folder is not None else Location()
    anywhere = structs.replace(options, paths=structs.replace(options.paths, confine=False))
    copied = _InsertedDocument(Document(copy.data, document.name, place), anywhere)
    return _CopyComparison(_InsertedDocument(document, options), copied, copy, output).count()


def _depends_on_folder(document: Document, output: OutputContext) -> bool:
    """Whether the same document may refer to other files in the folder of the output."""
    home, folder = document.location.directory, output.folder
    is_moved = home is None or folder is None or home.resolve() != folder.resolve()
    return is_moved and any(tag in FILES or tag == "include" for tag in document.outline.tags)


class _InsertedDocument:
    """A document with the files that it includes."""

    def __init__(self, document: Document, options: ReadOptions) -> None:
        self.document = document
        self.options = options
        self.confined_to = confinement(document.location, options.paths)
        self.elements = list(self._elements())
        self.compiler = compiler_settings(one.attributes for one in self.elements if one.tag == "compiler")

    def _elements(self) -> Iterator[_Stated]:
        number = -1
        waiting: list[tuple[Any, int, int]] = [(self.document.parse(self.options.limits), 0, -1)]
        while waiting:
            element, depth, within = waiting.pop()
            number += within < 0
            node = number if within < 0 else within
            if element.tag == "include":
                root = self._included(element.get("file", ""))
                waiting += [(child, depth, node) for child in reversed(root)]
                continue
            attributes = {str(name): str(value) for name, value in element.attrib.items()}
            if element.tag == "text" and element.text:
                attributes[""] = element.text
            yield _Stated(depth, tag_as_written(element), attributes, node)
            waiting += [(child, depth + 1, within) for child in reversed(element)]

    def _included(self, reference: str) -> Any:
        found = self.find(reference)
        if found is None:
            return ()
        data = read_referenced(found, self.options.limits.bytes, self.confined_to)
        return Document(data, reference).parse(self.options.limits)

    def find(self, path: str) -> Path | None:
        return find_file(path, self.document.location, self.options.paths).path

    def file(self, one: _Stated, name: str) -> str:
        """The path of a file from the folder of the document."""
        return asset_path(one.tag, one.attributes[name], self.compiler)


class _CopyComparison:
    def __init__(
        self, source: _InsertedDocument, copied: _InsertedDocument, copy: SourceCopy, output: OutputContext
    ) -> None:
        self.source = source
        self.copied = copied
        self.copy = copy
        self.fates: Mapping[NodeKey, Verdict] = copy.fates
        self.output = output

    def count(self) -> int:
        mine, theirs = self.source.elements, self.copied.elements
        places = [self._place(one) for one in theirs]  # -1: new elements
        added = _added_depths(theirs, places)
        pairs = [
            (mine[at], one, more) for at, one, more in zip(places, theirs, added, strict=True) if 0 <= at < len(mine)
        ]
        count = len(set(range(len(mine))) - {*places} - self.copy.removed) + sum(at >= len(mine) for at in places)
        return count + sum(not self._is_same(one, other, more) for one, other, more in pairs)

    def _place(self, one: _Stated) -> int:
        """The number in the source of an element of the copy."""
        numbers = self.copy.inserted_numbers
        return one.node if numbers is None else numbers[one.node]

    def _fate(self, node: int, name: str) -> Verdict:
        return self.fates.get((node, name), _EXACT)

    def _is_same(self, one: _Stated, other: _Stated, added_depth: int) -> bool:
        is_moved = self._place(other) in self.copy.moved
        if one.tag != other.tag or (one.depth + added_depth != other.depth and not is_moved):
            return False
        if one.attributes == other.attributes and one.tag not in FILES and one.tag != "compiler":
            return True
        names = {**one.attributes, **other.attributes}
        return all(self._is_same_value(one, other, name) for name in names)

    def _is_same_value(self, one: _Stated, other: _Stated, name: str) -> bool:
        mine, theirs = one.attributes.get(name), other.attributes.get(name)
        if (other.node, name) in self.copy.replaced:
            return theirs == self.copy.replaced[other.node, name]
        if one.tag == "compiler" and name in COMPILER_FOLDERS:
            return True  # in the references
        if self.copy.is_edited and (mine is None or self._fate(one.node, name) == EDITED):
            return True  # read back and compared with the scene
        if mine and theirs and name in FILES.get(one.tag, ()):
            return self._is_same_file(one, other, name)
        if name == "name" and one.tag in NAMED_AFTER_FILES:
            return (mine or _stem(one)) == (theirs or _stem(other))
        return mine == theirs

    def _is_same_file(self, one: _Stated, other: _Stated, name: str) -> bool:
        found = self.source.find(self.source.file(one, name))
        companion = self.output.companions.get(other.attributes[name])
        if found is not None and companion is not None:
            return read_referenced(found, self.source.options.limits.mesh_bytes, self.source.confined_to) == companion
        there = self.copied.find(self.copied.file(other, name))
        if found is None or there is None:
            return found is there
        return found.resolve() == there.resolve()


def _added_depths(elements: Sequence[_Stated], places: Sequence[int]) -> list[int]:
    """The number of new elements (those whose place is -1) around each element."""
    found: list[int] = []
    around: list[int] = []
    for one, place in zip(elements, places, strict=True):
        while around and around[-1] >= one.depth:
            around.pop()
        found.append(len(around))
        if place < 0:
            around.append(one.depth)
    return found


def _stem(one: _Stated) -> str:
    return posixpath.splitext(posixpath.basename(one.attributes.get("file", "")))[0]
