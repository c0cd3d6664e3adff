"""Finds bodies and joints that differ only in their values, so that large documents are formatted by their shapes.

A shape is everything in an element but its values: texts of leaves, and attribute values.  A document of thousands of
bodies has few shapes.  Each body is replaced by a stub in the frame of the document, and what is done with a shape is
done once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from lxml import etree
from msgspec import Struct

from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.source.document import Document, Tree
from exoskel.source.vocabulary import Vocabulary

ElementShape = tuple[bytes, ...]
"""The pieces between the values of an element."""
ElementValues = list[bytes]
"""Each after the `="` or `>` before it, which makes them fast to find."""

_LARGE = 100_000
"""In bytes: smaller documents are processed fast enough without shapes."""
_FEWEST = 100
_FEWEST_PER_SHAPE = 4
_CHECKED = 500
"""After each such number of elements, the number of shapes is checked."""

_STUB = b' exoskel.stub="'
_MARK = "\ue000"
_PLACEHOLDER = re.compile(rf"{_MARK}([0-9]+){_MARK}")
_PLACED = re.compile(rf'(?:="|>){_MARK}([0-9]+){_MARK}'.encode())
_SPECIAL = (b"\r", b"xml:space", _STUB, _MARK.encode())
"""Other line ends, spaces that matter, and what marks stubs and values here."""
_MARKUP = re.compile(rb"<[!?]")
"""The start of a comment, a CDATA section or the like."""
_VALUE = re.compile(rb'(="[^"<]+(?=")|>[^<> \t\n]+(?: [^<> \t\n]+)*(?=</))')
"""Texts with other spaces are part of the shape, because formatting may change them."""


class NotSimilarError(ValueError):
    """The shapes of a document cannot be processed by themselves."""


class SimilarElements(Struct):
    """A document whose bodies and joints are cut out.

    `frame` is the text with a stub for each of them, `elements` are their shapes, by number, and their values.
    """

    frame: bytes
    shapes: list[ElementShape]
    elements: list[tuple[int, ElementValues]]

    def stub_number(self, attributes: bytes) -> int | None:
        """The number of the element that a stub with these attributes stands for; None if it is not a stub."""
        return int(attributes[len(_STUB) : -1]) if attributes.startswith(_STUB) else None


def find_similar(document: Document, vocabulary: Vocabulary) -> SimilarElements | None:
    """Cut the bodies and joints of a large document out; None if that does not pay, or may not be exact."""
    text = document.text
    is_small = len(text) < _LARGE
    if is_small or document.encoding.codec != "utf-8" or any(text.find(one) >= 0 for one in _SPECIAL):
        return None
    names = b"|".join(sorted({e.name.encode() for _, e in vocabulary.rows() if e.item in (Body, Joint)}))
    find_start = re.compile(rb"<(%b)(?:[ \n\t][^<>]*)?(?<!/)>" % names).search
    numbers: dict[ElementShape, int] = {}
    elements: list[tuple[int, ElementValues]] = []
    frame: list[bytes] = []
    at = 0
    while match := find_start(text, at):
        start, end_tag = match.start(), b"</%b>" % match[1]
        end = text.find(end_tag, match.end()) + len(end_tag)
        if end < start or _MARKUP.search(text, start, end):
            return None
        pieces = _VALUE.split(text[start:end])
        frame += (text[at:start], b'<%b%b%d"/>' % (match[1], _STUB, len(elements)))
        at = end
        elements.append((numbers.setdefault(tuple(pieces[::2]), len(numbers)), pieces[1::2]))
        if len(elements) % _CHECKED == 0 and len(numbers) * _FEWEST_PER_SHAPE > len(elements):
            return None
    if len(elements) < _FEWEST or len(numbers) * _FEWEST_PER_SHAPE > len(elements):
        return None
    return SimilarElements(b"".join([*frame, text[at:]]), list(numbers), elements)


def has_stubs(text: bytes) -> bool:
    """Whether a text contains a stub."""
    return _STUB in text


def fill(shape: Sequence[bytes], values: Sequence[bytes]) -> bytes:
    """The text of an element."""
    pieces = [b""] * (len(shape) + len(values))
    pieces[::2], pieces[1::2] = shape, values
    return b"".join(pieces)


def with_placeholders(shape: ElementShape) -> bytes:
    """The text of an element with a placeholder for each value."""
    mark = _MARK.encode()
    before = [b'="' if piece.startswith(b'"') else b">" for piece in shape[1:]]
    return fill(shape, [b"%b%b%d%b" % (one, mark, number, mark) for number, one in enumerate(before)])


class Template(Struct):
    """How the elements of one shape are written: pieces, and the numbers of the values between them."""

    pieces: list[bytes]
    places: list[int]

    @classmethod
    def of(cls, text: bytes, count: int) -> Template:
        """The template that a text with `count` placeholders shows.  Raises NotSimilarError."""
        found = _PLACED.split(text)
        template = cls(found[::2], [int(number) for number in found[1::2]])
        if sorted(template.places) != list(range(count)):
            raise NotSimilarError("not all values are written")
        return template

    def fill(self, values: ElementValues) -> bytes:
        return fill(self.pieces, [values[place] for place in self.places])


_ElementPlace = tuple[tuple[str, int], ...]
"""The tags of the elements around a value or text, each with its number among siblings with the same tag."""


def matching_places(one: ElementShape, other: ElementShape) -> list[int] | None:
    """Where the values of an element are in another one that differs only in layout and order; None if it does not.

    Siblings with different names, and attributes, may be in any order.
    """
    contents, others = _contents(one), _contents(other)
    if contents is None or others is None or contents.keys() != others.keys():
        return None
    places = [-1] * (len(other) - 1)
    for key, text in contents.items():
        mine, theirs = (_PLACEHOLDER.fullmatch(found) for found in (text, others[key]))
        if mine is not None and theirs is not None:
            places[int(theirs[1])] = int(mine[1])
        elif text != others[key]:
            return None
    return None if sorted(places) != list(range(len(one) - 1)) else places


def _contents(shape: ElementShape) -> dict[tuple[_ElementPlace, str], str] | None:
    """The texts and attribute values of an element by their places; None if it contains text between elements."""
    try:
        root = etree.fromstring(with_placeholders(shape).decode())
    except (etree.XMLSyntaxError, UnicodeDecodeError):
        return None
    found: dict[tuple[_ElementPlace, str], str] = {}
    waiting: list[tuple[Tree, _ElementPlace]] = [(root, ((str(root.tag), 0),))]
    while waiting:
        element, place = waiting.pop()
        texts = [element.text, *(child.tail for child in element)]
        if len(element) and any(text and not text.isspace() for text in texts):
            return None
        found[place, ""] = "" if len(element) or not (texts[0] or "").strip() else str(texts[0])
        found |= {(place, f"@{name}"): str(value) for name, value in element.items()}
        seen: dict[str, int] = {}
        for child in element:
            tag = str(child.tag)
            seen[tag] = number = seen.get(tag, -1) + 1
            waiting.append((child, (*place, (tag, number))))
    return found
