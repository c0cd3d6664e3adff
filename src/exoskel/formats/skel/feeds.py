"""What each element of SKEL feeds in the scene."""

from __future__ import annotations

from exoskel.scene.body import Body, Marker
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World
from exoskel.source.document import Document
from exoskel.source.feeds import STRUCTURE, Feed, Feeds

_LABEL = Feed(idle="the version of the format; the output states its own")

_ROWS: dict[type[Item] | None, dict[str, str | Feed]] = {
    None: {"": STRUCTURE, "@version": _LABEL},
    World: {
        "": STRUCTURE,
        "@name": "name",
        "physics": STRUCTURE,
        "physics/time_step": "time_step",
        "physics/gravity": "gravity",
        "physics/collision_detector": "collision_detector",
    },
    Model: {"": STRUCTURE, "@name": "name", "transformation": "pose", "mobile": "static", "immobile": "static"},
    Body: {
        "": STRUCTURE,
        "@name": "name",
        "gravity": "gravity",
        "transformation": "pose",
        "inertia/**": "inertia",
        "soft_shape/**": "soft",
        "self_collide": "kept",
    },
    Shape: {
        "": STRUCTURE,
        "transformation": "pose",
        "geometry": STRUCTURE,
        "geometry/**": "geometry",
        "geometry/color": "color",
        "color": "color",
        "collidable": "collidable",
    },
    Marker: {"": STRUCTURE, "@name": "name", "offset": "offset"},
    Joint: {
        "": STRUCTURE,
        "@type": "kind",
        "@name": "name",
        "@actuator": "actuator",
        "parent": "parent",
        "child": "child",
        "transformation": "pose",
        "axis_order": "order",
        "plane": STRUCTURE,
        "plane/@type": "plane",
        "plane/**": "axes",
        "init_pos": "dofs",
        "init_vel": "dofs",
        "dof/**": "dofs",
    },
}
for _axis in ("axis", "axis2", "axis3"):
    _ROWS[Joint] |= {
        f"{_axis}/xyz": "axes",
        f"{_axis}/pitch": "pitch",
        f"{_axis}/dynamics/**": "dofs",
        f"{_axis}/limit/**": "dofs",
        f"{_axis}/damping": "dofs",
        _axis: STRUCTURE,
    }

FEEDS = Feeds(_ROWS)
TRANSPARENT: frozenset[str] = frozenset()
"""Elements that only group what is inside."""


def unused(_document: Document) -> dict[tuple[int, str], str]:
    """Attributes that are not looked at because of what others say: none."""
    return {}


NO_EFFECT = (
    "SK005.world",
    "SK005.kept",
    "SK010",
    "SK011",
    "SK012",
    "SK013",
    "SK014",
    "SK040.repeated",
    "SK084",
    "SK088.stiffness",
    "SK088.spring_damping",
)
"""Findings, errors aside, about something that is not used."""

STILL_USED = (
    "SK013.geometry_color",
    "SK013.self_collide",
    "SK013.soft_marker",
    "SK014.split",
    "SK051",
    "SK052",
    "SK053",
    "SK061",
    "SK063",
    "SK090",
    "SK020",
    "SK050",
)
"""Findings about something that is used all the same, in part."""
