"""Whether two documents say the same, apart from what layout may change."""

from __future__ import annotations

import re
from collections import Counter
from operator import itemgetter
from typing import Any

from lxml import etree

from exoskel.source import numbers
from exoskel.source.document import Document, Tree
from exoskel.source.limits import DEFAULT_LIMITS, Limits

_BLANK = " \t\r\n"
_DECIMALS = re.compile(rf"[ \t\r\n]*{numbers.DECIMAL}([ \t\r\n]+{numbers.DECIMAL})*[ \t\r\n]*")
_MIXED_TEXT = etree.XPath("descendant::text()[../*]")


def same_markup(one: Document, other: Document, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Whether two well-formed documents differ in nothing but layout.

    Blanks between elements do not count, nor does the order of attributes or of siblings of different names,
    nor how a number is spelt.  Everything else does, comments and instructions included.
    """
    return _remarks(one) == _remarks(other) and _digest(one, limits) == _digest(other, limits)


def _digest(document: Document, limits: Limits) -> int:
    """A number that two documents share if they say the same.

    Canonical XML would do, but that refuses relative names of namespaces and references to entities, and has
    an order of its own.  Elements are visited from the last to the first, children before their parents.
    """
    root = document.parse(limits)
    mixed = _mixed(root)
    spelling = _Spelling()
    done: list[tuple[str, int]] = []  # name and number of elements whose parents are yet to come, the first on top
    for element in reversed(list(root.iter())):
        tag, count = element.tag, len(element)
        items = element.items()
        attributes = tuple((name, spelling[value]) for name, value in sorted(items)) if items else None
        content: object = None
        children: list[tuple[str, int]] = []
        if count:
            children = done[-count:]
            del done[-count:]
            children.reverse()
            if mixed and element in mixed:
                content = (element.text, *(child.tail for child in element))
            elif count > 1:
                children.sort(key=itemgetter(0))  # by name; namesakes stay in order
        else:
            content = spelling[element.text]
        done.append((str(tag), hash((tag, attributes, content, *children))))
    return done[0][1]


def _mixed(root: Tree) -> set[Tree]:
    """Elements with text, other than blanks, beside their children."""
    found: set[Tree] = set()
    for text in _MIXED_TEXT(root):
        if text.strip(_BLANK):
            owner = text.getparent()
            found.add(owner.getparent() if text.is_tail else owner)
    return found


def _remarks(document: Document) -> Counter[bytes]:
    """Comments, instructions, CDATA sections and the document type declaration, however often each."""
    return Counter(document.text[start:end] for start, end in document.scan.regions)


class _Spelling(dict[Any, str]):
    """Numbers by their value, blank text as none; everything else as it is."""

    def __missing__(self, text: str | None) -> str:
        normal = text or ""
        if not normal.strip(_BLANK):
            normal = ""
        elif _DECIMALS.fullmatch(normal):
            normal = " ".join(float(token).hex() for token in normal.split())
        self[text] = normal
        return normal
