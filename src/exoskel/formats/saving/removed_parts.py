"""What was removed from a scene since its document was read: by the user, or because of what it refers to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from exoskel.fates import Fate, Verdict
from exoskel.formats.saving.changes import Changes
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.fields import DEFAULT_DOF_ROW, DOF_FIELDS, dof_rows, iter_items
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import Joint, can_mimic
from exoskel.scene.merge import OBJECT_LISTS, with_models
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World

REMOVED = Verdict(Fate.DROPPED, "it was removed from the scene", harmless=True)
DEPENDENT = Verdict(Fate.DROPPED, "what it refers to is not in the scene any more")
NOT_FOLLOWING = Verdict(Fate.DROPPED, "the joint cannot follow the one that it mimicked any more")
OTHER_KIND = Verdict(Fate.DROPPED, "the joint has another kind, with other coordinates")
_EQUALITIES = "equalities"


class LostObject(NamedTuple):
    """An object in a list of a world that was lost with what it refers to: what it is, and its name."""

    what: str
    name: str


class LostValues(NamedTuple):
    """Fields of the degrees of freedom of a joint that another kind of joint does not have."""

    joint: Joint
    fields: list[str]


class RemovedParts:
    """What is not in a scene any more; `base` is the scene that was read from its document."""

    def __init__(self, base: Scene, scene: Scene, changes: Changes) -> None:
        self.nodes = _removed_nodes(scene, changes)
        """The elements of items, by document, and why they are not in the scene."""
        self.objects: dict[tuple[str, str], Verdict] = {}
        """The same for objects in lists of worlds, by the names of the field and of the object."""
        for before, after in zip(base.worlds, scene.worlds, strict=False):
            self.objects |= _removed_objects(before, after)
        self.lost_values = [*_lost_values(changes)]
        """The values of joints of another kind."""
        self.rebuilt = frozenset(id(item) for source, item in changes.edited if is_rebuilt(source, item))
        """The ids of joints whose degrees of freedom were created again for another kind."""
        self.not_following = frozenset(not_following(scene, changes))
        """The ids of joints that lost what they mimicked."""

    @property
    def lost_objects(self) -> list[LostObject]:
        """The objects that the user has not removed."""
        return [
            LostObject("equality constraint" if field == _EQUALITIES else field.removesuffix("s"), name)
            for (field, name), one in self.objects.items()
            if one.loss
        ]


def _removed_nodes(scene: Scene, changes: Changes) -> dict[int, dict[int, Verdict]]:
    removed = {id(item) for item in changes.removed}
    found: dict[int, dict[int, Verdict]] = {}
    for item in changes.removed:
        if item.node >= 0 and item.document >= 0:
            is_loop = isinstance(item, Joint) and item.loop and removed & {id(item.child), id(item.parent)}
            found.setdefault(item.document, {})[item.node] = DEPENDENT if is_loop else REMOVED
    for item, _, _ in iter_items(scene) if found else ():
        if not isinstance(item, Model):  # it may have the element of its first body
            found.get(item.document, {}).pop(item.node, None)  # its element states another item, too
    return found


def _removed_objects(before: World, after: World) -> Mapping[tuple[str, str], Verdict]:
    known = with_models(after, after.models)  # without what refers to nothing
    lost = {field: _names(before, field) - _names(known, field) for field in OBJECT_LISTS}
    if not any(lost.values()):
        return {}
    trial = with_models(after, after.models)
    with no_edits():
        for field, names in lost.items():
            getattr(trial, field).extend(one for one in getattr(before, field) if one.name in names)
    trial.drop_dangling_references()
    found: dict[tuple[str, str], Verdict] = {}
    for field, names in lost.items():
        possible = _names(trial, field)
        found |= {(field, name): REMOVED if name in possible else DEPENDENT for name in sorted(names)}
    return found


def _names(world: World, field: str) -> set[str]:
    return {one.name for one in getattr(world, field) if one.name}


def _lost_values(changes: Changes) -> Iterator[LostValues]:
    for source, item in changes.edited:
        if is_rebuilt(source, item) and isinstance(source, Joint) and source._dofs is not None and source.node >= 0:
            rows = list(zip(*dof_rows(source), strict=True))
            fields = [
                n for n, default, row in zip(DOF_FIELDS, DEFAULT_DOF_ROW, rows, strict=True) if {*row} - {default}
            ]
            if fields:
                yield LostValues(source, fields)


def not_following(scene: Scene, changes: Changes) -> Iterator[int]:
    """The ids of joints that cannot mimic any more what they mimicked in the document."""
    for model in (model for world in scene.worlds for model in world.models):
        names = {joint.name: joint for joint in model.joints}
        for joint in model.joints:
            source = changes.sources.get(id(joint))
            if not isinstance(source, Joint) or source.mimic is None:
                continue
            if joint.mimic is None:  # cleared by the user, unless the joint that it mimicked was removed
                is_lost = not any(_had_name(one, source.mimic.joint, changes) for one in model.joints)
            else:
                leader = names.get(joint.mimic.joint)
                is_lost = leader is None or not can_mimic(joint.kind, leader.kind) or not leader.dof_count
            if is_lost:
                yield id(joint)


def _had_name(joint: Joint, name: str, changes: Changes) -> bool:
    return item_name(changes.sources.get(id(joint), joint)) == name


def is_rebuilt(source: Item, item: Item) -> bool:
    """Whether the degrees of freedom of a joint were created again for another kind."""
    if not isinstance(source, Joint) or not isinstance(item, Joint) or source.kind == item.kind:
        return False
    return len(source.motion) != len(item.motion)
