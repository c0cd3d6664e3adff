"""Names in documents and the places that refer to them: the base class of the tables of formats.

URDF, SDFormat and MJCF are not edited in place, because a scene does not contain all of them.  A name is different:
their packages state where the text has names and refers to them, also in elements that a scene does not contain, or
that have errors.  Parameters of plugins are not searched.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from html import unescape

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.scene.item import TakenNameError, check_name
from exoskel.source.document import Document
from exoskel.source.markup import escape_attribute
from exoskel.source.positions import Span
from exoskel.source.splice import Splice

NAME = "name"
"""The attribute that states a name."""
NOWHERE = -1
"""The scope of names that are unique in the document."""
_WORD = re.compile(rb"[^ \t\r\n]+")


class NameReference(Struct, frozen=True):
    """A part of the text that names an item: the element that states the name, and its own."""

    target: int
    node: int
    span: Span
    is_listed: bool = False
    """It is one of several names in a value, separated by spaces."""


class NameReferences(ABC):
    """The names that elements of a document state, and the references to them."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.tags, self.parents = document.outline.tags, document.outline.parents

    @abstractmethod
    def find_names(self) -> Iterator[tuple[int, Span]]:
        """The elements that state names, and where."""

    @abstractmethod
    def find_references(self) -> Iterator[NameReference]:
        """All references to names that the document states."""

    def kind(self, node: int) -> str:
        """What an element is: items of different kinds may have the same name."""
        return self.tags[node]

    def scope(self, node: int) -> int:
        """The element in which the name of another one is unique."""
        return NOWHERE

    @abstractmethod
    def check_format(self, node: int, name: str) -> None:
        """Raise ExoskelError if the format does not allow a name."""

    def find_parameters(self) -> Iterator[str]:
        """The parameters of plugins, which may be names."""
        inside: set[int] = set()
        for node, tag in enumerate(self.tags):
            if tag == "plugin":
                inside.update(range(node + 1, self.document.outline.ends[node]))
        return (self.document.value_text(node).strip() for node in sorted(inside))

    # --- what callers ask -----------------------------------------------------------------------------

    @cached_property
    def names(self) -> dict[int, Span]:
        """The names that elements state."""
        return dict(self.find_names())

    @cached_property
    def references(self) -> list[NameReference]:
        """All references to names that the document states."""
        return list(self.find_references())

    def name_at(self, offset: int) -> NameReference | None:
        """The name or reference at a place in the text."""
        for node, span in self.names.items():
            if span.start <= offset <= span.end:
                return NameReference(node, node, span)
        return next((one for one in self.references if one.span.start <= offset <= one.span.end), None)

    def places(self, node: int) -> list[Span]:
        """The name that an element states, and all references to it, in the order of the text."""
        own = [self.names[node]] if node in self.names else []
        return sorted([*own, *(one.span for one in self.references if one.target == node)], key=lambda one: one.start)

    def rename(self, node: int, name: str) -> list[Splice]:
        """The changes of the text that rename an item with all references.  Raises ExoskelError."""
        if node not in self.names:
            raise ExoskelError("the file does not state this name")
        self._check_name(node, name)
        new = escape_attribute(name).encode(self.document.scan.codec, "xmlcharrefreplace")
        return [(span.start, span.end, new) for span in self.places(node)]

    def parameters(self, node: int) -> int:
        """How many parameters of plugins have the name of an item, and may refer to it."""
        name = self.name(node)
        return sum(text == name or text.endswith(f"::{name}") for text in self.find_parameters())

    def name(self, node: int) -> str:
        """The name that an element states."""
        return self.text(self.names[node])

    def _check_name(self, node: int, name: str) -> None:
        check_name(self.tags[node], name)
        if name != name.strip():
            raise ExoskelError(f"the name {name!r} must not begin or end with spaces")
        if any(one.is_listed and one.target == node for one in self.references) and len(name.split()) > 1:
            raise ExoskelError(f"the name {name!r} must not have spaces: the file lists it with others")
        self.check_format(node, name)
        taken = self.find(self.scope(node), self.kind(node), name)
        if taken is not None and taken != node:
            raise TakenNameError(f"another {self.tags[taken]} is already called {name!r}")

    # --- for the tables of formats --------------------------------------------------------------------

    @cached_property
    def _nodes(self) -> dict[tuple[int, str, str], int]:
        found: dict[tuple[int, str, str], int] = {}
        for node, span in self.names.items():
            found.setdefault((self.scope(node), self.kind(node), self.text(span)), node)
        return found

    def find(self, scope: int, kind: str, name: str) -> int | None:
        """The first element of a kind with a name."""
        return self._nodes.get((scope, kind, name))

    def above(self, node: int) -> str:
        """The tag of the element around another one; empty for the root."""
        return self.tags[self.parents[node]] if self.parents[node] >= 0 else ""

    def around(self, node: int, tags: tuple[str, ...]) -> int:
        """The innermost element of some tags around another one; -1 if it is in none of them."""
        ancestry = reversed(self.document.outline.ancestry(node)[:-1])
        return next((one for one in ancestry if self.tags[one] in tags), -1)

    def text(self, span: Span) -> str:
        return unescape(self.document.text[span.start : span.end].decode(self.document.scan.codec, "replace"))

    def attribute(self, node: int, name: str) -> Span | None:
        """Where an element states an attribute."""
        return self.document.scan.attribute(node, name)

    def refer(self, node: int, span: Span | None, scope: int, kinds: tuple[str, ...]) -> Iterator[NameReference]:
        """The reference to an element of the first kind that has the name in a part of the text, if any."""
        if span is None:
            return
        name = self.text(span)
        targets = (self.find(scope, kind, name) for kind in kinds)
        target = next((one for one in targets if one is not None), None)
        if target is not None and self.names[target] != span:
            yield NameReference(target, node, span)

    def refer_to_words(self, node: int, span: Span | None, kind: str) -> Iterator[NameReference]:
        """The references to elements of a kind in a list of names."""
        if span is None:
            return
        for word in _WORD.finditer(self.document.text[span.start : span.end]):
            own = Span(span.start + word.start(), span.start + word.end())
            target = self.find(NOWHERE, kind, self.text(own))
            if target is not None:
                yield NameReference(target, node, own, is_listed=True)
