"""The prolog of a document: the part before the root element."""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from exoskel.source.positions import Span, region_end

# Comments, instructions and quoted texts match as a whole, so that declarations in them are ignored.
_ENTITY = re.compile(rb"""<!--.*?-->|<\?.*?\?>|"[^"]*"|'[^']*'|(?P<entity><!ENTITY\b)""", re.DOTALL)
_REFERENCE = re.compile(rb"""&(?!(?:amp|lt|gt|quot|apos);)(?=[^\s&;<>"'#]+;)""")


class Prolog(Struct, frozen=True):
    """The position of a document type declaration, and of the first entity that it declares."""

    doctype: Span | None = None
    entities: Span | None = None


def read_prolog(text: bytes) -> Prolog:
    """Find the document type declaration before the root element."""
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
    """Escape references to undeclared entities, so that they are read as text.

    A document type declaration allows such references, since another file might declare them.  That
    file is never read, and DART reads the reference as text.
    """
    pieces: list[bytes] = []
    done = 0
    for start, end in regions:
        pieces += [_REFERENCE.sub(b"&amp;", text[done:start]), text[start:end]]
        done = end
    pieces.append(_REFERENCE.sub(b"&amp;", text[done:]))
    return b"".join(pieces)
