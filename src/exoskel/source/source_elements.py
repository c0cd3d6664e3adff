"""The elements of documents that several files are written from: parsed and searched once for all of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence

from lxml import etree
from msgspec import Struct

from exoskel.diagnostics import Diagnostic
from exoskel.source.document import Document, Tree
from exoskel.source.encoding import escape_undeclared_references, with_version_1

SettingTags = Mapping[str, frozenset[str]]
"""Tags of elements, by the tags of the elements around them."""


class UnreadParts(Struct, frozen=True):
    """The elements and attributes of a document that no field of a scene has, by the vocabulary of its format.

    `elements` are the outermost ones.  `containers` are the elements around them that a scene has in part, and whether
    they may be added to a document that has none.  `single` are the `elements` that occur once in those around them.
    """

    elements: frozenset[int] = frozenset()
    attributes: tuple[tuple[int, str], ...] = ()
    containers: Mapping[int, bool] = {}
    single: frozenset[int] = frozenset()
    inside: Mapping[int, frozenset[int]] = {}


FindUnread = Callable[[Document], UnreadParts]


def parse_tree(document: Document) -> Tree:
    """The elements of a document whose encoding or prolog may have errors."""
    codec = document.encoding.codec if document.encoding.scannable else "utf-8"
    parser = etree.XMLParser(
        encoding=codec, resolve_entities=False, load_dtd=False, no_network=True, huge_tree=True, recover=True
    )
    text = with_version_1(document.text)
    if b"&" in text and document.prolog.is_incomplete:
        text = escape_undeclared_references(text, document.scan.regions, document.scan.codec)
    return etree.fromstring(text, parser)


class SourceElements:
    """The elements of documents, by the ids of the documents, which must stay alive."""

    def __init__(self) -> None:
        self._elements: dict[int, list[Tree]] = {}
        self._unread: dict[int, list[int]] = {}
        self._named: dict[int, list[int]] = {}
        self._noted: dict[int, list[int]] | None = None
        self._parts: dict[int, UnreadParts] = {}

    def elements(self, document: Document) -> Sequence[Tree]:
        """All elements, by their numbers."""
        found = self._elements.get(id(document))
        if found is None:
            found = self._elements[id(document)] = list(parse_tree(document).iter(etree.Element))
        return found

    def unread(
        self, document: Document, diagnostics: Sequence[Diagnostic], keys: tuple[str, ...], settings: SettingTags
    ) -> list[int]:
        """The numbers, in order, of elements that diagnostics with these keys are about, and of settings."""
        found = self._unread.get(id(document))
        if found is None:
            noted = self._noted_elements(diagnostics, keys).get(id(document), ())
            found = self._unread[id(document)] = sorted({*noted, *_find_settings(document, settings)})
        return found

    def unread_parts(self, document: Document, find: FindUnread) -> UnreadParts:
        """The parts of a document that its scene does not have."""
        found = self._parts.get(id(document))
        if found is None:
            found = self._parts[id(document)] = find(document)
        return found

    def _noted_elements(self, diagnostics: Sequence[Diagnostic], keys: tuple[str, ...]) -> dict[int, list[int]]:
        if self._noted is None:
            self._noted = {}
            for one in diagnostics if keys else ():
                if one.key.startswith(keys) and not one.place.attribute and isinstance(one.source, Document):
                    self._noted.setdefault(id(one.source), []).append(one.source.element(one.place))
        return self._noted

    def named(self, document: Document) -> list[int]:
        """The numbers, in order, of all links and joints in models and robots."""
        found = self._named.get(id(document))
        if found is None:
            tags, parents = document.outline.tags, document.outline.parents
            found = [node for node, tag in enumerate(tags) if tag in _MEMBERS and tags[parents[node]] in _OWNERS]
            self._named[id(document)] = found
        return found


_MEMBERS, _OWNERS = ("link", "joint"), ("robot", "model")


def _find_settings(document: Document, settings: SettingTags) -> list[int]:
    tags, parents = document.outline.tags, document.outline.parents
    known = frozenset[str]().union(*settings.values())
    return [
        number
        for number, tag in enumerate(tags)
        if tag in known and parents[number] >= 0 and tag in settings.get(tags[parents[number]], ())
    ]


def within(numbers: list[int], spans: Sequence[range] | None) -> list[int]:
    """The numbers, which are in order, that are in one of the spans; None: all of them."""
    if spans is None:
        return numbers
    bounds = [(bisect_left(numbers, span.start), bisect_left(numbers, span.stop)) for span in spans]
    return [one for first, end in bounds for one in numbers[first:end]]
