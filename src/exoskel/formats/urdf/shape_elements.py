"""Write shapes as URDF's boxes, cylinders, spheres and meshes, approximating the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel import spatial
from exoskel.formats.urdf.context import add_pose, add_transform
from exoskel.formats.urdf.robot import UNSHIFTED
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
)
from exoskel.source.markup import Markup, format_number, format_numbers
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array

PLANE_SIZE, PLANE_DEPTH = 100.0, 1.0
"""The width and depth of a box that approximates a plane, m."""

_BOXED = "as its bounding box: URDF does not support this geometry"
_REASONS = {
    "ellipsoid": _BOXED,
    "cone": _BOXED,
    "pyramid": _BOXED,
    "plane": f"as a box of {PLANE_SIZE:g} m by {PLANE_SIZE:g} m below it: URDF has no planes",
    "multi_sphere": "as its spheres only, without their convex hull",
    "trimesh": "not written: URDF supports only meshes in files",
    "ray": "not written: URDF has no rays",
}

Part = tuple[Geometry, Array | None]
"""A geometry of URDF, and its pose in the frame of the shape it is part of (None: identity)."""


class ShapeWriter:
    """Writes shapes and collects their materials."""

    def __init__(self, output: OutputContext) -> None:
        self.output = output
        self.materials: dict[Color, str] = {}

    def shapes(self, tag: str, shapes: Sequence[Shape], items: Sequence[Shape], shift: Array) -> list[Markup]:
        """The elements of a link's shapes; `shift` is the link frame in the body, `items` the shapes of the scene."""
        made: list[Markup] = []
        for shape, item in zip(shapes, items, strict=True):
            if tag == "collision" and not shape.collidable:
                continue  # it has no effect
            made += self._shape(tag, shape, item, shift)
        return made

    def _shape(self, tag: str, shape: Shape, item: Shape, shift: Array) -> list[Markup]:
        parts = _parts(shape.geometry)
        if shape.kind in _REASONS and not _is_exact(shape.geometry):
            self.output.add_loss(item, _REASONS[shape.kind])
        made = [self._part(tag, shape, part, shift) for part in parts]
        if made:
            made[0].item = item
        return made

    def _part(self, tag: str, shape: Shape, part: Part, shift: Array) -> Markup:
        geometry, offset = part
        element = Markup(tag, {"name": shape.name} if shape.name else {})
        if offset is None:
            add_pose(element, shape.pose, None if shift is UNSHIFTED else shift)
        else:
            add_transform(element, spatial.inverse(shift) @ shape.pose.matrix() @ offset)
        element.children.append(self._geometry(geometry))
        if tag == "visual" and shape.color is not None:
            element.add("material", name=self._material(shape.color))
        return element

    def _geometry(self, geometry: Geometry) -> Markup:
        element = Markup("geometry")
        match geometry:
            case Box(size=size):
                element.add("box", size=format_numbers(size))
            case Sphere(radius=radius):
                element.add("sphere", radius=format_number(radius))
            case Cylinder(radius=radius, height=height):
                element.add("cylinder", radius=format_number(radius), length=format_number(height))
            case Mesh(scale=scale):
                mesh = element.add("mesh", filename=self.output.reference(geometry))
                if scale != (1.0, 1.0, 1.0):
                    mesh.attributes["scale"] = format_numbers(scale)
        return element

    def _material(self, color: Color) -> str:
        return self.materials.setdefault(color, f"color_{len(self.materials) + 1}")

    def material_elements(self) -> list[Markup]:
        """The material elements of all colours used."""
        return [
            Markup("material", {"name": name}, children=[Markup("color", {"rgba": format_numbers(color)})])
            for color, name in self.materials.items()
        ]


def _is_exact(geometry: Geometry) -> bool:
    """Whether a geometry that URDF lacks equals one that it supports."""
    match geometry:
        case Ellipsoid(size=size):
            return len(set(size)) == 1
        case MultiSphere(spheres=spheres):
            return len(spheres) == 1
    return False


def _parts(geometry: Geometry) -> list[Part]:
    match geometry:
        case Box() | Sphere() | Cylinder() | Mesh():
            return [(geometry, None)]
        case Capsule(radius=radius, height=height):
            ends = [(Sphere(radius), _translation((0.0, 0.0, z))) for z in (height / 2, -height / 2)]
            return [(Cylinder(radius, height), None), *ends]
        case Ellipsoid(size=size):
            return [(Sphere(size[0] / 2) if _is_exact(geometry) else Box(size), None)]
        case MultiSphere(spheres=spheres):
            return [(Sphere(ball.radius), _translation(ball.position)) for ball in spheres]
        case Cone() | Pyramid():
            low, high = np.array(geometry.bounds())
            x, y, z = (high - low).tolist()
            return [(Box((x, y, z)), _translation((low + high) / 2))]
        case Plane(normal=normal, offset=offset):
            return [(Box((PLANE_SIZE, PLANE_SIZE, PLANE_DEPTH)), _pose_below(normal, offset))]
    return []


def _translation(position: Sequence[float] | Array) -> Array:
    return spatial.transform(np.eye(3), position)


def _pose_below(normal: Sequence[float], offset: float) -> Array:
    """The pose of a box whose top face, normal to z, lies in the plane."""
    up = spatial.unit(normal)
    aside = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    x = spatial.unit(aside)
    rotation = np.stack([x, np.cross(up, x), up], axis=1)
    return spatial.transform(rotation, (offset - PLANE_DEPTH / 2) * up)
