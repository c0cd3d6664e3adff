"""A model in the terms of URDF: revolute, prismatic, fixed and floating joints, with link frames at joints."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.joint import Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.hinges import lower_to_hinges, needs_hinge_lowering
from exoskel.scene.lowering.joint_passes import map_to_originals
from exoskel.scene.world import Model, World
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array

Origins = dict[int, Body | Joint]
"""The bodies and joints of the scene, by the ids of their copies in the lowered model."""

UNSHIFTED = np.eye(4)
"""The shift of every link whose frame is its body's; compared by identity."""

_REASONS = {
    "screw": "as a prismatic joint that mimics a revolute joint; readers that ignore mimic lose the coupling",
    "ball": "as three revolute joints about x, y, z, with gimbal lock at 90 degrees about y",
    "hinge2": "as two revolute joints: URDF has no suspension",
    "amotor": "as a floating joint: URDF has no motors",
    "free": "as three prismatic and three revolute joints: URDF readers support floating joints only at the world",
}


class RobotLink(Struct, frozen=True):
    """A body, its parent joint (None: it floats), and the items of the scene that they come from.

    `frame` is the link's frame in the world at zero positions, `shift` the same in the body's frame.
    """

    body: Body
    joint: Joint | None
    frame: Array
    shift: Array
    item: Body | None
    joint_item: Joint | None


class Robot(Struct, frozen=True):
    links: list[RobotLink]
    static: bool


def build_robot(model: Model, output: OutputContext) -> Robot:
    """Build the robot of a model, with joints lowered that URDF does not support; the model is not changed.

    A static model is written in its initial state.
    """
    origins: Origins = {id(body): body for body in model.bodies}
    origins |= {id(joint): joint for joint in model.joints}
    with no_edits():  # building another model is not an edit of this one
        made = model if not needs_hinge_lowering(World(models=[model])) else _lower(model, origins)
    _report_losses(model, output)
    kinematics = Kinematics([made])
    poses = kinematics.poses() if model.static else kinematics.zero_poses
    parent_joints = {id(joint.child): joint for joint in made.joints if not joint.loop}
    links = [
        _link(body, parent_joints.get(id(body)), pose, model.static, origins)
        for body, pose in zip(made.bodies, poses, strict=True)
    ]
    return Robot(links, model.static)


def _link(body: Body, joint: Joint | None, pose: Array, static: bool, origins: Origins) -> RobotLink:
    is_at_body = joint is None or static or joint.pose.is_identity
    shift = UNSHIFTED if is_at_body or joint is None else joint.pose.matrix()
    own, parent_joint = origins.get(id(body)), origins.get(id(joint))
    assert not isinstance(own, Joint)
    assert not isinstance(parent_joint, Body)
    return RobotLink(body, joint, pose if is_at_body else pose @ shift, shift, own, parent_joint)


def _report_losses(model: Model, output: OutputContext) -> None:
    """Record the joints that change or are not written."""
    for joint in model.joints:
        if joint.loop:
            output.add_loss(joint, "not written: URDF robots are trees, and this joint closes a loop")
        elif joint.kind in _REASONS and not _is_floating(joint) and not model.static:
            output.add_loss(joint, _REASONS[joint.kind])


def _is_floating(joint: Joint) -> bool:
    return joint.kind == "free" and joint.parent is None


def _lower(model: Model, origins: Origins) -> Model:
    world = World(models=[model])
    done = lower_to_hinges(world)
    known = map_to_originals(world, done)
    origins |= {key: item for key, item in known.items() if isinstance(item, Body | Joint)}
    return done.world.models[0]


def relative(link: RobotLink, parent: RobotLink | None) -> Array:
    """The link's frame in its parent's (None: in the world) at zero positions."""
    return link.frame if parent is None else spatial.inverse(parent.frame) @ link.frame
