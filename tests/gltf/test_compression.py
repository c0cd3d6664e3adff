"""Triangles that are compressed with Draco or meshoptimizer, and instances of meshes."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import DracoPy
import numpy as np
import pytest

import exoskel
from exoskel.scene.shape import TriMesh
from exoskel.source import draco
from exoskel.source.glb import join_glb
from tests.gltf import encoded_numbers as numbers
from tests.gltf.encoded_numbers import encoded
from tests.gltf.test_primitives import CORNERS, as_mesh, mesh, only_mesh, points, with_buffer
from tests.gltf.test_read import codes, document, load

DRACO = "KHR_draco_mesh_compression"
INSTANCES = "EXT_mesh_gpu_instancing"
GRID = np.array([(x, y, (x * y) % 3) for x in range(5) for y in range(4)], dtype=np.float64)
FACES = np.array([(4 * x + y, 4 * x + y + 4, 4 * x + y + 1) for x in range(4) for y in range(3)], dtype=np.uint32)


def area(found: TriMesh) -> float:
    a, b, c = np.moveaxis(found.vertices[found.triangles], 1, 0)
    return float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2)


PLAIN_AREA = area(TriMesh(GRID, FACES.astype(np.int64)))


# --- Draco ------------------------------------------------------------------------------------------------


def draco_document(**changes: Any) -> dict[str, Any]:
    """A document whose triangles are only in compressed data."""
    data = DracoPy.encode(GRID, FACES, preserve_order=True, quantization_bits=14, tex_coord=GRID[:, :2] / 5)
    numbers_of = {one["attribute_type"]: one["unique_id"] for one in DracoPy.decode(data).attributes}
    content = with_buffer([np.frombuffer(data, np.uint8)])
    content["accessors"] = [
        {"componentType": 5126, "count": len(GRID), "type": "VEC3"},
        {"componentType": 5126, "count": len(GRID), "type": "VEC2"},
        {"componentType": 5123, "count": FACES.size, "type": "SCALAR"},
    ]
    stated = {"bufferView": 0, "attributes": {"POSITION": numbers_of[0], "TEXCOORD_0": numbers_of[3]}}
    primitive = {"attributes": {"POSITION": 0, "TEXCOORD_0": 1}, "indices": 2, "extensions": {DRACO: stated}}
    content["meshes"] = [{"primitives": [primitive | changes]}]
    return content | {"extensionsRequired": [DRACO], "extensionsUsed": [DRACO]}


def test_draco_triangles_are_read(tmp_path: Path) -> None:
    scene = load(tmp_path, draco_document())
    assert codes(scene) == []
    found = only_mesh(scene)
    assert area(found) == pytest.approx(PLAIN_AREA, rel=1e-3)
    np.testing.assert_allclose(np.unique(found.vertices.round(2), axis=0), np.unique(GRID, axis=0), atol=0.01)
    assert found.uvs is not None
    np.testing.assert_allclose(found.uvs[:, 0], found.vertices[found.triangles.ravel(), 0] / 5, atol=1e-3)
    assert exoskel.convert(scene, None, to="sdf").certificate.passed


def test_no_part_of_draco_triangles_is_a_loss(tmp_path: Path) -> None:
    content = draco_document()
    report = exoskel.convert(load(tmp_path, content), None, to="urdf")
    assert [item.path for item in report.losses if "draco" in item.path or "Required" in item.path] == []


def test_a_scene_with_draco_is_copied(tmp_path: Path) -> None:
    scene = load(tmp_path, draco_document())
    exoskel.convert(scene, tmp_path / "copy.gltf")
    assert DRACO in (tmp_path / "copy.gltf").read_text()
    assert area(only_mesh(exoskel.load(tmp_path / "copy.gltf"))) == area(only_mesh(scene))


def test_draco_triangles_of_mesh_files_are_read(tmp_path: Path) -> None:
    scene, found = as_mesh(draco_document(), tmp_path)
    assert codes(scene) == []
    assert area(TriMesh(found.vertices, found.triangles)) == pytest.approx(PLAIN_AREA, rel=1e-3)


@pytest.mark.parametrize("is_mesh", [True, False])
def test_the_missing_package_is_named(is_mesh: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draco, "is_available", lambda: False)
    if is_mesh:  # complex files are read in a process of its own, which has the package
        from exoskel.source import mesh_parsing
        from exoskel.source.limits import DEFAULT_LIMITS
        from exoskel.source.mesh_packages import glb_of

        data = glb_of(json.dumps(draco_document()).encode(), "gltf", tmp_path, DEFAULT_LIMITS, None)
        with pytest.raises(mesh_parsing.MeshError, match=r"pip install 'exoskel\[draco\]'"):
            mesh_parsing.parse_extent(data, "glb")
        return
    scene = load(tmp_path, draco_document())
    (found,) = scene.diagnostics
    assert found.key == "GL106.draco"
    assert found.hint == "run: pip install 'exoskel[draco]'"
    assert "/meshes/0" in {item.path for item in exoskel.convert(scene, None, to="sdf").losses}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"mode": 5}, "it is not a list of triangles"),
        ({"attributes": {"POSITION": 1}}, "its data does not fit accessor"),
        ({"indices": 7}, "its data does not fit accessor 7"),
        ({"extensions": {DRACO: {"bufferView": 3, "attributes": {}}}}, "view 3 exceeds its buffer"),
        ({"extensions": {DRACO: {"bufferView": 0, "attributes": {"POSITION": 9}}}}, "its data does not fit accessor 0"),
        ({"extensions": {DRACO: {"bufferView": 0}}}, "its data has no positions"),
    ],
)
def test_draco_data_that_does_not_fit_is_reported(changes: dict[str, Any], reason: str, tmp_path: Path) -> None:
    scene = load(tmp_path, draco_document(**changes))
    (found,) = scene.diagnostics
    assert found.key == "GL106.compressed"
    assert f"compressed with {DRACO} of mesh 0 are not read: {reason}" in found.message


def test_damaged_draco_data_is_reported(tmp_path: Path) -> None:
    content = draco_document()
    content["buffers"][0]["uri"] = "data:;base64," + base64.b64encode(b"DRACO" * 40).decode()
    content["buffers"][0]["byteLength"] = content["bufferViews"][0]["byteLength"] = 200
    (found,) = load(tmp_path, content).diagnostics
    assert f"compressed with {DRACO} of mesh 0 are not read: its data is invalid" in found.message


# --- meshoptimizer ----------------------------------------------------------------------------------------


def view(name: str, start: int, count: int, stride: int, mode: str, extension: str) -> dict[str, Any]:
    stated = {"buffer": 1, "byteOffset": start, "byteLength": len(encoded(name)), "byteStride": stride, "count": count}
    return {"buffer": 0, "byteLength": count * stride, "extensions": {extension: stated | {"mode": mode}}}


def meshopt_document(name: str = "whole", extension: str = "EXT_meshopt_compression", **tag: Any) -> dict[str, Any]:
    """A document with compressed positions and triangles; the first buffer has no content."""
    data = encoded(name) + encoded("triangles")
    is_whole = name.startswith("whole")
    stride = 8 if is_whole else 12
    views = [
        view(name, 0, 40, stride, "ATTRIBUTES", extension),
        view("triangles", len(encoded(name)), 90, 2, "TRIANGLES", extension),
    ]
    if is_whole:
        views[0]["byteStride"] = 8
    uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    return document(
        nodes=[{"name": "thing", "mesh": 0}],
        meshes=mesh(indices=1),
        accessors=[
            {"bufferView": 0, "componentType": 5122 if is_whole else 5126, "count": 40, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5123, "count": 90, "type": "SCALAR"},
        ],
        bufferViews=views,
        buffers=[{"byteLength": 1000, **tag}, {"byteLength": len(data), "uri": uri}],
        extensionsRequired=[extension, "KHR_mesh_quantization"],
        extensionsUsed=[extension, "KHR_mesh_quantization"],
    )


@pytest.mark.parametrize("tag", [{}, {"extensions": {"EXT_meshopt_compression": {"fallback": True}}}])
@pytest.mark.parametrize(
    ("name", "extension", "rows"),
    [
        ("whole", "EXT_meshopt_compression", numbers.WHOLE[:, :3]),
        ("whole, version 1", "KHR_meshopt_compression", numbers.WHOLE[:, :3]),
        ("floats, combined bits", "KHR_meshopt_compression", numbers.FLOATS),
    ],
)
def test_meshopt_triangles_are_read(
    name: str, extension: str, rows: np.ndarray, tag: dict[str, Any], tmp_path: Path
) -> None:
    content = meshopt_document(name, extension, **tag)
    scene = load(tmp_path, content)
    assert codes(scene) == []
    found = only_mesh(scene)
    assert found.vertices.tolist() == rows.tolist()
    assert area(found) == pytest.approx(area(TriMesh(rows.astype(np.float64), numbers.TRIANGLES)))
    report = exoskel.convert(scene, None, to="sdf")
    assert [item.path for item in report.losses if "meshopt" in item.path or "Required" in item.path] == []
    _, same = as_mesh(content, tmp_path)
    assert area(TriMesh(same.vertices, same.triangles)) == pytest.approx(area(found))


def test_meshopt_views_of_a_binary_file_are_read(tmp_path: Path) -> None:
    content = meshopt_document()
    data = base64.b64decode(content["buffers"][1]["uri"].partition(",")[2])
    content["buffers"] = [{"byteLength": len(data)}, {"byteLength": 1000}]
    for one in content["bufferViews"]:
        one["buffer"] = 1
        one["extensions"]["EXT_meshopt_compression"]["buffer"] = 0
    (tmp_path / "a.glb").write_bytes(join_glb(content, data))
    scene = exoskel.load(tmp_path / "a.glb")
    assert codes(scene) == []
    assert only_mesh(scene).vertices.tolist() == numbers.WHOLE[:, :3].tolist()


def test_damaged_views_are_reported(tmp_path: Path) -> None:
    content = meshopt_document()
    content["bufferViews"][0]["extensions"]["EXT_meshopt_compression"]["byteLength"] -= 3
    (found,) = load(tmp_path, content).diagnostics
    assert found.key == "GL106.compressed"
    assert found.message.endswith("of mesh 0 are not read: its data ends too early")


def test_views_that_expand_to_more_than_the_limit_are_refused(tmp_path: Path) -> None:
    content = meshopt_document()
    content["bufferViews"][0]["extensions"]["EXT_meshopt_compression"]["count"] = 2**30
    (found,) = load(tmp_path, content).diagnostics
    assert found.message.endswith("it decodes to more than the limit")


# --- instances --------------------------------------------------------------------------------------------


MOVED = np.array([(0, 0, 0), (5, 0, 0), (0, 0, -2)], dtype="<f4")
TURNED = np.array([(0, 0, 0, 32767), (0, 0, 23170, 23170), (0, 0, 0, 0)], dtype="<i2")
SCALED = np.array([(1, 1, 1), (2, 2, 2), (1, 3, 1)], dtype="<f4")


def instanced(**node: Any) -> dict[str, Any]:
    content = with_buffer([CORNERS, MOVED, TURNED, SCALED], meshes=mesh())
    three = {"count": 3, "componentType": 5126, "type": "VEC3"}
    content["accessors"] = [
        points(3),
        three | {"bufferView": 1},
        three | {"bufferView": 2, "componentType": 5122, "normalized": True, "type": "VEC4"},
        three | {"bufferView": 3},
    ]
    attributes = {"TRANSLATION": 1, "ROTATION": 2, "SCALE": 3, "_ID": 1}
    content["nodes"][0] |= {"extensions": {INSTANCES: {"attributes": attributes}}, "translation": [0, 1, 0]} | node
    return content | {"extensionsUsed": [INSTANCES], "extensionsRequired": [INSTANCES]}


EXPECTED = [
    [(0, 1, 0), (1, 1, 0), (0, 2, 0)],
    [(5, 1, 0), (5, 3, 0), (3, 1, 0)],
    [(0, 1, -2), (1, 1, -2), (0, 4, -2)],
]


def test_instances_are_shapes_of_the_body_of_their_node(tmp_path: Path) -> None:
    scene = load(tmp_path, instanced())
    assert codes(scene) == []
    (body,) = scene.world.bodies()
    assert body.name == "thing"
    bodies_from = np.array(body.pose.matrix())
    for shape, expected in zip(body.visuals, EXPECTED, strict=True):
        assert isinstance(shape.geometry, TriMesh)
        placed = bodies_from @ np.array(shape.pose.matrix())
        corners = shape.geometry.vertices @ placed[:3, :3].T + placed[:3, 3]
        np.testing.assert_allclose(corners, expected, atol=1e-4)


def test_instances_are_no_loss_and_are_copied(tmp_path: Path) -> None:
    scene = load(tmp_path, instanced())
    report = exoskel.convert(scene, None, to="sdf")
    (item,) = (one for one in report.items if one.path.endswith(INSTANCES))
    assert str(item.fate) in ("exact", "lowered")
    assert "/@extensionsRequired" not in {one.path for one in report.losses}
    exoskel.convert(scene, tmp_path / "copy.gltf")
    assert json.loads((tmp_path / "copy.gltf").read_text())["nodes"][0]["extensions"].keys() == {INSTANCES}


def test_edited_scenes_have_a_node_for_each_instance(tmp_path: Path) -> None:
    scene = load(tmp_path, instanced())
    next(scene.world.bodies()).name = "other"
    exoskel.convert(scene, tmp_path / "new.gltf")
    again = exoskel.load(tmp_path / "new.gltf")
    (body,) = again.world.bodies()
    assert len(body.visuals) == 3
    assert INSTANCES not in (tmp_path / "new.gltf").read_text()


def test_instances_of_a_mesh_file_are_parts_of_the_mesh(tmp_path: Path) -> None:
    scene, found = as_mesh(instanced(), tmp_path)
    assert codes(scene) == []
    corners = np.sort(found.vertices, axis=0)
    np.testing.assert_allclose(corners, np.sort(np.array(EXPECTED).reshape(-1, 3), axis=0), atol=1e-4)


@pytest.mark.parametrize("is_mesh", [True, False])
def test_instances_without_attributes_are_one(is_mesh: bool, tmp_path: Path) -> None:
    content = instanced(extensions={INSTANCES: {"attributes": {}}})
    if is_mesh:
        assert len(as_mesh(content, tmp_path)[1].triangles) == 1
    else:
        assert len(next(load(tmp_path, content).world.bodies()).visuals) == 1


@pytest.mark.parametrize(
    "attributes", [{"TRANSLATION": 9}, {"TRANSLATION": 1, "SCALE": 0, "ROTATION": 1}, {"SCALE": "a"}]
)
def test_invalid_instances_are_reported(attributes: dict[str, Any], tmp_path: Path) -> None:
    content = instanced(extensions={INSTANCES: {"attributes": attributes}})
    assert codes(load(tmp_path, content)) == ["GL104"]


def test_many_instances_of_one_mesh_are_refused(tmp_path: Path) -> None:
    content = instanced()
    for accessor in content["accessors"][1:]:
        accessor |= {"count": 2**20}
        accessor.pop("bufferView")
    assert codes(load(tmp_path, content)) == ["GL104"]
    scene, _ = as_mesh(content, tmp_path)
    assert len(scene.diagnostics) == 1
