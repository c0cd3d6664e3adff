"""Read a glTF file, text or binary, as a scene of static bodies.

glTF has shapes and no physics: each node with a mesh is a body.  A file that Exoskel wrote states in its extras which
nodes are bodies, and their masses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.diagnostics import Collector, Severity
from exoskel.formats.gltf.accessors import GltfFile, MalformedGltfError, is_finite_number, open_file
from exoskel.formats.gltf.cameras_and_lights import LIGHTS, GltfViewReader, light_rows
from exoskel.formats.gltf.codes import CATALOGUE
from exoskel.formats.gltf.extras import EXTRAS, OWN_EXTRAS, other_extras
from exoskel.formats.gltf.foreign_data import (
    EXTENSION_TAG,
    EXTRAS_TAG,
    ForeignData,
    MeshOrigin,
    PreservedValue,
    foreign_values,
    has_row,
    longest_list,
)
from exoskel.formats.gltf.texture_coordinates import read_coordinates, set_name
from exoskel.formats.gltf.textures import color_image, name_inside, texture_numbers
from exoskel.formats.interface import DiagnosticEffects, ReadOptions, SourceMapping
from exoskel.scene.body import Body
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import Names, qualified_name, unique_name
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Vector, poses_from_matrices
from exoskel.scene.shape import Color, Material, Shape, Texture, TriMesh
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.validation import find_invalid
from exoskel.scene.world import DEFAULT_TIME_STEP, Scene, World
from exoskel.source import file_lookup
from exoskel.source.document import Document, ObjectDocument, SourceObject
from exoskel.source.mesh_parsing import MeshError, Triangles, linear_to_srgb
from exoskel.source.meshes import MeshFinder
from exoskel.source.textures import ImageError, TextureFinder
from exoskel.source.vocabulary import FLATTENED, STRUCTURE, SceneField, SceneFieldTable, unused
from exoskel.spatial import Array

_GRAVITY: Vector = (0.0, -9.81, 0.0)
"""glTF is y-up."""
_ORTHOGONAL = 1e-6
_LEAST_LIMIT, _MOST_COPIES = 2**28, 64
"""Meshes may need 256 MiB, and 64 times the size of the file."""
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
_SUPPORTED = ("KHR_mesh_quantization", "KHR_draco_mesh_compression", "KHR_texture_transform", "KHR_materials_", LIGHTS)
"""The first parts of the names of extensions that are read, are appearance, or are reported where they are used."""
_INSTANCES = "EXT_mesh_gpu_instancing"
ReportGltf = Callable[..., None]


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
    problems = [found for found in find_invalid(scene) if found.severity is Severity.ERROR]
    for found in problems:
        collector.report("GL104", reason=found.message)
    if problems:
        scene.worlds.clear()
    return scene


ObjectNumbers = dict[tuple[str, int], int]
"""The numbers of the objects of the document, by list and place."""


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
            found += [LIGHTS] if LIGHTS in value else []
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
        self._files = files
        self._images: set[int] = set()
        """The images that are the textures of shapes."""
        self._problems: dict[int, str] = {}
        """Why images of base colours cannot be read."""
        self.numbers = numbers
        self.report = report
        self.nodes = file.rows("nodes")
        self.users: dict[int, set[int]] = {}
        """Nodes around bodies, meshes, materials and images, and the bodies that they are for."""
        self.is_own = file.is_own
        self._meshes: dict[tuple[int, bytes], list[tuple[TriMesh, Color | None, Material | None]]] = {}
        self.preserved = preserved
        self._parts: dict[int, set[int]] = {}
        self._seen: set[int] = set()
        self._size = 0
        """The bytes of all meshes, each once for every scale that it is used with."""
        self._most = max(_LEAST_LIMIT, _MOST_COPIES * len(file.binary))

    def worlds(self) -> Iterator[World]:
        for name in _UNREAD:
            if self.file.rows(name):
                self.report("GL105", self.numbers[name, 0], kind=name)
        self._report_extensions()
        scenes = self.file.rows("scenes") or [{"nodes": self._roots()}]
        for number, scene in enumerate(scenes):
            yield self._world(scene, number)
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
        for number, node in enumerate(self.nodes):
            extensions = node.get("extensions")
            if isinstance(extensions, dict) and _INSTANCES in extensions:
                path = f"/nodes/{number}/extensions/{_INSTANCES}"
                self.report("GL105.instances", self.numbers[path, -1], number=number)

    def _report_images(self) -> None:
        """Report the textures and images that are not read."""
        for number, texture in enumerate(self.file.rows("textures")):
            if type(texture.get("source")) is not int:
                self.report("GL105", self.numbers["textures", number], kind="textures of extensions")
        for number in range(len(self.file.rows("images"))):
            if number not in self._images:
                reason = self._problems.get(number, "only images of base colours are read")
                self.report("GL105.image", self.numbers["images", number], number=number, reason=reason)

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
        roots = [(number, np.eye(4)) for number in _numbers(scene, "nodes")]
        if self.is_own and len(roots) == 1:  # the node that rotates the world to y-up
            self._seen.add(roots[0][0])
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
            if number in self._seen:
                raise MalformedGltfError(f"node {number} has several parents")
            self._seen.add(number)
            node = self._node(number)
            here = outer @ local_matrix(node)
            shapes = self._shape_nodes(number, node)
            owned = {child for child in shapes if child != number}
            if shapes:
                body = self._add_body(model, number, here, shapes, names)
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
            if not (_are_numbers([extras["mass"]], 1) and _are_numbers(extras.get("inertia"), 6)):
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
        node = self._node(number)
        rigid, stretch = split_matrix(place)
        (pose,) = poses_from_matrices(rigid[None])
        mesh = node.get("mesh")
        if not isinstance(mesh, int) or not 0 <= mesh < len(self.file.rows("meshes")):
            raise MalformedGltfError(f"mesh {mesh} does not exist")
        for part in self._parts_of_mesh(mesh):
            self.users.setdefault(part, set()).add(body.node)
        for geometry, color, material in self._triangles(mesh, stretch):
            name = str(node.get("name") or "")
            shape = Shape(geometry=geometry, pose=pose, color=color, name=name, material=material, document=0)
            shape.node = self.numbers["nodes", number] if is_own_node else -1
            body.visuals.append(shape)

    def _parts_of_mesh(self, mesh: int) -> set[int]:
        """The objects of the document for a mesh: itself, its materials, their textures and images."""
        if mesh not in self._parts:
            materials, textures = self.file.rows("materials"), self.file.rows("textures")
            found: dict[str, set[object]] = {"meshes": {mesh}}
            primitives = _rows(self.file.rows("meshes")[mesh], "primitives")
            found["materials"] = {one.get("material") for one in primitives if type(one.get("material")) is int}
            stated = [row for number, row in enumerate(materials) if number in found["materials"]]
            found["textures"] = {number for row in stated for number in texture_numbers(row)}
            used = [row for number, row in enumerate(textures) if number in found["textures"]]
            found["images"] = {row.get("source") for row in used if type(row.get("source")) is int}
            keys = ((name, number) for name, numbers in found.items() for number in numbers)
            self._parts[mesh] = {self.numbers[key] for key in keys if key in self.numbers}
        return self._parts[mesh]

    def _triangles(self, mesh: int, stretch: Array) -> list[tuple[TriMesh, Color | None, Material | None]]:
        key = (mesh, stretch.tobytes())
        if key not in self._meshes:
            made = []
            for number, primitive in enumerate(_rows(self.file.rows("meshes")[mesh], "primitives")):
                found = self._primitive(mesh, primitive, stretch)
                if found is not None:
                    made.append(found)
                    material = primitive.get("material")
                    material = material if type(material) is int else None
                    self.preserved.note_mesh(found[0], MeshOrigin(mesh, number, material, *found[1:]))
            self._meshes[key] = made
        return self._meshes[key]

    def _primitive(
        self, mesh: int, primitive: dict[str, Any], stretch: Array
    ) -> tuple[TriMesh, Color | None, Material | None] | None:
        extensions = primitive.get("extensions") or {}
        is_unread = primitive.get("mode", 4) != 4 or "KHR_draco_mesh_compression" in extensions
        if is_unread or "targets" in primitive:
            self.report("GL106", self.numbers["meshes", mesh], mesh=mesh)
            if is_unread:
                return None
        points = self.file.array(primitive.get("attributes", {}).get("POSITION"), 3)
        self._count_size(len(points))
        if "indices" in primitive:
            indices = self.file.array(primitive["indices"], 1).ravel()
            self._count_size(len(indices) // 3)
            indices = indices.astype(np.int64)
        else:
            indices = np.arange(len(points), dtype=np.int64)
        if len(indices) % 3 or (len(indices) and indices.max() >= len(points)) or not len(indices):
            raise MalformedGltfError(f"the indices of mesh {mesh} do not fit its vertices")
        triangles = indices.reshape(-1, 3)
        if np.linalg.det(stretch) < 0.0:
            triangles = np.ascontiguousarray(triangles[:, ::-1])
        sizes = np.diag(stretch)
        is_plain = np.array_equal(stretch, np.diag(sizes))
        vertices = points.astype(np.float64) * sizes if is_plain else points.astype(np.float64) @ stretch.T
        if not np.isfinite(vertices).all():
            raise MalformedGltfError(f"mesh {mesh} has vertices that are not finite")
        uvs = self._texture_coordinates(mesh, primitive, triangles, len(points))
        geometry = TriMesh(np.ascontiguousarray(vertices), triangles, uvs=uvs)
        return geometry, self._color(primitive), self._material(primitive)

    def _texture_coordinates(
        self, mesh: int, primitive: dict[str, Any], triangles: Triangles, count: int
    ) -> Array | None:
        stated = self._surface(primitive).get("baseColorTexture")
        if set_name(stated) not in primitive["attributes"]:
            return None
        self._count_size(count)
        self._count_size(len(triangles) * 2)
        found = read_coordinates(self.file, primitive, stated, triangles, count)
        if found is None:
            self.report("GL105.places", self.numbers["meshes", mesh], mesh=mesh)
        return found

    def _surface(self, primitive: dict[str, Any]) -> dict[str, Any]:
        """What the material of a primitive states about its surface."""
        number, materials = primitive.get("material"), self.file.rows("materials")
        if type(number) is not int or not 0 <= number < len(materials):
            return {}
        found = materials[number].get("pbrMetallicRoughness")
        return found if isinstance(found, dict) else {}

    def _count_size(self, rows: int) -> None:
        """Count rows of three numbers before they are created.  Raises MalformedGltfError."""
        self._size += 24 * rows
        if self._size > self._most:
            raise MalformedGltfError(f"its meshes and their scaled copies need more than {self._most // 2**20} MB")

    def _material(self, primitive: dict[str, Any]) -> Material | None:
        """The roughness and metalness that a file states; in our own files, only those of the scene."""
        number, materials = primitive.get("material"), self.file.rows("materials")
        if not isinstance(number, int) or not 0 <= number < len(materials):
            return None
        surface = materials[number].get("pbrMetallicRoughness") or {}
        values: list[Any] = [surface.get(name) for name in ("roughnessFactor", "metallicFactor")]
        if self.is_own:
            stated = [*str(materials[number].get("name", "")).split()[4:], "-", "-"]
            values = [None if text == "-" else value for text, value in zip(stated, values, strict=False)]
        rough, metal = (float(value) if _are_numbers([value], 1) and 0.0 <= value <= 1.0 else None for value in values)
        made = Material(rough, metal, self._texture(surface))
        return made if made != Material() else None

    def _texture(self, surface: dict[str, Any]) -> Texture | None:
        found = color_image(self.file, surface)
        if found is None:
            return None
        if found.uri:
            self._images.add(found.number)
            return self._files.locate(Texture(unquote(found.uri), found.repeat))
        try:
            name = name_inside(self.file, found.number)
        except ImageError as problem:
            self._problems[found.number] = str(problem)
            return None
        texture = self._files.locate_inside(Texture(name, found.repeat), name)
        if texture.path is None:
            self._problems[found.number] = "it is inside a document that is not a file"
            return None
        self._images.add(found.number)
        return texture

    def _color(self, primitive: dict[str, Any]) -> Color | None:
        number = primitive.get("material")
        materials = self.file.rows("materials")
        if not isinstance(number, int) or not 0 <= number < len(materials):
            return None
        surface = materials[number].get("pbrMetallicRoughness") or {}
        factor = surface.get("baseColorFactor", [1.0, 1.0, 1.0, 1.0])
        if not _are_numbers(factor, 4):
            raise MalformedGltfError(f"the colour of material {number} is not four numbers")
        r, g, b, a = np.round(linear_to_srgb(np.clip(factor, 0.0, 1.0)), 7).tolist()
        return (r, g, b, a)


class _ViewFrame(Struct, frozen=True, eq=False):
    """What the cameras and lights of nodes move with: the path of a body, empty for the world, and its transform."""

    body: str
    place: Array


_WORLD_FRAME = _ViewFrame("", np.eye(4))


def local_matrix(node: dict[str, Any]) -> Array:
    """The transform from a node to the one around it, for column vectors."""
    matrix = node.get("matrix")
    if matrix is not None:
        if not _are_numbers(matrix, 16):
            raise MalformedGltfError("a matrix is not 16 numbers")
        return np.array(matrix, dtype=np.float64).reshape(4, 4).T
    parts = [node.get("translation", [0, 0, 0]), node.get("rotation", [0, 0, 0, 1]), node.get("scale", [1, 1, 1])]
    if not all(_are_numbers(part, count) for part, count in zip(parts, (3, 4, 3), strict=True)):
        raise MalformedGltfError("a translation, rotation or scale is not a list of numbers")
    x, y, z, w = parts[1]
    rotation = spatial.quaternion_matrix([w, x, y, z] if any(parts[1]) else [1.0, 0.0, 0.0, 0.0])
    return spatial.transform(rotation * np.array(parts[2], dtype=np.float64), np.array(parts[0], dtype=np.float64))


def split_matrix(matrix: Array) -> tuple[Array, Array]:
    """A transform as a rotation and translation, and the linear map before it, which scales or shears."""
    linear = matrix[:3, :3]
    sizes = np.linalg.norm(linear, axis=0)
    if (sizes > 0.0).all():
        axes = linear / sizes
        if np.abs(axes.T @ axes - np.eye(3)).max() < _ORTHOGONAL and np.linalg.det(axes) > 0.0:
            is_rigid = np.abs(sizes - 1.0).max() < 1e-12
            return spatial.transform(axes, matrix[:3, 3]), np.eye(3) if is_rigid else np.diag(sizes)
    return spatial.transform(np.eye(3), matrix[:3, 3]), linear.copy()


def _rows(owner: dict[str, Any], name: str) -> list[dict[str, Any]]:
    found = owner.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _numbers(owner: dict[str, Any], name: str) -> list[int]:
    found = owner.get(name)
    return [one for one in found if type(one) is int] if isinstance(found, list) else []


def _are_numbers(values: Any, count: int) -> bool:
    return isinstance(values, list) and len(values) == count and all(map(is_finite_number, values))


def _vector(values: Any, otherwise: Vector = (0.0, 0.0, 0.0)) -> Vector:
    if not _are_numbers(values, 3):
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
        ignored=("GL105", "GL107", "GL108", "GL109.range"),
        used=("GL106", "GL105.places", "GL109.aspect", "GL109.cone", "GL109.bright"),
    ),
)
