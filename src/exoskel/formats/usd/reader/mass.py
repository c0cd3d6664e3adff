"""Read mass properties: what a body states, and what follows from the masses and densities of its colliders.

A mass of the body outranks those of its colliders, which keep their proportions.  A density of a collider outranks
that of the body, which outranks that of the material.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.usd.reader.prims import COLLIDER, TAPERED, BodySource, PrimIndex, PrimPlacement, placement
from exoskel.formats.usd.reader.shape_prims import ReportProblem, tapered_solid
from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.scene.body import Body
from exoskel.scene.inertia import UNIT_MOMENT, Inertia, Moment, UniformSolid, centre_of, solid, solid_tensors
from exoskel.scene.pose import Vector
from exoskel.scene.shape import Capsule, Cone, Cylinder, Shape
from exoskel.spatial import Array

_DENSITY = 1000.0
"""USD's default density, kg/m³."""
_MASS = 1.0
"""The mass of a body that states none and has no volume, kg."""
_EVEN = 1e-9
"""The relative difference of densities that are the same."""


class _Collider(Struct):
    """The mass properties of one collider, with its centre in the frame of its body.

    `turned` is the moment that it states, about its centre and in axes parallel to those of the body.
    """

    shape: Shape
    mass: float
    volume: float
    centre: Array
    turned: Array | None
    is_solid: bool
    """They are those of a solid of uniform density."""

    def tensor(self) -> Array:
        """The moment about its centre, in axes parallel to those of the body."""
        if self.turned is not None or not self.volume:
            return np.zeros((3, 3)) if self.turned is None else self.turned
        found: Array = solid_tensors(np.array([self.mass]), [[self.shape]], self.centre[None])[0]
        return found


def read_inertia(index: PrimIndex, source: BodySource, body: Body, report: ReportProblem) -> None:
    """Set mass, centre of mass and moment; what a file does not state follows from the collision shapes."""
    values = source.prim.values
    mass = _stated(source.prim, "physics:mass") * index.kilogram
    com, moment = _centre(source.prim, index.placement(source.prim)), _moment(index, source.prim)
    colliders = [] if mass and com is not None and moment is not None else list(_colliders(index, source, body))
    if source.is_own:
        _report_unused(index, source, [mass > 0.0, com is not None, moment is not None], report)
    is_invalid = "physics:mass" in source.prim.properties and "physics:mass" not in values
    if mass <= 0.0:
        total = sum(one.mass for one in colliders)
        mass = total if isfinite(total) else 0.0
        if mass <= 0.0:
            is_exact_zero = values.get("physics:mass") == 0.0 and "newton:inertia" in source.prim.arrays
            mass = 0.0 if is_exact_zero else _MASS
            if mass and source.is_own:
                key = "US108.invalid_assumed" if is_invalid else "US108.assumed"
                report(key, index.node(source.prim), name=body.name, mass=mass)
        elif source.is_own:
            report("US108.invalid" if is_invalid else "US108", index.node(source.prim), name=body.name, mass=mass)
    if (com is None or moment is None) and not _follow_from_shapes(colliders, body):
        com, moment = _sum(colliders, mass, com, moment)
    elif moment is None and any(solid(shape.geometry).volume for shape in body.mass_shapes):
        body.inertia = Inertia(mass=mass, com=com, moment=None, rule="solid")
        return
    given = com if com is not None or moment is not None else (0.0, 0.0, 0.0)
    body.inertia = Inertia(mass=mass, com=given, moment=moment or UNIT_MOMENT, rule="solid")


def _follow_from_shapes(colliders: list[_Collider], body: Body) -> bool:
    """Whether the centre and moment are those of solids of one density, as a scene derives them from shapes."""
    if len(colliders) < len(body.collisions) or not all(one.is_solid for one in colliders):
        return False
    densities = [one.mass / one.volume for one in colliders]
    return not densities or max(densities) - min(densities) <= _EVEN * max(densities)


def _sum(
    colliders: list[_Collider], mass: float, com: Vector | None, moment: Moment | None
) -> tuple[Vector, Moment | None]:
    """The centre and moment of colliders whose masses add up to `mass`, unless the body states them."""
    total = sum(one.mass for one in colliders)
    if not (total > 0.0 and isfinite(total)):
        return com or (0.0, 0.0, 0.0), moment
    shares = [one.mass / total for one in colliders]
    centre = sum((share * one.centre for share, one in zip(shares, colliders, strict=True)), np.zeros(3))
    about = np.array(com) if com is not None else spatial.without_noise(centre)
    tensor = np.zeros((3, 3))
    for share, one in zip(shares, colliders, strict=True):
        tensor += mass / total * one.tensor() + mass * share * spatial.point_moment(one.centre - about)
    x, y, z = about.tolist()
    return (x, y, z), moment or (_entries(tensor) if tensor.any() else None)


# --- what prims state ---------------------------------------------------------------------------------


def _stated(prim: StagePrim, name: str) -> float:
    """A mass or density; 0 if none is stated."""
    found = float(prim.values.get(name, 0.0))
    return found if isfinite(found) and found > 0.0 else 0.0


def _centre(prim: StagePrim, place: PrimPlacement) -> Vector | None:
    centre = prim.values.get("physics:centerOfMass")
    if centre is None or not all(map(isfinite, centre)):
        return None
    x, y, z = (place.stretch @ spatial.array(centre)).tolist()
    return (x, y, z)


def _moment(index: PrimIndex, prim: StagePrim) -> Moment | None:
    unit = index.kilogram * index.metre**2
    stated = prim.arrays.get("newton:inertia")
    if stated is not None and stated.shape == (6,):
        xx, yy, zz, xy, xz, yz = (unit * stated.array()).tolist()
        return (xx, yy, zz, xy, xz, yz)
    principal = prim.values.get("physics:diagonalInertia")
    if principal is None or not any(principal):
        return None
    quaternion = prim.values.get("physics:principalAxes", (0.0, 0.0, 0.0, 0.0))
    axes = spatial.quaternion_matrix(quaternion) if any(quaternion) else np.eye(3)
    tensor = (axes * spatial.array(principal)) @ axes.T
    xx, yy, zz, xy, xz, yz = (unit * spatial.moment_entries(tensor[None])[0]).tolist()
    return (xx, yy, zz, xy, xz, yz)


def _entries(tensor: Array) -> Moment:
    xx, yy, zz, xy, xz, yz = spatial.without_noise(spatial.moment_entries(tensor[None]))[0].tolist()
    return (xx, yy, zz, xy, xz, yz)


# --- colliders ----------------------------------------------------------------------------------------


def _collider_prims(source: BodySource) -> Iterator[StagePrim]:
    """The colliders of a body that count: those that collide."""
    for prim in source.shapes:
        if COLLIDER in prim.apis and prim.values.get("physics:collisionEnabled", True):
            yield prim


def _colliders(index: PrimIndex, source: BodySource, body: Body) -> Iterator[_Collider]:
    shapes = {shape.node: shape for shape in body.collisions}
    of_body = _stated(source.prim, "physics:density")
    to_body = np.eye(4)
    if source.is_own:
        to_body = spatial.inverse(index.placement(source.prim).rigid)
    for prim in _collider_prims(source):
        shape = shapes.get(index.node(prim))
        if shape is not None:
            density = _stated(prim, "physics:density") or of_body or _material_density(index, prim)
            density *= index.kilogram / index.metre**3
            place = placement(to_body @ index.matrix(prim))
            is_body = prim.path == source.prim.path
            yield _collider(index, prim, shape, density or _DENSITY, place, states_body=is_body)


def _collider(
    index: PrimIndex, prim: StagePrim, shape: Shape, density: float, place: PrimPlacement, *, states_body: bool
) -> _Collider:
    """The mass properties of a collider.  Those of a prim that is also the body are the body's."""
    tapered = _tapered(prim, shape, place)
    volume = solid(shape.geometry).volume if tapered is None else tapered.volume
    mass = 0.0 if states_body else _stated(prim, "physics:mass") * index.kilogram
    com, moment = (None, None) if states_body else (_centre(prim, place), _moment(index, prim))
    mass = mass or density * volume
    frame = place.rigid
    centre = np.array(centre_of([shape])) if volume else frame[:3, 3]
    if com is not None:
        centre = (frame @ np.array([*com, 1.0]))[:3]
    if tapered is not None and com is None:
        centre = (shape.pose.matrix() @ np.array([*tapered.centre, 1.0]))[:3]
    turned = None
    if tapered is not None and moment is None:
        turned = spatial.rotate_moment(shape.pose.matrix()[:3, :3], mass * np.diag(tapered.moment))
        offset = (shape.pose.matrix() @ np.array([*tapered.centre, 1.0]))[:3] - centre
        turned = turned + mass * spatial.point_moment(offset)
    if moment is not None:
        turned = spatial.rotate_moment(frame[:3, :3], spatial.moment_matrix(moment))
    return _Collider(shape, mass, volume, centre, turned, volume > 0.0 and com is None and turned is None)


def _tapered(prim: StagePrim, shape: Shape, place: PrimPlacement) -> UniformSolid | None:
    """The solid of a shape whose geometry does not have its volume; None for others."""
    if prim.type not in TAPERED or isinstance(shape.geometry, Capsule | Cylinder | Cone):
        return None
    x, y, z = map(abs, place.scale)
    return tapered_solid(prim, str(prim.values.get("axis", "Z")), (x, y, z)).mass_properties()


def _material_density(index: PrimIndex, prim: StagePrim) -> float:
    material = index.by_path.get(prim.materials.get("physics", ""))
    return _stated(material, "physics:density") if material is not None else 0.0


# --- what has no effect -------------------------------------------------------------------------------


def _report_unused(index: PrimIndex, source: BodySource, stated: list[bool], report: ReportProblem) -> None:
    """Report mass properties that others outrank.  `stated`: whether the body has a mass, a centre and a moment."""
    has_mass, has_centre, has_moment = stated
    colliders = [prim for prim in _collider_prims(source) if prim.path != source.prim.path]
    is_alone = len(colliders) < 2 and source.prim not in colliders
    fixed = has_mass and ((has_centre and has_moment) or is_alone)
    weighed = [prim for prim in colliders if _stated(prim, "physics:mass")]
    own = [prim for prim in colliders if prim in weighed or _stated(prim, "physics:density")]
    unused = [(prim, name) for prim in colliders if fixed for name in ("physics:mass", "physics:density")]
    unused += [(prim, "physics:density") for prim in weighed if not fixed]
    unused += [(prim, "physics:centerOfMass") for prim in colliders if has_centre and has_moment]
    unused += [(prim, name) for prim in colliders if has_moment for name in _MOMENTS]
    is_outranked = len(own) == len(list(_collider_prims(source)))
    if fixed or is_outranked or (has_mass and not own):
        unused.append((source.prim, "physics:density"))
    for prim, name in unused:
        if name in prim.properties:
            report("US108.unused", index.node(prim), attribute=name, property=name, name=prim.title)


_MOMENTS = ("physics:diagonalInertia", "physics:principalAxes", "newton:inertia")
