"""The pass `world.upright`: the whole world turned, so that another axis points up.

Gravity tells which way is up.  Everything is turned with it: models, what moves at the start, and what pushes in the
first step.  Coordinates of joints stay what they are, but for the velocities of bodies that float on the world, which
are in the axes of the world.
"""

from __future__ import annotations

from math import pi
from typing import Literal

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import BodyState
from exoskel.scene.copies import copy_world
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.joint import Joint
from exoskel.scene.pose import Euler, Pose, Vector
from exoskel.scene.world import World
from exoskel.spatial import Array

UP_AXIS_PASS = "world.upright"
"""The name of the pass, for reports."""

Up = Literal["y", "z", "y-to-z", "z-to-y"]
"""The axis that is to point up; with the one that does now, for worlds whose gravity does not tell."""
_TURNS = {("y", "z"): pi / 2, ("z", "y"): -pi / 2}
"""About x, rad."""
_MOSTLY = 0.999
"""How much of gravity has to be along one axis for that to be up."""


class Reoriented(Struct, frozen=True):
    """A new world, and the rotation that was applied to the old one."""

    world: World
    rotation: Array


def up_axis(world: World) -> str:
    """The axis that points up, such as `y` or `-x`; empty if there is no gravity, or it is askew."""
    gravity = np.array(world.gravity)
    size = float(np.linalg.norm(gravity))
    if not size or not np.isfinite(size):
        return ""
    place = int(np.argmax(np.abs(gravity)))
    if abs(gravity[place]) < _MOSTLY * size:
        return ""
    return "xyz"[place] if gravity[place] < 0.0 else f"-{'xyz'[place]}"


def nearest_up_axis(gravity: Vector) -> Vector:
    """The coordinate axis, with its sign, that is most against gravity; z without any."""
    if not any(gravity) or not np.isfinite(gravity).all():
        return (0.0, 0.0, 1.0)
    strongest = int(np.argmax(np.abs(gravity)))
    return _vector(np.array([-float(np.sign(gravity[i])) if i == strongest else 0.0 for i in range(3)]))


def rotate_up_axis(world: World, up: Up) -> Reoriented | None:
    """A copy of the world in which `up` points up; None if it does already."""
    told, _, wanted = up.rpartition("-to-")
    now = up_axis(world)
    if now == wanted and not told:
        return None
    if (now or told, wanted) not in _TURNS or (told and now not in ("", told)):
        found = f"{now} points up" if now else "gravity does not tell which way is up; 'y-to-z' or 'z-to-y' does"
        raise ExoskelError(f"the world {world.name!r} cannot be turned so that {wanted} points up: {found}")
    with no_edits():  # making another world is no edit of this one
        return _turned(copy_world(world), Pose(rotation=Euler((_TURNS[now or told, wanted], 0.0, 0.0), "xyz")))


def _turned(world: World, pose: Pose) -> Reoriented:
    turn = np.round(pose.rotation.matrix())  # quarter turns have ones and zeros only
    world.gravity = _vector(turn @ world.gravity)
    for model in world.models:
        if model.pose.is_identity:
            model.pose = pose
        else:
            model.pose = Pose.from_matrix(spatial.transform(turn, np.zeros(3)) @ model.pose.matrix())
        for joint in model.joints:
            if _floats(joint):
                _turn_velocities(joint, turn)
        for body in model.bodies:
            if body.state is not None:
                _turn_state(body.state, turn)
    return Reoriented(world, turn)


def _floats(joint: Joint) -> bool:
    return joint.parent is None and joint.kind in ("free", "amotor") and not joint.loop and joint._dofs is not None


AGAINST_VELOCITY = ("damping", "friction", "velocity_limits", "force_limits")
"""What resists or bounds each velocity of a joint by itself."""


def anisotropic_fields(joint: Joint) -> frozenset[str]:
    """What resists or bounds a body that floats on the world, and is another along y than along z, or to one side.

    Velocities are in the axes of the world to DART, and MuJoCo has slides, which turn with the model: after the pass
    such values cannot mean the same as before to both.
    """
    if not _floats(joint):
        return frozenset()
    return frozenset(name for name in AGAINST_VELOCITY if _is_uneven([getattr(dof, name) for dof in joint.dofs]))


def _is_uneven(values: list[float] | list[tuple[float, float]]) -> bool:
    pairs = [value if isinstance(value, tuple) else (-value, value) for value in values]
    return any(pairs[y] != pairs[y + 1] or pairs[y][0] != -pairs[y][1] for y in (1, 4) if len(pairs) > y + 1)


def _turn_state(state: BodyState, turn: Array) -> None:
    for name in ("linear_velocity", "angular_velocity", "force", "torque"):
        setattr(state, name, _vector(turn @ getattr(state, name)))


def _turn_velocities(joint: Joint, turn: Array) -> None:
    """Velocities are in the axes of the world: the joint's frame turns them into those of its child's origin."""
    frame = joint.pose.matrix()
    own = np.zeros((6, 6))
    own[:3, :3] = own[3:, 3:] = frame[:3, :3]
    own[3:, :3] = spatial.cross_matrix(frame[:3, 3]) @ frame[:3, :3]
    both = np.zeros((6, 6))
    both[:3, :3] = both[3:, 3:] = turn
    change = np.linalg.solve(own, both @ own) if not joint.pose.is_identity else both
    # Forces are dual to velocities.
    for field, factor in (("velocity", change), ("acceleration", change), ("force", np.linalg.inv(change).T)):
        values = np.array([getattr(dof, field) for dof in joint.dofs])
        if len(values) == 6 and values.any():
            for dof, value in zip(joint.dofs, (factor @ values).tolist(), strict=True):
                setattr(dof, field, value)


def _vector(array: Array) -> Vector:
    x, y, z = (array + 0.0).tolist()
    return (x, y, z)
