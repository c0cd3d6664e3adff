"""What each element of SKEL feeds in the scene."""

from __future__ import annotations

from exoskel.formats.interface import DiagnosticEffects, SourceMapping
from exoskel.scene.body import Body, Marker
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World
from exoskel.source.scene_fields import STRUCTURE, Feed, Feeds

_LABEL = Feed(idle="the version of the format; the output states its own")

_DYNAMICS = {
    "damping": "damping",
    "friction": "friction",
    "spring_rest_position": "rest",
    "spring_stiffness": "stiffness",
    "sprint_rest_position": "rest",
    "sprint_stiffness": "stiffness",
}


def _dofs(*parts: str) -> Feed:
    return Feed("dofs", parts=parts)


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
        "inertia/mass": Feed("inertia", parts=("mass",)),
        "inertia/offset": Feed("inertia", parts=("com",)),
        "inertia/moment_of_inertia": Feed("inertia", parts=("moment", "products")),
        **{f"inertia/moment_of_inertia/{entry}": Feed("inertia", parts=("moment",)) for entry in ("ixx", "iyy", "izz")},
        **{
            f"inertia/moment_of_inertia/{entry}": Feed("inertia", parts=("products",))
            for entry in ("ixy", "ixz", "iyz")
        },
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
        "init_pos": _dofs("position"),
        "init_vel": _dofs("velocity"),
        "dof/**": "dofs",
        "dof/@name": _dofs("name"),
        **{f"dof/{tag}": _dofs(part) for tag, part in _DYNAMICS.items()},
    },
}
for _state in ("position", "velocity", "acceleration", "force"):
    _ROWS[Joint] |= {
        f"dof/{_state}/**": _dofs(f"{_state}_limits"),
        f"dof/{_state}": _dofs(_state, f"{_state}_limits"),
        f"dof/{_state}/@initial": _dofs(_state),
    }
for _axis in ("axis", "axis2", "axis3"):
    _ROWS[Joint] |= {
        f"{_axis}/xyz": "axes",
        f"{_axis}/pitch": "pitch",
        f"{_axis}/dynamics/**": _dofs(*_DYNAMICS.values()),
        **{f"{_axis}/dynamics/{tag}": _dofs(part) for tag, part in _DYNAMICS.items()},
        f"{_axis}/limit/**": _dofs("position_limits"),
        f"{_axis}/limit/effort": _dofs("force_limits"),
        f"{_axis}/limit/velocity": _dofs("velocity_limits"),
        f"{_axis}/damping": _dofs("damping"),
        _axis: STRUCTURE,
    }


SOURCE_MAPPING = SourceMapping(
    Feeds(_ROWS),
    DiagnosticEffects(
        ignored=(
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
            "SK098",
        ),
        used=(
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
        ),
        lossless=(
            "SK005",
            "SK007",
            "SK008",
            "SK013",
            "SK014",
            "SK02",
            "SK033",
            "SK040",
            "SK041",
            "SK042",
            "SK043",
            "SK050",
            "SK051",
            "SK052",
            "SK053",
            "SK055",
            "SK063",
            "SK064",
            "SK065",
            "SK067.range",
            "SK068.missing",
            "SK069",
            "SK07",
            "SK081",
            "SK087",
            "SK088",
            "SK090",
            "SK094",
        ),
    ),
)
