"""Textures of shapes in USD: the shaders of `UsdUVTexture`, written and read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exoskel.formats.usd.tree import AssetPath, Prim, PrimPath
from exoskel.scene.shape import Color, Texture

KINDS = frozenset({"PNG", "JPEG"})
"""The kinds of images that every reader of USD supports; others are written as PNG."""
PLACES = "texCoord2f[] primvars:st"
"""The places of vertices on the image."""
COORDINATE_NAMES = ("st", "st0", "st1", "st2", "UVMap", "uv", "map1")
"""The names of primvars that programs use for texture coordinates."""
IMAGE, REPEAT, READER = "image", "repeat", "places"
"""The names of the shaders that sample the image, repeat it and read the places."""
FILE, SCALE = "inputs:file", "inputs:scale"


def texture_shaders(path: PrimPath, texture: Texture, reference: str, color: Color | None) -> list[Prim]:
    """The shaders below the material at `path` that sample an image, multiplied by a colour."""
    image, reader = Prim("Shader", IMAGE), Prim("Shader", READER)
    repeat = Prim("Shader", REPEAT) if texture.repeat != (1.0, 1.0) else None
    reader.properties |= {
        "uniform token info:id": "UsdPrimvarReader_float2",
        "string inputs:varname": "st",
        "float2 outputs:result": None,
    }
    if repeat is not None:
        repeat.properties |= {
            "uniform token info:id": "UsdTransform2d",
            "float2 inputs:in.connect": PrimPath(f"{path}/{READER}.outputs:result"),
            f"float2 {SCALE}": texture.repeat,
            "float2 outputs:result": None,
        }
    image.properties |= {
        "uniform token info:id": "UsdUVTexture",
        f"asset {FILE}": AssetPath(reference),
        "float2 inputs:st.connect": PrimPath(f"{path}/{READER if repeat is None else REPEAT}.outputs:result"),
        "token inputs:wrapS": "repeat",
        "token inputs:wrapT": "repeat",
        "float3 outputs:rgb": None,
    }
    if color is not None:
        image.properties[f"float4 {SCALE}"] = (*color[:3], 1.0)
    return [image, *([repeat] if repeat is not None else []), reader]


def read_texture(
    surface: str,
    values: Callable[[str], Mapping[str, Any]],
    source: Callable[[str, str], str],
) -> Texture | None:
    """The texture of the shader at a path; `values` and `source` are the inputs of a shader and what one comes from."""
    image = source(surface, "inputs:diffuseColor")
    file = values(image).get(FILE) if image else None
    if not isinstance(file, str) or not file:
        return None
    repeat = values(source(image, "inputs:st") or image).get(SCALE)
    if not isinstance(repeat, list | tuple) or len(repeat) != 2 or not all(one > 0.0 for one in repeat):
        repeat = (1.0, 1.0)
    return Texture(file.removeprefix("./"), (float(repeat[0]), float(repeat[1])))
