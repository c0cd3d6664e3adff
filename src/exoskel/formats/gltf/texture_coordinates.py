"""Texture coordinates of primitives: read from the set that the base colour of their material uses."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel.formats.gltf.accessors import GltfFile, is_finite_number
from exoskel.formats.gltf.textures import TRANSFORM, texture_repeat
from exoskel.source.glb_accessors import MalformedGltfError
from exoskel.source.mesh_parsing import Triangles
from exoskel.spatial import Array


def set_name(stated: object) -> str:
    """The attribute of a primitive with the coordinates for a reference to a texture; `TEXCOORD_0` without one."""
    number = stated.get("texCoord", 0) if isinstance(stated, dict) else 0
    moved = _transform(stated)
    number = moved.get("texCoord", number)
    return f"TEXCOORD_{number if type(number) is int else 0}"


def read_coordinates(
    file: GltfFile, primitive: dict[str, Any], stated: object, triangles: Triangles, count: int
) -> Array | None:
    """The places of the corners of triangles on the image, from the bottom; None if they are invalid.

    `stated` is the material's reference to the texture, whose repetition is not part of the places.  The primitive has
    `count` vertices.
    """
    try:
        places = file.array(primitive["attributes"][set_name(stated)], 2).astype(np.float64)
    except MalformedGltfError:
        return None
    if len(places) != count or not np.isfinite(places).all():
        return None
    moved, (across, up) = _transform(stated), texture_repeat(stated)
    offset, rotation = _pair(moved.get("offset"), 0.0), moved.get("rotation", 0.0)
    scale = _pair(moved.get("scale"), 1.0)
    is_turned = is_finite_number(rotation) and rotation != 0.0
    if is_turned or scale != (across, up) or offset != (0.0, 1.0 - up):
        places = _moved(places, offset, scale, rotation if is_turned else 0.0)
        places = np.column_stack([places[:, 0] / across, (1.0 - places[:, 1]) / up])
    else:  # as Exoskel writes a repeated image, without rounding errors
        places[:, 1] = 1.0 - places[:, 1]
    found: Array = places[triangles.ravel()]
    return found


def _moved(places: Array, offset: tuple[float, float], scale: tuple[float, float], rotation: float) -> Array:
    """Places as KHR_texture_transform moves them: scaled, turned clockwise as seen on the image, and shifted."""
    cos, sin = np.cos(rotation), np.sin(rotation)
    turned: Array = places * scale @ np.array([[cos, sin], [-sin, cos]]).T + offset
    return turned


def _transform(stated: object) -> dict[str, Any]:
    extensions = stated.get("extensions") if isinstance(stated, dict) else None
    found = extensions.get(TRANSFORM) if isinstance(extensions, dict) else None
    return found if isinstance(found, dict) else {}


def _pair(values: object, otherwise: float) -> tuple[float, float]:
    if not isinstance(values, list) or len(values) != 2 or not all(map(is_finite_number, values)):
        return (otherwise, otherwise)
    return (float(values[0]), float(values[1]))
