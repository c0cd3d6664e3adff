"""What stands before the root element, and what a document type declaration means for the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from exoskel.source.positions import Span, region_end

# Comments, instructions and quoted texts are passed over whole, so that nothing in them counts.
_ENTITY = re.compile(rb"""<!--.*?-->|<\?.*?\?>|"[^"]*"|'[^']*'|(?P<entity><!ENTITY\b)""", re.DOTALL)
_REFERENCE = re.compile(rb"""&(?!(?:amp|lt|gt|quot|apos);)(?=[^\s&;<>"'#]+;)""")


class Prolog(Struct, frozen=True):
    """What stands before the root: a document type declaration, and whether it declares entities."""

    doctype: Span | None = None
    entities: Span | None = None


def read_prolog(text: bytes) -> Prolog:
    """Look at what precedes the root element."""
    at = 0
    while (at := text.find(b"<", at)) >= 0 and text[at + 1 : at + 2] in (b"!", b"?"):
        end = region_end(text, at)
        if text.startswith(b"<!DOCTYPE", at):
            return Prolog(Span(at, at + 9), _first_entity(text, at, end))
        at = end
    return Prolog()


def _first_entity(text: bytes, start: int, end: int) -> Span | None:
    for match in _ENTITY.finditer(text, start, end):
        if match["entity"]:
            return Span(*match.span())
    return None


def escape_undeclared_references(text: bytes, regions: Iterable[tuple[int, int]]) -> bytes:
    """The same document with references to entities nobody declared made into text that shows them.

    A document type declaration allows such references, since a file elsewhere might declare them.  That
    file is never read, and DART takes the reference for text.
    """
    pieces: list[bytes] = []
    done = 0
    for start, end in regions:
        pieces += [_REFERENCE.sub(b"&amp;", text[done:start]), text[start:end]]
        done = end
    pieces.append(_REFERENCE.sub(b"&amp;", text[done:]))
    return b"".join(pieces)
