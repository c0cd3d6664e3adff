"""Images inside of glTF files are the textures of shapes, in every format that a scene is converted to."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from PIL import Image

import exoskel
from exoskel.scene.shape import Texture, texture_of
from exoskel.source.contained_files import split_path, stem_and_extension
from exoskel.source.file_access import read_referenced
from exoskel.source.glb import glb_parts, join_glb
from exoskel.source.usdz_archive import unpack
from tests.support.textured_meshes import png

POINTS = np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]], dtype="<f4")
PLACES = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], dtype="<f4")
FACES = np.array([[0, 1, 2], [0, 2, 3]], dtype="<u2")
FORMS = ("binary", "data URI", "view of text", "view of a file", "view of a file of binary")


def write_scene(folder: Path, form: str, image: bytes | None = None) -> Path:
    """A square whose base colour has the second image of the file, which is inside in one of the `FORMS`."""
    content = png() if image is None else image
    parts = [POINTS.tobytes(), PLACES.tobytes(), FACES.tobytes(), content]
    starts = [sum(map(len, parts[:i])) for i in range(4)]
    views = [{"buffer": 0, "byteOffset": at, "byteLength": len(one)} for at, one in zip(starts, parts, strict=True)]
    inside: dict[str, Any] = {"bufferView": 3, "mimeType": "image/png"}
    if form == "data URI":
        inside = {"uri": "data:image/png;base64," + base64.b64encode(content).decode()}
    data = b"".join(parts)
    header: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "nodes": [{"name": "wall", "mesh": 0}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 1}],
        "images": [{"uri": "bumps.png"}, inside],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [-1, 0, -1], "max": [1, 0, 1]},
            {"bufferView": 1, "componentType": 5126, "count": 4, "type": "VEC2"},
            {"bufferView": 2, "componentType": 5123, "count": 6, "type": "SCALAR"},
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": len(data)}],
    }
    if "file" in form:
        (folder / "my data.bin").write_bytes(data)
        header["buffers"][0]["uri"] = "my%20data.bin"
    elif form != "binary":
        header["buffers"][0]["uri"] = "data:;base64," + base64.b64encode(data).decode()
    path = folder / ("wall.glb" if "binary" in form else "wall.gltf")
    is_whole = form == "binary"
    path.write_bytes(
        join_glb(header, data if is_whole else b"") if path.suffix == ".glb" else json.dumps(header).encode()
    )
    return path


def texture_in(scene: exoskel.Scene) -> Texture:
    (shape,) = (shape for body in scene.world.bodies() for shape in body.visuals)
    found = texture_of(shape)
    assert found is not None
    return found


def content_of(texture: Texture) -> bytes:
    assert texture.path is not None
    return read_referenced(texture.path, 10**6)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_the_texture_of_the_shape(form: str, tmp_path: Path) -> None:
    path = write_scene(tmp_path, form)
    scene = exoskel.load(path)
    texture = texture_in(scene)
    assert (texture.uri, texture.path) == ("images/1.png", f"{path}[images/1.png]")
    assert content_of(texture) == png()
    assert [one.message for one in scene.diagnostics] == ["image 0 is not read: only images of base colours are read"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("to", ["a.skel", "a.xode", "a.sdf", "a.urdf", "a.usda", "a.usdc", "a.xml"])
def test_it_is_written_beside_the_document(form: str, to: str, tmp_path: Path) -> None:
    report = exoskel.convert(write_scene(tmp_path, form), tmp_path / "out" / to)
    assert report.certificate.passed
    assert [name for name in report.companions if "textures/" in name] == ["textures/wall_1.png"]
    assert (tmp_path / "out" / "textures" / "wall_1.png").read_bytes() == png()
    found = texture_in(exoskel.load(tmp_path / "out" / to))
    assert found.path == str(tmp_path / "out" / "textures" / "wall_1.png")
    fates = {one.path: str(one.fate) for one in report.items}
    names = {one.path for one in report.items if one.path.startswith("/images/1")}
    assert names and not [name for name in names if fates[name] == "dropped" and "mimeType" not in name]
    if to == "a.xml":
        model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / to))
        (image,) = {*model.mat_texid.ravel().tolist()} - {-1}
        assert (model.tex_width[image], model.tex_height[image]) == (64, 64)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_packed_into_an_archive(form: str, tmp_path: Path) -> None:
    report = exoskel.convert(write_scene(tmp_path, form), tmp_path / "a.usdz")
    assert report.certificate.passed
    assert unpack(report.data)["textures/wall_1.png"] == png()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("to", ["a.glb", "a.gltf"])
def test_it_is_inside_a_file_with_an_edited_scene(form: str, to: str, tmp_path: Path) -> None:
    scene = exoskel.load(write_scene(tmp_path, form))
    scene.world.models[0].bodies[0].pose = exoskel.Pose((1.0, 2.0, 3.0))
    (tmp_path / "out").mkdir()
    report = exoskel.convert(scene, tmp_path / "out" / to)
    assert report.certificate.passed and not [name for name in report.companions if "texture" in name]
    found = texture_in(exoskel.load(tmp_path / "out" / to))
    assert found.path == f"{tmp_path / 'out' / to}[images/0.png]" and content_of(found) == png()


def test_a_saved_scene_still_has_its_image(tmp_path: Path) -> None:
    path = write_scene(tmp_path, "binary")
    scene = exoskel.load(path)
    scene.world.models[0].bodies[0].pose = exoskel.Pose((1.0, 2.0, 3.0))
    exoskel.save(scene, path)
    assert content_of(texture_in(exoskel.load(path))) == png() == content_of(texture_in(scene))
    scene.world.models[0].bodies[0].pose = exoskel.Pose((1.0, 2.0, 4.0))
    exoskel.save(scene, path)
    assert content_of(texture_in(exoskel.load(path))) == png()


def test_a_picture_shows_it(tmp_path: Path) -> None:
    scene = exoskel.load(write_scene(tmp_path, "binary"))
    exoskel.render(scene, tmp_path / "a.png", size=(160, 120))
    pixels = np.asarray(Image.open(tmp_path / "a.png").convert("RGB")).reshape(-1, 3).astype(int)
    colors = {tuple(pixel.tolist()) for pixel in pixels}
    hues = [lambda r, g, b: r > 2 * max(g, b), lambda r, g, b: b > 2 * max(r, g), lambda r, g, b: g > 2 * max(r, b)]
    assert all(any(hue(*color) for color in colors) for hue in hues)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("image", "reason"), [(b"", "it is empty"), (b"no image", "it is not an image")])
def test_what_is_not_an_image_is_reported(form: str, image: bytes, reason: str, tmp_path: Path) -> None:
    path = write_scene(tmp_path, form, image)
    scene = exoskel.load(path)
    assert f"image 1 is not read: {reason}" in [one.message for one in scene.diagnostics]
    report = exoskel.convert(path, None, to="skel")
    assert report.certificate.passed
    assert "/images/1" in {one.path for one in report.losses}


def test_an_image_of_a_document_that_is_not_a_file_is_reported(tmp_path: Path) -> None:
    data = write_scene(tmp_path, "binary").read_bytes()
    reasons = [one.message for one in exoskel.load(data).diagnostics]
    assert "image 1 is not read: it is inside a document that is not a file" in reasons
    assert exoskel.convert(data, None, to="skel").certificate.passed


@pytest.mark.parametrize(
    "change",
    [
        {"bufferViews": 3},
        {"bufferViews": []},
        {"bufferViews": [{"buffer": 9, "byteLength": 9}] * 4},
        {"bufferViews": [{"buffer": 0, "byteOffset": -1, "byteLength": 9}] * 4},
        {"bufferViews": [{"buffer": 0, "byteOffset": 10**30, "byteLength": 10**30}] * 4},
        {"images": [{}, {"bufferView": "0"}]},
        {"images": [{}, {"bufferView": 99}]},
        {"images": [{}, {"uri": "data:;base64,%"}]},
        {"images": [{}, {}]},
        {"images": [{}]},
        {"images": 7},
        {"buffers": [{"byteLength": 1, "uri": "wall.gltf[images/1.png]"}]},
        {"buffers": [{"byteLength": 1, "uri": "/etc/passwd"}]},
    ],
)
def test_malformed_images_are_errors_of_the_file(change: dict[str, Any], tmp_path: Path) -> None:
    for form in ("binary", "view of text"):
        path = write_scene(tmp_path, form)
        if form == "binary":
            header, binary = glb_parts(path.read_bytes())
            assert header is not None
            path.write_bytes(join_glb(header | change, binary))
        else:
            path.write_text(json.dumps(json.loads(path.read_text()) | change))
        scene = exoskel.load(path)
        assert scene.diagnostics
        with pytest.raises(OSError):
            read_referenced(f"{path}[images/1.png]", 10**6)


@pytest.mark.parametrize("name", ["images/7.png", "images/0.png", "images/x.png", "wood.png", "images/-1.png", "a]["])
def test_names_that_are_not_in_the_file_are_not_found(name: str, tmp_path: Path) -> None:
    path = write_scene(tmp_path, "binary")
    with pytest.raises(FileNotFoundError):
        read_referenced(f"{path}[{name}]", 10**6)


def test_a_buffer_outside_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = write_scene(tmp_path / "in", "view of a file")
    (tmp_path / "in" / "my data.bin").rename(tmp_path / "out.bin")
    (tmp_path / "in" / "my data.bin").symlink_to(tmp_path / "out.bin")
    with pytest.raises(PermissionError):
        read_referenced(f"{path}[images/1.png]", 10**6, tmp_path / "in")


def test_a_file_outside_the_confinement_is_not_opened(tmp_path: Path) -> None:
    path = write_scene(tmp_path, "binary")
    (tmp_path / "in").mkdir()
    with pytest.raises(PermissionError):
        read_referenced(f"{path}[images/1.png]", 10**6, tmp_path / "in")


def test_paths_of_files_inside_of_others_are_split() -> None:
    assert split_path("a/b.glb[images/0.png]") == ("a/b.glb", "images/0.png")
    assert split_path("a/B.GLTF[images/0.jpg]") == ("a/B.GLTF", "images/0.jpg")
    assert split_path("a/b.png[c]") == ("a/b.png[c]", "")
    assert stem_and_extension(Path("a/b c.glb[images/0.png]")) == ("b c_0", ".png")
    assert stem_and_extension(Path("a/b.usdz[textures/oak.png]")) == ("oak", ".png")
