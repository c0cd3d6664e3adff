"""What MJCF can express."""

from __future__ import annotations

from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.formats.mjcf.collision_filter import read_collision_rules
from exoskel.formats.mjcf.file_writer import RESTING_ACTUATORS, write
from exoskel.scene.body import Body, Marker
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World

_JOINTS = frozenset(TRAITS)
_FILTER = "as contype, conaffinity and exclude"

CAPABILITIES = WriterCapabilities(
    native_joints=_JOINTS,
    write=write,
    fields=item_fields(
        {
            World: ("name", "gravity", "time_step", "collision_exempt_groups", "self_collision"),
            Model: ("name", "pose", "static"),
            Body: ("name", "pose", "inertia", "gravity"),
            Shape: ("geometry", "pose", "color", "collidable", "friction"),
            Marker: ("name", "offset"),
            Joint: (
                *("name", "kind", "child", "parent", "pose", "axes", "order", "plane", "pitch", "mimic"),
                *("swapped", "loop", "collide_connected", "actuator", "drives"),
            ),
        }
    ),
    dof_fields={
        **dict.fromkeys(("position", "velocity", "damping", "friction", "stiffness", "rest"), _JOINTS - {"amotor"}),
        "position_limits": _JOINTS - {"amotor", "free"},
        "force_limits": _JOINTS - {"amotor", "free", "ball"},
    },
    drive_fields={
        **dict.fromkeys(("low_stop", "high_stop"), "as a range"),
        **dict.fromkeys(("velocity", "max_force"), "as a flywheel behind dry friction"),
        "bounce": "as the solver parameters of the range",
        **dict.fromkeys(("stop_erp", "stop_cfm", "suspension_erp", "suspension_cfm"), "as a spring and a damper"),
    },
    rewritten_fields={
        (World, "collision_exempt_groups"): _FILTER,
        (World, "self_collision"): _FILTER,
        (Model, "pose"): "in the poses of its bodies",
        (Model, "static"): "its bodies have no joints",
        (Body, "pose"): "in the frame of its parent body",
        (Joint, "pose"): "in the frame of the body",
        (Joint, "axes"): "as axes of one or more joints, in the frame of the body",
        (Joint, "order"): "as axes of several joints",
        (Joint, "plane"): "as axes of several joints",
        (Joint, "swapped"): "by the order of two joints",
        (Joint, "collide_connected"): "by leaving out an exclude",
        (Joint, "parent"): "by the body that contains it",
    },
    shapes=frozenset({"box", "sphere", "ellipsoid", "cylinder", "capsule"}),
    rewritten_shapes={"plane": "with its normal along z", "mesh": "as triangles"},
    has_initial_state=True,
    resting_actuators=RESTING_ACTUATORS,
    collision_rules=read_collision_rules,
)
