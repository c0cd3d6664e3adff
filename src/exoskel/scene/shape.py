"""Geometries, and the shapes that place them.  Lengths in metres; every geometry is centred on its frame."""

from __future__ import annotations

from math import inf

import numpy as np
from msgspec import field, structs
from numpy.typing import NDArray

from exoskel import display_hooks
from exoskel.scene.edit_tracking import CheckedValue, checks_values
from exoskel.scene.field_checks import ConvertedField, NumberRows, NumberSequence, initially
from exoskel.scene.item import AppearanceItem
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Vector

Color = tuple[float, float, float, float]
Bounds = tuple[Vector, Vector]
DEFAULT_COLOR: Color = (0.5, 0.5, 1.0, 1.0)


def clamp_color(color: Color | None) -> Color | None:
    """A colour as viewers show it: components from 0 to 1."""
    if color is None or all(0.0 <= component <= 1.0 for component in color):
        return color
    red, green, blue, alpha = (min(max(component, 0.0), 1.0) for component in color)
    return (red, green, blue, alpha)


class Box(CheckedValue, frozen=True, gc=False, tag="box"):
    """Full edge lengths along x, y, z."""

    size: ConvertedField[Vector, NumberSequence]

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box, in m."""
        return _around(*self.size)


class Sphere(CheckedValue, frozen=True, gc=False, tag="sphere"):
    """A sphere; `radius` in m."""

    radius: float

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box, in m."""
        return _around(2 * self.radius, 2 * self.radius, 2 * self.radius)


class Ellipsoid(CheckedValue, frozen=True, gc=False, tag="ellipsoid"):
    """Full diameters along x, y, z."""

    size: ConvertedField[Vector, NumberSequence]

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box, in m."""
        return _around(*self.size)


class Cylinder(CheckedValue, frozen=True, gc=False, tag="cylinder"):
    """Axis along z."""

    radius: float
    height: float

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box, in m."""
        return _around(2 * self.radius, 2 * self.radius, self.height)


class Capsule(CheckedValue, frozen=True, gc=False, tag="capsule"):
    """Axis along z; `height` is the cylindrical part, without the two caps."""

    radius: float
    height: float

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box, in m."""
        return _around(2 * self.radius, 2 * self.radius, self.height + 2 * self.radius)


class Cone(CheckedValue, frozen=True, gc=False, tag="cone"):
    """Axis along z; base at -height/2 and apex at +height/2, or, if not `centred`, at 0 and +height."""

    radius: float
    height: float
    centred: bool = True

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box, in m."""
        base = -self.height / 2 if self.centred else 0.0
        return ((-self.radius, -self.radius, base), (self.radius, self.radius, base + self.height))


class Pyramid(CheckedValue, frozen=True, gc=False, tag="pyramid"):
    """Base rectangle `width` (x) by `depth` (y) at -height/2, apex at +height/2 on the z axis."""

    width: float
    depth: float
    height: float

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box, in m."""
        return _around(self.width, self.depth, self.height)


class Plane(CheckedValue, frozen=True, gc=False, tag="plane"):
    """A half-space, solid where normal · x < offset.  `normal` is unit."""

    normal: ConvertedField[Vector, NumberSequence]
    offset: float = 0.0

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box, in m."""
        return ((-inf, -inf, -inf), (inf, inf, inf))


class Ball(CheckedValue, frozen=True, gc=False):
    """One sphere of a multi-sphere."""

    radius: float
    position: ConvertedField[Vector, NumberSequence]


_SHOWN_SPHERES = 2


class MultiSphere(CheckedValue, frozen=True, gc=False, tag="multi_sphere"):
    """The convex hull of some spheres."""

    spheres: tuple[Ball, ...]

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.spheres[:_SHOWN_SPHERES]))
        more = ", …" if len(self.spheres) > _SHOWN_SPHERES else ""
        return f"MultiSphere(spheres=({shown}{more}))"

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box, in m."""
        if not self.spheres:
            return (ZERO, ZERO)
        low = [min(s.position[i] - s.radius for s in self.spheres) for i in range(3)]
        high = [max(s.position[i] + s.radius for s in self.spheres) for i in range(3)]
        return ((low[0], low[1], low[2]), (high[0], high[1], high[2]))


class Mesh(CheckedValue, frozen=True, gc=False, tag="mesh"):
    """Triangles in a file.

    A program gives its `uri`: a path relative to the working folder, or a URI.  In a file, `uri` is the reference as
    written, `path` the file it was found at (None: not found), `extent` the
    corners of the mesh's bounding box before scaling (None: unknown).  A negative factor in
    `scale` mirrors the mesh.
    """

    uri: str
    scale: ConvertedField[Vector, NumberSequence] = initially((1.0, 1.0, 1.0))
    path: str | None = None
    extent: Bounds | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path is None and display_hooks.locate_mesh is not None and checks_values():
            found = display_hooks.locate_mesh(self)
            structs.force_setattr(self, "path", found.path)
            structs.force_setattr(self, "extent", found.extent)

    def bounds(self) -> Bounds | None:
        """The lowest and highest corner of the bounding box, in m."""
        if self.extent is None:
            return None
        corners = [sorted((lo * s, hi * s)) for lo, hi, s in zip(*self.extent, self.scale, strict=True)]
        (x0, x1), (y0, y1), (z0, z1) = corners
        return ((x0, y0, z0), (x1, y1, z1))


class TriMesh(CheckedValue, frozen=True, eq=False, tag="trimesh"):
    """Triangles in the scene itself: `vertices` (n, 3) in m, `triangles` (m, 3) vertex numbers from 0.

    Triangles run counter-clockwise seen from outside.  `remarks` are comments on vertices in the source, by vertex
    number.  `uvs` are texture coordinates, one row (u, v) for each corner of each triangle, `(3 m, 2)`: from 0 at the
    left and bottom of an image to 1.  So vertices need not be repeated where the image has a seam.
    """

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int64]
    remarks: dict[int, str] = field(default_factory=dict)
    uvs: ConvertedField[NDArray[np.float64] | None, NumberRows | None] = initially(None)

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box of the triangles, in m."""
        points = self.vertices[self.triangles.ravel()] if self.triangles.size else self.vertices
        (x0, y0, z0), (x1, y1, z1) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        return ((x0, y0, z0), (x1, y1, z1))

    def __repr__(self) -> str:
        return f"TriMesh(vertices={len(self.vertices)}, triangles={len(self.triangles)})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, TriMesh)
            and np.array_equal(self.vertices, other.vertices)
            and np.array_equal(self.triangles, other.triangles)
            and self.remarks == other.remarks
            and _is_same_array(self.uvs, other.uvs)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other  # that of the base class compares identities

    def __hash__(self) -> int:
        return hash((self.vertices.tobytes(), self.triangles.tobytes(), self.uvs is None or self.uvs.tobytes()))


def _is_same_array(one: NDArray[np.float64] | None, other: NDArray[np.float64] | None) -> bool:
    return one is other or (one is not None and other is not None and np.array_equal(one, other))


class Ray(CheckedValue, frozen=True, gc=False, tag="ray"):
    """From the origin along +z; not solid."""

    length: float

    def bounds(self) -> Bounds:
        """The lowest and highest corner of the bounding box, in m."""
        return ((0.0, 0.0, 0.0), (0.0, 0.0, self.length))


Geometry = Box | Sphere | Ellipsoid | Cylinder | Capsule | Cone | Pyramid | Plane | MultiSphere | Mesh | TriMesh | Ray


def simplest_geometry(geometry: Geometry) -> Geometry:
    """A sphere for an ellipsoid with equal diameters; any other geometry as it is.

    Files in SKEL describe most spheres as ellipsoids, which many programs do not support.
    """
    if isinstance(geometry, Ellipsoid) and geometry.size[0] == geometry.size[1] == geometry.size[2]:
        return Sphere(geometry.size[0] / 2)
    return geometry


def kind_of(geometry: Geometry) -> str:
    """The name of the kind of a geometry: `box`, `sphere`, …"""
    return str(geometry.__struct_config__.tag)


class Texture(CheckedValue, frozen=True, gc=False):
    """An image in a file.

    A program gives its `uri`: a path relative to the working folder, or a URI.  In a file, `uri` is the reference as
    written, and `path` the file it was found at (None: not found).  `repeat` is how often the image is repeated along
    its width and height.
    """

    uri: str
    repeat: ConvertedField[tuple[float, float], NumberSequence] = initially((1.0, 1.0))
    path: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.path is None and display_hooks.locate_texture is not None and checks_values():
            structs.force_setattr(self, "path", display_hooks.locate_texture(self).path)


class Material(CheckedValue, frozen=True, gc=False):
    """How a surface reflects light, besides its colour, as in glTF, SDF and USD; None: not specified.

    `roughness` is from 0, a mirror, to 1.  `metalness` is from 0, an insulator, to 1, a metal.  The colours of the
    image `texture` are multiplied by the colour of the shape.  How the image lies on a shape depends on the program.
    """

    roughness: float | None = None
    metalness: float | None = None
    texture: Texture | None = None


class Shape(AppearanceItem):
    """A geometry at a pose in its body's frame.  `color` is None if the source states no colour."""

    geometry: Geometry
    pose: Pose = IDENTITY
    color: ConvertedField[Color | None, NumberSequence | None] = initially(None)
    collidable: bool = True
    name: str = ""
    space: str = ""
    """The collision space the source puts the shape in, if it names one."""
    friction: float | None = None
    """Coulomb coefficient of contacts; None: not specified, and left to the engine."""
    restitution: float | None = None
    """How much of the approach speed a contact gives back, 0 to 1; None: not specified."""
    material: Material | None = None
    """The appearance besides the colour; None: not specified."""

    @property
    def kind(self) -> str:
        return kind_of(self.geometry)


def texture_of(shape: Shape) -> Texture | None:
    """The image of a shape's material, if it has one."""
    return None if shape.material is None else shape.material.texture


def _around(x: float, y: float, z: float) -> Bounds:
    return ((-x / 2, -y / 2, -z / 2), (x / 2, y / 2, z / 2))
