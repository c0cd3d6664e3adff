"""Soft bodies in MuJoCo's terms: each point of a skin is a small body on three slides.

Points collide as small spheres.  The scene has no coordinates for the points.  Springs and dampers of slides are
implicit in MuJoCo's integrator `discrete`, as those of points are in DART.  With this integrator, edges are forces that
are computed before each step as in DART; with others, they are fixed tendons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.mjcf.model.joints import X, Y, Z
from exoskel.formats.mjcf.model.rotational_joints import as_slice
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.body import Body, SoftBody
from exoskel.scene.item import qualified_name
from exoskel.scene.model import Model
from exoskel.scene.soft_skin import SoftSkin, soft_skin
from exoskel.scene.world import World
from exoskel.spatial import Array, Indices

_AXES = (X, Y, Z)
EXPLICIT_EDGES = "discrete"
"""The integrator with which edges are forces instead of tendons."""
_MIN_POINT_MASS = 1e-12
"""The least mass of a point that MuJoCo moves, kg."""
_CONTACT_RADIUS = 0.005
"""The radius of the sphere with which a point collides, relative to the smallest extent of the skin."""
POINT_MOMENT = 1e-14
"""MuJoCo requires a moment of inertia, kg·m²."""


def point_name(body: str, number: int) -> str:
    """The name of the body of a point.  It does not end in the number, because Drake appends digits to names."""
    return f"{body}/{number}/point"


def slide_names(body: str, number: int) -> list[str]:
    """The names of the slides of a point."""
    return [f"{point_name(body, number)}/{axis}" for axis in "xyz"]


def edge_name(body: str, number: int, axis: str) -> str:
    """The name of the tendon of an edge along an axis."""
    return f"{body}/edge{number}/{axis}"


class BodySkin:
    """The skin of a body, and the names of its points in MuJoCo."""

    def __init__(self, model: Model, body: Body, soft: SoftBody) -> None:
        self.model, self.body, self.soft = model, body, soft
        self.skin: SoftSkin = soft_skin(soft)
        self.point_mass = soft.total_mass / max(1, len(self.skin))
        """kg."""
        self.moves = len(self.skin) > 0 and self.point_mass > _MIN_POINT_MASS and not model.static
        """Whether the points move relative to the body: massless ones do not."""

    @property
    def name(self) -> str:
        """The name of its body."""
        return qualified_name(self.model.name, self.body.name)

    def point_name(self, number: int) -> str:
        return point_name(self.name, number)

    def slide_names(self, number: int) -> list[str]:
        return slide_names(self.name, number)

    def add_points(self, element: MjcfElement, bits: tuple[int, int]) -> None:
        """Add the points to the element of the body, with small spheres that collide, just below the surface."""
        moment = (POINT_MOMENT, POINT_MOMENT, POINT_MOMENT)
        radius = _CONTACT_RADIUS * float(np.ptp(self.skin.points, axis=0).min())
        centres = -radius * spatial.without_noise(self.skin.normals)
        for number, position in enumerate(spatial.without_noise(self.skin.points)):
            point = element.add("body", name=self.point_name(number), pos=position)
            if not self.body.gravity:
                point.attributes["gravcomp"] = 1.0
            point.add("inertial", pos=(0.0, 0.0, 0.0), mass=self.point_mass, diaginertia=moment)
            for name, axis in zip(self.slide_names(number), _AXES, strict=True):
                slide = point.add("joint", name=name, type="slide", axis=axis)
                slide.attributes |= {"stiffness": self.soft.vertex_stiffness, "damping": self.soft.damping}
            if radius > 0.0:
                sphere = point.add("geom", name=self.point_name(number), type="sphere", size=(radius,))
                sphere.attributes |= {"pos": centres[number], "contype": bits[0], "conaffinity": bits[1]}

    def add_edges(self, tendons: MjcfElement) -> None:
        """Add the edges: springs along each axis that hold the displacements of neighbours together."""
        stiffness = self.soft.edge_stiffness
        for number, (first, second) in enumerate(self.skin.edges.tolist() if stiffness else ()):
            for axis, one, other in zip("xyz", self.slide_names(first), self.slide_names(second), strict=True):
                name = edge_name(self.name, number, axis)
                edge = tendons.add("fixed", name=name, stiffness=stiffness, springlength=(0.0, 0.0))
                edge.add("joint", joint=one, coef=1.0)
                edge.add("joint", joint=other, coef=-1.0)


def body_skins(world: World) -> list[BodySkin]:
    """The skins of all soft bodies, in state order."""
    return [
        BodySkin(model, body, body.soft) for model in world.models for body in model.bodies if body.soft is not None
    ]


class _SlideSprings(Struct, frozen=True):
    """Springs of slides: their addresses among positions and velocities, and their stiffness."""

    qpos: Indices
    dofs: Indices
    stiffness: Array


class _SkinEdges(Struct, frozen=True):
    """The edges of a skin: the addresses of its slides, point by point, and the stiffness between points."""

    qpos: slice | Indices
    dofs: slice | Indices
    stiffness: Array

    def forces(self, moved: Array) -> Array:
        """The forces of the edges on slides with these positions, `(..., slides)`."""
        return -np.asarray(self.stiffness @ moved.reshape(*moved.shape[:-1], -1, 3)).reshape(moved.shape)


class SkinSprings:
    """The springs of all points that move, for steps that are not computed by MuJoCo alone.

    `has_tendons` tells whether edges are tendons, and so part of MuJoCo's steps.
    """

    def __init__(self, skins: Sequence[BodySkin], addresses: Mapping[str, tuple[int, int]], has_tendons: bool) -> None:
        self._skins = [skin for skin in skins if skin.moves]
        self._addresses = addresses
        self.pushes = not has_tendons and bool(self.edges)
        """Whether forces of edges have to be applied before each step."""

    @cached_property
    def points(self) -> _SlideSprings:
        """The springs that hold points in their places, one for each slide."""
        rows = [
            (*self._addresses[name], skin.soft.vertex_stiffness)
            for skin in self._skins
            for number in range(len(skin.skin))
            for name in skin.slide_names(number)
        ]
        found = np.array(rows).reshape(-1, 3)
        return _SlideSprings(found[:, 0].astype(np.intp), found[:, 1].astype(np.intp), found[:, 2])

    @cached_property
    def damping(self) -> Array:
        """The damping of each slide."""
        counts = [3 * len(skin.skin) for skin in self._skins]
        return np.repeat([skin.soft.damping for skin in self._skins], counts)

    @cached_property
    def edges(self) -> list[_SkinEdges]:
        """The springs between neighbours, one matrix for each skin that has any."""
        return [self._skin_edges(skin) for skin in self._skins if skin.soft.edge_stiffness and len(skin.skin.edges)]

    def _skin_edges(self, skin: BodySkin) -> _SkinEdges:
        names = [name for number in range(len(skin.skin)) for name in skin.slide_names(number)]
        places = np.array([self._addresses[name] for name in names], dtype=np.intp).reshape(-1, 2)
        stiffness = np.zeros((len(skin.skin), len(skin.skin)))
        first, second = skin.skin.edges.T
        np.add.at(stiffness, (first, second), -skin.soft.edge_stiffness)
        stiffness += stiffness.T
        np.fill_diagonal(stiffness, -stiffness.sum(axis=1))
        return _SkinEdges(as_slice(places[:, 0]), as_slice(places[:, 1]), stiffness)

    def edge_forces(self, qpos: Array, qvel: Array, step: float) -> Array:
        """The forces of edges at the positions that the velocities lead to, as in DART, `(..., nv)`."""
        out = np.zeros(qvel.shape)
        for edges in self.edges:
            out[..., edges.dofs] = edges.forces(qpos[..., edges.qpos] + step * qvel[..., edges.dofs])
        return out

    def energy(self, qpos: Array) -> Array:
        """The energy of all springs, J; positions may have any leading shape."""
        points = self.points
        held = np.sum(points.stiffness * qpos[..., points.qpos] ** 2, axis=-1)
        return np.asarray(0.5 * held + self.edge_energy(qpos))

    def edge_energy(self, qpos: Array) -> Array:
        """The energy of edges, J."""
        out = np.zeros(qpos.shape[:-1])
        for edges in self.edges:
            moved = qpos[..., edges.qpos]
            out -= 0.5 * np.sum(moved * edges.forces(moved), axis=-1)
        return out
