"""Makes a saved scene refer to the document that was written."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, structs

from exoskel.formats.saving.bulk_compare import changed_fields
from exoskel.formats.saving.patch import PatchedDocument
from exoskel.formats.saving.verification import Match
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import CLOCK, no_edits
from exoskel.scene.fields import CHILD_LISTS, DOF_FIELDS
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import Scene

_ORIGIN = ("document", "node", "given", "repaired")
_set: Any = Struct.__setattr__
"""Sets a field without advancing the clock of edits."""


def rebase(scene: Scene, saved: PatchedDocument) -> None:
    """Make a scene equal to the one read back from its saved document; its objects stay the same."""
    now = CLOCK.ticks
    verified = saved.verified
    with no_edits():
        if verified is not None:
            for item, other in verified.match.pairs:
                for name in _ORIGIN:
                    if getattr(item, name) != getattr(other, name):
                        _set(item, name, getattr(other, name))
                if isinstance(item, Joint) and isinstance(other, Joint) and item.implicit != other.implicit:
                    _set(item, "implicit", other.implicit)
            for item, other in verified.match.inexact:
                _copy_fields(item, other)
            _reorder(verified.match)
            scene.documents[:] = verified.reread.documents
            scene.diagnostics[:] = verified.reread.diagnostics
            scene.extensions[:] = verified.reread.extensions
    _set(scene, "stamp", now)


def _copy_fields(item: Item, other: Item) -> None:
    """Copy values that differ in their last bits, so that saving again finds nothing to change."""
    for name in changed_fields(item, other):
        if isinstance(item, Joint) and isinstance(other, Joint) and name in ("child", "parent", "dofs"):
            if name == "dofs":
                _copy_dofs(item, other)
        elif isinstance(item, Body) and isinstance(other, Body) and name == "inertia":
            for field in item.inertia.__struct_fields__:
                _set(item.inertia, field, getattr(other.inertia, field))
        elif name == "state" and getattr(item, name) is not None and getattr(other, name) is not None:
            for field in getattr(item, name).__struct_fields__:
                _set(getattr(item, name), field, getattr(getattr(other, name), field))
        elif name != "soft":
            found = getattr(other, name)
            _set(item, name, structs.replace(found) if name == "state" and found is not None else found)


def _copy_dofs(item: Joint, other: Joint) -> None:
    for mine, theirs in zip(item.dofs, other.dofs, strict=True):
        for field in (*DOF_FIELDS, *_ORIGIN):
            _set(mine, field, getattr(theirs, field))


def _reorder(match: Match) -> None:
    """Put all lists in the order of the file."""
    mine = {id(other): item for item, other in match.pairs}
    for item, other in match.pairs:
        for name in CHILD_LISTS.get(type(item), ()):
            theirs = getattr(other, name)
            ours = getattr(item, name)
            wanted = [mine[id(one)] for one in theirs]
            if len(ours) > 1 and any(a is not b for a, b in zip(ours, wanted, strict=True)):
                list.__setitem__(ours, slice(None), wanted)
