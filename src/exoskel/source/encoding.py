"""Which encoding an XML document is in, and its text as bytes that a tag scan can walk."""

from __future__ import annotations

import codecs
import re

from msgspec import Struct

from exoskel.diagnostics import ExoskelError

_DECLARED = re.compile(rb"""^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._:-]+)["']""")

_MARKS = [
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
]

# How "<" and what may follow it in a declaration look without a byte-order mark.
_OPENINGS = [
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
]

_SCANNABLE = {"utf-8", "ascii", "iso8859-1"}
"""Encodings whose bytes are scanned and parsed as they are.  In all others a byte that looks like
markup may be part of a character, or the parser may not know them, so their text is decoded first."""


_NO_CHARSETS = {"idna", "punycode", "utf-7", "unicode-escape", "raw-unicode-escape", "charmap"}
"""Codecs that Python counts among text encodings, but that no XML document is written in."""


class Encoding(Struct, frozen=True):
    """`codec` is Python's name of the encoding, `mark` the length of the byte-order mark, `declared` the
    name the document gives itself (empty: none)."""

    codec: str
    mark: int = 0
    declared: str = ""

    @property
    def scannable(self) -> bool:
        return self.codec in _SCANNABLE

    @property
    def is_utf8(self) -> bool:
        return self.codec in ("utf-8", "ascii")


class UnknownEncodingError(Exception):
    """The document names an encoding nobody here can read."""


class EncodingRoundTripError(ExoskelError):
    """The bytes of a file do not come back from decoding and encoding them: it cannot be changed safely."""


def detect_encoding(data: bytes) -> Encoding:
    """The encoding by byte-order mark, by the look of the first characters, or by declaration."""
    for mark, codec in _MARKS:
        if data.startswith(mark):
            return Encoding(codec, len(mark), codec)
    for opening, codec in _OPENINGS:
        if data.startswith(opening):
            return Encoding(codec, 0, codec)
    named = declared_encoding_span(data)
    if named is None:
        return Encoding("utf-8")
    declared = data[slice(*named)].decode("ascii")
    return Encoding(_codec(declared), 0, declared)


def _codec(declared: str) -> str:
    """Python's name of the encoding that a declaration names."""
    try:
        codec = codecs.lookup(declared).name
        # A declaration that could be read byte by byte is not in a two- or four-byte encoding.
        if codec.startswith(("utf-16", "utf-32")):
            return "utf-8"
        reads_itself = codec not in _NO_CHARSETS and b"<?xml".decode(codec) == "<?xml"
    except (LookupError, UnicodeError):  # no codec at all, or one for something else than text
        reads_itself = False
    if not reads_itself:
        raise UnknownEncodingError(declared)
    return codec


def scannable_text(data: bytes, encoding: Encoding) -> bytes:
    """The document without its mark, in an encoding whose markup bytes mean only markup.

    Raises UnicodeDecodeError where the bytes are no text of the encoding.
    """
    if encoding.scannable:
        return data[encoding.mark :] if encoding.mark else data
    return data[encoding.mark :].decode(encoding.codec).encode("utf-8", "surrogatepass")


def encode_like_source(text: bytes, data: bytes, encoding: Encoding) -> bytes:
    """Changed `text` in the encoding of the file `data` it was made from, behind the same byte-order mark.

    Raises Irreversible where unchanged text would not give the very bytes of the file.
    """
    mark = data[: encoding.mark]
    if encoding.scannable:
        return mark + text
    try:
        if data[encoding.mark :].decode(encoding.codec).encode(encoding.codec) == data[encoding.mark :]:
            return mark + text.decode("utf-8", "surrogatepass").encode(encoding.codec)
    except UnicodeError:
        pass
    raise EncodingRoundTripError(f"its encoding, {encoding.declared}, spells some characters in more than one way")


def declared_encoding_span(text: bytes) -> tuple[int, int] | None:
    """Where the XML declaration names an encoding, from and to; None if it names none."""
    match = _DECLARED.match(text[:1024])
    return match.span(1) if match else None


def lenient_text(data: bytes, length: int | None = None) -> bytes:
    """What can be made out of `data` (of its first `length` bytes behind the mark), for showing it."""
    try:
        encoding = detect_encoding(data)
    except UnknownEncodingError:
        return data
    end = None if length is None else encoding.mark + length
    return data[encoding.mark : end].decode(encoding.codec, "replace").encode("utf-8", "replace")
