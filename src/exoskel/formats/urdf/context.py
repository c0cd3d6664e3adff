"""State that the parts of the URDF reader share while reading one document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exoskel.diagnostics import Collector
from exoskel.formats.read_options import ReadOptions
from exoskel.scene.item import Names, unique_name
from exoskel.scene.shape import Bounds
from exoskel.source import file_lookup, meshes
from exoskel.source.document import Document
from exoskel.source.file_lookup import FoundFile
from exoskel.source.flat_tree import Node
from exoskel.source.meshes import MeshError

DOCUMENT = 0
"""A freshly read scene has one document."""

UNBOUNDED = 1e30
"""Written for an infinite limit where URDF requires a number."""


class Context:
    """One reading of one document."""

    def __init__(self, document: Document, options: ReadOptions, collector: Collector) -> None:
        self.document = document
        self.options = options
        self.report = collector.report
        self.suggestions = collector.suggestions
        self._extents: dict[str, Bounds | str] = {}

    def origin(self, node: Node, **names: str) -> dict[str, Any]:
        """The fields that all items share.  `names` map names in the file to fields of the scene."""
        given = frozenset(names[field] for field in node.fields if field in names)
        return {"document": DOCUMENT, "node": node.number, "given": given}

    def name(self, node: Node, element: str, taken: Names) -> str:
        """A unique name for each element, in the order of the document."""
        found: str | None = node.fields.get("@name")
        if found is None:
            name = unique_name(f"{element}_{len(taken) + 1}", taken)
            if not node.is_invalid("@name"):
                self.report("UR106.name", node.number, element=element, name=name)
        else:
            name = unique_name(found, taken)
            if name != found:
                self.report("UR301", node.number, attribute="name", element=element, name=found, renamed=name)
        taken.add(name)
        return name

    def find_mesh(self, uri: str) -> FoundFile:
        return file_lookup.find_file(uri, self.document.location, self.options.paths)

    def mesh_extent(self, path: str) -> Bounds | str:
        """The extent of a mesh file, read once per document, or the reason why it cannot be read."""
        if path not in self._extents:
            try:
                self._extents[path] = meshes.mesh_extent(Path(path), self.options.limits)
            except MeshError as error:
                self._extents[path] = str(error)
        return self._extents[path]
