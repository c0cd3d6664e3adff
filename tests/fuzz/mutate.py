"""Mutations that know the language: words of the vocabulary in their places, numbers where numbers belong."""

from __future__ import annotations

import random
import re
from functools import cache
from importlib import import_module

_TAG = re.compile(rb"<(/?)([A-Za-z_:][^\s/>]*)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(/?)>")
_LEAF = re.compile(rb"<([A-Za-z_][^\s/>]*)[^<>]*>[^<]*</\1>")
_VALUE = re.compile(rb"\"[^\"<]*\"|'[^'<]*'|>[^<>]+<")
_NUMBER = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")

NUMBERS = (
    b"0", b"-0", b"1", b"-1", b"1e308", b"-1e308", b"1e400", b"5e-324", b"nan", b"inf", b"-inf", b"1,5", b"0x10",
    b"1_0", b"2147483648", b"99999999999999999999", b"1e", b".", b"+", b"\xd9\xa1", b"1e-400", b"0.1f",
)  # fmt: skip
PIECES = (
    b"", b" ", b"<!-- c -->", b"<![CDATA[1]]>", b"&#65;", b"&amp;", b"&x;", b"<x:a/>", b"world", b"<a><b/></a>",
    b"\xe2\x80\xae", b"\xc2\x9b", b"\xff", b"text", b"true", b"none", b"<?x y?>", b"..", b"/dev/zero", b"::",
)  # fmt: skip


@cache
def words(vocabulary: str) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Names of elements, names of attributes, and words that are values."""
    if not vocabulary:
        return [b"a"], [b"a"], [b"a"]
    found = getattr(import_module(f"exoskel.formats.{vocabulary}.vocabulary"), vocabulary.upper())
    elements = [name.encode() for name in found.names()]
    attributes = {name for _, element in found.rows() for name in element.attributes}
    values = {value for kind in found.kinds().values() for value in [*kind.schema_type().enumeration, kind.example()]}
    return elements, [name.encode() for name in sorted(attributes)] or [b"a"], [v.encode() for v in sorted(values)]


def mutated(data: bytes, rng: random.Random, vocabulary: str, other: bytes = b"") -> bytes:
    """The document with one to four changes, most of which leave it well-formed."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 4))):
        data = rng.choice(_CHANGES)(data, rng, vocabulary, other)
    return data


def _spliced(data: bytes, start: int, end: int, piece: bytes) -> bytes:
    return data[:start] + piece + data[end:]


def _number(data: bytes, rng: random.Random, vocabulary: str, other: bytes) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return data
    one = rng.choice(found)
    return _spliced(data, *one.span(), rng.choice(NUMBERS))


def _value(data: bytes, rng: random.Random, vocabulary: str, other: bytes) -> bytes:
    found = list(_VALUE.finditer(data))
    if not found:
        return data
    one = rng.choice(found)
    _, _, values = words(vocabulary)
    neighbour = rng.choice(found)[0][1:-1]
    piece = rng.choice([rng.choice(values), neighbour, neighbour + b" " + neighbour, rng.choice(PIECES), b""])
    if one[0][:1] in b"\"'":
        piece = piece.replace(b"<", b"").replace(one[0][:1], b"")
    return _spliced(data, one.start() + 1, one.end() - 1, piece)


def _rename(data: bytes, rng: random.Random, vocabulary: str, other: bytes) -> bytes:
    """One element under another name, at both ends where it is a leaf."""
    found = list(_LEAF.finditer(data))
    if not found:
        return data
    one = rng.choice(found)
    elements, _, _ = words(vocabulary)
    name = rng.choice(elements)
    return _spliced(data, *one.span(), one[0].replace(one[1], name, 1)[: -len(one[1]) - 1] + name + b">")


def _leaf(data: bytes, rng: random.Random, vocabulary: str, other: bytes) -> bytes:
    """A leaf removed, doubled, moved, or brought from another document."""
    found = list(_LEAF.finditer(data))
    if not found:
        return data
    one = rng.choice(found)
    foreign = _LEAF.findall(other) and rng.choice(list(_LEAF.finditer(other)))[0]
    piece = rng.choice([b"", one[0] * 2, rng.choice(found)[0], foreign or b""])
    return _spliced(data, *one.span(), piece)


def _element(data: bytes, rng: random.Random, vocabulary: str, other: bytes) -> bytes:
    """A new element in front of some tag."""
    found = list(_TAG.finditer(data))
    if not found:
        return data
    elements, attributes, values = words(vocabulary)
    name, value = rng.choice(elements), rng.choice([rng.choice(values), rng.choice(NUMBERS), b"0 0 1"])
    attribute = b" %b='%b'" % (rng.choice(attributes), value.replace(b"'", b"")) if rng.random() < 0.4 else b""
    piece = rng.choice([b"<%b%b/>" % (name, attribute), b"<%b%b>%b</%b>" % (name, attribute, value, name)])
    at = rng.choice(found).start()
    return _spliced(data, at, at, piece)


def _attribute(data: bytes, rng: random.Random, vocabulary: str, other: bytes) -> bytes:
    found = [tag for tag in _TAG.finditer(data) if not tag[1]]
    if not found:
        return data
    _, attributes, values = words(vocabulary)
    tag = rng.choice(found)
    if tag[3].strip() and rng.random() < 0.5:
        return _spliced(data, *tag.span(3), b"")
    value = rng.choice([rng.choice(values), rng.choice(NUMBERS)]).replace(b"'", b"")
    return _spliced(data, tag.end(2), tag.end(2), b" %b='%b'" % (rng.choice(attributes), value))


def _subtree(data: bytes, rng: random.Random, vocabulary: str, other: bytes) -> bytes:
    """A whole element removed or doubled."""
    found = [tag for tag in _TAG.finditer(data) if not tag[1] and not tag[4]]
    if not found:
        return data
    tag = rng.choice(found)
    end = data.find(b"</" + tag[2] + b">", tag.end())
    if end < 0:
        return data
    stop = end + len(tag[2]) + 3
    return _spliced(data, tag.start(), stop, data[tag.start() : stop] * rng.choice((0, 2, 2)))


def _piece(data: bytes, rng: random.Random, vocabulary: str, other: bytes) -> bytes:
    at = rng.randrange(len(data) + 1)
    return _spliced(data, at, at, rng.choice(PIECES))


def _bytes(data: bytes, rng: random.Random, vocabulary: str, other: bytes) -> bytes:
    if not data:
        return b"\0"
    at = rng.randrange(len(data))
    return _spliced(data, at, min(len(data), at + rng.choice((0, 1, 1, 4))), rng.randbytes(rng.choice((0, 1, 2))))


_CHANGES = (_number, _number, _value, _value, _rename, _leaf, _leaf, _element, _attribute, _subtree, _piece, _bytes)
