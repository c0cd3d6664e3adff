"""Triangles of glTF files as other programs write them: strips, fans, sparse rows, compression, shared nodes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.scene.inertia import solid
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.shape import TriMesh
from exoskel.source.surface import Surfaces
from tests.gltf.test_read import codes, document, load

CORNERS = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)], dtype="<f4")


def with_buffer(arrays: list[np.ndarray], **changes: Any) -> dict[str, Any]:
    """A document with these arrays in views of their own."""
    import base64

    views, data = [], b""
    for array in arrays:
        views.append({"buffer": 0, "byteOffset": len(data), "byteLength": array.nbytes})
        data += array.tobytes() + bytes(-array.nbytes % 4)
    uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
    return document(
        nodes=[{"name": "thing", "mesh": 0}],
        bufferViews=views,
        buffers=[{"byteLength": len(data), "uri": uri}],
        **changes,
    )


def points(count: int, **changes: Any) -> dict[str, Any]:
    return {"bufferView": 0, "componentType": 5126, "count": count, "type": "VEC3"} | changes


def numbers(count: int, view: int = 1) -> dict[str, Any]:
    return {"bufferView": view, "componentType": 5123, "count": count, "type": "SCALAR"}


def mesh(**changes: Any) -> list[dict[str, Any]]:
    return [{"primitives": [{"attributes": {"POSITION": 0}, **changes}]}]


def only_mesh(scene: exoskel.Scene) -> TriMesh:
    (body,) = scene.world.bodies()
    (shape,) = body.visuals
    assert isinstance(shape.geometry, TriMesh)
    return shape.geometry


# --- strips and fans --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "indices", "triangles"),
    [
        (5, [0, 1, 2, 3], [(0, 1, 2), (1, 3, 2)]),
        (5, [0, 1, 2, 2, 3, 3, 1, 2], [(0, 1, 2), (3, 2, 1)]),
        (6, [0, 1, 3, 2], [(1, 3, 0), (3, 2, 0)]),
        (5, None, [(0, 1, 2), (1, 3, 2)]),
        (6, None, [(1, 2, 0), (2, 3, 0)]),
    ],
)
def test_strips_and_fans_are_triangles(
    mode: int, indices: list[int] | None, triangles: list[tuple[int, int, int]], tmp_path: Path
) -> None:
    stated = np.array(indices or [], dtype="<u2")
    accessors = [points(4), numbers(len(stated))]
    changes = {"mode": mode} | ({} if indices is None else {"indices": 1})
    scene = load(tmp_path, with_buffer([CORNERS, stated], accessors=accessors, meshes=mesh(**changes)))
    assert codes(scene) == []
    assert only_mesh(scene).triangles.tolist() == [list(one) for one in triangles]


def test_a_strip_around_a_tetrahedron_faces_outwards(tmp_path: Path) -> None:
    corners = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype="<f4")
    strip = np.array([0, 2, 1, 3, 0, 2], dtype="<u2")
    content = with_buffer([corners, strip], accessors=[points(4), numbers(6)], meshes=mesh(indices=1, mode=5))
    found = only_mesh(load(tmp_path, content))
    assert np.linalg.det(found.vertices[found.triangles]).sum() / 6 == pytest.approx(1 / 6)
    assert solid(found).volume == pytest.approx(1 / 6)


# --- sparse rows ------------------------------------------------------------------------------------------


def sparse(count: int, kind: int = 5123) -> dict[str, Any]:
    return {"count": count, "indices": {"bufferView": 2, "componentType": kind}, "values": {"bufferView": 3}}


@pytest.mark.parametrize("has_view", [True, False])
def test_sparse_rows_replace_others(has_view: bool, tmp_path: Path) -> None:
    places, values = np.array([1, 3], dtype="<u2"), np.array([(5, 0, 0), (7, 8, 9)], dtype="<f4")
    stated = points(4, sparse=sparse(2))
    if not has_view:
        del stated["bufferView"]
    faces = np.array([0, 1, 2, 1, 3, 2], dtype="<u2")
    content = with_buffer([CORNERS, faces, places, values], accessors=[stated, numbers(6)], meshes=mesh(indices=1))
    expected = CORNERS.astype(float) if has_view else np.zeros((4, 3))
    expected[[1, 3]] = values
    scene = load(tmp_path, content)
    assert codes(scene) == []
    assert only_mesh(scene).vertices.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        3,
        {"count": 1},
        sparse(2) | {"count": -1},
        sparse(200),
        sparse(2, kind=5126),
        sparse(2) | {"indices": {"componentType": 5123}},
        sparse(2) | {"values": {}},
    ],
)
def test_malformed_sparse_rows_are_reported(wrong: Any, tmp_path: Path) -> None:
    arrays = [CORNERS, np.array([0, 1, 2], "<u2"), np.array([1, 9], "<u2"), CORNERS[:2]]
    content = with_buffer(arrays, accessors=[points(4, sparse=wrong), numbers(3)], meshes=mesh(indices=1))
    assert codes(load(tmp_path, content)) == ["GL104"]


def test_rows_without_a_view_are_limited(tmp_path: Path) -> None:
    stated = points(10**9)
    del stated["bufferView"]
    assert codes(load(tmp_path, with_buffer([CORNERS], accessors=[stated], meshes=mesh()))) == ["GL104"]


# --- what is not read ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("primitive", "what"),
    [
        ({"mode": 0}, "points"),
        ({"mode": 3}, "lines"),
        ({"mode": 9}, "primitives of an unknown mode"),
        ({"attributes": {}}, "primitives without positions"),
        ({"attributes": {"POSITION": 1}}, "primitives without triangles"),
        ({"attributes": {"POSITION": 2}, "extensions": {"KHR_draco_mesh_compression": {}}}, "KHR_draco"),
        ({"attributes": {"POSITION": 3}}, "EXT_meshopt_compression"),
    ],
)
@pytest.mark.parametrize("is_alone", [True, False])
def test_parts_of_meshes_that_are_not_read(
    primitive: dict[str, Any], what: str, is_alone: bool, tmp_path: Path
) -> None:
    compressed = {"buffer": 1, "byteLength": 48, "extensions": {"EXT_meshopt_compression": {"buffer": 0}}}
    accessors = [points(3), points(0), points(3) | {"bufferView": 0}, points(3, bufferView=1)]
    del accessors[2]["bufferView"]
    content = with_buffer([CORNERS], accessors=accessors)
    content["bufferViews"].append(compressed)
    content["buffers"].append({"byteLength": 48, "extensions": {"EXT_meshopt_compression": {"fallback": True}}})
    content["meshes"] = [{"primitives": [{"attributes": {"POSITION": 0}} | primitive]}]
    if not is_alone:
        content["meshes"][0]["primitives"].append({"attributes": {"POSITION": 0}})
    scene = load(tmp_path, content)
    (found,) = scene.diagnostics
    is_compressed = "compress" in str(found.message)
    assert found.key == ("GL106.compressed" if is_compressed else "GL106.mesh" if is_alone else "GL106")
    assert what in found.message
    assert len(next(scene.world.bodies()).visuals) == (0 if is_alone else 1)


def test_compressed_triangles_that_are_also_uncompressed_are_read(tmp_path: Path) -> None:
    content = with_buffer([CORNERS], accessors=[points(3)], meshes=mesh(extensions={"KHR_draco_mesh_compression": {}}))
    scene = load(tmp_path, content)
    assert codes(scene) == []
    assert len(only_mesh(scene).triangles) == 1


# --- nodes --------------------------------------------------------------------------------------------------


def test_scenes_share_nodes(tmp_path: Path) -> None:
    scenes = [{"name": "front", "nodes": [0]}, {"name": "back", "nodes": [1, 0]}]
    nodes = [{"name": "a", "mesh": 0, "translation": [1, 0, 0]}, {"name": "b", "children": [2]}, {"mesh": 0}]
    scene = load(tmp_path, document(scenes=scenes, nodes=nodes))
    assert codes(scene) == []
    assert [[body.name for body in world.bodies()] for world in scene.worlds] == [["a"], ["node_2", "a"]]


def test_a_node_with_two_parents_is_read_twice(tmp_path: Path) -> None:
    nodes = [
        {"name": "left", "translation": [1, 0, 0], "children": [2]},
        {"name": "right", "translation": [-1, 0, 0], "children": [2]},
        {"name": "wheel", "mesh": 0},
    ]
    scene = load(tmp_path, document(scenes=[{"nodes": [0, 1]}], nodes=nodes))
    assert codes(scene) == ["GL105.shared"]
    assert Kinematics(scene.world.models).poses()[:, 0, 3].tolist() == [1.0, -1.0]


def test_nodes_inside_of_themselves_are_reported(tmp_path: Path) -> None:
    nodes = [{"children": [1]}, {"children": [2]}, {"children": [1], "mesh": 0}]
    scene = load(tmp_path, document(nodes=nodes))
    assert "node 1 is inside of itself" in scene.diagnostics[0].message


def test_nodes_that_multiply_are_limited(tmp_path: Path) -> None:
    nodes: list[dict[str, Any]] = [{"children": [number + 1] * 10} for number in range(20)]
    scene = load(tmp_path, document(nodes=[*nodes, {"mesh": 0}]))
    assert "GL104" in codes(scene) and not scene.worlds


def test_nodes_in_no_scene_are_reported_and_dropped(tmp_path: Path) -> None:
    nodes = [{"name": "here", "mesh": 0}, {"name": "nowhere", "mesh": 0}]
    file = tmp_path / "scene.gltf"
    file.write_text(json.dumps(document(nodes=nodes)))
    report = exoskel.convert(file, tmp_path / "scene.usda")
    assert codes(exoskel.load(file)) == ["GL105.node"]
    fates = {one.path: one.fate for one in report.items}
    assert fates["/nodes/1"] == "dropped"
    assert fates["/nodes/0"] != "dropped"


# --- as meshes of other files -------------------------------------------------------------------------------

ROBOT = '<robot name="r"><link name="a"><visual><geometry><mesh filename="m.gltf"/></geometry></visual></link></robot>'


def as_mesh(content: dict[str, Any], folder: Path) -> tuple[exoskel.Scene, Any]:
    (folder / "m.gltf").write_text(json.dumps(content))
    (folder / "r.urdf").write_text(ROBOT)
    scene = exoskel.load(folder / "r.urdf")
    return scene, Surfaces().of(next(scene.world.bodies()).visuals[0].geometry)


@pytest.mark.parametrize("has_indices", [True, False])
def test_a_fan_is_a_mesh(has_indices: bool, tmp_path: Path) -> None:
    around = np.array([0, 1, 3, 2], dtype="<u2")
    corners = CORNERS if has_indices else CORNERS[around]
    changes = {"indices": 1} if has_indices else {}
    content = with_buffer([corners, around], accessors=[points(4), numbers(4)], meshes=mesh(mode=6, **changes))
    scene, found = as_mesh(content, tmp_path)
    assert codes(scene) == []
    sides = found.vertices[found.triangles]
    areas = np.cross(sides[:, 1] - sides[:, 0], sides[:, 2] - sides[:, 0]) / 2
    assert areas.sum(axis=0).tolist() == [0, 0, 1]


def test_sparse_rows_of_a_mesh_replace_others(tmp_path: Path) -> None:
    arrays = [CORNERS, np.array([0, 1, 2], "<u2"), np.array([1, 2], "<u2"), np.array([(5, 0, 0), (0, 7, 0)], "<f4")]
    content = with_buffer(arrays, accessors=[points(4, sparse=sparse(2)), numbers(3)], meshes=mesh(indices=1))
    scene, found = as_mesh(content, tmp_path)
    assert codes(scene) == []
    assert sorted(found.vertices.tolist()) == [[0, 0, 0], [0, 7, 0], [5, 0, 0]]


@pytest.mark.parametrize("extension", ["KHR_draco_mesh_compression", "EXT_meshopt_compression"])
def test_compressed_meshes_are_not_read_as_others(extension: str, tmp_path: Path) -> None:
    is_draco = extension.startswith("KHR")
    stated = points(3, bufferView=1)
    content = with_buffer([CORNERS], meshes=mesh(extensions={extension: {}} if is_draco else {}))
    content["accessors"] = [{key: value for key, value in stated.items() if not (is_draco and key == "bufferView")}]
    content["bufferViews"].append({"buffer": 1, "byteLength": 36, "extensions": {extension: {"buffer": 0}}})
    content["buffers"].append({"byteLength": 36, "extensions": {"EXT_meshopt_compression": {"fallback": True}}})
    scene, _ = as_mesh(content, tmp_path)
    (found,) = scene.diagnostics
    assert f"compressed with {extension}" in found.message


# --- values of wrong types ----------------------------------------------------------------------------------


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield (*above, key)
        yield from _places(one, (*above, key))


@pytest.mark.parametrize("wrong", ["a", None, -1, 1.5, [], {}, [1], {"a": 1}, True, 10**30], ids=str)
def test_values_of_wrong_types_are_no_exceptions(wrong: Any, tmp_path: Path) -> None:
    arrays = [CORNERS, np.array([0, 1, 2], "<u2"), np.array([0], "<u2"), CORNERS[:1]]
    meshes = mesh(indices=1, mode=5, material=0, targets=[{}])
    content = with_buffer(arrays, accessors=[points(4, sparse=sparse(1)), numbers(3)], meshes=meshes)
    content["nodes"] = [{"name": "n", "mesh": 0, "children": [1]}, {"mesh": 0}]
    assert codes(load(tmp_path, content)) == ["GL106"]
    for place in [one for one in _places(content) if one[0] not in ("buffers", "asset")]:
        changed = copy.deepcopy(content)
        owner = changed
        for key in place[:-1]:
            owner = owner[key]
        owner[place[-1]] = wrong
        scene = load(tmp_path, changed)
        assert scene.worlds or any(found.severity == "error" for found in scene.diagnostics)
