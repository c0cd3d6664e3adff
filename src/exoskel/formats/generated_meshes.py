"""Mesh files for shapes made of flat faces, for formats that only have triangles in files."""

from __future__ import annotations

import numpy as np

from exoskel.scene.shape import Geometry, Mesh, Pyramid, TriMesh, kind_of
from exoskel.source.output_context import OutputContext
from exoskel.source.surface import Surfaces

AS_MESH = "as a mesh file beside the document, with the same triangles"
MESH_KINDS = ("trimesh", "pyramid")
"""The kinds of shapes that a mesh file describes exactly."""


def mesh_of(geometry: Geometry, output: OutputContext) -> Mesh | None:
    """The mesh of the faces of a shape, in a file beside the document; None for other shapes, and without faces."""
    uvs = None
    if isinstance(geometry, TriMesh):
        uvs = geometry.uvs
        used, triangles = np.unique(geometry.triangles, return_inverse=True)
        faces, vertices = triangles.reshape(geometry.triangles.shape), geometry.vertices[used]
    elif isinstance(geometry, Pyramid) and min(geometry.width, geometry.depth, geometry.height) > 0.0:
        surface = Surfaces().of(geometry)
        if surface is None:
            return None
        vertices, faces = surface.merge_vertices()
    else:
        return None
    if not len(faces):
        return None
    return output.generate_mesh(kind_of(geometry), vertices, faces, is_named_by_content=True, uvs=uvs)
