"""A text glTF file with everything that a scene does not contain."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.textured_meshes import png

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
FACES = np.array([0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3], dtype="<u2")
PLACES = np.array([[0, 0], [1, 0], [0, 1], [0.5, 0.5]], dtype="<f4")
TIMES = np.array([0, 1], dtype="<f4")
TURNS = np.array([[0, 0, 0, 1], [0, 0, 1, 0]], dtype="<f4")
MATRIX = np.eye(4, dtype="<f4")
JOINTS = np.zeros((4, 4), dtype="u1")
WEIGHTS = np.tile(np.array([1, 0, 0, 0], dtype="<f4"), (4, 1))
ARRAYS = {
    "points": (POINTS, "VEC3", 5126),
    "faces": (FACES, "SCALAR", 5123),
    "places": (PLACES, "VEC2", 5126),
    "second": (PLACES[::-1], "VEC2", 5126),
    "moved": (0.1 * POINTS, "VEC3", 5126),
    "times": (TIMES, "SCALAR", 5126),
    "turns": (TURNS, "VEC4", 5126),
    "matrix": (MATRIX, "MAT4", 5126),
    "joints": (JOINTS, "VEC4", 5121),
    "weights": (WEIGHTS, "VEC4", 5126),
}
NUMBERS = {name: number for number, name in enumerate(ARRAYS)}
_BOUNDED = ("points", "moved", "times")


def rich_document() -> tuple[dict[str, Any], bytes]:
    """The document, and the content of its buffer `a.bin`.  It has one row in each list that a file may have."""
    content, views, accessors = b"", [], []
    for name, (values, kind, component) in ARRAYS.items():
        data = np.ascontiguousarray(values).tobytes()
        views.append({"buffer": 0, "byteOffset": len(content), "byteLength": len(data)})
        made: dict[str, Any] = {"bufferView": len(accessors), "componentType": component, "type": kind}
        made["count"] = values.size if kind == "SCALAR" else len(values) if kind != "MAT4" else 1
        if name in _BOUNDED:
            rows = np.asarray(values).reshape(made["count"], -1)
            made |= {"min": rows.min(axis=0).tolist(), "max": rows.max(axis=0).tolist()}
        accessors.append(made)
        content += data + bytes(-len(data) % 4)
    attributes = {"POSITION": "points", "TEXCOORD_0": "places", "TEXCOORD_1": "second", "JOINTS_0": "joints"}
    primitive = {
        "attributes": {name: NUMBERS[key] for name, key in (attributes | {"WEIGHTS_0": "weights"}).items()},
        "indices": NUMBERS["faces"],
        "material": 0,
        "targets": [{"POSITION": NUMBERS["moved"]}],
    }
    document = {
        "asset": {"version": "2.0", "generator": "a program", "copyright": "somebody"},
        "scene": 0,
        "scenes": [{"name": "first", "nodes": [0]}],
        "nodes": [
            {"name": "group", "children": [1, 2]},
            {"name": "thing", "mesh": 0, "skin": 0, "translation": [1, 2, 3], "camera": 0},
            {"name": "bone"},
        ],
        "meshes": [{"name": "shape", "primitives": [primitive], "weights": [0.25]}],
        "materials": [
            {
                "name": "paint",
                "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "metallicRoughnessTexture": {"index": 0}},
                "normalTexture": {"index": 0, "texCoord": 1},
                "emissiveFactor": [0.1, 0.2, 0.3],
            }
        ],
        "textures": [{"source": 0, "sampler": 0}],
        "images": [{"uri": "my%20image.png"}],
        "samplers": [{"wrapS": 33071}],
        "cameras": [{"type": "perspective", "perspective": {"yfov": 1.0, "znear": 0.1}}],
        "skins": [{"joints": [2], "inverseBindMatrices": NUMBERS["matrix"]}],
        "animations": [
            {
                "channels": [{"sampler": 0, "target": {"node": 2, "path": "rotation"}}],
                "samplers": [{"input": NUMBERS["times"], "output": NUMBERS["turns"]}],
            }
        ],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"uri": "a.bin", "byteLength": len(content)}],
    }
    return document, content


def write_rich(folder: Path, document: dict[str, Any] | None = None, kind: str = "text") -> Path:
    """Write the file as text, as text with its buffer inside, or as a binary file."""
    made, content = rich_document()
    made = made if document is None else document
    (folder / "my image.png").write_bytes(png())
    if kind == "binary":
        del made["buffers"][0]["uri"]
        text = json.dumps(made).encode()
        text += b" " * (-len(text) % 4)
        body = b"".join(
            len(part).to_bytes(4, "little") + name + part for name, part in ((b"JSON", text), (b"BIN\0", content))
        )
        path = folder / "rich.glb"
        path.write_bytes(b"glTF" + (2).to_bytes(4, "little") + (12 + len(body)).to_bytes(4, "little") + body)
        return path
    if kind == "inside":
        made["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64.b64encode(content).decode()
    else:
        (folder / "a.bin").write_bytes(content)
    path = folder / "rich.gltf"
    path.write_text(json.dumps(made))
    return path
