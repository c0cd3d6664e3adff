"""From a document to its root element, or to a kind answer that says what the file is instead."""

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
    "html": ("a web page", "the download went wrong: fetch the raw file"),
    "svg": ("SVG, a picture", ""),
}

_KINDS = {
    "empty": ("it is empty", "the download or the disk may have failed: fetch it again"),
    "gzip": ("it is compressed with gzip", "decompress it first: gunzip -c FILE > scene"),
    "zip": ("it is a zip archive", "unpack it first"),
    "html": ("it is a web page", "the download went wrong: fetch the raw file"),
    "json": ("it is JSON", ""),
    "spine": (
        "it is a binary skeleton of Spine, the 2D animation program, which uses the ending .skel too",
        "Spine's own runtimes read it",
    ),
    "binary": ("it is binary data", ""),
    "text": ("it is plain text without any XML", ""),
    "dart_text": ("it is the brace-style text format of DART 1 and 2", ""),
}


_BEGINNING = Position(1, 1)
"""The place of what concerns a document as a whole."""


class RootCodes(Struct, frozen=True):
    """The keys under which a format reports what keeps a document from being read.

    `dart_text` and `encoding` may be empty: a format that has nothing special to say about them.  With
    `any_namespace`, a root in a namespace is the root all the same, prefix or not.
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
    """The root element if it is called `root`; otherwise None, and the reason is reported."""
    if _refused(document, collector, codes):
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


def _refused(document: Document, collector: Collector, codes: RootCodes) -> bool:
    """Report what keeps the document from being read at all, and what is odd about its outer form."""
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
        return False  # parsing reports it, with the reason
    if prolog.entities is not None:
        collector.report(codes.entity, position=document.scan.position(prolog.entities))
        return True
    if prolog.doctype is not None:
        collector.report(codes.doctype, position=document.scan.position(prolog.doctype))
    return False
