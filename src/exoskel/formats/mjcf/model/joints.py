"""Joints as chains of MuJoCo's hinges, slides and balls, and how their coordinates correspond.

A body's MuJoCo joints act in order, the first nearest to the parent.  Each joint kind of the scene is such a chain.
All kinds but ball and free have the same coordinates in both.

Some joints have motors that track a speed with bounded force: DART's servos and ODE's motors.  MuJoCo has no such
constraint, but its dry friction brings a joint to rest with bounded force.  So each motor is a flywheel that rotates at
the target speed and that no force slows down, with dry friction between the joint and the flywheel.  To command the
motor, set the flywheel's speed; this works on threads and GPUs too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.inertia import MIN_MASS, MIN_MOMENT
from exoskel.scene.joint import PLANES, UNLIMITED, Dof, Interval, Joint
from exoskel.scene.pose import Rotation, Vector, vector_from_array
from exoskel.scene.world import World
from exoskel.spatial import Array, unit

PRESCRIBED_ARMATURE = 1e13
"""Inertia that no force in a scene moves, kg or kg·m²: such a joint keeps its velocity."""
DISCRETE_FRICTION: dict[str, Value] = {"solreffriction": (-1e10, -1e8)}
"""Solver parameters of friction for the `discrete` integrator: with MuJoCo's defaults joints creep.

The other integrators overshoot with so much damping; see `friction_parameters`.
"""
STIFF_STEPS = 2.0
"""Time constant of constraints in time steps: the stiffest that a step resolves."""
STIFF = (0.9999, 0.9999, 0.001, 0.5, 2.0)
"""Impedance of constraints: nearly rigid at any distance."""
UNBOUNDED_FORCE = 1e8
"""The value that replaces an infinite force limit, N or N·m."""


class Motor(Struct, frozen=True):
    """A motor on one coordinate: tracks `velocity` (rad/s or m/s) with a force within `force` (N·m or N)."""

    coordinate: int
    velocity: float
    force: Interval


def friction_parameters(integrator: str | None, step: float) -> dict[str, Value]:
    """The solver parameters of friction in joints and motors, for an integrator and a time step in s."""
    if integrator is not None and integrator.lower() == "discrete":
        return DISCRETE_FRICTION
    return {"solreffriction": (STIFF_STEPS * step, 1.0), "solimpfriction": STIFF}


def motors_of(joint: Joint) -> list[Motor]:
    """The motors of a joint, in the order of its coordinates.

    ODE switches a motor off between stops that are equal: they hold the joint.
    """
    if joint.is_plain:
        return []
    if joint.actuator == "servo":
        return [Motor(i, 0.0, dof.force_limits) for i, dof in enumerate(joint.dofs)]
    if joint.kind == "amotor":
        return []
    count = len(joint.motion)
    return [
        Motor(i, drive.velocity or 0.0, (-drive.max_force, drive.max_force))
        for i, drive in enumerate(joint.drives[:count])
        if drive.max_force and not (joint.limits_enforced and _is_held(joint, i))
    ]


def _is_held(joint: Joint, coordinate: int) -> bool:
    low, high = joint._dofs[coordinate].position_limits if joint._dofs else UNLIMITED
    return low == high


def has_force_motor(joint: Joint, dof: Dof) -> bool:
    """Whether a coordinate gets a `motor` element in a file: if its force limits are finite."""
    low, high = dof.force_limits
    single = joint.kind not in ("ball", "free", "amotor")
    return joint.actuator == "force" and single and isfinite(low) and isfinite(high) and low < high


def force_motor_name(joint_name: str) -> str:
    """The name of the `motor` of a MuJoCo joint."""
    return f"{joint_name}/force"


def add_force_motor(dof: Dof, joint_name: str, root: MjcfElement) -> None:
    """Add a `motor` for the hinge or slide of that name; its control is a force within the force limits."""
    name = force_motor_name(joint_name)
    root.child("actuator").add("motor", name=name, joint=joint_name, ctrllimited=True, ctrlrange=dof.force_limits)


def flywheel_name(joint_name: str) -> str:
    """The name of the flywheel of a MuJoCo joint."""
    return f"{joint_name}/motor"


def motor_force_range(motor: Motor) -> Interval:
    """The least and the largest force of a motor, with a large number for an infinite one."""
    low, high = (value if isfinite(value) else UNBOUNDED_FORCE * (1 if value > 0 else -1) for value in motor.force)
    return low, high


def add_motor(motor: Motor, joint_name: str, root: MjcfElement, friction: dict[str, Value]) -> None:
    """Add the flywheel of a motor for the hinge or slide of that name.  `friction` are solver parameters."""
    low, high = motor_force_range(motor)
    name = flywheel_name(joint_name)
    body = root.child("worldbody").add("body", name=name)
    inertia = (MIN_MOMENT, MIN_MOMENT, MIN_MOMENT)
    body.add("inertial", pos=(0.0, 0.0, 0.0), mass=MIN_MASS, diaginertia=inertia)
    body.add("joint", name=name, type="hinge", armature=PRESCRIBED_ARMATURE)
    tendon = root.child("tendon").add("fixed", name=name, frictionloss=0.5 * (high - low), **friction)
    tendon.add("joint", joint=joint_name, coef=1.0)
    tendon.add("joint", joint=name, coef=-1.0)
    bias = 0.5 * (high + low)
    if bias:  # friction is symmetric; the mean of the bounds is a constant force
        root.child("actuator").add(
            "general", name=name, joint=joint_name, gainprm=(0.0, 0.0, 0.0), biastype="affine", biasprm=(bias, 0.0, 0.0)
        )


def add_angular_motor(
    joint: Joint,
    name: str,
    ends: tuple[MjcfElement, MjcfElement],
    frames: tuple[Array, Array],
    feedback: float,
    root: MjcfElement,
) -> None:
    """Add an angular motor between two bodies: a torque about each driven axis that tracks its speed.

    `ends` are child and parent, `frames` their zero poses in the world, in which the axes are fixed.  `feedback` is
    the torque per difference in speed, N·m·s/rad: more than the child's inertia over the step would overshoot.
    """
    driven = [(i, d) for i, d in enumerate(joint.drives[: len(joint.axes)]) if d.max_force]
    if not driven:
        return
    rotation = frames[0][:3, :3] @ joint.pose.matrix()[:3, :3]
    child, parent = ends
    child.add("site", name=f"{name}/site")
    aligned = spatial.quaternion(frames[1][:3, :3].T).tolist()
    parent.add("site", name=f"{name}/reference", quat=aligned)
    for number, drive in driven:
        axis = spatial.without_noise(rotation @ spatial.unit(joint.axes[number]))
        max_force = drive.max_force or 0.0
        actuator = root.child("actuator").add(
            "general",
            name=f"{name}/{number}",
            site=f"{name}/site",
            refsite=f"{name}/reference",
            gear=(0.0, 0.0, 0.0, *axis.tolist()),
            gainprm=(0.0, 0.0, 0.0),
            biastype="affine",
            biasprm=(feedback * (drive.velocity or 0.0), 0.0, -feedback),
            forcelimited=True,
            forcerange=(-max_force, max_force),
        )
        actuator.item = joint


def duplicate_counts(world: World) -> dict[int, int]:
    """The number of duplicates of each body, by id.

    A body and its duplicates share its mass equally: a light duplicate would result in a soft weld.
    """
    loops = [j for m in world.models if not m.static for j in m.joints if j.loop and needs_duplicate(j)]
    return Counter(id(joint.child) for joint in loops) if loops else {}


def needs_duplicate(joint: Joint) -> bool:
    """Whether a joint that closes a loop connects its parent to a duplicate of its child."""
    return joint.kind not in ("weld", "free", "amotor") and anchors(joint) is None


def anchors(joint: Joint) -> list[Array] | None:
    """Points of the child that are fixed in the parent; None if points alone do not define the joint."""
    centre = np.array(joint.pose.position)
    if _is_driven(joint):
        return None
    if joint.kind == "ball":
        return [centre]
    if joint.kind == "revolute":
        own = spatial.unit(joint.axes[0]) if joint.solver is None else np.array(joint.axes[0])
        axis = joint.pose.matrix()[:3, :3] @ own
        return [centre - 0.5 * axis, centre + 0.5 * axis]
    return None


def _is_driven(joint: Joint) -> bool:
    """Whether something acts on its coordinates: a constraint between points has none."""
    return bool(motors_of(joint)) or any(
        dof.damping
        or dof.stiffness
        or dof.friction
        or dof.armature
        or (joint.limits_enforced and dof.position_limits != UNLIMITED)
        for dof in joint._dofs or ()
    )


# --- joints of the tree --------------------------------------------------------------------------------


UNLIMITED_RANGE = 1e10
"""A limit of this size or more means no limit: it stands for infinity."""
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
DEFAULT_ERP = 0.2
"""ODE's default error reduction parameter."""
_UNITS = {"x": X, "y": Y, "z": Z}


class MujocoJoint(Struct, frozen=True):
    """One MuJoCo joint: its type, its axis in the child body, and its coordinates in the scene.

    `coordinates` are numbers of degrees of freedom of the scene's joint.  There are none for the slide of a screw,
    which an equality constraint couples to its hinge, and for the suspension of a hinge2.  It acts at the joint's
    own position, or at the origin of the child if `at_origin`.
    """

    type: str
    axis: Vector = Z
    coordinates: tuple[int, ...] = ()
    at_origin: bool = False


_FREE = MujocoJoint("free", coordinates=(0, 1, 2, 3, 4, 5))
_BALL = MujocoJoint("ball", coordinates=(0, 1, 2))
FREE_CHAIN = [_FREE]
"""The MuJoCo joints of a free joint on which nothing acts."""


def joint_chain(joint: Joint) -> list[MujocoJoint]:
    """The MuJoCo joints of a joint; none for a weld."""
    rotation = joint.pose.rotation
    if joint.kind in ("revolute", "prismatic"):  # the most frequent ones
        return [_single_joint("hinge" if joint.kind == "revolute" else "slide", rotation, joint.axes[0])]
    if joint.kind in ("free", "amotor") and joint.parent is None and not _has_dynamics(joint):
        return FREE_CHAIN
    if joint.kind in ("ball", "weld"):
        return [_BALL] if joint.kind == "ball" else []

    def along(kind: str, axes: list[Vector], first: int = 0) -> list[MujocoJoint]:
        return [MujocoJoint(kind, _rotated_axis(rotation, axis), (first + i,)) for i, axis in enumerate(axes)]

    match joint.kind:
        case "screw":
            return [*along("hinge", [joint.axes[0]]), MujocoJoint("slide", _rotated_axis(rotation, joint.axes[0]))]
        case "universal" | "hinge2":
            chain = along("hinge", list(joint.axes))
            if suspension(joint) is not None:
                chain.insert(0, MujocoJoint("slide", chain[0].axis))
            return chain[::-1] if joint.swapped else chain  # the axis that is fixed in the parent comes first
        case "euler":
            return along("hinge", [_UNITS[axis] for axis in joint.order])
        case "translational":
            return along("slide", [X, Y, Z])
        case "translational2d":
            return along("slide", list(plane_axes(joint)))
        case "planar":
            first, second = plane_axes(joint)
            normal = vector_from_array(np.cross(first, second))
            return [*along("slide", [first, second]), *along("hinge", [normal], 2)]
        case _:  # amotor, and free with a parent body or with damping, springs, friction or limits
            return free_joint_chain(joint, whole=False)


def motors_of_chain(joint: Joint, chain: Sequence[MujocoJoint]) -> list[Motor | None]:
    """The motor of each MuJoCo joint of a joint: only hinges and slides have motors."""
    motors = motors_of(joint)
    if not motors:
        return [None] * len(chain)
    driven = {motor.coordinate: motor for motor in motors}
    return [
        driven.get(link.coordinates[0]) if link.type in ("hinge", "slide") and link.coordinates else None
        for link in chain
    ]


def free_joint_chain(joint: Joint, *, whole: bool, at_origin: bool = False) -> list[MujocoJoint]:
    """A free joint as MuJoCo's own if `whole`, else as three slides and a ball."""
    if whole:
        return FREE_CHAIN
    rotation = joint.pose.rotation
    slides = [
        MujocoJoint("slide", _rotated_axis(rotation, axis), (3 + i,), at_origin) for i, axis in enumerate((X, Y, Z))
    ]
    return [*slides, MujocoJoint("ball", coordinates=(0, 1, 2), at_origin=at_origin)]


def _has_dynamics(joint: Joint) -> bool:
    """Whether anything resists the motion: MuJoCo's free joint has at most one value for all six directions."""
    rows = joint._dofs
    if rows is None:
        return False
    return len({dof.armature for dof in rows}) > 1 or any(
        dof.damping or dof.stiffness or dof.friction or dof.position_limits != UNLIMITED for dof in rows
    )


def suspension(joint: Joint) -> tuple[float, float] | None:
    """ODE's ERP and CFM of a hinge2's travel along its first axis; None if it is rigid."""
    if joint.kind != "hinge2" or not joint.drives:
        return None
    drive = joint.drives[0]
    cfm = drive.suspension_cfm or 0.0
    return (drive.suspension_erp or DEFAULT_ERP, cfm) if cfm > 0.0 else None


def stop_spring(joint: Joint, coordinate: int) -> tuple[float, float] | None:
    """ODE's ERP and CFM of the stops of one coordinate; None if they are rigid."""
    drive = joint.drives[coordinate] if coordinate < len(joint.drives) else None
    if drive is None or not drive.stop_cfm or drive.stop_cfm < 0.0:
        return None
    return DEFAULT_ERP if drive.stop_erp is None else drive.stop_erp, drive.stop_cfm


_LEAST_EXTENT = 1e-12


def finite_range(limits: Interval) -> Interval:
    """Limits for MuJoCo, with large numbers for infinite ones; MuJoCo refuses a range without extent."""
    low, high = (one if isfinite(one) else UNLIMITED_RANGE * (1 if one > 0 else -1) for one in limits)
    if low < high:
        return low, high
    margin = _LEAST_EXTENT * max(1.0, abs(low))
    return low - margin, high + margin


def plane_axes(joint: Joint) -> tuple[Vector, Vector]:
    """The two directions of motion in a plane; the second is orthogonalised against the first."""
    if joint.plane != "arbitrary":
        return PLANES[joint.plane]
    first = unit(joint.axes[0])
    second = unit(joint.axes[1])
    across = unit(second - first * float(first @ second))
    return vector_from_array(first), vector_from_array(across)


@lru_cache(maxsize=1024)
def _single_joint(kind: str, rotation: Rotation, axis: Vector) -> MujocoJoint:
    """A hinge or slide with the first coordinate of a joint."""
    return MujocoJoint(kind, _rotated_axis(rotation, axis), (0,))


@lru_cache(maxsize=1024)
def _rotated_axis(rotation: Rotation, axis: Vector) -> Vector:
    """A rotated axis as a unit vector, without rounding errors.  Many joints have the same axis."""
    return vector_from_array(spatial.without_noise(rotation.matrix() @ unit(axis)))
