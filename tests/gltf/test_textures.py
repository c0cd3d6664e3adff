"""Textures of shapes in glTF: images are written into the file, and read from files beside it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh
from PIL import Image

import exoskel
from exoskel import Box, Material, Mesh, Shape, Sphere, Texture, World
from exoskel.scene.shape import Geometry
from exoskel.source.glb import glb_parts
from tests.support.textured_meshes import png, quarters, write_square


def world_with(image: Path | str, geometry: Geometry, **values: Any) -> World:
    world = World("w")
    shape = Shape(geometry=geometry, material=Material(0.25, texture=Texture(str(image), **values)))
    world.add_model("m").add_body("b", mass=1.0).visuals.append(shape)
    return world


def written(world: World) -> tuple[dict[str, Any], bytes]:
    report = exoskel.convert(world, None, to="gltf")
    assert report.certificate.passed
    header, binary = glb_parts(report.data)
    assert header is not None
    return header, binary


def test_the_image_is_in_the_file_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    header, binary = written(world_with(tmp_path / "a.png", Box((1.0, 2.0, 3.0))))
    (surface,) = (one["pbrMetallicRoughness"] for one in header["materials"])
    assert surface["baseColorTexture"] == {"index": 0} and surface["roughnessFactor"] == 0.25
    assert surface["baseColorFactor"] == [1.0, 1.0, 1.0, 1.0]
    view = header["bufferViews"][header["images"][0]["bufferView"]]
    assert binary[view["byteOffset"] :][: view["byteLength"]] == png()
    assert "extensionsUsed" not in header


def test_other_kinds_of_images_are_written_as_png(tmp_path: Path) -> None:
    Image.fromarray(quarters()).save(tmp_path / "a.bmp")
    header, binary = written(world_with(tmp_path / "a.bmp", Box((1.0, 1.0, 1.0))))
    assert header["images"][0]["mimeType"] == "image/png"
    view = header["bufferViews"][header["images"][0]["bufferView"]]
    content = binary[view["byteOffset"] :][: view["byteLength"]]
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(content))), quarters())


def test_a_repeated_image_has_a_transform(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    header, _ = written(world_with(tmp_path / "a.png", Sphere(1.0), repeat=(4.0, 2.0)))
    assert header["extensionsUsed"] == ["KHR_texture_transform"]
    (surface,) = (one["pbrMetallicRoughness"] for one in header["materials"])
    assert surface["baseColorTexture"]["extensions"]["KHR_texture_transform"]["scale"] == [4.0, 2.0]


def test_other_programs_read_the_image_and_its_places(tmp_path: Path) -> None:
    square = write_square(tmp_path, "obj")
    (tmp_path / "square.mtl").unlink()
    report = exoskel.convert(world_with(tmp_path / "square.png", Mesh(str(square))), None, to="gltf")
    seen = trimesh.load(io.BytesIO(report.data), file_type="glb", process=False)
    (mesh,) = seen.geometry.values()
    order = np.lexsort(mesh.vertices.T)
    assert mesh.visual.uv[order] == pytest.approx((mesh.vertices[order][:, [0, 2]] + 1.0) / 2.0, abs=1e-6)
    assert np.array_equal(np.asarray(mesh.visual.material.baseColorTexture.convert("RGB")), quarters())


def test_a_missing_image_is_a_loss(tmp_path: Path) -> None:
    report = exoskel.convert(world_with("missing.png", Box((1.0, 1.0, 1.0))), None, to="gltf")
    assert report.certificate.passed
    (lost,) = {(str(one.fate), one.why) for one in report.losses}
    assert lost == ("approximated", "texture 'missing.png' is not written: it was not found (GL308)")
    header, _ = glb_parts(report.data)
    assert header is not None and "images" not in header


def text_file(folder: Path, images: list[dict[str, Any]], **texture: Any) -> Path:
    """A text file with one triangle, whose base colour has the first image."""
    data = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], dtype="<f4").tobytes()
    (folder / "a.bin").write_bytes(data + np.array([[0, 0], [1, 0], [0, 1]], dtype="<f4").tobytes())
    accessor = {"componentType": 5126, "count": 3}
    document = {
        "asset": {"version": "2.0"},
        "nodes": [{"mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0, **texture}}}],
        "textures": [{"source": number} for number in range(len(images))],
        "images": images,
        "accessors": [{**accessor, "bufferView": 0, "type": "VEC3"}, {**accessor, "bufferView": 1, "type": "VEC2"}],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 36},
            {"buffer": 0, "byteOffset": 36, "byteLength": 24},
        ],
        "buffers": [{"uri": "a.bin", "byteLength": 60}],
    }
    path = folder / "a.gltf"
    path.write_text(json.dumps(document))
    return path


def test_an_image_beside_a_file_is_the_texture_of_the_shape(tmp_path: Path) -> None:
    (tmp_path / "my image.png").write_bytes(png())
    moved = {"KHR_texture_transform": {"scale": [3, 2]}}
    scene = exoskel.load(text_file(tmp_path, [{"uri": "my%20image.png"}, {"uri": "bumps.png"}], extensions=moved))
    (shape,) = (shape for body in scene.world.bodies() for shape in body.visuals)
    assert shape.material is not None and shape.material.texture is not None
    texture = shape.material.texture
    assert (texture.uri, texture.repeat) == ("my image.png", (3.0, 2.0))
    assert texture.path is not None and Path(texture.path).read_bytes() == png()
    assert [one.message for one in scene.diagnostics] == ["image 1 is not read: only images of base colours are read"]
    report = exoskel.convert(scene, None, to="skel")
    fates = {one.path: one.fate for one in report.items}
    assert str(fates["/images/1"]) == "dropped" and str(fates["/images/0"]) != "dropped"
    assert report.certificate.passed


@pytest.mark.parametrize("image", [{"uri": "data:image/png;base64,AAAA"}, {"bufferView": 0, "mimeType": "image/png"}])
def test_what_is_no_image_inside_a_file_is_reported(image: dict[str, Any], tmp_path: Path) -> None:
    scene = exoskel.load(text_file(tmp_path, [image]))
    (shape,) = (shape for body in scene.world.bodies() for shape in body.visuals)
    assert shape.material is None
    assert [one.message for one in scene.diagnostics] == ["image 0 is not read: it is not an image"]


@pytest.mark.parametrize("wrong", [{"index": 7}, {"index": "0"}, {"index": None}, 3, [], None])
def test_malformed_references_have_no_texture(wrong: Any, tmp_path: Path) -> None:
    path = text_file(tmp_path, [{"uri": "a.png"}])
    document = json.loads(path.read_text())
    document["materials"][0]["pbrMetallicRoughness"]["baseColorTexture"] = wrong
    path.write_text(json.dumps(document))
    (shape,) = (shape for body in exoskel.load(path).world.bodies() for shape in body.visuals)
    assert shape.material is None
