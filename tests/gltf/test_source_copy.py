"""A scene that was not edited is written from glTF to glTF as it was read, as text or binary, in any folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import TriMesh
from exoskel.source.glb import glb_parts
from exoskel.source.mesh_packages import buffer_content
from tests.gltf.rich_file import rich_document, write_rich
from tests.oracles import khronos
from tests.support.textured_meshes import png

KINDS = ("text", "inside", "binary")
EXTENSIONS = (".glb", ".gltf")


def parts(path: Path) -> tuple[dict[str, Any], bytes]:
    """The document of a file without its buffers, and the content of the first one."""
    data = path.read_bytes()
    if data.startswith(b"glTF"):
        header, content = glb_parts(data)
        assert header is not None
    else:
        header, content = json.loads(data), b""
    (buffer,) = header.pop("buffers")
    if "uri" in buffer:
        content = buffer_content(buffer["uri"], path.parent, 10**6, None)
    return header, content[: buffer["byteLength"]]


def without_images(header: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in header.items() if name != "images"}


@pytest.mark.parametrize("meshes", ["reference", "copy", "absolute"])
@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_in_another_folder(kind: str, extension: str, meshes: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    source, path = write_rich(tmp_path / "in", kind=kind), tmp_path / "out" / f"a{extension}"
    report = exoskel.convert(exoskel.load(source), path, meshes=meshes)
    assert report.certificate.passed and not report.losses
    assert {str(one.fate) for one in report.items} <= {"exact", "lowered"}
    mine, theirs = parts(source), parts(path)
    assert without_images(mine[0]) == without_images(theirs[0]) and mine[1] == theirs[1]
    (body,) = exoskel.load(path).world.bodies()
    material = body.visuals[0].material
    assert material is not None and material.texture is not None and material.texture.path is not None
    assert Path(material.texture.path).read_bytes() == png()
    assert isinstance(body.visuals[0].geometry, TriMesh) and body.visuals[0].geometry.uvs is not None


@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_saving_to_another_file_loses_nothing(kind: str, extension: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    source = write_rich(tmp_path / "in", kind=kind)
    for path in (tmp_path / f"a{extension}", tmp_path / "in" / f"b{extension}"):
        exoskel.save(exoskel.load(source), path)
        assert path.read_bytes().startswith(b"glTF") is (extension == ".glb")
        mine, theirs = parts(source), parts(path)
        assert without_images(mine[0]) == without_images(theirs[0]) and mine[1] == theirs[1]
        (body,) = exoskel.load(path).world.bodies()
        material = body.visuals[0].material
        assert material is not None and material.texture is not None and material.texture.path is not None


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_container_in_the_same_folder_has_the_same_bytes(kind: str, tmp_path: Path) -> None:
    source = write_rich(tmp_path, kind=kind)
    copy = tmp_path / f"copy{source.suffix}"
    report = exoskel.convert(exoskel.load(source), copy)
    assert copy.read_bytes() == source.read_bytes()
    assert {str(one.fate) for one in report.items} == {"exact"}


def test_several_buffers_stay_several(tmp_path: Path) -> None:
    document, content = rich_document()
    (tmp_path / "b.bin").write_bytes(content)
    document["buffers"].append({"uri": "b.bin", "byteLength": len(content)})
    document["bufferViews"][0]["buffer"] = 1
    source = write_rich(tmp_path, document)
    (tmp_path / "out").mkdir()
    before = list(exoskel.load(source).world.bodies())
    for extension in EXTENSIONS:
        path = tmp_path / "out" / f"a{extension}"
        report = exoskel.convert(exoskel.load(source), path)
        assert report.certificate.passed and not report.losses
        scene = exoskel.load(path)
        assert [one.message for one in scene.diagnostics] == [one.message for one in exoskel.load(source).diagnostics]
        for one, other in zip(before, scene.world.bodies(), strict=True):
            assert one.visuals[0].geometry == other.visuals[0].geometry


def test_a_buffer_without_content_is_not_read_as_another_one(tmp_path: Path) -> None:
    document, content = rich_document()
    document["buffers"].append({"byteLength": len(content)})
    document["bufferViews"][0]["buffer"] = 1
    scene = exoskel.load(write_rich(tmp_path, document, "binary"))
    assert "GL104" in [one.key for one in scene.diagnostics] and not scene.worlds


def test_files_that_extensions_name_are_found_from_the_new_folder(tmp_path: Path) -> None:
    document, _ = rich_document()
    document["extensions"] = {"VENDOR_sounds": {"clips": [{"uri": "bell.wav"}, {"uri": "https://a.org/b.wav"}]}}
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "bell.wav").write_bytes(b"bell")
    source = write_rich(tmp_path / "in", document)
    exoskel.convert(exoskel.load(source), tmp_path / "a.gltf")
    clips = json.loads((tmp_path / "a.gltf").read_text())["extensions"]["VENDOR_sounds"]["clips"]
    assert [one["uri"] for one in clips] == ["in/bell.wav", "https://a.org/b.wav"]


def test_a_missing_image_is_named_from_the_new_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    source = write_rich(tmp_path / "in")
    (tmp_path / "in" / "my image.png").unlink()
    report = exoskel.convert(exoskel.load(source), tmp_path / "a.gltf")
    assert report.certificate.passed
    assert json.loads((tmp_path / "a.gltf").read_text())["images"] == [{"uri": "in/my%20image.png"}]


def test_an_edited_scene_is_a_new_document(tmp_path: Path) -> None:
    scene = exoskel.load(write_rich(tmp_path))
    next(scene.world.bodies()).pose = exoskel.Pose((0.0, 0.0, 1.0))
    report = exoskel.convert(scene, tmp_path / "b.gltf")
    assert report.certificate.passed
    document = json.loads((tmp_path / "b.gltf").read_text())
    assert document["asset"]["generator"].startswith("exoskel ") and "skins" not in document
    fates = {one.path: str(one.fate) for one in report.items}
    assert fates["/skins/0"] == fates["/animations/0"] == "dropped"


def test_other_chunks_are_a_loss_in_text_only(tmp_path: Path) -> None:
    source = write_rich(tmp_path, kind="binary")
    data = source.read_bytes() + (4).to_bytes(4, "little") + b"NOTE" + b"abcd"
    source.write_bytes(data[:8] + len(data).to_bytes(4, "little") + data[12:])
    assert not exoskel.convert(exoskel.load(source), tmp_path / "b.glb").losses
    assert (tmp_path / "b.glb").read_bytes() == source.read_bytes()
    (loss,) = exoskel.convert(exoskel.load(source), tmp_path / "b.gltf").losses
    assert "chunks" in loss.why


@pytest.mark.skipif(not khronos.available(), reason="the Khronos validator is not installed")
@pytest.mark.parametrize("extension", EXTENSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_copies_pass_the_validator(kind: str, extension: str, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    source, path = write_rich(tmp_path / "in", kind=kind), tmp_path / f"a{extension}"
    exoskel.convert(exoskel.load(source), path)
    assert khronos.report(path)["issues"]["numErrors"] == khronos.report(source)["issues"]["numErrors"] == 0


def test_new_documents_are_written_as_text(tmp_path: Path) -> None:
    scene = exoskel.load("dart://sample/skel/chain.skel")
    for extension in EXTENSIONS:
        assert exoskel.convert(scene, tmp_path / f"a{extension}").certificate.passed
    one, other = (exoskel.load(tmp_path / f"a{extension}") for extension in EXTENSIONS)
    for mine, theirs in zip(one.world.bodies(), other.world.bodies(), strict=True):
        assert mine.name == theirs.name and np.array_equal(mine.pose.matrix(), theirs.pose.matrix())
        assert [shape.geometry for shape in mine.shapes] == [shape.geometry for shape in theirs.shapes]
