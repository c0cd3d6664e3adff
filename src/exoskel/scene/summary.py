"""What is in a scene, as plain data: the shape of `exoskel info --json`."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from exoskel import diagnostics, spatial
from exoskel.scene.body import Body
from exoskel.scene.inertia import NO_MOMENT, UNIT_MOMENT, Moment, derive_moments, solid_moment
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.model import Model
from exoskel.scene.pose import ZERO, Vector
from exoskel.scene.shape import Plane
from exoskel.scene.validation import require_valid
from exoskel.scene.world import Scene, SceneLike, World, as_scene
from exoskel.spatial import Array

_SummaryRow = dict[str, Any]


def summarize(scene: SceneLike) -> dict[str, Any]:
    """The scene's worlds, models, bodies and joints with their numbers; units are SI, frames as named.

    Body poses are x y z qw qx qy qz in the world at the initial state.
    """
    scene = as_scene(scene)
    require_valid(scene)
    worlds = [_world(scene, world) for world in scene.worlds]
    models = [model for world in worlds for model in world["models"]]
    bodies = [body for model in models for body in model["bodies"]]
    joints = [joint for model in models for joint in model["joints"]]
    return {
        "file": scene.source.name if scene.source else None,
        "format": scene.source_info.format or None,
        "format_version": scene.source_info.format_version or None,
        "semantics": scene.source_info.semantics or None,
        "worlds": worlds,
        "totals": {
            "worlds": len(worlds),
            "models": len(models),
            "bodies": len(bodies),
            "joints": len(joints),
            "dofs": sum(joint["dofs"] for joint in joints),
            "mass": sum(body["mass"] or 0.0 for body in bodies),
        },
        "diagnostics": diagnostics.count_by_severity(scene.diagnostics),
    }


def moments(bodies: Sequence[Body]) -> Array:
    """The moments of many bodies, `(n, 6)`; missing ones are derived all at once."""
    return spatial.rows(mass_properties(bodies)[0], 6)


def mass_properties(bodies: Sequence[Body]) -> tuple[list[Moment], list[Vector]]:
    """The moments of many bodies and their centres of mass; missing ones are derived."""
    rows: list[Moment] = []
    centres: list[Vector] = []
    others: list[int] = []
    """Bodies whose moments have to be derived from several shapes, or in another way."""
    for number, body in enumerate(bodies):
        inertia = body.inertia
        moment, com = inertia.moment, inertia.com
        if moment is None:
            is_solid = inertia.rule == "solid"
            shapes = (body.collisions or body.visuals) if is_solid else body.mass_shapes
            single = solid_moment(inertia, shapes[0]) if is_solid and len(shapes) == 1 else None
            if single is not None:
                moment, com = single[0], com or single[1]
            elif is_solid and all(type(one.geometry) is Plane for one in shapes):
                moment, com = UNIT_MOMENT, inertia.com_of(shapes)  # they have no volume
            else:
                others.append(number)
        elif com is None:
            com = body.com
        rows.append(moment or NO_MOMENT)
        centres.append(com or ZERO)
    if others:
        made = derive_moments([(bodies[i].inertia, bodies[i].mass_shapes) for i in others])
        for i, (xx, yy, zz, xy, xz, yz), (x, y, z) in zip(
            others, made.moments.tolist(), made.centres.tolist(), strict=True
        ):
            rows[i] = (xx, yy, zz, xy, xz, yz)
            if bodies[i].inertia.com is None:
                centres[i] = (x, y, z) if bodies[i].inertia.rule == "solid" else bodies[i].com
    return rows, centres


def _world(scene: Scene, world: World) -> _SummaryRow:
    bodies, joints = list(world.bodies()), list(world.joints())
    poses = spatial.pose7(Kinematics(world.models).poses()).tolist()
    lines = iter(_lines(scene, [*bodies, *joints]))
    rows = [
        _body(body, moment, pose, line)
        for body, moment, pose, line in zip(bodies, moments(bodies).tolist(), poses, lines, strict=False)
    ]
    joint_rows = [_joint(joint, line) for joint, line in zip(joints, lines, strict=True)]
    return {
        "name": world.name,
        "gravity": _numbers(world.gravity),
        "time_step": world.time_step,
        "models": _models(world.models, rows, joint_rows),
        **_devices(world),
    }


def _devices(world: World) -> _SummaryRow:
    """What a world has besides models: actuators, sensors, cameras and others, if it has some."""
    rows: dict[str, list[_SummaryRow]] = {
        "actuators": [
            {"name": one.name, "type": one.kind, "target": one.tendon or one.joint} for one in world.actuators
        ],
        "tendons": [{"name": one.name, "type": "fixed" if one.joints else "spatial"} for one in world.tendons],
        "sensors": [{"name": one.name, "type": one.kind, "target": one.target or None} for one in world.sensors],
        "equalities": [
            {"name": one.name, "type": one.kind, "target": one.target, "other": one.other or None, "active": one.active}
            for one in world.equalities
        ],
        "cameras": [{"name": one.name, "body": one.body or None, "mode": one.mode} for one in world.cameras],
        "lights": [{"name": one.name, "type": one.kind, "body": one.body or None} for one in world.lights],
        "keyframes": [{"name": one.name, "time": one.time} for one in world.keyframes],
    }
    return {name: found for name, found in rows.items() if found}


def _models(models: Sequence[Model], bodies: list[_SummaryRow], joints: list[_SummaryRow]) -> list[_SummaryRow]:
    rows: list[_SummaryRow] = []
    first_body = first_joint = 0
    for model in models:
        next_body, next_joint = first_body + len(model.bodies), first_joint + len(model.joints)
        rows.append(
            {
                "name": model.name,
                "static": model.static,
                "bodies": bodies[first_body:next_body],
                "joints": joints[first_joint:next_joint],
            }
        )
        first_body, first_joint = next_body, next_joint
    return rows


def _body(body: Body, moment: list[float], pose: list[float], line: int | None) -> _SummaryRow:
    return {
        "name": body.name,
        "mass": _number(body.mass),
        "com": _numbers(body.com),
        "inertia": _numbers(moment),
        "pose": _numbers(pose),
        "gravity": body.gravity,
        "visuals": len(body.visuals),
        "collisions": len(body.collisions),
        "line": line,
    }


def _joint(joint: Joint, line: int | None) -> _SummaryRow:
    return {
        "name": joint.name,
        "type": joint.kind,
        "parent": joint.parent.name if joint.parent else None,
        "child": joint.child.name,
        "dofs": joint.dof_count,
        "positions": _numbers(joint.positions),
        "velocities": _numbers(joint.velocities),
        "loop": joint.loop,
        "line": line,
    }


def _lines(scene: Scene, items: Sequence[Item]) -> list[int | None]:
    """The line of each item, None for items without a source; one look-up per document."""
    found: list[int | None] = [None] * len(items)
    for number, document in enumerate(scene.documents):
        own = [i for i, item in enumerate(items) if item.document == number and item.node >= 0]
        for i, line in zip(own, document.lines([items[i].node for i in own]), strict=True):
            found[i] = line
    return found


def _number(value: float) -> float | None:
    """A number for JSON, which has no infinities."""
    return value if isfinite(value) else None


def _numbers(values: Sequence[float]) -> list[float | None]:
    return [_number(value) for value in values]
