"""Shapes, geometries and soft skins of SKEL."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, isfinite
from typing import Any, NamedTuple

from exoskel.formats.skel.context import DOCUMENT, EXTREME, Context
from exoskel.formats.skel.vocabulary import GEOMETRIES, SOFT_GEOMETRIES
from exoskel.scene.body import SoftBody, SoftGeometry, Tessellation
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
from exoskel.source.flat_tree import Node
from exoskel.spatial import unit_divisor

_CLASS_DEFAULT = 1.0
"""What DART puts in place of a dimension that is not positive."""

_DELICATE = frozenset({"ellipsoid", "capsule", "cone", "pyramid", "multi_sphere"})
"""Geometries that not every collision detector of DART knows."""


class CollisionGeometry(NamedTuple):
    """A collision geometry to be held against the document's detector."""

    kind: str
    node: int


class MissingMesh(NamedTuple):
    """A mesh that could not be loaded."""

    node: int
    uri: str
    reason: str
    visual: bool


class ShapeReader:
    def __init__(self, context: Context) -> None:
        self.context = context
        self.report = context.report
        self.delicate: list[CollisionGeometry] = []
        self._missing_meshes: list[MissingMesh] = []
        self._mesh_problems: dict[int, tuple[str, str]] = {}

    def shape(self, node: Node, *, visual: bool) -> Shape | None:
        """The shape, or None if it has no usable geometry."""
        fields = node.fields
        holder: Node | None = fields.get("geometry")
        if holder is None:
            return None
        kind = self._choose(holder, GEOMETRIES)
        if not kind:
            return None
        inner: Node = holder.fields[kind]
        geometry = _GEOMETRY[kind](self, inner, kind)
        if geometry is None:
            return None
        color = fields.get("color") if visual else None
        if visual and color is None and not self.context.dart:
            color = holder.fields.get("color")
        shape = Shape(
            geometry=geometry,
            pose=fields.get("transformation", IDENTITY),
            color=color,
            collidable=visual or fields.get("collidable", True),
            document=DOCUMENT,
            node=node.number,
            given=self.context.given(node),
        )
        if node.invalid:
            shape.repaired = self.context.repaired(node)
        if not visual and kind in _DELICATE and shape.collidable:
            self.delicate.append(CollisionGeometry(kind, node.number))
        if inner.number in self._mesh_problems:
            uri, reason = self._mesh_problems.pop(inner.number)
            self._missing_meshes.append(MissingMesh(node.number, uri, reason, visual))
        return shape

    def report_missing_meshes(self, moment_needed: bool) -> None:
        """Tell of the meshes of one body that could not be loaded; how badly depends on what they are for."""
        for mesh in self._missing_meshes:
            hint = "use a path relative to the document" if mesh.reason == "not found" else ""
            place = (mesh.node, "geometry/mesh/file_name")
            details: dict[str, Any] = {"token": mesh.uri, "uri": mesh.uri, "reason": mesh.reason, "hint": hint}
            if mesh.visual and not moment_needed:
                self.report("SK063.visual", *place, **details)
            else:
                purpose = "the moment is derived from it" if mesh.visual else "a collision shape needs it"
                self.report("SK063.needed", *place, purpose=purpose, **details)
        self._missing_meshes.clear()

    def _choose(self, holder: Node, kinds: tuple[str, ...]) -> str:
        present = [kind for kind in kinds if kind in holder.fields]
        if len(present) == 1:
            return present[0]
        if not present:
            if not holder.is_invalid("?"):
                self.report("SK060.empty", holder.number)
            return ""
        self.report("SK061", holder.number, count=len(present), kind=present[0])
        return present[0]

    # --- dimensions -----------------------------------------------------------------------------------

    def _length(self, node: Node, name: str) -> float | None:
        """A positive length, or None if the geometry cannot stand."""
        value: float | None = node.fields.get(name)
        if value is None or 0.0 < value < EXTREME:
            return value
        if value > 0.0 and isfinite(value):
            self.context.extreme = True
            return value
        if value < 0.0 and isfinite(value):
            self.report("SK062.negative", node.number, name, element=name, found=value)
            return _CLASS_DEFAULT if self.context.dart else -value
        self._zero(node, name, value)
        return _CLASS_DEFAULT if self.context.dart else None

    def _size(self, node: Node) -> Vector | None:
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
        self._zero(node, "size", text)
        return (_CLASS_DEFAULT,) * 3 if self.context.dart else None

    def _zero(self, node: Node, name: str, found: object) -> None:
        self.report("SK062.zero", node.number, name, element=name, found=found)

    # --- geometries -----------------------------------------------------------------------------------

    def _box(self, node: Node, _: str) -> Box | None:
        size = self._size(node)
        return None if size is None else Box(size)

    def _ellipsoid(self, node: Node, _: str) -> Ellipsoid | None:
        size = self._size(node)
        return None if size is None else Ellipsoid(size)

    def _sphere(self, node: Node, _: str) -> Sphere | None:
        radius = self._length(node, "radius")
        return None if radius is None else Sphere(radius)

    def _tube(self, node: Node, kind: str) -> Cylinder | Capsule | Cone | None:
        radius, height = self._length(node, "radius"), self._length(node, "height")
        return None if radius is None or height is None else _TUBES[kind](radius, height)

    def _pyramid(self, node: Node, _: str) -> Pyramid | None:
        width, depth = self._length(node, "base_width"), self._length(node, "base_depth")
        height = self._length(node, "height")
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
        return Plane(unit, self._plane_offset(node, unit))

    def _plane_offset(self, node: Node, normal: Vector) -> float:
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
        balls = [self._ball(child) for child in node.nodes("sphere")]
        if not balls and self.context.dart:
            return MultiSphere(())
        sound = [ball for ball in balls if ball is not None]
        return MultiSphere(tuple(sound)) if sound and len(sound) == len(balls) else None

    def _ball(self, node: Node) -> Ball | None:
        radius, position = node.fields.get("radius"), node.fields.get("position")
        if radius is None or position is None:
            return None
        if radius < 0.0:
            self.report("SK062.negative", node.number, "radius", element="radius", found=radius)
            radius = radius if self.context.dart else -radius
        elif radius == 0.0:
            self._zero(node, "radius", radius)
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
        found = self.context.find_mesh(uri)
        self._remark_on_reference(node, uri, found.remarks)
        if found.path is None:
            if _SPEAK_FOR_THEMSELVES.isdisjoint(found.remarks):
                self._mesh_problems[node.number] = (uri.strip(), "not found")
            return Mesh(uri, scale)
        path = str(found.path)
        extent = self.context.mesh_extent(path)
        if isinstance(extent, str):
            self._mesh_problems[node.number] = (uri.strip(), f"cannot be read: {extent}")
            return Mesh(uri, scale, path)
        return Mesh(uri, scale, path, extent)

    def _remark_on_reference(self, node: Node, uri: str, remarks: tuple[str, ...]) -> None:
        for remark in remarks:
            hint = "pass package_path=… to locate packages" if uri.startswith("package:") else ""
            self.report(f"SK064.{remark}", node.number, "file_name", token=uri.strip(), uri=uri.strip(), hint=hint)

    # --- soft skins -----------------------------------------------------------------------------------

    def soft(self, node: Node) -> SoftBody | None:
        """The skin, or None if it cannot stand."""
        fields = node.fields
        holder: Node | None = fields.get("geometry")
        mass: float | None = fields.get("total_mass")
        if holder is None or mass is None:
            return None
        kind = self._choose_soft(holder)
        geometry: SoftGeometry | None = None
        cut = Tessellation()
        if kind:
            inner: Node = holder.fields[kind]
            if not inner.fields.keys() >= _CUTS[kind]:
                return None
            made = _GEOMETRY[kind](self, inner, kind)
            if not isinstance(made, Box | Sphere | Ellipsoid | Cylinder):
                return None
            geometry = made
            if kind == "box" and "frags" not in inner.fields and not inner.is_invalid("frags"):
                self.report("SK068.missing", inner.number)
            cut = Tessellation(
                fragments=inner.fields.get("frags", (3, 3, 3)),
                slices=inner.fields.get("num_slices", 0),
                stacks=inner.fields.get("num_stacks", 0),
                rings=inner.fields.get("num_rings", 0),
            )
        if "transformation" in fields and kind not in ("", "box"):
            self.report("SK013.soft_transformation", node.number, "transformation", kind=kind)
        return SoftBody(
            total_mass=mass,
            geometry=geometry,
            tessellation=cut,
            pose=fields.get("transformation", IDENTITY) if kind == "box" else IDENTITY,
            vertex_stiffness=fields.get("kv", 1.0),
            edge_stiffness=fields.get("ke", 1.0),
            damping=fields.get("damp", 0.01),
            document=DOCUMENT,
            node=node.number,
            given=self.context.given(node),
            repaired=self.context.repaired(node),
        )

    def _choose_soft(self, holder: Node) -> str:
        return "" if holder.is_invalid("?") and not holder.fields else self._choose(holder, SOFT_GEOMETRIES)


_SPEAK_FOR_THEMSELVES = frozenset({"scheme", "foreign_file_uri", "no_base", "outside"})
"""Remarks that already say why there is no file."""

_TUBES: dict[str, type[Cylinder] | type[Capsule] | type[Cone]] = {
    "cylinder": Cylinder,
    "capsule": Capsule,
    "cone": Cone,
}

_CUTS = {
    "box": frozenset[str](),
    "sphere": frozenset({"num_slices", "num_stacks"}),
    "ellipsoid": frozenset({"num_slices", "num_stacks"}),
    "cylinder": frozenset({"num_slices", "num_stacks", "num_rings"}),
}

_Maker = Callable[[ShapeReader, Node, str], Geometry | None]

_GEOMETRY: dict[str, _Maker] = {
    "sphere": ShapeReader._sphere,
    "box": ShapeReader._box,
    "ellipsoid": ShapeReader._ellipsoid,
    "cylinder": ShapeReader._tube,
    "capsule": ShapeReader._tube,
    "cone": ShapeReader._tube,
    "pyramid": ShapeReader._pyramid,
    "plane": ShapeReader._plane,
    "multi_sphere": ShapeReader._multi_sphere,
    "mesh": ShapeReader._mesh,
}
