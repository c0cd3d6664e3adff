"""The instances of a glTF node with EXT_mesh_gpu_instancing: where its mesh is drawn, in the frame of the node."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel.source.glb_accessors import GlbAccessors, MalformedGltfError
from exoskel.spatial import Array

EXTENSION = "EXT_mesh_gpu_instancing"
_DEFAULTS: dict[str, tuple[float, ...]] = {
    "TRANSLATION": (0.0, 0.0, 0.0),
    "ROTATION": (0.0, 0.0, 0.0, 1.0),
    "SCALE": (1.0, 1.0, 1.0),
}
"""The attributes that place instances, and their values if they are not stated."""


def has_instances(node: dict[str, Any]) -> bool:
    """Whether a node has instances of its mesh."""
    extensions = node.get("extensions")
    return isinstance(extensions, dict) and EXTENSION in extensions and "mesh" in node


def instance_count(file: GlbAccessors, node: dict[str, Any]) -> int:
    """The number of instances of a node; 1 if it states none.  Raises MalformedGltfError."""
    counts = {file.length(number) for number in _attributes(node).values()}
    if len(counts) > 1 or min(counts, default=1) < 0:
        raise MalformedGltfError("the attributes of instances have different lengths")
    return counts.pop() if counts else 1


def instance_values(file: GlbAccessors, node: dict[str, Any]) -> dict[str, Array]:
    """The translations, rotations (x, y, z, w) and scales of the instances of a node.  Raises MalformedGltfError."""
    count, stated = instance_count(file, node), _attributes(node)
    found: dict[str, Array] = {}
    for name, value in _DEFAULTS.items():
        if name in stated:
            rows = file.array(stated[name], len(value)).astype(np.float64)
        else:
            rows = np.tile(np.array(value), (count, 1))
        if not np.isfinite(rows).all():
            raise MalformedGltfError(f"the {name} of instances is not finite")
        found[name] = rows
    lengths = np.linalg.norm(found["ROTATION"], axis=1)
    found["ROTATION"][lengths == 0.0] = _DEFAULTS["ROTATION"]
    found["ROTATION"] /= np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return found


def _attributes(node: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the accessors of instances that place them."""
    stated = node["extensions"][EXTENSION]
    found = stated.get("attributes") if isinstance(stated, dict) else None
    return {name: number for name, number in found.items() if name in _DEFAULTS} if isinstance(found, dict) else {}
