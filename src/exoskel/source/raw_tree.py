"""A well-formed document as a light tree of stretches of its own bytes.

lxml's tree forgets quotes, references, CDATA marks and the blanks between attributes.  Here nothing is
decoded: every node knows where it begins and ends, and how many line ends stand in front of it.
"""

from __future__ import annotations

import re

from msgspec import Struct

_QUOTED = rb"""(?:"[^"]*"|'[^']*')"""
_ATTRIBUTE = rb"[ \t\r\n]+[^ \t\r\n=/>]+[ \t\r\n]*=[ \t\r\n]*" + _QUOTED
_COMMENT = rb"<!--.*?-->|<\?.*?\?>"
_SUBSET = rb"""\[(?:%b|%b|[^\]"'])*+\][ \t\r\n]*""" % (_COMMENT, _QUOTED)
_DOCTYPE = rb"""<!DOCTYPE(?:%b|[^"'\[>])*+(?:%b)?>""" % (_QUOTED, _SUBSET)
_TOKEN = re.compile(
    rb"([^<]+)"  # 1: text
    rb"|</([^ \t\r\n>]+)[ \t\r\n]*>"  # 2: an end tag
    rb"|<([^ \t\r\n/>!?]+)((?:%b)*+)[ \t\r\n]*+"  # 3, 4: a start tag and its attributes,
    rb"(?:>([^<]*+)(</)\3[ \t\r\n]*+>|(/)>|>)"  # 5, 6: and all of a leaf up to its end tag; 7: an empty one
    rb"|(%b|%b)"  # 8: a comment, an instruction, the document type declaration
    rb"|(<!\[CDATA\[.*?\]\]>)" % (_ATTRIBUTE, _COMMENT, _DOCTYPE),  # 9
    re.DOTALL,
)
_TEXT, _END, _START, _LEAF, _EMPTY, _PIECE = 1, 2, 4, 6, 7, 8

_ONE_ATTRIBUTE = re.compile(rb"([^ \t\r\n=]+)[ \t\r\n]*=[ \t\r\n]*(%b)" % _QUOTED)


class RawNode(Struct, gc=False):
    """A comment, an instruction or the document type declaration; `breaks` line ends stand before it."""

    start: int
    end: int
    breaks: int


class RawElement(Struct, gc=False):
    """An element: from `start` to `end`, its content from `inside` to `outside`.

    `split_attributes` are the bytes behind the name.  `breaks` line ends stand before the start tag, `last_breaks`
    before the end tag.  `has_text`: text other than blanks, or a CDATA section, stands in it.  A tree has no
    circles, so the garbage collector need not look at it.
    """

    name: bytes
    attributes: bytes
    start: int
    inside: int
    outside: int
    end: int
    breaks: int
    last_breaks: int
    has_text: bool
    children: list[RawElement | RawNode]
    has_pieces: bool = False

    @property
    def has_elements(self) -> bool:
        return any(type(child) is RawElement for child in self.children)


_NO_CHILDREN: list[RawElement | RawNode] = []
"""Shared by all leaves, and never added to."""


def parse_raw_tree(text: bytes) -> RawElement:
    """The tree of a well-formed document: a nameless element that holds the root and what stands around it.

    Raises ValueError for text that is not well-formed; callers parse first, which tells why.
    """
    top = here = RawElement(b"", b"", 0, 0, len(text), len(text), 0, 0, False, [])
    around: list[RawElement] = []
    breaks = at = 0
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        if start != at:
            break
        at = end
        kind = match.lastindex
        if kind == _TEXT:
            breaks = count_line_ends(match[1])
            here.has_text |= not match[1].isspace()
            continue
        if kind == _LEAF:
            inside, outside = match.span(5)
            has_text = outside > inside and not match[5].isspace()
            _adopt(here, RawElement(match[3], match[4], start, inside, outside, end, breaks, 0, has_text, _NO_CHILDREN))
        elif kind in (_START, _EMPTY):
            node = RawElement(match[3], match[4], start, end, end, end, breaks, 0, False, _NO_CHILDREN)
            _adopt(here, node)
            if kind == _START:
                around.append(here)
                here = node
        elif kind == _END:
            if here.name != match[2]:
                at = start
                break
            here.outside, here.end, here.last_breaks = start, end, breaks
            here = around.pop()
        elif kind == _PIECE:
            _adopt(here, RawNode(start, end, breaks))
            here.has_pieces = True
        else:
            here.has_text = True
        breaks = 0
    if around or at != len(text):
        raise ValueError(f"the document is not well-formed at byte {at}")
    top.last_breaks = breaks
    return top


def _adopt(parent: RawElement, child: RawElement | RawNode) -> None:
    if parent.children is _NO_CHILDREN:
        parent.children = [child]
    else:
        parent.children.append(child)


def split_attributes(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Names and values, these with their quotes, in the order of the document."""
    return _ONE_ATTRIBUTE.findall(raw)


def count_line_ends(blanks: bytes) -> int:
    """How many lines end in some text; LF, CR LF and a lone CR each end one."""
    feeds = blanks.count(b"\n")
    return feeds + blanks.count(b"\r") - blanks.count(b"\r\n") if b"\r" in blanks else feeds
