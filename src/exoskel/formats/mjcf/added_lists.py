"""What was added to the lists of a world: actuators, tendons, sensors, constraints, cameras, lights and keyframes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from exoskel.scene.cameras_and_keyframes import Keyframe, SceneCamera, SceneLight
from exoskel.scene.world import World
from exoskel.source.document import Document

_FIELDS = ("tendons", "actuators", "sensors", "equalities", "cameras", "lights", "keyframes")


class NewListItems(Struct, frozen=True):
    """The new items of each list, and all names of each list in order."""

    new: dict[str, list[Any]]
    order: dict[str, list[str]]

    def __bool__(self) -> bool:
        return any(self.new.values())

    def names(self, field: str) -> set[str]:
        return {one.name for one in self.new[field]}

    def preceding(self, field: str, name: str) -> str:
        """The name of the source's item that a new one follows; empty if the new one comes first."""
        before = self.order[field][: self.order[field].index(name)]
        own = self.names(field)
        return next((one for one in reversed(before) if one not in own), "")

    @property
    def cameras(self) -> Sequence[SceneCamera]:
        return self.new["cameras"]

    @property
    def lights(self) -> Sequence[SceneLight]:
        return self.new["lights"]

    @property
    def keyframes(self) -> Sequence[Keyframe]:
        return self.new["keyframes"]


def new_list_items(base: World, world: World) -> NewListItems:
    """The items of lists that the world has, and the one that was read from the document has not."""
    new: dict[str, list[Any]] = {}
    for field in _FIELDS:
        known = Counter(one.name for one in getattr(base, field))
        new[field] = []
        for one in getattr(world, field):
            known[one.name] -= 1
            if known[one.name] < 0:
                new[field].append(one)
    return NewListItems(new, {field: [one.name for one in getattr(world, field)] for field in _FIELDS})


def find_list_element(document: Document, section: str, name: str) -> int | None:
    """The element with a name in the sections of a tag; None if no element or more than one has it."""
    tags, parents = document.outline.tags, document.outline.parents
    found = [
        node
        for node in range(len(tags))
        if parents[node] > 0 and tags[parents[node]] == section and document.attribute_text(node, "name") == name
    ]
    return found[0] if len(found) == 1 else None
