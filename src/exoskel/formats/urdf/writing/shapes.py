"""Shapes in URDF's words: boxes, cylinders, spheres, meshes, and what comes close to the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exoskel import spatial
from exoskel.formats.urdf.frames import add_pose, add_transform
from exoskel.formats.urdf.writing.robot import UNSHIFTED
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
"""m: how wide and how deep a box is that stands for a plane."""

_BOXED = "as the box around it: URDF has no such geometry"
_REASONS = {
    "ellipsoid": _BOXED,
    "cone": _BOXED,
    "pyramid": _BOXED,
    "plane": f"as a box of {PLANE_SIZE:g} m by {PLANE_SIZE:g} m below it: URDF has no planes",
    "multi_sphere": "as its spheres alone, without the hull around them",
    "trimesh": "left out: URDF has meshes in files only",
    "ray": "left out: URDF has no rays",
}

Part = tuple[Geometry, Array | None]
"""A geometry that URDF has, and where it stands in the frame of the shape it is a part of (None: there)."""


class ShapeWriter:
    """Writes shapes, and gathers the materials they name."""

    def __init__(self, output: OutputContext) -> None:
        self.output = output
        self.materials: dict[Color, str] = {}

    def shapes(self, tag: str, shapes: Sequence[Shape], items: Sequence[Shape], shift: Array) -> list[Markup]:
        """Elements for shapes of one link, whose frame is at `shift` in the body's; `items` are those of the scene."""
        made: list[Markup] = []
        for shape, item in zip(shapes, items, strict=True):
            if tag == "collision" and not shape.collidable:
                continue  # what touches nothing has no effect
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
        holder = Markup("geometry")
        match geometry:
            case Box(size=size):
                holder.add("box", size=format_numbers(size))
            case Sphere(radius=radius):
                holder.add("sphere", radius=format_number(radius))
            case Cylinder(radius=radius, height=height):
                holder.add("cylinder", radius=format_number(radius), length=format_number(height))
            case Mesh(scale=scale):
                mesh = holder.add("mesh", filename=self.output.reference(geometry))
                if scale != (1.0, 1.0, 1.0):
                    mesh.attributes["scale"] = format_numbers(scale)
        return holder

    def _material(self, color: Color) -> str:
        return self.materials.setdefault(color, f"color_{len(self.materials) + 1}")

    def palette(self) -> list[Markup]:
        """The materials that were named."""
        return [
            Markup("material", {"name": name}, children=[Markup("color", {"rgba": format_numbers(color)})])
            for color, name in self.materials.items()
        ]


def _is_exact(geometry: Geometry) -> bool:
    """Whether one that URDF has no word for is one that it has."""
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
            ends = [(Sphere(radius), _at((0.0, 0.0, z))) for z in (height / 2, -height / 2)]
            return [(Cylinder(radius, height), None), *ends]
        case Ellipsoid(size=size):
            return [(Sphere(size[0] / 2) if _is_exact(geometry) else Box(size), None)]
        case MultiSphere(spheres=spheres):
            return [(Sphere(ball.radius), _at(ball.position)) for ball in spheres]
        case Cone() | Pyramid():
            low, high = np.array(geometry.bounds())
            x, y, z = (high - low).tolist()
            return [(Box((x, y, z)), _at((low + high) / 2))]
        case Plane(normal=normal, offset=offset):
            return [(Box((PLANE_SIZE, PLANE_SIZE, PLANE_DEPTH)), _below(normal, offset))]
    return []


def _at(position: Sequence[float] | Array) -> Array:
    return spatial.transform(np.eye(3), position)


def _below(normal: Sequence[float], offset: float) -> Array:
    """Where a box with its top along z has to stand so that its top is in the plane."""
    up = spatial.unit(normal)
    aside = np.cross(up, np.eye(3)[int(np.argmin(np.abs(up)))])
    x = spatial.unit(aside)
    rotation = np.stack([x, np.cross(up, x), up], axis=1)
    return spatial.transform(rotation, (offset - PLANE_DEPTH / 2) * up)
