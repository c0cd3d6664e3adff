"""Why a document is not well-formed, in words that name both ends of the mistake."""

from __future__ import annotations

import re
from typing import Any

from lxml import etree

from exoskel.diagnostics import Position
from exoskel.source.limits import Limits
from exoskel.source.positions import Scan, Span, region_end, unclosed_region

_TAG = re.compile(rb"""<(/?)([^\s/><!?]+)((?:[^>"']|"[^"]*"|'[^']*')*?)(/?)>""")


class MalformedError(Exception):
    """The document is not well-formed, or larger than allowed (`limit` names which limit)."""

    def __init__(self, reason: str, position: Position | None = None, limit: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.limit = limit


def explain_parse_error(scan: Scan, log: Any, limits: Limits) -> MalformedError:
    """The parser's complaint, replaced by a better one where we find it ourselves."""
    own = _bad_text(scan) or _unbalanced(scan)
    if own is not None:
        return own
    first = next((entry for entry in log if entry.domain != etree.ErrorDomains.NAMESPACE), None)
    if first is None:
        return MalformedError("the parser gives no reason")
    at = scan.offset(first.line, max(first.column, 1))
    position = scan.position(Span(at, at + 1))
    if "xcessive depth" in first.message:
        return MalformedError(f"elements are nested deeper than the limit of {limits.depth}", position, limit="depth")
    return MalformedError(_reworded(first.message), position)


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
    is_word = message[1:2].islower()  # and no abbreviation, as in "XML declaration"
    return message[:1].lower() + message[1:] if is_word else message


_NOT_TEXT = {
    "utf-8": "is not UTF-8 text, and the file names no other encoding",
    "ascii": "is not ASCII text, which the file says it is",
}


def _bad_text(scan: Scan) -> MalformedError | None:
    if scan.codec not in _NOT_TEXT:
        return None
    try:
        scan.text.decode(scan.codec)
    except UnicodeDecodeError as error:
        position = scan.position(Span(error.start, error.start + 1))
        return MalformedError(f"byte 0x{scan.text[error.start]:02X} {_NOT_TEXT[scan.codec]}", position)
    return None


def _unbalanced(scan: Scan) -> MalformedError | None:
    """The first end tag that closes the wrong element, or the element that is never closed."""
    text = scan.text
    open_tags: list[tuple[bytes, int]] = []
    at = 0
    while (at := text.find(b"<", at)) >= 0:
        if text[at + 1 : at + 2] in (b"!", b"?"):
            end = region_end(text, at)
            if end == len(text) and (what := unclosed_region(text, at)):
                return _malformed(scan, Span(at, at + 1), f"the {what} that begins here is never closed")
            at = end
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


def _malformed(scan: Scan, span: Span, reason: str) -> MalformedError:
    return MalformedError(reason, scan.position(span))


def _show(name: bytes) -> str:
    return name.decode("utf-8", "replace")
