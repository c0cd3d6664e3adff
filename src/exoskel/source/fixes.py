"""Automatic fixes: what each action of a fix does to the document of a diagnostic."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote

from exoskel.diagnostics import Diagnostic, ExoskelError, Fix
from exoskel.source.document import Document
from exoskel.source.markup import Markup
from exoskel.source.splice import OverlapError, Patch, Splice

_SEVERAL = ">, <"
"""The separator of element names in a diagnostic about several missing elements."""

_OPPOSITE = {"true": "false", "false": "true", "1": "0", "0": "1"}


class UnfixableError(Exception):
    """The document is not as the fix expects; it is not changed."""


class _Site:
    """One diagnostic in a document that is being patched."""

    def __init__(self, patch: Patch, found: Diagnostic) -> None:
        self.patch = patch
        self.place = found.place
        self.node = patch.document.element(found.place)

    @property
    def value(self) -> str:
        """The text that the diagnostic refers to, as written."""
        span = self.patch.document.span(self.place)
        return self.patch.text[span.start : span.end].decode(self.patch.codec)

    def set_value(self, text: str) -> None:
        place = self.place
        if place.attribute:
            self.patch.set_attribute(self.node, place.attribute, text)
            return
        if place.token and self.value != place.token:
            raise UnfixableError("the value is not written as it is read")
        self.patch.set_span(self.patch.document.span(place), text)


def _rename(site: _Site, fix: Fix) -> None:
    site.patch.rename(site.node, fix.name)


def _rename_attribute(site: _Site, fix: Fix) -> None:
    site.patch.rename_attribute(site.node, site.place.attribute, fix.name)


def _replace(site: _Site, fix: Fix) -> None:
    site.set_value(fix.text)


def _append(site: _Site, fix: Fix) -> None:
    site.set_value(f"{site.value} {fix.text}")


def _separate(site: _Site, fix: Fix) -> None:
    site.set_value(" ".join(site.value.replace(",", " ").split()))


def _slash(site: _Site, fix: Fix) -> None:
    site.set_value(site.value.replace("\\", "/"))


def _unquote(site: _Site, fix: Fix) -> None:
    site.set_value(unquote(site.value))


def _trim(site: _Site, fix: Fix) -> None:
    if site.place.attribute:
        site.set_value(site.value.strip(" \t\r\n"))
        return
    content = site.patch.scan.content(site.node)
    text = site.patch.text[content.start : content.end].decode(site.patch.codec)
    if "<" in text or "&" in text:
        raise UnfixableError("the element has more content than its value")
    site.patch.set_span(content, text.strip(" \t\r\n"))


def _invert(site: _Site, fix: Fix) -> None:
    opposite = _OPPOSITE.get(site.value.lower())
    if opposite is None:
        raise UnfixableError("the value is not a boolean")
    site.patch.set_span(site.patch.document.span(site.place), opposite)
    site.patch.rename(site.node, fix.name)


def _insert(site: _Site, fix: Fix) -> None:
    children = site.patch.elements.children(site.node)
    for name in fix.name.split(_SEVERAL):
        site.patch.insert(site.node, Markup(name, text=fix.text), children[-1] if children else -1)


def _add_attribute(site: _Site, fix: Fix) -> None:
    site.patch.set_attribute(site.node, fix.name, fix.text)


def _wrap(site: _Site, fix: Fix) -> None:
    site.patch.wrap(site.node, fix.name)


def _remove(site: _Site, fix: Fix) -> None:
    site.patch.remove(site.node)


ACTIONS: dict[str, Callable[[_Site, Fix], None]] = {
    "add_attribute": _add_attribute,
    "append": _append,
    "insert": _insert,
    "invert": _invert,
    "remove": _remove,
    "rename": _rename,
    "rename_attribute": _rename_attribute,
    "replace": _replace,
    "separate": _separate,
    "slash": _slash,
    "trim": _trim,
    "unquote": _unquote,
    "wrap": _wrap,
}


class Fixes:
    """Fixes of one document, applied together."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.patch = Patch(document)
        self.done: list[Diagnostic] = []
        self._changed: set[tuple[int, int]] = set()

    def add(self, found: Diagnostic) -> list[Splice]:
        """Fix one diagnostic; returns its splices, which are empty if it cannot be fixed.

        A fix that changes the same range as an earlier one is left for the next run.
        """
        if found.fix is None or found.place.node < 0 or found.source is not self.document:
            return []
        before = len(self.patch.splices)
        try:
            ACTIONS[found.fix.action](_Site(self.patch, found), found.fix)
        except (UnfixableError, UnicodeError):
            del self.patch.splices[before:]
        pieces = self.patch.splices[before:]
        places = {(start, end) for start, end, _ in pieces}
        if not pieces or not self._changed.isdisjoint(places):
            del self.patch.splices[before:]
            return []
        self._changed |= places
        self.done.append(found)
        return pieces

    def apply(self) -> bytes:
        """The fixed document; unchanged if the fixes conflict."""
        try:
            return self.patch.apply() if self.done else self.document.data
        except (OverlapError, ExoskelError):
            self.done.clear()
            return self.document.data
