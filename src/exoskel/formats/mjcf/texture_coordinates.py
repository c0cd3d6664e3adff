"""Texture coordinates of meshes inside an MJCF document: one pair for each vertex, from the top left of the image."""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np

from exoskel.formats.mjcf.geoms import vertex_values
from exoskel.formats.mjcf.tree import Value
from exoskel.source.markup import format_number
from exoskel.source.mesh_parsing import Triangles
from exoskel.source.surface import distinct_rows
from exoskel.spatial import Array

_ARITHMETIC = Context(prec=400)
"""More digits than a number can have: subtracting twice must give the same number again."""
_ONE = Decimal(1)


def inline_mesh(vertices: Array, triangles: Triangles, uvs: Array | None) -> dict[str, Value]:
    """The attributes of a mesh inside the document: its vertices and faces, and its texture coordinates, if any."""
    made = dict[str, Value]()
    if uvs is not None:
        vertices, triangles, places = split_vertices(vertices, triangles, uvs)
        made["texcoord"] = coordinates_text(places)
    return {"vertex": vertex_values(vertices), "face": triangles.ravel().tolist(), **made}


def split_vertices(vertices: Array, triangles: Triangles, uvs: Array) -> tuple[Array, Triangles, Array]:
    """Vertices with one pair of coordinates each: a vertex with several is repeated at the end of the list.

    Returns the vertices, the triangles with their numbers, and the coordinates of the vertices.
    """
    used = triangles.ravel()
    first, number = distinct_rows(np.column_stack([used, uvs]))
    owners, places = used[first], uvs[first]
    _, original = np.unique(owners, return_index=True)
    is_original = np.zeros(len(owners), dtype=bool)
    is_original[original] = True
    numbers = np.where(is_original, owners, 0)
    numbers[~is_original] = len(vertices) + np.arange(int((~is_original).sum()))
    coordinates = np.zeros((len(vertices) + int((~is_original).sum()), 2))
    coordinates[numbers] = places
    return np.vstack([vertices, vertices[owners[~is_original]]]), numbers[number].reshape(-1, 3), coordinates


def coordinates_text(places: Array) -> str:
    """The attribute `texcoord`, with all digits: v is counted from the top."""
    return " ".join(f"{format_number(u)} {_from_other_end(format_number(v))}" for u, v in places.tolist())


def read_coordinates(text: str, triangles: Triangles, count: int) -> Array | None:
    """The coordinates of the corners of triangles with `count` vertices; None if the numbers do not fit."""
    words = text.split()
    if len(words) != 2 * count:
        return None
    across = np.array(words[::2], dtype=np.float64)
    up = np.array([float(_from_other_end(word)) for word in words[1::2]])
    found: Array = np.column_stack([across, up])[triangles.ravel()]
    return found if np.isfinite(found).all() else None


def _from_other_end(number: str) -> str:
    value = Decimal(number)
    return format(_ARITHMETIC.subtract(_ONE, value).normalize(_ARITHMETIC), "f") if value.is_finite() else number
