"""Which worlds MuJoCo's own step moves otherwise than DART's, and why."""

from __future__ import annotations

from math import isfinite

from exoskel.formats.mjcf.model.joints import needs_duplicate
from exoskel.scene.joint import PRESCRIBED_ACTUATORS, Joint
from exoskel.scene.model import Model
from exoskel.scene.world import World


def needs_impulse_step(world: World, limits: bool | None = None) -> bool:
    """Whether MuJoCo's own step would differ from DART's; `limits` as in `MujocoWorld`.

    ODE's motors and stops follow other rules, which MuJoCo's constraints approximate.
    """
    moving = [model for model in world.models if not model.static]
    if any(joint.drives or (joint.loop and needs_duplicate(joint)) for model in moving for joint in model.joints):
        return False
    return any(_model_needs_impulses(model, limits) for model in moving)


def has_only_limits(world: World, limits: bool | None) -> bool:
    """Whether the limits of joints with fixed axes are all that makes MuJoCo's step differ."""
    joints = [joint for model in world.models if not model.static for joint in model.joints if not joint.loop]
    return not any(
        joint.actuator in PRESCRIBED_ACTUATORS
        or _joint_needs_impulses(joint, limits=False)
        or (joint.kind in ("ball", "free") and _is_limited(joint, limits))
        for joint in joints
    )


def _model_needs_impulses(model: Model, limits: bool | None) -> bool:
    return any(_joint_needs_impulses(joint, limits) for joint in model.joints if not joint.loop)


def _joint_needs_impulses(joint: Joint, limits: bool | None) -> bool:
    """Whether MuJoCo has nothing that does what this joint alone does in DART."""
    if joint.actuator in ("velocity", "servo"):
        return bool(joint.dof_count)
    if joint.actuator in PRESCRIBED_ACTUATORS:  # MuJoCo has no joint that stops without a reaction
        return joint.actuator == "locked" and any(joint.velocities)
    if _has(joint, "friction"):  # MuJoCo's friction is soft: what it holds creeps
        return True
    if _is_limited(joint, limits):
        return True
    if joint.kind == "ball":
        return _has(joint, "stiffness") or len({dof.damping for dof in joint._dofs or ()}) > 1
    return joint.kind == "free" and _has(joint, "stiffness", "damping")


def _is_limited(joint: Joint, limits: bool | None) -> bool:
    """Whether limits of positions or velocities are enforced."""
    is_enforced = joint.limits_enforced if limits is None else limits
    bounds = (value for dof in joint._dofs or () for value in (*dof.position_limits, *dof.velocity_limits))
    return is_enforced and any(map(isfinite, bounds))


def _has(joint: Joint, *fields: str) -> bool:
    return any(getattr(dof, field) for dof in joint._dofs or () for field in fields)
