"""Bodies that are built in Python: their mass, shapes and poses are checked and converted."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from msgspec import structs

from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import Body, check_mass
from exoskel.scene.inertia import Inertia, Moment
from exoskel.scene.joint_options import NumberSequence, numbers, vector
from exoskel.scene.pose import Pose
from exoskel.scene.shape import Geometry, Shape
from exoskel.scene.solids import volume_of


def create_body(
    name: str,
    pose: Pose,
    *,
    mass: float | None,
    density: float | None,
    com: NumberSequence | None,
    moment: NumberSequence | None,
    shapes: Sequence[Shape | Geometry],
) -> Body:
    """A body whose shapes are both visual and collision shapes, and give the mass properties that are None."""
    visuals = [s if isinstance(s, Shape) else Shape(geometry=s) for s in shapes]
    collisions = [structs.replace(s) if isinstance(s, Shape) else Shape(geometry=s) for s in shapes]
    kilograms = _mass(name, mass, density, collisions)
    centre = None if com is None else vector(com, "the centre of mass of body", name)
    entries: Moment | None = None
    if moment is not None:
        xx, yy, zz, xy, xz, yz = numbers(moment, "the moment of inertia of body", name, 6)
        entries = (xx, yy, zz, xy, xz, yz)
    inertia = Inertia(kilograms, centre, entries, "solid")
    return Body(name=name, pose=pose, inertia=inertia, visuals=visuals, collisions=collisions)


def as_pose(at: Pose | NumberSequence, kind: str, name: str) -> Pose:
    """A pose, or a position as a pose without rotation, of an item of a kind with a name."""
    return at if isinstance(at, Pose) else Pose(vector(at, f"the position of {kind}", name))


def _mass(name: str, mass: float | None, density: float | None, shapes: Sequence[Shape]) -> float:
    """The mass that is given, or that follows from a density in kg/m³ and the shapes."""
    if density is None:
        return 1.0 if mass is None else check_mass(name, mass)
    if mass is not None:
        raise ExoskelError(f"body {name!r} has both a mass and a density; give one of them")
    if not (isfinite(density) and density > 0.0):
        raise ExoskelError(f"the density of body {name!r} is {density}, but must be positive and finite")
    volume = volume_of(shapes)
    if not volume > 0.0:
        raise ExoskelError(f"body {name!r} has a density but no shape with a volume; give its mass")
    return density * volume
