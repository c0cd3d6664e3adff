"""Invalid parts of glTF files are reported, and the rest is read and converted."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel

POINTS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], np.float32).tobytes()
CORNERS = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], np.uint16).tobytes()


def document() -> dict[str, Any]:
    data = base64.b64encode(POINTS + CORNERS).decode()
    return {
        "asset": {"version": "2.0"},
        "scenes": [{"nodes": [0, 1]}],
        "nodes": [{"mesh": 0}, {"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 24},
        ],
        "buffers": [{"byteLength": 72, "uri": f"data:application/octet-stream;base64,{data}"}],
    }


@pytest.mark.parametrize(
    ("place", "value", "key", "shapes"),
    [
        (("nodes", 0, "scale"), [0, 0, 0], "GL110.shape", 1),
        (("nodes", 0, "scale"), [1e300] * 3, "GL110.shape", 1),
        (("nodes", 0, "matrix"), [0] * 15 + [1], "GL110.shape", 1),
        (("nodes", 0, "matrix"), [1, 0, 0, 5, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2], "GL110.matrix", 2),
        (("scene",), 9, "GL110.scene", 2),
        (("asset",), {}, "GL110.version", 2),
        (("meshes", 0, "primitives", 1), {"attributes": {"POSITION": 0}}, "GL110.primitive", 2),
    ],
)
def test_only_the_invalid_part_is_not_read(
    place: tuple[Any, ...], value: Any, key: str, shapes: int, tmp_path: Path
) -> None:
    made = document()
    owner: Any = made
    for step in place[:-1]:
        owner = owner[step]
    if isinstance(owner, list):
        owner.append(value)
    else:
        owner[place[-1]] = value
    path = tmp_path / "a.gltf"
    path.write_text(json.dumps(made))
    scene = exoskel.load(path)
    assert [one.key for one in scene.diagnostics] == [key]
    assert sum(len(body.visuals) for body in scene.world.bodies()) == shapes
    assert exoskel.convert(path, None, to="mjcf").certificate.passed
