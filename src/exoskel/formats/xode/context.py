"""The dialect of an XODE document, and the state that all parts of the reader share."""

from __future__ import annotations

from functools import lru_cache

from exoskel.diagnostics import Collector, Place
from exoskel.formats.interface import Dialect, ReadOptions
from exoskel.formats.xode.pybrain_comment import MARK
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

    def stated_fields(self, node: Node) -> frozenset[str]:
        """The names of the scene fields that a node states."""
        return _scene_names(tuple(node.fields))

    def invalid_fields(self, node: Node) -> frozenset[str]:
        return _scene_names(tuple(sorted(node.invalid or ())))


_FIELD_OF = {"transform": "pose", "@gravitymode": "gravity", "mass": "mass", "@enabled": "state"}


@lru_cache(maxsize=1024)
def _scene_names(names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_FIELD_OF.get(name, name.lstrip("@")) for name in names)


# --- the context ---------------------------------------------------------------------------------------


def choose_dialect(wanted: Dialect, document: Document, root: Node) -> tuple[str, str]:
    """The dialect and the reason for it; the reason is empty if the caller has set the dialect."""
    if wanted != "auto":
        return wanted, ""
    if MARK in document.text and any(True for _ in document.comments(MARK)):
        return "pyode", "the file has a PyBrain comment"
    if "@version" not in root.fields:
        return "pyode", "the document has no version, like those of PyODE"
    return "spec", "the file shows no sign of PyODE"


def report_choice(context: Context, reason: str) -> None:
    """Report the chosen dialect if it affects the result."""
    if not reason:
        return
    if context.euler_angles or context.ambiguous_anchors or context.ambiguous_matrices:
        context.report("X901", 0, dialect=context.dialect, reason=reason)
    count = len(context.euler_angles)
    if context.dialect == "spec" and count:
        rotations = "1 rotation" if count == 1 else f"{count} rotations"
        context.report("X517", min(context.euler_angles), count=rotations)
