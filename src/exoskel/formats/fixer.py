"""Applies safe fixes to a file, verifies each of them by reading the result, and skips what comments suppress."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import unquote

import numpy as np
from msgspec import Struct, field

from exoskel.diagnostics import Diagnostic, ExoskelError, Fix, Place, Position, Severity
from exoskel.formats.interface import SceneReader
from exoskel.formats.registry import code_prefixes
from exoskel.scene.fields import differences, iter_items
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.encoding import UnknownEncodingError
from exoskel.source.markup import Markup
from exoskel.source.splice import OverlapError, Patch, Splice
from exoskel.source.well_formedness import MalformedError

_MOST_READS = 200
"""How often a file is read in all, so that fixes that fail their verification cannot take forever."""


class FixedFile(Struct):
    """A file after its fixes: the bytes, the scene they are read as, and the diagnostics that were fixed."""

    data: bytes
    scene: Scene
    done: list[Diagnostic] = field(default_factory=list)


class _Budget(Struct):
    reads: int = _MOST_READS


Selector = Callable[[Diagnostic], bool]


def fixable_diagnostics(scene: Scene, selected: Selector | None = None) -> list[Diagnostic]:
    """The errors and warnings with a safe fix, which are fixed without asking, unless a comment suppresses them."""
    safe = [d for d in scene.diagnostics if d.fix is not None and d.fix.safe and d.severity is not Severity.INFO]
    return [d for d in unsuppressed(safe) if selected is None or selected(d)]


def apply_fixes(scene: Scene, read: SceneReader, selected: Selector | None = None) -> FixedFile:
    """Fix what can be fixed safely in the file that a scene was read from; only the `selected` diagnostics, if given.

    A fix that only states explicitly how the file is read anyway must not change the scene in any bit.  A fix of a
    misspelt name must not cause diagnostics outside of the renamed element.  A fix that fails is not applied.
    """
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document):
        return FixedFile(b"", scene)
    if document.is_generated:  # its fixes do not fit the file
        return FixedFile(document.data, scene)
    result = FixedFile(document.data, scene)
    budget = _Budget()
    while budget.reads > 0:
        # Misspelt names first: an element that seems to be missing may be there under another name.
        better = _fix_all(_fix_all(result, read, False, budget, selected), read, True, budget, selected)
        if better is result:
            break
        result = better
    return result


def _fix_all(
    current: FixedFile, read: SceneReader, keeps: bool, budget: _Budget, selected: Selector | None
) -> FixedFile:
    """Apply fixes of one kind until there are no more: each may reveal the next."""
    while True:
        chosen = [
            d
            for d in fixable_diagnostics(current.scene, selected)
            if d.fix is not None and d.fix.preserves_meaning is keeps
        ]
        better = _fix_most(current, chosen, read, keeps, budget)
        if better is current:
            return current
        current = better


def _fix_most(
    current: FixedFile, chosen: Sequence[Diagnostic], read: SceneReader, keeps: bool, budget: _Budget
) -> FixedFile:
    """Apply as many of the chosen fixes as pass verification: all at once, otherwise by halves.

    After one half, the other is looked up again, because element numbers and positions may have changed.
    """
    if not chosen or budget.reads <= 0:
        return current
    budget.reads -= 1
    better = _fix(current, chosen, read, keeps)
    if better is not None:
        return better
    if len(chosen) == 1:
        return current
    half = len(chosen) // 2
    first = _fix_most(current, chosen[:half], read, keeps, budget)
    if first is not current:
        return first  # the caller tries the others again
    return _fix_most(current, chosen[half:], read, keeps, budget)


def _fix(current: FixedFile, chosen: Sequence[Diagnostic], read: SceneReader, keeps: bool) -> FixedFile | None:
    """The file with the fixes; None if they fail verification."""
    document = current.scene.documents[0]
    assert isinstance(document, Document)
    fixes = Fixes(document)
    for diagnostic in chosen:
        fixes.add(diagnostic)
    data = fixes.apply()
    if not fixes.done:
        return None
    reread = read(data)
    passes = _is_same if keeps else _is_harmless
    return FixedFile(data, reread, current.done + fixes.done) if passes(current.scene, reread, fixes.done) else None


def _is_same(before: Scene, after: Scene, done: Sequence[Diagnostic]) -> bool:
    """Whether two scenes are the same to the last bit, the fixed diagnostics are gone and there are no new ones."""
    was, now = (Counter(d.key for d in scene.diagnostics) for scene in (before, after))
    if any(now[key] > was[key] - number for key, number in Counter(d.key for d in done).items()) or now - was:
        return False
    ones, others = ([item for item, _, _ in iter_items(scene)] for scene in (before, after))
    if [type(item) for item in ones] != [type(item) for item in others]:
        return False
    return not differences(list(zip(ones, others, strict=True)))


def _is_harmless(before: Scene, after: Scene, done: Sequence[Diagnostic]) -> bool:
    """Whether the fixed diagnostics are gone, and new ones are warnings inside of the renamed elements.

    Diagnostics that were found by reading the elements as renamed are not new, and those that follow from other
    misspelt names do not count.  A new diagnostic at a renamed element itself must have a fix: its value has to be
    fixed next.  Where nothing could be read before, as in MJCF, the next problem may be anywhere.  Renaming adds and
    removes no elements, so element numbers are the same before and after.
    """
    document = before.documents[0]
    assert isinstance(document, Document)
    renamed = {document.element(diagnostic.place) for diagnostic in done}
    inside = {inner for node in renamed for inner in range(node + 1, document.outline.ends[node])}
    fixed = {_key(diagnostic) for diagnostic in done}
    known = {_key(diagnostic) for diagnostic in before.diagnostics} - fixed
    for new in after.diagnostics:
        if _key(new) in known or new.severity is Severity.INFO or new.is_follow_up:
            continue
        if not before.worlds and _key(new) not in fixed:
            continue
        is_expected = new.place.node in inside or (new.place.node in renamed and new.fix is not None)
        if not is_expected or new.severity is Severity.ERROR or _key(new) in fixed:
            return False
    return True


def _key(diagnostic: Diagnostic) -> tuple[str, int, str]:
    place, source = diagnostic.place, diagnostic.source
    node = source.element(place) if isinstance(source, Document) and place.node >= 0 else place.node
    return diagnostic.key, node, place.attribute


# --- what each action of a fix does to the document of a diagnostic -----------------------------------


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


# --- comments that suppress diagnostics: `<!-- exoskel: ignore SK055 -->` ---------------------------------
#
# A comment on a line of its own applies to the element that follows it, with everything inside; before the root
# element, to the whole file.  A comment after other text of its line applies to that line.  A hyphen or colon begins a
# reason: `<!-- exoskel: ignore SK055 - set by the controller -->`.

_MARK = b"exoskel:"
_COMMENT = re.compile(r"\s*exoskel:\s*ignore\b\s*:?(?P<codes>[A-Za-z0-9,\s]*)(?:[-:–].*)?$", re.DOTALL)
_WHOLE = -1
"""The number that stands for the whole document among those of elements."""


class _Suppressions:
    """The codes, or beginnings of codes, that the comments of a document suppress, by elements and by lines."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._elements: dict[int, frozenset[str]] = {}
        self._lines: dict[int, frozenset[str]] = {}
        try:
            if _MARK in document.text:
                self._read()
        except (MalformedError, UnknownEncodingError, UnicodeDecodeError):  # nothing to suppress: it is not read at all
            pass

    def _read(self) -> None:
        for span, text in self.document.comments(_MARK):
            if match := _COMMENT.match(text):
                at = self.document.scan.position(span)
                self._add(at, frozenset(re.findall(r"\w+", match["codes"].upper())) & code_prefixes())

    def _add(self, at: Position, codes: frozenset[str]) -> None:
        document = self.document
        if document.line_text(at.line)[: at.column - 1].strip():
            self._lines[at.line] = self._lines.get(at.line, frozenset()) | codes
            return
        start = document.scan.offset(at.line, at.column)
        node = int(np.searchsorted(document.scan.starts, start))
        if node >= len(document.outline.ends) or b"</" in document.text[start : int(document.scan.starts[node])]:
            return  # no element follows it in its parent
        number = node or _WHOLE
        self._elements[number] = self._elements.get(number, frozenset()) | codes

    def cover(self, diagnostic: Diagnostic, place: Place) -> bool:
        """Whether a comment suppresses a diagnostic at a place of the document."""
        if not (self._elements or self._lines):
            return False
        if _matches(diagnostic.code, self._elements.get(_WHOLE)):
            return True
        if self._lines and _matches(diagnostic.code, self._lines.get(diagnostic.line or 0)):
            return True
        node = self.document.element(place) if place.node >= 0 else -1
        while node >= 0:
            if _matches(diagnostic.code, self._elements.get(node)):
                return True
            node = self.document.outline.parents[node]
        return False


def _matches(code: str, beginnings: frozenset[str] | None) -> bool:
    return beginnings is not None and any(code[:length] in beginnings for length in range(1, len(code) + 1))


def unsuppressed(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics that no comment suppresses."""
    found: dict[int, _Suppressions] = {}
    kept: list[Diagnostic] = []
    for diagnostic in diagnostics:
        document, place = diagnostic.origin
        if isinstance(document, Document):
            if id(document) not in found:
                found[id(document)] = _Suppressions(document)
            if found[id(document)].cover(diagnostic, place):
                continue
        kept.append(diagnostic)
    return kept
