"""The texture coordinates of a mesh prim: a primvar, whose name a shader of the material states."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.formats.usd.reader.stage import StagePrim
from exoskel.formats.usd.textures import SCALE
from exoskel.source.mesh_parsing import Triangles
from exoskel.spatial import Array

_START, _INDICES = "primvars:", ":indices"
_DEFAULT = "primvars:st"


class Corners(Struct, frozen=True, eq=False):
    """The corners of the triangles of a mesh: their numbers in the list of vertices, and the faces around them."""

    numbers: Triangles
    vertices: Triangles
    faces: Triangles


class CoordinateTransform(Struct, frozen=True):
    """How a shader moves texture coordinates after they were repeated: a rotation in degrees and a translation."""

    rotation: float = 0.0
    translation: tuple[float, float] = (0.0, 0.0)
    repeat: tuple[float, float] = (1.0, 1.0)

    def apply(self, places: Array) -> Array:
        """Places that are moved as the shader moves them once they are repeated."""
        if not self.rotation and not any(self.translation):
            return places
        angle = np.radians(self.rotation)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        moved: Array = ((places * self.repeat) @ turn.T + self.translation) / self.repeat
        return moved


def coordinate_names(prim: StagePrim) -> list[str]:
    """The properties of a prim that are texture coordinates."""
    return [name for name in prim.arrays if _is_coordinates(prim, name)]


def coordinate_name(prim: StagePrim, wanted: str) -> str:
    """The property with the coordinates that are read; empty if the mesh has no coordinates.

    `wanted` is the name of the primvar that the material uses; empty if it uses none.
    """
    name = f"{_START}{wanted}" if wanted else _DEFAULT
    found = coordinate_names(prim)
    return name if name in found else "" if wanted or not found else found[0]


def read_coordinates(prim: StagePrim, corners: Corners, wanted: str, moved: CoordinateTransform) -> Array | None:
    """The places of all corners on the image; None if the prim states none, or if they do not fit the mesh."""
    name = coordinate_name(prim, wanted)
    if not name:
        return None
    places: Array = prim.arrays[name].array().astype(np.float64)
    indices = prim.arrays.get(f"{name}{_INDICES}")
    rows = _rows(prim.interpolations.get(name, ""), corners)
    if indices is not None:
        rows = _picked(indices.array().ravel().astype(np.int64), rows)
    if rows is None or (len(rows) and (rows.min() < 0 or rows.max() >= len(places))):
        return None
    found = moved.apply(places[rows])
    return found if np.isfinite(found).all() else None


def _rows(interpolation: str, corners: Corners) -> Triangles | None:
    """The number of the value of each corner."""
    return {
        "constant": np.zeros_like(corners.numbers),
        "uniform": corners.faces,
        "vertex": corners.vertices,
        "varying": corners.vertices,
        "faceVarying": corners.numbers,
    }.get(interpolation)


def _picked(indices: Triangles, rows: Triangles | None) -> Triangles | None:
    if rows is None or (len(rows) and rows.max() >= len(indices)):
        return None
    return indices[rows]


def _is_coordinates(prim: StagePrim, name: str) -> bool:
    found = prim.arrays.get(name)
    is_pair = found is not None and len(found.shape) == 2 and found.shape[1] == 2
    return is_pair and name.startswith(_START) and not name.endswith(_INDICES)


def stated_coordinates(
    surface: str, values: Callable[[str], Mapping[str, Any]], source: Callable[[str, str], str]
) -> tuple[str, CoordinateTransform]:
    """The name of the primvar that the image of a surface shader uses, and how its values are moved."""
    shader, moved = source(source(surface, "inputs:diffuseColor") or surface, "inputs:st"), CoordinateTransform()
    stated = values(shader) if shader else {}
    if "inputs:varname" not in stated and shader:
        moved = _transform(stated)
        shader = source(shader, "inputs:in")
        stated = values(shader) if shader else {}
    name = stated.get("inputs:varname")
    return (name if isinstance(name, str) else ""), moved


def _transform(stated: Mapping[str, Any]) -> CoordinateTransform:
    rotation, translation = stated.get("inputs:rotation", 0.0), stated.get("inputs:translation", (0.0, 0.0))
    repeat = stated.get(SCALE, (1.0, 1.0))
    is_pair = all(isinstance(one, list | tuple) and len(one) == 2 for one in (translation, repeat))
    if not is_pair or not isinstance(rotation, int | float) or not all(one > 0.0 for one in repeat):
        return CoordinateTransform()
    (x, y), (across, up) = translation, repeat
    return CoordinateTransform(float(rotation), (float(x), float(y)), (float(across), float(up)))
