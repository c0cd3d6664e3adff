"""The state that all parts of the XODE reader share while one document is read."""

from __future__ import annotations

from functools import lru_cache

from exoskel.diagnostics import Collector, Place
from exoskel.formats.read_options import ReadOptions
from exoskel.source.document import Document
from exoskel.source.flat_tree import Node

DOCUMENT = 0
"""The number of the document: a scene that was just read has one."""


class Context:
    """One reading of one document in a known dialect."""

    def __init__(self, document: Document, options: ReadOptions, collector: Collector, dialect: str) -> None:
        self.document = document
        self.options = options
        self.report = collector.report
        self.suggestions = collector.suggestions
        self.dialect = dialect
        self.euler_angles: list[int] = []
        """Nodes with nonzero Euler angles, whose direction depends on the dialect."""
        self.ambiguous_matrices: list[int] = []
        self.ambiguous_anchors: list[int] = []
        """Anchors whose position depends on the dialect."""

    def line(self, node: int) -> int:
        position = self.document.position(Place(node))
        return position.line if position else 0

    def choose_first(self, node: Node, present: list[str], key: str) -> str:
        """The first of several children in document order where only one is allowed; the others are reported."""
        ordered = sorted(present, key=lambda name: node.fields[name].number)
        for other in ordered[1:]:
            line = self.line(node.fields[ordered[0]].number)
            self.report(key, node.fields[other].number, element=other, line=line)
        return ordered[0]

    def given(self, node: Node) -> frozenset[str]:
        """The names of the scene fields that a node states."""
        return _scene_names(tuple(node.fields))

    def repaired(self, node: Node) -> frozenset[str]:
        return _scene_names(tuple(sorted(node.invalid or ())))


_FIELD_OF = {"transform": "pose", "@gravitymode": "gravity", "mass": "mass", "@enabled": "state"}


@lru_cache(maxsize=1024)
def _scene_names(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_FIELD_OF.get(name, name.lstrip("@")) for name in names)
