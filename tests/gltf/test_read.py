"""Reading glTF as a scene: nodes become bodies; what a scene has no place for is reported."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.shape import TriMesh

POINTS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype="<f4")
FACES = np.array([(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)], dtype="<u2")
DATA = POINTS.tobytes() + FACES.tobytes()


def document(**changes: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "scene": 0,
        "scenes": [{"name": "yard", "nodes": [0]}],
        "nodes": [
            {"name": "house", "translation": [0, 1, 0], "children": [1, 2]},
            {"name": "wall", "mesh": 0, "scale": [2, 2, 2]},
            {"name": "roof", "mesh": 0, "matrix": [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 0, 0, 1]},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorFactor": [1, 0, 0, 1]}}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48},
            {"buffer": 0, "byteOffset": 48, "byteLength": 24},
        ],
        "buffers": [
            {"byteLength": 72, "uri": "data:application/octet-stream;base64," + base64.b64encode(DATA).decode()}
        ],
    }
    return made | changes


def load(tmp_path: Path, content: dict[str, Any]) -> exoskel.Scene:
    file = tmp_path / "scene.gltf"
    file.write_text(json.dumps(content))
    return exoskel.load(file)


def codes(scene: exoskel.Scene) -> list[str]:
    return [diagnostic.key for diagnostic in scene.diagnostics]


def test_nodes_with_meshes_are_static_bodies(tmp_path: Path) -> None:
    scene = load(tmp_path, document())
    world = scene.world
    assert (world.name, world.gravity) == ("yard", (0.0, -9.81, 0.0))
    (house,) = world.models
    assert house.static and [body.name for body in house.bodies] == ["wall", "roof"]
    assert np.allclose(Kinematics(world.models).poses()[:, :3, 3], [(0, 1, 0), (5, 1, 0)])
    wall, roof = (body.visuals[0].geometry for body in house.bodies)
    assert isinstance(wall, TriMesh) and wall.vertices.max() == 2.0
    assert isinstance(roof, TriMesh) and roof.vertices.max() == 1.0
    assert house.bodies[0].visuals[0].color == (1.0, 0.0, 0.0, 1.0)
    assert codes(scene) == []


def test_buffers_beside_a_text_file_are_read(tmp_path: Path) -> None:
    (tmp_path / "data.bin").write_bytes(DATA)
    scene = load(tmp_path, document(buffers=[{"byteLength": 72, "uri": "data.bin"}]))
    assert len(scene.world.models[0].bodies) == 2


def test_skins_animations_and_textures_are_losses(tmp_path: Path) -> None:
    content = document(
        skins=[{"joints": [0]}], animations=[{"channels": [], "samplers": []}], textures=[{}], cameras=[{"type": "x"}]
    )
    scene = load(tmp_path, content)
    assert codes(scene) == ["GL105"] * 3 + ["GL108"]
    report = exoskel.convert(tmp_path / "scene.gltf", tmp_path / "out.skel")
    assert report.certificate.passed
    assert {loss.path for loss in report.losses if "/" not in loss.path[1:].partition("/")[2]} == {
        "/skins/0",
        "/animations/0",
        "/textures/0",
        "/cameras/0",
    }


@pytest.mark.parametrize("sample", ["skel/walker.skel", "skel/robot_arm.skel", "xode/four_bar.xode"])
def test_a_picture_of_a_sample_has_its_bodies_where_they_are(sample: str, tmp_path: Path) -> None:
    exoskel.convert(f"dart://sample/{sample}", tmp_path / "a.glb")
    original, read = exoskel.load(f"dart://sample/{sample}").world, exoskel.load(tmp_path / "a.glb").world
    poses = Kinematics(original.models).poses()
    known = {body.name: (body, pose) for body, pose in zip(original.bodies(), poses, strict=True)}
    found = list(zip(read.bodies(), Kinematics(read.models).poses(), strict=True))
    assert len(found) == sum(bool(body.shapes) for body in original.bodies())
    for body, pose in found:
        mine, place = known[body.name]
        assert np.allclose(place, pose, atol=1e-5)
        assert body.mass == pytest.approx(mine.mass)
    assert read.gravity == original.gravity


@pytest.mark.parametrize(
    "content",
    [
        {"nodes": [{"children": [0]}]},
        {"nodes": [{"mesh": 9}]},
        {"nodes": [{"mesh": 0, "matrix": [1, 2]}]},
        {"bufferViews": [{"buffer": 0, "byteOffset": 70, "byteLength": 48}] * 2},
        {"buffers": [{"byteLength": 9, "uri": "missing.bin"}]},
        {"buffers": [{"byteLength": 9, "uri": "../../etc/passwd"}]},
        {"meshes": 3},
    ],
)
def test_malformed_files_are_reported(tmp_path: Path, content: dict[str, Any]) -> None:
    scene = load(tmp_path, document(**content))
    assert codes(scene) == ["GL104"]
    assert scene.worlds == []


def test_a_primitive_without_its_accessor_is_not_read(tmp_path: Path) -> None:
    scene = load(tmp_path, document(accessors=[]))
    assert codes(scene) == ["GL110.primitive"]
    assert not any(body.shapes for body in scene.world.bodies())


LARGE = 10**400


@pytest.mark.parametrize(
    "place",
    [
        ("nodes", 0, "translation", 1),
        ("nodes", 1, "scale", 0),
        ("nodes", 2, "matrix", 12),
        ("materials", 0, "pbrMetallicRoughness", "baseColorFactor", 0),
        ("nodes", 1, "extras", "mass"),
        ("nodes", 1, "extras", "inertia", 0),
        ("nodes", 1, "extras", "com", 0),
        ("nodes", 1, "extras"),
        ("scenes", 0, "extras", "time_step"),
        ("scenes", 0, "extras", "gravity", 1),
    ],
)
def test_whole_numbers_beyond_the_range_of_floats_are_read_without_an_error(
    tmp_path: Path, place: tuple[str | int, ...]
) -> None:
    content = document(asset={"version": "2.0", "generator": "exoskel 0"})
    content["nodes"][1]["extras"] = {"mass": 1, "com": [0, 0, 0], "inertia": [1, 1, 1, 0, 0, 0]}
    content["scenes"][0]["extras"] = {"time_step": 0.01, "gravity": [0, 0, -1]}
    inner: Any = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = {"mass": LARGE} if place[-1] == "extras" else LARGE
    scene = load(tmp_path, content)
    assert codes(scene) in ([], ["GL104"])


def test_meshes_in_a_folder_are_not_taken_for_scenes(tmp_path: Path) -> None:
    from exoskel.formats.file_search import scene_files

    (tmp_path / "wheel.glb").write_bytes(b"glTF")
    (tmp_path / "robot.skel").write_bytes(b"<skel/>")
    assert [path.name for path in scene_files(tmp_path)] == ["robot.skel"]


@pytest.mark.parametrize(("kind", "number"), [("<i2", 5122), ("<i1", 5120), ("<u2", 5123), ("<u1", 5121)])
def test_quantized_vertices_are_read_in_their_units(tmp_path: Path, kind: str, number: int) -> None:
    most = np.iinfo(kind).max
    points = np.zeros((4, 4), dtype=kind)  # rows are aligned to four bytes
    points[:, :3] = np.rint(POINTS * most)
    data = points.tobytes() + FACES.tobytes()
    changed = document(extensionsRequired=["KHR_mesh_quantization"])
    changed["buffers"] = [{"byteLength": len(data), "uri": "data:;base64," + base64.b64encode(data).decode()}]
    stride = points.strides[0]
    changed["bufferViews"] = [
        {"buffer": 0, "byteLength": 4 * stride, "byteStride": stride},
        {"buffer": 0, "byteOffset": 4 * stride, "byteLength": 24},
    ]
    changed["accessors"][0] |= {"componentType": number, "normalized": True}
    scene = load(tmp_path, changed)
    assert codes(scene) == []
    geometry = scene.world.models[0].bodies[0].visuals[0].geometry
    assert isinstance(geometry, TriMesh)
    np.testing.assert_allclose(geometry.vertices, 2 * POINTS, atol=1e-12)


def test_extensions_that_change_the_scene_are_reported(tmp_path: Path) -> None:
    changed = document(extensionsRequired=["MSFT_lod"])
    changed["nodes"][1]["extensions"] = {"MSFT_lod": {"ids": [0]}}
    scene = load(tmp_path, changed)
    assert codes(scene) == ["GL107"]
    lost = {item.path for item in exoskel.convert(scene, None, to="sdf").losses}
    assert {"/@extensionsRequired", "/nodes/1/extensions/MSFT_lod"} <= lost
