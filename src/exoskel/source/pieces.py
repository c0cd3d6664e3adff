"""Parses a large document in pieces, so that the tree of the whole document is never in memory.

A piece ends after the end tag of some element.  The elements that are still open there are closed in the tree of the
piece, and opened again in that of the next one.  The parser accepts all pieces only if it accepts the whole document: a
cut within a comment or a CDATA section leaves it open, and end tags that do not match the open elements are errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lxml import etree
from msgspec import Struct

from exoskel.source.document import Document, Tree, tag_as_written
from exoskel.source.embedded_format import might_contain_embedded_data
from exoskel.source.limits import Limits
from exoskel.source.markup import escape_attribute

_LARGE = 4 * 2**20
"""From this many bytes on, a document is parsed in pieces."""
_SIZE = 2**18
"""The least number of bytes in a piece: trees of this size fit into the cache of a processor."""
_LARGEST = 2**24
"""The number of bytes after which no cut is tried any more, if all cuts before were inside comments, for example."""
_MOST_FAILURES = 100
"""The number of cuts that may fail in one document."""
_SAMPLES = 16
_SAMPLE = 2**16
"""The number and size of the parts of a document, in bytes, that are searched for elements to cut at."""

Levels = Sequence[Sequence[str]]
"""The elements after which a document may be cut; those of a later level if earlier ones are too large or too rare."""


class NotInPiecesError(Exception):
    """The document has to be parsed as a whole: it has errors, for example."""


class Piece(Struct, frozen=True):
    """The tree of one piece.

    Its first `continued` elements, each the first child of the one before, are open since an earlier piece; only their
    namespaces are repeated.  The last elements of the tree on `unclosed` levels continue in the next piece.
    """

    root: Tree
    continued: int
    unclosed: int


class Pieces:
    """A document in pieces.  `root` is the root element with the content of the first piece."""

    def __init__(self, document: Document, text: bytes, ends: re.Pattern[bytes]) -> None:
        self._document = document
        self._text = text
        self._ends = ends
        self._failures = 0
        self._pieces = self._parse()
        self._first: Piece | None = next(self._pieces)
        self.root = self._first.root

    def __iter__(self) -> Iterator[Piece]:
        """Yield the pieces, once.  Raises NotInPiecesError."""
        assert self._first is not None, "pieces are read once"
        first, self._first, self.root = self._first, None, None
        yield first
        del first
        yield from self._pieces

    def _parse(self) -> Iterator[Piece]:
        text, start = self._text, 0
        open_elements: list[str] = []
        opening = b""
        while match := self._ends.search(text, start + _SIZE):
            found = self._parse_until(match, start, opening, open_elements)
            if found is None:
                break
            root, unclosed, start = found
            continued = len(open_elements)
            spine = _last_elements(root)[:unclosed]
            open_elements = [tag_as_written(element) for element in spine]
            opening = _start_tags(spine, self._codec)
            del spine, found
            yield Piece(root, continued, unclosed)
        root = self._try(opening + text[start:])
        if root is None:
            raise NotInPiecesError
        yield Piece(root, len(open_elements), 0)

    def _parse_until(
        self, match: re.Match[bytes], start: int, opening: bytes, open_elements: Sequence[str]
    ) -> tuple[Tree, int, int] | None:
        """The tree of the piece from `start` to the first possible cut, the number of open elements, and the end."""
        following: re.Match[bytes] | None = match
        while following is not None:
            end = following.end()
            text = opening + self._text[start:end]
            for chain in self._possible_chains(text, open_elements):
                root = self._try(text + b"".join(f"</{tag}>".encode(self._codec) for tag in reversed(chain)))
                if root is not None:
                    return root, len(chain), end
            self._failures += 1
            if end - start > _LARGEST or self._failures > _MOST_FAILURES:
                raise NotInPiecesError
            following = self._ends.search(self._text, start + 2 * (end - start))
        return None

    def _possible_chains(self, text: bytes, open_elements: Sequence[str]) -> Iterator[Sequence[str]]:
        """The elements that may be open at the end of a text: mostly those that were open at its start."""
        if open_elements:
            yield open_elements
        try:
            root = etree.fromstring(text, self._document.parser(recover=True))
        except etree.XMLSyntaxError:
            return
        if root is None:
            return
        tags = [tag_as_written(element) for element in _last_elements(root)]
        for depth, tag in enumerate(tags):
            if depth and self._ends.fullmatch(f"</{tag}>".encode(self._codec)) and tags[:depth] != open_elements:
                yield tags[:depth]

    def _try(self, text: bytes) -> Tree | None:
        """The root of a well-formed text about which the parser has no warnings, or None."""
        parser = self._document.parser()
        try:
            root = etree.fromstring(text, parser)
        except etree.XMLSyntaxError:
            return None
        return None if len(parser.error_log) else root

    @property
    def _codec(self) -> str:
        return self._document.scan.codec


def cut(document: Document, limits: Limits, levels: Levels) -> Pieces | None:
    """The pieces of a large document; None if it is parsed as a whole.  Raises MalformedError if it exceeds a limit."""
    if len(document.data) < _LARGE or not levels:
        return None
    text = document.checked_text(limits)
    if document.prolog.doctype is not None or b"xmlns:xml" in text:
        return None
    if might_contain_embedded_data(text):  # it refers to elements of the whole document
        return None
    samples = range(0, len(text), max(1, len(text) // _SAMPLES))
    for tags in levels:
        ends = re.compile(f"</(?:{'|'.join(tags)})>".encode())
        if 2 * sum(ends.search(text, start, start + _SAMPLE) is not None for start in samples) > len(samples):
            return Pieces(document, text, ends)
    return None


def _last_elements(root: Tree) -> list[Tree]:
    """The root, its last child, the last child of that, and so on."""
    found = [root]
    while len(found[-1]) and isinstance(found[-1][-1].tag, str):  # else a reference to an entity
        found.append(found[-1][-1])
    return found


def _start_tags(elements: Sequence[Tree], codec: str) -> bytes:
    """The start tags of elements inside each other, with their namespaces, but without other attributes."""
    tags: list[str] = []
    known: dict[str | None, str] = {}
    for element in elements:
        spaces: dict[str | None, str] = element.nsmap
        new = {prefix: uri for prefix, uri in spaces.items() if known.get(prefix) != uri}
        if not all(new.values()) or not known.keys() <= spaces.keys():  # a namespace ends here
            raise NotInPiecesError
        declared = "".join(
            f' xmlns{":" + prefix if prefix else ""}="{escape_attribute(uri)}"' for prefix, uri in new.items()
        )
        tags.append(f"<{tag_as_written(element)}{declared}>")
        known = spaces
    try:
        return "".join(tags).encode(codec)
    except UnicodeEncodeError:  # a name of a namespace with character references
        raise NotInPiecesError from None
