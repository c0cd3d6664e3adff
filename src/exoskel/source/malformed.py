"""Why a document is not well-formed, in words that name both ends of the mistake."""

from __future__ import annotations

import re
from typing import Any

from exoskel.diagnostics import Position
from exoskel.source.limits import Limits
from exoskel.source.positions import Scan, Span, region_end

_TAG = re.compile(rb"""<(/?)([^\s/><!?]+)((?:[^>"']|"[^"]*"|'[^']*')*?)(/?)>""")


class Malformed(Exception):
    """The document is not well-formed, or larger than allowed (`limit` names which limit)."""

    def __init__(self, reason: str, position: Position | None = None, limit: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.limit = limit


def explain(scan: Scan, log: Any, limits: Limits) -> Malformed:
    """The parser's complaint, replaced by a better one where we find it ourselves."""
    own = _bad_utf8(scan) or _unbalanced(scan)
    if own is not None:
        return own
    if not len(log):
        return Malformed("the parser gives no reason")
    first = log[0]
    if "xcessive depth" in first.message or "XML_PARSE_HUGE" in first.message:
        return Malformed(f"elements are nested deeper than the limit of {limits.depth}", limit="depth")
    at = scan.offset(first.line, max(first.column, 1))
    return Malformed(_reworded(first.message), scan.position(Span(at, at + 1)))


_WORDS: list[tuple[str, str]] = [
    (r"Document is empty", "the file is empty"),
    (r"Start tag expected, '<' not found", "the file does not begin with a tag"),
    (r"Extra content at the end of the document", "there is more after the end of the root element"),
    (r"Attribute (\S+) redefined", r"the attribute '\1' stands twice"),
    (r"Specification mandates value for attribute (\S+)", r"the attribute '\1' has no value"),
    (r"Entity '(\S+)' not defined", r"the entity '&\1;' is not defined"),
    (r"PCDATA invalid Char value (\d+)", r"a control character (number \1)"),
    (r"Unescaped '<' not allowed in attributes values", "an attribute holds '<', which has to be written '&lt;'"),
    (r"error parsing attribute name", "an attribute was expected here"),
    (r"xmlParseEntityRef: no name", "'&' has to be written '&amp;'"),
]


def _reworded(message: str) -> str:
    message = message.strip().rstrip(",")
    for pattern, words in _WORDS:
        match = re.fullmatch(pattern, message)
        if match:
            return match.expand(words)
    return message[:1].lower() + message[1:]


def _bad_utf8(scan: Scan) -> Malformed | None:
    if scan.codec not in ("utf-8", "ascii"):
        return None
    try:
        scan.text.decode("utf-8")
    except UnicodeDecodeError as error:
        position = scan.position(Span(error.start, error.start + 1))
        byte = scan.text[error.start]
        return Malformed(f"byte 0x{byte:02X} is not UTF-8 text, and the file names no other encoding", position)
    return None


def _unbalanced(scan: Scan) -> Malformed | None:
    """The first end tag that closes the wrong element, or the element that is never closed."""
    text = scan.text
    open_tags: list[tuple[bytes, int]] = []
    at = 0
    while (at := text.find(b"<", at)) >= 0:
        if text[at + 1 : at + 2] in (b"!", b"?"):
            at = region_end(text, at)
            continue
        match = _TAG.match(text, at)
        if match is None:
            return None
        closing, name, _, empty = match.groups()
        if not closing:
            if not empty:
                open_tags.append((name, at))
        elif not open_tags:
            return _malformed(scan, Span(at, match.end()), f"</{_show(name)}> closes nothing")
        else:
            opened, where = open_tags.pop()
            if opened != name:
                line = scan.position(Span(where, where + 1)).line
                reason = f"</{_show(name)}> stands where <{_show(opened)}> of line {line} has to be closed"
                return _malformed(scan, Span(at, match.end()), reason)
        at = match.end()
    if open_tags:
        name, where = open_tags[-1]
        return _malformed(scan, Span(where, where + 1 + len(name)), f"<{_show(name)}> is never closed")
    return None


def _malformed(scan: Scan, span: Span, reason: str) -> Malformed:
    return Malformed(reason, scan.position(span))


def _show(name: bytes) -> str:
    return name.decode("utf-8", "replace")
