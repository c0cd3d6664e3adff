"""Shapes as ODE's geoms.  It has no ellipsoids, cones and pyramids: these become triangles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.ode_bodies import STILL, Bodies
from exoskel.scene.body import Body
from exoskel.scene.shape import (
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
    Sphere,
    TriMesh,
)
from exoskel.scene.world import World
from exoskel.source import meshes
from exoskel.source.meshes import MeshError
from exoskel.spatial import Array

_AROUND = 32
"""How many sides a round thing gets."""
Triangles = tuple[Array, NDArray[np.int64]]


class Geoms:
    """Makes the records of all collision shapes.

    `model` is the number of the model a geom belongs to: those of one model do not meet.  Two geoms that have a bit of
    `passes` in common do not meet either.
    """

    def __init__(self, bodies: Bodies) -> None:
        self.bodies = bodies
        self.records: list[dict[str, Any]] = []
        self._loaded: dict[str, Triangles | None] = {}
        for number, model in enumerate(bodies.world.models):
            for body in model.bodies:
                self._body(body, number)

    def _body(self, body: Body, model: int) -> None:
        owner = self.bodies.number[id(body)]
        frame = self.bodies.start[self.bodies.place[id(body)]] if owner == STILL else _centred(body)
        for index, shape in enumerate(body.collisions):
            if not shape.collidable:
                continue
            if type(shape.geometry) is Plane and owner != STILL:
                raise ExoskelError(f"ODE's planes stand still, but that of body {body.name!r} would move with it")
            passes = _passes(self.bodies.world, shape.name if index or not body.name else body.name)
            for geometry, offset in _parts(shape.geometry):
                made = self._geometry(geometry, frame @ shape.pose.matrix() @ offset)
                if made is not None:
                    self.records.append({**made, "body": owner, "model": model, "passes": passes})

    def _geometry(self, geometry: Geometry, place: Array) -> dict[str, Any] | None:
        """The geom, or None for what is not solid or cannot be loaded."""
        made: dict[str, Any]
        match geometry:
            case Box(size=size):
                made = {"type": "box", "size": size}
            case Sphere(radius=radius):
                made = {"type": "sphere", "size": [radius]}
            case Cylinder(radius=radius, height=height):
                made = {"type": "cylinder", "size": [radius, height]}
            case Capsule(radius=radius, height=height):
                made = {"type": "capsule", "size": [radius, height]}
            case Plane(normal=normal, offset=offset):
                turned = place[:3, :3] @ np.array(normal)
                return {"type": "plane", "size": [*turned.tolist(), float(offset + turned @ place[:3, 3])]}
            case Ray():
                return None
            case _:
                found = self._triangles(geometry)
                if found is None:
                    return None
                made = {"type": "mesh", "vertices": found[0].tolist(), "triangles": found[1].tolist()}
        return made | {"pose": spatial.pose7(place).tolist()}

    def _triangles(self, geometry: Geometry) -> Triangles | None:
        match geometry:
            case Ellipsoid(size=size):
                vertices, triangles = _lathe(_half_circle())
                return vertices * np.array(size) / 2.0, triangles
            case Cone(radius=radius, height=height, centred=centred):
                base = -height / 2 if centred else 0.0
                return _lathe(np.array([[0.0, base], [radius, base], [0.0, base + height]]))
            case Pyramid(width=w, depth=d, height=h):
                corners = [[x * w / 2, y * d / 2, -h / 2] for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1))]
                faces = [[0, 2, 1], [0, 3, 2], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]]
                return np.array([*corners, [0.0, 0.0, h / 2]]), np.array(faces)
            case TriMesh(vertices=vertices, triangles=triangles):
                return vertices, triangles
            case Mesh(path=str(path), scale=scale):
                return self._file(path, np.array(scale))
            case _:
                return None

    def _file(self, path: str, scale: Array) -> Triangles | None:
        if path not in self._loaded:
            try:
                self._loaded[path] = meshes.triangles(Path(path))
            except MeshError:
                self._loaded[path] = None
        found = self._loaded[path]
        if found is None:
            return None
        vertices, triangles = found
        # A mirrored triangle runs the other way round.
        return vertices * scale, triangles[:, ::-1] if np.prod(scale) < 0.0 else triangles


def _centred(body: Body) -> Array:
    """The body's frame in ODE's, which is at the centre of mass."""
    return spatial.transform(np.eye(3), -np.array(body.com))


def _parts(geometry: Geometry) -> list[tuple[Geometry, Array]]:
    """A multi-sphere comes as its spheres: ODE has no hull to put around them."""
    if not isinstance(geometry, MultiSphere):
        return [(geometry, np.eye(4))]
    return [(Sphere(ball.radius), spatial.transform(np.eye(3), ball.position)) for ball in geometry.spheres]


def _passes(world: World, name: str) -> int:
    """One bit for each group of name parts that a name contains one of."""
    return sum(1 << i for i, group in enumerate(world.passing) if any(part in name for part in group))


def _half_circle() -> Array:
    angles = np.linspace(-np.pi / 2, np.pi / 2, _AROUND // 2 + 1)
    profile = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    profile[[0, -1], 0] = 0.0
    return profile


def _lathe(profile: Array) -> Triangles:
    """The surface that a profile of (radius, z) sweeps about z; it begins and ends on the axis, from below."""
    angles = np.linspace(0.0, 2 * np.pi, _AROUND, endpoint=False)
    rings = [
        np.stack([r * np.cos(angles), r * np.sin(angles), np.full(_AROUND, z)], axis=1)
        for r, z in profile[1:-1].tolist()
    ]
    poles = np.array([[0.0, 0.0, profile[0, 1]], [0.0, 0.0, profile[-1, 1]]])
    bottom, top = _AROUND * len(rings), _AROUND * len(rings) + 1
    here = np.arange(_AROUND)
    ahead = (here + 1) % _AROUND
    faces = [np.stack([ahead, here, np.full(_AROUND, bottom)], axis=1)]
    for ring in range(len(rings) - 1):
        low, high = _AROUND * ring, _AROUND * (ring + 1)
        faces.append(np.stack([low + here, low + ahead, high + ahead], axis=1))
        faces.append(np.stack([low + here, high + ahead, high + here], axis=1))
    last = _AROUND * (len(rings) - 1)
    faces.append(np.stack([last + here, last + ahead, np.full(_AROUND, top)], axis=1))
    return np.vstack([*rings, poles]), np.vstack(faces)
