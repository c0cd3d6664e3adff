"""Writes the transforms and geometries of XODE."""

from __future__ import annotations

from math import degrees
from pathlib import Path

import numpy as np

from exoskel import spatial
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Quaternion
from exoskel.scene.shape import Box, Capsule, Cone, Cylinder, Mesh, Plane, Ray, Shape, Sphere, TriMesh
from exoskel.source import meshes
from exoskel.source.markup import Markup, format_number
from exoskel.source.meshes import MeshError
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array


def add_transform(element: Markup, pose: Pose, output: OutputContext) -> None:
    """Add a `transform` with the position and the rotation as a quaternion; nothing for the identity."""
    if pose.is_identity:
        return
    transform = element.add("transform")
    if pose.position != ZERO:
        transform.add("position", **{n: format_number(v) for n, v in zip("xyz", pose.position, strict=True)})
    rotation = Markup("rotation")
    if pose.has_no_rotation:
        pass
    elif output.target == "pyode":
        # PyODE does not read quaternions, and rotates Euler angles in the opposite direction.
        angles = spatial.euler_xyz(pose.rotation.matrix()).tolist()
        if any(angles):
            angles_text = {n: format_number(-degrees(v)) for n, v in zip("xyz", angles, strict=True)}
            rotation.add("euler", **angles_text, aformat="degrees")
    else:
        w, x, y, z = pose.rotation.wxyz if isinstance(pose.rotation, Quaternion) else pose.quaternion
        if (x, y, z) != ZERO:
            rotation.add("quaternion", x=format_number(x), y=format_number(y), z=format_number(z), w=format_number(w))
    if rotation.children:
        transform.children.append(rotation)
    if not transform.children:
        element.children.remove(transform)


def geometry_element(shape: Shape, output: OutputContext) -> Markup | None:
    """The element of a geometry, or None if XODE does not support it."""
    match shape.geometry:
        case Box(size=(x, y, z)):
            return Markup("box", {"sizex": format_number(x), "sizey": format_number(y), "sizez": format_number(z)})
        case Sphere(radius=radius):
            return Markup("sphere", {"radius": format_number(radius)})
        case Cylinder(radius=radius, height=height) if output.target != "pyode":
            return Markup("cylinder", {"radius": format_number(radius), "length": format_number(height)})
        case Capsule(radius=radius, height=height):
            return Markup("cappedCylinder", {"radius": format_number(radius), "length": format_number(height)})
        case Cone(radius=radius, height=height, centred=False) if output.target != "pyode":
            return Markup("cone", {"radius": format_number(radius), "length": format_number(height)})
        case Ray(length=length) if output.target != "pyode":
            return Markup("ray", {"length": format_number(length)})
        case Plane():
            return plane_element(shape.geometry, IDENTITY.matrix())
        case TriMesh() as mesh:
            return _trimesh(mesh.vertices, mesh.triangles, mesh.remarks)
        case Mesh(path=str(path), extent=extent, scale=scale) if extent is not None:
            return _mesh_triangles(path, np.array(scale))
        case _:
            return None


def plane_element(plane: Plane, place: Array) -> Markup:
    """A plane in the root frame, without a transform."""
    normal = place[:3, :3] @ plane.normal
    offset = plane.offset + float(normal @ place[:3, 3])
    a, b, c = normal.tolist()
    return Markup(
        "plane", {"a": format_number(a), "b": format_number(b), "c": format_number(c), "d": format_number(offset)}
    )


def _mesh_triangles(path: str, scale: Array) -> Markup | None:
    """The triangles of a mesh file as a `trimesh`."""
    try:
        vertices, triangles = meshes.load_triangles(Path(path))
    except MeshError:
        return None
    if np.prod(scale) < 0.0:
        triangles = triangles[:, ::-1]
    return _trimesh(vertices * scale, triangles, {}) if len(triangles) else None


def _trimesh(vertices: Array, triangles: np.ndarray, remarks: dict[int, str]) -> Markup:
    element = Markup("trimesh")
    points = element.add("vertices")
    for index, (x, y, z) in enumerate(vertices.tolist()):
        point = points.add("v", x=format_number(x), y=format_number(y), z=format_number(z))
        if index in remarks:
            point.attributes["e"] = remarks[index]
    corners = element.add("triangles")
    for a, b, c in (triangles + 1).tolist():
        corners.add("t", ia=str(a), ib=str(b), ic=str(c))
    return element
