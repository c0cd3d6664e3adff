"""Meshes in text glTF with its buffers, and in 3MF archives."""

from __future__ import annotations

import base64
import json
import os
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.source import meshes
from exoskel.source.limits import Limits
from exoskel.source.meshes import MeshError
from tests.support.xml import one_shape

POINTS = np.array([[0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 4]], dtype="<f4")
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], dtype="<u4")
BINARY = POINTS.tobytes() + FACES.tobytes()
EXTENT = ((0.0, 0.0, 0.0), (2.0, 3.0, 4.0))


def gltf(uri: str | None = "part.bin", **changes: Any) -> bytes:
    header: dict[str, Any] = {
        "asset": {"version": "2.0"},
        "buffers": [{"byteLength": len(BINARY), **({} if uri is None else {"uri": uri})}],
        "bufferViews": [
            {"buffer": 0, "byteLength": POINTS.nbytes},
            {"buffer": 0, "byteOffset": POINTS.nbytes, "byteLength": FACES.nbytes},
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5125, "count": 12, "type": "SCALAR"},
        ],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1}]}],
        "nodes": [{"mesh": 0}],
        "scenes": [{"nodes": [0]}],
        "scene": 0,
    }
    return json.dumps(header | changes).encode()


def data_uri(data: bytes) -> str:
    return "data:application/octet-stream;base64," + base64.b64encode(data).decode()


OBJECT = (
    '<object id="1"><mesh><vertices>'
    + "".join(f'<vertex x="{x}" y="{y}" z="{z}"/>' for x, y, z in POINTS.tolist())
    + "</vertices><triangles>"
    + "".join(f'<triangle v1="{a}" v2="{b}" v3="{c}"/>' for a, b, c in FACES.tolist())
    + "</triangles></mesh></object>"
)
ITEM = '<item objectid="1"/>'


def archive(objects: str = OBJECT, items: str = ITEM, unit: str = "meter", name: str = "3D/3dmodel.model") -> bytes:
    namespace = "http://schemas.microsoft.com/3dmanufacturing/core/2015/02"
    model = f'<model unit="{unit}" xmlns="{namespace}"><resources>{objects}</resources><build>{items}</build></model>'
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(name, model)
    return out.getvalue()


def extent(folder: Path, name: str, data: bytes, **options: Any) -> Any:
    (folder / name).write_bytes(data)
    return meshes.mesh_extent(folder / name, **options)


# --- what is read -------------------------------------------------------------------------------------


def test_text_gltf_is_read_with_a_buffer_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "my part.bin").write_bytes(BINARY)
    assert extent(tmp_path, "a.gltf", gltf("my%20part.bin")) == EXTENT
    vertices, faces, colors = meshes.load_colored_triangles(tmp_path / "a.gltf")
    assert (len(vertices), len(faces), colors) == (4, 4, None)


def test_text_gltf_is_read_with_buffers_in_itself(tmp_path: Path) -> None:
    assert extent(tmp_path, "a.gltf", gltf(data_uri(BINARY))) == EXTENT
    buffers = [{"byteLength": len(one), "uri": data_uri(one)} for one in (b"abc", BINARY)]
    views = [{"buffer": 1, "byteLength": 48}, {"buffer": 1, "byteOffset": 48, "byteLength": 48}]
    assert extent(tmp_path, "b.gltf", gltf(buffers=buffers, bufferViews=views)) == EXTENT


@pytest.mark.parametrize(("kind", "number"), [("<i2", 5122), ("<u1", 5121)])
def test_normalized_integers_are_fractions(tmp_path: Path, kind: str, number: int) -> None:
    """gltfpack writes vertices so; nodes scale them."""
    places = np.zeros((4, 4), dtype=kind)  # rows are aligned to four bytes
    places[:, :3] = np.rint(POINTS / 4 * np.iinfo(kind).max)
    data = places.tobytes() + FACES.tobytes()
    accessors = [
        {"bufferView": 0, "componentType": number, "count": 4, "type": "VEC3", "normalized": True, "max": [1, 1, 1]},
        {"bufferView": 1, "componentType": 5125, "count": 12, "type": "SCALAR"},
    ]
    views = [
        {"buffer": 0, "byteLength": places.nbytes, "byteStride": places.strides[0]},
        {"buffer": 0, "byteOffset": places.nbytes, "byteLength": FACES.nbytes},
    ]
    buffers = [{"byteLength": len(data), "uri": data_uri(data)}]
    nodes = [{"mesh": 0, "scale": [4, 4, 4]}]
    content = gltf(accessors=accessors, bufferViews=views, buffers=buffers, nodes=nodes)
    low, high = extent(tmp_path, "a.gltf", content)
    assert low == (0.0, 0.0, 0.0) and high == pytest.approx(EXTENT[1], abs=0.01)


@pytest.mark.parametrize(
    "change", [{"count": 10**30}, {"count": -1}, {"bufferView": 9}, {"type": "MAT4"}, {"count": 1e9}]
)
def test_damaged_normalized_integers_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    accessors = [
        {"bufferView": 0, "componentType": 5122, "count": 4, "type": "VEC3", "normalized": True} | change,
        {"bufferView": 1, "componentType": 5125, "count": 12, "type": "SCALAR"},
    ]
    with pytest.raises(MeshError):
        extent(tmp_path, "a.gltf", gltf(data_uri(BINARY), accessors=accessors))


def test_textures_of_text_gltf_are_not_needed(tmp_path: Path) -> None:
    look = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}, "baseColorFactor": [1, 0, 0, 1]}}
    textured = {"images": [{"uri": "missing.png"}], "textures": [{"source": 0}], "materials": [look]}
    primitive = {"attributes": {"POSITION": 0}, "indices": 1, "material": 0}
    data = gltf(data_uri(BINARY), **textured, meshes=[{"primitives": [primitive]}])
    (tmp_path / "a.gltf").write_bytes(data)
    _, _, colors = meshes.load_colored_triangles(tmp_path / "a.gltf")
    assert colors is not None
    assert np.allclose(colors[0], [1.0, 0.0, 0.0, 1.0])


def test_3mf_is_read_in_metres(tmp_path: Path) -> None:
    assert extent(tmp_path, "a.3mf", archive()) == EXTENT
    (low, high) = extent(tmp_path, "b.3mf", archive(unit="millimeter"))
    assert low == (0.0, 0.0, 0.0)
    assert high == pytest.approx((0.002, 0.003, 0.004))


def test_3mf_places_objects_with_items_and_components(tmp_path: Path) -> None:
    # The matrix acts on rows: a quarter turn about z maps x to y, then 10 along x.
    turned = '<component objectid="1" transform="0 1 0 -1 0 0 0 0 1 10 0 0"/>'
    both = f'{OBJECT}<object id="2"><components>{turned}</components></object>'
    found = extent(tmp_path, "a.3mf", archive(both, '<item objectid="2" transform="1 0 0 0 1 0 0 0 1 0 5 0"/>'))
    assert np.allclose(found, ((7.0, 5.0, 0.0), (10.0, 7.0, 4.0)))


@pytest.mark.parametrize("name", ["part.gltf", "part.3mf"])
def test_scenes_use_these_meshes_and_copy_them_as_one_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "part.bin").write_bytes(BINARY)
    (tmp_path / name).write_bytes(gltf() if name.endswith("gltf") else archive())
    geometry = f"<mesh><file_name>{name}</file_name><scale>1 1 1</scale></mesh>"
    source = tmp_path / "scene.skel"
    source.write_text(one_shape(geometry), encoding="utf-8")
    scene = exoskel.load(source)
    assert not [d for d in scene.diagnostics if d.code == "SK063"]
    for target, extension in (("scene.sdf", ".glb"), ("scene.urdf", ".obj"), ("scene.xode", ".glb")):
        out = tmp_path / target.partition(".")[2] / target
        out.parent.mkdir()
        report = exoskel.convert(source, out, meshes="copy")
        assert report.certificate.passed
        assert list(report.companions) == [f"meshes/part{extension}"]
        shape = exoskel.load(out).world.models[0].bodies[0].shapes[0]
        assert np.allclose(shape.geometry.bounds(), EXTENT)
    assert exoskel.convert(source, tmp_path / "scene.xml").certificate.passed


# --- hostile files ------------------------------------------------------------------------------------


NESTED = "".join(
    f'<object id="{n}"><components>{"".join(f"""<component objectid="{n - 1}"/>""" for _ in range(9))}</components></object>'
    for n in range(2, 20)
)
LOOP = '<object id="1"><components><component objectid="1"/></components></object>'
BAD_GLTF = {
    "not JSON": b"{",
    "not an object": b"[]",
    "deep": b"[" * 100_000,
    "no uri": gltf(None),
    "missing buffer": gltf("missing.bin"),
    "another host": gltf("http://example.com/part.bin"),
    "a file URI": gltf("file:///etc/passwd"),
    "not base64": gltf("data:;base64,???"),
    "not data": gltf("data:text/plain,abc"),
    "a view of no buffer": gltf(data_uri(BINARY), bufferViews=[{"buffer": 7, "byteLength": 4}] * 2),
    "too many buffers": gltf(buffers=[{"uri": "data:;base64,", "byteLength": 0}] * 2000),
    "a huge accessor": gltf(data_uri(BINARY), accessors=[{"componentType": 5126, "count": 2**40, "type": "VEC3"}] * 2),
}
BAD_3MF = {
    "not an archive": b"anything",
    "no model": archive(name="readme.txt"),
    "no build": archive(items=""),
    "not XML": archive(objects="<"),
    "a unit": archive(unit="parsec"),
    "a missing object": archive(items='<item objectid="7"/>'),
    "a missing vertex": archive(OBJECT.replace('v1="0"', 'v1="9"')),
    "a fraction as a vertex": archive(OBJECT.replace('v1="0"', 'v1="0.5"')),
    "not a number": archive(OBJECT.replace('x="2.0"', 'x="two"')),
    "infinite": archive(OBJECT.replace('x="2.0"', 'x="inf"')),
    "a short transform": archive(items='<item objectid="1" transform="1 2 3"/>'),
    "components of themselves": archive(LOOP),
    "a tree of components": archive(OBJECT + NESTED, '<item objectid="19"/>'),
    "entities": archive('<object id="&a;"/>'),
}


@pytest.mark.parametrize("title", BAD_GLTF)
def test_malformed_text_gltf_is_refused(title: str, tmp_path: Path) -> None:
    with pytest.raises(MeshError):
        extent(tmp_path, "a.gltf", BAD_GLTF[title])


@pytest.mark.parametrize("title", BAD_3MF)
def test_malformed_3mf_is_refused(title: str, tmp_path: Path) -> None:
    with pytest.raises(MeshError):
        extent(tmp_path, "a.3mf", BAD_3MF[title])


def test_buffers_are_confined_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / "part.bin").write_bytes(BINARY)
    inner = tmp_path / "inner"
    inner.mkdir()
    with pytest.raises(MeshError, match="outside"):
        extent(inner, "a.gltf", gltf("../part.bin"))
    with pytest.raises(MeshError, match="outside"):
        extent(inner, "a.gltf", gltf(str(tmp_path / "part.bin")))
    assert extent(inner, "a.gltf", gltf("../part.bin"), within=tmp_path) == EXTENT
    os.symlink(tmp_path / "part.bin", inner / "link.bin")
    with pytest.raises(MeshError, match="outside"):
        extent(inner, "a.gltf", gltf("link.bin"))


def test_buffers_count_towards_the_limit(tmp_path: Path) -> None:
    (tmp_path / "part.bin").write_bytes(BINARY + bytes(5000))
    assert extent(tmp_path, "a.gltf", gltf()) == EXTENT
    with pytest.raises(MeshError, match="exceed the limit"):
        extent(tmp_path, "a.gltf", gltf(), limits=Limits(mesh_bytes=2000))


def test_an_archive_is_unpacked_up_to_a_limit(tmp_path: Path) -> None:
    bomb = archive(OBJECT + " " * 2**26)
    assert len(bomb) < 2**17
    with pytest.raises(MeshError, match="more than"):
        extent(tmp_path, "a.3mf", bomb)
