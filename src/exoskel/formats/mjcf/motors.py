"""Motors that push towards a speed with bounded force: DART's servos and ODE's motors.

MuJoCo has no such constraint, but it has dry friction, which pushes towards rest with bounded force.  So each motor
is a flywheel of its own that turns at the wanted speed and that nothing slows down, and friction between the joint
and the flywheel.  Setting the flywheel's speed is commanding the motor, on threads and GPUs too.
"""

from __future__ import annotations

from math import isfinite

from msgspec import Struct

from exoskel import spatial
from exoskel.formats.mjcf.inertials import LEAST_MASS, LEAST_MOMENT
from exoskel.formats.mjcf.tree import Element
from exoskel.scene.joint import Dof, Interval, Joint
from exoskel.spatial import Array

PRESCRIBED_ARMATURE = 1e13
"""Inertia that no force in a scene moves, kg or kg·m²: what has it goes its way."""
STIFF_FRICTION = (-1e10, -1e8)
"""Stiffness and damping of friction rows: MuJoCo's defaults creep."""
BOUNDLESS = 1e8
"""A force (N or N·m) that is taken for infinite."""


class Motor(Struct, frozen=True):
    """What drives one coordinate: towards `velocity` (rad/s or m/s), with a force within `force` (N·m or N)."""

    coordinate: int
    velocity: float
    force: Interval


def motors(joint: Joint) -> list[Motor]:
    """The motors of a joint, by coordinate."""
    if joint.actuator == "servo":
        return [Motor(i, 0.0, dof.force_limits) for i, dof in enumerate(joint.dofs)]
    if joint.kind == "amotor":
        return []
    count = len(joint.motion)
    return [
        Motor(i, drive.velocity or 0.0, (-drive.max_force, drive.max_force))
        for i, drive in enumerate(joint.drives[:count])
        if drive.max_force
    ]


def is_pushed(joint: Joint, dof: Dof) -> bool:
    """Whether a file has a motor to push a coordinate with: by a force within bounds that a range can say."""
    low, high = dof.force_limits
    single = joint.kind not in ("ball", "free", "amotor")
    return joint.actuator == "force" and single and isfinite(low) and isfinite(high) and low < high


def add_push(dof: Dof, joint_name: str, root: Element) -> None:
    """Let a hinge or slide of that name be pushed, with a force within its bounds: the motor's control."""
    name = f"{joint_name}/force"
    root.child("actuator").add("motor", name=name, joint=joint_name, ctrllimited=True, ctrlrange=dof.force_limits)


def flywheel(joint_name: str) -> str:
    """What the flywheel behind a MuJoCo joint is called."""
    return f"{joint_name}/motor"


def add(motor: Motor, joint_name: str, root: Element, worldbody: Element) -> None:
    """Put a motor behind a hinge or slide of that name."""
    low, high = (value if isfinite(value) else BOUNDLESS * (1 if value > 0 else -1) for value in motor.force)
    name = flywheel(joint_name)
    body = worldbody.add("body", name=name)
    least = (LEAST_MOMENT, LEAST_MOMENT, LEAST_MOMENT)
    body.add("inertial", pos=(0.0, 0.0, 0.0), mass=LEAST_MASS, diaginertia=least)
    body.add("joint", name=name, type="hinge", armature=PRESCRIBED_ARMATURE)
    tie = root.child("tendon").add("fixed", name=name, frictionloss=0.5 * (high - low), solreffriction=STIFF_FRICTION)
    tie.add("joint", joint=joint_name, coef=1.0)
    tie.add("joint", joint=name, coef=-1.0)
    bias = 0.5 * (high + low)
    if bias:  # friction is the same both ways; what the bounds have in common is a steady force
        root.child("actuator").add(
            "general", name=name, joint=joint_name, gainprm=(0.0, 0.0, 0.0), biastype="affine", biasprm=(bias, 0.0, 0.0)
        )


def add_angular(
    joint: Joint,
    name: str,
    ends: tuple[Element, Element],
    frames: tuple[Array, Array],
    feedback: float,
    root: Element,
) -> None:
    """Put an angular motor between two bodies: a torque about each driven axis, towards its speed.

    `ends` are child and parent, `frames` their zero poses in the world, in which the axes stand still.  `feedback`
    is the torque for a difference in speed, N·m·s/rad: more than the child's inertia over the step would overshoot.
    """
    driven = [(i, d) for i, d in enumerate(joint.drives[: len(joint.axes)]) if d.max_force]
    if not driven:
        return
    turn = frames[0][:3, :3] @ joint.pose.matrix()[:3, :3]
    child, parent = ends
    child.add("site", name=f"{name}/site")
    aligned = spatial.quaternion(frames[1][:3, :3].T).tolist()
    parent.add("site", name=f"{name}/reference", quat=aligned)
    for number, drive in driven:
        axis = turn @ spatial.unit(joint.axes[number])
        most = drive.max_force or 0.0
        made = root.child("actuator").add(
            "general",
            name=f"{name}/{number}",
            site=f"{name}/site",
            refsite=f"{name}/reference",
            gear=(0.0, 0.0, 0.0, *axis.tolist()),
            gainprm=(0.0, 0.0, 0.0),
            biastype="affine",
            biasprm=(feedback * (drive.velocity or 0.0), 0.0, -feedback),
            forcelimited=True,
            forcerange=(-most, most),
        )
        made.item = joint
