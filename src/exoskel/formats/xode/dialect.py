"""Chooses the dialect in which a file is read: the specification or PyODE."""

from __future__ import annotations

from exoskel.formats.read_options import Dialect
from exoskel.formats.xode.context import Context
from exoskel.formats.xode.pybrain_comment import MARK
from exoskel.source.document import Document
from exoskel.source.flat_tree import Node


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
