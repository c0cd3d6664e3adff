"""Compare the cameras and lights of a world with those that were read back from its output."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from exoskel.conversion.comparison import Row
from exoskel.scene.cameras_and_keyframes import lost_view_part, placed_views, view_part
from exoskel.scene.fields import relative_difference
from exoskel.scene.item import Item
from exoskel.scene.world import World


def view_rows(mine: World, theirs: World, lost: Collection[str], counterparts: Mapping[int, Item]) -> list[Row]:
    """The row about cameras and lights, if there are any.

    They may have other names.  `lost` are the fields of the world, and of its cameras and lights, that are not written.
    """
    if not (mine.cameras or mine.lights):
        return []
    sides = (list(placed_views([*world.cameras, *world.lights], world.models)) for world in (mine, theirs))
    own, left = sides
    worst = 0.0
    for view, body, values in own:
        other = None if body is None else counterparts.get(id(body))
        compared = {name: part for name, part in values.items() if lost_view_part(view, name) not in lost}
        is_lost = view_part(view) in lost and not any(one.startswith(lost_view_part(view, "")) for one in lost)
        if is_lost or (body is not None and other is None):
            continue
        found = [
            (relative_difference([*compared.values()], [there.get(name) for name in compared]), number)
            for number, (one, on, there) in enumerate(left)
            if on is other and type(one) is type(view)
        ]
        error, number = min(found, default=(np.inf, -1))
        worst = max(worst, error)
        if number >= 0:
            left.pop(number)
    return [("cameras and lights", worst)]
