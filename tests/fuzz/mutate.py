"""Mutations of XML documents that use the vocabulary of the format.

Nearly all mutated documents are well-formed, so that they test the reader and not the XML parser.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import NamedTuple

from exoskel.source.vocabulary import ValueType

_MARKUP = re.compile(
    rb"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<![^>]*>"
    rb"|<(?P<end>/?)(?P<name>[A-Za-z_][^\s/>]*)(?P<attributes>(?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)(?P<empty>/?)>",
    re.DOTALL,
)
_ATTRIBUTE = re.compile(rb"\s([^\s=/]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_NUMBER = re.compile(rb"[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")
_STRAY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos|#\d{2,5});)")

EXAMPLES = ("0.5", "1", "3 3 3", "0 0 0", "0.8 0.3 0.3 1", "0 0 0 0 0 0", "true", "arm", "1.0r22")
"""Texts for values; a kind of value takes those that it accepts."""
NUMBERS = (
    b"0", b"-0", b"1", b"-1", b"2", b"3", b"0.5", b"-0.25", b"1e-9", b"1e9", b"1e308", b"-1e308", b"1e400", b"5e-324",
    b"nan", b"inf", b"-inf", b"1,5", b"0x10", b"1_0", b"2147483648", b"99999999999999999999", b"1e", b".", b"+",
    b"\xd9\xa1", b"1e-400", b"0.1f",
)  # fmt: skip
VALUES = (
    b"", b" ", b"0 0 1", b"1 1 1", b"0 0 0 0 0 0", b"1 2 3 4 5 6 7", b"world", b"text", b"true", b"false", b"none",
    b"&#65;", b"&amp;", b"\xe2\x80\xae", b"\xc2\x9b", b"..", b"/dev/zero", b"::", b"a/b", b"file:///etc/x", b"tetra.obj",
)  # fmt: skip
PIECES = (
    b"<!-- c -->", b"<![CDATA[1]]>", b"&#65;", b"&amp;", b"<x:a xmlns:x='u'/>", b"<x:b/>", b"<a><b/></a>", b"text",
    b"<?x y?>", b" ", b"1", b"\xe2\x80\xae",
)  # fmt: skip
BROKEN = 0.02
"""The share of changes that may make a document malformed."""


class Part(NamedTuple):
    """An element: its name, and the offsets of the element, its content and its attributes."""

    name: bytes
    start: int
    named: int
    opened: int
    closed: int
    end: int

    @property
    def is_empty(self) -> bool:
        """Whether it is a single, self-closing tag."""
        return self.closed == self.end and self.opened == self.end


def parts(data: bytes) -> list[Part]:
    """The complete elements of a document: the root first, then in the order of their end tags."""
    found: list[Part] = []
    open_tags: list[tuple[bytes, int, int, int]] = []
    for tag in _MARKUP.finditer(data):
        name = tag["name"]
        if name is None:
            continue
        if tag["end"]:
            if open_tags and open_tags[-1][0] == name:
                _, start, named, opened = open_tags.pop()
                found.append(Part(name, start, named, opened, tag.start(), tag.end()))
        elif tag["empty"]:
            found.append(Part(name, tag.start(), tag.end("name"), tag.end(), tag.end(), tag.end()))
        else:
            open_tags.append((name, tag.start(), tag.end("name"), tag.end()))
    return found[-1:] + found[:-1]


# --- vocabulary --------------------------------------------------------------------------------------------


class SampleVocabulary:
    """The children, attributes and values of each element, from vocabularies and from sample documents.

    With `careful`, invalid names and positions are rare: for a format whose compiler refuses invalid documents.
    """

    def __init__(self, careful: bool = False) -> None:
        self.careful = careful
        self.children: dict[bytes, list[bytes]] = {}
        self.attributes: dict[bytes, list[bytes]] = {}
        self.values: dict[tuple[bytes, bytes], list[bytes]] = {}
        self.names: list[bytes] = []

    @property
    def valid_share(self) -> float:
        """The share of names that are valid at their position."""
        return 0.99 if self.careful else 0.85

    def learn(self, document: bytes) -> None:
        found = parts(document)
        for part in found:
            for match in _ATTRIBUTE.finditer(document, part.named, part.opened):
                _add(self.attributes.setdefault(part.name, []), match[1])
                _add(self.values.setdefault((part.name, match[1]), []), match[2] or match[3] or b"")
            content = document[part.opened : part.closed]
            if content and b"<" not in content:
                _add(self.values.setdefault((part.name, b""), []), content.strip())
            inside = [one for one in found if part.opened <= one.start < part.closed]
            for child in inside:
                if not any(one.opened <= child.start < one.closed for one in inside):
                    _add(self.children.setdefault(part.name, []), child.name)
            _add(self.names, part.name)

    def add_format(self, vocabulary: str) -> None:
        """Add the vocabulary of a format."""
        module = import_module(f"exoskel.formats.{vocabulary}.vocabulary")
        for _, element in getattr(module, vocabulary.upper()).rows():
            name = element.name.encode()
            _add(self.names, name)
            for child in element.children:
                _add(self.children.setdefault(name, []), child.encode())
            for attribute in element.attributes.values():
                _add(self.attributes.setdefault(name, []), attribute.name.encode())
                self._add_kind(name, attribute.name.encode(), attribute.kind)
            if element.kind is not None:
                self._add_kind(name, b"", element.kind)

    def _add_kind(self, name: bytes, attribute: bytes, kind: ValueType) -> None:
        valid = [text for text in EXAMPLES if kind.value(text) is not None]
        for text in [*kind.schema_type.enumeration, *valid]:
            _add(self.values.setdefault((name, attribute), []), text.encode())

    def value(self, rng: random.Random, name: bytes, attribute: bytes = b"") -> bytes:
        known = self.values.get((name, attribute))
        chance = rng.random()
        if known and (chance < 0.6 or (self.careful and rng.random() < 0.9)):
            return rng.choice(known)
        if chance < 0.7:
            return rng.choice(VALUES)
        if chance < 0.8:
            return rng.choice(list(self.values.values()) or [[b"a"]])[0]
        return b" ".join(rng.choice(NUMBERS) for _ in range(rng.choice((1, 1, 3, 3, 4, 6))))

    def element(self, rng: random.Random, parent: bytes, depth: int = 0) -> bytes:
        """An element that is mostly valid in `parent`, with mostly valid content."""
        known = self.children.get(parent)
        name = rng.choice(known) if known and rng.random() < self.valid_share else rng.choice(self.names or [b"a"])
        chosen = {one for one in self.attributes.get(name, ()) if rng.random() < 0.4}
        attributes = b"".join(b' %b="%b"' % (one, _quote(self.value(rng, name, one))) for one in sorted(chosen))
        if name in self.children and depth < 4:
            content = b"".join(self.element(rng, name, depth + 1) for _ in range(rng.choice((0, 1, 1, 2, 3))))
        else:
            content = b"" if self.careful else _escape(self.value(rng, name))
        return b"<%b%b>%b</%b>" % (name, attributes, content, name)


def _add(items: list[bytes], item: bytes, most: int = 60) -> None:
    if item not in items and len(items) < most:
        items.append(item)


def _escape(value: bytes) -> bytes:
    return _STRAY.sub(b"&amp;", value.replace(b"<", b"&lt;"))


def _quote(value: bytes) -> bytes:
    return _escape(value).replace(b'"', b"").replace(b"'", b"")


@cache
def learn_vocabulary(vocabulary: str, seeds: Callable[[], Iterable[bytes]]) -> SampleVocabulary:
    sampled = SampleVocabulary(careful=not vocabulary)
    if vocabulary:
        sampled.add_format(vocabulary)
    for seed in seeds():
        sampled.learn(seed)
    return sampled


# --- changes ------------------------------------------------------------------------------------------


class Draft(NamedTuple):
    """The input of a change: a document, its elements, the vocabulary, and another document."""

    data: bytes
    parts: list[Part]
    vocabulary: SampleVocabulary
    other: bytes
    rng: random.Random

    def splice(self, start: int, end: int, piece: bytes) -> bytes:
        return self.data[:start] + piece + self.data[end:]

    def one(self) -> Part:
        return self.rng.choice(self.parts)

    def inner(self, name: bytes = b"") -> Part | None:
        """Any element except the root, rarely one that is most of the document; with the name, if given."""
        found = self.parts[1:] if not name else [one for one in self.parts[1:] if one.name == name]
        if self.rng.random() < 0.85:
            found = [one for one in found if 2 * (one.end - one.start) < len(self.data)] or found
        return self.rng.choice(found) if found else None

    def source(self, part: Part) -> bytes:
        return self.data[part.start : part.end]

    def value(self) -> tuple[Part, bytes, int, int] | None:
        """A random value: its element, its attribute (empty for text), and its offsets."""
        for _ in range(6):
            part = self.one()
            found = [(part, m[1], *m.span(2 if m[2] is not None else 3)) for m in self.attributes(part)]
            if part.opened < part.closed and b"<" not in self.data[part.opened : part.closed]:
                found += [(part, b"", part.opened, part.closed)] * 2
            if found:
                return self.rng.choice(found)
        return None

    def attributes(self, part: Part) -> list[re.Match[bytes]]:
        return list(_ATTRIBUTE.finditer(self.data, part.named, part.opened))


def _change_number(draft: Draft) -> bytes:
    found = draft.value()
    if found is None:
        return draft.data
    _, _, start, end = found
    numbers = list(_NUMBER.finditer(draft.data, start, end))
    if not numbers:
        return _change_value(draft)
    one = draft.rng.choice(numbers)
    share = 0.1 if draft.vocabulary.careful else 0.7
    spelled = draft.rng.choice(NUMBERS) if draft.rng.random() < share else b"%.3g" % draft.rng.gauss(0.0, 2.0)
    odd = draft.rng.random() < share / 2.0
    piece = draft.rng.choice([b"", one[0] + b" " + spelled]) if odd else spelled
    return draft.splice(*one.span(), piece)


def _change_value(draft: Draft) -> bytes:
    found = draft.value()
    if found is None:
        return draft.data
    part, attribute, start, end = found
    value = draft.vocabulary.value(draft.rng, part.name, attribute)
    if draft.rng.random() < 0.3 and (another := draft.value()) is not None:
        value = draft.data[another[2] : another[3]]
    return draft.splice(start, end, _quote(value) if attribute else _escape(value))


def _rename_element(draft: Draft) -> bytes:
    part = draft.one()
    name = draft.rng.choice(draft.vocabulary.names or [b"a"])
    if part.end > part.closed:
        draft = draft._replace(data=draft.splice(part.closed, part.end, b"</%b>" % name))
    return draft.splice(part.start, part.named, b"<" + name)


def _remove_element(draft: Draft) -> bytes:
    part = draft.inner()
    return draft.data if part is None else draft.splice(part.start, part.end, b"")


def _duplicate_element(draft: Draft) -> bytes:
    part = draft.inner()
    return draft.data if part is None else draft.splice(part.end, part.end, draft.source(part))


def _move_element(draft: Draft) -> bytes:
    """Move an element to the position of another one, or next to it."""
    part = draft.inner()
    place = draft.inner(part.name if part and draft.vocabulary.careful else b"")
    if part is None or place is None:
        return draft.data
    return draft.splice(draft.rng.choice((place.start, place.end)), place.end, draft.source(part))


def _import_element(draft: Draft) -> bytes:
    """Insert an element of another document, or replace an element with it."""
    found = parts(draft.other)
    if len(found) < 2:
        return draft.data
    part = draft.rng.choice(found[1:])
    place = draft.inner(part.name if draft.vocabulary.careful else b"")
    if place is None:
        return draft.data
    piece = draft.other[part.start : part.end]
    return draft.splice(draft.rng.choice((place.start, place.end)), place.end, piece)


def _add_element(draft: Draft) -> bytes:
    """Add a new element inside another one."""
    part = draft.one()
    if draft.vocabulary.careful and part.name not in draft.vocabulary.children:
        return _change_value(draft)
    piece = draft.vocabulary.element(draft.rng, part.name)
    if part.is_empty:
        tag = draft.data[part.start : part.end].rstrip(b"/> ")
        return draft.splice(part.start, part.end, b"%b>%b</%b>" % (tag, piece, part.name))
    return draft.splice(*[draft.rng.choice((part.opened, part.closed))] * 2, piece)


def _change_attribute(draft: Draft) -> bytes:
    part = draft.one()
    present = draft.attributes(part)
    if present and draft.rng.random() < 0.4:
        return draft.splice(*draft.rng.choice(present).span(), b"")
    known = draft.vocabulary.attributes.get(part.name) or [b"name"]
    name = draft.rng.choice(known) if draft.rng.random() < draft.vocabulary.valid_share else b"name"
    if any(one[1] == name for one in present):
        return _change_value(draft)
    value = _quote(draft.vocabulary.value(draft.rng, part.name, name))
    return draft.splice(part.named, part.named, b' %b="%b"' % (name, value))


def _wrap_or_unwrap(draft: Draft) -> bytes:
    """Replace an element with its content, or wrap it in another element."""
    part = draft.inner()
    if part is None:
        return draft.data
    if draft.rng.random() < 0.5:
        return draft.splice(part.start, part.end, draft.data[part.opened : part.closed])
    name = draft.rng.choice(draft.vocabulary.names or [b"a"])
    return draft.splice(part.start, part.end, b"<%b>%b</%b>" % (name, draft.source(part), name))


def _insert_piece(draft: Draft) -> bytes:
    part = draft.one()
    if part.is_empty:
        return draft.data
    return draft.splice(*[draft.rng.choice((part.opened, part.closed))] * 2, draft.rng.choice(PIECES))


_CHANGES = (
    *(_change_number,) * 5, *(_change_value,) * 5, *(_add_element,) * 4, *(_change_attribute,) * 3, *(_import_element,) * 3, *(_move_element,) * 2,
    *(_remove_element,) * 3, _duplicate_element, _rename_element, _wrap_or_unwrap, _insert_piece,
)  # fmt: skip
_CAREFUL = (
    _change_number,
    _change_number,
    _change_number,
    _change_value,
    _change_value,
    _change_value,
    _add_element,
    _change_attribute,
    _import_element,
    _move_element,
    _remove_element,
)


def mutate_document(
    data: bytes, rng: random.Random, known: SampleVocabulary, other: bytes = b"", most: int = 4000
) -> bytes:
    """Apply one to four changes, nearly all of which leave the document well-formed."""
    for _ in range(rng.choice((1, 1, 1, 1, 2) if known.careful else (1, 1, 1, 2, 3, 4))):
        found = parts(data)
        if not found or rng.random() < BROKEN:
            data = scramble_bytes(data, rng)
            continue
        draft = Draft(data, found, known, other, rng)
        changed = rng.choice(_CAREFUL if known.careful else _CHANGES)(draft)
        data = changed if len(changed) <= most else _remove_element(draft)
    return data


def scramble_bytes(data: bytes, rng: random.Random) -> bytes:
    """Remove, change or insert a few bytes anywhere."""
    if not data:
        return b"\0"
    at = rng.randrange(len(data))
    gone = rng.choice((0, 1, 1, 4))
    return data[:at] + rng.choice((b"", rng.randbytes(1), rng.randbytes(2), b"<!--", b"]]>")) + data[at + gone :]
