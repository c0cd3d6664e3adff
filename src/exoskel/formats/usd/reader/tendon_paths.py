"""Read the paths of spatial tendons of MuJoCo's schema: sites, shapes that they wrap around, and pulleys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import isfinite

from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.scene.item import Item, qualified_name
from exoskel.scene.shape import Cylinder, Sphere
from exoskel.scene.tendon import TendonPoint
from exoskel.scene.world import World


class UnsupportedPrimError(Exception):
    """A prim has no counterpart in a scene; the message is the reason."""


def numbers(prim: StagePrim, name: str, otherwise: tuple[float, ...]) -> tuple[float, ...]:
    """The numbers of an array; those that are missing at its end are the defaults."""
    found = prim.arrays.get(name)
    stated = tuple(map(float, found.array().ravel().tolist())) if found is not None else ()
    return (*stated, *otherwise[len(stated) :])


class TendonPathReader:
    """Reads the paths of tendons; `sites` and `shapes` are paths in the scene, by the paths of their prims."""

    def __init__(self, sites: Mapping[str, str], shapes: Mapping[str, str]) -> None:
        self._sites = sites
        self._shapes = shapes

    def points(self, prim: StagePrim) -> tuple[TendonPoint, ...]:
        """The points of a tendon.  Raises UnsupportedPrimError."""
        targets, sides = prim.targets.get("mjc:path", []), prim.targets.get("mjc:sideSites", [])
        order = _integers(prim, "mjc:path:indices") or list(range(len(targets)))
        segments = _integers(prim, "mjc:path:segments") or [0] * len(order)
        side_order = _integers(prim, "mjc:sideSites:indices") or [-1] * len(order)
        if not len(order) == len(segments) == len(side_order):
            raise UnsupportedPrimError("its segments or side sites do not fit its path")
        if not all(0 <= one < len(targets) for one in order) or not all(-1 <= one < len(sides) for one in side_order):
            raise UnsupportedPrimError("its path has numbers of targets that do not exist")
        points: list[TendonPoint] = []
        last = 0
        for target, segment, side in zip(order, segments, side_order, strict=True):
            divisor = self._divisor(prim, segment, last)
            if segment > last or (not points and divisor != 1.0):
                points.append(TendonPoint(divisor=divisor))
            last = segment
            points.append(self._point(targets[target], sides[side] if side >= 0 else ""))
        return tuple(points)

    @staticmethod
    def _divisor(prim: StagePrim, segment: int, last: int) -> float:
        divisors = numbers(prim, "mjc:path:divisors", (1.0,))
        if segment < last or segment >= len(divisors):
            raise UnsupportedPrimError("its segments are not in order, or have no divisor")
        if not (isfinite(divisors[segment]) and divisors[segment] > 0.0):
            raise UnsupportedPrimError(f"its divisor {divisors[segment]:g} is not positive")
        return divisors[segment]

    def _point(self, target: str, side: str) -> TendonPoint:
        if target in self._sites:
            return TendonPoint(site=self._sites[target])
        if target not in self._shapes:
            raise UnsupportedPrimError(f"its path leads to '{target}', not a site, sphere or cylinder")
        if side and side not in self._sites:
            raise UnsupportedPrimError(f"its side site '{side}' is not a site")
        return TendonPoint(shape=self._shapes[target], side_site=self._sites[side] if side else "")


def tendon_sites(world: World, path_of: Callable[[Item], str]) -> dict[str, str]:
    """The paths of markers in the scene, by those of their prims, which `path_of` knows."""
    return {
        path_of(marker): qualified_name(model.name, body.name, marker.name)
        for model in world.models
        for body in model.bodies
        for marker in body.markers
    }


def tendon_shapes(world: World, path_of: Callable[[Item], str]) -> dict[str, str]:
    """The paths of spheres and cylinders in the scene, by their numbers, by those of their prims."""
    return {
        path_of(shape): qualified_name(model.name, body.name, f"{kind}{number}")
        for model in world.models
        for body in model.bodies
        for kind, shapes in (("visual", body.visuals), ("collision", body.collisions))
        for number, shape in enumerate(shapes)
        if isinstance(shape.geometry, Sphere | Cylinder)
    }


def _integers(prim: StagePrim, name: str) -> list[int]:
    return [int(one) for one in numbers(prim, name, ())]
