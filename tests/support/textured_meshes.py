"""A square with an image of four colours, in the formats of meshes that have images."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

RED, GREEN, BLUE, YELLOW = (230, 30, 30), (30, 200, 30), (30, 30, 230), (220, 200, 20)
KINDS = ("obj", "glb", "gltf", "dae")
_CORNERS = np.array([[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]])
_UV = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
_FACES = np.array([[0, 1, 2], [0, 2, 3]])


def quarters() -> NDArray[np.uint8]:
    """Red and green above blue and yellow."""
    image = np.zeros((64, 64, 3), dtype=np.uint8)
    image[:32, :32], image[:32, 32:], image[32:, :32], image[32:, 32:] = RED, GREEN, BLUE, YELLOW
    return image


def png() -> bytes:
    file = io.BytesIO()
    Image.fromarray(quarters()).save(file, "PNG")
    return file.getvalue()


def write_square(folder: Path, kind: str) -> Path:
    """Write a square of 2 m in the plane y = 0, with its image, seen upright from -y."""
    path = folder / f"square.{kind}"
    if kind == "obj":
        lines = [f"v {x} {y} {z}" for x, y, z in _CORNERS.tolist()] + [f"vt {u} {v}" for u, v in _UV.tolist()]
        faces = ["f " + " ".join(f"{i + 1}/{i + 1}" for i in face) for face in _FACES.tolist()]
        path.write_text("\n".join(["mtllib square.mtl", *lines, "usemtl picture", *faces, ""]))
        (folder / "square.mtl").write_text("newmtl picture\nKd 1 1 1\nmap_Kd -s 1 1 1 square.png\n")
        (folder / "square.png").write_bytes(png())
    elif kind == "dae":
        path.write_text(_dae())
        (folder / "square.png").write_bytes(png())
    else:
        (folder / "square.png").write_bytes(png())
        path.write_bytes(_gltf(binary=kind == "glb"))
    return path


def _gltf(*, binary: bool) -> bytes:
    image = png()
    image += b"\0" * (-len(image) % 4)
    parts = [
        _CORNERS.astype("<f4").tobytes(),
        np.stack([_UV[:, 0], 1.0 - _UV[:, 1]], axis=1).astype("<f4").tobytes(),
        _FACES.astype("<u4").tobytes(),
        image,
    ]
    starts = np.cumsum([0, *map(len, parts)]).tolist()
    views = [{"buffer": 0, "byteOffset": s, "byteLength": len(p)} for s, p in zip(starts, parts, strict=False)]
    header = {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": starts[-1]}],
        "bufferViews": views,
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2"},
            {"bufferView": 2, "componentType": 5125, "count": 6, "type": "SCALAR"},
        ],
        "images": [{"bufferView": 3, "mimeType": "image/png"} if binary else {"uri": "square.png"}],
        "textures": [{"source": 0}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    }
    data = b"".join(parts)
    if not binary:
        header["buffers"] = [{"byteLength": len(data), "uri": "data:;base64," + base64.b64encode(data).decode()}]
        return json.dumps(header).encode()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 4)
    chunks = len(text).to_bytes(4, "little") + b"JSON" + text + len(data).to_bytes(4, "little") + b"BIN\0" + data
    return b"glTF" + (2).to_bytes(4, "little") + (12 + len(chunks)).to_bytes(4, "little") + chunks


def _dae() -> str:
    def array(name: str, values: NDArray[np.float64], columns: str) -> str:
        text = " ".join(map(str, values.ravel().tolist()))
        parameters = "".join(f'<param name="{one}" type="float"/>' for one in columns)
        return (
            f'<source id="{name}"><float_array id="{name}-array" count="{values.size}">{text}</float_array>'
            f'<technique_common><accessor source="#{name}-array" count="{len(values)}" stride="{len(columns)}">'
            f"{parameters}</accessor></technique_common></source>"
        )

    indices = " ".join(f"{i} {i}" for i in _FACES.ravel().tolist())
    return f"""<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="meter" meter="1"/><up_axis>Z_UP</up_axis></asset>
<library_images><image id="picture"><init_from>./square.png</init_from></image></library_images>
<library_effects><effect id="effect"><profile_COMMON>
<newparam sid="surface"><surface type="2D"><init_from>picture</init_from></surface></newparam>
<newparam sid="sampler"><sampler2D><source>surface</source></sampler2D></newparam>
<technique sid="common"><lambert><diffuse><texture texture="sampler" texcoord="UV"/></diffuse></lambert></technique>
</profile_COMMON></effect></library_effects>
<library_materials><material id="material"><instance_effect url="#effect"/></material></library_materials>
<library_geometries><geometry id="square"><mesh>{array("points", _CORNERS, "XYZ")}{array("places", _UV, "ST")}
<vertices id="vertices"><input semantic="POSITION" source="#points"/></vertices>
<triangles count="2" material="symbol"><input semantic="VERTEX" source="#vertices" offset="0"/>
<input semantic="TEXCOORD" source="#places" offset="1" set="0"/><p>{indices}</p></triangles></mesh></geometry>
</library_geometries>
<library_visual_scenes><visual_scene id="scene"><node id="node"><instance_geometry url="#square"><bind_material>
<technique_common><instance_material symbol="symbol" target="#material"/></technique_common></bind_material>
</instance_geometry></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#scene"/></scene></COLLADA>
"""
