"""Shapes as ODE's geoms.  ODE has no ellipsoids, cones and pyramids: these become triangles."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import ExoskelError
from exoskel.engines.ode.bodies import STATIC, OdeBodies
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
    """The records of all collision shapes.

    `body` is the number of the owner among moving bodies, `index` that among all bodies, `model` the number of its
    model: geoms of one model do not collide.  Neither do two geoms with a common bit in `filter_bits`.
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
        index = self.bodies.index[id(body)]
        frame = self.bodies.start[index] if owner == STATIC else _centred(body)
        for number, shape in enumerate(body.collisions):
            if not shape.collidable:
                continue
            if type(shape.geometry) is Plane and owner != STATIC:
                raise ExoskelError(f"ODE's planes are static, but the plane of body {body.name!r} moves with it")
            filter_bits = _filter_bits(self.bodies.world, shape.name if number or not body.name else body.name)
            for geometry, offset in _parts(shape.geometry):
                made = self._geometry(geometry, frame @ shape.pose.matrix() @ offset)
                if made is not None:
                    self.records.append(
                        {**made, "body": owner, "index": index, "model": model, "filter_bits": filter_bits}
                    )

    def _geometry(self, geometry: Geometry, pose: Array) -> dict[str, Any] | None:
        """The geom; None if the geometry is not solid or cannot be loaded."""
        record: dict[str, Any]
        match geometry:
            case Box(size=size):
                record = {"type": "box", "size": size}
            case Sphere(radius=radius):
                record = {"type": "sphere", "size": [radius]}
            case Cylinder(radius=radius, height=height):
                record = {"type": "cylinder", "size": [radius, height]}
            case Capsule(radius=radius, height=height):
                record = {"type": "capsule", "size": [radius, height]}
            case Plane(normal=normal, offset=offset):
                rotated = pose[:3, :3] @ np.array(normal)
                return {"type": "plane", "size": [*rotated.tolist(), float(offset + rotated @ pose[:3, 3])]}
            case Ray():
                return None
            case _:
                found = self._triangles(geometry)
                if found is None:
                    return None
                record = {"type": "mesh", "vertices": found[0].tolist(), "triangles": found[1].tolist()}
        return record | {"pose": spatial.pose7(pose).tolist()}

    def _triangles(self, geometry: Geometry) -> tuple[Array, Triangles] | None:
        if isinstance(geometry, Mesh | TriMesh):
            return self._meshes.triangles(geometry)
        surface = self._surfaces.of(geometry)
        return None if surface is None else surface.merge_vertices()


def _centred(body: Body) -> Array:
    """The body's frame relative to its centre of mass, which is the origin of ODE's bodies."""
    return spatial.transform(np.eye(3), -np.array(body.com))


def _parts(geometry: Geometry) -> list[tuple[Geometry, Array]]:
    """A multi-sphere as its spheres: ODE has no convex hulls."""
    if not isinstance(geometry, MultiSphere):
        return [(geometry, np.eye(4))]
    return [(Sphere(ball.radius), spatial.transform(np.eye(3), ball.position)) for ball in geometry.spheres]


def _filter_bits(world: World, name: str) -> int:
    """One bit for each collision-exempt group whose name parts the name contains."""
    return sum(1 << i for i, group in enumerate(world.collision_exempt_groups) if any(part in name for part in group))
