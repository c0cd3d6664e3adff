"""Reads the shapes, geometries and soft bodies of SKEL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import hypot, isfinite
from typing import Any, NamedTuple

from exoskel.formats.skel.context import DOCUMENT, EXTREME, SkelContext
from exoskel.formats.skel.geometry_elements import GEOMETRIES, SOFT_GEOMETRIES
from exoskel.formats.skel.vocabulary import COLLISION_ELEMENT, SOFT_ELEMENT, VISUAL_ELEMENT
from exoskel.scene.body import SoftBody, SoftGeometry, Tessellation
from exoskel.scene.edit_tracking import TrackedList
from exoskel.scene.pose import IDENTITY, Vector
from exoskel.scene.shape import (
    Ball,
    Box,
    Capsule,
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
)
from exoskel.source.file_lookup import search_hint
from exoskel.source.flat_tree import Node
from exoskel.spatial import unit_divisor

_CLASS_DEFAULT = 1.0
"""The value that DART uses instead of a dimension that is not positive."""

_PARTLY_SUPPORTED = frozenset({"ellipsoid", "capsule", "cone", "pyramid", "multi_sphere"})
"""Geometries that not every collision detector of DART supports."""


class CollisionGeometry(NamedTuple):
    """A collision geometry that may not be supported by the document's collision detector."""

    kind: str
    node: int


class UnloadedMesh(NamedTuple):
    """A mesh that could not be loaded."""

    node: int
    visual: bool
    uri: str
    reason: str
    hint: str


class _MeshProblem(NamedTuple):
    """Why a mesh could not be loaded."""

    uri: str
    reason: str
    hint: str = ""


class SkelShapeReader:
    """Reads the shapes of all bodies of one document."""

    def __init__(self, context: SkelContext) -> None:
        self.context = context
        self.report = context.report
        self.partly_supported: list[CollisionGeometry] = []
        self._missing_meshes: list[UnloadedMesh] = []
        self._mesh_problems: dict[int, _MeshProblem] = {}

    def read_shapes(self, nodes: Sequence[Node], *, visual: bool) -> TrackedList[Shape]:
        """The shapes that have a usable geometry."""
        shapes = [shape for node in nodes if (shape := self.read_shape(node, visual=visual)) is not None]
        return TrackedList(shapes)

    def read_shape(self, node: Node, *, visual: bool) -> Shape | None:
        """The shape, or None if it has no usable geometry."""
        fields = node.fields
        geometry_node: Node | None = fields.get("geometry")
        if geometry_node is None:
            return None
        kind = self._choose_geometry(geometry_node, GEOMETRIES)
        if not kind:
            return None
        kind_node: Node = geometry_node.fields[kind]
        geometry = _GEOMETRY_READERS[kind](self, kind_node, kind)
        if geometry is None:
            return None
        collides = visual or fields.get("collidable", True)
        if not collides:
            self.report("SK013.collidable_zero", node.number, "collidable")
            collides = self.context.dart
        color = fields.get("color") if visual else None
        if visual and color is None and not self.context.dart:
            color = geometry_node.fields.get("color")
        rule = VISUAL_ELEMENT if visual else COLLISION_ELEMENT
        shape = Shape(
            geometry=geometry,
            pose=fields.get("transformation", IDENTITY),
            color=color,
            collidable=collides,
            document=DOCUMENT,
            node=node.number,
            given=node.stated_fields(rule),
        )
        if node.invalid:
            shape.repaired = node.invalid_fields(rule)
        if not visual and kind in _PARTLY_SUPPORTED and shape.collidable:
            self.partly_supported.append(CollisionGeometry(kind, node.number))
        if kind_node.number in self._mesh_problems:
            self._missing_meshes.append(UnloadedMesh(node.number, visual, *self._mesh_problems.pop(kind_node.number)))
        return shape

    def report_missing_meshes(self, moment_needed: bool) -> None:
        """Report the meshes of one body that could not be loaded; the severity depends on their use."""
        for mesh in self._missing_meshes:
            place = (mesh.node, "geometry/mesh/file_name")
            details: dict[str, Any] = {"token": mesh.uri, "uri": mesh.uri, "reason": mesh.reason, "hint": mesh.hint}
            if mesh.visual and not moment_needed:
                self.report("SK063.visual", *place, **details)
            else:
                purpose = "the moment is derived from it" if mesh.visual else "a collision shape needs it"
                self.report("SK063.needed", *place, purpose=purpose, **details)
        self._missing_meshes.clear()

    def _choose_geometry(self, geometry_node: Node, kinds: tuple[str, ...]) -> str:
        fields = geometry_node.fields
        present = [kind for kind in (kinds if len(fields) > 1 else fields) if kind in fields and kind in kinds]
        if len(present) == 1:
            return present[0]
        if not present:
            if not geometry_node.is_invalid("?"):
                self.report("SK060.empty", geometry_node.number)
            return ""
        self.report("SK061", geometry_node.number, count=len(present), kind=present[0])
        return present[0]

    # --- dimensions -----------------------------------------------------------------------------------

    def _read_length(self, node: Node, name: str) -> float | None:
        """A positive length, or None if the geometry is invalid."""
        value: float | None = node.fields.get(name)
        if value is None or 0.0 < value < EXTREME:
            return value
        if value > 0.0 and isfinite(value):
            self.context.extreme = True
            return value
        if value < 0.0 and isfinite(value):
            self.report("SK062.negative", node.number, name, element=name, found=value)
            return _CLASS_DEFAULT if self.context.dart else -value
        self._report_not_positive(node, name, value)
        return _CLASS_DEFAULT if self.context.dart else None

    def _read_size(self, node: Node) -> Vector | None:
        size: Vector | None = node.fields.get("size")
        if size is None or (0.0 < size[0] < EXTREME and 0.0 < size[1] < EXTREME and 0.0 < size[2] < EXTREME):
            return size
        if all(value > 0.0 and isfinite(value) for value in size):
            self.context.extreme = True
            return size
        text = " ".join(f"{value:g}" for value in size)
        if all(value != 0.0 and isfinite(value) for value in size):
            self.report("SK062.negative", node.number, "size", element="size", found=text)
            x, y, z = size
            return (_CLASS_DEFAULT,) * 3 if self.context.dart else (abs(x), abs(y), abs(z))
        self._report_not_positive(node, "size", text)
        return (_CLASS_DEFAULT,) * 3 if self.context.dart else None

    def _report_not_positive(self, node: Node, name: str, found: object) -> None:
        self.report("SK062.zero", node.number, name, element=name, found=found)

    # --- geometries -----------------------------------------------------------------------------------

    def _box(self, node: Node, _: str) -> Box | None:
        size = self._read_size(node)
        return None if size is None else Box(size)

    def _ellipsoid(self, node: Node, _: str) -> Ellipsoid | None:
        size = self._read_size(node)
        return None if size is None else Ellipsoid(size)

    def _sphere(self, node: Node, _: str) -> Sphere | None:
        radius = self._read_length(node, "radius")
        return None if radius is None else Sphere(radius)

    def _tube(self, node: Node, kind: str) -> Cylinder | Capsule | Cone | None:
        radius, height = self._read_length(node, "radius"), self._read_length(node, "height")
        return None if radius is None or height is None else _TUBE_CLASSES[kind](radius, height)

    def _pyramid(self, node: Node, _: str) -> Pyramid | None:
        width, depth = self._read_length(node, "base_width"), self._read_length(node, "base_depth")
        height = self._read_length(node, "height")
        return None if width is None or depth is None or height is None else Pyramid(width, depth, height)

    def _plane(self, node: Node, _: str) -> Plane | None:
        normal: Vector | None = node.fields.get("normal")
        if normal is None:
            return None
        x, y, z = normal
        length = hypot(x, y, z)
        if length == 0.0:
            self.report("SK066", node.number, "normal")
            if not self.context.dart:
                return None
            length = 1.0
        length = unit_divisor(length)
        unit = (x / length, y / length, z / length)
        return Plane(unit, self._read_plane_offset(node, unit))

    def _read_plane_offset(self, node: Node, normal: Vector) -> float:
        offset: float | None = node.fields.get("offset")
        if offset is not None:
            return offset
        point: Vector | None = node.fields.get("point")
        if point is not None:
            return sum(n * p for n, p in zip(normal, point, strict=True))
        if not (node.is_invalid("offset") or node.is_invalid("point")):
            self.report("SK065.none", node.number)
        return 0.0

    def _multi_sphere(self, node: Node, _: str) -> MultiSphere | None:
        balls = [self._read_ball(child) for child in node.nodes("sphere")]
        if not balls and self.context.dart:
            return MultiSphere(())
        valid = [ball for ball in balls if ball is not None]
        return MultiSphere(tuple(valid)) if valid and len(valid) == len(balls) else None

    def _read_ball(self, node: Node) -> Ball | None:
        radius, position = node.fields.get("radius"), node.fields.get("position")
        if radius is None or position is None:
            return None
        if radius < 0.0:
            self.report("SK062.negative", node.number, "radius", element="radius", found=radius)
            radius = radius if self.context.dart else -radius
        elif radius == 0.0:
            self._report_not_positive(node, "radius", radius)
            if not self.context.dart:
                return None
        return Ball(radius, position)

    # --- meshes ---------------------------------------------------------------------------------------

    def _mesh(self, node: Node, _: str) -> Mesh | None:
        uri: str | None = node.fields.get("file_name")
        if uri is None:
            return None
        scale: Vector = node.fields.get("scale", (1.0, 1.0, 1.0))
        if 0.0 in scale:
            self.report("SK062.scale", node.number, "scale")
            if not self.context.dart:
                return None
        file = self.context.find_mesh(uri)
        self._report_reference(node, uri, file.findings)
        if file.path is None:
            if _EXPLAIN_MISSING_FILE.isdisjoint(file.findings):
                self._mesh_problems[node.number] = _MeshProblem(
                    uri.strip(), "was not found", "use a path relative to the document"
                )
            return Mesh(uri, scale)
        path = str(file.path)
        extent = self.context.mesh_extent(path)
        if isinstance(extent, str):
            self._mesh_problems[node.number] = _MeshProblem(uri.strip(), f"cannot be read: {extent}")
            return Mesh(uri, scale, path)
        return Mesh(uri, scale, path, extent)

    def _report_reference(self, node: Node, uri: str, findings: tuple[str, ...]) -> None:
        for finding in findings:
            location, paths = self.context.document.location, self.context.options.paths
            hint = search_hint(uri, location, paths) if finding == "scheme" else ""
            self.report(f"SK064.{finding}", node.number, "file_name", token=uri.strip(), uri=uri.strip(), hint=[hint])

    # --- soft bodies ---------------------------------------------------------------------------------

    def read_soft_body(self, node: Node) -> SoftBody | None:
        """The soft body, or None if it is invalid."""
        fields = node.fields
        geometry_node: Node | None = fields.get("geometry")
        mass: float | None = fields.get("total_mass")
        if geometry_node is None or mass is None:
            return None
        if mass < 0.0:
            self.report("SK050.soft", node.number, "total_mass", found=mass)
        kind = self._choose_soft_geometry(geometry_node)
        geometry: SoftGeometry | None = None
        tessellation = Tessellation()
        if kind:
            kind_node: Node = geometry_node.fields[kind]
            if not kind_node.fields.keys() >= _REQUIRED_COUNTS[kind]:
                return None
            candidate = _GEOMETRY_READERS[kind](self, kind_node, kind)
            if not isinstance(candidate, Box | Sphere | Ellipsoid | Cylinder):
                return None
            geometry = candidate
            if kind == "box" and "frags" not in kind_node.fields and not kind_node.is_invalid("frags"):
                self.report("SK068.missing", kind_node.number)
            tessellation = Tessellation(
                fragments=kind_node.fields.get("frags", (3, 3, 3)),
                slices=kind_node.fields.get("num_slices", 0),
                stacks=kind_node.fields.get("num_stacks", 0),
                rings=kind_node.fields.get("num_rings", 0),
            )
        if "transformation" in fields and kind not in ("", "box"):
            self.report("SK013.soft_transformation", node.number, "transformation", kind=kind)
        return SoftBody(
            total_mass=max(mass, 0.0),
            geometry=geometry,
            tessellation=tessellation,
            pose=fields.get("transformation", IDENTITY) if kind == "box" else IDENTITY,
            vertex_stiffness=fields.get("kv", 1.0),
            edge_stiffness=fields.get("ke", 1.0),
            damping=fields.get("damp", 0.01),
            document=DOCUMENT,
            node=node.number,
            given=node.stated_fields(SOFT_ELEMENT),
            repaired=node.invalid_fields(SOFT_ELEMENT),
        )

    def _choose_soft_geometry(self, geometry_node: Node) -> str:
        return (
            ""
            if geometry_node.is_invalid("?") and not geometry_node.fields
            else self._choose_geometry(geometry_node, SOFT_GEOMETRIES)
        )


_EXPLAIN_MISSING_FILE = frozenset({"scheme", "foreign_file_uri", "no_base", "outside"})
"""Remarks about a reference that already explain why no file is found."""

_TUBE_CLASSES: dict[str, type[Cylinder] | type[Capsule] | type[Cone]] = {
    "cylinder": Cylinder,
    "capsule": Capsule,
    "cone": Cone,
}

_REQUIRED_COUNTS = {
    "box": frozenset[str](),
    "sphere": frozenset({"num_slices", "num_stacks"}),
    "ellipsoid": frozenset({"num_slices", "num_stacks"}),
    "cylinder": frozenset({"num_slices", "num_stacks", "num_rings"}),
}

_GeometryReader = Callable[[SkelShapeReader, Node, str], Geometry | None]

_GEOMETRY_READERS: dict[str, _GeometryReader] = {
    "sphere": SkelShapeReader._sphere,
    "box": SkelShapeReader._box,
    "ellipsoid": SkelShapeReader._ellipsoid,
    "cylinder": SkelShapeReader._tube,
    "capsule": SkelShapeReader._tube,
    "cone": SkelShapeReader._tube,
    "pyramid": SkelShapeReader._pyramid,
    "plane": SkelShapeReader._plane,
    "multi_sphere": SkelShapeReader._multi_sphere,
    "mesh": SkelShapeReader._mesh,
}
