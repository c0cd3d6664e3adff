"""Motors that track a speed with bounded force: DART's servos and ODE's motors.

MuJoCo has no such constraint, but its dry friction brings a joint to rest with bounded force.  So each motor is a
flywheel that rotates at the target speed and that no force slows down, with dry friction between the joint and the
flywheel.  To command the motor, set the flywheel's speed; this works on threads and GPUs too.
"""

from __future__ import annotations

from math import isfinite

from msgspec import Struct

from exoskel import spatial
from exoskel.formats.mjcf.model.inertials import MIN_MASS, MIN_MOMENT
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.joint import UNLIMITED, Dof, Interval, Joint
from exoskel.spatial import Array

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
