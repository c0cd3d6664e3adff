"""Shapes as ODE's geoms.  It has no ellipsoids, cones and pyramids: these become triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.ode.bodies import STILL, OdeBodies
from exoskel.scene.body import Body
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cylinder,
    Geometry,
    Mesh,
    MultiSphere,
    Plane,
    Ray,
    Sphere,
    TriMesh,
)
from exoskel.scene.world import World
from exoskel.source.meshes import MeshFiles, Triangles
from exoskel.source.surface import Surfaces
from exoskel.spatial import Array


class Geoms:
    """Makes the records of all collision shapes.

    `body` is the owner's number among those that move, `place` that among all, `model` the number of its model: geoms
    of one model do not meet.  Two geoms that have a bit of `passes` in common do not meet either.
    """

    def __init__(self, bodies: OdeBodies) -> None:
        self.bodies = bodies
        self.records: list[dict[str, Any]] = []
        self._meshes = MeshFiles()
        self._surfaces = Surfaces(files=self._meshes)
        for number, model in enumerate(bodies.world.models):
            for body in model.bodies:
                self._body(body, number)

    def _body(self, body: Body, model: int) -> None:
        owner = self.bodies.number[id(body)]
        place = self.bodies.place[id(body)]
        frame = self.bodies.start[place] if owner == STILL else _centred(body)
        for index, shape in enumerate(body.collisions):
            if not shape.collidable:
                continue
            if type(shape.geometry) is Plane and owner != STILL:
                raise ExoskelError(f"ODE's planes stand still, but that of body {body.name!r} would move with it")
            passes = _passes(self.bodies.world, shape.name if index or not body.name else body.name)
            for geometry, offset in _parts(shape.geometry):
                made = self._geometry(geometry, frame @ shape.pose.matrix() @ offset)
                if made is not None:
                    self.records.append({**made, "body": owner, "place": place, "model": model, "passes": passes})

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

    def _triangles(self, geometry: Geometry) -> tuple[Array, Triangles] | None:
        if isinstance(geometry, Mesh | TriMesh):
            return self._meshes.triangles(geometry)
        surface = self._surfaces.of(geometry)
        return None if surface is None else surface.merge_vertices()


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
    return sum(1 << i for i, group in enumerate(world.collision_exempt_groups) if any(part in name for part in group))
