"""What URDF can express."""

from __future__ import annotations

from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.formats.urdf.write import write
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.lowering.hinges import lower_to_hinges, needs_hinge_lowering
from exoskel.scene.lowering.joint_passes import LoweredWorld
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World

_RENAMED = "renamed: URDF does not support the name"
_IN_LINK_FRAME = "in the link frame, which is at the joint"


def lower_joints(world: World) -> LoweredWorld | None:
    """Replace the joints that URDF lacks; None if all are supported."""
    return lower_to_hinges(world) if needs_hinge_lowering(world) else None


CAPABILITIES = WriterCapabilities(
    native_joints=frozenset({"weld", "revolute", "prismatic", "free"}),
    write=write,
    fields=item_fields(
        {
            Model: ("name",),
            Body: ("name", "inertia"),
            Shape: ("geometry", "color", "name"),
            Joint: ("name", "kind", "parent", "child", "axes", "mimic"),
        }
    ),
    dof_fields=dict.fromkeys(
        ("position_limits", "velocity_limits", "force_limits", "damping", "friction"),
        frozenset({"revolute", "prismatic"}),
    ),
    drive_fields=dict.fromkeys(("low_stop", "high_stop"), "as limits"),
    rewritten_fields={
        (Body, "name"): _RENAMED,
        (Joint, "name"): _RENAMED,
        (Model, "name"): _RENAMED,
        (Body, "pose"): "as frames of joints",
        (Body, "inertia"): _IN_LINK_FRAME,
        (Model, "pose"): "as frames of the root joints",
        (Model, "static"): "as fixed joints",
        (Joint, "pose"): "the link frame is at the joint",
        (Shape, "collidable"): "shapes that do not collide are left out",
        (Shape, "pose"): _IN_LINK_FRAME,
    },
    shapes=frozenset({"box", "sphere", "cylinder", "mesh"}),
    rewritten_shapes={"capsule": "as a cylinder and two spheres"},
    mesh_extensions=frozenset({".stl", ".dae", ".obj"}),
    body_frames_at_joints=True,
    lower_joints=lower_joints,
)
