"""Agreement with expat: a document is an error exactly if expat calls it not well-formed.

Unlike the other mutations, these break most documents.  `exception` and `NEW_NAMES` are the exceptions.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import suppress
from xml.parsers import expat

from tests.fuzz import seeds
from tests.fuzz.xml_grammar import Grammar

LARGEST = 1500
"""The largest size of a seed in bytes."""

NEW = 0.3
"""The share of documents that come from the grammar."""

_TOKEN = re.compile(rb"<[^<>]*>|[^<>]+|[<>]")
_PIECES = (
    b"<", b">", b"&", b";", b"'", b'"', b"=", b" ", b"/", b"/>", b"</", b"</a>", b"<a>", b"<a/>", b"<a b='1'/>",
    b"<a b='1' b='2'/>", b" b='1'", b' b="<"', b" b=1", b" b", b"b='1'c='2'", b"&amp;", b"&lt;", b"&none;", b"&#65;", b"&#x41;",
    b"&#0;", b"&#x1;", b"&#xFFFE;", b"&#xD800;", b"&#x110000;", b"&#x;", b"&#;", b"&amp", b"<![CDATA[", b"]]>", b"<![CDATA[a]]>",
    b"<!--", b"--", b"-->", b"<!-- a -->", b"<!-- a -- b -->", b"<!-- a --->", b"<?", b"?>", b"<?a b?>", b"<?xml a?>", b"<?XML a?>",
    b"<?xml version='1.0'?>", b"<?xml version='1.0' encoding='utf-8'?>", b"<?xml version='1.0' standalone='yes'?>",
    b"<?xml version='1.0' encoding='us-ascii'?>", b"<?xml version='1.0' encoding='iso-8859-1'?>", b"<?xml encoding='utf-8'?>",
    b"<!DOCTYPE a>", b"<!DOCTYPE a SYSTEM 'x'>", b"<!DOCTYPE a PUBLIC 'x' 'y'>", b"<!DOCTYPE a [", b"]>", b"<!DOCTYPE",
    b"<!DOCTYPE a [<!ELEMENT a (b|c)*><!ATTLIST a b CDATA #IMPLIED>]>", b"<!ELEMENT a ANY>", b"<!ATTLIST a b CDATA 'c'>",
    b"<!NOTATION n SYSTEM 'x'>", b"%p;", b"<!a>", b"\t", b"\n", b"\r", b"\r\n", b"\0", b"\x01", b"\x0b", b"\x7f", b"\x80", b"\xff",
    b"\xc3", b"\xc3\xa9", b"\xc2\x85", b"\xe2\x80\xa8", b"\xef\xbf\xbe", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80", b"\xef\xbb\xbf",
    b"\xff\xfe", b"\xfe\xff", b"1", b"-", b".", b":", b"xml", b"xmlns='u'", b" xmlns:x='u'", b"text",
)  # fmt: skip
_PREFIXED = (b"<x:a/>", b"<x:a>", b"</x:a>", b" x:b='1'", b" x:b='1' x:b='2'", b"x:", b"<x:a x:b='1'/>", b"<x:y:z/>")
"""Pieces with an undeclared prefix."""

NEW_NAMES = "the name has a character that XML allows since its fifth edition, and expat does not"
_NEW_NAME = re.compile(
    "[\u00b7-\u02ff\u0300-\u037d\u037f-\u1fff\u200c\u200d\u203f\u2040\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff"
    "\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff]"
)
_INVALID_TOKEN = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]
_ENCODING = re.compile(r"""\s*<\?xml\s[^>]*?\bencoding\s*=\s*["']([^"']*)["']""")
_STANDALONE = re.compile(r"""<\?xml\s[^>]*?\bstandalone\s*=\s*["']yes""")
_NOT_QUALIFIED = re.compile(r"</?(?:[^\s<>/=:]*:[0-9.\u00b7\u0300-\u036f:\s/>-]|:)")
_LATIN_LETTER = re.compile("[ªµº]")
_PARAMETER = re.compile(r"%[^\s%;]+;")
_VERSION = re.compile(r"""<\?xml\s+version\s*=\s*["']([^"']*)["']""")


def documents() -> Iterator[bytes]:
    """Small documents of all XML formats, with and without an undeclared prefix."""
    for source in seeds.SOURCES.values():
        for data in source():
            if len(data) <= LARGEST and not expat_verdict(data):
                yield data
    yield b"<?xml version='1.0' encoding='iso-8859-1'?><a b='\xe9'>\xe9</a>"
    yield "<?xml version='1.0' encoding='utf-16'?><a b='é'>é</a>".encode("utf-16")
    yield (
        b"<?xml version='1.0'?>\n<!DOCTYPE a [<!ELEMENT a (b|c)*><!ELEMENT b (#PCDATA)><!ATTLIST a b CDATA 'c' d (e|f) #REQUIRED>"
        b"<!NOTATION n PUBLIC 'x'><!-- c --><?p i?>]>\n<a d='e'><b/></a>"
    )
    yield b"<!DOCTYPE a [%p;<!ATTLIST a b ID #IMPLIED>]><a b='&none;'>&none;</a>"
    yield b"<!DOCTYPE a SYSTEM 'x' [<!ELEMENT a EMPTY>]><a b='&none;'>&none;</a>"
    yield b"<!DOCTYPE a PUBLIC '-//x' \"y\"><a><x:b/>&none;</a>"
    yield b"<COLLADA><asset><unit meter='1'/></asset><scene/></COLLADA>"
    yield b"<model><name>a</name><sdf version='1.9'>model.sdf</sdf></model>"


def mutate(data: bytes, rng: random.Random, other: bytes) -> bytes:
    """Apply one to three changes to the markup, after which few documents are well-formed; or create a new document."""
    if rng.random() < NEW:
        return Grammar(rng).document()
    for _ in range(rng.choice((1, 1, 2, 3))):
        data = rng.choice(_CHANGES)(data, rng, other)
    return data


def _place(data: bytes, rng: random.Random) -> int:
    """An offset: the beginning, the end, a border of a token, or any other."""
    chance = rng.random()
    if chance < 0.1:
        return rng.choice((0, len(data)))
    if chance < 0.6 and (borders := [match.start() for match in _TOKEN.finditer(data)]):
        return rng.choice(borders)
    return rng.randrange(len(data) + 1)


def _insert(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    at = _place(data, rng)
    return data[:at] + rng.choice(_PIECES) + data[at:]


def _insert_prefixed(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    at = _place(data, rng)
    return data[:at] + rng.choice(_PREFIXED) + data[at:]


def _rename(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    """Insert an undeclared prefix into a name."""
    names = [match.start(1) for match in re.finditer(rb"[</\s]([A-Za-z_][\w.-]*)", data)]
    at = rng.choice(names) if names else 0
    return data[:at] + b"x:" + data[at:]


def _remove(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    at = _place(data, rng)
    return data[:at] + data[at + rng.choice((1, 1, 2, 5, 20)) :]


def _replace(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    at = _place(data, rng)
    return data[:at] + rng.randbytes(1) + data[at + 1 :]


def _repeat(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    begin, end = sorted((_place(data, rng), _place(data, rng)))
    at = _place(data, rng)
    return data[:at] + data[begin : min(end, begin + 200)] + data[at:]


def _truncate(data: bytes, rng: random.Random, _other: bytes) -> bytes:
    return data[: _place(data, rng)]


def _append(data: bytes, rng: random.Random, other: bytes) -> bytes:
    return data + rng.choice((b"\n", b"\n ", other, b"x", b"\n<a/> & <junk", *_PIECES))


_CHANGES = (_insert, _insert, _insert, _insert_prefixed, _insert_prefixed, _rename, _remove, _remove, _replace, _repeat,
            _truncate, _append)  # fmt: skip


# --- verdicts ------------------------------------------------------------------------------------------


def verdict(data: bytes) -> str:
    """Why a document is not well-formed, according to exoskel; empty if it is."""
    from exoskel.source.document import Document
    from exoskel.source.well_formedness import MalformedError

    try:
        Document(data).parse()
    except MalformedError as error:
        return error.reason
    return ""


def expat_verdict(data: bytes) -> str:
    """Why a document is not well-formed, according to expat; empty if it is."""
    parser = expat.ParserCreate()
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        if error.code == _INVALID_TOKEN and _NEW_NAME.match(_character(data, parser.ErrorByteIndex)):
            return NEW_NAMES
        return str(error)
    except LookupError as error:  # an unknown encoding, from Python 3.12 on
        return str(error)
    return ""


def exception(data: bytes) -> str:
    """Why expat cannot be asked about a document; empty if it can."""
    if re.match(rb"\xff\xfe\0\0|\0\0\xfe\xff|[<\s]\0\0\0|\0\0\0[<\s]", data):
        return "UTF-32: expat does not know it"
    codec = _codec(data)
    if codec != "utf-8" and len(data) % 2:
        return "UTF-16 with half of a character at the end: expat ignores it after the root"
    text = data.decode(codec, "ignore").removeprefix("\ufeff")
    if "<!ENTITY" in text:
        return "declared entities: readers report them and read nothing"
    named = _ENCODING.match(text)
    if named and named[1].lower() not in (("utf-8", "us-ascii", "iso-8859-1") if codec == "utf-8" else ("utf-16",)):
        return "another encoding: expat knows four, and trusts the declaration where we trust the bytes"
    if named and data.startswith(b"\xef\xbb\xbf") and named[1].lower() != "utf-8":
        return "a byte-order mark that contradicts the declaration: we trust the mark"
    parameter = _PARAMETER.search(text)
    if parameter and (_STANDALONE.match(text) or "<!ATTLIST" in text[parameter.end() :]):
        return "a parameter entity: libxml2 wants it to be declared if standalone, expat skips declarations after it"
    if codec != "utf-8" and _LATIN_LETTER.search(text):
        return "UTF-16 with a character that is a letter for expat, but not for XML"
    if _NOT_QUALIFIED.search(text):
        return "a name with an odd colon: libxml2 refuses some of them"
    version = _VERSION.match(text)
    if version and version[1] != "1.0":
        return "another version of XML: expat ignores the number, libxml2 refuses 2.0"
    return ""


def disagreement(data: bytes) -> str:
    """How exoskel and expat disagree about a document; empty if they agree or expat cannot be asked."""
    if exception(data):
        return ""
    ours, theirs = verdict(data), expat_verdict(data)
    if bool(ours) == bool(theirs) or theirs == NEW_NAMES:
        return ""
    return f"expat: {theirs or 'well-formed'}; exoskel: {ours or 'well-formed'}"


def declares_entity(data: bytes) -> bool:
    """Whether expat finds the declaration of an entity."""
    found: list[object] = []
    parser = expat.ParserCreate()
    parser.EntityDeclHandler = lambda *declaration: found.append(declaration)
    with suppress(expat.ExpatError, LookupError):
        parser.Parse(data, True)
    return bool(found)


def _character(data: bytes, at: int) -> str:
    return data[at : at + 4].decode(_codec(data), "ignore")[:1]


def _codec(data: bytes) -> str:
    if re.match(rb"\xfe\xff|\0[<\s]", data):
        return "utf-16-be"
    return "utf-16-le" if re.match(rb"\xff\xfe|[<\s]\0", data) else "utf-8"
