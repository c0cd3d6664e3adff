"""Mass properties: of solids of uniform density, and by the two rules of DART for moments of inertia.

A moment is six numbers, ixx iyy izz ixy ixz iyz in kg·m², about the centre of mass, in axes parallel to
the body frame; the off-diagonals are entries of the tensor.

Bodies built in Python get the mass properties of solids.  Meshes in files and multi-spheres count as their bounding
boxes, triangle meshes that are not closed too.  Planes and rays have no volume.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from math import inf, isfinite, pi
from typing import Any, Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.scene.array_cache import kept_for_content
from exoskel.scene.edit_tracking import Tracked
from exoskel.scene.field_checks import ConvertedField, NumberSequence, initially
from exoskel.scene.pose import IDENTITY, NO_ROTATION, ZERO, Euler, Rotation, Vector, pose_matrices
from exoskel.scene.shape import (
    Bounds,
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
    Ray,
    Shape,
    Sphere,
    TriMesh,
)
from exoskel.spatial import Array


class UniformSolid(Struct, frozen=True, gc=False):
    """Volume in m³, centre in the frame of the geometry, and the diagonal of the moment per kg about the centre."""

    volume: float
    centre: Vector = ZERO
    moment: Vector = ZERO


_EMPTY = UniformSolid(0.0)


def box_moment(x: float, y: float, z: float) -> Vector:
    """The diagonal of the moment of a box of 1 kg about its centre."""
    return ((y * y + z * z) / 12, (x * x + z * z) / 12, (x * x + y * y) / 12)


def capsule_solid(radius: float, height: float) -> UniformSolid:
    """A cylinder with half spheres at its ends."""
    r, h = radius, height
    tube, caps = pi * r * r * h, 4 / 3 * pi * r * r * r
    mt = h / (h + 4 / 3 * r)
    mc = 1.0 - mt
    side = mt * (h * h / 12 + r * r / 4) + mc * (h * h / 4 + 3 * h * r / 8 + 0.4 * r * r)
    return UniformSolid(tube + caps, ZERO, (side, side, mt * r * r / 2 + 0.4 * mc * r * r))


def solid(geometry: Geometry) -> UniformSolid:
    """The solid of a geometry; that of a triangle mesh has no products of inertia, see `mesh_tensor`."""
    match geometry:
        case Box(size=(x, y, z)):
            return UniformSolid(x * y * z, ZERO, box_moment(x, y, z))
        case Sphere(radius=r):
            return UniformSolid(4 / 3 * pi * r * r * r, ZERO, (0.4 * r * r,) * 3)
        case Ellipsoid(size=(x, y, z)):
            a, b, c = x * x, y * y, z * z
            return UniformSolid(pi * x * y * z / 6, ZERO, ((b + c) / 20, (a + c) / 20, (a + b) / 20))
        case Cylinder(radius=r, height=h):
            side = (3 * r * r + h * h) / 12
            return UniformSolid(pi * r * r * h, ZERO, (side, side, r * r / 2))
        case Capsule(radius=r, height=h):
            return capsule_solid(r, h)
        case Cone(radius=r, height=h, centred=centred):
            side = 3 / 80 * (4 * r * r + h * h)
            return UniformSolid(pi * r * r * h / 3, (0.0, 0.0, -h / 4 if centred else h / 4), (side, side, 0.3 * r * r))
        case Pyramid(width=w, depth=d, height=h):
            moment = (d * d / 20 + 3 / 80 * h * h, w * w / 20 + 3 / 80 * h * h, (w * w + d * d) / 20)
            return UniformSolid(w * d * h / 3, (0.0, 0.0, -h / 4), moment)
        case TriMesh():
            return _mesh_solid(geometry)[0]
        case Mesh() | MultiSphere():
            return _bounding_box(geometry)
        case Plane() | Ray():
            return _EMPTY


def _mesh_solid(mesh: TriMesh) -> tuple[UniformSolid, Array | None]:
    """The solid of a triangle mesh, and its tensor per kg; None if the mesh is not closed, and counts as a box."""
    found = _mesh_integrals(mesh.vertices, mesh.triangles)
    return (_bounding_box(mesh), None) if found is None else found


def _bounding_box(geometry: Mesh | MultiSphere | TriMesh) -> UniformSolid:
    bounds = geometry.bounds()
    if bounds is None:
        return _EMPTY
    (x0, y0, z0), (x1, y1, z1) = bounds
    x, y, z = x1 - x0, y1 - y0, z1 - z0
    return UniformSolid(x * y * z, ((x0 + x1) / 2, (y0 + y1) / 2, (z0 + z1) / 2), box_moment(x, y, z))


@kept_for_content
def _mesh_integrals(vertices: Array, triangles: NDArray[np.int64]) -> tuple[UniformSolid, Array] | None:
    """The solid in a closed mesh and its tensor per kg: sums over the tetrahedra between triangles and the origin."""
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    if not len(counts) or (counts % 2).any():
        return None
    corners = vertices[triangles]
    volumes = np.linalg.det(corners) / 6.0
    volume = float(volumes.sum())
    if not (isfinite(volume) and abs(volume) > 0.0):
        return None
    sums = corners.sum(axis=1)
    x, y, z = (volumes @ sums / (4.0 * volume)).tolist()
    second = np.einsum("t,tai,taj->ij", volumes, corners, corners) + np.einsum("t,ti,tj->ij", volumes, sums, sums)
    centre = np.array([x, y, z])
    covariance = second / (20.0 * volume) - np.outer(centre, centre)
    tensor = np.trace(covariance) * np.eye(3) - covariance
    xx, yy, zz = np.diag(tensor).tolist()
    return UniformSolid(abs(volume), (x, y, z), (xx, yy, zz)), tensor


def volume_of(shapes: Sequence[Shape]) -> float:
    """The volume of some shapes in m³; overlaps count twice."""
    return sum(solid(shape.geometry).volume for shape in shapes)


def centre_of(shapes: Sequence[Shape]) -> Vector:
    """The centre of mass of shapes of equal density in the frame of their body; the origin if they have no volume."""
    total = a = b = c = 0.0
    for shape in shapes:
        one = solid(shape.geometry)
        if not (one.volume > 0.0 and isfinite(one.volume)):
            continue
        x, y, z = shape.pose.position if one.centre == ZERO else _placed(shape, one)
        total += one.volume
        a, b, c = a + one.volume * x, b + one.volume * y, c + one.volume * z
    return (a / total, b / total, c / total) if total > 0.0 else ZERO


def _placed(shape: Shape, one: UniformSolid) -> Vector:
    x, y, z = (shape.pose.matrix() @ (*one.centre, 1.0))[:3].tolist()
    return (x, y, z)


def solid_tensors(masses: Array, bodies: Sequence[Sequence[Shape]], about: Array) -> Array:
    """The moments of bodies, `(n, 3, 3)`, about points `about` in their frames; NaN for bodies without volume."""
    rows = [
        (number, shape, one)
        for number, shapes in enumerate(bodies)
        for shape in shapes
        if (one := solid(shape.geometry)).volume > 0.0
    ]
    tensors = np.full((len(bodies), 3, 3), np.nan)
    if not rows:
        return tensors
    owner = np.array([number for number, _, _ in rows])
    volume = np.array([one.volume for _, _, one in rows])
    share = volume * (masses / np.bincount(owner, volume, len(bodies)))[owner]
    own = np.array([one.moment for _, _, one in rows])[:, :, None] * np.eye(3)
    for index, (_, shape, _) in enumerate(rows):
        mesh = shape.geometry
        if type(mesh) is TriMesh and (tensor := _mesh_solid(mesh)[1]) is not None:
            own[index] = tensor
    poses = pose_matrices([shape.pose for _, shape, _ in rows])
    centres = (poses @ np.array([(*one.centre, 1.0) for _, _, one in rows])[:, :, None])[:, :3, 0]
    moved = spatial.rotate_moment(poses[:, :3, :3], own) + spatial.point_moment(centres - about[owner])
    tensors[owner] = 0.0
    np.add.at(tensors, owner, share[:, None, None] * moved)
    return tensors


Moment = tuple[float, float, float, float, float, float]
UNIT_MOMENT: Moment = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
NO_MOMENT: Moment = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
MIN_MASS = 1e-12
"""What is written for a mass of zero where readers need a positive mass, or assume one instead of zero, kg."""
MIN_MOMENT = 1e-12
"""What is written for principal moments that are not positive, for such readers, kg·m²."""

InertiaRule = Literal["all_shapes", "first_shape"]
"""How a missing moment is derived: DART 6.20 uses all shapes, DART up to 6.19 only the first."""


MomentRule = Literal["all_shapes", "first_shape", "solid"]
"""How a missing moment is derived, besides DART's rules: that of solids of uniform density."""


class Inertia(Tracked, gc=False):
    """Mass in kg, centre of mass in the body frame, and a moment.

    Without a moment, `rule` derives it from the shapes.  Without a centre of mass (None), it is that of the shapes.
    """

    mass: float = 1.0
    com: ConvertedField[Vector | None, NumberSequence | None] = initially(ZERO)
    moment: ConvertedField[Moment | None, NumberSequence | None] = initially(UNIT_MOMENT)
    rule: MomentRule = "all_shapes"
    scales: bool = False
    """The moment is that of a solid of uniform density: it scales with the mass."""

    @property
    def derived(self) -> tuple[str, ...]:
        """What is derived from the shapes of the body, and follows them: `com`, `moment`, both or nothing."""
        return ("com",) * (self.com is None) + ("moment",) * (self.moment is None)

    def com_of(self, shapes: Sequence[Shape]) -> Vector:
        """The centre of mass of a body with these shapes."""
        return centre_of(shapes) if self.com is None else self.com


class DerivedMoments(Struct):
    """Moments derived from shapes, `(n, 6)`, and the centre of each body's shapes, `(n, 3)`.

    `overflown` marks bodies whose moment, or that of one of their shapes, is not finite; the identity replaces it,
    as in DART.
    """

    moments: Array
    centres: Array
    overflown: NDArray[np.bool_]


MassAndShapes = tuple[Inertia, Sequence[Shape]]
"""What a moment is derived from: the mass properties, and the shapes (DART: all, with the visual ones first)."""


def derive_moments(bodies: Sequence[MassAndShapes], rule: MomentRule | None = None) -> DerivedMoments:
    """Derive the moments of many bodies at once, each by its own rule unless `rule` is given.

    A body without shapes, or with a mass that is not positive, gets the identity.  Meshes that could not be
    loaded are ignored.
    """
    simple = [_single_solid(inertia, shapes, rule or inertia.rule) for inertia, shapes in bodies]
    moments = np.array([found[0] if found else UNIT_MOMENT for found in simple]).reshape(-1, 6)
    centres = np.array([found[1] if found else ZERO for found in simple]).reshape(-1, 3)
    overflown = np.zeros(len(bodies), dtype=np.bool_)
    other = [i for i, found in enumerate(simple) if found is None]
    if other:
        moments[other], centres[other], overflown[other] = _sum_shapes([bodies[i] for i in other], rule)
    lost = np.logical_not(np.isfinite(moments).all(axis=1))
    moments[lost] = UNIT_MOMENT
    return DerivedMoments(spatial.without_noise(moments), centres, np.logical_or(overflown, lost))


_CENTRED = frozenset({Box, Sphere, Ellipsoid, Cylinder, Capsule})
"""Geometries with their centre at their origin."""


def _single_solid(inertia: Inertia, shapes: Sequence[Shape], rule: MomentRule) -> tuple[Moment, Vector] | None:
    """The moment of a solid that is one shape without an offset, about its centre, and the centre; else None.

    The numbers are those of `_sum_shapes`, in a tenth of the time.
    """
    if rule != "solid" or len(shapes) != 1 or not inertia.mass > 0.0:
        return None
    shape, com = shapes[0], inertia.com
    if not (shape.pose is IDENTITY or shape.pose.is_identity):
        return None
    geometry = shape.geometry
    if type(geometry) is TriMesh:
        return _mesh_moment(inertia.mass, geometry) if com is None else None
    is_central = type(geometry) in _CENTRED and (com is None or com == ZERO)
    return _centred_moment(geometry, inertia.mass) if is_central else None


def _centred_moment(geometry: Geometry, given_mass: float) -> tuple[Moment, Vector] | None:
    """The moment and the centre of a solid with its centre at its origin; None without a finite volume."""
    if type(geometry) is Box:  # the most frequent one
        x, y, z = geometry.size
        volume, moment = x * y * z, box_moment(x, y, z)
    else:
        one = solid(geometry)
        volume, moment = one.volume, one.moment
    if not 0.0 < volume < inf:
        return None
    mass = volume * (given_mass / volume)  # rounded as the share of one of several shapes
    x, y, z = moment
    return (mass * x, mass * y, mass * z, 0.0, 0.0, 0.0), ZERO


def _mesh_moment(mass: float, mesh: TriMesh) -> tuple[Moment, Vector] | None:
    """The moment of a closed mesh and its centre, rounded as for one of several shapes; None for other meshes."""
    found = _unit_mesh_moment(mesh.vertices, mesh.triangles)
    if found is None:
        return None
    volume, centre, unit_row = found
    share = volume * (mass / volume)
    row = [share * value for value in unit_row]
    largest = max(map(abs, row))
    if not largest < inf:
        return None
    smallest = spatial.NOISE * largest
    xx, yy, zz, xy, xz, yz = [0.0 if abs(value) < smallest else value for value in row]
    return (xx, yy, zz, xy, xz, yz), centre


@kept_for_content
def _unit_mesh_moment(vertices: Array, triangles: NDArray[np.int64]) -> tuple[float, Vector, Moment] | None:
    """The volume of a closed mesh, its centre, and its moment for 1 kg, with rounding errors; None for other meshes."""
    found = _mesh_integrals(vertices, triangles)
    if found is None or not 0.0 < found[0].volume < inf:
        return None
    (one, tensor), volume = found, found[0].volume
    x, y, z = one.centre
    a, b, c = volume * x / volume + 0.0, volume * y / volume + 0.0, volume * z / volume + 0.0
    x, y, z = x - a, y - b, z - c  # rounding errors
    square = x * x + y * y + z * z
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = tensor.tolist()
    diagonal = (xx + (square - x * x), yy + (square - y * y), zz + (square - z * z))
    return volume, (a, b, c), (*diagonal, xy - x * y, xz - x * z, yz - y * z)


def solid_moment(inertia: Inertia, shape: Shape) -> tuple[Moment, Vector] | None:
    """The moment and centre that `derive_moments` finds for a solid of one shape without an offset; else None."""
    geometry, mass = shape.geometry, inertia.mass
    if inertia.com is None and shape.pose is IDENTITY and mass > 0.0 and type(geometry) in _CENTRED:
        return _centred_solid(geometry, mass)
    return _if_solid(_single_solid(inertia, (shape,), "solid"))


@lru_cache(maxsize=1024)
def _centred_solid(geometry: Geometry, mass: float) -> tuple[Moment, Vector] | None:
    """`solid_moment` of a shape with its centre at its origin.  Many bodies are alike."""
    return _if_solid(_centred_moment(geometry, mass))


def _if_solid(found: tuple[Moment, Vector] | None) -> tuple[Moment, Vector] | None:
    """A moment and a centre; None if a moment is a rounding error of another one, or not finite."""
    if found is None:
        return None
    xx, yy, zz, *_ = found[0]
    largest = max(xx, yy, zz)
    return found if spatial.NOISE * largest <= min(xx, yy, zz) and 0.0 < largest < inf else None


def _sum_shapes(bodies: Sequence[MassAndShapes], rule: MomentRule | None) -> tuple[Array, Array, NDArray[np.bool_]]:
    """The moments and centres of bodies, and where DART would have computed numbers that are not finite."""
    bodies = [(inertia, [s for s in shapes if not is_unloaded(s.geometry)]) for inertia, shapes in bodies]
    moments = np.empty((len(bodies), 6))
    moments[:] = UNIT_MOMENT
    centres = np.array([inertia.com_of(shapes) for inertia, shapes in bodies]).reshape(-1, 3)
    solid = [i for i, (inertia, shapes) in enumerate(bodies) if shapes and inertia.mass > 0.0]
    first = [i for i in solid if (rule or bodies[i][0].rule) == "first_shape"]
    every = [i for i in solid if (rule or bodies[i][0].rule) == "all_shapes"]
    solids = [i for i in solid if (rule or bodies[i][0].rule) == "solid"]
    overflown = np.zeros(len(bodies), dtype=np.bool_)
    with np.errstate(all="ignore"):
        if solids:
            masses = np.array([bodies[i][0].mass for i in solids])
            tensors = solid_tensors(masses, [bodies[i][1] for i in solids], centres[solids])
            known = ~np.isnan(tensors).all(axis=(1, 2))  # others have no volume
            moments[np.array(solids)[known]] = spatial.moment_entries(tensors[known])
        if first:
            moments[first] = [first_shape_moment(bodies[i]) for i in first]
        if every:
            moments[every], centres[every], overflown[every] = _all_shapes([bodies[i] for i in every])
    return moments, centres, overflown


def is_unloaded(geometry: Geometry) -> bool:
    """Whether a geometry is a mesh whose file could not be read."""
    return type(geometry) is Mesh and geometry.extent is None


def first_shape_moment(body: MassAndShapes) -> Moment:
    """The moment of a body by the rule `first_shape`; it may not be finite."""
    inertia, shapes = body
    _, (x, y, z), fixed = solid_properties(shapes[0].geometry)
    m = inertia.mass
    return (m * x + fixed, m * y + fixed, m * z + fixed, 0.0, 0.0, 0.0)


def _all_shapes(bodies: Sequence[MassAndShapes]) -> tuple[Array, Array, NDArray[np.bool_]]:
    """DART 6.20: shapes weighted by volume about their common centre, moved to the stated centre of mass.

    Returns moments and centres, and whether the identity replaces the moment of some shape that is not finite.
    """
    shapes = [shape for _, own in bodies for shape in own]
    counts = np.array([len(own) for _, own in bodies])
    owner = np.repeat(np.arange(len(bodies)), counts)
    starts = np.cumsum(counts) - counts
    mass = np.array([inertia.mass for inertia, _ in bodies])
    stated = np.array([inertia.com_of(shapes) for inertia, shapes in bodies])

    solids = [solid_properties(shape.geometry) for shape in shapes]
    volume = np.array([v if isfinite(v) and v else 1.0 for v, _, _ in solids])
    share = volume * (mass / np.add.reduceat(volume, starts))[owner]
    own_moment = np.array([diagonal for _, diagonal, _ in solids]) * share[:, None]
    own_moment += np.array([fixed for _, _, fixed in solids])[:, None]
    lost = np.logical_not(np.isfinite(own_moment).all(axis=1))
    own_moment[lost] = 1.0

    poses = pose_matrices([shape.pose for shape in shapes])
    position = poses[:, :3, 3]
    centre = np.add.reduceat(share[:, None] * position, starts) / mass[:, None]
    rotation = poses[:, :3, :3]
    rotated = rotation * own_moment[:, None, :] @ rotation.transpose(0, 2, 1)
    moved = rotated + share[:, None, None] * spatial.point_moment(position - centre[owner])
    total = np.add.reduceat(moved, starts) + mass[:, None, None] * spatial.point_moment(centre - stated)
    return spatial.moment_entries(total), centre, np.logical_or.reduceat(lost, starts)


def all_shapes_moment(body: MassAndShapes) -> tuple[Moment, Vector, bool] | None:
    """The moment of one body by the rule `all_shapes`, without NumPy, which takes longer for a few bodies.

    Returns the moment, the centre of the shapes, and whether a number was not finite, as in `derive_moments`, but for
    rounding.  None for rotations other than Euler angles in the order xyz, and if the volumes add up to zero.
    """
    inertia, shapes = body[0], [shape for shape in body[1] if not is_unloaded(shape.geometry)]
    mass, stated = inertia.mass, inertia.com_of(shapes)
    if not shapes or not mass > 0.0:
        return UNIT_MOMENT, stated, False
    solids = [solid_properties(shape.geometry) for shape in shapes]
    volumes = [v if isfinite(v) and v else 1.0 for v, _, _ in solids]
    density = sum(volumes) and mass / sum(volumes)
    if not density:
        return None
    shares = [volume * density for volume in volumes]
    x = y = z = 0.0
    for shape, share in zip(shapes, shares, strict=True):
        a, b, c = shape.pose.position
        x, y, z = x + share * a, y + share * b, z + share * c
    x, y, z = x / mass, y / mass, z / mass
    total, is_lost = _moment_of_point(mass, x - stated[0], y - stated[1], z - stated[2]), False
    for shape, share, (_, (i, j, k), fixed) in zip(shapes, shares, solids, strict=True):
        own = (i * share + fixed, j * share + fixed, k * share + fixed)
        if not all(map(isfinite, own)):
            own, is_lost = (1.0, 1.0, 1.0), True
        rotated = _rotated_moment(own, shape.pose.rotation)
        if rotated is None:
            return None
        a, b, c = shape.pose.position
        total = tuple(map(sum, zip(total, rotated, _moment_of_point(share, a - x, b - y, c - z), strict=True)))
    xx, yy, zz, xy, xz, yz = total
    if not all(map(isfinite, total)):
        return UNIT_MOMENT, (x, y, z), True
    return (xx, yy, zz, xy, xz, yz), (x, y, z), is_lost


def _moment_of_point(mass: float, x: float, y: float, z: float) -> tuple[float, ...]:
    xx, yy, zz = x * x, y * y, z * z
    return (mass * (yy + zz), mass * (xx + zz), mass * (xx + yy), mass * (-x * y), mass * (-x * z), mass * (-y * z))


def _rotated_moment(diagonal: Vector, rotation: Rotation) -> Sequence[float] | None:
    """A diagonal moment in other axes; None for rotations other than Euler angles in the order xyz."""
    if rotation is NO_ROTATION:
        return (*diagonal, 0.0, 0.0, 0.0)
    if type(rotation) is not Euler or rotation.order != "xyz" or not all(map(isfinite, rotation.angles)):
        return None
    rows = spatial.euler_xyz_rows(*rotation.in_radians)
    return [
        sum([value * a * b for value, a, b in zip(diagonal, rows[i], rows[j], strict=True)])
        for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    ]


SolidProperties = tuple[float, Vector, float]
"""Volume, diagonal moment per unit mass about the frame origin, and a part that does not scale with the mass."""


def solid_properties(geometry: Geometry) -> SolidProperties:
    """The properties of a geometry in DART, including its errors (cone, pyramid, multi-sphere, mesh)."""
    return _SOLIDS[type(geometry)](geometry)


def _extents(bounds: Bounds | None) -> Vector:
    if bounds is None:
        return ZERO
    (x0, y0, z0), (x1, y1, z1) = bounds
    return (x1 - x0, y1 - y0, z1 - z0)


def _solid_box(g: Box) -> SolidProperties:
    x, y, z = g.size
    return (x * y * z, box_moment(x, y, z), 0.0)


def _solid_sphere(g: Sphere) -> SolidProperties:
    r2 = g.radius * g.radius
    return (4 / 3 * pi * r2 * g.radius, (0.4 * r2, 0.4 * r2, 0.4 * r2), 0.0)


def _solid_ellipsoid(g: Ellipsoid) -> SolidProperties:
    a, b, c = (d * d for d in g.size)
    x, y, z = g.size
    return (pi * x * y * z / 6, ((b + c) / 20, (a + c) / 20, (a + b) / 20), 0.0)


def _solid_cylinder(g: Cylinder) -> SolidProperties:
    r2, h2 = g.radius * g.radius, g.height * g.height
    side = (3 * r2 + h2) / 12
    return (pi * r2 * g.height, (side, side, r2 / 2), 0.0)


def _solid_capsule(g: Capsule) -> SolidProperties:
    capsule = capsule_solid(g.radius, g.height)
    return (capsule.volume, capsule.moment, 0.0)


def _solid_cone(g: Cone) -> SolidProperties:
    # DART takes the moment about the base centre as that about the frame origin.
    r2, h2 = g.radius * g.radius, g.height * g.height
    side = 3 / 20 * (r2 + 2 * h2 / 3)
    return (pi * r2 * g.height / 3, (side, side, 0.3 * r2), 0.0)


def _solid_pyramid(g: Pyramid) -> SolidProperties:
    return (g.width * g.depth * g.height / 3, ZERO, 1.0)


def _solid_without_volume(_: Plane | Ray) -> SolidProperties:
    return (0.0, ZERO, 0.0)


def _solid_multi_sphere(g: MultiSphere) -> SolidProperties:
    return (0.0, box_moment(*_extents(g.bounds())), 0.0)


def _solid_mesh(g: Mesh | TriMesh) -> SolidProperties:
    x, y, z = _extents(g.bounds())
    return (x * y * z, box_moment(x, y, z), 0.0)


_SOLIDS: dict[type, Callable[[Any], SolidProperties]] = {
    Box: _solid_box,
    Sphere: _solid_sphere,
    Ellipsoid: _solid_ellipsoid,
    Cylinder: _solid_cylinder,
    Capsule: _solid_capsule,
    Cone: _solid_cone,
    Pyramid: _solid_pyramid,
    Plane: _solid_without_volume,
    Ray: _solid_without_volume,
    MultiSphere: _solid_multi_sphere,
    Mesh: _solid_mesh,
    TriMesh: _solid_mesh,
}
