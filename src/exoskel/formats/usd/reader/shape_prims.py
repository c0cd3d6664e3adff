"""Read the shapes, sites and mass properties of bodies from the prims of a stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.diagnostics import repeats
from exoskel.formats.usd.mapping import SKIN
from exoskel.formats.usd.reader.prims import (
    COLLIDER,
    TAPERED,
    BodySource,
    PrimIndex,
    PrimPlacement,
    placement,
    read_material,
)
from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.formats.usd.reader.tapered_solids import TaperedSolid
from exoskel.formats.usd.reader.texture_coordinates import (
    CoordinateTransform,
    Corners,
    coordinate_name,
    coordinate_names,
    read_coordinates,
    stated_coordinates,
)
from exoskel.formats.usd.textures import FILE, SCALE, read_texture
from exoskel.scene.body import Body, Marker
from exoskel.scene.pose import Pose, poses_from_matrices
from exoskel.scene.shape import (
    Box,
    Capsule,
    Color,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Material,
    Plane,
    Shape,
    Sphere,
    Texture,
    TriMesh,
)
from exoskel.source.mesh_parsing import Triangles
from exoskel.source.surface import has_hollows
from exoskel.spatial import Array

ReportProblem = Callable[..., None]
SITES = frozenset({"NewtonSiteAPI", "MjcSiteAPI"})
MATERIAL = "PhysicsMaterialAPI"
_CONTACT = "/Looks/contact"
"""The material of all colliders in files of Exoskel: the defaults of engines."""
_DIFFUSE = ("inputs:diffuseColor", "inputs:diffuse_color_constant", "inputs:base_color")
_OPACITY = ("inputs:opacity", "inputs:opacity_constant")
_EVEN = 1e-6
"""The tolerance for two factors of a scale that are the same."""
_TO_Z: dict[str, Array] = {
    "X": np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]),
    "Y": np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]]),
    "Z": np.eye(3),
}
"""The rotations from z to the axis of a primitive."""


class PlacedGeometry(Struct):
    """A geometry, and the rotation from its axes to those of the prim."""

    geometry: Geometry
    rotation: Array


class ShapePrimReader:
    """The shapes of one stage."""

    def __init__(
        self, index: PrimIndex, report: ReportProblem, find_texture: Callable[[Texture], Texture], *, is_own: bool
    ) -> None:
        self.index = index
        self.find_texture = find_texture
        self.report = report
        self.is_own = is_own
        self.by_path: dict[str, Shape] = {}
        """Collision shapes by the path of their prim."""
        self.hidden: list[StagePrim] = []
        self._visible: list[tuple[Body, Shape]] = []

    def read(self, source: BodySource, body: Body, frame: Array) -> None:
        """Read the shapes of a body, whose frame is a transform to the world."""
        seen: list[Shape] = []
        to_body = spatial.inverse(frame)
        for prim in source.shapes:
            if SKIN in prim.custom:
                self.report("US113.skin", self.index.node(prim), name=body.name)
                continue
            place = placement(to_body @ self.index.matrix(prim))
            if SITES & {*prim.apis}:
                self._add_site(prim, body, place)
                continue
            is_solid = COLLIDER in prim.apis
            is_seen = prim.is_visible and prim.purpose in ("default", "render")
            if not is_solid and not is_seen:
                self.hidden.append(prim)
                continue
            shape = self._shape(prim, place, is_solid=is_solid)
            if shape is None:
                continue
            if is_solid:
                self.by_path[prim.path] = shape
                body.collisions.append(shape)
                seen += [shape] if is_seen else []
            else:
                body.visuals.append(shape)
        if body.visuals:  # without visual shapes, the collision shapes are shown
            body.visuals += [_visual_copy(shape) for shape in seen]

    def report_hidden(self) -> None:
        """Report shapes that neither collide nor are visible."""
        if self.hidden:
            self.report("US113.hidden", self.index.node(self.hidden[0]), repeats=repeats(len(self.hidden)))

    def _add_site(self, prim: StagePrim, body: Body, place: PrimPlacement) -> None:
        x, y, z = place.rigid[:3, 3].tolist()
        body.markers.append(Marker(name=prim.title, offset=(x, y, z), document=0, node=self.index.node(prim)))

    def _shape(self, prim: StagePrim, place: PrimPlacement, *, is_solid: bool) -> Shape | None:
        found = self._geometry(prim, place)
        if found is None:
            return None
        rigid = place.rigid.copy()
        rigid[:3, :3] = rigid[:3, :3] @ found.rotation
        geometry = self._approximate(prim, found.geometry) if is_solid else found.geometry
        (pose,) = poses_from_matrices(rigid[None])
        shape = Shape(
            geometry=geometry,
            name=prim.title,
            pose=pose,
            color=self._color(prim),
            material=self._material(prim),
            document=0,
            node=self.index.node(prim),
        )
        self._report_unread_coordinates(prim, geometry)
        if isinstance(geometry, Box | Sphere) and geometry is not found.geometry:
            shape.pose = _moved(pose, found.geometry)
        if is_solid:
            shape.collidable = bool(prim.values.get("physics:collisionEnabled", True))
            self._set_contact(shape, prim)
        return shape

    def _report_unread_coordinates(self, prim: StagePrim, geometry: Geometry) -> None:
        read = isinstance(geometry, TriMesh) and geometry.uvs is not None
        used = coordinate_name(prim, self._stated_coordinates(prim)[0]) if read else ""
        for name in coordinate_names(prim):
            if name != used:
                primvar = name.partition(":")[2]
                self.report("US113.places", self.index.node(prim), attribute=name, name=prim.title, primvar=primvar)

    # --- geometry -------------------------------------------------------------------------------------

    def _geometry(self, prim: StagePrim, place: PrimPlacement) -> PlacedGeometry | None:
        if prim.type == "Mesh":
            mesh = self._mesh(prim, place)
            return PlacedGeometry(mesh, np.eye(3)) if mesh is not None else None
        if place.is_sheared:
            self.report("US104", self.index.node(prim), kind=prim.type)
        x, y, z = map(abs, place.scale)
        values = prim.values
        if prim.type == "Cube":
            size = float(values.get("size", 2.0))
            return PlacedGeometry(Box((size * x, size * y, size * z)), np.eye(3))
        if prim.type == "Sphere":
            radius = float(values.get("radius", 1.0))
            if max(x, y, z) - min(x, y, z) <= _EVEN * max(x, y, z):
                return PlacedGeometry(Sphere(radius * x), np.eye(3))
            return PlacedGeometry(Ellipsoid((2.0 * radius * x, 2.0 * radius * y, 2.0 * radius * z)), np.eye(3))
        axis = str(values.get("axis", "Z"))
        rotation = _TO_Z.get(axis, np.eye(3))
        if prim.type == "Plane":
            return PlacedGeometry(Plane((0.0, 0.0, 1.0)), rotation)
        return PlacedGeometry(self._round_solid(prim, axis, (x, y, z)), rotation)

    def _round_solid(self, prim: StagePrim, axis: str, scale: tuple[float, float, float]) -> Geometry:
        along = scale["XYZ".find(axis)]
        one, other = (factor for letter, factor in zip("XYZ", scale, strict=True) if letter != axis)
        uneven = abs(one - other) > _EVEN * max(one, other)
        if uneven or (prim.type in _CAPSULES and abs(one - along) > _EVEN * max(one, along)):
            self.report("US104.uneven", self.index.node(prim), kind=prim.type)
        if prim.type in TAPERED:
            solid = tapered_solid(prim, axis, scale)
            if solid.has_facets:
                self.report("US104.tapered", self.index.node(prim), kind=prim.type)
            return solid.geometry
        default_radius, default_height = _sizes(prim)
        radius = float(prim.values.get("radius", default_radius)) * (one + other) / 2.0
        height = float(prim.values.get("height", default_height)) * along
        return _ROUND[prim.type](radius, height)

    def _mesh(self, prim: StagePrim, place: PrimPlacement) -> TriMesh | None:
        arrays = {name: one.array() for name, one in prim.arrays.items()}
        points = _rows_of_three(arrays.get("points", np.empty(0))) @ place.stretch.T
        indices = arrays.get("faceVertexIndices", np.empty(0, dtype=np.int64))
        counts = arrays.get("faceVertexCounts", np.empty(0, dtype=np.int64))
        corners = triangulate(counts, indices, len(points))
        if corners is None or not len(corners):
            self.report("US105.mesh", self.index.node(prim), name=prim.title)
            return None
        is_mirrored = np.linalg.det(place.stretch) < 0.0
        if is_mirrored != (prim.values.get("orientation") == "leftHanded"):
            corners = corners[:, ::-1]
        triangles: Triangles = indices.astype(np.int64).ravel()[corners]
        uvs = self._texture_coordinates(prim, corners, triangles, counts) if coordinate_names(prim) else None
        return TriMesh(np.ascontiguousarray(points), np.ascontiguousarray(triangles), uvs=uvs)

    def _texture_coordinates(
        self, prim: StagePrim, corners: Triangles, triangles: Triangles, counts: Triangles
    ) -> Array | None:
        """The places of the corners of triangles on the image of the material."""
        faces = np.repeat(np.arange(len(counts.ravel())), counts.astype(np.int64).ravel())
        numbers = corners.ravel()
        wanted, moved = self._stated_coordinates(prim)
        return read_coordinates(prim, Corners(numbers, triangles.ravel(), faces[numbers]), wanted, moved)

    def _stated_coordinates(self, prim: StagePrim) -> tuple[str, CoordinateTransform]:
        """The name of the texture coordinates that the material of a prim uses, and how they are moved."""
        path = prim.materials.get("", "")
        shaders = self.index.children.get(path, ()) if path else ()
        named = (stated_coordinates(shader.path, self._values, self._source) for shader in shaders)
        return next((one for one in named if one[0]), ("", CoordinateTransform()))

    def _approximate(self, prim: StagePrim, geometry: Geometry) -> Geometry:
        """The shape that collides instead of a mesh."""
        wanted = str(prim.values.get("physics:approximation", "none"))
        if not isinstance(geometry, TriMesh) or wanted == "none":
            return geometry
        low, high = geometry.vertices.min(axis=0), geometry.vertices.max(axis=0)
        if wanted == "boundingCube":
            x, y, z = (high - low).tolist()
            return Box((x, y, z))
        if wanted == "boundingSphere":
            return Sphere(float(np.linalg.norm(geometry.vertices - (low + high) / 2.0, axis=1).max()))
        if has_hollows(geometry.vertices, geometry.triangles):
            self.report("US105.approximation", self.index.node(prim), attribute="physics:approximation", name=wanted)
        return geometry

    # --- materials ------------------------------------------------------------------------------------

    def _material(self, prim: StagePrim) -> Material | None:
        path = prim.materials.get("", "")
        shaders = self.index.children.get(path, ()) if path else ()
        found = (read_material(shader.values, self._texture(shader)) for shader in shaders)
        return next((one for one in found if one is not None), None)

    def _texture(self, surface: StagePrim) -> Texture | None:
        texture = read_texture(surface.path, self._values, self._source)
        return None if texture is None else self.find_texture(texture)

    def _values(self, path: str) -> dict[str, Any]:
        """The values of a shader."""
        found = self.index.by_path.get(path)
        return {} if found is None else found.values

    def _source(self, path: str, name: str) -> str:
        """The path of the shader that an input of a shader comes from."""
        found = self.index.by_path.get(path)
        return "" if found is None else found.target(name)

    def _color(self, prim: StagePrim) -> Color | None:
        """The colour of a material's surface, or the displayed colour."""
        material = prim.materials.get("", "")
        shaders = [self.index.by_path[material]] if material in self.index.by_path else []
        shaders += self.index.children.get(material, ()) if material else ()
        for shader in shaders:
            found = next((shader.values[name] for name in _DIFFUSE if name in shader.values), None)
            if found is not None and len(found) >= 3:
                opacity = next((shader.values[name] for name in _OPACITY if name in shader.values), 1.0)
                return (float(found[0]), float(found[1]), float(found[2]), float(opacity))
        return _displayed(prim) or next((one for one in map(self._tint, shaders) if one is not None), None)

    def _tint(self, surface: StagePrim) -> Color | None:
        """The colour that multiplies the texture of a surface."""
        image = self.index.by_path.get(surface.target("inputs:diffuseColor"))
        scale = image.values.get(SCALE) if image is not None and FILE in image.values else None
        if not isinstance(scale, list | tuple) or len(scale) != 4 or all(one == 1.0 for one in scale):
            return None
        opacity = next((surface.values[name] for name in _OPACITY if name in surface.values), 1.0)
        return (float(scale[0]), float(scale[1]), float(scale[2]), float(opacity))

    def _set_contact(self, shape: Shape, prim: StagePrim) -> None:
        material = self.index.by_path.get(prim.materials.get("physics", ""))
        if material is None or MATERIAL not in material.apis or (self.is_own and material.path.endswith(_CONTACT)):
            return
        friction, restitution = (material.values.get(f"physics:{name}") for name in ("dynamicFriction", "restitution"))
        shape.friction = None if friction is None else float(friction)
        shape.restitution = None if restitution is None else float(restitution)


_ROUND: dict[str, Callable[[float, float], Geometry]] = {"Cylinder": Cylinder, "Capsule": Capsule, "Cone": Cone}


_CAPSULES = frozenset({"Capsule", "Capsule_1"})


def _sizes(prim: StagePrim) -> tuple[float, float]:
    """The radius and height of a round solid that states none."""
    return (0.5, 1.0) if prim.type in _CAPSULES else (1.0, 2.0)


def tapered_solid(prim: StagePrim, axis: str, scale: tuple[float, float, float]) -> TaperedSolid:
    """A solid whose ends have radii of their own, in m."""
    along = scale["XYZ".find(axis)]
    across = sum(factor for letter, factor in zip("XYZ", scale, strict=True) if letter != axis) / 2.0
    default_radius, default_height = _sizes(prim)
    bottom, top = (across * float(prim.values.get(f"radius{end}", default_radius)) for end in ("Bottom", "Top"))
    height = along * float(prim.values.get("height", default_height))
    return TaperedSolid(bottom, top, height, prim.type in _CAPSULES)


def triangulate(counts: Triangles, indices: Triangles, points: int) -> Triangles | None:
    """The corners of triangles, by their numbers in `indices`: of each polygon, a fan from its first corner.

    None if the numbers do not fit.
    """
    counts, indices = counts.astype(np.int64).ravel(), indices.astype(np.int64).ravel()
    fits = (counts >= 0).all() and counts.sum() == len(indices)
    if not fits or (len(indices) and (indices.min() < 0 or indices.max() >= points)):
        return None
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else counts
    fans = np.maximum(counts - 2, 0)
    first = np.repeat(starts, fans)
    step = np.arange(int(fans.sum())) - np.repeat(np.cumsum(fans) - fans, fans)
    return np.stack([first, first + step + 1, first + step + 2], axis=1) if len(first) else np.zeros((0, 3), int)


def _moved(pose: Pose, mesh: Geometry) -> Pose:
    """The pose of a bounding box or sphere: in the middle of the mesh that it replaces."""
    assert isinstance(mesh, TriMesh)
    middle = (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0)) / 2.0
    matrix = pose.matrix()
    matrix[:3, 3] += matrix[:3, :3] @ middle
    return poses_from_matrices(matrix[None])[0]


def _rows_of_three(numbers: Array) -> Array:
    """Numbers as vectors; none if their count is not a multiple of three."""
    return numbers.reshape(-1, 3) if numbers.size % 3 == 0 else np.empty((0, 3))


def _displayed(prim: StagePrim) -> Color | None:
    """The displayed colour with its opacity; None without a colour or with one for each vertex."""
    colors = prim.arrays.get("primvars:displayColor")
    rows: Any = _rows_of_three(colors.array()) if colors is not None else ()
    if len(rows) != 1:
        return None
    opacities = prim.arrays.get("primvars:displayOpacity")
    opacity = opacities.array().ravel() if opacities is not None else np.ones(1)
    r, g, b = rows[0].tolist()
    return (r, g, b, float(opacity[0]) if len(opacity) == 1 else 1.0)


def _visual_copy(shape: Shape) -> Shape:
    return Shape(
        geometry=shape.geometry, name=shape.name, pose=shape.pose, color=shape.color, document=0, node=shape.node
    )
