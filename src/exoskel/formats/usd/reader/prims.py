"""The prims of a stage: by path, their values, and how they become worlds, models and bodies.

Values of prims in a layer are read without composing a stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct, field

from exoskel import spatial
from exoskel.formats.usd.mapping import MATERIAL_INPUTS, PRESERVED
from exoskel.formats.usd.reader.instances import INSTANCE, INSTANCER, expand_instances
from exoskel.formats.usd.reader.stage import Stage, StagePrim
from exoskel.scene.item import Names, unique_name
from exoskel.scene.shape import Material, Texture
from exoskel.spatial import Array

Values = dict[str, Any]


def values(prim: Any, names: Iterable[str] | None = None) -> Values:
    """The values of all attributes of a prim, or only of `names`, which is faster.

    Vectors are tuples, quaternions tuples of w x y z.
    """
    known = prim.attributes
    if names is None:
        found = {spec.name: spec.default for spec in known}
    else:
        found = {name: spec.default for name in names if (spec := known.get(name)) is not None}
    for name, value in found.items():
        plain = _CONVERTERS.get(type(value).__name__)
        if plain is not None:
            found[name] = plain(value)
    return found


def _vector(value: Any) -> tuple[float, ...]:
    return (value[0], value[1], value[2])  # unpacking it takes ten times as long


def _quaternion(value: Any) -> tuple[float, ...]:
    return (value.real, *_vector(value.imaginary))


_CONVERTERS: dict[str, Callable[[Any], tuple[float, ...]]] = {
    "Vec2f": lambda value: (value[0], value[1]),
    "Vec3d": _vector,
    "Vec3f": _vector,
    "Quatd": _quaternion,
    "Quatf": _quaternion,
}
"""Converters for usd-core's own types, by type name."""


def name_of(prim: Any) -> str:
    """The name in the scene: the display name, if there is one."""
    return str(prim.GetInfo("displayName")) if prim.HasInfo("displayName") else str(prim.name)


def apis(prim: Any) -> list[str]:
    return list(prim.GetInfo("apiSchemas").GetAddedOrExplicitItems()) if prim.HasInfo("apiSchemas") else []


def target(prim: Any, name: str) -> str:
    """The first target path of a relationship, or an empty string."""
    found = targets(prim, name)
    return found[0] if found else ""


def targets(prim: Any, name: str) -> list[str]:
    """The target paths of a relationship."""
    spec = prim.relationships.get(name)
    return [str(path) for path in spec.targetPathList.GetAddedOrExplicitItems()] if spec is not None else []


def value_of(layer: Any, path: str, name: str) -> Any:
    """The value of one attribute of the prim at a path; None if it has none."""
    spec = layer.GetAttributeAtPath(f"{path}.{name}")
    return None if spec is None else spec.default


def custom_data(prim: Any) -> dict[str, str]:
    """The custom data that the writer added to a prim."""
    return dict(prim.customData) if prim.HasInfo("customData") else {}


def is_preserved(prim: Any) -> bool:
    """Whether a prim was copied from the source of a scene, and is not part of it."""
    return PRESERVED in custom_data(prim)


RIGID_BODY, COLLIDER, ARTICULATION = "PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsArticulationRootAPI"
_CENTIMETRE = 0.01
"""USD's unit of length unless a file states another."""
_SMALL, _LARGE = 1e-100, 1e100
"""Numbers whose squares are exact enough to take their roots."""
_ORTHOGONAL = 1e-6
"""The tolerance for the cosines between the axes of a transform without shear."""


class PrimPlacement(Struct, frozen=True, eq=False):
    """A transform as a rotation and translation, `rigid`, after a symmetric `stretch`; lengths in m."""

    rigid: Array
    stretch: Array

    @property
    def scale(self) -> tuple[float, float, float]:
        """The factors along the axes of the prim."""
        x, y, z = np.diag(self.stretch).tolist()
        return (x, y, z)

    @property
    def is_sheared(self) -> bool:
        if np.count_nonzero(self.stretch) <= np.count_nonzero(self.stretch.diagonal()):
            return False
        off = self.stretch - np.diag(np.diag(self.stretch))
        return bool(np.abs(off).max() > _ORTHOGONAL * np.abs(self.stretch).max())


def placement(matrix: Array) -> PrimPlacement:
    """Split a transform.  A mirrored one gets a negative factor along x."""
    linear = matrix[:3, :3]
    stated = linear.diagonal()
    if np.count_nonzero(linear) == 3 and (stated > _SMALL).all() and (stated < _LARGE).all():  # no rotation
        return PrimPlacement(spatial.transform(linear / stated, matrix[:3, 3]), np.diag(stated))
    sizes = np.linalg.norm(linear, axis=0)
    if (sizes > 0.0).all():
        axes = linear / sizes
        products = axes.T @ axes - np.eye(3)
        if np.abs(products).max() < _ORTHOGONAL:
            if np.linalg.det(axes) < 0.0:
                axes[:, 0], sizes[0] = -axes[:, 0], -sizes[0]
            return PrimPlacement(spatial.transform(axes, matrix[:3, 3]), np.diag(sizes))
    left, values, right = np.linalg.svd(linear)
    if np.linalg.det(left @ right) < 0.0:
        left[:, 2], values[2] = -left[:, 2], -values[2]
    return PrimPlacement(spatial.transform(left @ right, matrix[:3, 3]), right.T @ np.diag(values) @ right)


class PrimIndex:
    """Finds prims, and converts what they state to m, kg, s and degrees."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.prims = stage.prims
        self.by_path = {prim.path: prim for prim in stage.prims}
        self.number = {prim.path: i for i, prim in enumerate(stage.prims, 1)}
        """The numbers of the objects of the document; 0 is the layer."""
        self.metre = _CENTIMETRE if stage.meters_per_unit is None else stage.meters_per_unit
        self.kilogram = 1.0 if stage.kilograms_per_unit is None else stage.kilograms_per_unit
        self.instances = expand_instances(stage)
        """The copies of prototypes, by the paths of point instancers."""
        self._add_instances()
        self._placements: dict[str, PrimPlacement] = {}
        self._stating: dict[str, list[StagePrim]] = {}

    def _add_instances(self) -> None:
        """Let the copies of prototypes have paths, and the numbers of what they are copies of."""
        for path, expanded in self.instances.items():
            own = self.number[path]
            for prim, origin in zip(expanded.prims, expanded.origins, strict=True):
                self.by_path[prim.path] = prim
                self.number[prim.path] = self.number.get(origin, own)

    def node(self, prim: StagePrim) -> int:
        return self.number[prim.path.partition(PART)[0]]

    def is_preserved(self, prim: StagePrim) -> bool:
        """Whether a prim is one that was copied from the source of a scene, or in one."""
        return PRESERVED in prim.custom or any(PRESERVED in one.custom for one in self.ancestors(prim.path))

    def matrix(self, prim: StagePrim) -> Array:
        """The transform from the prim to the world, for column vectors, in m."""
        found = np.array(prim.place, dtype=np.float64).reshape(4, 4).T
        found[:3] *= self.metre
        return found

    def placement(self, prim: StagePrim) -> PrimPlacement:
        found = self._placements.get(prim.path)
        if found is None:
            found = self._placements[prim.path] = placement(self.matrix(prim))
        return found

    def ancestors(self, path: str) -> Iterator[StagePrim]:
        """The prims around a path, from the inside."""
        while path := path.rpartition("/")[0]:
            if path in self.by_path:
                yield self.by_path[path]
            elif INSTANCE in path:
                path = path.partition(INSTANCE)[0]
                yield self.by_path[path]

    def prims_with(self, name: str) -> list[StagePrim]:
        """The prims that state a value."""
        if name not in self._stating:
            self._stating[name] = [prim for prim in self.prims if name in prim.values]
        return self._stating[name]

    def body_of(self, path: str) -> StagePrim | None:
        """The rigid body at a path or around it."""
        own = self.by_path.get(path)
        around = (own, *self.ancestors(path)) if own is not None else self.ancestors(path)
        return next((prim for prim in around if is_rigid_body(prim)), None)

    @cached_property
    def children(self) -> dict[str, list[StagePrim]]:
        """The prims in each prim, by its path."""
        found: dict[str, list[StagePrim]] = {}
        for prim in self.prims:
            found.setdefault(prim.path.rpartition("/")[0], []).append(prim)
        return found


def is_rigid_body(prim: StagePrim) -> bool:
    return RIGID_BODY in prim.apis and bool(prim.values.get("physics:rigidBodyEnabled", True))


def is_in(path: str, outer: str) -> bool:
    """Whether a path is that of a prim or of something in it."""
    return path == outer or path.startswith(f"{outer}/")


# --- worlds, models and bodies ------------------------------------------------------------------------

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
TAPERED = frozenset({"Cylinder_1", "Capsule_1"})
"""Solids whose ends have radii of their own."""
GPRIMS = frozenset({"Cube", "Sphere", "Cylinder", "Capsule", "Cone", "Plane", "Mesh", *TAPERED})
_SCENE = "PhysicsScene"
PART = "#"
"""What separates the path of a prim from the number or name of a part of it."""
_STATIC = "environment"
"""The name of the model of everything that is not part of a rigid body."""


class BodySource(Struct):
    """A body: its prim, or for scenery without one, its shapes."""

    name: str
    prim: StagePrim
    shapes: list[StagePrim] = field(default_factory=list)
    is_own: bool = True
    """The prim is the body, not only its shape."""
    link: int = -1
    """The number of a body without mass between the joints of this one; -1 for the body itself."""

    @property
    def path(self) -> str:
        """What identifies the body: the path of its prim."""
        return self.prim.path if self.link < 0 else f"{self.prim.path}{PART}{self.link}"


class JointEnds(Struct, frozen=True):
    """The paths of the bodies that a joint connects instead of those that it states; empty: the world.

    The first body of an `is_inner` joint has the frame of the second one at zero positions.
    """

    first: str
    second: str
    is_inner: bool = False


class ModelSource(Struct):
    name: str
    prim: StagePrim | None
    bodies: list[BodySource] = field(default_factory=list)
    joints: list[StagePrim] = field(default_factory=list)
    ends: dict[str, JointEnds] = field(default_factory=dict)
    """By the paths of joints."""
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
    stated = (prim for prim in index.prims if prim.kind and not index.is_preserved(prim))
    ours = all(kinds.get(prim.kind, 0) == prim.path.count("/") for prim in stated)
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
        world.models += [_own_model(index, one) for one in inside if _is_own(one, "component")]
        worlds.append(world)
    return worlds


def _is_own(prim: StagePrim, kind: str) -> bool:
    return prim.kind == kind and PRESERVED not in prim.custom


def _own_model(index: PrimIndex, prim: StagePrim) -> ModelSource:
    inside = index.children.get(prim.path, ())
    model = ModelSource(prim.title, prim)
    for one in inside:
        if _is_own(one, "subcomponent"):
            shapes = [
                shape
                for shape in index.children.get(one.path, ())
                if shape.type in GPRIMS and PRESERVED not in shape.custom
            ]
            model.bodies.append(BodySource(one.title, one, shapes))
    scope = f"{prim.path}/joints"
    model.joints += [one for one in index.children.get(scope, ()) if one.type in JOINTS]
    model.is_static = bool(model.bodies) and not any(is_rigid_body(body.prim) for body in model.bodies)
    return model


# --- files of other programs -----------------------------------------------------------------------------


def layout(index: PrimIndex) -> WorldSource:
    """The world of a file of another program."""
    prims = list(_placed_prims(index))
    scenes = [prim for prim in prims if prim.type == _SCENE]
    name = index.stage.default_prim or (index.prims[0].name if index.prims else "world")
    world = WorldSource(name, None, scenes[0] if scenes else None, further_scenes=scenes[1:])
    bodies = {prim.path: BodySource(prim.title, prim) for prim in prims if is_rigid_body(prim)}
    static = ModelSource(_STATIC, None, is_static=True)
    taken = Names()
    for prim in prims:
        if prim.type not in GPRIMS:
            continue
        owner = index.body_of(prim.path)
        if owner is not None:
            bodies[owner.path].shapes.append(prim)
        else:
            fixed = unique_name(prim.title, taken)
            taken.add(fixed)
            static.bodies.append(BodySource(fixed, prim, [prim], is_own=False))
    joints = [prim for prim in prims if prim.type in JOINTS]
    world.models += _models(index, bodies, joints)
    if static.bodies:
        static.name = unique_name(_STATIC, {model.name for model in world.models})
        world.models.append(static)
    return world


def _placed_prims(index: PrimIndex) -> Iterator[StagePrim]:
    """The prims that are where they are: copies of the prototypes of point instancers, and not the prototypes."""
    instancer = "/"
    roots = {f"{root}/" for one in index.stage.instances for root in one.roots}
    for prim in index.prims:
        if prim.path.startswith(f"{instancer}/") or _is_in_any(prim.path, roots):
            continue
        if prim.type == INSTANCER:
            instancer = prim.path
        yield prim
        if prim.path in index.instances:
            yield from index.instances[prim.path].prims


def _is_in_any(path: str, folders: set[str]) -> bool:
    """Whether a path is one of these, which end in a slash, or in one of them."""
    if not folders:
        return False
    path += "/"
    ends = (number for number, letter in enumerate(path) if letter == "/")
    return any(path[: end + 1] in folders for end in ends)


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
    disabled: list[StagePrim] = []
    for joint in joints:
        if joint.values.get("physics:jointEnabled") is False:
            disabled.append(joint)
            continue
        paths = [prim.path for prim in joint_ends(index, joint) if prim is not None]
        if paths:
            connected.append((paths[0], joint))
        if len(paths) == 2:
            one, other = sorted(map(find, paths), key=lambda path: index.number[path])
            group[other] = one
    members: dict[str, ModelSource] = {}
    for path, body in bodies.items():
        members.setdefault(find(path), ModelSource("", None)).bodies.append(body)
    for joint in disabled:  # they are reported with one of their bodies
        ends = [prim.path for prim in joint_ends(index, joint) if prim is not None]
        connected += [(ends[0], joint)] if ends else []
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


def read_material(found: Mapping[str, Any], texture: Texture | None = None) -> Material | None:
    """A texture, and the roughness and metalness that a shader states, with the shortest digits of single precision."""
    stated = [found.get(name) for name in MATERIAL_INPUTS]
    rough, metal = (None if n is None or not 0.0 <= n <= 1.0 else float(str(np.float32(n))) for n in stated)
    made = Material(rough, metal, texture)
    return made if made != Material() else None
