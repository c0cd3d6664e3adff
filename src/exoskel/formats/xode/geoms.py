"""Reads the geoms of XODE: the shapes of bodies and of the static environment."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, inf
from typing import Any

import numpy as np

from exoskel.formats.xode.context import DOCUMENT, XodeContext
from exoskel.formats.xode.document_layout import LARGEST, Frames, GeomEntry
from exoskel.formats.xode.vocabulary import GEOM_ELEMENT, LEAST_VERTICES, SHAPES
from exoskel.scene.pose import IDENTITY, Pose
from exoskel.scene.shape import Box, Capsule, Cone, Cylinder, Geometry, Plane, Ray, Shape, Sphere, TriMesh
from exoskel.source.flat_tree import Node
from exoskel.spatial import unit_divisor

_UNIT_TOLERANCE = 1e-6
_ALL_SHAPES = (*SHAPES, "capsule")


class GeomReader:
    """Reads the `geom` elements of one document."""

    def __init__(self, context: XodeContext, frames: Frames) -> None:
        self.context = context
        self.report = context.report
        self.frames = frames

    def read_shape(self, entry: GeomEntry) -> tuple[Shape, bool] | None:
        """The shape, and whether it moves with a body; None if it is invalid."""
        node = entry.node
        kind = self._read_kind(node)
        if not kind:
            return None
        geometry = _READERS[kind](self, node.fields[kind])
        if geometry is None:
            return None
        attached = entry.body >= 0 and not isinstance(geometry, Plane)
        if entry.body >= 0 and isinstance(geometry, Plane):
            name = self.frames.layout.bodies[entry.body].node.get("@name", "")
            self.report("X706", node.number, body=name)
        if attached and self.frames.has_absolute_offset[entry.frame]:
            self._report_absolute_offset(entry)
        pose = self.frames.pose_in_body(entry.frame) if attached else self.frames.pose(entry.frame)
        if isinstance(geometry, Plane | Ray):
            geometry, pose = self._place_unbounded(entry, geometry, pose)
        if geometry is None:
            return None
        return (
            Shape(
                geometry=geometry,
                pose=pose if not pose.is_identity else IDENTITY,
                name=node.get("@name", ""),
                space=entry.space,
                document=DOCUMENT,
                node=node.number,
                given=node.stated_fields(GEOM_ELEMENT),
                repaired=node.invalid_fields(GEOM_ELEMENT),
            ),
            attached,
        )

    def _read_kind(self, node: Node) -> str:
        present = [kind for kind in _ALL_SHAPES if kind in node.fields]
        if not present:
            if not node.is_invalid("?"):
                self.report("X203.shape", node.number, parent="geom", allowed=list(SHAPES))
            return ""
        return self.context.choose_first(node, present, "X204.shape")

    def _report_absolute_offset(self, entry: GeomEntry) -> None:
        """Report the computed offset of a geom whose transform, or that of a group around it, is absolute."""
        x, y, z = self.frames.inner_rigid([entry.frame])[0][:3, 3].tolist()
        own = "transform" if self.frames.local[entry.frame].absolute else ""
        self.report("X512", entry.node.number, own, offset=f"{x:g} {y:g} {z:g}")

    def _place_unbounded(self, entry: GeomEntry, geometry: Plane | Ray, pose: Pose) -> tuple[Geometry | None, Pose]:
        """The geometry and pose of a plane or ray, whose transforms PyODE ignores."""
        shape = "plane" if isinstance(geometry, Plane) else "ray"
        attached_ray = entry.body >= 0 and shape == "ray"
        plain = pose.is_identity if attached_ray else self.frames.is_root_frame(entry.frame)
        if plain:
            return geometry, IDENTITY
        if self.context.dialect == "pyode":
            self.report("X707.ignored", entry.node.number, shape=shape)
            return geometry, IDENTITY
        self.report("X707", entry.node.number, shape=shape)
        if isinstance(geometry, Plane):
            return self._transform_plane(entry, geometry), IDENTITY
        return geometry, pose

    def _transform_plane(self, entry: GeomEntry, plane: Plane) -> Plane | None:
        """The plane in world coordinates."""
        frame = self.frames.rigid([entry.frame])[0]
        normal = frame[:3, :3] @ plane.normal
        x, y, z = normal.tolist()
        offset = float(self.frames.scale[entry.frame]) * plane.offset + float(normal @ frame[:3, 3])
        return self._check_offset(entry.node, Plane((x, y, z), offset))

    # --- shapes ---------------------------------------------------------------------------------------

    def _box(self, node: Node) -> Box | None:
        sizes = _numbers(node, "@sizex", "@sizey", "@sizez")
        return None if sizes is None else Box((sizes[0], sizes[1], sizes[2]))

    def _sphere(self, node: Node) -> Sphere | None:
        sizes = _numbers(node, "@radius")
        return None if sizes is None else Sphere(*sizes)

    def _capsule(self, node: Node) -> Capsule | None:
        sizes = _numbers(node, "@radius", "@length")
        return None if sizes is None else Capsule(*sizes)

    def _cylinder(self, node: Node) -> Cylinder | None:
        sizes = _numbers(node, "@radius", "@length")
        return None if sizes is None else Cylinder(*sizes)

    def _cone(self, node: Node) -> Cone | None:
        self.report("X708", node.number)
        sizes = _numbers(node, "@radius", "@length")
        return None if sizes is None else Cone(sizes[0], sizes[1], centred=False)

    def _ray(self, node: Node) -> Ray | None:
        sizes = _numbers(node, "@length")
        return None if sizes is None else Ray(*sizes)

    def _plane(self, node: Node) -> Plane | None:
        values = _numbers(node, "@a", "@b", "@c", "@d")
        if values is None:
            return None
        a, b, c, d = values
        length = hypot(a, b, c)
        if length == 0.0:
            self.report("X704", node.number)
            return None
        if abs(length - 1.0) > _UNIT_TOLERANCE:
            self.report("X705", node.number, length=length)
        length = unit_divisor(length)
        return self._check_offset(
            node, Plane((a / length, b / length, c / length), d / length if length < inf else inf)
        )

    def _check_offset(self, node: Node, plane: Plane) -> Plane | None:
        if abs(plane.offset) <= LARGEST:
            return plane
        self.report("X303.overflow", node.number, what="the offset of the plane", instead="the plane is ignored")
        return None

    # --- meshes ---------------------------------------------------------------------------------------

    def _trimesh(self, node: Node) -> TriMesh | None:
        vertices, triangles = node.fields.get("vertices"), self._triangles(node)
        corners = [] if vertices is None else [_numbers(v, "@x", "@y", "@z") for v in vertices.nodes("v")]
        if vertices is not None and 0 < len(corners) < LEAST_VERTICES:
            found = len(corners)
            self.report("X203.few", vertices.number, parent="vertices", element="v", found=found, needed=LEAST_VERTICES)
        if vertices is None or triangles is None or len(corners) < LEAST_VERTICES:
            return None
        indices = [_numbers(t, "@ia", "@ib", "@ic") for t in triangles.nodes("t")]
        if not indices or None in corners or None in indices:
            return None
        points = np.array(corners, dtype=np.float64)
        numbers = np.array(indices, dtype=np.int64)
        base = self._index_base(triangles, numbers, len(points))
        numbers -= base
        wrong = (numbers < 0) | (numbers >= len(points))
        if wrong.any():
            self._report_out_of_range(triangles, numbers, wrong, base, len(points))
            return None
        self._report_degenerate(triangles, points, numbers)
        remarks = {i: v.fields["@e"] for i, v in enumerate(vertices.nodes("v")) if "@e" in v.fields}
        return TriMesh(points, numbers, remarks)

    def _triangles(self, node: Node) -> Node | None:
        """The list of triangles under either of its names; the first if both are present."""
        triangles: Node | None = node.fields.get("triangles")
        indices: Node | None = node.fields.get("indices")
        if indices is None or indices is triangles:
            return triangles
        used: Node = node.fields[self.context.choose_first(node, ["triangles", "indices"], "X204")]
        return used

    def _index_base(self, node: Node, numbers: np.ndarray, count: int) -> int:
        """Whether vertices are counted from 0 or from 1."""
        if self.context.options.index_base is not None:
            return self.context.options.index_base
        if (numbers == 0).any():
            return 0
        if not (numbers == count).any():
            self.report("X702", node.number)
        return 1

    def _report_out_of_range(self, node: Node, numbers: np.ndarray, wrong: np.ndarray, base: int, count: int) -> None:
        for triangle in np.flatnonzero(wrong.any(axis=1)).tolist():
            index = int(numbers[triangle, wrong[triangle].argmax()]) + base
            place = node.nodes("t")[triangle].number
            self.report("X701", place, triangle=triangle + 1, index=index, count=count, base=base)

    def _report_degenerate(self, node: Node, points: np.ndarray, numbers: np.ndarray) -> None:
        points = points / (
            np.abs(points).max() or 1.0
        )  # areas of very small and very large meshes underflow and overflow
        a, b, c = (points[numbers[:, i]] for i in range(3))
        area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
        for i in np.flatnonzero(area == 0.0).tolist():
            self.report("X703", node.nodes("t")[i].number, triangle=i + 1)


def _numbers(node: Node, *names: str) -> list[Any] | None:
    """The values of attributes, or None if one is missing or invalid."""
    values = [node.fields.get(name) for name in names]
    return None if None in values else values


_READERS: dict[str, Callable[[GeomReader, Node], Geometry | None]] = {
    "box": GeomReader._box,
    "cappedCylinder": GeomReader._capsule,
    "capsule": GeomReader._capsule,
    "cone": GeomReader._cone,
    "cylinder": GeomReader._cylinder,
    "plane": GeomReader._plane,
    "ray": GeomReader._ray,
    "sphere": GeomReader._sphere,
    "trimesh": GeomReader._trimesh,
}
