"""The encoding and the prolog of an XML document, and its text in an encoding that can be scanned by bytes."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from functools import cache, lru_cache

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.source.positions import Span, region_end

# Comments, instructions and quoted texts match as a whole, so that declarations in them are ignored.
_DECLARATION = re.compile(
    rb"""<!--.*?-->|<\?.*?\?>|"[^"]*"|'[^']*'|(?P<entity><!ENTITY\b)|(?P<elsewhere>%[^\s%;]+;)""",
    re.DOTALL,
)
_EXTERNAL = re.compile(rb"<!DOCTYPE\s+[^\s\[>]+\s+(?:SYSTEM|PUBLIC)\b")
_STANDALONE = re.compile(rb"""<\?xml\s(?:[^>]*?\s)?standalone\s*=\s*["']yes["']""")
_REFERENCE = re.compile(rb"""&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z_:\x80-\xff][\w.:\x80-\xff-]*);""")
# The ranges of XML 1.0, fifth edition.
_START = (
    "A-Za-z_:\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)


@cache
def _name_pattern() -> re.Pattern[str]:
    """Matches a name.  Compiling it takes as long as reading a small file."""
    return re.compile(f"[{_START}][{_START}0-9.\xb7\u0300-\u036f\u203f\u2040-]*")


class Prolog(Struct, frozen=True):
    """The position of a document type declaration, and of the first entity that it declares.

    If it `is_incomplete`, another file may declare more.
    """

    doctype: Span | None = None
    entities: Span | None = None
    is_incomplete: bool = False


def read_prolog(text: bytes) -> Prolog:
    """Find the document type declaration before the root element."""
    at = 0
    while (at := text.find(b"<", at)) >= 0 and text[at + 1 : at + 2] in (b"!", b"?"):
        end = region_end(text, at)
        if text.startswith(b"<!DOCTYPE", at):
            return _read_doctype(text, at, end)
        at = end
    return Prolog()


def _read_doctype(text: bytes, start: int, end: int) -> Prolog:
    entity: Span | None = None
    is_incomplete = _EXTERNAL.match(text, start) is not None
    for match in _DECLARATION.finditer(text, start, end):
        if match["entity"] and entity is None:
            entity = Span(*match.span())
        is_incomplete = is_incomplete or match["elsewhere"] is not None
    return Prolog(Span(start, start + 9), entity, is_incomplete and not _STANDALONE.match(text))


def escape_undeclared_references(text: bytes, regions: Iterable[tuple[int, int]], codec: str) -> bytes:
    """Escape references to undeclared entities, so that they are read as text.

    A document type declaration that names another file allows such references, since that file might declare them.
    It is never read, and DART reads the reference as text.
    """

    def escape(reference: re.Match[bytes]) -> bytes:
        is_name = _name_pattern().fullmatch(reference[1].decode(codec, "replace"))
        return b"&amp;%b;" % reference[1] if is_name else reference[0]

    pieces: list[bytes] = []
    done = 0
    for start, end in regions:
        pieces += [_REFERENCE.sub(escape, text[done:start]), text[start:end]]
        done = end
    pieces.append(_REFERENCE.sub(escape, text[done:]))
    return b"".join(pieces)


_OTHER_VERSION = re.compile(rb"""(<\?xml\s+version\s*=\s*["'])0\.[0-9](?=["'])""")


def with_version_1(text: bytes) -> bytes:
    """The text of a document that declares another version of XML, such as 0.0, with 1.0 in its place.

    The parsers of DART, Gazebo, MuJoCo and PyBullet do not look at the version.
    """
    return _OTHER_VERSION.sub(rb"\g<1>1.0", text, count=1) if _OTHER_VERSION.match(text) else text


# --- encodings -----------------------------------------------------------------------------------------


_PLAIN_START = re.compile(
    rb"""(?:<\?xml\ version=["']1\.0["'](?:\ encoding=["'](utf-8|UTF-8)["'])?\ ?\?>[ \t\r\n]*+)?  # declaration
    (?:<!--(?>.*?-->)[ \t\r\n]*+)*+  # comments
    <([A-Za-z_][A-Za-z0-9_]*+)[ \t\r\n/>]""",
    re.DOTALL | re.VERBOSE,
)


def plain_start(data: bytes) -> tuple[str, Encoding] | None:
    """The tag of the root element and the encoding of a document in UTF-8 without document type, as most are.

    None if one of the two is not certain.
    """
    match = _PLAIN_START.match(data)
    if match is None:
        return None
    declared, root = match.groups()
    return root.decode(), _PLAIN_ENCODINGS[declared]


_DECLARED = re.compile(rb"""^\s*<\?xml\s(?:[^>]*?\s)?encoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")

_MARKS = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]

# The first bytes of "<" or a space without a byte-order mark.
_OPENINGS = [
    (re.compile(rb"[<\s]\0\0\0"), "utf-32-le"),
    (re.compile(rb"\0\0\0[<\s]"), "utf-32-be"),
    (re.compile(rb"[<\s]\0"), "utf-16-le"),
    (re.compile(rb"\0[<\s]"), "utf-16-be"),
]

_SCANNABLE = {"utf-8", "ascii", "iso8859-1"}
"""Encodings whose bytes are scanned and parsed directly.  In all others a byte that looks like markup may be part of
a character, or the parser may not support them, so their text is decoded first."""


_NOT_FOR_XML = {"idna", "punycode", "utf-7", "unicode-escape", "raw-unicode-escape", "charmap"}
"""Text encodings of Python that XML documents do not use."""


class Encoding(Struct, frozen=True):
    """The encoding of a document.

    `codec` is Python's name of it, `mark` the length of the byte-order mark, `declared` the name that the document
    declares (empty: none).
    """

    codec: str
    mark: int = 0
    declared: str = ""

    @property
    def scannable(self) -> bool:
        return self.codec in _SCANNABLE

    @property
    def is_utf8(self) -> bool:
        return self.codec in ("utf-8", "ascii")


_PLAIN_ENCODINGS = {name: Encoding("utf-8", 0, (name or b"").decode()) for name in (None, b"utf-8", b"UTF-8")}


class UnknownEncodingError(Exception):
    """The document declares an encoding that is not supported."""


class EncodingRoundTripError(ExoskelError):
    """The bytes of a file do not survive decoding and encoding, so that it cannot be edited safely."""


def detect_encoding(data: bytes) -> Encoding:
    """Detect the encoding by byte-order mark, first characters, or declaration."""
    if not (data.startswith(b"<") and data[1:2] != b"\0"):  # most documents start with markup
        for mark, codec in _MARKS:
            if data.startswith(mark):
                return Encoding(codec, len(mark), codec)
        for opening, codec in _OPENINGS:
            if opening.match(data):
                return Encoding(codec, 0, codec)
    named = declared_encoding_span(data)
    if named is None:
        return Encoding("utf-8")
    declared = data[slice(*named)].decode("ascii")
    return Encoding(_python_codec(declared), 0, declared)


@lru_cache(maxsize=64)
def _python_codec(declared: str) -> str:
    """Python's name of a declared encoding."""
    try:
        codec = codecs.lookup(declared).name
        # A declaration that could be read byte by byte is not in a two- or four-byte encoding.
        if codec.startswith(("utf-16", "utf-32")):
            return "utf-8"
        reads_itself = codec not in _NOT_FOR_XML and b"<?xml".decode(codec) == "<?xml"
    except (LookupError, UnicodeError):  # not a codec, or not a text encoding
        reads_itself = False
    if not reads_itself:
        raise UnknownEncodingError(declared)
    return codec


def scannable_text(data: bytes, encoding: Encoding) -> bytes:
    """The document without byte-order mark, in an encoding where bytes that look like markup are markup.

    Raises UnicodeDecodeError if the bytes are invalid in the encoding.
    """
    if encoding.scannable:
        return data[encoding.mark :] if encoding.mark else data
    return data[encoding.mark :].decode(encoding.codec).encode("utf-8", "surrogatepass")


def encode_like_source(text: bytes, data: bytes, encoding: Encoding) -> bytes:
    """Encode edited `text` in the encoding of its source file `data`, with the same byte-order mark.

    Raises EncodingRoundTripError if unedited text would not give the same bytes as the file.
    """
    mark = data[: encoding.mark]
    if encoding.scannable:
        return mark + text
    try:
        if data[encoding.mark :].decode(encoding.codec).encode(encoding.codec) == data[encoding.mark :]:
            return mark + text.decode("utf-8", "surrogatepass").encode(encoding.codec)
    except UnicodeError:
        pass
    raise EncodingRoundTripError(f"the encoding {encoding.declared} has several byte sequences for some characters")


def declared_encoding_span(text: bytes) -> tuple[int, int] | None:
    """The start and end of the encoding name in the XML declaration; None if it has none."""
    if text.startswith(b"<") and not text.startswith(b"<?xml"):
        return None
    match = _DECLARED.match(text[:1024])
    return match.span(1) if match else None


def lenient_text(data: bytes, length: int | None = None) -> bytes:
    """Decode `data`, or its first `length` bytes after the mark, with replacement characters, for display."""
    try:
        encoding = detect_encoding(data)
    except UnknownEncodingError:
        return data
    end = None if length is None else encoding.mark + length
    return data[encoding.mark : end].decode(encoding.codec, "replace").encode("utf-8", "replace")
