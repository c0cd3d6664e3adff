"""A scene as a glTF file, read back to be proved, and the tables of what a picture has room for."""

from __future__ import annotations

from exoskel.fates import Fate, Verdict
from exoskel.formats.gltf.mapping import SHAPES
from exoskel.formats.gltf.read_back import read_back
from exoskel.formats.gltf.write import write
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, Scene, World
from exoskel.source.output_context import Composed, OutputContext

PICTURES = True
"""Only what is seen at the start is said; the rest is kept beside it, or gone."""
NATIVE_JOINTS = frozenset(TRAITS)
"""No joint is taken apart: none is said."""
PRECISION = 1e-6
STARTS = True

_KEPT = Verdict(Fate.KEPT, "beside the picture, as `extras`")
_GONE = Verdict(Fate.DROPPED, "a picture does not move by itself")
_NOWHERE = Verdict(Fate.DROPPED, "a picture has no place for it")
_EXACT = Verdict(Fate.EXACT)

FATES: dict[tuple[type[Item], str], Verdict] = {
    (World, "name"): _EXACT,
    **dict.fromkeys([(World, f) for f in ("gravity", "time_step")], _KEPT),
    (Model, "name"): _EXACT,
    (Model, "pose"): Verdict(Fate.LOWERED, "in the places of its bodies"),
    (Model, "static"): _KEPT,
    (Body, "name"): _EXACT,
    (Body, "pose"): Verdict(Fate.LOWERED, "where it is at the start"),
    (Body, "inertia"): _KEPT,
    (Body, "gravity"): _KEPT,
    (Body, "soft"): Verdict(Fate.APPROXIMATED, "stiff, in its shape at rest"),
    **dict.fromkeys([(Joint, f) for f in ("", "name", "kind", "parent", "child")], _KEPT),
    (Shape, "collidable"): Verdict(Fate.DROPPED, "a picture has no contacts", harmless=True),
}
"""What becomes of single fields; of a joint only what it does at the start is seen."""
UNSEEN = "other shapes of its body are seen instead of it"
"""Why a shape has no node."""
OTHER_WORDS: dict[tuple[type[Item], str], str] = {}
OTHER_SHAPES: dict[str, str] = {}
SAYS: frozenset[tuple[type[Item], str]] = frozenset()
SAYS_DOFS: dict[str, frozenset[str]] = {}
SAYS_DRIVES: dict[str, str] = {}
SHAPE_FATES: dict[str, Verdict] = {kind: Verdict(row.fate, row.why) for kind, row in SHAPES.items()}


def compose(scene: Scene, output: OutputContext) -> Composed:
    """The file."""
    data = write(scene, output)
    native = read_back(data)
    found: dict[int, Item] = {}
    for world, other in zip(scene.worlds, native.worlds, strict=True):
        found[id(world)] = other
        for model, same in zip(world.models, other.models, strict=True):
            found[id(model)] = same
            found |= {id(mine): theirs for mine, theirs in zip(model.bodies, same.bodies, strict=True)}
            held = {id(joint.child): joint for joint in same.joints}
            found |= {id(j): held[id(found[id(j.child)])] for j in model.joints if not j.loop}
    return Composed(data, native, found, _written(scene, output))


def _written(scene: Scene, output: OutputContext) -> frozenset[int]:
    """The parts that have a node: all but shapes that others are seen for, and those that have no surface."""
    without = {id(loss.item) for loss in output.losses if loss.code == "GL305"}
    made: set[int] = set()
    for world in scene.worlds:
        made.add(id(world))
        for model in world.models:
            made.add(id(model))
            for body in model.bodies:
                seen = body.visuals or ([] if body.soft is not None else body.collisions)
                made |= {id(body), *(id(s) for s in seen if id(s) not in without), *map(id, body.markers)}
    return frozenset(made)
