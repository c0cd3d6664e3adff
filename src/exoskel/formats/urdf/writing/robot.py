"""A model as URDF can say it: hinges, sliders, welds and free roots, each link's frame at its joint."""

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
"""What bodies and joints are in the scene, by the id of the copies that passes make of them."""

UNSHIFTED = np.eye(4)
"""The shift of every link whose frame is its body's: this very array."""

_REASONS = {
    "screw": "as a slider that mimics a hinge; a reader that ignores mimic has them move apart",
    "ball": "as three hinges: its coordinates are angles about x, y, z, which lock at a quarter turn about y",
    "hinge2": "as two hinges: URDF has no suspension",
    "amotor": "as a free joint: URDF has no motors",
    "free": "as three sliders and three hinges: URDF readers take floating joints below the world only",
}


class RobotLink(Struct, frozen=True):
    """A body, the joint that holds it (None: it floats), and what they are in the scene.

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


def robot_of(model: Model, output: OutputContext) -> Robot:
    """The model, taken apart where URDF has no joint of a kind; the model itself stays as it is.

    A static model, which does not move, stands as it is at the start.
    """
    origins: Origins = {id(body): body for body in model.bodies}
    origins |= {id(joint): joint for joint in model.joints}
    with no_edits():  # making another model is no edit of this one
        made = model if not needs_hinge_lowering(World(models=[model])) else _lowered(model, origins)
    _tell(model, output)
    kinematics = Kinematics([made])
    poses = kinematics.poses() if model.static else kinematics.zero_poses
    holders = {id(joint.child): joint for joint in made.joints if not joint.loop}
    links = [
        _link(body, holders.get(id(body)), pose, model.static, origins)
        for body, pose in zip(made.bodies, poses, strict=True)
    ]
    return Robot(links, model.static)


def _link(body: Body, joint: Joint | None, pose: Array, static: bool, origins: Origins) -> RobotLink:
    is_there = joint is None or static or joint.pose.is_identity
    shift = UNSHIFTED if is_there or joint is None else joint.pose.matrix()
    own, held_by = origins.get(id(body)), origins.get(id(joint))
    assert not isinstance(own, Joint)
    assert not isinstance(held_by, Body)
    return RobotLink(body, joint, pose if is_there else pose @ shift, shift, own, held_by)


def _tell(model: Model, output: OutputContext) -> None:
    """What is not quite the same afterwards."""
    for joint in model.joints:
        if joint.loop:
            output.add_loss(joint, "left out: URDF robots are trees, and this joint closes a loop")
        elif joint.kind in _REASONS and not _floats(joint) and not model.static:
            output.add_loss(joint, _REASONS[joint.kind])


def _floats(joint: Joint) -> bool:
    return joint.kind == "free" and joint.parent is None


def _lowered(model: Model, origins: Origins) -> Model:
    world = World(models=[model])
    done = lower_to_hinges(world)
    known = map_to_originals(world, done)
    origins |= {key: item for key, item in known.items() if isinstance(item, Body | Joint)}
    return done.world.models[0]


def relative(link: RobotLink, parent: RobotLink | None) -> Array:
    """The link's frame in its parent's (None: in the world) at zero positions."""
    return link.frame if parent is None else spatial.inverse(parent.frame) @ link.frame
