"""Read joints of UsdPhysics with their positions and velocities."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, pi, radians
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.usd.joint_axes import (
    AXES,
    ROTATIONS,
    TRANSLATIONS,
    AxisFreedom,
    AxisPlan,
    cone_coordinates,
    plan,
)
from exoskel.formats.usd.joint_writer import MOTOR_DAMPING
from exoskel.formats.usd.mapping import CONE_ANGLES
from exoskel.formats.usd.reader.bodies import UsdBodyReader
from exoskel.formats.usd.reader.passive_forces import (
    REFERENCE,
    add_spring,
    has_passive_forces,
    set_passive_forces,
    set_written_spring,
)
from exoskel.formats.usd.reader.prims import Values, custom_data, name_of, target, values
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import Pair
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Joint, JointKind, Mimic
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.model import Model
from exoskel.scene.pose import Vector, poses_from_matrices
from exoskel.spatial import Array

WITHOUT_STATE = ("ball", "free")
"""Joint kinds whose positions and velocities a file states only through their bodies."""
_TOLERANCE = 1e-4
"""The tolerance between body poses and stated joint positions, which are in single precision."""


def set_positions(rows: Sequence[JointRow], here: Array) -> None:
    """Set the positions that give the poses of the bodies, which are more precise than stated positions.

    Stated positions select the number of full turns of a revolute joint, and one of two equivalent sets of angles.  If
    they contradict the poses of the bodies, the stated ones count, as in Newton and PhysX.  `here` is the child's frame
    of each joint relative to the parent's frame.
    """
    joints = [row.joint for row in rows]
    stated = [i for i, joint in enumerate(joints) if joint.motion and joint.kind not in WITHOUT_STATE]
    reached = here.copy()
    reached[stated] = _relative_frames([joints[i] for i in stated])
    far = np.abs(reached - here).max(axis=(1, 2)) > _TOLERANCE * (1.0 + np.abs(here).max(axis=(1, 2)))
    angles, vectors = spatial.euler_xyz(here[:, :3, :3]), spatial.log(here[:, :3, :3])
    for i, row in enumerate(rows):
        joint = row.joint
        if not joint.motion:
            continue
        measured = _measure(joint, row.made, here[i], angles[i], vectors[i])
        if joint.kind not in WITHOUT_STATE:
            given = joint.positions
            measured = [
                _nearest_turn(q, s) if motion == "r" else q
                for q, s, motion in zip(measured, given, joint.motion, strict=True)
            ]
            other = any(abs(q - s) > _TOLERANCE * (1.0 + abs(s)) for q, s in zip(measured, given, strict=True))
            if other and not far[i]:
                continue  # other angles for the same rotation
            measured = [
                s if number in row.stated and abs(q - s) > _TOLERANCE * (1.0 + abs(s)) else q
                for number, (q, s) in enumerate(zip(measured, given, strict=True))
            ]
        if any(measured) or joint._dofs is not None:
            joint.positions = tuple(measured)


def _nearest_turn(angle: float, stated: float) -> float:
    """The same angle in the full turn that is nearest to a stated angle, which may be infinite."""
    turns = (stated - angle) / (2.0 * pi)
    return angle + 2.0 * pi * round(turns) if isfinite(turns) else angle


def _relative_frames(joints: Sequence[Joint]) -> Array:
    """The child's frame relative to the parent's frame, at the positions of the joints."""
    alone = Model(name="")
    for joint in joints:
        body = Body(name="")
        axis_plan = Joint(
            name="", kind=joint.kind, child=body, axes=joint.axes, order=joint.order, swapped=joint.swapped
        )
        axis_plan.positions = joint.positions
        alone.bodies.append(body)
        alone.joints.append(axis_plan)
    return Kinematics([alone]).poses()


def _measure(joint: Joint, axis_plan: AxisPlan, here: Array, angles: Array, vector: Array) -> list[float]:
    """The positions of a joint, from the child's frame relative to the parent's frame."""
    shift: list[float] = here[:3, 3].tolist()
    match joint.kind:
        case "ball":
            found: list[float] = vector.tolist()
            return found
        case "free":
            return [*vector.tolist(), *shift]
        case "prismatic":
            return [float(np.dot(shift, joint.axes[0]))]
        case "revolute":
            return [float(vector @ joint.axes[0])]
        case "translational" | "translational2d":
            return shift[: len(joint.motion)]
        case "planar":
            return [*shift[:2], float(angles[2])]
    if joint.kind == "euler":
        angles = spatial.euler_xyz(axis_plan.rotation.T @ here[:3, :3] @ axis_plan.rotation)
    values = [0.0] * len(joint.motion)
    for freedom in axis_plan.freedoms:
        if freedom.coordinate is not None:
            values[freedom.coordinate] = freedom.sign * float(angles[ROTATIONS.index(freedom.name)])
    return values


def set_velocities(
    joint: Joint, places: tuple[Array, Array], spins: tuple[Array, Array], speeds: tuple[Array, Array]
) -> None:
    """Set the velocities of a ball or free joint from the world velocities of its parent and child."""
    (above, below), frame = places, joint.pose.matrix()
    spin = spins[1] - spins[0]
    if joint.kind == "ball":
        joint.velocities = tuple((frame[:3, :3].T @ below[:3, :3].T @ spin).tolist())
        return
    along = speeds[1] - speeds[0] - np.cross(spins[0], below[:3, 3] - above[:3, 3])
    spin, along = above[:3, :3].T @ spin, above[:3, :3].T @ along
    at_joint = along - np.cross(frame[:3, 3], spin)
    joint.velocities = (*(frame[:3, :3].T @ spin).tolist(), *(frame[:3, :3].T @ at_joint).tolist())


# --- joints --------------------------------------------------------------------------------------------


_X, _Y, _Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
_UNITS: dict[str, Vector] = dict(zip(AXES, (_X, _Y, _Z), strict=True))
_SINGLE: dict[str, JointKind] = {
    "PhysicsFixedJoint": "weld",
    "PhysicsRevoluteJoint": "revolute",
    "PhysicsPrismaticJoint": "prismatic",
    "PhysicsSphericalJoint": "ball",
}
GENERIC: dict[tuple[str, ...], JointKind] = {
    TRANSLATIONS: "translational",
    ("transX", "transY"): "translational2d",
    ("transX", "transY", "rotZ"): "planar",
    ("rotX", "rotY"): "universal",
    ("transX", "rotX", "rotY"): "hinge2",
    ("transY", "rotX", "rotY"): "hinge2",
    ROTATIONS: "euler",
    (*TRANSLATIONS, *ROTATIONS): "free",
}
"""The joint kind of a generic joint, by its free axes."""
_FRAMES = tuple(f"physics:local{word}{side}" for word in ("Pos", "Rot") for side in "01")
_FLAGS = ("physics:axis", "physics:excludeFromArticulation", "physics:collisionEnabled")
_LIMITS = ("physics:lowerLimit", "physics:upperLimit", "newton:velocityLimit")
_FORCES = (
    *("newton:friction", "newton:damping", "newton:armature"),
    *("mjc:actuatorfrcrange:min", "mjc:actuatorfrcrange:max"),
    *("mjc:stiffness", "mjc:springref"),
)
_MIMIC = ("newton:mimicCoef0", "newton:mimicCoef1")


def _axis_attributes(name: str) -> tuple[str, ...]:
    drive = (f"drive:{name}:physics:{word}" for word in ("stiffness", "damping", "targetPosition"))
    state = (f"state:{name}:physics:{word}" for word in ("position", "velocity"))
    return (*_FRAMES, *_FLAGS, *_LIMITS, *_FORCES, *_MIMIC, *drive, *state)


_ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "PhysicsFixedJoint": (*_FRAMES, *_FLAGS),
    "PhysicsRevoluteJoint": _axis_attributes("angular"),
    "PhysicsPrismaticJoint": _axis_attributes("linear"),
}
"""The attributes to read for the most common joints; for others, all attributes are read."""
_IDENTITY = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
_NO_AXES = AxisPlan("", np.eye(3))
_ROUNDING = 1e-5

JointFrameRow = tuple[float, ...]
"""x y z qw qx qy qz."""


class JointRow(Struct):
    """A joint being read: its frames in the parent and in the child, and the numbers of its bodies (-1: the world).

    A frame is None if the frames coincide at the initial poses of the bodies.
    """

    joint: Joint
    made: AxisPlan
    outer: JointFrameRow | None
    inner: JointFrameRow | None
    parent: int
    child: int
    stated: frozenset[int] = frozenset()
    """The coordinates whose positions the file states."""


class JointSource(Struct):
    """A joint as a file states it: its schema, values and custom data, and the numbers of its bodies (-1: the world).

    A joint is `reversed` if its first body is the child.  `leader` is the path of the joint that it mimics.
    """

    path: str
    name: str
    type: str
    found: Values
    custom: dict[str, str]
    parent: int
    child: int
    leader: str = ""
    follows: str = ""
    """The path of the joint whose position is in a `polynomial` for that of this one."""
    polynomial: tuple[float, ...] = ()
    is_reversed: bool = False
    is_loop: bool = False
    node: int = -1


class UsdJointReader:
    """The joints of one world."""

    def __init__(self, bodies: UsdBodyReader) -> None:
        self.bodies = bodies
        self.rows: list[JointRow] = []
        self.non_colliding: list[Pair] = []
        """Connected bodies that do not collide."""
        self.by_path: dict[str, Joint] = {}
        """The joints by the paths of their prims."""
        self.elsewhere: list[Joint] = []
        """Welds to the world that contradict the poses of their bodies, valid after `finish`."""

    def read(self, scope: Any) -> list[Joint]:
        """Read the joints of one model, in the order of its scope."""
        return self.create([self._source(prim) for prim in (scope.nameChildren if scope is not None else ())])

    def _source(self, prim: Any) -> JointSource:
        found = values(prim, _ATTRIBUTES.get(prim.typeName))
        if "mjc:stiffness" in found:
            set_written_spring(found, is_linear=prim.typeName == "PhysicsPrismaticJoint")
        above = target(prim, "physics:body0")
        return JointSource(
            path=str(prim.path),
            name=name_of(prim),
            type=prim.typeName,
            found=found,
            custom=custom_data(prim),
            parent=self.bodies.number[above] if above else -1,
            child=self.bodies.number[target(prim, "physics:body1")],
            leader=target(prim, "newton:mimicJoint"),
            is_loop=bool(found.get("physics:excludeFromArticulation", False)),
        )

    def create(self, sources: Sequence[JointSource]) -> list[Joint]:
        """Create the joints of one model, in their order."""
        taken = Names()
        for source in sources:  # prims in different places may have the same name
            source.name = unique_name(source.name, taken)
            taken.add(source.name)
        names = {source.path: source.name for source in sources}
        made: list[Joint] = []
        for source in sources:
            joint, axis_plan = self._joint(source)
            made.append(joint)
            self.by_path[source.path] = joint
            if source.leader in names and axis_plan.freedoms:
                offset = _unit(axis_plan.freedoms[0]) * float(source.found.get("newton:mimicCoef0", 0.0))
                factor = float(source.found.get("newton:mimicCoef1", 1.0))
                joint.mimic = Mimic(names[source.leader], factor, offset)
        return made

    def _joint(self, source: JointSource) -> tuple[Joint, AxisPlan]:
        found = source.found
        joint = _create_joint(source, self.bodies.bodies[source.child])
        joint.parent = self.bodies.bodies[source.parent] if source.parent >= 0 else None
        joint.collide_connected = bool(found.get("physics:collisionEnabled", False))
        if joint.parent is not None and not joint.collide_connected:
            self.non_colliding.append((joint.parent, joint.child))
        made = plan(joint) or _NO_AXES
        _set_dynamics(joint, made, found, is_generic=source.type == "PhysicsJoint")
        if joint.kind == "ball":
            _set_cone(joint, found)
        frames = [(*found[f"physics:localPos{side}"], *found[f"physics:localRot{side}"]) for side in "01"]
        if source.is_reversed:  # the axes point the other way, so that positions and limits have the same signs
            frames.reverse()
            joint.axes = tuple((-x, -y, -z) for x, y, z in joint.axes)
        stated = frozenset(
            one.coordinate
            for one in made.freedoms
            if one.coordinate is not None and isfinite(found.get(f"state:{one.name}:physics:position", inf))
        )
        self.rows.append(JointRow(joint, made, frames[0], frames[1], source.parent, source.child, stated))
        return joint, made

    def floating_joint(self, path: str, custom: dict[str, str], *, static: bool) -> Joint:
        """The joint of the body at a path, which has no joint in the file."""
        child = self.bodies.number[path]
        parent = self.bodies.number[custom["exoskelParent"]] if "exoskelParent" in custom else -1
        body = self.bodies.bodies[child]
        joint = Joint(
            name=custom.get("exoskelJoint", f"{body.name}_root"), kind="weld" if static else "free", child=body
        )
        joint.parent = self.bodies.bodies[parent] if parent >= 0 else None
        frames = [_parse_frame(custom.get(f"exoskelFrame{side}")) for side in "01"]
        self.rows.append(JointRow(joint, _NO_AXES, frames[0], frames[1], parent, child))
        return joint

    # --- all at once ----------------------------------------------------------------------------------

    def finish(self) -> None:
        """Compute frames, positions, velocities, and the poses of bodies at zero positions."""
        if not self.rows:
            return
        places = np.concatenate([self.bodies.places, np.eye(4)[None]])  # the world is number -1
        parents = places[[row.parent for row in self.rows]]
        children = places[[row.child for row in self.rows]]
        back = spatial.transform(np.array([row.made.rotation.T for row in self.rows]), np.zeros(3))
        inner = _transforms([row.inner or _IDENTITY for row in self.rows]) @ back
        outer = _transforms([row.outer or _IDENTITY for row in self.rows]) @ back
        without_frame = [i for i, row in enumerate(self.rows) if row.outer is None]
        outer[without_frame] = spatial.inverse(parents[without_frame]) @ children[without_frame]
        for row, pose in zip(self.rows, poses_from_matrices(inner), strict=True):
            row.joint.pose = pose
        here = spatial.inverse(parents @ outer) @ children @ inner
        here[without_frame] = np.eye(4)
        for i in self._elsewhere(here):
            outer[i], here[i] = children[i] @ inner[i], np.eye(4)
        tree_joints = [i for i, row in enumerate(self.rows) if not row.joint.loop]
        rows = [self.rows[i] for i in tree_joints]
        set_positions(rows, here[tree_joints])
        self._set_velocities(rows)
        self._set_zero_poses(rows, (outer @ spatial.inverse(inner))[tree_joints])

    def _elsewhere(self, here: Array) -> list[int]:
        """The rows of welds to the world that are not where their bodies are: these stay where they are."""
        welds = [i for i, row in enumerate(self.rows) if row.joint.kind == "weld" and row.parent < 0]
        found = [i for i in welds if not self.rows[i].joint.loop and np.abs(here[i] - np.eye(4)).max() > _TOLERANCE]
        self.elsewhere = [self.rows[i].joint for i in found]
        return found

    def _set_velocities(self, rows: list[JointRow]) -> None:
        bodies, still = self.bodies, np.zeros((1, 3))
        speeds, spins = np.concatenate([bodies.speeds, still]), np.concatenate([bodies.spins, still])
        places = np.concatenate([bodies.places, np.eye(4)[None]])
        moving = (speeds != 0.0).any(axis=1) | (spins != 0.0).any(axis=1)
        for row in rows:
            if row.joint.kind in WITHOUT_STATE and (moving[row.child] or moving[row.parent]):
                ends = (row.parent, row.child)
                set_velocities(row.joint, *(tuple(all_[list(ends)]) for all_ in (places, spins, speeds)))

    def _set_zero_poses(self, rows: list[JointRow], relative: Array) -> None:
        """Set the poses of bodies at which both frames of each joint coincide, parents before children."""
        zero = np.tile(np.eye(4), (len(self.bodies.bodies) + 1, 1, 1))
        of = {row.child: i for i, row in enumerate(rows)}
        done = {-1}
        for row in rows:
            chain = []
            here = row.child
            while here not in done:
                chain.append(here)
                done.add(here)
                here = rows[of[here]].parent
            for number in reversed(chain):
                zero[number] = zero[rows[of[number]].parent] @ relative[of[number]]
        for body, pose in zip(self.bodies.bodies, poses_from_matrices(zero[:-1]), strict=True):
            body.pose = pose


def sort_joints(model: Model, joints: list[Joint]) -> list[Joint]:
    """Parents before children, in the order of the bodies; loops last."""
    parent_joints = {id(joint.child): joint for joint in joints if not joint.loop}
    ordered: dict[int, Joint] = {}
    for body in model.bodies:
        chain: list[Joint] = []
        here: Body | None = body
        while here is not None and id(parent_joints[id(here)]) not in ordered:
            chain.append(parent_joints[id(here)])
            here = chain[-1].parent
        ordered |= {id(joint): joint for joint in reversed(chain)}
    return [*ordered.values(), *(joint for joint in joints if joint.loop)]


def _create_joint(source: JointSource, child: Body) -> Joint:
    """Create a joint by its free axes; the custom data selects among equivalent kinds."""
    found, custom = source.found, source.custom
    axes: tuple[Vector, ...] = ()
    kind = _SINGLE.get(source.type) or GENERIC[free_axes(found)]
    swapped = custom.get("exoskelSwapped") == "true"
    if kind == "universal" and custom.get("exoskelKind") == "hinge2":
        kind = "hinge2"  # without suspension
    if kind in ("revolute", "prismatic"):
        axes = (_UNITS[found.get("physics:axis", "X")],)
    elif kind in ("universal", "hinge2"):
        axes = (_Y, _X) if swapped else (_X, _Y)
    joint = Joint(name=source.name, kind=kind, child=child, axes=axes, swapped=swapped)
    joint.order = custom.get("exoskelOrder", "xyz")
    joint.loop = source.is_loop
    return joint


def free_axes(found: Values) -> tuple[str, ...]:
    """The free axes: a lower limit above the upper one locks an axis."""
    return tuple(
        name
        for name in (*TRANSLATIONS, *ROTATIONS)
        if found.get(f"limit:{name}:physics:low", -inf) <= found.get(f"limit:{name}:physics:high", inf)
    )


def _set_dynamics(joint: Joint, made: AxisPlan, found: Values, *, is_generic: bool) -> None:
    if has_passive_forces(found):
        set_passive_forces(joint.dofs, joint.motion, found)
    _set_bounds(joint, found)
    for freedom in made.freedoms:
        if freedom.coordinate is not None:
            _set_axis(joint, freedom, found, is_generic)


def _set_bounds(joint: Joint, found: Values) -> None:
    """Set velocity and force limits, which are stated once for all axes."""
    if "newton:velocityLimit" in found:
        fastest = (radians(1.0) if "r" in joint.motion else 1.0) * float(found["newton:velocityLimit"])
        for dof in joint.dofs:
            dof.velocity_limits = (-fastest, fastest)
    if "mjc:actuatorfrcrange:min" in found:
        low, high = (float(found[f"mjc:actuatorfrcrange:{side}"]) for side in ("min", "max"))
        for dof in joint.dofs:
            dof.force_limits = (low, high)


def _set_cone(joint: Joint, found: Values) -> None:
    """Limit the components of a rotation vector by the angles of a cone; a negative angle is no limit."""
    axis = AXES.index(found.get("physics:axis", "X"))
    for name, coordinate in zip(CONE_ANGLES, cone_coordinates(axis), strict=True):
        angle = float(found.get(name, -1.0))
        if 0.0 <= angle < inf:
            joint.dofs[coordinate].position_limits = (-radians(angle), radians(angle))


def _set_axis(joint: Joint, freedom: AxisFreedom, found: Values, is_generic: bool) -> None:
    unit = _unit(freedom)
    limit, drive, state = (f"{head}:{freedom.name}:physics" for head in ("limit", "drive", "state"))
    names = (f"{limit}:low", f"{limit}:high") if is_generic else ("physics:lowerLimit", "physics:upperLimit")
    low, high = unit * float(found.get(names[0], -inf)), unit * float(found.get(names[1], inf))
    reference = float(found.get(REFERENCE, 0.0))
    low, high = low - reference, high - reference
    dof = joint.dofs[freedom.coordinate or 0]
    dof.position_limits = (low, high) if freedom.sign > 0.0 else (-high, -low)
    if f"{drive}:stiffness" in found and abs(found[f"{drive}:damping"] / (unit * MOTOR_DAMPING) - 1.0) > _ROUNDING:
        dof.damping += found[f"{drive}:damping"] / unit
        rest = freedom.sign * unit * float(found.get(f"{drive}:targetPosition", 0.0))
        add_spring(dof, found[f"{drive}:stiffness"] / unit, rest)
    dof.position = freedom.sign * unit * float(found.get(f"{state}:position", 0.0))
    dof.velocity = freedom.sign * unit * float(found.get(f"{state}:velocity", 0.0))


def _unit(freedom: AxisFreedom) -> float:
    """The factor from USD's unit: radians per degree for rotations, 1 for translations."""
    return radians(1.0) if freedom.is_rotation else 1.0


def _parse_frame(text: str | None) -> JointFrameRow | None:
    return tuple(float(number) for number in text.split()) if text is not None else None


def _transforms(rows: list[JointFrameRow]) -> Array:
    all_ = np.array(rows, dtype=np.float64)
    return spatial.transform(spatial.quaternion_matrix(all_[:, 3:]), all_[:, :3])
