"""Whether a document is well-formed, and explanations why it is not, with both tags of a mismatch."""

from __future__ import annotations

import re
from typing import Any
from xml.parsers import expat

from lxml import etree

from exoskel.diagnostics import Position
from exoskel.source.limits import Limits
from exoskel.source.positions import Scan, Span, region_end, unclosed_region

_TAG = re.compile(rb"""<(/?)([^\s/><!?]+)((?:[^>"']|"[^"]*"|'[^']*')*?)(/?)>""")


_LONGEST_TEXT = 10**9
"""The parser limits the depth of a document, and in larger documents also the length of texts, in bytes."""


ENTITIES_REFUSED = "the document declares entities, which are refused for security"


class MalformedError(Exception):
    """The document is not well-formed, or exceeds a limit (`limit` names it)."""

    def __init__(self, reason: str, position: Position | None = None, limit: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.position = position
        self.limit = limit

    @property
    def located_reason(self) -> str:
        """The reason with its line, for a message at a position in another file."""
        return f"{self.reason} (line {self.position.line})" if self.position else self.reason


def explain_parse_error(scan: Scan, first: Any, limits: Limits) -> MalformedError:
    """Explain why a document cannot be parsed; our own explanations replace the parser's first error where possible."""
    own = _invalid_byte(scan) or _mismatched_tag(scan)
    if own is not None:
        return own
    at = scan.offset(first.line, max(first.column, 1))
    position = scan.position(Span(at, at + 1))
    if first.type == etree.ErrorTypes.ERR_RESOURCE_LIMIT and len(scan.text) < _LONGEST_TEXT:
        return MalformedError(f"elements are nested deeper than the limit of {limits.depth}", position, limit="depth")
    return MalformedError(_reword(first.message), position)


# --- a second parser -----------------------------------------------------------------------------------

# Bytes outside ASCII become letters of ASCII: expat only knows the names of XML 1.0 before its fifth edition, and the
# other parser has accepted these.  Different characters become different letters, and offsets stay the same.
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.-"
_AS_LETTERS = bytes(range(128)) + _LETTERS[:64] + (_LETTERS[:53] * 2)[:64]

_EXPAT_MESSAGES = {
    expat.errors.XML_ERROR_JUNK_AFTER_DOC_ELEMENT: "unexpected content after the root element",
    expat.errors.XML_ERROR_DUPLICATE_ATTRIBUTE: "an attribute is repeated",
    expat.errors.XML_ERROR_INVALID_TOKEN: "unexpected characters",
    expat.errors.XML_ERROR_UNCLOSED_TOKEN: "the markup that starts here is not closed",
}


def check_well_formedness(scan: Scan) -> None:
    """Raise MalformedError if a document is not well-formed; undeclared prefixes are allowed.

    This is for documents about which libxml2 has reported anything: after an undeclared prefix, for example, it ignores
    text after the root element and repeated attributes.  expat does not need prefixes to be declared.
    """
    text = scan.text if scan.codec == "utf-8" else scan.text.decode(scan.codec).encode()
    parser = expat.ParserCreate("utf-8")
    parser.EntityDeclHandler = _refuse_entity
    try:
        parser.Parse(text.translate(_AS_LETTERS), True)
    except expat.ExpatError as error:
        own = _mismatched_tag(scan)
        if own is not None:
            raise own from None
        at = len(text[: parser.ErrorByteIndex].decode("utf-8", "ignore").encode(scan.codec))
        message = expat.ErrorString(error.code)
        raise _malformed(scan, Span(at, at + 1), _EXPAT_MESSAGES.get(message, message)) from None


def _refuse_entity(*_declaration: object) -> None:
    """Called for the declaration of an entity: expat would expand it."""
    raise MalformedError(ENTITIES_REFUSED)


# --- messages ------------------------------------------------------------------------------------------


_MESSAGES: list[tuple[str, str]] = [
    (r"Document is empty", "the file is empty"),
    (r"Start tag expected, '<' not found", "the file does not start with a tag"),
    (r"Extra content at the end of the document", "unexpected content after the root element"),
    (r"Attribute (\S+) redefined", r"the attribute '\1' is repeated"),
    (r"Specification mandates value for attribute (\S+)", r"the attribute '\1' has no value"),
    (r"Entity '(\S+)' not defined", r"the entity '&\1;' is not defined"),
    (r"PCDATA invalid Char value (\d+)", r"invalid control character (number \1)"),
    (r"Unescaped '<' not allowed in attributes values", "an attribute value contains '<': write '&lt;'"),
    (r"Opening and ending tag mismatch: (\S+)\s+line \d+ and \1", r"'\1' is not a valid name"),
    (r"error parsing attribute name", "expected an attribute"),
    (r"xmlParseEntityRef: no name", "'&' without an entity name: write '&amp;'"),
]


def _reword(message: str) -> str:
    message = message.strip().rstrip(",")
    for pattern, text in _MESSAGES:
        match = re.fullmatch(pattern, message)
        if match:
            return match.expand(text)
    is_word = message[1:2].islower()  # not an abbreviation, as in "XML declaration"
    return message[:1].lower() + message[1:] if is_word else message


_INVALID_BYTE = {
    "utf-8": "is invalid in UTF-8, and the file declares no other encoding",
    "ascii": "is invalid in ASCII, the declared encoding",
}


def _invalid_byte(scan: Scan) -> MalformedError | None:
    if scan.codec not in _INVALID_BYTE:
        return None
    try:
        scan.text.decode(scan.codec)
    except UnicodeDecodeError as error:
        position = scan.position(Span(error.start, error.start + 1))
        return MalformedError(f"byte 0x{scan.text[error.start]:02X} {_INVALID_BYTE[scan.codec]}", position)
    return None


def _mismatched_tag(scan: Scan) -> MalformedError | None:
    """Find the first end tag that does not match its start tag, or an element that is not closed."""
    text = scan.text
    open_tags: list[tuple[bytes, int]] = []
    at = 0
    while (at := text.find(b"<", at)) >= 0:
        if text[at + 1 : at + 2] in (b"!", b"?"):
            end = region_end(text, at)
            if end == len(text) and (what := unclosed_region(text, at)):
                return _malformed(scan, Span(at, at + 1), f"the {what} that starts here is not closed")
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
            return _malformed(scan, Span(at, match.end()), f"</{_decode_name(name)}> has no start tag")
        else:
            opened, where = open_tags.pop()
            if opened != name:
                line = scan.position(Span(where, where + 1)).line
                reason = f"</{_decode_name(name)}> does not match <{_decode_name(opened)}> of line {line}"
                return _malformed(scan, Span(at, match.end()), reason)
        at = match.end()
    if open_tags:
        name, where = open_tags[-1]
        return _malformed(scan, Span(where, where + 1 + len(name)), f"<{_decode_name(name)}> is not closed")
    return None


def _malformed(scan: Scan, span: Span, reason: str) -> MalformedError:
    return MalformedError(reason, scan.position(span))


def _decode_name(name: bytes) -> str:
    return name.decode("utf-8", "replace")
