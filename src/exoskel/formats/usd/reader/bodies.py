"""Read bodies and their shapes: mass properties, poses and velocities, computed for all bodies at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.formats.usd.collision_filter import FILTERED_PAIRS
from exoskel.formats.usd.mapping import MATERIAL_INPUTS, SKIN
from exoskel.formats.usd.reader.cameras_and_lights import WrittenView, is_view
from exoskel.formats.usd.reader.prims import (
    Values,
    apis,
    custom_data,
    is_preserved,
    name_of,
    read_material,
    target,
    targets,
    values,
)
from exoskel.formats.usd.textures import FILE, SCALE, read_texture
from exoskel.scene.body import Body, BodyState, Marker
from exoskel.scene.collision_filter import Pair
from exoskel.scene.inertia import UNIT_MOMENT, Inertia
from exoskel.scene.pose import Vector, poses_from_matrices
from exoskel.scene.shape import (
    Box,
    Capsule,
    Color,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Material,
    Plane,
    Shape,
    Sphere,
    Texture,
    TriMesh,
)
from exoskel.spatial import Array

_TRANSLATE = "xformOp:translate"
SITE, COLLIDER = "NewtonSiteAPI", "PhysicsCollisionAPI"
_DISPLAYED = ("primvars:displayColor", "primvars:displayOpacity")
_SHADED = ("inputs:diffuseColor", "inputs:opacity")
_CONTACT = ("physics:dynamicFriction", "physics:restitution")
_SIZES = ("size", "radius", "height")
_SHAPE_ATTRIBUTES = (
    "xformOp:translate",
    "xformOp:orient",
    "xformOp:scale",
    *_SIZES,
    "physics:collisionEnabled",
    *_DISPLAYED,
)
_MESH_ATTRIBUTES = (*_SHAPE_ATTRIBUTES, "points", "faceVertexIndices", "primvars:st")


class UsdShapeReader:
    """The shapes of one layer; their poses are computed all at once."""

    def __init__(self, layer: Any, textures: Mapping[str, Texture]) -> None:
        self.layer = layer
        self._textures = textures
        self.found: dict[str, Shape] = {}
        """By the path of the prim."""
        self.markers: dict[str, Marker] = {}
        """By the path of the prim."""
        self.views: list[WrittenView] = []
        self._meshes: dict[str, TriMesh] = {}
        self._materials: dict[str, Color | None] = {}
        self._reflections: dict[str, Material | None] = {}
        self._contacts: dict[str, tuple[float | None, float | None]] = {}
        """Friction and restitution, by the path of the material."""
        self._places: list[tuple[float, ...]] = []

    def read(self, prim: Any, body: Body) -> None:
        """Read the shapes of a body's prim."""
        for one in (child for child in prim.nameChildren if not is_preserved(child)):
            if is_view(one.typeName):
                self.views.append((one, body))
            known = _PRIMITIVES.get(one.typeName)
            schemas = apis(one)
            if (known is None and one.typeName != "Mesh") or SKIN in custom_data(one):
                continue
            if SITE in schemas:
                offset = values(one, (_TRANSLATE,))[_TRANSLATE]
                self.markers[str(one.path)] = Marker(name=name_of(one), offset=offset)
                body.markers.append(self.markers[str(one.path)])
                continue
            found = values(one, _SHAPE_ATTRIBUTES if known is not None else _MESH_ATTRIBUTES)
            is_solid = COLLIDER in schemas
            geometry = known(found) if known is not None else self._mesh(one, found)
            shape = Shape(geometry=geometry, name=name_of(one), color=self._color(one, found))
            shape.material = self._material(one)
            shape.collidable = bool(found.get("physics:collisionEnabled", True))
            self._read_contact(one, shape)
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
            triangles = np.array(mesh_values["faceVertexIndices"], dtype=np.int64).reshape(-1, 3)
            uvs = mesh_values.get("primvars:st")
            if uvs is not None:
                uvs = np.array(uvs, dtype=np.float64).reshape(-1, 2)
                uvs = uvs if len(uvs) == triangles.size else uvs[triangles.ravel()]
            self._meshes[path] = TriMesh(points, triangles, uvs=uvs)
        return self._meshes[path]

    def _read_contact(self, prim: Any, shape: Shape) -> None:
        """Read the friction and restitution of a shape, if it has a physics material of its own."""
        material = target(prim, "material:binding:physics")
        if not material:
            return
        if material not in self._contacts:
            found = values(self.layer.GetPrimAtPath(material), _CONTACT)
            friction, restitution = (found.get(name) for name in _CONTACT)
            self._contacts[material] = friction, restitution
        shape.friction, shape.restitution = self._contacts[material]

    def _material(self, prim: Any) -> Material | None:
        """The roughness and metalness of a shape."""
        path = target(prim, "material:binding")
        if path and path not in self._reflections:
            found = values(self.layer.GetPrimAtPath(f"{path}/shader"), MATERIAL_INPUTS)
            texture = read_texture(f"{path}/shader", self._inputs, self._source)
            if texture is not None and texture.uri in self._textures:
                texture = structs.replace(texture, path=self._textures[texture.uri].path)
            self._reflections[path] = read_material(found, texture)
        return self._reflections[path] if path else None

    def _inputs(self, path: str) -> Values:
        found = values(self.layer.GetPrimAtPath(path), (FILE, SCALE))
        return {name: getattr(value, "path", value) for name, value in found.items()}

    def _source(self, path: str, name: str) -> str:
        """The path of the shader that an input is connected to, or an empty string."""
        spec = self.layer.GetAttributeAtPath(f"{path}.{name}")
        found = spec.connectionPathList.GetAddedOrExplicitItems() if spec is not None else ()
        return str(found[0].GetPrimPath()) if found else ""

    def _color(self, prim: Any, found: Values) -> Color | None:
        """The colour of a shape, which is stated twice; None if the two differ."""
        shown = _single_color(found, _DISPLAYED)
        material = target(prim, "material:binding")
        if not material or self._source(f"{material}/shader", _SHADED[0]):
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


_BODY_ATTRIBUTES = (
    "xformOp:translate",
    "xformOp:orient",
    "physics:velocity",
    "physics:angularVelocity",
    "physics:mass",
    "physics:centerOfMass",
    "physics:diagonalInertia",
    "physics:principalAxes",
    "newton:inertia",
    "physxRigidBody:disableGravity",
    "physics:startsAsleep",
)
_ZERO, _ONE = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


class UsdBodyReader:
    """The bodies of one world, numbered as they were read."""

    def __init__(self) -> None:
        self.bodies: list[Body] = []
        self.number: dict[str, int] = {}
        """By the path of the prim."""
        self.filtered: dict[int, list[str]] = {}
        """The paths of the bodies that a body does not collide with, by number."""
        self._found: list[Values] = []
        self.places = self.speeds = self.spins = np.empty(0)
        """World transforms, velocities of the origins and angular velocities, valid after `finish`."""

    def read(self, prim: Any) -> Body:
        found = values(prim, _BODY_ATTRIBUTES)
        body = Body(name=name_of(prim), gravity=not found.get("physxRigidBody:disableGravity", False))
        if found.get("physics:startsAsleep"):
            body.state = BodyState(enabled=False)
        self.add(str(prim.path), body, found, targets(prim, FILTERED_PAIRS))
        return body

    def add(self, path: str, body: Body, found: Values, filtered: list[str]) -> None:
        """Add a body with its values, in m, kg and degrees, and the paths of bodies that it does not collide with."""
        self.number[path] = len(self.bodies)
        if filtered:
            self.filtered[len(self.bodies)] = filtered
        self.bodies.append(body)
        self._found.append(found)

    def by_path(self) -> dict[str, Body]:
        """The bodies by the paths of their prims."""
        return {path: self.bodies[number] for path, number in self.number.items()}

    def filtered_pairs(self) -> list[Pair]:
        """The pairs of bodies that do not collide according to one of them."""
        known = self.by_path()
        return [
            (self.bodies[number], known[path])
            for number, others in self.filtered.items()
            for path in others
            if path in known
        ]

    def finish(self) -> None:
        if not self.bodies:
            return
        self.places = spatial.transform(
            spatial.quaternion_matrix(self._rows("xformOp:orient", _ONE)), self._rows("xformOp:translate", _ZERO)
        )
        rotations = self.places[:, :3, :3]
        centres = self._rows("physics:centerOfMass", _ZERO)
        spins = np.radians(self._rows("physics:angularVelocity", _ZERO))
        speeds = self._rows("physics:velocity", _ZERO) - np.cross(spins, centres)
        self.speeds, self.spins = (np.einsum("bij,bj->bi", rotations, rows) for rows in (speeds, spins))
        moments = self._moments().tolist()
        for body, found, centre, (xx, yy, zz, xy, xz, yz) in zip(
            self.bodies, self._found, centres.tolist(), moments, strict=True
        ):
            mass = float(found.get("physics:mass", 0.0))
            body.inertia = Inertia(mass=mass, com=_vector(centre), moment=(xx, yy, zz, xy, xz, yz))

    def _rows(self, name: str, otherwise: tuple[float, ...]) -> Array:
        return np.array([found.get(name, otherwise) for found in self._found], dtype=np.float64)

    def _moments(self) -> Array:
        """The moments of UsdPhysics, or Newton's tensor if UsdPhysics cannot express them."""
        axes = spatial.quaternion_matrix(self._rows("physics:principalAxes", _ONE))
        principal = self._rows("physics:diagonalInertia", _ZERO)
        rows = spatial.moment_entries((axes * principal[:, None, :]) @ axes.transpose(0, 2, 1))
        for i, found in enumerate(self._found):
            if "physics:diagonalInertia" not in found:
                rows[i] = found.get("newton:inertia", UNIT_MOMENT)
        return rows


def _vector(row: list[float]) -> Vector:
    x, y, z = row
    return (x, y, z)
