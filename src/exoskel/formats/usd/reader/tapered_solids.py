"""Cylinders and capsules whose ends have different radii: `Cylinder_1` and `Capsule_1` of USD."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import pi

import numpy as np
from msgspec import Struct

from exoskel.scene.inertia import UniformSolid
from exoskel.scene.shape import Ball, Capsule, Cone, Cylinder, Geometry, MultiSphere, TriMesh
from exoskel.source.surface import SEGMENTS
from exoskel.spatial import Array

_EVEN = 1e-6
"""The tolerance for two radii that are the same."""
_DEGREE = 3
"""Points that integrate the fourth power of a radius exactly where its square is a quadratic polynomial."""


class TaperedSolid(Struct, frozen=True):
    """A solid of revolution about z with its middle at the origin, between two circles or spheres, in m."""

    bottom: float
    top: float
    height: float
    is_capsule: bool

    @property
    def geometry(self) -> Geometry:
        """Exact, but for cylinders with different radii: they have facets."""
        is_even = abs(self.bottom - self.top) <= _EVEN * max(self.bottom, self.top)
        if self.is_capsule:
            return Capsule(self.bottom, self.height) if is_even else self._hull_of_spheres()
        if is_even:
            return Cylinder(self.bottom, self.height)
        return Cone(self.bottom, self.height) if self.top == 0.0 else self._facets()

    @property
    def has_facets(self) -> bool:
        return isinstance(self.geometry, TriMesh)

    def _hull_of_spheres(self) -> Geometry:
        half = self.height / 2.0
        if abs(self.top - self.bottom) < self.height:
            return MultiSphere((Ball(self.bottom, (0.0, 0.0, -half)), Ball(self.top, (0.0, 0.0, half))))
        inner, z = (self.top, half) if self.top > self.bottom else (self.bottom, -half)  # it contains the other sphere
        return MultiSphere((Ball(inner, (0.0, 0.0, z)),))

    def _facets(self) -> TriMesh:
        angles = np.arange(SEGMENTS) * (2.0 * np.pi / SEGMENTS)
        ring, half = np.stack([np.cos(angles), np.sin(angles)], axis=1), self.height / 2.0
        rings = [
            np.column_stack([radius * ring, np.full(SEGMENTS, z)]) if radius else np.array([[0.0, 0.0, z]])
            for radius, z in ((self.bottom, -half), (self.top, half))
        ]
        here = np.arange(SEGMENTS)
        ahead = (here + 1) % SEGMENTS
        start = len(rings[0])
        lower, lower_ahead = (here, ahead) if self.bottom else (np.zeros_like(here), np.zeros_like(here))
        walls = [np.stack([lower, start + ahead, start + here], axis=1)]
        fan = np.stack([np.zeros(SEGMENTS - 2, int), here[1:-1], here[2:]], axis=1)
        walls += [np.stack([lower, lower_ahead, start + ahead], axis=1), fan[:, ::-1]] if self.bottom else []
        return TriMesh(np.vstack(rings), np.vstack([*walls, start + fan]))

    def mass_properties(self) -> UniformSolid:
        """Volume, centre and moment, without facets."""
        pieces = self._capsule_pieces() if self.is_capsule else self._cylinder_pieces()
        area = first = second = fourth = 0.0
        nodes, weights = np.polynomial.legendre.leggauss(_DEGREE)
        for low, high, squared in pieces:
            z = low + (high - low) * (nodes + 1.0) / 2.0
            slices, weight = squared(z), weights * (high - low) / 2.0
            area += float(weight @ slices)
            first += float(weight @ (slices * z))
            second += float(weight @ (slices * z * z))
            fourth += float(weight @ (slices * slices))
        if not area > 0.0:
            return UniformSolid(0.0)
        centre = first / area
        along = fourth / (2.0 * area)
        across = along / 2.0 + second / area - centre * centre
        return UniformSolid(pi * area, (0.0, 0.0, centre), (across, across, along))

    def _cylinder_pieces(self) -> list[_SolidPiece]:
        half = self.height / 2.0
        return [(-half, half, _cone(-half, self.bottom, half, self.top))] if self.height else []

    def _capsule_pieces(self) -> list[_SolidPiece]:
        """Two caps and the cone that touches both spheres."""
        shape = self.geometry
        if not isinstance(shape, MultiSphere):
            half = self.height / 2.0
            shape = MultiSphere((Ball(self.bottom, (0.0, 0.0, -half)), Ball(self.top, (0.0, 0.0, half))))
        ends = [(ball.position[2], ball.radius) for ball in shape.spheres]
        if len(ends) == 1:
            ((z, radius),) = ends
            return [(z - radius, z + radius, _sphere(z, radius))]
        (low, bottom), (high, top) = ends
        slope = (bottom - top) / (high - low)
        across = (1.0 - slope * slope) ** 0.5
        touching = [(z + slope * radius, across * radius) for z, radius in ends]
        cuts = [low - bottom, touching[0][0], touching[1][0], high + top]
        profiles = [_sphere(low, bottom), _cone(*touching[0], *touching[1]), _sphere(high, top)]
        return [(a, b, profile) for (a, b), profile in zip(pairwise(cuts), profiles, strict=True)]


_Profile = Callable[[Array], Array]
"""The square of the radius at some heights."""
_SolidPiece = tuple[float, float, _Profile]
"""A part of a profile, from a height to another."""


def _sphere(centre: float, radius: float) -> _Profile:
    return lambda z: radius * radius - (z - centre) ** 2


def _cone(low: float, bottom: float, high: float, top: float) -> _Profile:
    return lambda z: (bottom + (top - bottom) * (z - low) / (high - low)) ** 2
