"""Detecting what a file is, and parsing a document to its root element."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from exoskel.diagnostics import Collector, Position
from exoskel.source.document import Document, tag_as_written
from exoskel.source.encoding import UnknownEncodingError, detect_encoding, scannable_text
from exoskel.source.limits import Limits
from exoskel.source.pieces import Levels, NotInPiecesError, cut
from exoskel.source.positions import region_end
from exoskel.source.well_formedness import MalformedError

_FIRST = 4096
_OPENING = 64
_HTML = (b"<!doctype html", b"<html")
_BLANK = b" \t\r\n\0\xef\xbb\xbf"
_COMMENTS = re.compile(rb"\s*(#[^\n]*\n|//[^\n]*\n|/\*.*?\*/)", re.DOTALL)
_BLOCK = re.compile(rb"\b(dofs|node\s+[^\s{}]+|node)\s*\{")
_SPINE_VERSION = re.compile(rb"[234]\.[0-9]+\.?[0-9]*(-[a-z]+)?")
_TEXT = bytes([9, 10, 11, 12, 13, *range(32, 256)])
_ROOT = re.compile(rb"<([A-Za-z_:][^\s/>]*)")


def identify_content(data: bytes) -> str:
    """Identify the content of a file: `xml`, `dart_text`, `empty`, `gzip`, `zip`, `html`, `json`, `spine`,
    `text` or `binary`."""
    head = data[:_FIRST]
    if _is_markup(head):
        return "html" if head[:_OPENING].lower().startswith(_HTML) else "xml"
    if not head.strip(_BLANK) and not data.strip(_BLANK):
        return "empty"
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    text = _as_text(data)
    if text is None:
        return "spine" if _SPINE_VERSION.search(head[:64]) else "binary"
    opening = text.lstrip()[:_OPENING].lower()
    if opening.startswith(_HTML):
        return "html"
    if opening.startswith(b"<"):
        return "xml"
    if _BLOCK.search(text, _skip_comments(text)):
        return "dart_text"
    return "json" if opening.startswith((b"{", b"[")) else "text"


def root_tag(data: bytes) -> str:
    """The tag of the root element, or an empty string; comments and declarations are skipped."""
    text = data if _is_markup(data[:_FIRST]) else _as_text(data)
    if text is None:
        return ""
    at = 0
    while (at := text.find(b"<", at)) >= 0:
        if text[at + 1 : at + 2] in (b"!", b"?"):
            at = region_end(text, at)
            continue
        match = _ROOT.match(text, at)
        return match[1].decode("utf-8", "replace") if match else ""
    return ""


def _is_markup(head: bytes) -> bool:
    """Whether a file starts with markup in an encoding like ASCII, as most do, and is not binary."""
    return head.startswith(b"<") and not is_binary(head)


def _as_text(data: bytes) -> bytes | None:
    """The file in an encoding that can be scanned byte by byte; None if it is binary."""
    try:
        encoding = detect_encoding(data)
    except UnknownEncodingError:
        return data
    if encoding.scannable:
        head = data[encoding.mark : encoding.mark + _FIRST]
        return None if is_binary(head) else data[encoding.mark :]
    try:
        return scannable_text(data, encoding)
    except UnicodeDecodeError:
        return data


def is_binary(data: bytes) -> bool:
    """Whether a file has control characters at its beginning, other than spaces."""
    head = data[:_FIRST]
    controls = head.translate(None, delete=_TEXT)
    return controls.find(b"\0") >= 0 or len(controls) * 20 > len(head)


def _skip_comments(text: bytes) -> int:
    """The offset of the first text that is not a comment."""
    at = 0
    while match := _COMMENTS.match(text, at):
        at = match.end()
    return at


# --- the root element ----------------------------------------------------------------------------------


KNOWN_ROOTS = {
    "skel": ("SKEL, the format of DART", ""),
    "dart": ("SKEL, the format of DART, in an early version", ""),
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
    """The codes of a format for documents that cannot be read, and for document type declarations.

    The keys `malformed.limit`, `malformed.kind`, `root.format`, `declarations.entity` and `declarations.doctype` follow
    from them.  `dart_text` and `encoding` are empty for formats without a special message.  With `any_namespace`, the
    root may be in any namespace, with or without prefix.  `early_root` is the name of the root in early files; these
    are read, with the message `root.early`.
    """

    malformed: str
    root: str
    declarations: str
    dart_text: str = ""
    encoding: str = ""
    any_namespace: bool = False
    early_root: str = ""


def parse_root(
    document: Document, root: str, limits: Limits, collector: Collector, codes: RootCodes, cuts: Levels = ()
) -> Any:
    """Parse a document and return its root element; None if it is not called `root`, and the reason is reported.

    A large document is returned as Pieces, if `cuts` names the elements after which it may be cut.  Raises
    NotInPiecesError if it then has to be parsed as a whole.
    """
    is_plain = document.plain_root == root
    if not is_plain and _check_content(document, collector, codes):
        return None
    try:
        pieces = cut(document, limits, cuts)
        if is_plain and pieces is not None and _check_content(document, collector, codes):
            return None
        tree = document.parse(limits) if pieces is None else pieces
    except MalformedError as problem:
        # A plain document that can be parsed has nothing else to report.
        if not (is_plain and _check_content(document, collector, codes)):
            report_malformed(problem, collector, codes)
        return None
    tag = tag_as_written(tree if pieces is None else pieces.root)
    if tag == root or (codes.any_namespace and tag.rpartition(":")[2] == root):
        return tree
    if codes.early_root and tag == codes.early_root:
        collector.report(f"{codes.root}.early", 0, root=tag)
        return tree
    if pieces is not None:
        raise NotInPiecesError  # the rest may not be well-formed
    if tag in KNOWN_ROOTS:
        name, hint = KNOWN_ROOTS[tag]
        collector.report(f"{codes.root}.format", 0, root=tag, format=name, hint=hint)
    else:
        collector.report(codes.root, 0, root=tag)
    return None


def report_malformed(problem: MalformedError, collector: Collector, codes: RootCodes) -> None:
    """Report why a document is not well-formed; for a limit, with the option that raises it."""
    key = f"{codes.malformed}.limit" if problem.limit else codes.malformed
    python = f"limits=Limits({problem.limit}=...)"
    option = f"--max-{problem.limit} ({python})" if problem.limit in _LIMITS_WITH_OPTIONS else python
    collector.report(key, position=problem.position or _BEGINNING, reason=problem.reason, hint="", option=option)


_LIMITS_WITH_OPTIONS = ("bytes", "depth", "elements")
"""The limits that the command line has options for."""


def _check_content(document: Document, collector: Collector, codes: RootCodes) -> bool:
    """Report problems of the document as a whole; returns whether it cannot be read."""
    kind = identify_content(document.data)
    if kind == "dart_text" and codes.dart_text:
        collector.report(codes.dart_text)
        return True
    if kind in _KINDS:
        reason, hint = _KINDS[kind]
        collector.report(f"{codes.malformed}.kind", reason=reason, hint=hint)
        return True
    try:
        if codes.encoding and not document.encoding.is_utf8:
            position = document.encoding_position
            collector.report(codes.encoding, position=position, encoding=document.encoding.declared)
        prolog = document.prolog
    except (UnknownEncodingError, UnicodeDecodeError):
        return False  # the parser reports it, with the reason
    if prolog.entities is not None:
        collector.report(f"{codes.declarations}.entity", position=document.scan.position(prolog.entities))
        return True
    if prolog.doctype is not None:
        collector.report(f"{codes.declarations}.doctype", position=document.scan.position(prolog.doctype))
    return False
