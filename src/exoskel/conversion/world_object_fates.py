"""The fates of elements that state objects in lists of a world, such as actuators, tendons and sensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from exoskel.conversion.output_fates import LISTED, FieldVerdict, OutputFates, combine_users
from exoskel.conversion.related_items import RelatedItems
from exoskel.fates import Fate, Verdict
from exoskel.scene.actuator import comparable_actuators
from exoskel.scene.fields import comparable_value, relative_difference
from exoskel.scene.item import Item, item_name
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.vocabulary import SceneField


class WorldObjectFates:
    """The fates of the elements of one document, by its number, that state objects in lists of a world."""

    def __init__(
        self, document: Document, number: int, related: RelatedItems, output: OutputFates, field_verdict: FieldVerdict
    ) -> None:
        self.document = document
        self.number = number
        self.related = related
        self.output = output
        self.field_verdict = field_verdict
        self.info = related.scene.source_info
        self.objects: Mapping[int, tuple[str, str]] = {} if number else self.info.objects
        """The elements of other objects than sensors, cameras and lights: their fields of the world, and names."""

    def verdict(self, owner: Item | None, row: SceneField, node: int, attribute: str) -> Verdict | None:
        """The verdict on an element or attribute that sets this field of the item around it; None: it is no object."""
        if row.owner == "actuator":
            return self._named_actuator(owner, node, attribute)
        if owner is None:
            return None
        field, name = self.object_of(node)
        if field and field in (row.name, "equalities"):  # rows of constraints are about joints
            return self._of_world(owner, field, [name])
        if row.name in LISTED and (names := self.listed_names(row.name, node)):
            return self._of_world(owner, row.name, names)
        return None

    def object_of(self, node: int) -> tuple[str, str]:
        """The list and the name of the object that an element is part of; both empty if it is part of none."""
        around = self.document.outline.ancestry(node) if self.objects else ()
        return next((self.objects[one] for one in around if one in self.objects), ("", ""))

    def _of_world(self, owner: Item, field: str, names: Sequence[str] = ()) -> Verdict:
        (world,) = self.related.find(owner, "world")
        return self.field_verdict(world, field, names)

    def _named_actuator(self, owner: Item | None, node: int, attribute: str) -> Verdict:
        """The verdict on an actuator by its name, which is that of its joint or tendon if the document states none.

        Motors that are no actuators of the scene were written for the force limits of joints.
        """
        joints = self.related.driven_joints(self.document.attribute_text(node, "joint"))
        name = self.document.attribute_text(node, "name") or self.document.attribute_text(node, "tendon")
        parts = tuple(one for one in ([name] if name else map(item_name, joints)) if one in self.output.actuator_names)
        if not parts or owner is None:
            return combine_users([self.field_verdict(joint, "dofs", ("force_limits",)) for joint in joints])
        found = self.field_verdict(owner, "actuators", (*parts, f"@{attribute}"))  # its initial state is elsewhere
        if found.fate not in (Fate.LOWERED, Fate.APPROXIMATED) or not isinstance(owner, World):
            return found
        fields = {field for part in parts for field in self.output.actuator_dof_fields(owner, part)}
        if not fields:  # it is still an actuator
            return found
        own = combine_users([self.field_verdict(joint, "dofs", sorted(fields)) for joint in joints])
        return Verdict(own.fate, f"{found.why}: {own.why}") if own.fate is Fate.DROPPED or own.loss else found

    def listed_names(self, field: str, node: int) -> list[str]:
        """The names of the sensors, cameras or lights that were read from an element or from one around it."""
        info = self.info
        known: Mapping[tuple[int, int], object] = info.sensors if field == "sensors" else info.views
        around = self.document.outline.ancestry(node) if known else ()
        keys = [key for one in around if (key := (self.number, one)) in known]
        if field != "sensors":
            return [one.name for key in keys for one in info.views[key]]
        return [
            name
            for key in keys
            for one in sorted(info.sensors[key], key=attrgetter("sensors"))
            for name, *_ in one.sensors
        ]


def has_same_objects(world: World, other: World, field: str, names: Sequence[str], tolerance: float) -> bool:
    """Whether another world has the objects with these names in a list of a world, whatever became of the others."""
    mine = [row for name, row in _comparable_objects(world, field) if name in names]
    theirs = [row for _, row in _comparable_objects(other, field)]
    return bool(mine) and all(any(relative_difference(row, found) <= tolerance for found in theirs) for row in mine)


def _comparable_objects(world: World, field: str) -> list[tuple[str, object]]:
    """The names of the objects in a list of a world, with their values."""
    if field == "actuators":
        return [(one.name, comparable_actuators([one], world.models)) for one in world.actuators]
    return [(one.name, row) for one, row in zip(getattr(world, field), comparable_value(world, field), strict=True)]
