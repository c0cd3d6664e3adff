"""What XODE can express."""

from __future__ import annotations

from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.formats.xode.write import write
from exoskel.formats.xode.writing.joints import NATIVE
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import World

_RENAMED = "renamed to be unique in the document"

CAPABILITIES = WriterCapabilities(
    native_joints=frozenset(NATIVE) - {"euler"},
    write=write,
    fields=item_fields(
        {
            World: ("gravity", "time_step", "erp", "cfm"),
            Body: ("gravity", "state"),
            Joint: ("kind", "parent", "child"),
        }
    ),
    rewritten_fields={
        (Joint, "pose"): "as an anchor in the root frame",
        (Joint, "axes"): "as axes in the root frame",
        (Body, "pose"): "as the pose in the initial state",
        (Body, "name"): _RENAMED,
        (Joint, "name"): _RENAMED,
        (Shape, "name"): _RENAMED,
        (Shape, "geometry"): "as triangles",
    },
    shapes=frozenset({"box", "sphere", "cylinder", "capsule", "trimesh", "ray"}),
    pyode_fields=item_fields(
        {
            World: ("name",),
            Body: ("name", "pose", "inertia", "gravity", "state"),
            Shape: ("name", "pose", "geometry"),
            Joint: ("name", "kind", "child", "parent", "pose", "axes", "drives", "dofs", "swapped"),
        }
    ),
)
