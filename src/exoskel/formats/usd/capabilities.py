"""What USD can express."""

from __future__ import annotations

from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.formats.usd.compose import collision_rules_read_back, compose, shapes_of
from exoskel.formats.usd.mapping import JOINTS, SHAPES
from exoskel.formats.usd.write import LOWERED_KINDS
from exoskel.formats.usd.writing.joint_axes import fits
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.lowering import joint_passes
from exoskel.scene.lowering.joint_passes import LoweredWorld
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World

NATIVE_JOINTS = frozenset(kind for kind, row in JOINTS.items() if row.prim) | {"amotor"}
"""Universal, hinge2 and euler joints are lowered unless `fits` returns True."""
_WITH_AXES = NATIVE_JOINTS - {"ball", "free", "weld"}
_RENAMED = "renamed to an identifier; the name is the display name"
_IN_FRAME = "as the frame of the joint"
_GROUPS = Verdict(Fate.LOWERED, "as collision groups")


def lower_joints(world: World) -> LoweredWorld | None:
    """Replace the joints that USD lacks; None if all are supported."""
    if not joint_passes.joints_to_lower(world, LOWERED_KINDS, _lacks):
        return None
    return joint_passes.lower_joints(world, LOWERED_KINDS, only=_lacks)


def _lacks(joint: Joint) -> bool:
    return not fits(joint)


CAPABILITIES = WriterCapabilities(
    native_joints=NATIVE_JOINTS,
    compose=compose,
    fields=item_fields(
        {
            World: ("name", "gravity", "time_step", "collision_exempt_groups", "self_collision"),
            Model: ("name", "pose", "static"),
            Body: ("name", "pose", "inertia", "gravity"),
            Shape: ("geometry", "name", "pose", "color", "collidable"),
            Joint: ("name", "kind", "parent", "child", "mimic", "loop", "collide_connected"),
        }
    ),
    dof_fields={
        **dict.fromkeys(("position_limits", "stiffness", "rest"), _WITH_AXES),
        **dict.fromkeys(("damping", "friction", "velocity_limits"), _WITH_AXES | {"ball"}),
        "force_limits": frozenset({"revolute", "prismatic"}),
        **dict.fromkeys(("position", "velocity"), NATIVE_JOINTS),
    },
    drive_fields={
        **dict.fromkeys(("low_stop", "high_stop"), "as limits of its axis"),
        **dict.fromkeys(("velocity", "max_force"), "as a drive"),
        **dict.fromkeys(("stop_erp", "stop_cfm", "suspension_erp", "suspension_cfm"), "as a spring and a damper"),
    },
    rewritten_fields={
        (World, "name"): _RENAMED,
        (Model, "name"): _RENAMED,
        (Body, "name"): _RENAMED,
        (Joint, "name"): _RENAMED,
        (Shape, "name"): "renamed to an identifier that is unique in its body",
        (Model, "pose"): "in the poses of its bodies",
        (Model, "static"): "its bodies are not rigid bodies",
        (Body, "pose"): "as the initial pose and the frames of its joint",
        (Joint, "pose"): "in a frame that is rotated to its axes",
        (Joint, "axes"): _IN_FRAME,
        (Joint, "order"): _IN_FRAME,
        (Joint, "plane"): _IN_FRAME,
        (Joint, "swapped"): _IN_FRAME,
    },
    shapes=frozenset(kind for kind, row in SHAPES.items() if row.prim),
    precision=1e-6,  # UsdPhysics has masses, frames of joints and limits in single precision
    has_initial_state=True,
    lower_joints=lower_joints,
    collision_rules=collision_rules_read_back,
    shapes_read_back=shapes_of,
    field_fates={(World, "collision_exempt_groups"): _GROUPS, (World, "self_collision"): _GROUPS},
    shape_fates={
        kind: Verdict(
            Fate.DROPPED if not row.prim else Fate.APPROXIMATED if "US207" in row.codes else Fate.EXACT, row.how
        )
        for kind, row in SHAPES.items()
    },
)
