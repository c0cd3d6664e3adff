"""What the MJCF readers of DART 6.20, Newton and Isaac Sim ignore, although the file states it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.model.joints import anchors, joint_chain, stop_spring
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.cameras_and_keyframes import view_part
from exoskel.scene.item import Item
from exoskel.scene.joint import UNLIMITED, Dof, Joint
from exoskel.scene.sensor import sensor_part
from exoskel.scene.shape import Capsule, Ellipsoid, Plane
from exoskel.scene.world import World
from exoskel.source.output_context import Loss, Target, loss

ASSUMED_GRAVITY = (0.0, 0.0, -9.81)
"""The gravity that DART and Newton assume, in m/s²."""
EQUALITIES_OF_TENDONS = "equality constraints of tendons"
EQUALITIES_OF_ONE_JOINT = "equality constraints of one joint"
_STATE = {"position": "initial positions", "velocity": "initial velocities"}
_DYNAMICS = {"armature": "armature", "friction": "friction", "stiffness": "springs", "rest": "springs"}
_OF_JOINTS: dict[Target, dict[str, str]] = {
    "dart": {**_STATE, **_DYNAMICS, "force_limits": "force limits"},
    "newton": _STATE,
    "isaac": _STATE,
}
"""The fields of degrees of freedom that are ignored, with words for them."""
_OF_FREE_JOINTS: dict[Target, dict[str, str]] = {
    **_OF_JOINTS,
    **{key: {**_STATE, "armature": "armature"} for key in ("newton", "isaac")},
}
_PROGRAMS: dict[Target, str] = {"dart": "DART", "newton": "Newton", "isaac": "Isaac Sim"}
_FIXED_GRAVITY: frozenset[Target] = frozenset({"dart", "newton"})
_WITHOUT_SELF_COLLISION: frozenset[Target] = frozenset({"dart", "isaac"})
_WITHOUT_LOCKS: frozenset[Target] = frozenset({"dart", "isaac"})
"""The programs that do not read equality constraints of one joint."""
_DEFAULT_DOF = Dof()
_DART_PLANE = (50.0, 50.0, 1.0)
"""The size of planes, which DART would replace by cubes of 1 m."""


def reader_losses(world: World, target: Target) -> Iterator[Loss]:
    """What the reader of a program ignores."""
    program = _PROGRAMS.get(target)
    if program is None:
        return
    if target in _FIXED_GRAVITY and world.gravity != ASSUMED_GRAVITY:
        yield _ignored(world, program, "gravity, and uses -9.81 m/s² along z", ["gravity"])
    if target in _WITHOUT_SELF_COLLISION and world.self_collision:
        yield _ignored(world, program, "collisions within a model", ["self_collision"])
    yield from _of_lists(world, program)
    if target == "dart":
        yield from _of_dart(world)
    if target == "isaac":
        yield from _of_isaac(world)
    for model in world.models:
        for body in model.bodies:
            if target == "dart" and not body.gravity:
                yield _ignored(body, program, "that gravity does not act on the body", ["gravity"])
            for shape in body.shapes if target == "dart" else ():
                if isinstance(shape.geometry, Plane):
                    yield loss(shape, CATALOGUE["MJ513.plane"], "geometry", changes_effect=True)
                elif isinstance(shape.geometry, Capsule) and shape.collidable:
                    yield loss(shape, CATALOGUE["MJ513.capsule"], "geometry", changes_effect=True)
        for joint in model.joints if not model.static else ():
            if target == "newton" and world.self_collision and _lets_bodies_collide(joint):
                yield _ignored(joint, program, "that connected bodies collide", ["collide_connected"])
            if target in _WITHOUT_LOCKS and _is_locked(joint):
                yield _ignored(joint, program, "limits of one point", ["position_limits"])
            if target == "dart":
                yield from _constraints_unread_by_dart(joint)
            if not joint.loop:
                yield from _of_joint(joint, target, program)
                links = [link.type for link in joint_chain(joint)] if target == "newton" else []
                if "ball" in links[1:]:
                    yield loss(joint, CATALOGUE["MJ513.ball"], "kind", changes_effect=True)


def _lets_bodies_collide(joint: Joint) -> bool:
    """Whether the two bodies of a joint collide."""
    parent = joint.parent
    return joint.collide_connected and parent is not None and bool(parent.collisions and joint.child.collisions)


def _of_lists(world: World, program: str) -> Iterator[Loss]:
    """What no program reads beside the models."""
    lists = {
        "cameras": [view_part(camera) for camera in world.cameras],
        "lights": [view_part(light) for light in world.lights],
        "keyframes": ["keyframes"] if world.keyframes else [],
        "sensors": [sensor_part(sensor.name) for sensor in world.sensors],
    }
    for words, fields in lists.items():
        if fields:
            yield _ignored(world, program, words, fields)


def _of_dart(world: World) -> Iterator[Loss]:
    """What DART reads of no world."""
    lists = {
        "tendons": ("tendons", world.tendons),
        "actuators": ("actuators", world.actuators),
        "equalities": (
            "equality constraints, except welds of two bodies",
            [one for one in world.equalities if one.kind != "weld" or not one.other],
        ),
    }
    for field, (words, items) in lists.items():
        if items:
            yield _ignored(world, _PROGRAMS["dart"], words, [field])


def _constraints_unread_by_dart(joint: Joint) -> Iterator[Loss]:
    """The couplings and loops of a joint that are not welds of two bodies, and limits, which DART does not enforce."""
    program = _PROGRAMS["dart"]
    if joint.loop:
        if joint.kind not in ("free", "amotor") and (
            anchors(joint) is not None or (joint.kind == "weld" and joint.parent is None)
        ):
            yield _ignored(joint, program, "loops, except welds of two bodies", ["kind"])
        return
    if joint.mimic is not None:
        yield _ignored(joint, program, "couplings of joints", ["mimic"])
    if joint.kind == "screw":
        yield _ignored(joint, program, "couplings of joints", ["pitch"])
    if joint.limits_enforced and not _is_locked(joint) and any(map(_has_range, joint._dofs or ())):
        yield _ignored(joint, program, "that limits are enforced", ["limits_enforced", "position_limits"])


def _has_range(dof: Dof) -> bool:
    return dof.position_limits[0] < dof.position_limits[1] and dof.position_limits != UNLIMITED


def _is_locked(joint: Joint) -> bool:
    """Whether a joint is written with the equality constraint of one joint: limits of one point."""
    if joint.loop or not joint.limits_enforced or joint.kind in ("ball", "free", "weld"):
        return False
    return any(
        dof.position_limits[0] == dof.position_limits[1]
        and not dof.has_limits_at_infinity
        and (stop_spring(joint, number) is None or bool(dof.stiffness))
        for number, dof in enumerate(joint._dofs or ())
    )


def _of_isaac(world: World) -> Iterator[Loss]:
    """What Isaac Sim reads of no world or shape."""
    if world.collision_exempt_groups:
        yield _ignored(world, _PROGRAMS["isaac"], "collision filters", ["collision_exempt_groups"])
    if any(one.kind == "tendon" for one in world.equalities):
        yield _ignored(world, _PROGRAMS["isaac"], EQUALITIES_OF_TENDONS, ["equalities"])
    if any(one.kind == "joint" and not one.other for one in world.equalities):
        yield _ignored(world, _PROGRAMS["isaac"], EQUALITIES_OF_ONE_JOINT, ["equalities"])
    for body in world.bodies():
        for shape in body.shapes:
            if isinstance(shape.geometry, Ellipsoid):
                yield loss(shape, CATALOGUE["MJ513.ellipsoid"], "geometry")


def _of_joint(joint: Joint, target: Target, program: str) -> Iterator[Loss]:
    ignored = (_OF_FREE_JOINTS if joint.kind == "free" else _OF_JOINTS)[target]
    stated: dict[str, list[str]] = {}
    for field, words in ignored.items():
        if any(getattr(dof, field) != getattr(_DEFAULT_DOF, field) for dof in joint._dofs or ()):
            stated.setdefault(words, []).append(field)
    for words, fields in stated.items():
        yield _ignored(joint, program, f"{words} of joints", fields)


def _ignored(item: Item, program: str, what: str, fields: Collection[str]) -> Loss:
    return loss(item, CATALOGUE["MJ513"], *fields, changes_effect=True, program=program, what=what)


def name_world_in_welds(root: MjcfElement) -> None:
    """Name the world as the second body of welds that state none, on which DART crashes."""
    for weld in (one for one in root.child("equality").children if one.tag == "weld"):
        if "body1" in weld.attributes:
            weld.attributes.setdefault("body2", "world")


def enlarge_planes(root: MjcfElement) -> None:
    """Give planes a size, which MuJoCo only draws and DART needs."""
    for geom in root.iter():
        if geom.tag == "geom" and geom.attributes.get("type") == "plane":
            geom.attributes["size"] = _DART_PLANE
