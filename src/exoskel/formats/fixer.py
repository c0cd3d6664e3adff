"""Safe fixes of a file, each proved by reading the result again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct, field

from exoskel.diagnostics import Diagnostic, Severity
from exoskel.scene.fields import differences, iter_items
from exoskel.scene.world import Scene
from exoskel.source.document import Document
from exoskel.source.fixes import Fixes

Read = Callable[[bytes], Scene]
"""Reads the bytes of the same file in the same way."""

_MOST_READS = 200
"""How often a file is read in all, so that fixes that do not stand the test cannot keep us for ever."""


class Fixed(Struct):
    """A file after its fixes: the bytes, what they are read as, and the findings that are gone."""

    data: bytes
    scene: Scene
    done: list[Diagnostic] = field(default_factory=list)


class _Budget(Struct):
    reads: int = _MOST_READS


def fixable(scene: Scene) -> list[Diagnostic]:
    """The findings that are fixed unasked: errors and warnings with one safe fix."""
    return [d for d in scene.diagnostics if d.fix is not None and d.fix.safe and d.severity is not Severity.INFO]


def fixed(scene: Scene, read: Read) -> Fixed:
    """Fix what can be fixed safely in the file that a scene was read from.

    What only spells out how the file is read anyway has to leave the scene as it is, to the last bit.  What
    gives a meaning to a misspelt word must not lead to any finding outside of the element in question.  A fix
    that fails its test is not made.
    """
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document):
        return Fixed(b"", scene)
    result = Fixed(document.data, scene)
    budget = _Budget()
    while budget.reads > 0:
        # Misspelt words first: what is missing may be there under another name.
        better = _round(_round(result, read, False, budget), read, True, budget)
        if better is result:
            break
        result = better
    return result


def _round(current: Fixed, read: Read, keeps: bool, budget: _Budget) -> Fixed:
    """Fixes of one kind, until there are no more: one may bring to light what needs the next."""
    while True:
        chosen = [d for d in fixable(current.scene) if d.fix is not None and d.fix.keeps is keeps]
        better = _tried(current, chosen, read, keeps, budget)
        if better is current:
            return current
        current = better


def _tried(current: Fixed, chosen: Sequence[Diagnostic], read: Read, keeps: bool, budget: _Budget) -> Fixed:
    """As many of the chosen fixes as stand the test: all at once, or else by halves.

    After a half has been made the other is looked up anew, since numbers and places may have moved.
    """
    if not chosen or budget.reads <= 0:
        return current
    budget.reads -= 1
    better = _made(current, chosen, read, keeps)
    if better is not None:
        return better
    if len(chosen) == 1:
        return current
    half = len(chosen) // 2
    first = _tried(current, chosen[:half], read, keeps, budget)
    if first is not current:
        return first  # the next round sees to the rest
    return _tried(current, chosen[half:], read, keeps, budget)


def _made(current: Fixed, chosen: Sequence[Diagnostic], read: Read, keeps: bool) -> Fixed | None:
    """The file with the fixes; None if they fail their test."""
    document = current.scene.documents[0]
    assert isinstance(document, Document)
    fixes = Fixes(document)
    for finding in chosen:
        fixes.add(finding)
    data = fixes.apply()
    if not fixes.done:
        return None
    again = read(data)
    stands = _is_same if keeps else _is_harmless
    return Fixed(data, again, current.done + fixes.done) if stands(current.scene, again, fixes.done) else None


def _is_same(before: Scene, after: Scene, done: Sequence[Diagnostic]) -> bool:
    """Whether two scenes say the same to the last bit, with the findings in question gone and none come instead."""
    was, now = (Counter(d.key for d in scene.diagnostics) for scene in (before, after))
    if any(now[key] > was[key] - number for key, number in Counter(d.key for d in done).items()) or now - was:
        return False
    ones, others = ([item for item, _, _ in iter_items(scene)] for scene in (before, after))
    if [type(item) for item in ones] != [type(item) for item in others]:
        return False
    return not differences(list(zip(ones, others, strict=True)))


def _is_harmless(before: Scene, after: Scene, done: Sequence[Diagnostic]) -> bool:
    """Whether the findings in question are gone, and what comes instead is no error, and inside of what was renamed.

    At a renamed element itself only what has a fix may come: its value is in need of one, but the name stands.
    Renaming adds and removes no elements, so that findings are at home in the same elements before and after.
    """
    document = before.documents[0]
    assert isinstance(document, Document)
    renamed = {document.element(finding.place) for finding in done}
    inside = {inner for node in renamed for inner in range(node + 1, document.outline.ends[node])}
    settled = {_home(finding) for finding in done}
    known = {_home(finding) for finding in before.diagnostics} - settled
    for found in after.diagnostics:
        if _home(found) in known or found.severity is Severity.INFO:
            continue
        at_home = found.place.node in inside or (found.place.node in renamed and found.fix is not None)
        if not at_home or found.severity is Severity.ERROR or _home(found) in settled:
            return False
    return True


def _home(finding: Diagnostic) -> tuple[str, int, str, str]:
    return finding.key, finding.place.node, finding.place.child, finding.place.attribute
