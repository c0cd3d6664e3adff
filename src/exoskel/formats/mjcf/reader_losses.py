"""What the MJCF readers of Newton and Isaac Sim ignore, although the file states it."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.model.joints import joint_chain, stop_spring
from exoskel.scene.cameras_and_keyframes import view_part
from exoskel.scene.equality import equality_part
from exoskel.scene.item import Item
from exoskel.scene.joint import Dof, Joint
from exoskel.scene.sensor import sensor_part
from exoskel.scene.shape import Ellipsoid, simplest_geometry
from exoskel.scene.world import World
from exoskel.source.losses import Loss, loss
from exoskel.source.output_context import Target

ASSUMED_GRAVITY = (0.0, 0.0, -9.81)
"""The gravity that DART and Newton assume, in m/s²."""
EQUALITIES_OF_TENDONS = "equality constraints of tendons"
EQUALITIES_OF_ONE_JOINT = "equality constraints of one joint"
_STATE = {"position": "initial positions", "velocity": "initial velocities"}
"""The fields of degrees of freedom that are ignored, with words for them."""
_OF_FREE_JOINTS = {**_STATE, "armature": "armature"}
_PROGRAMS: dict[Target, str] = {"newton": "Newton", "isaac": "Isaac Sim"}
_DEFAULT_DOF = Dof()


def reader_losses(world: World, target: Target) -> Iterator[Loss]:
    """What the reader of a program ignores."""
    program = _PROGRAMS.get(target)
    if program is None:
        return
    if target == "newton" and world.gravity != ASSUMED_GRAVITY:
        yield _ignored(world, program, "gravity, and uses -9.81 m/s² along z", ["gravity"])
    if target == "isaac" and world.self_collision:
        yield _ignored(world, program, "collisions within a model", ["self_collision"])
    yield from _of_lists(world, program)
    if target == "isaac":
        yield from _of_isaac(world)
    for model in world.models:
        for joint in model.joints if not model.static else ():
            if target == "newton" and world.self_collision and _lets_bodies_collide(joint):
                yield _ignored(joint, program, "that connected bodies collide", ["collide_connected"])
            if target == "isaac" and _is_locked(joint):
                yield _ignored(joint, program, "limits of joints at one point", ["position_limits"])
            if not joint.loop:
                yield from _of_joint(joint, program)
                links = [link.type for link in joint_chain(joint)] if target == "newton" else []
                if "ball" in links[1:]:
                    yield loss(joint, CATALOGUE["MJ513.ball"], "kind", changes_effect=True, is_refused=True)


def _lets_bodies_collide(joint: Joint) -> bool:
    """Whether the two bodies of a joint collide."""
    parent = joint.parent
    return joint.collide_connected and parent is not None and bool(parent.collisions and joint.child.collisions)


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


def _of_lists(world: World, program: str) -> Iterator[Loss]:
    """What Newton and Isaac Sim do not read beside the models."""
    lists = {
        "cameras": [view_part(camera) for camera in world.cameras],
        "lights": [view_part(light) for light in world.lights],
        "keyframes": ["keyframes"] if world.keyframes else [],
        "sensors": [sensor_part(sensor.name) for sensor in world.sensors],
    }
    for words, fields in lists.items():
        if fields:
            yield _ignored(world, program, words, fields)


def _of_isaac(world: World) -> Iterator[Loss]:
    """What Isaac Sim reads of no world or shape."""
    if world.collision_exempt_groups:
        yield _ignored(world, _PROGRAMS["isaac"], "collision filters", ["collision_exempt_groups"])
    of_tendons = [equality_part(one.name) for one in world.equalities if one.kind == "tendon"]
    of_one_joint = [equality_part(one.name) for one in world.equalities if one.kind == "joint" and not one.other]
    for words, parts in ((EQUALITIES_OF_TENDONS, of_tendons), (EQUALITIES_OF_ONE_JOINT, of_one_joint)):
        if parts:
            yield _ignored(world, _PROGRAMS["isaac"], words, parts)
    for body in world.bodies():
        for shape in body.shapes:
            if isinstance(simplest_geometry(shape.geometry), Ellipsoid):
                yield loss(shape, CATALOGUE["MJ513.ellipsoid"], "geometry")


def _of_joint(joint: Joint, program: str) -> Iterator[Loss]:
    ignored = _OF_FREE_JOINTS if joint.kind == "free" else _STATE
    stated: dict[str, list[str]] = {}
    for field, words in ignored.items():
        if any(getattr(dof, field) != getattr(_DEFAULT_DOF, field) for dof in joint._dofs or ()):
            stated.setdefault(words, []).append(field)
    for words, fields in stated.items():
        yield _ignored(joint, program, f"{words} of joints", fields)


def _ignored(item: Item, program: str, what: str, fields: Collection[str]) -> Loss:
    return loss(item, CATALOGUE["MJ513"], *fields, changes_effect=True, program=program, what=what)
