"""Transforms and geometries of XODE."""

from __future__ import annotations

from math import degrees
from pathlib import Path

import numpy as np

from exoskel import spatial
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Quaternion
from exoskel.scene.shape import Box, Capsule, Cone, Cylinder, Mesh, Plane, Ray, Shape, Sphere, TriMesh
from exoskel.source import meshes
from exoskel.source.markup import Markup, number
from exoskel.source.meshes import MeshError
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array


def add_transform(element: Markup, pose: Pose, output: OutputContext) -> None:
    """Position, and rotation as a quaternion; nothing where there is nothing to say."""
    if pose.is_identity:
        return
    transform = element.add("transform")
    if pose.position != ZERO:
        transform.add("position", **{n: number(v) for n, v in zip("xyz", pose.position, strict=True)})
    rotation = Markup("rotation")
    if pose.is_unturned:
        pass
    elif output.target == "pyode":
        # PyODE reads no quaternions, and turns Euler angles the other way.
        angles = spatial.euler_xyz(pose.rotation.matrix()).tolist()
        if any(angles):
            spelled = {n: number(-degrees(v)) for n, v in zip("xyz", angles, strict=True)}
            rotation.add("euler", **spelled, aformat="degrees")
    else:
        w, x, y, z = pose.rotation.wxyz if isinstance(pose.rotation, Quaternion) else pose.quaternion
        if (x, y, z) != ZERO:
            rotation.add("quaternion", x=number(x), y=number(y), z=number(z), w=number(w))
    if rotation.children:
        transform.children.append(rotation)
    if not transform.children:
        element.children.remove(transform)


def geometry_of(shape: Shape, output: OutputContext) -> Markup | None:
    """The geometry's element, or None if XODE has no word for it."""
    match shape.geometry:
        case Box(size=(x, y, z)):
            return Markup("box", {"sizex": number(x), "sizey": number(y), "sizez": number(z)})
        case Sphere(radius=radius):
            return Markup("sphere", {"radius": number(radius)})
        case Cylinder(radius=radius, height=height) if output.target != "pyode":
            return Markup("cylinder", {"radius": number(radius), "length": number(height)})
        case Capsule(radius=radius, height=height):
            return Markup("cappedCylinder", {"radius": number(radius), "length": number(height)})
        case Cone(radius=radius, height=height, centred=False) if output.target != "pyode":
            return Markup("cone", {"radius": number(radius), "length": number(height)})
        case Ray(length=length) if output.target != "pyode":
            return Markup("ray", {"length": number(length)})
        case Plane():
            return static_plane(shape.geometry, IDENTITY.matrix())
        case TriMesh() as mesh:
            return _trimesh(mesh.vertices, mesh.triangles, mesh.remarks)
        case Mesh(path=str(path), extent=extent, scale=scale) if extent is not None:
            return _embedded(path, np.array(scale))
        case _:
            return None


def static_plane(plane: Plane, place: Array) -> Markup:
    """A plane in the root frame; it has no transform of its own."""
    normal = place[:3, :3] @ plane.normal
    offset = plane.offset + float(normal @ place[:3, 3])
    a, b, c = normal.tolist()
    return Markup("plane", {"a": number(a), "b": number(b), "c": number(c), "d": number(offset)})


def _embedded(path: str, scale: Array) -> Markup | None:
    """A mesh file, its triangles written out."""
    try:
        vertices, triangles = meshes.triangles(Path(path))
    except MeshError:
        return None
    if np.prod(scale) < 0.0:
        triangles = triangles[:, ::-1]
    return _trimesh(vertices * scale, triangles, {}) if len(triangles) else None


def _trimesh(vertices: Array, triangles: np.ndarray, remarks: dict[int, str]) -> Markup:
    element = Markup("trimesh")
    points = element.add("vertices")
    for index, (x, y, z) in enumerate(vertices.tolist()):
        point = points.add("v", x=number(x), y=number(y), z=number(z))
        if index in remarks:
            point.attributes["e"] = remarks[index]
    corners = element.add("triangles")
    for a, b, c in (triangles + 1).tolist():
        corners.add("t", ia=str(a), ib=str(b), ic=str(c))
    return element
