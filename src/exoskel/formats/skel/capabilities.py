"""What SKEL can express."""

from __future__ import annotations

from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.formats.skel.write import EULER_ORDERS, write
from exoskel.scene.body import Body
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World

_RENAMED = "renamed: SKEL does not support the name"

CAPABILITIES = WriterCapabilities(
    native_joints=frozenset(TRAITS) - {"hinge2", "amotor"},
    write=write,
    fields=item_fields(
        {
            World: ("gravity", "time_step"),
            Model: ("pose", "static"),
            Body: ("pose", "inertia", "gravity", "soft"),
            Shape: ("geometry", "pose"),
            Joint: ("kind", "parent", "child", "pose", "axes", "order", "plane", "pitch", "actuator", "dofs"),
        }
    ),
    rewritten_fields={
        (Body, "name"): _RENAMED,
        (Joint, "name"): _RENAMED,
        (Model, "name"): _RENAMED,
        (Joint, "order"): "in a frame with permuted axes",
    },
    shapes=frozenset({"box", "sphere", "ellipsoid", "cylinder", "capsule", "pyramid", "plane", "multi_sphere", "mesh"}),
    euler_orders=EULER_ORDERS,
)
