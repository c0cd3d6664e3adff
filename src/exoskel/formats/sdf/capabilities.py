"""What SDFormat can express."""

from __future__ import annotations

from bisect import bisect_right

from exoskel.formats.interface import WriterCapabilities, item_fields
from exoskel.formats.sdf.write import write
from exoskel.formats.sdf.writing.joints import TYPES
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import CollisionRules, collision_rules
from exoskel.scene.joint import Joint
from exoskel.scene.lowering import joint_passes
from exoskel.scene.lowering.joint_passes import LoweredWorld
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, Scene, World
from exoskel.source.document import Document

_SELF_COLLIDE = b"<self_collide>"
_RENAMED = "renamed: SDFormat does not support the name"


def lower_joints(world: World) -> LoweredWorld | None:
    """Replace the joints that SDFormat lacks; None if all are supported."""
    return joint_passes.lower_joints(world) if joint_passes.joints_to_lower(world) else None


def read_collision_rules(scene: Scene, world: World) -> CollisionRules:
    """The collision rules of a document that Exoskel wrote, for certificates: a scene has no self-collision per model.

    Such a document has no nested models.
    """
    document = scene.documents[0]
    assert isinstance(document, Document)
    models = sorted(world.models, key=lambda model: model.node)
    places = [model.node for model in models]
    starts = document.scan.starts.tolist()
    stated = [node for node, start in enumerate(starts) if document.text.startswith(_SELF_COLLIDE, start)]
    enabled = [node for node in stated if document.value_text(node).strip() in ("true", "1")]
    found = {id(models[bisect_right(places, node) - 1]) for node in enabled}
    return collision_rules(world, self_colliding=found, exempt_groups=False, collide_connected=False)


CAPABILITIES = WriterCapabilities(
    native_joints=frozenset(TYPES) | {"free"},  # a free joint only to the world
    write=write,
    fields=item_fields(
        {
            World: ("name", "gravity", "time_step", "erp", "cfm", "collision_detector", "self_collision"),
            Model: ("name", "pose", "static"),
            Body: ("name", "pose", "inertia", "gravity"),
            Shape: ("name", "geometry", "pose", "color", "collidable", "friction", "restitution"),
            Joint: (
                *("name", "kind", "parent", "child", "pose", "axes", "pitch", "mimic"),
                *("drives", "swapped", "loop"),
            ),
        }
    ),
    dof_fields=dict.fromkeys(
        ("position_limits", "velocity_limits", "force_limits", "damping", "friction", "stiffness", "rest"),
        frozenset({"revolute", "prismatic", "screw", "universal", "hinge2"}),
    ),
    drive_fields={
        **dict.fromkeys(("low_stop", "high_stop"), "as limits of its axis"),
        **dict.fromkeys(("velocity", "max_force", "fudge_factor", "bounce", "cfm"), ""),
        **dict.fromkeys(("stop_erp", "stop_cfm", "suspension_erp", "suspension_cfm"), ""),
    },
    rewritten_fields={
        (World, "name"): _RENAMED,
        (Model, "name"): _RENAMED,
        (Body, "name"): _RENAMED,
        (Joint, "name"): _RENAMED,
        (Shape, "name"): "renamed to be unique in its link",
        (Joint, "axes"): "as unit vectors",
        (Joint, "swapped"): "by the order of the axes",
        (Body, "pose"): "as the pose in the initial state",
    },
    shapes=frozenset({"box", "sphere", "ellipsoid", "cylinder", "capsule", "cone", "mesh"}),
    rewritten_shapes={"plane": "through the origin of its pose", "cone": "centred at half its height"},
    mesh_extensions=frozenset({".stl", ".dae", ".obj", ".glb"}),
    resolves_model_uris=True,
    lower_joints=lower_joints,
    collision_rules=read_collision_rules,
)
