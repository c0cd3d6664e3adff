"""A scene as a USD file, read back to be proved, and the tables of what USD has words for."""

from __future__ import annotations

from collections.abc import Mapping

from exoskel.fates import Fate, Verdict
from exoskel.formats.usd.emitters import TEXT, to_bytes
from exoskel.formats.usd.mapping import JOINTS, SHAPES
from exoskel.formats.usd.read_back import ReadBack, read_back
from exoskel.formats.usd.write import TAKEN_APART, write
from exoskel.formats.usd.writing.joint_axes import fits
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import CollisionRules
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.lowering import joint_passes
from exoskel.scene.lowering.joint_passes import LoweredWorld
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, Scene, World
from exoskel.source.output_context import Composed, OutputContext

NATIVE_JOINTS = frozenset(kind for kind, row in JOINTS.items() if row.prim) | {"amotor"}
"""What is written as it is; universal, hinge2 and euler joints only if `fits` says so."""

PRECISION = 1e-6
"""UsdPhysics has masses, frames of joints and limits in single precision."""

OTHER_WORDS: dict[tuple[type[Item], str], str] = {
    (World, "name"): "changed to be an identifier; the name is shown",
    (Model, "name"): "changed to be an identifier; the name is shown",
    (Body, "name"): "changed to be an identifier; the name is shown",
    (Joint, "name"): "changed to be an identifier; the name is shown",
    (Shape, "name"): "changed to be an identifier, unique in its body",
    (Model, "pose"): "said by the places of its bodies",
    (Model, "static"): "its bodies are no rigid bodies",
    (Body, "pose"): "said by its place at the start and the frames of its joint",
    (Joint, "pose"): "the frame is turned to the axes that move",
    (Joint, "axes"): "said by the frame of the joint",
    (Joint, "order"): "said by the frame of the joint",
    (Joint, "plane"): "said by the frame of the joint",
    (Joint, "swapped"): "said by the frame of the joint",
}
"""Fields that are said otherwise than the scene does, with the same physics."""

SAYS: frozenset[tuple[type[Item], str]] = frozenset(
    [(World, f) for f in ("name", "gravity", "time_step", "collision_exempt_groups", "self_collision")]
    + [(Model, f) for f in ("name", "pose", "static")]
    + [(Body, f) for f in ("name", "pose", "inertia", "gravity")]
    + [(Shape, f) for f in ("geometry", "name", "pose", "color", "collidable")]
    + [(Joint, f) for f in ("name", "kind", "parent", "child", "mimic", "loop", "collide_connected")]
)
"""Fields that USD has words for."""

_ALL = frozenset(NATIVE_JOINTS - {"ball", "free", "weld"})
SAYS_DOFS: dict[str, frozenset[str]] = {
    **dict.fromkeys(("position_limits", "stiffness", "rest"), _ALL),
    **dict.fromkeys(("damping", "friction", "velocity_limits"), _ALL | {"ball"}),
    "force_limits": frozenset({"revolute", "prismatic"}),
    **dict.fromkeys(("position", "velocity"), NATIVE_JOINTS),
}
"""What of a degree of freedom USD has words for, and at which joints."""
SAYS_DRIVES = {
    **dict.fromkeys(("low_stop", "high_stop"), "as limits of its axis"),
    **dict.fromkeys(("velocity", "max_force"), "as a drive"),
    **dict.fromkeys(("stop_erp", "stop_cfm", "suspension_erp", "suspension_cfm"), "as a spring and a damper"),
}
"""Which of ODE's parameters USD has words for, and in which other ones."""
SAYS_SHAPES = frozenset(kind for kind, row in SHAPES.items() if row.prim)
OTHER_SHAPES: dict[str, str] = {}
SHAPE_FATES: dict[str, Verdict] = {
    kind: Verdict(Fate.DROPPED if not row.prim else Fate.APPROXIMATED if "US207" in row.codes else Fate.EXACT, row.how)
    for kind, row in SHAPES.items()
}
"""What becomes of geometries."""
FATES: dict[tuple[type[Item], str], Verdict] = {
    (World, "collision_exempt_groups"): Verdict(Fate.LOWERED, "as groups of colliders"),
    (World, "self_collision"): Verdict(Fate.LOWERED, "as groups of colliders"),
}
"""What is not read back, though it is written."""
STARTS = True
"""The initial state is said."""


def lowered_joints(world: World) -> LoweredWorld | None:
    """The world without joints that USD lacks; None if there are none."""
    if not joint_passes.joints_to_lower(world, TAKEN_APART, _lacks):
        return None
    return joint_passes.lower_joints(world, TAKEN_APART, only=_lacks)


def _lacks(joint: Joint) -> bool:
    return not fits(joint)


def compose(scene: Scene, output: OutputContext) -> Composed:
    """The file, in the form that its ending asks for."""
    layer = write(scene, output)
    data = to_bytes(layer, output.ending or TEXT)
    native = read_back(data)
    prims = [(path, prim.item) for path, prim in layer.paths() if prim.item is not None]
    native.counterparts = {id(item): native.shapes[path] for path, item in prims if path in native.shapes}
    elements = frozenset(id(item) for _, item in prims)
    return Composed(data, native, _pairs(scene, native), elements)


def shapes_of(native: Scene) -> Mapping[int, Shape]:
    """The shapes that were read back, by the ids of those they were written from."""
    assert isinstance(native, ReadBack)
    return native.counterparts


def encounters(scene: Scene, world: World) -> CollisionRules:
    """Who passes whom in a world that was read back."""
    assert isinstance(scene, ReadBack)
    return next(rules for one, rules in zip(scene.worlds, scene.rules, strict=True) if one is world)


ENCOUNTERS = encounters
SHAPES_OF = shapes_of
"""Shapes are read back for certificates alone: their fates are told by tables."""


def _pairs(scene: Scene, native: Scene) -> dict[int, Item]:
    """Worlds, models and bodies in their order; joints by the body they hold, or by name if they close a loop."""
    found: dict[int, Item] = {}
    for world, other in zip(scene.worlds, native.worlds, strict=True):
        found[id(world)] = other
        for model, same in zip(world.models, other.models, strict=True):
            found[id(model)] = same
            found |= {id(mine): theirs for mine, theirs in zip(model.bodies, same.bodies, strict=True)}
            holders = {id(joint.child): joint for joint in same.joints if not joint.loop}
            loops = {joint.name: joint for joint in same.joints if joint.loop}
            for joint in model.joints:
                theirs = loops.get(joint.name) if joint.loop else holders.get(id(found[id(joint.child)]))
                if theirs is not None:
                    found[id(joint)] = theirs
    return found
