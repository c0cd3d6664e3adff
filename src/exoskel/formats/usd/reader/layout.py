"""How the prims of a stage become worlds, models and bodies.

In files of Exoskel the kinds of prims say it.  In others, each group of bodies that joints connect is a model, and what
belongs to no rigid body is a static model.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from exoskel.formats.usd.reader.prim_index import ARTICULATION, PrimIndex, is_in, is_rigid_body
from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.scene.item import Names, unique_name

JOINTS = frozenset(
    {
        "PhysicsJoint",
        "PhysicsFixedJoint",
        "PhysicsRevoluteJoint",
        "PhysicsPrismaticJoint",
        "PhysicsSphericalJoint",
        "PhysicsDistanceJoint",
    }
)
GPRIMS = frozenset({"Cube", "Sphere", "Cylinder", "Capsule", "Cone", "Plane", "Mesh"})
_SCENE = "PhysicsScene"
_STATIC = "environment"
"""The name of the model of everything that is not part of a rigid body."""


class BodySource(Struct):
    """A body: its prim, or for scenery without one, its shapes."""

    name: str
    prim: StagePrim
    shapes: list[StagePrim] = field(default_factory=list)
    is_own: bool = True
    """The prim is the body, not only its shape."""


class ModelSource(Struct):
    name: str
    prim: StagePrim | None
    bodies: list[BodySource] = field(default_factory=list)
    joints: list[StagePrim] = field(default_factory=list)
    is_static: bool = False
    root: str = ""
    """The path of the body that the model starts from; empty: the first without a parent."""


class WorldSource(Struct):
    name: str
    prim: StagePrim | None
    """None: the whole file."""
    scene: StagePrim | None
    """The prim with gravity, if any."""
    models: list[ModelSource] = field(default_factory=list)
    further_scenes: list[StagePrim] = field(default_factory=list)


def is_own_file(index: PrimIndex) -> bool:
    """Whether Exoskel wrote the file, and all of its bodies and joints are still where it writes them."""
    if not index.stage.creator.startswith("exoskel"):
        return False
    kinds = {"assembly": 1, "component": 2, "subcomponent": 3}
    ours = all(kinds.get(prim.kind, 0) == prim.path.count("/") for prim in index.prims if prim.kind)
    bodies = all(prim.kind == "subcomponent" for prim in index.prims if is_rigid_body(prim))
    return ours and bodies and any(prim.kind == "assembly" for prim in index.prims)


def own_layout(index: PrimIndex) -> list[WorldSource]:
    """The worlds of a file that Exoskel wrote."""
    worlds: list[WorldSource] = []
    for prim in index.children.get("", ()):
        if prim.kind != "assembly":
            continue
        inside = index.children.get(prim.path, ())
        scene = next((one for one in inside if one.type == _SCENE), None)
        world = WorldSource(prim.title, prim, scene)
        world.models += [_own_model(index, one) for one in inside if one.kind == "component"]
        worlds.append(world)
    return worlds


def _own_model(index: PrimIndex, prim: StagePrim) -> ModelSource:
    inside = index.children.get(prim.path, ())
    model = ModelSource(prim.title, prim)
    for one in inside:
        if one.kind == "subcomponent":
            shapes = [shape for shape in index.children.get(one.path, ()) if shape.type in GPRIMS]
            model.bodies.append(BodySource(one.title, one, shapes))
    scope = f"{prim.path}/joints"
    model.joints += [one for one in index.children.get(scope, ()) if one.type in JOINTS]
    model.is_static = bool(model.bodies) and not any(is_rigid_body(body.prim) for body in model.bodies)
    return model


# --- files of other programs -----------------------------------------------------------------------------


def layout(index: PrimIndex) -> WorldSource:
    """The world of a file of another program."""
    scenes = [prim for prim in index.prims if prim.type == _SCENE]
    name = index.stage.default_prim or (index.prims[0].name if index.prims else "world")
    world = WorldSource(name, None, scenes[0] if scenes else None, further_scenes=scenes[1:])
    bodies = {prim.path: BodySource(prim.title, prim) for prim in index.prims if is_rigid_body(prim)}
    static = ModelSource(_STATIC, None, is_static=True)
    taken = Names()
    for prim in index.prims:
        if prim.type not in GPRIMS:
            continue
        owner = index.body_of(prim.path)
        if owner is not None:
            bodies[owner.path].shapes.append(prim)
        else:
            fixed = unique_name(prim.title, taken)
            taken.add(fixed)
            static.bodies.append(BodySource(fixed, prim, [prim], is_own=False))
    joints = [prim for prim in index.prims if prim.type in JOINTS]
    world.models += _models(index, bodies, joints)
    if static.bodies:
        static.name = unique_name(_STATIC, {model.name for model in world.models})
        world.models.append(static)
    return world


def joint_ends(index: PrimIndex, joint: StagePrim) -> tuple[StagePrim | None, StagePrim | None]:
    """The rigid bodies that a joint connects; None: the world."""
    first, second = (joint.target(f"physics:body{side}") for side in "01")
    return (index.body_of(first) if first else None, index.body_of(second) if second else None)


def _models(index: PrimIndex, bodies: dict[str, BodySource], joints: Sequence[StagePrim]) -> list[ModelSource]:
    """One model for each group of bodies that joints connect, in the order of the file."""
    group = {path: path for path in bodies}

    def find(path: str) -> str:
        while group[path] != path:
            group[path] = group[group[path]]
            path = group[path]
        return path

    connected: list[tuple[str, StagePrim]] = []
    for joint in joints:
        paths = [prim.path for prim in joint_ends(index, joint) if prim is not None]
        if paths:
            connected.append((paths[0], joint))
        if len(paths) == 2:
            one, other = sorted(map(find, paths), key=lambda path: index.number[path])
            group[other] = one
    members: dict[str, ModelSource] = {}
    for path, body in bodies.items():
        members.setdefault(find(path), ModelSource("", None)).bodies.append(body)
    for path, joint in connected:
        members[find(path)].joints.append(joint)
    _name_models(index, list(members.values()))
    return list(members.values())


def _name_models(index: PrimIndex, models: list[ModelSource]) -> None:
    """Name models after their articulation roots, or the prims around all of their bodies."""
    roots = [prim for prim in index.prims if ARTICULATION in prim.apis]
    taken, used = Names(), set[str]()
    for model in models:
        paths = [body.prim.path for body in model.bodies]
        root = _articulation_root(roots, model)
        if root is not None and root.type not in JOINTS and len(paths) > 1 and root.path not in paths:
            model.prim = root
        elif len(paths) > 1:
            model.prim = _common_prim(index, paths, models)
        if root is not None and root.path in paths:
            model.root = root.path
        if model.prim is not None and model.prim.path in used:
            model.prim = None
        used |= {model.prim.path} if model.prim is not None else set()
        name = model.prim.title if model.prim is not None else _model_name(model)
        model.name = unique_name(name, taken)
        taken.add(model.name)
    for model in models:
        _name_bodies(model)


def _articulation_root(roots: Sequence[StagePrim], model: ModelSource) -> StagePrim | None:
    """The articulation root of a model: one of its bodies or joints, or a prim around them."""
    joints = {joint.path for joint in model.joints}
    return next((r for r in roots if r.path in joints or any(is_in(b.prim.path, r.path) for b in model.bodies)), None)


def _common_prim(index: PrimIndex, paths: list[str], models: list[ModelSource]) -> StagePrim | None:
    """The innermost prim around all of these paths and no body of another model."""
    others = [body.prim.path for model in models for body in model.bodies if body.prim.path not in paths]
    for prim in index.ancestors(paths[0]):
        if all(is_in(path, prim.path) for path in paths):
            return None if any(is_in(path, prim.path) for path in others) or is_rigid_body(prim) else prim
    return None


def _model_name(model: ModelSource) -> str:
    return model.bodies[0].name


def _name_bodies(model: ModelSource) -> None:
    taken = Names()
    for body in model.bodies:
        body.name = unique_name(body.name, taken)
        taken.add(body.name)
