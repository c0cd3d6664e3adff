"""Read visual and collision shapes: sizes, poses and colours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.formats.usd.reading.prim_values import Values, apis, name_of, target, values
from exoskel.scene.body import Body
from exoskel.scene.pose import poses_from_matrices
from exoskel.scene.shape import Box, Capsule, Color, Cone, Cylinder, Ellipsoid, Geometry, Plane, Shape, Sphere, TriMesh

SITE, COLLIDER = "NewtonSiteAPI", "PhysicsCollisionAPI"
_DISPLAYED = ("primvars:displayColor", "primvars:displayOpacity")
_SHADED = ("inputs:diffuseColor", "inputs:opacity")
_SIZES = ("size", "radius", "height")
_ATTRIBUTES = ("xformOp:translate", "xformOp:orient", "xformOp:scale", *_SIZES, "physics:collisionEnabled", *_DISPLAYED)
_MESH_ATTRIBUTES = (*_ATTRIBUTES, "points", "faceVertexIndices")
_ZERO, _ONE = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


class ShapeReader:
    """The shapes of one layer; their poses are computed all at once."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer
        self.found: dict[str, Shape] = {}
        """By the path of the prim."""
        self._meshes: dict[str, TriMesh] = {}
        self._materials: dict[str, Color | None] = {}
        self._places: list[tuple[float, ...]] = []

    def read(self, prim: Any, body: Body) -> None:
        """Read the shapes of a body's prim."""
        for one in prim.nameChildren:
            known = _PRIMITIVES.get(one.typeName)
            schemas = apis(one)
            if (known is None and one.typeName != "Mesh") or SITE in schemas:
                continue
            found = values(one, _ATTRIBUTES if known is not None else _MESH_ATTRIBUTES)
            is_solid = COLLIDER in schemas
            geometry = known(found) if known is not None else self._mesh(one, found)
            shape = Shape(geometry=geometry, name=name_of(one), color=self._color(one, found) if not is_solid else None)
            shape.collidable = bool(found.get("physics:collisionEnabled", True))
            (body.collisions if is_solid else body.visuals).append(shape)
            self.found[str(one.path)] = shape
            self._places.append((*found.get("xformOp:translate", _ZERO), *found.get("xformOp:orient", _ONE)))

    def finish(self) -> None:
        if not self._places:
            return
        rows = np.array(self._places, dtype=np.float64)
        transforms = spatial.transform(spatial.quaternion_matrix(rows[:, 3:]), rows[:, :3])
        for shape, pose in zip(self.found.values(), poses_from_matrices(transforms), strict=True):
            shape.pose = pose

    def _mesh(self, prim: Any, found: Values) -> TriMesh:
        """The triangles of a mesh, which may be in a prim that several shapes reference."""
        lists = prim.referenceList.GetAddedOrExplicitItems() if prim.hasReferences else ()
        path = str(lists[0].primPath) if lists else str(prim.path)
        if path not in self._meshes:
            mesh_values = found if not lists else values(self.layer.GetPrimAtPath(path), _MESH_ATTRIBUTES)
            points = np.array(mesh_values["points"], dtype=np.float64).reshape(-1, 3)
            self._meshes[path] = TriMesh(
                points, np.array(mesh_values["faceVertexIndices"], dtype=np.int64).reshape(-1, 3)
            )
        return self._meshes[path]

    def _color(self, prim: Any, found: Values) -> Color | None:
        """The colour of a shape, which is stated twice; None if the two differ."""
        shown = _single_color(found, _DISPLAYED)
        material = target(prim, "material:binding")
        if not material:
            return shown
        if material not in self._materials:
            shader = values(self.layer.GetPrimAtPath(f"{material}/shader"), _SHADED)
            self._materials[material] = _single_color(shader, _SHADED)
        return shown if shown == self._materials[material] else None


def _scaled_size(found: Values, size: float) -> tuple[float, float, float]:
    x, y, z = found.get("xformOp:scale", (1.0, 1.0, 1.0))
    return (size * x, size * y, size * z)


def _sphere_or_ellipsoid(found: Values) -> Geometry:
    radius = found["radius"]
    return Ellipsoid(_scaled_size(found, 2.0 * radius)) if "xformOp:scale" in found else Sphere(radius)


_PRIMITIVES: dict[str, Callable[[Values], Geometry]] = {
    "Cube": lambda found: Box(_scaled_size(found, found["size"])),
    "Sphere": _sphere_or_ellipsoid,
    "Cylinder": lambda found: Cylinder(found["radius"], found["height"]),
    "Capsule": lambda found: Capsule(found["radius"], found["height"]),
    "Cone": lambda found: Cone(found["radius"], found["height"]),
    "Plane": lambda found: Plane((0.0, 0.0, 1.0)),
}


def _single_color(found: Values, names: tuple[str, str]) -> Color | None:
    """One colour with its opacity; None if a mesh has a colour for each vertex."""
    color, opacity = (found.get(name) for name in names)
    if color is None:
        return None
    if names == _DISPLAYED:
        if len(color) != 1:
            return None
        color, opacity = color[0], opacity[0] if opacity is not None else None
    r, g, b = color
    return (r, g, b, 1.0 if opacity is None else opacity)
