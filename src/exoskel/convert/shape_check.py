"""The row of a certificate about shapes: where they are in the world, how large, what they look like."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from exoskel.scene.body import Body
from exoskel.scene.fields import relative_difference, transform_differences
from exoskel.scene.item import Item
from exoskel.scene.pose import pose_matrices
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    Plane,
    Shape,
    Sphere,
    TriMesh,
)
from exoskel.spatial import Array

ENGINE_FRICTION = 1.0
"""What MuJoCo has where nothing is said: its reader cannot tell it from something said."""
_TRIANGLES = frozenset({"mesh", "trimesh"})
_AS_TRIANGLES = _TRIANGLES | {"pyramid"}
"""What triangles can say exactly."""

Places = Mapping[int, Array]
"""Where bodies are at zero positions, by id."""


class ShapeCheck:
    """The shapes of some bodies and of their counterparts.

    `inexact` are the ids of what could not be written as it is, `elements` of what has an element of its own in the
    output; `kinds` are those that the format has words for.
    """

    def __init__(
        self,
        bodies: Sequence[tuple[Body, Body]],
        made: Mapping[int, Item],
        inexact: Collection[int],
        elements: Collection[int],
        kinds: Collection[str],
        says: Collection[tuple[type[Item], str]],
    ) -> None:
        self.bodies = bodies
        self.made = made
        self.inexact = inexact
        self.elements = elements
        self.kinds = kinds
        self.surface = [field for field in ("friction", "restitution") if (Shape, field) in says]
        self.has_colors = (Shape, "color") in says

    def gap(self, here: Places, there: Places) -> float:
        """How far the worst shape is off."""
        pairs = list(self._pairs())
        if any(other is None for _, _, _, other in pairs):
            return np.inf
        found = [(a, b, shape, other) for a, b, shape, other in pairs if other is not None]
        errors = [self._surface(shape, other) for _, _, shape, other in found]
        seen = {id(shape) for body, _ in self.bodies for shape in body.visuals} if self.has_colors else ()
        errors += [_color_gap(shape, other) for _, _, shape, other in found if id(shape) in seen]
        exact = [row for row in found if id(row[2]) not in self.inexact and _is_sound(row[2].geometry)]
        same = [row for row in exact if _is_same(row[2], row[3])]
        errors += [_geometry_gap(shape, other) for _, _, shape, other in same]
        if same:
            mine = _placed([here[id(a)] for a, _, _, _ in same], [shape for _, _, shape, _ in same])
            theirs = _placed([there[id(b)] for _, b, _, _ in same], [other for _, _, _, other in same])
            flat = np.array([isinstance(shape.geometry, Plane) for _, _, shape, _ in same])
            errors += transform_differences(mine[~flat], theirs[~flat]).tolist()
            planes = [row for row, is_flat in zip(same, flat.tolist(), strict=True) if is_flat]
            errors += _plane_gaps(planes, mine[flat], theirs[flat])
        return max(errors, default=0.0)

    def _pairs(self) -> Iterator[tuple[Body, Body, Shape, Shape | None]]:
        """Shapes with their counterparts; None for what should be there and is not."""
        for body, other in self.bodies:
            for shape in body.shapes:
                found = self.made.get(id(shape))
                if isinstance(found, Shape):
                    yield body, other, shape, found
                elif id(shape) in self.elements or (shape.collidable and self._is_said(shape)):
                    yield body, other, shape, None

    def _is_said(self, shape: Shape) -> bool:
        return shape.kind in self.kinds and id(shape) not in self.inexact and _is_sound(shape.geometry)

    def _surface(self, shape: Shape, other: Shape) -> float:
        """Friction and restitution that are said, where the format has words for them."""
        worst = 0.0
        for field in self.surface:
            mine, theirs = getattr(shape, field), getattr(other, field)
            if mine is not None and not (theirs is None and mine == ENGINE_FRICTION):
                worst = max(worst, relative_difference(mine, theirs))
        return worst


def _color_gap(one: Shape, other: Shape) -> float:
    return 0.0 if one.color is None else relative_difference(one.color, other.color)


def _is_sound(geometry: Geometry) -> bool:
    """Whether it is something that readers take: not without size, direction or file."""
    match geometry:
        case Box(size=size) | Ellipsoid(size=size):
            return min(size) > 0.0
        case Sphere(radius=radius):
            return radius > 0.0
        case Cylinder() | Capsule() | Cone():
            return geometry.radius > 0.0 and geometry.height > 0.0
        case Plane(normal=normal):
            return any(normal)
        case Mesh(path=path):
            return path is not None
        case TriMesh(triangles=triangles):
            return bool(len(triangles))
    return True


def _is_same(one: Shape, other: Shape) -> bool:
    return one.kind == other.kind or (one.kind in _AS_TRIANGLES and other.kind in _TRIANGLES)


def _geometry_gap(one: Shape, other: Shape) -> float:
    if isinstance(one.geometry, Plane):
        return 0.0
    if other.kind in _TRIANGLES:
        mine, theirs = one.geometry.bounds(), other.geometry.bounds()
        return 0.0 if mine is None or theirs is None else relative_difference(mine, theirs)
    if isinstance(one.geometry, Cone) and isinstance(other.geometry, Cone):
        return relative_difference(
            (one.geometry.radius, one.geometry.height), (other.geometry.radius, other.geometry.height)
        )
    return relative_difference(one.geometry, other.geometry)


def _placed(frames: Sequence[Array], shapes: Sequence[Shape]) -> Array:
    """Where shapes are in the world; cones by their middle."""
    placed: Array = np.array(frames) @ pose_matrices([shape.pose for shape in shapes])
    for i, shape in enumerate(shapes):
        if isinstance(shape.geometry, Cone) and not shape.geometry.centred:
            placed[i, :3, 3] += placed[i, :3, 2] * shape.geometry.height / 2.0
    return placed


def _plane_gaps(rows: Sequence[tuple[Body, Body, Shape, Shape]], mine: Array, theirs: Array) -> list[float]:
    return [
        relative_difference(_half_space(shape, a), _half_space(other, b))
        for (_, _, shape, other), a, b in zip(rows, mine, theirs, strict=True)
    ]


def _half_space(shape: Shape, frame: Array) -> list[float]:
    """The normal of a plane in the world, and how far along that it is."""
    assert isinstance(shape.geometry, Plane)
    normal = frame[:3, :3] @ shape.geometry.normal
    return [*normal.tolist(), float(normal @ frame[:3, 3]) + shape.geometry.offset]
