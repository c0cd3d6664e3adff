"""Read a glTF file, text or binary, as a scene of static bodies.

glTF has shapes and no physics: each node with a mesh is a body.  A file that Exoskel wrote states in its extras which
nodes are bodies, and their masses.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.diagnostics import Collector, Severity, pluralize
from exoskel.formats.gltf.accessors import GltfFile, is_finite_number, open_file
from exoskel.formats.gltf.cameras_and_lights import LIGHTS, GltfViewReader, light_rows
from exoskel.formats.gltf.codes import CATALOGUE
from exoskel.formats.gltf.extras import EXTRAS, OWN_EXTRAS, other_extras
from exoskel.formats.gltf.foreign_data import (
    EXTENSION_TAG,
    EXTRAS_TAG,
    ForeignData,
    PreservedValue,
    foreign_values,
    has_row,
    longest_list,
)
from exoskel.formats.gltf.meshes import GltfMeshReader, ObjectNumbers, ReportGltf, are_numbers, rows_in
from exoskel.formats.gltf.textures import texture_numbers
from exoskel.formats.interface import DiagnosticEffects, ReadOptions, SourceMapping
from exoskel.formats.invalid_items import SKIPPED, repair
from exoskel.scene.body import Body
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Vector, poses_from_matrices
from exoskel.scene.shape import Shape
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.validation import find_invalid
from exoskel.scene.world import DEFAULT_TIME_STEP, Scene, World
from exoskel.source import file_lookup
from exoskel.source.document import Document
from exoskel.source.glb_accessors import MalformedGltfError
from exoskel.source.glb_instances import EXTENSION as INSTANCES
from exoskel.source.glb_instances import has_instances, instance_count, instance_values
from exoskel.source.mesh_parsing import MeshError
from exoskel.source.meshes import MeshFinder
from exoskel.source.object_document import ObjectDocument, SourceObject
from exoskel.source.textures import TextureFinder
from exoskel.source.vocabulary import FLATTENED, STRUCTURE, SceneField, SceneFieldTable, unused
from exoskel.spatial import Array

_GRAVITY: Vector = (0.0, -9.81, 0.0)
"""glTF is y-up."""
_ORTHOGONAL = 1e-6
_LAST_ROW = (0.0, 0.0, 0.0, 1.0)
_LISTS = {
    "nodes": "node",
    "meshes": "mesh",
    "materials": "material",
    "skins": "skin",
    "animations": "animation",
    "cameras": "camera",
    "textures": "texture",
    "images": "image",
}
"""The lists of a document whose rows are objects, and what these are called."""
_UNREAD = ("skins", "animations")
_SUPPORTED = (
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "KHR_materials_",
    "KHR_draco_mesh_compression",
    "EXT_meshopt_compression",
    "KHR_meshopt_compression",
    INSTANCES,
    LIGHTS,
)
"""The first parts of the names of extensions that are read, are appearance, or are reported where they are used."""
_CONTENT = frozenset({"mesh", "camera", "skin", "extensions", "extras"})
"""What a node may have besides a transform and other nodes."""
_MOST_COPIES = 64
"""How often all nodes of a file may be read: invalid files have nodes with several parents."""
_MOST_INSTANCES = 100_000
"""Of a node: each becomes a shape."""


def read(document: Document, options: ReadOptions) -> Scene:
    """Read a document.  Valid parts are in the scene, problems in its diagnostics."""
    collector = Collector(CATALOGUE, document, options.strict)
    scene = Scene(documents=[document], diagnostics=collector.diagnostics, source_info=SourceInfo(format="gltf"))
    if len(document.data) > options.limits.bytes:
        collector.report("GL104", reason=f"it has more than {options.limits.bytes} bytes")
        return scene
    folder = document.location.directory or Path()
    within = file_lookup.confinement(document.location, options.paths)
    try:
        file = open_file(document.data, folder, options.limits, within)
        _report_header(document.data, collector)
        numbers, objects, preserved = _objects(file)
        collector.source = source = ObjectDocument(document, objects, "/")
        scene.documents = [source]
        files = MeshFinder(document.location, options.paths, options.limits)
        views = GltfViewReader(file, numbers, collector.report, is_own=file.is_own)
        reader = _GltfReader(file, numbers, views, collector.report, files.textures, preserved)
        scene.worlds += reader.worlds()
        scene.source_info = structs.replace(
            scene.source_info, views=views.views, users=reader.users, preserved=preserved
        )
    except (MalformedGltfError, MeshError) as problem:
        collector.report("GL104", reason=str(problem))
    for world in scene.worlds:
        for one in repair(world) or ():
            outcome = "the shape is not read" if one.outcome == SKIPPED else one.outcome
            collector.report("GL110", max(one.problem.item.node, 0), problem=[one.problem.message], outcome=outcome)
    problems = [found for found in find_invalid(scene) if found.severity is Severity.ERROR]
    for found in problems:
        collector.report("GL104", reason=found.message)
    if problems:
        scene.worlds.clear()
    return scene


def _report_header(data: bytes, collector: Collector) -> None:
    """Report a version or size in the header of a binary file that is not that of the file."""
    if data.startswith(b"glTF"):
        version, size = (int.from_bytes(data[start : start + 4], "little") for start in (4, 8))
        for name, found, wanted in (("version", version, 2), ("size", size, len(data))):
            if found != wanted:
                collector.report("GL110.header", 0, found=f"{name} {found}", wanted=wanted)


def _objects(file: GltfFile) -> tuple[ObjectNumbers, list[SourceObject], ForeignData]:
    """The objects of a document, their numbers, and the data of other programs in them."""
    made = [
        SourceObject(
            "glTF", -1, "", tuple(name for name in _properties(file.stated, is_own=file.is_own) if name not in _LISTS)
        )
    ]
    numbers: ObjectNumbers = {}
    for name, tag in _LISTS.items():
        for place, row in enumerate(file.rows(name)):
            numbers[name, place] = len(made)
            made.append(SourceObject(tag, 0, f"/{name}/{place}", _properties(row, is_own=file.is_own)))
    for place, row in enumerate(light_rows(file)):
        numbers["lights", place] = len(made)
        made.append(SourceObject("light", 0, f"/extensions/{LIGHTS}/lights/{place}", tuple(row)))
    return numbers, made, _preserved_data(file, numbers, made)


def _preserved_data(file: GltfFile, numbers: ObjectNumbers, made: list[SourceObject]) -> ForeignData:
    """The data of other programs; extensions, and extras inside of objects, become objects of the document."""
    required = file.header.get("extensionsRequired")
    found = ForeignData(largest=longest_list(file.stated))
    found.required = frozenset(map(str, required)) if isinstance(required, list) else frozenset()
    found.nodes = {numbers["nodes", place]: place for place in range(len(file.rows("nodes")))}
    for one in foreign_values(file.stated, is_own=file.is_own):
        owner = numbers.get((str(one.place[0]), int(one.place[1]))) if has_row(one.place) else None if one.place else 0
        if owner is not None and not one.is_extension:
            value = PreservedValue(one.name, one.value, owner, EXTRAS)
        else:
            value = PreservedValue(one.name, one.value, len(made))
            numbers[one.path, -1] = len(made)
            made.append(SourceObject(EXTENSION_TAG if one.is_extension else EXTRAS_TAG, 0, one.path))
        found.values.setdefault(one.place, []).append(value)
    return found


def _properties(row: dict[str, Any], *, is_own: bool) -> tuple[str, ...]:
    """The names of the properties of an object; the extension of lights and the extras of Exoskel have their own."""
    found: list[str] = []
    for name, value in row.items():
        if name == EXTRAS and is_own and isinstance(value, dict):
            found += [f"{EXTRAS}.{key}" for key in value if key in OWN_EXTRAS]
            found += [EXTRAS] if other_extras(row, is_own=is_own) else []
        elif name == "extensions" and isinstance(value, dict):  # others are objects of their own
            found += [name for name in (LIGHTS, INSTANCES) if name in value]
        else:
            found.append(name)
    return tuple(found)


class _GltfReader:
    """The scenes of one file."""

    def __init__(
        self,
        file: GltfFile,
        numbers: ObjectNumbers,
        views: GltfViewReader,
        report: ReportGltf,
        files: TextureFinder,
        preserved: ForeignData,
    ) -> None:
        self.file = file
        self.views = views
        self.meshes = GltfMeshReader(file, numbers, report, files, preserved)
        self.numbers = numbers
        self.report = report
        self.nodes = file.rows("nodes")
        self.users: dict[int, set[int]] = {}
        """Nodes around bodies, meshes, materials and images, and the bodies that they are for."""
        self.is_own = file.is_own
        self.preserved = preserved
        self._parts: dict[int, set[int]] = {}
        self._here: set[int] = set()
        """The nodes of the current scene."""
        self._seen: set[int] = set()
        self._visits = 0
        """How many nodes were read, each once for every parent and scene that it has."""

    def worlds(self) -> Iterator[World]:
        for name in _UNREAD:
            if self.file.rows(name):
                self.report("GL105", self.numbers[name, 0], kind=name)
        self._report_extensions()
        self._report_invalid()
        self._check_tree()
        scenes = self.file.rows("scenes") or [{"nodes": self._roots()}]
        for number, scene in enumerate(scenes):
            yield self._world(scene, number)
        self._report_unplaced()
        self._report_images()
        self.views.report_unread()

    def _report_extensions(self) -> None:
        """Report extensions that change the scene and are not read."""
        stated = self.file.header.get("extensionsRequired")
        names = (
            [str(name) for name in stated if not str(name).startswith(_SUPPORTED)] if isinstance(stated, list) else []
        )
        if names:
            self.report("GL107", 0, attribute="extensionsRequired", names=", ".join(names))

    def _report_invalid(self) -> None:
        """Report what the file states about itself and contradicts the specification, and invalid matrices."""
        asset, scenes = self.file.header.get("asset"), self.file.rows("scenes")
        version = asset.get("version") if isinstance(asset, dict) else None
        if not (isinstance(version, str) and version.startswith("2.")):
            found = "no version" if version is None else f"version {version}"
            self.report("GL110.version", 0, attribute="asset", found=found)
        default = self.file.header.get("scene", 0)
        if "scene" in self.file.header and not (type(default) is int and 0 <= default < len(scenes)):
            count = pluralize(len(scenes), "scene", "scenes")
            self.report("GL110.scene", 0, attribute="scene", number=str(default), count=count)
        for number, node in enumerate(self.nodes):
            matrix = node.get("matrix")
            if isinstance(matrix, list) and are_numbers(matrix, 16) and tuple(map(float, matrix[3::4])) != _LAST_ROW:
                self.report("GL110.matrix", self.numbers["nodes", number], attribute="matrix", number=number)

    def _report_images(self) -> None:
        """Report the textures and images that are not read."""
        for number, texture in enumerate(self.file.rows("textures")):
            if type(texture.get("source")) is not int:
                self.report("GL105", self.numbers["textures", number], kind="textures of extensions")
        for number in range(len(self.file.rows("images"))):
            if number not in self.meshes.images:
                reason = self.meshes.problems.get(number, "only images of base colours are read")
                self.report("GL105.image", self.numbers["images", number], number=number, reason=reason)

    def _report_unplaced(self) -> None:
        """Report nodes with something to read that are in no scene."""
        for number, node in enumerate(self.nodes):
            if number not in self._seen and not _CONTENT.isdisjoint(node):
                self.report("GL105.node", self.numbers["nodes", number], number=number)

    def _check_tree(self) -> None:
        """Check that no node is inside of itself.  Raises MalformedGltfError."""
        inside = [_numbers(node, "children") for node in self.nodes]
        parents = [0] * len(inside)
        for child in (child for children in inside for child in children if 0 <= child < len(inside)):
            parents[child] += 1
        free = [number for number, count in enumerate(parents) if not count]
        for number in free:  # grows
            for child in inside[number]:
                if 0 <= child < len(inside):
                    parents[child] -= 1
                    free += [child] if not parents[child] else []
        if len(free) < len(inside):
            number = next(number for number, count in enumerate(parents) if count)
            raise MalformedGltfError(f"node {number} is inside of itself")

    def _visit(self, number: int) -> None:
        """Note that a node is read; it may be in several scenes, but has one parent in each."""
        self._visits += 1
        if self._visits > _MOST_COPIES * len(self.nodes):
            raise MalformedGltfError(f"its nodes have so many parents that they count {_MOST_COPIES} times")
        if number in self._here:
            self.report("GL105.shared", self.numbers["nodes", number], number=number)
        self._here.add(number)
        self._seen.add(number)

    def _roots(self) -> list[int]:
        inner = {child for node in self.nodes for child in _numbers(node, "children")}
        return [number for number in range(len(self.nodes)) if number not in inner]

    def _world(self, scene: dict[str, Any], number: int) -> World:
        extras = scene.get("extras") if self.is_own else None
        extras = extras if isinstance(extras, dict) else {}
        world = World(name=str(scene.get("name") or f"scene_{number}"), document=0, node=0)
        self.preserved.scenes.setdefault(world.name, number)
        world.gravity = _vector(extras.get("gravity"), _GRAVITY)
        step = extras.get("time_step", DEFAULT_TIME_STEP)
        world.time_step = float(step) if is_finite_number(step) and step > 0 else DEFAULT_TIME_STEP
        self._here = set()
        roots = [(number, np.eye(4)) for number in _numbers(scene, "nodes")]
        if self.is_own and len(roots) == 1:  # the node that rotates the world to y-up
            self._visit(roots[0][0])
            roots = [(child, np.eye(4)) for child in _numbers(self._node(roots[0][0]), "children")]
        taken = Names()
        for root, place in roots:
            model = self._model(root, place, taken, world)
            if model.bodies:
                world.models.append(model)
        return world

    def _node(self, number: int) -> dict[str, Any]:
        if not 0 <= number < len(self.nodes):
            raise MalformedGltfError(f"node {number} does not exist")
        return self.nodes[number]

    def _model(self, root: int, place: Array, taken: Names, world: World) -> Model:
        """The model of a root node and all nodes in it; their cameras and lights are added to a world."""
        title = str(self._node(root).get("name") or f"node_{root}")
        model = Model(name=unique_name(title, taken), static=True)
        taken.add(model.name)
        names = Names()
        groups: list[int] = []
        waiting = [(root, place, _WORLD_FRAME)]
        while waiting:
            number, outer, around = waiting.pop()
            node = self._node(number)
            self._visit(number)
            here = outer @ local_matrix(node)
            shapes = self._shape_nodes(number, node)
            owned = {child for child in shapes if child != number}
            if shapes:
                body = self._add_body(model, number, here, shapes, names)
                self._here |= owned
                self._seen |= owned
                around = _ViewFrame(qualified_name(model.name, body.name), split_matrix(here)[0])
            else:
                groups.append(number)
            self.views.read_views(world, number, node, around.body, spatial.inverse(around.place) @ here)
            inside = [child for child in reversed(_numbers(node, "children")) if child not in owned]
            waiting += [(child, here, around) for child in inside]
        bodies = {body.node for body in model.bodies}
        self.users |= {self.numbers["nodes", number]: bodies for number in groups}
        return model

    def _shape_nodes(self, number: int, node: dict[str, Any]) -> list[int]:
        """The nodes of the shapes of a body; none if the node is not a body."""
        if self.is_own and isinstance(node.get("extras"), dict) and {"mass", "joint"} & node["extras"].keys():
            return [child for child in _numbers(node, "children") if "mesh" in self._node(child)]
        return [number] if "mesh" in node else []

    def _add_body(self, model: Model, number: int, here: Array, shapes: list[int], names: Names) -> Body:
        node = self._node(number)
        frame, _ = split_matrix(here)
        name = unique_name(str(node.get("name") or f"node_{number}"), names)
        names.add(name)
        body = Body(name=name, document=0, node=self.numbers["nodes", number])
        (body.pose,) = poses_from_matrices(frame[None])
        extras = node.get("extras") if self.is_own else None
        if isinstance(extras, dict) and "mass" in extras:
            if not (are_numbers([extras["mass"]], 1) and are_numbers(extras.get("inertia"), 6)):
                raise MalformedGltfError(f"the mass or inertia in the extras of node {number} is invalid")
            xx, yy, zz, xy, xz, yz = map(float, extras["inertia"])
            body.inertia = Inertia(float(extras["mass"]), _vector(extras.get("com")), (xx, yy, zz, xy, xz, yz))
        for one in shapes:
            inner = here if one == number else here @ local_matrix(self._node(one))
            self._add_shapes(body, one, spatial.inverse(frame) @ inner, is_own_node=one != number)
        model.bodies.append(body)
        joint = Joint(name=f"{name}_fix", kind="weld", child=body, implicit=True)
        model.joints.append(joint)
        return body

    def _add_shapes(self, body: Body, number: int, place: Array, *, is_own_node: bool) -> None:
        """Add the shapes of a node to a body: those of its mesh, once for each instance."""
        node = self._node(number)
        mesh = node.get("mesh")
        if not isinstance(mesh, int) or not 0 <= mesh < len(self.file.rows("meshes")):
            raise MalformedGltfError(f"mesh {mesh} does not exist")
        for one in self._parts_of_mesh(mesh):
            self.users.setdefault(one, set()).add(body.node)
        name = str(node.get("name") or "")
        for instance in self._instances(number, node):
            rigid, stretch = split_matrix(place @ instance)
            problem = _visibility_problem(stretch, body.pose.position, rigid)
            if problem:
                self.report("GL110.shape", self.numbers["nodes", number], number=number, reason=problem)
                continue
            (pose,) = poses_from_matrices(rigid[None])
            for part in self.meshes.parts(mesh, stretch):
                shape = Shape(part.geometry, pose=pose, color=part.color, name=name, material=part.material, document=0)
                shape.node = self.numbers["nodes", number] if is_own_node else -1
                body.visuals.append(shape)

    def _instances(self, number: int, node: dict[str, Any]) -> list[Array]:
        """The transforms of the instances of a node in its frame."""
        if not has_instances(node):
            return [np.eye(4)]
        if instance_count(self.file, node) > _MOST_INSTANCES:
            raise MalformedGltfError(f"node {number} has more than {_MOST_INSTANCES} instances")
        values = instance_values(self.file, node)
        rows = zip(*(values[name].tolist() for name in ("TRANSLATION", "ROTATION", "SCALE")), strict=True)
        return [local_matrix({"translation": t, "rotation": r, "scale": s}) for t, r, s in rows]

    def _parts_of_mesh(self, mesh: int) -> set[int]:
        """The objects of the document for a mesh: itself, its materials, their textures and images."""
        if mesh not in self._parts:
            materials, textures = self.file.rows("materials"), self.file.rows("textures")
            found: dict[str, set[object]] = {"meshes": {mesh}}
            primitives = rows_in(self.file.rows("meshes")[mesh], "primitives")
            found["materials"] = {one.get("material") for one in primitives if type(one.get("material")) is int}
            stated = [row for number, row in enumerate(materials) if number in found["materials"]]
            found["textures"] = {number for row in stated for number in texture_numbers(row)}
            used = [row for number, row in enumerate(textures) if number in found["textures"]]
            found["images"] = {row.get("source") for row in used if type(row.get("source")) is int}
            keys = ((name, number) for name, numbers in found.items() for number in numbers)
            self._parts[mesh] = {self.numbers[key] for key in keys if key in self.numbers}
        return self._parts[mesh]


class _ViewFrame(Struct, frozen=True, eq=False):
    """What the cameras and lights of nodes move with: the path of a body, empty for the world, and its transform."""

    body: str
    place: Array


_WORLD_FRAME = _ViewFrame("", np.eye(4))


def local_matrix(node: dict[str, Any]) -> Array:
    """The transform from a node to the one around it, for column vectors."""
    matrix = node.get("matrix")
    if matrix is not None:
        if not are_numbers(matrix, 16):
            raise MalformedGltfError("a matrix is not 16 numbers")
        found = np.array(matrix, dtype=np.float64).reshape(4, 4).T
        found[3] = _LAST_ROW
        return found
    parts = [node.get("translation", [0, 0, 0]), node.get("rotation", [0, 0, 0, 1]), node.get("scale", [1, 1, 1])]
    if not all(are_numbers(part, count) for part, count in zip(parts, (3, 4, 3), strict=True)):
        raise MalformedGltfError("a translation, rotation or scale is not a list of numbers")
    x, y, z, w = parts[1]
    rotation = spatial.quaternion_matrix([w, x, y, z] if any(parts[1]) else [1.0, 0.0, 0.0, 0.0])
    return spatial.transform(rotation * np.array(parts[2], dtype=np.float64), np.array(parts[0], dtype=np.float64))


_MOST = float(np.finfo(np.float32).max)


def _visibility_problem(stretch: Array, position: Vector, rigid: Array) -> str:
    """Why a shape with a scale cannot be shown: it is a point or a line, or out of range; empty if it can."""
    if not max(np.abs(stretch).max(), np.abs(position).max(), np.abs(rigid).max()) <= _MOST:
        return "its transform is out of the range of single precision"
    sizes = np.linalg.svd(stretch, compute_uv=False)
    return "" if sizes[1] > 0.0 else "its scale is zero in " + ("all directions" if not sizes[0] else "two directions")


def split_matrix(matrix: Array) -> tuple[Array, Array]:
    """A transform as a rotation and translation, and the linear map before it, which scales or shears."""
    linear = matrix[:3, :3]
    with np.errstate(over="ignore"):
        sizes = np.linalg.norm(linear, axis=0)
    if (sizes > 0.0).all():
        axes = linear / sizes
        if np.abs(axes.T @ axes - np.eye(3)).max() < _ORTHOGONAL and np.linalg.det(axes) > 0.0:
            is_rigid = np.abs(sizes - 1.0).max() < 1e-12
            return spatial.transform(axes, matrix[:3, 3]), np.eye(3) if is_rigid else np.diag(sizes)
    return spatial.transform(np.eye(3), matrix[:3, 3]), linear.copy()


def _numbers(owner: dict[str, Any], name: str) -> list[int]:
    found = owner.get(name)
    return [one for one in found if type(one) is int] if isinstance(found, list) else []


def _vector(values: Any, otherwise: Vector = (0.0, 0.0, 0.0)) -> Vector:
    if not are_numbers(values, 3):
        return otherwise
    x, y, z = map(float, values)
    return (x, y, z)


_SHOWN = unused("appearance: not part of a scene")
_CAMERAS, _LIGHTS = SceneField("cameras", owner="world"), SceneField("lights", owner="world")
_MASS_EXTRAS: dict[str, tuple[str, ...]] = {"mass": ("mass",), "com": ("com",), "inertia": ()}
_PLACE: dict[str, SceneField | str] = dict.fromkeys(("@translation", "@rotation", "@scale", "@matrix"), "pose")
_OTHER_DATA = SceneField("name", unused="data of another program", affects_motion=True)
"""Like a name, it affects no motion."""
_NOT_READ = unused("glTF is read without joints, markers and motion", affects_motion=True)
_EXTRAS: dict[str, SceneField | str] = {
    f"@{EXTRAS}": _OTHER_DATA,
    **{f"@{EXTRAS}.{key}": SceneField("inertia", parts=parts) for key, parts in _MASS_EXTRAS.items()},
    **{f"@{EXTRAS}.{key}": _NOT_READ for key in OWN_EXTRAS - _MASS_EXTRAS.keys()},
}
_NODE: dict[str, SceneField | str] = {
    "": STRUCTURE,
    "@name": "name",
    "@children": STRUCTURE,
    "@camera": _CAMERAS,
    f"@{LIGHTS}": _LIGHTS,
    f"@{INSTANCES}": SceneField("geometry", owner="shapes"),
    "@skin": unused("skins are not read", affects_motion=True),
    **_PLACE,
    **_EXTRAS,
}
_EXTENSION = unused("an extension: not part of a scene", affects_motion=True)
_FILE: dict[str, SceneField | str] = {
    "": STRUCTURE,
    **dict.fromkeys(("@asset", "@scene", "@extensionsUsed", "@samplers"), unused("describes the file")),
    **dict.fromkeys(("@scenes", "@buffers", "@bufferViews", "@accessors", "@extensionsRequired"), STRUCTURE),
    **dict.fromkeys(("@extensions", "extension/**"), _EXTENSION),
    "extras/**": _OTHER_DATA,
    **dict.fromkeys(
        [f"{tag}@{EXTRAS}" for tag in ("", *(f"{one}/" for one in (*_LISTS.values(), "light")))], _OTHER_DATA
    ),
    "node": FLATTENED,
    "node/**": FLATTENED,
    "node/@camera": _CAMERAS,
    f"node/@{LIGHTS}": _LIGHTS,
    f"@{LIGHTS}": STRUCTURE,
    "mesh": SceneField("geometry", owner="shapes"),
    "mesh/@primitives": SceneField("geometry", owner="shapes"),
    "mesh/**": unused("a label that nothing refers to"),
    "material": SceneField("color", owner="shapes"),
    "material/@pbrMetallicRoughness": SceneField("color", owner="shapes"),
    "material/**": _SHOWN,
    "camera/**": _CAMERAS,
    "light/**": _LIGHTS,
    "image": SceneField("material", owner="shapes"),
    **dict.fromkeys(("image/@uri", "image/@bufferView"), SceneField("material", owner="shapes")),
    "image/@mimeType": unused("describes the image"),
    "image/**": _SHOWN,
    "texture/**": STRUCTURE,
    "skin/**": unused("skins are not read", affects_motion=True),
    "animation/**": unused("animations are not read", affects_motion=True),
}

SOURCE_MAPPING = SourceMapping(
    SceneFieldTable(
        {
            None: _FILE,
            World: _FILE,
            Body: {**_NODE, "@mesh": SceneField("geometry", owner="shapes")},
            Shape: {**_NODE, "@mesh": "geometry"},
        }
    ),
    DiagnosticEffects(
        ignored=(
            *("GL105", "GL106.mesh", "GL106.compressed", "GL106.draco", "GL107", "GL108", "GL109.range"),
            *("GL110.shape", "GL110.scene", "GL110.version"),
        ),
        used=(
            *("GL105.shared", "GL105.places", "GL106", "GL109.aspect", "GL109.cone", "GL109.bright"),
            *("GL110", "GL110.matrix", "GL110.primitive"),
        ),
        attributes={"GL110.shape": ("mesh", "scale", "matrix")},
    ),
)
