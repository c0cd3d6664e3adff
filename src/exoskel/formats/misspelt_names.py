"""Problems that misspelt names hide, and problems that only follow from them.

A misspelt element is not read, and nor is anything inside of it.  So the document is read again with the names that
were surely meant.  The scene stays as it is: only its diagnostics are completed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable

from msgspec import Struct, structs

from exoskel.diagnostics import Diagnostic, ExoskelError, Fix, Place, Severity, format_detail
from exoskel.formats.fixer import Fixes
from exoskel.formats.interface import SceneReader
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.vocabulary import Vocabulary

_MOST_CORRECTIONS = 1000
"""In a file with more misspelt names than that, nothing more is searched."""
_MOST_READS = 6
"""Corrected elements may contain more misspelt names."""
_MOST_CAUSES = 8
"""So many names are corrected one by one, to find which of them is the cause of another problem."""
_NEIGHBOURS = 3


def complete_diagnostics(scene: Scene, read: SceneReader, vocabulary: Callable[[], Vocabulary]) -> None:
    """Add the problems that misspelt names hide, and mark those that follow from them.

    `read` reads other content of the same file.  A name that would repeat another element is probably not the one that
    was meant, and is not corrected.
    """
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document) or document.is_generated:
        return
    first = _corrections(scene.diagnostics, document)
    if not first or len(first) > _MOST_CORRECTIONS:
        return
    found = _read_corrected(document, read, first, _repeated_keys(vocabulary()))
    if found is None or not found.corrections:
        return
    names = _MisspeltNames(document, found.corrections)
    before = {_key(d) for d in scene.diagnostics}
    after = {_key(d): d for d in [*found.corrections, *found.diagnostics]}
    gone = [
        d
        for d in scene.diagnostics
        if d.source is document and d.severity is not Severity.INFO and _key(d) not in after
    ]
    causes = _causes(document, read, found.corrections, names) if gone else {}
    follow_ups = {id(d): causes.get(_key(d)) or names.nearest(d) for d in gone}
    kept = [
        structs.replace(d, note=f"follows from {follow_ups[id(d)].written}") if id(d) in follow_ups else d
        for d in scene.diagnostics
    ]
    hidden = [
        structs.replace(_relocated(d, document), fix=None, note=names.nearest(d).reading, assumed=True)
        for key, d in after.items()
        if key not in before and d.severity is not Severity.INFO
    ]
    scene.diagnostics[:] = sorted([*kept, *hidden], key=lambda d: d.place.node) if hidden else kept


def _repeated_keys(vocabulary: Vocabulary) -> frozenset[str]:
    """The keys of diagnostics about repeated elements."""
    return frozenset({vocabulary.codes.repeated, *(row.repeated for _, row in vocabulary.rows())} - {""})


class _CorrectedReading(Struct):
    """The diagnostics of a document with corrected names, and those that were corrected."""

    diagnostics: list[Diagnostic]
    corrections: list[Diagnostic]


def _corrections(diagnostics: Iterable[Diagnostic], document: Document) -> list[Diagnostic]:
    """The diagnostics about names that have one likely correction."""
    return [
        d
        for d in diagnostics
        if d.fix is not None and d.source is document and _is_correction(d.fix, d.place, document)
    ]


def _is_correction(fix: Fix, place: Place, document: Document) -> bool:
    if not fix.safe or fix.preserves_meaning or fix.action not in ("rename", "rename_attribute", "replace"):
        return False
    is_taken = fix.action == "rename_attribute" and fix.name in document.attributes(document.element(place))
    return not is_taken


def _read_corrected(
    document: Document, read: SceneReader, corrections: list[Diagnostic], repeated: frozenset[str]
) -> _CorrectedReading | None:
    """Read a document with corrected names, and with those that only then are found inside; None if it fails.

    Corrections change no numbers of elements.
    """
    refused: set[tuple[str, int, str, str]] = set()
    current, applied = document, list[Diagnostic]()
    result = None
    for _ in range(_MOST_READS):
        fixes = Fixes(current)
        for one in corrections:
            fixes.add(one)
        data = fixes.apply()
        if not fixes.done:
            break
        try:
            scene = read(data)
        except ExoskelError:
            return result
        after = scene.documents[0] if scene.documents else None
        if not isinstance(after, Document):
            return result
        wrong = {after.element(d.place) for d in scene.diagnostics if d.key in repeated and d.source is after}
        clashes = {_key(d) for d in fixes.done if current.element(d.place) in wrong}
        if clashes:  # again from here, without them
            refused |= clashes
            corrections = [d for d in fixes.done if _key(d) not in refused]
            continue
        applied += [_relocated(d, document) for d in fixes.done]
        result = _CorrectedReading(scene.diagnostics, applied)
        current = after
        corrections = [d for d in _corrections(scene.diagnostics, after) if _key(d) not in refused]
    return result


def _causes(
    document: Document, read: SceneReader, corrections: list[Diagnostic], names: _MisspeltNames
) -> dict[tuple[str, int, str, str], _MisspeltName]:
    """The names whose correction alone removes a diagnostic, by its key; searched only among a few."""
    if not 1 < len(corrections) <= _MOST_CAUSES:
        return {}
    found: dict[tuple[str, int, str, str], _MisspeltName] = {}
    everything = {_key(d) for d in read(document.data).diagnostics}
    for one in corrections:
        fixes = Fixes(document)
        fixes.add(one)
        data = fixes.apply()
        if fixes.done:
            try:
                left = {_key(d) for d in read(data).diagnostics}
            except ExoskelError:
                continue
            name = names.by_key[_key(one)]
            found |= dict.fromkeys(everything - left - found.keys(), name)
    return found


def _key(diagnostic: Diagnostic) -> tuple[str, int, str, str]:
    place, source = diagnostic.place, diagnostic.source
    node = source.element(place) if isinstance(source, Document) and place.node >= 0 else place.node
    return diagnostic.key, node, place.attribute, place.token


def _relocated(diagnostic: Diagnostic, document: Document) -> Diagnostic:
    """A diagnostic of a corrected document at the same place of the original one."""
    place, corrected = diagnostic.place, diagnostic.source
    if isinstance(corrected, Document) and place.node >= 0 and place.child:
        node = corrected.element(place)
        place = Place(node, "", place.attribute, place.token or corrected.value_text(node).strip())
    return structs.replace(diagnostic, place=place, source=document)


class _MisspeltName(Struct):
    """A misspelt name as notes show it, and how it is read."""

    key: tuple[str, int, str, str]
    node: int
    written: str
    reading: str


class _MisspeltNames:
    """The corrected names of a document."""

    def __init__(self, document: Document, corrections: list[Diagnostic]) -> None:
        self.document = document
        described = [self._describe(d, d.fix) for d in corrections if d.fix is not None]
        self.names = sorted(described, key=lambda name: name.node)
        self.nodes = [name.node for name in self.names]
        self.by_key = {name.key: name for name in self.names}

    def nearest(self, diagnostic: Diagnostic) -> _MisspeltName:
        """The innermost name around a diagnostic, or else the closest one in the innermost element with any."""
        own, outline = _key(diagnostic), self.document.outline
        node = max(own[1], 0)
        chain = outline.ancestry(node)[::-1]
        around = [name for above in chain for name in self._between(above, above + 1) if name.key != own]
        if around:
            return around[0]
        for above in chain:
            close = [name for name in self._between(above, outline.ends[above], node) if name.key != own]
            if close:
                return min(close, key=lambda name: abs(name.node - node))
        return self.names[0]

    def _between(self, start: int, end: int, close_to: int = -1) -> list[_MisspeltName]:
        """The names at elements with numbers in a range; only some of them if they should be close to an element."""
        low, high = bisect_left(self.nodes, start), bisect_left(self.nodes, end)
        if close_to >= 0:
            middle = bisect_left(self.nodes, close_to, low, high)
            low, high = max(low, middle - _NEIGHBOURS), min(high, middle + _NEIGHBOURS)
        return self.names[low:high]

    def _describe(self, correction: Diagnostic, fix: Fix) -> _MisspeltName:
        place = correction.place
        node = self.document.element(place)
        line = self.document.lines([node])[0]
        if fix.action == "rename":
            written, meant = f"<{self.document.outline.tags[node]}>", f"<{fix.name}>"
        elif fix.action == "rename_attribute":
            written, meant = f"'{place.attribute}'", f"'{fix.name}'"
        else:
            written, meant = f"'{place.token or self._value(place)}'", f"'{fix.text}'"
        shown = f"{format_detail(written)} in line {line}"
        return _MisspeltName(_key(correction), node, shown, f"found by reading {shown} as {format_detail(meant)}")

    def _value(self, place: Place) -> str:
        span = self.document.span(place)
        return self.document.text[span.start : span.end].decode(self.document.scan.codec, "replace")
