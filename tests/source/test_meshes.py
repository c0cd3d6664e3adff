"""Invalid mesh files that trimesh accepts, and randomly changed mesh files."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path

import numpy as np
import pytest
import trimesh

import exoskel
from exoskel.source import mesh_parsing, meshes
from exoskel.source.child_process import ChildFailedError
from exoskel.source.meshes import MeshError
from exoskel.source.plain_obj import plain_obj_extent
from tests.support.xml import one_shape

PLY = (
    "ply\nformat ascii 1.0\nelement vertex {}\n{}element face 1\nproperty list uchar int vertex_indices\nend_header\n{}"
)
POINT = "property float x\nproperty float y\nproperty float z\n"
CORNERS = "0 0 0\n1 0 0\n0 1 0\n"

REFUSED = {
    "a corner that is not there": (
        "a.ply",
        PLY.format(3, POINT, f"{CORNERS}3 0 1 77\n"),
        "a triangle refers to a missing vertex",
    ),
    "a corner below zero": (
        "a.ply",
        PLY.format(3, POINT, f"{CORNERS}3 0 1 -7\n"),
        "a triangle refers to a missing vertex",
    ),
    "points in a plane": ("a.obj", "v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n", "a vertex does not have three coordinates"),
    "no triangles": ("a.obj", "v 0 0 0\n", "has no triangles"),
    "nothing": ("a.obj", "", "has no triangles"),
    "numbers that are none": ("a.obj", "v nan 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "vertices that are not finite"),
}


@pytest.mark.parametrize(("name", "content", "reason"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_mesh_is_an_error_with_a_reason(tmp_path: Path, name: str, content: str, reason: str) -> None:
    file = tmp_path / name
    file.write_text(content, encoding="utf-8")
    with pytest.raises(MeshError, match=reason):
        meshes.mesh_extent(file)


def random_obj(choices: random.Random) -> bytes:
    """A small OBJ file; some have faces of mixed forms, missing vertices, normals or invalid numbers."""
    count, corners = choices.randint(1, 8), choices.choice([3, 4, 5])
    form = choices.choice(["{}", "{}/{}", "{}//{}", "{}/{}/{}", "{}/"])
    decimal = [f"{choices.uniform(-5, 5):.4f}", "-0.0000", "12.3456", "-.2500"]
    odd = choices.choice(["1.-500", "-.", "1-2.345", "99999999999999999.1234", "1.50", "7."])
    other = ["-0.0", "1e5", "2E-3", *decimal] * 99 + ["1e999", "nan", "1.5.2", "2e+3"]
    numbers = choices.choice([decimal, decimal * 30 + [odd], other])
    lines = ["# v 1 2 3"] * choices.randint(0, 1) + ["o body"] * choices.randint(0, 1)
    lines += ["v " + " ".join(choices.choices(numbers, k=3)) for _ in range(count)]
    lines += choices.choice([[], [], [], ["vn 0 0 1"], ["usemtl steel"], ["g part"], ["v 1 2 3 4"]])
    for _ in range(choices.randint(0, 5)):
        chosen = choices.choices([form, "{}/{}/{}"], [99, 1], k=corners)
        refers = [choices.choices([choices.randint(1, count), 0, -1, count + 1], [300, 1, 1, 1], k=3) for _ in chosen]
        lines.append("f " + " ".join(one.format(*three) for one, three in zip(chosen, refers, strict=True)))
    return choices.choice(["\n", "\r\n"]).join(lines).encode()


def test_the_extent_of_a_plain_obj_file_is_that_of_its_triangles() -> None:
    choices, found = random.Random(0), 0
    for _ in range(400):
        data = random_obj(choices)
        extent = plain_obj_extent(data)
        if extent is not None:
            vertices, faces, _ = mesh_parsing.parse_triangles(data, "obj")
            corners = vertices[faces.ravel()]
            assert np.array_equal(extent, [corners.min(axis=0), corners.max(axis=0)]), data
            found += 1
    assert found > 50


@pytest.mark.parametrize("to", ["mjcf", "usd", "gltf", "xode", "skel"])
@pytest.mark.parametrize("unused", [True, False])
def test_vertices_that_are_not_finite_do_not_reach_a_writer(tmp_path: Path, to: str, unused: bool) -> None:
    """MuJoCo's writer raised LinAlgError."""
    (tmp_path / "a.obj").write_text(
        "v 0 0 0\nv 1 0 0\nv 0 1 0\nv nan inf 0\nf 1 2 3\nf 1 2 " + ("3" if unused else "4")
    )
    file = tmp_path / "a.urdf"
    shape = '<geometry><mesh filename="a.obj"/></geometry>'
    file.write_text(f'<robot name="r"><link name="b"><collision>{shape}</collision></link></robot>', encoding="utf-8")
    assert exoskel.convert(file, None, to=to).data
    if unused:
        assert np.isfinite(meshes.load_triangles(tmp_path / "a.obj")[0]).all()


def test_a_scene_with_an_invalid_mesh_is_read_with_a_diagnostic(tmp_path: Path) -> None:
    """It used to end in an internal error."""
    (tmp_path / "a.ply").write_text(REFUSED["a corner that is not there"][1], encoding="utf-8")
    file = tmp_path / "a.urdf"
    shape = '<geometry><mesh filename="a.ply"/></geometry>'
    file.write_text(f'<robot name="r"><link name="b"><visual>{shape}</visual></link></robot>', encoding="utf-8")
    scene = exoskel.load(file)
    assert scene.world.models
    assert "a triangle refers to a missing vertex" in str([diagnostic.message for diagnostic in scene.diagnostics])


_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_WORDS = (b"nan", b"1e999", b"-1", b"0", b"999999999", b"2147483648", b"1e-320", b"", b"a", b"[]", b"{}", b"null")


def _mutate(data: bytes, rng: random.Random) -> bytes:
    """Replace a few numbers or bytes."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        found = list(_NUMBER.finditer(bytes(out)))
        if found and rng.random() < 0.5:
            one = rng.choice(found)
            out[one.start() : one.end()] = rng.choice(_WORDS)
            continue
        at = rng.randrange(len(out) + 1)
        end = min(len(out), at + rng.choice((0, 1, 4, 16, 200)))
        out[at:end] = rng.choice((rng.randbytes(rng.choice((0, 1, 2, 4))), bytes(out[at:end]) * 2))
    return bytes(out)


@pytest.mark.parametrize("kind", ["obj", "stl", "stl_ascii", "ply", "off", "dae", "glb"])
def test_randomly_changed_files_are_read_or_rejected(kind: str, tmp_path: Path) -> None:
    box = trimesh.creation.box()
    box.visual.vertex_colors = np.tile(np.array([255, 0, 0, 255], dtype=np.uint8), (8, 1))
    made = box.export(file_type=kind)
    seed = made if isinstance(made, bytes) else str(made).encode()
    rng = random.Random(kind)
    file = tmp_path / f"a.{kind[:3]}"
    drawn = 0
    for _ in range(300):
        file.write_bytes(_mutate(seed, rng))
        try:
            meshes.mesh_extent(file)
            vertices, faces, colors = meshes.load_colored_triangles(file)
        except MeshError:
            continue
        drawn += 1
        assert vertices.shape[1] == faces.shape[1] == 3
        assert faces.min() >= 0
        assert faces.max() < len(vertices)
        assert colors is None or len(colors) == len(vertices)
    assert 0 < drawn < 300


@pytest.mark.parametrize("kind", ["3ds", "ac", "x3d", "blend", "fbx", "wrl", "lwo"])
def test_a_mesh_that_is_not_supported_names_a_program_that_converts_it(kind: str, tmp_path: Path) -> None:
    (tmp_path / f"part.{kind}").write_bytes(b"anything")
    geometry = f"<mesh><file_name>part.{kind}</file_name><scale>1 1 1</scale></mesh>"
    scene = exoskel.load(one_shape(geometry).encode(), base=tmp_path)
    (found,) = [d for d in scene.diagnostics if d.code == "SK063"]
    assert re.search("(Assimp|Blender) converts it", found.message)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf -9223372036854775806 1 2\n"),
        ("a.ply", "ply\nformat ascii 1.0\nend_header\n"),
        ("a.stl", "solid a\nfacet normal 0 0 1\nouter loop\nvertex x\n"),
        ("a.obj", "f 1 2 3\n"),
    ],
)
def test_a_malformed_mesh_is_described_in_our_own_words(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    mesh = f'<mesh filename="{name}"/>'
    file = tmp_path / "a.urdf"
    file.write_text(f'<robot name="r"><link name="l"><visual><geometry>{mesh}</geometry></visual></link></robot>')
    found = [d.message for d in exoskel.load(file).diagnostics if d.code == "UR405"]
    assert found and not any("Error" in message or "Exception" in message for message in found)


def test_a_file_that_was_too_complex_is_not_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.obj"
    file.write_bytes(b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n" + os.urandom(8).hex().encode())
    started: list[str] = []

    class Late:
        def __init__(self, module: str, environment: object) -> None:
            started.append(module)

        def request(self, *_: object) -> None:
            raise ChildFailedError("its processor time is used up")

        def close(self) -> None:
            pass

    monkeypatch.setattr(meshes, "check_expansion", lambda data, kind: False)
    monkeypatch.setattr(meshes, "ChildProcess", Late)
    for read in (meshes.mesh_extent, meshes.load_triangles, meshes.mesh_extent):
        with pytest.raises(MeshError, match="too complex: its processor time is used up"):
            read(file)
    assert len(started) == 1


@pytest.mark.parametrize(
    ("uri", "reason"),
    [("none.bin", "a buffer is missing"), ("../../b.bin", "a buffer: outside the folder of the document")],
)
def test_buffers_of_text_gltf_that_cannot_be_read_are_reported_in_full(uri: str, reason: str, tmp_path: Path) -> None:
    text = f'{{"asset": {{"version": "2.0"}}, "buffers": [{{"uri": "{uri}", "byteLength": 8}}]}}'
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    (folder / "part.gltf").write_text(text)
    (tmp_path / "b.bin").write_bytes(b"12345678")
    geometry = "<mesh><file_name>part.gltf</file_name><scale>1 1 1</scale></mesh>"
    scene = exoskel.load(one_shape(geometry).encode(), base=folder)
    (found,) = [d for d in scene.diagnostics if d.code == "SK063"]
    assert f"cannot be read: {reason}, and" in found.message
