"""The pass `world.up_axis`: rotate a whole world so that another axis points up.

Gravity determines which axis points up; without it, or if it is tilted, a static plane.  Models, initial velocities and
initial forces are rotated together.  Joint coordinates do not change, except for the velocities of free bodies, which
are in world axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import pi
from typing import Literal

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import BodyState
from exoskel.scene.cameras_and_keyframes import KeyframeJoint, SceneLight, joint_paths
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.joint import Joint
from exoskel.scene.merge import copy_world
from exoskel.scene.pose import Euler, Pose, Vector
from exoskel.scene.shape import Plane
from exoskel.scene.world import World
from exoskel.spatial import Array

UP_AXIS_PASS = "world.up_axis"
"""The name of the pass, for reports."""

Up = Literal["y", "z", "y-to-z", "z-to-y"]
"""The axis that is to point up, with the current one for worlds whose gravity does not determine it."""
_ANGLES: dict[tuple[str, str], Vector] = {
    ("x", "y"): (0.0, 0.0, pi / 2),
    ("-x", "y"): (0.0, 0.0, -pi / 2),
    ("-y", "y"): (pi, 0.0, 0.0),
    ("z", "y"): (-pi / 2, 0.0, 0.0),
    ("-z", "y"): (pi / 2, 0.0, 0.0),
    ("x", "z"): (0.0, -pi / 2, 0.0),
    ("-x", "z"): (0.0, pi / 2, 0.0),
    ("y", "z"): (pi / 2, 0.0, 0.0),
    ("-y", "z"): (-pi / 2, 0.0, 0.0),
    ("-z", "z"): (pi, 0.0, 0.0),
}
"""Rotations from the axis that points up to the wanted one: angles about x, y and z, rad."""
_WORLD = "world"
_ALIGNED = 0.999
"""The part of gravity that has to be along one axis for that to be the up axis."""


class RotatedWorld(Struct, frozen=True):
    """A new world, and the rotation that was applied to the old one."""

    world: World
    rotation: Array

    @property
    def moved_axes(self) -> frozenset[int]:
        """The numbers of the coordinate axes that the rotation moves."""
        return frozenset(np.flatnonzero(np.diag(self.rotation) != 1.0).tolist())


def up_axis(world: World) -> str:
    """The axis that points up, such as `y` or `-x`; empty if it is unknown, or not along an axis.

    If gravity is tilted, as on a slope, a static plane states the axis: one whose normal is the axis next to gravity.
    """
    up = up_direction(world)
    if up is None:
        return ""
    place = int(np.argmax(np.abs(up)))
    axis = np.sign(up[place]) * np.eye(3)[place]
    if not _is_along(up, axis) and not any(_is_along(normal, axis) for normal in _static_planes(world)):
        return ""
    return "xyz"[place] if up[place] > 0.0 else f"-{'xyz'[place]}"


def nearest_up_axis(world: World) -> Vector:
    """The signed coordinate axis that is closest to the direction up; z if it is unknown."""
    up = up_direction(world)
    if up is None:
        return (0.0, 0.0, 1.0)
    strongest = int(np.argmax(np.abs(up)))
    return _vector(np.array([float(np.sign(up[i])) if i == strongest else 0.0 for i in range(3)]))


def up_direction(world: World) -> Array | None:
    """The direction opposite to gravity; without gravity, the normal of the static plane that is the ground.

    Walls are planes, too: two that face each other, and those that face along x where others do not.
    """
    gravity = np.array(world.gravity, dtype=np.float64)
    if gravity.any():
        return -gravity if np.isfinite(gravity).all() else None
    normals = list(_static_planes(world))
    single = [one for one in normals if not any(_are_opposite(one, other) for other in normals)] or normals
    return next((one for one in single if np.argmax(np.abs(one)) != 0), single[0]) if single else None


def _static_planes(world: World) -> Iterator[Array]:
    """The normals of planes in static models."""
    for model in world.models:
        for body in model.bodies if model.static else ():
            for shape in body.shapes:
                if isinstance(shape.geometry, Plane):
                    rotations = [pose.rotation.matrix() for pose in (model.pose, body.pose, shape.pose)]
                    normal: Array = np.linalg.multi_dot([*rotations, np.array(shape.geometry.normal)])
                    yield normal


def _is_along(direction: Array, axis: Array) -> bool:
    return float(direction @ axis) >= _ALIGNED * float(np.linalg.norm(direction)) > 0.0


def _are_opposite(one: Array, other: Array) -> bool:
    return float(one @ other) < -_ALIGNED * float(np.linalg.norm(one) * np.linalg.norm(other))


def rotate_up_axis(world: World, up: Up, now: str) -> RotatedWorld | None:
    """Copy a world in which `now` points up and rotate it so that `up` does; None if it already does."""
    stated, _, wanted = up.rpartition("-to-")
    if now == wanted and not stated:
        return None
    if (now or stated, wanted) not in _ANGLES or (stated and now not in ("", stated)):
        found = f"{now} points up{' already' if now == wanted else f', not {stated}' if stated else ''}"
        if not now:
            found = f"{_unknown_axis(world)}; use 'y-to-z' or 'z-to-y'"
        raise ExoskelError(f"cannot rotate world {world.name!r} so that {wanted} points up: {found}")
    with no_edits():  # creating another world does not edit this one
        return _rotate(copy_world(world), Pose(rotation=Euler(_ANGLES[now or stated, wanted], "xyz")))


def _unknown_axis(world: World) -> str:
    """Why the up axis of a world is unknown."""
    if not any(world.gravity):
        return "neither gravity nor a plane along an axis states the up axis"
    gravity = " ".join(f"{value:g}" for value in world.gravity)
    return f"gravity ({gravity}) is not along an axis, and the normal of no static plane is the axis next to it"


def _rotate(world: World, pose: Pose) -> RotatedWorld:
    rotation = np.round(pose.rotation.matrix())  # a rotation by 90° or 180° has ones and zeros only
    world.gravity = _vector(rotation @ world.gravity)
    for model in world.models:
        if model.pose.is_identity:
            model.pose = pose
        else:
            model.pose = Pose.from_matrix(spatial.transform(rotation, np.zeros(3)) @ model.pose.matrix())
        for joint in model.joints:
            if _is_free_body(joint):
                _rotate_velocities(joint, rotation)
        for body in model.bodies:
            if body.state is not None:
                _rotate_state(body.state, rotation)
    _rotate_views(world, rotation)
    return RotatedWorld(world, rotation)


def with_rotated_shapes(world: World, rotation: Array) -> World:
    """A copy of a rotated world in which the shapes of the body `world` are rotated, and the body is not.

    In formats where this body is the world itself, it has no frame of its own.
    """
    found = copy_world(world)
    whole = Pose.from_matrix(spatial.transform(rotation, np.zeros(3)))
    back = whole.inverse()
    for model in found.models:
        if not model.static or model.name != _WORLD or [body.name for body in model.bodies[:1]] != [_WORLD]:
            continue
        model.pose = back @ model.pose
        first, *others = model.bodies
        for shape in first.shapes:
            shape.pose = whole @ shape.pose
        for marker in first.markers:
            marker.offset = _vector(rotation @ np.array(marker.offset))
            turned = rotation @ spatial.quaternion_matrix(np.array(marker.quaternion))
            marker.quaternion = tuple(spatial.quaternion(turned).tolist())
        for body in others:
            body.pose = whole @ body.pose
    return found


def _rotate_views(world: World, rotation: Array) -> None:
    """Rotate what is in the frame of the world, such as cameras, and velocities of free bodies in keyframes."""
    rotation_pose = Pose.from_matrix(spatial.transform(rotation, np.zeros(3)))
    world.cameras = [one if one.body else structs.replace(one, pose=rotation_pose @ one.pose) for one in world.cameras]
    world.equalities = [one.in_rotated_world(rotation_pose) for one in world.equalities]
    world.lights = [one if one.body else _rotated_light(one, rotation) for one in world.lights]
    free = {path: joint for path, joint in joint_paths(world.models) if joint.parent is None and _floats(joint)}
    for number, keyframe in enumerate(world.keyframes):
        joints = tuple(_rotated_state(one, free.get(one.joint), rotation) for one in keyframe.joints)
        world.keyframes[number] = structs.replace(keyframe, joints=joints)


def _rotated_state(state: KeyframeJoint, free: Joint | None, rotation: Array) -> KeyframeJoint:
    if free is None or not any(state.velocities):
        return state
    velocities = _velocity_change(free, rotation) @ np.array(state.velocities)
    return structs.replace(state, velocities=tuple(velocities.tolist()))


def _rotated_light(light: SceneLight, rotation: Array) -> SceneLight:
    position, direction = (_vector(rotation @ np.array(values)) for values in (light.position, light.direction))
    return structs.replace(light, position=position, direction=direction)


def _floats(joint: Joint) -> bool:
    return joint.kind in ("free", "amotor") and not joint.loop


def _is_free_body(joint: Joint) -> bool:
    return joint.parent is None and _floats(joint) and joint._dofs is not None


_RESISTANCE_FIELDS = ("damping", "friction", "armature", "velocity_limits", "force_limits")
"""Fields that resist or limit each velocity of a joint separately."""


def anisotropic_fields(joint: Joint, axes: frozenset[int]) -> frozenset[str]:
    """The fields that resist or limit a free body differently along these axes, or in opposite directions.

    DART applies them in world axes, MuJoCo in those of its slide joints, which rotate with the model.  After the pass
    such values cannot have the same meaning for both.
    """
    if not _is_free_body(joint):
        return frozenset()
    return frozenset(
        name for name in _RESISTANCE_FIELDS if _is_anisotropic([getattr(dof, name) for dof in joint.dofs], axes)
    )


def _is_anisotropic(values: list[float] | list[tuple[float, float]], axes: frozenset[int]) -> bool:
    pairs = [value if isinstance(value, tuple) else (-value, value) for value in values]
    parts = [{pairs[start + axis] for axis in axes} for start in (0, 3) if len(pairs) >= start + 3]
    return any(len(part) > 1 or any(low != -high for low, high in part) for part in parts)


def _rotate_state(state: BodyState, rotation: Array) -> None:
    for name in ("linear_velocity", "angular_velocity", "force", "torque"):
        setattr(state, name, _vector(rotation @ getattr(state, name)))


def _rotate_velocities(joint: Joint, rotation: Array) -> None:
    """Rotate velocities, which are in world axes."""
    change = _velocity_change(joint, rotation)
    # Forces are dual to velocities.
    for field, factor in (("velocity", change), ("acceleration", change), ("force", np.linalg.inv(change).T)):
        values = np.array([getattr(dof, field) for dof in joint.dofs])
        if len(values) == 6 and values.any():
            for dof, value in zip(joint.dofs, (factor @ values).tolist(), strict=True):
                setattr(dof, field, value)


def _velocity_change(joint: Joint, rotation: Array) -> Array:
    """What rotates the velocities of a free joint: its frame converts them to those of the child's origin."""
    frame = joint.pose.matrix()
    own = np.zeros((6, 6))
    own[:3, :3] = own[3:, 3:] = frame[:3, :3]
    own[3:, :3] = spatial.cross_matrix(frame[:3, 3]) @ frame[:3, :3]
    both = np.zeros((6, 6))
    both[:3, :3] = both[3:, 3:] = rotation
    return both if joint.pose.is_identity else spatial.array(np.linalg.solve(own, both @ own))


def _vector(array: Array) -> Vector:
    x, y, z = (array + 0.0).tolist()
    return (x, y, z)
