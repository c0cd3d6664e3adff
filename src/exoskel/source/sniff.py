"""Identification of a file by its first bytes."""

from __future__ import annotations

import re

from exoskel.source.encoding import UnknownEncodingError, detect_encoding, scannable_text

_FIRST = 4096
_COMMENTS = re.compile(rb"\s*(#[^\n]*\n|//[^\n]*\n|/\*.*?\*/)", re.DOTALL)
_BLOCK = re.compile(rb"\b(dofs|node\s+[^\s{}]+|node)\s*\{")
_SPINE_VERSION = re.compile(rb"[234]\.[0-9]+\.?[0-9]*(-[a-z]+)?")
_TEXT = bytes([9, 10, 11, 12, 13, *range(32, 256)])
_ROOT = re.compile(rb"<([A-Za-z_:][^\s/>]*)")


def identify_content(data: bytes) -> str:
    """Identify the content of a file: `xml`, `dart_text`, `empty`, `gzip`, `zip`, `html`, `json`, `spine`,
    `text` or `binary`."""
    head = data[:_FIRST]
    if not data.strip(b" \t\r\n\0\xef\xbb\xbf"):
        return "empty"
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    if head.startswith(b"PK\x03\x04"):
        return "zip"
    text = _as_text(data)
    if text is None:
        return "spine" if _SPINE_VERSION.search(head[:64]) else "binary"
    opening = text.lstrip()[:64].lower()
    if opening.startswith((b"<!doctype html", b"<html")):
        return "html"
    if opening.startswith(b"<"):
        return "xml"
    if _BLOCK.search(text, _skip_comments(text)):
        return "dart_text"
    return "json" if opening.startswith((b"{", b"[")) else "text"


def root_tag(data: bytes) -> str:
    """The tag of the root element, or an empty string; comments and declarations are skipped."""
    from exoskel.source.positions import region_end

    text = _as_text(data)
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


def _as_text(data: bytes) -> bytes | None:
    """The file in an encoding that can be scanned byte by byte; None if it is binary."""
    try:
        encoding = detect_encoding(data)
    except UnknownEncodingError:
        return data
    if encoding.scannable:
        head = data[encoding.mark : encoding.mark + _FIRST]
        return None if _is_binary(head) else data[encoding.mark :]
    try:
        return scannable_text(data, encoding)
    except UnicodeDecodeError:
        return data


def _is_binary(head: bytes) -> bool:
    controls = head.translate(None, delete=_TEXT)
    return b"\0" in controls or len(controls) * 20 > len(head)


def _skip_comments(text: bytes) -> int:
    """The offset of the first text that is not a comment."""
    at = 0
    while match := _COMMENTS.match(text, at):
        at = match.end()
    return at
