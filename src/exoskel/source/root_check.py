"""Parsing a document to its root element, or reporting what the file is instead."""

from __future__ import annotations

from msgspec import Struct

from exoskel.diagnostics import Collector, Position
from exoskel.source.document import Document, Tree, tag_as_written
from exoskel.source.encoding import UnknownEncodingError
from exoskel.source.limits import Limits
from exoskel.source.sniff import identify_content
from exoskel.source.well_formedness import MalformedError

KNOWN_ROOTS = {
    "skel": ("SKEL, the format of DART", ""),
    "xode": ("XODE, the format of the Open Dynamics Engine", ""),
    "sdf": ("SDFormat, the format of Gazebo", ""),
    "gazebo": ("SDFormat, the format of Gazebo, in an early version", ""),
    "robot": ("URDF, the robot format of ROS", ""),
    "mujoco": ("MJCF, the format of MuJoCo", ""),
    "COLLADA": ("COLLADA, a mesh format", "refer to it from a <mesh> element"),
    "html": ("a web page", "download the raw file"),
    "svg": ("SVG, a picture", ""),
}

_KINDS = {
    "empty": ("the file is empty", "download or copy it again"),
    "gzip": ("the file is compressed with gzip", "decompress it first: gunzip -c FILE > scene"),
    "zip": ("the file is a zip archive", "unpack it first"),
    "html": ("the file is a web page", "download the raw file"),
    "json": ("the file is JSON", ""),
    "spine": (
        "the file is a binary skeleton of Spine, a 2D animation program that also uses the extension .skel",
        "open it with a Spine runtime",
    ),
    "binary": ("the file is binary", ""),
    "text": ("the file is plain text, not XML", ""),
    "dart_text": ("the file is in the brace-style text format of DART 1 and 2", ""),
}


_BEGINNING = Position(1, 1)
"""The position of what concerns a whole document."""


class RootCodes(Struct, frozen=True):
    """The message keys of a format for documents that cannot be read.

    `dart_text` and `encoding` are empty for formats without a special message.  With `any_namespace`, the root may
    be in any namespace, with or without prefix.
    """

    malformed: str
    limit: str
    kind: str
    root: str
    root_format: str
    entity: str
    doctype: str
    dart_text: str = ""
    encoding: str = ""
    any_namespace: bool = False


def parse_root(document: Document, root: str, limits: Limits, collector: Collector, codes: RootCodes) -> Tree | None:
    """Parse a document and return its root element; None if it is not called `root`, and the reason is reported."""
    if _check_content(document, collector, codes):
        return None
    try:
        tree = document.parse(limits)
    except MalformedError as problem:
        report_malformed(problem, collector, codes)
        return None
    tag = tag_as_written(tree)
    if tag == root or (codes.any_namespace and tag.rpartition(":")[2] == root):
        return tree
    if tag in KNOWN_ROOTS:
        name, hint = KNOWN_ROOTS[tag]
        collector.report(codes.root_format, 0, root=tag, format=name, hint=hint)
    else:
        collector.report(codes.root, 0, root=tag)
    return None


def report_malformed(problem: MalformedError, collector: Collector, codes: RootCodes) -> None:
    key = codes.limit if problem.limit else codes.malformed
    collector.report(key, position=problem.position or _BEGINNING, reason=problem.reason, hint="")


def _check_content(document: Document, collector: Collector, codes: RootCodes) -> bool:
    """Report problems of the document as a whole; returns whether it cannot be read."""
    kind = identify_content(document.data)
    if kind == "dart_text" and codes.dart_text:
        collector.report(codes.dart_text)
        return True
    if kind in _KINDS:
        reason, hint = _KINDS[kind]
        collector.report(codes.kind, reason=reason, hint=hint)
        return True
    try:
        if codes.encoding and not document.encoding.is_utf8:
            position = document.encoding_position
            collector.report(codes.encoding, position=position, encoding=document.encoding.declared)
        prolog = document.prolog
    except (UnknownEncodingError, UnicodeDecodeError):
        return False  # the parser reports it, with the reason
    if prolog.entities is not None:
        collector.report(codes.entity, position=document.scan.position(prolog.entities))
        return True
    if prolog.doctype is not None:
        collector.report(codes.doctype, position=document.scan.position(prolog.doctype))
    return False
