"""Shapes: what is seen and what collides, as USD's own solids where it has them, else as triangles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from exoskel import spatial
from exoskel.formats.usd.codes import tell
from exoskel.formats.usd.mapping import SHAPES
from exoskel.formats.usd.names import Identifiers
from exoskel.formats.usd.tree import Prim, PrimPath, Properties, Varying
from exoskel.formats.usd.writing.materials import MaterialWriter
from exoskel.scene.pose import pose_matrices
from exoskel.scene.shape import (
    Box,
    Capsule,
    Color,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    MultiSphere,
    Plane,
    Pyramid,
    Shape,
    Sphere,
    TriMesh,
)
from exoskel.source.output_context import OutputContext
from exoskel.source.surface import Surface, Surfaces
from exoskel.spatial import Array

MESHES = "Meshes"
"""The root under which meshes lie that are used more than once."""
_DRAWN = 100.0
"""How much of a plane is drawn, in m."""
_UNMOVED, _UNTURNED = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]
_HULLS = (Ellipsoid, MultiSphere, Pyramid)
"""Colliders whose hull is meant, not their triangles."""

Use = tuple[Geometry, bool]
"""A geometry, and whether it is to be seen or to collide."""


class ShapeWriter:
    """The shapes of a scene, whose places are worked out at once."""

    def __init__(self, seen: Iterable[Shape], solid: Iterable[Shape], output: OutputContext) -> None:
        self.output = output
        self.surfaces = Surfaces()
        seen, solid = list(seen), list(solid)
        self.places = _places([*seen, *solid])
        uses: list[Use] = [(s.geometry, True) for s in seen if _is_mesh(s.geometry, True)]
        uses += [(s.geometry, False) for s in solid if _is_mesh(s.geometry, False)]
        self.shared: dict[Use, PrimPath] = {}
        self.prototypes: list[Prim] = []
        self.names = Identifiers()
        self.again = {use for use, count in Counter(uses).items() if count > 1}

    def seen(self, shape: Shape, name: str, looks: MaterialWriter) -> Prim | None:
        """A shape to look at."""
        made = self._gprim(shape, name, is_seen=True)
        if made is not None and shape.color is not None:
            _paint(made, shape.color, looks)
        return made

    def solid(self, shape: Shape, name: str, *, is_hidden: bool) -> Prim | None:
        """A shape to collide with; hidden where there are others to look at."""
        made = self._gprim(shape, name, is_seen=False)
        if made is None:
            return None
        made.apis.append("PhysicsCollisionAPI")
        if made.type == "Mesh":
            made.apis.append("PhysicsMeshCollisionAPI")
            hull = isinstance(shape.geometry, _HULLS)
            made.properties["uniform token physics:approximation"] = "convexHull" if hull else "none"
        if not shape.collidable:
            made.properties["bool physics:collisionEnabled"] = False
        if is_hidden:
            made.properties["uniform token purpose"] = "guide"
        return made

    def meshes(self) -> Prim | None:
        """The meshes that are referred to; abstract, so that nobody takes them for things."""
        return Prim("Scope", MESHES, children=self.prototypes, specifier="class") if self.prototypes else None

    # --- geometry -------------------------------------------------------------------------------------

    def _gprim(self, shape: Shape, name: str, *, is_seen: bool) -> Prim | None:
        geometry = shape.geometry
        row = SHAPES[shape.kind]
        if not row.prim:
            tell(self.output, shape, "US308", "geometry", kind=shape.kind)
            return None
        position, turn = self.places[id(shape)]
        if _is_mesh(geometry, is_seen):
            made = self._mesh(shape, name, is_seen)
            if made is not None:
                _place(made.properties, position, turn)
            return made
        made = Prim(row.prim, name, item=shape)
        scale = _add_solid(made.properties, geometry)
        if isinstance(geometry, Plane | Cone):
            position, turn = _moved(geometry, position, turn)
        _place(made.properties, position, turn, scale)
        return made

    def _mesh(self, shape: Shape, name: str, is_seen: bool) -> Prim | None:
        geometry = shape.geometry
        if not is_seen and isinstance(geometry, Ellipsoid | MultiSphere):
            tell(self.output, shape, "US207", "geometry", kind=shape.kind)
        surface = self.surfaces.of(geometry)
        if surface is None:
            tell(self.output, shape, "US308.mesh", "geometry", reason=self.surfaces.missing[geometry])
            return None
        use = (geometry, is_seen)
        if use not in self.again:
            return Prim("Mesh", name, properties=_triangles(surface, is_seen), item=shape)
        if use not in self.shared:
            called = self.names.fresh("mesh", "mesh")
            self.shared[use] = PrimPath(f"/{MESHES}/{called}")
            self.prototypes.append(Prim("Mesh", called, properties=_triangles(surface, is_seen)))
        return Prim("Mesh", name, metadata={"references": self.shared[use]}, item=shape)


def _is_mesh(geometry: Geometry, is_seen: bool) -> bool:
    if isinstance(geometry, Ellipsoid):
        return not is_seen
    return isinstance(geometry, Mesh | TriMesh | MultiSphere | Pyramid)


def _places(shapes: list[Shape]) -> dict[int, tuple[list[float], list[float]]]:
    """Positions and quaternions in the body, by the shape's id."""
    transforms = pose_matrices([shape.pose for shape in shapes])
    turns = spatial.quaternion(transforms[:, :3, :3]).tolist() if shapes else []
    return {id(s): (p, q) for s, p, q in zip(shapes, transforms[:, :3, 3].tolist(), turns, strict=True)}


def _add_solid(properties: Properties, geometry: Geometry) -> tuple[float, float, float] | None:
    """The properties of one of USD's own solids; returns by how much it is scaled."""
    match geometry:
        case Box(size=size):
            properties["double size"] = 1.0
            return size
        case Sphere(radius=radius):
            properties["double radius"] = radius
        case Ellipsoid(size=size):
            properties["double radius"] = 0.5
            return size
        case Cylinder() | Capsule() | Cone():
            properties["double radius"] = geometry.radius
            properties["double height"] = geometry.height
            properties["uniform token axis"] = "Z"
        case Plane():
            properties["double width"] = _DRAWN
            properties["double length"] = _DRAWN
            properties["uniform token axis"] = "Z"
    return None


def _moved(geometry: Plane | Cone, position: list[float], turn: list[float]) -> tuple[list[float], list[float]]:
    """Where USD has the origin: on a plane, which faces z, and at half the height of a cone."""
    rotation = spatial.quaternion_matrix(turn)
    if isinstance(geometry, Cone):
        if geometry.centred:
            return position, turn
        return (spatial.array(position) + rotation @ (0.0, 0.0, geometry.height / 2.0)).tolist(), turn
    place = spatial.array(position) + geometry.offset * rotation @ spatial.array(geometry.normal)
    if geometry.normal != (0.0, 0.0, 1.0):
        turn = spatial.quaternion(rotation @ spatial.rotation_from_z(geometry.normal)).tolist()
    return place.tolist(), turn


def _place(
    properties: Properties, position: list[float], turn: list[float], scale: tuple[float, float, float] | None = None
) -> None:
    """Where a shape is in its body; what does nothing is not said."""
    order: list[str] = []
    for declaration, value, nothing in (
        ("double3 xformOp:translate", position, _UNMOVED),
        ("quatd xformOp:orient", turn, _UNTURNED),
        ("double3 xformOp:scale", scale, None),
    ):
        if value != nothing and value is not None:
            properties[declaration] = tuple(value)
            order.append(declaration.partition(" ")[2])
    if order:
        properties["uniform token[] xformOpOrder"] = order


def _paint(made: Prim, color: Color, looks: MaterialWriter) -> None:
    made.apis.append("MaterialBindingAPI")
    made.properties["rel material:binding"] = looks.of(color)
    made.properties["color3f[] primvars:displayColor"] = [color[:3]]
    if color[3] != 1.0:
        made.properties["float[] primvars:displayOpacity"] = [color[3]]


def _triangles(surface: Surface, is_seen: bool) -> Properties:
    """A polygonal mesh; with normals, and the colours of its file, where it is to be seen."""
    vertices, faces = (surface.vertices, surface.triangles) if is_seen else surface.merge_vertices()
    properties: Properties = {
        "uniform token subdivisionScheme": "none",
        "float3[] extent": _bounds(vertices),
        "int[] faceVertexCounts": np.full(len(faces), 3),
        "int[] faceVertexIndices": faces.ravel(),
        "point3f[] points": vertices,
    }
    if is_seen:
        properties["normal3f[] normals"] = surface.normals
        if surface.colors is not None:
            properties["color3f[] primvars:displayColor"] = Varying(surface.colors[:, :3])
            properties["float[] primvars:displayOpacity"] = Varying(surface.colors[:, 3])
    return properties


def _bounds(vertices: Array) -> Array:
    return np.stack([vertices.min(axis=0), vertices.max(axis=0)])
