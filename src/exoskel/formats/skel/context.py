"""The state that all parts of the SKEL reader share while one document is read."""

from __future__ import annotations

from exoskel.diagnostics import Collector
from exoskel.formats.interface import ReadOptions
from exoskel.scene.shape import Bounds
from exoskel.source import file_lookup
from exoskel.source.document import Document
from exoskel.source.file_lookup import FoundFile, SearchPaths
from exoskel.source.meshes import MeshExtents, single_precision

DOCUMENT = 0
"""The number of the document: a scene that was just read has one."""

EXTREME = 1e75
"""Lengths and masses above this may overflow in a moment, which is a product of five of them."""


class SkelContext:
    """State shared while one document is read."""

    def __init__(self, document: Document, options: ReadOptions, collector: Collector) -> None:
        self.document = document
        self.options = options
        self.report = collector.report
        self.suggestions = collector.suggestions
        self.dart = options.semantics == "dart"
        self.extreme = False
        """Whether the document has an extremely large dimension or mass."""
        self.ignored_joints: dict[int, str] = {}
        """The names of joints that are ignored, by the nodes of the bodies that they would have as children."""
        self._files: dict[str, FoundFile] = {}
        self._extents = MeshExtents(options.limits, file_lookup.confinement(document.location, options.paths))

    def find_mesh(self, uri: str) -> FoundFile:
        """The file of a reference, and remarks about the reference; both readings report the same remarks.

        It is searched once per document, unless a resolver of the user answers, which is asked each time.
        """
        found = self._files.get(uri)
        if found is None or self.options.paths.resolver is not None:
            found = self._files[uri] = self._find_mesh(uri)
        return found

    def _find_mesh(self, uri: str) -> FoundFile:
        location, paths = self.document.location, self.options.paths
        if not self.dart:
            return file_lookup.find_file(uri, location, paths)
        # DART uses no resolver and does not support packages.
        odd = file_lookup.find_file(uri, location, SearchPaths(confine=paths.confine))
        literal = file_lookup.find_file_as_dart(uri, location, paths)
        return FoundFile(literal.path, tuple(dict.fromkeys((*odd.findings, *literal.findings))))

    def mesh_extent(self, path: str) -> Bounds | str:
        """The extent of a mesh file, read once per document, or the reason why it cannot be read."""
        extent = self._extents.find(path)
        return single_precision(extent) if self.dart and not isinstance(extent, str) else extent
