"""What DART 6.20's URDF reader ignores or reads otherwise, although the file states it."""

from __future__ import annotations

from exoskel.formats.urdf.codes import CATALOGUE
from exoskel.scene.joint import UNLIMITED, Joint
from exoskel.scene.model import Model
from exoskel.scene.world import World
from exoskel.source.output_context import OutputContext


def record_ignored_parts(model: Model, world: World, output: OutputContext) -> None:
    """Record what DART's reader does not read from a URDF file of a model."""
    if world.actuators:
        output.add_loss(
            world, CATALOGUE["UR606"], "actuators", changes_effect=True, what="ros2_control and transmissions"
        )
    for joint in model.joints:
        _record_joint(joint, output)


def _record_joint(joint: Joint, output: OutputContext) -> None:
    if joint.limits_enforced and any(dof.position_limits != UNLIMITED for dof in joint._dofs or ()):
        output.add_loss(joint, CATALOGUE["UR606.limits"], "position_limits", changes_effect=True)
