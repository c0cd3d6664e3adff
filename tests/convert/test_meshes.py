"""Mesh files that go with a document: copied, referred to, missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.conversion.folder import convert_files
from exoskel.conversion.selection import file_names
from exoskel.formats.mjcf import mesh_assets
from exoskel.scene.shape import Mesh
from exoskel.source.meshes import MeshFiles

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


def tetrahedron(path: Path, size: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    corners = f"v 0 0 0\nv {size} 0 0\nv 0 {size} 0\nv 0 0 {size}\n"
    path.write_text(corners + "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n", encoding="utf-8")
    return path


def robot(path: Path, *uris: str) -> Path:
    shapes = "".join(f'<visual><geometry><mesh filename="{uri}"/></geometry></visual>' for uri in uris)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<robot name="r"><link name="a">{INERTIAL}{shapes}</link></robot>', encoding="utf-8")
    return path


def meshes(file: Path) -> list[Mesh]:
    shapes = [shape for body in exoskel.load(file).world.bodies() for shape in body.visuals]
    return [shape.geometry for shape in shapes if isinstance(shape.geometry, Mesh)]


def sizes(file: Path) -> list[float]:
    """The sizes of the meshes of a scene, from their files."""
    return [mesh.extent[1][0] for mesh in meshes(file) if mesh.extent is not None]


def test_meshes_with_the_same_name_in_a_folder_do_not_replace_each_other(tmp_path: Path) -> None:
    files = []
    for number in (1, 2):
        tetrahedron(tmp_path / "in" / f"d{number}" / "part.obj", number)
        files.append(robot(tmp_path / "in" / f"f{number}.urdf", f"d{number}/part.obj"))
    rows = list(convert_files(files, tmp_path / "in", tmp_path / "out", {"to": "sdf", "meshes": "copy"}, {}))
    assert all(row.certificate for row in rows)
    assert [sizes(tmp_path / "out" / f"f{number}.sdf") for number in (1, 2)] == [[1.0], [2.0]]


def test_meshes_with_the_same_name_in_models_do_not_replace_each_other(tmp_path: Path) -> None:
    models = ""
    for number in (1, 2, 3):
        tetrahedron(tmp_path / f"d{number}" / "part.obj", 1 + number % 2)
        mesh = f"<geometry><mesh><uri>d{number}/part.obj</uri></mesh></geometry>"
        models += f'<model name="m{number}"><link name="a"><visual name="v">{mesh}</visual></link></model>'
    file = tmp_path / "w.sdf"
    file.write_text(f'<sdf version="1.6"><world name="w">{models}</world></sdf>', encoding="utf-8")
    report = exoskel.convert(file, tmp_path / "out", to="urdf", meshes="copy")
    assert report.saved and report.companions.keys() == {"meshes/part.obj", "meshes/part_2.obj"}
    assert [sizes(tmp_path / "out" / f"m{number}.urdf") for number in (1, 2, 3)] == [[2.0], [1.0], [2.0]]
    assert len(list((tmp_path / "out" / "meshes").iterdir())) == 2


@pytest.mark.parametrize("format", ["sdf", "urdf", "mjcf", "skel"])
def test_an_existing_file_is_not_replaced(format: str, tmp_path: Path) -> None:
    own = tetrahedron(tmp_path / "meshes" / "part.obj", 7.0)
    before = own.read_bytes()
    tetrahedron(tmp_path / "d1" / "part.obj", 1.0)
    output = tmp_path / f"out.{format}"
    for _ in range(2):  # once more finds its own copy
        report = exoskel.convert(robot(tmp_path / "f.urdf", "d1/part.obj"), output, to=format, meshes="copy")
        assert report.saved and list(report.companions) == ["meshes/part_2.obj"]
        assert own.read_bytes() == before
        assert sizes(output) == [1.0]


def test_mesh_names_differ_in_more_than_case(tmp_path: Path) -> None:
    tetrahedron(tmp_path / "d1" / "Part.obj", 1.0)
    tetrahedron(tmp_path / "d2" / "part.obj", 2.0)
    file = robot(tmp_path / "f.urdf", "d1/Part.obj", "d2/part.obj")
    report = exoskel.convert(file, tmp_path / "out" / "f.sdf", meshes="copy")
    assert list(report.companions) == ["meshes/Part.obj", "meshes/part_2.obj"]


# --- packages -----------------------------------------------------------------------------------------

SDF = """<sdf version="1.7"><model name="m"><link name="a"><inertial><mass>1</mass></inertial>
<visual name="v"><geometry><mesh><uri>{uri}</uri></mesh></geometry></visual></link></model></sdf>"""


@pytest.mark.parametrize("meshes", ["reference", "absolute", "copy"])
@pytest.mark.parametrize("format", ["skel", "xode", "urdf", "sdf", "mjcf"])
@pytest.mark.parametrize("scheme", ["package", "model"])
def test_a_mesh_of_a_package_converts_to_every_format(scheme: str, format: str, meshes: Any, tmp_path: Path) -> None:
    tetrahedron(tmp_path / "packages" / "pkg" / "part.obj", 3.0)
    uri = f"{scheme}://pkg/part.obj"
    file = robot(tmp_path / "in" / "f.urdf", uri)
    if scheme == "model":
        file = tmp_path / "in" / "f.sdf"
        file.write_text(SDF.format(uri=uri), encoding="utf-8")
    output = tmp_path / "out" / f"f.{format}"
    output.parent.mkdir()
    packages = [tmp_path / "packages"]
    report = exoskel.convert(file, output, to=format, meshes=meshes, package_path=packages)
    assert report.saved, [check for check in report.certificate.checks if not check.passed]
    (shape,) = exoskel.load(output, format=format, package_path=packages).world.models[0].bodies[0].visuals
    assert isinstance(shape.geometry, Mesh) and shape.geometry.extent == ((0.0, 0.0, 0.0), (3.0, 3.0, 3.0))


def test_only_sdf_refers_to_models(tmp_path: Path) -> None:
    tetrahedron(tmp_path / "pkg" / "part.obj", 3.0)
    file = tmp_path / "f.sdf"
    file.write_text(SDF.format(uri="model://pkg/part.obj"), encoding="utf-8")
    for name, uri in (("o.sdf", "model://pkg/part.obj"), ("o.urdf", "pkg/part.obj"), ("o.skel", "pkg/part.obj")):
        assert exoskel.convert(file, tmp_path / name).saved
        assert [mesh.uri for mesh in meshes(tmp_path / name)] == [uri]


# --- meshes that are not there ------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["reference", "absolute", "copy"])
@pytest.mark.parametrize("format", ["skel", "xode", "urdf", "sdf"])
def test_a_missing_mesh_is_reported_and_referred_to_at_its_place(format: str, way: Any, tmp_path: Path) -> None:
    file = robot(tmp_path / "in" / "f.urdf", "parts/none.stl")
    output = tmp_path / "out" / f"f.{format}"
    output.parent.mkdir()
    with pytest.raises(exoskel.RefusedError, match="1 mesh cannot be found"):
        exoskel.convert(file, output, meshes=way, strict=True)
    report = exoskel.convert(file, output, meshes=way)
    assert report.saved and "FM301" in [diagnostic.code for diagnostic in report.diagnostics]
    assert [mesh.path for mesh in meshes(output)] == [None]
    tetrahedron(tmp_path / "in" / "parts" / "none.obj", 2.0).rename(tmp_path / "in" / "parts" / "none.stl")
    (found,) = meshes(output)
    assert found.path is not None and Path(found.path).samefile(tmp_path / "in" / "parts" / "none.stl")


def test_a_missing_mesh_of_a_package_is_reported_with_its_uri(tmp_path: Path) -> None:
    file = robot(tmp_path / "in" / "f.urdf", "package://nowhere/x.obj")
    report = exoskel.convert(file, tmp_path / "f.sdf")
    assert [str(d.message) for d in report.diagnostics if d.code == "FM301"] == [
        "mesh 'package://nowhere/x.obj' was not found; the output refers to it anyway"
    ]
    assert [mesh.uri for mesh in meshes(tmp_path / "f.sdf")] == ["package://nowhere/x.obj"]


# --- XODE, which has no mesh files --------------------------------------------------------------------


@pytest.mark.parametrize(("way", "uri"), [("reference", "../in/part.obj"), ("copy", "meshes/part.obj")])
def test_xode_contains_no_path_of_this_machine(way: Any, uri: str, tmp_path: Path) -> None:
    tetrahedron(tmp_path / "in" / "part.obj", 2.0)
    geometry = '<geometry><mesh filename="part.obj"/></geometry>'
    file = tmp_path / "in" / "f.urdf"
    link = f'<link name="a">{INERTIAL}<visual>{geometry}</visual><collision>{geometry}</collision></link>'
    file.write_text(f'<robot name="r">{link}</robot>', encoding="utf-8")
    output = tmp_path / "out" / "f.xode"
    output.parent.mkdir()
    report = exoskel.convert(file, output, meshes=way)
    assert report.saved and list(report.companions) == (["meshes/part.obj"] if way == "copy" else [])
    assert str(tmp_path) not in output.read_text(encoding="utf-8")
    (body,) = exoskel.load(output).world.bodies()
    assert [shape.geometry.uri for shape in body.shapes if isinstance(shape.geometry, Mesh)] == [uri, uri]
    assert sizes(output) == [2.0]


def test_triangles_are_preserved_if_their_mesh_file_is_gone(tmp_path: Path) -> None:
    part = tetrahedron(tmp_path / "part.obj", 2.0)
    file = tmp_path / "f.urdf"
    link = f'{INERTIAL}<collision><geometry><mesh filename="part.obj"/></geometry></collision>'
    file.write_text(f'<robot name="r"><link name="a">{link}</link></robot>', encoding="utf-8")
    exoskel.convert(file, tmp_path / "f.xode")
    part.unlink()
    (body,) = exoskel.load(tmp_path / "f.xode").world.bodies()
    assert [shape.kind for shape in body.collisions] == ["trimesh"]


def test_embedded_references_stay_within_the_search_paths(tmp_path: Path) -> None:
    tetrahedron(tmp_path / "secret.obj", 2.0)
    exoskel.convert(robot(tmp_path / "in" / "f.urdf", "../secret.obj"), tmp_path / "in" / "f.xode")
    assert [mesh.extent for mesh in meshes(tmp_path / "in" / "f.xode")] != [None]
    (body,) = exoskel.load(tmp_path / "in" / "f.xode", confine=True).world.bodies()
    assert [(s.geometry.path, s.geometry.extent) for s in body.visuals if isinstance(s.geometry, Mesh)] == [
        (None, None)
    ]


# --- names of documents -------------------------------------------------------------------------------


def test_document_names_differ_in_more_than_case(tmp_path: Path) -> None:
    assert file_names(["Arm", "arm", "arm(1)", "ARM"], ".urdf") == [
        "Arm.urdf",
        "arm(1).urdf",
        "arm_1.urdf",
        "ARM(2).urdf",
    ]
    files = [robot(tmp_path / "in" / name) for name in ("Arm.urdf", "arm.urdf")]
    rows = list(convert_files(files, tmp_path / "in", tmp_path / "out", {"to": "sdf"}, {}))
    assert len({row.output.casefold() for row in rows if row.ok}) == 2


def collision_robot(path: Path, uri: str, copies: int = 1) -> Path:
    shape = f'<collision><geometry><mesh filename="{uri}"/></geometry></collision>'
    path.write_text(f'<robot name="r"><link name="a">{INERTIAL}{shape * copies}</link></robot>', encoding="utf-8")
    return path


def polygon(path: Path, corners: int) -> Path:
    """An OBJ file with one polygon: two bytes for each triangle."""
    path.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf " + "1 2 3 4 " * (corners // 4) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(("corners", "copies"), [(160_000, 1), (100_000, 3)])
def test_triangles_out_of_proportion_to_the_mesh_file_are_not_written(
    corners: int, copies: int, tmp_path: Path
) -> None:
    polygon(tmp_path / "p.obj", corners)
    report = exoskel.convert(collision_robot(tmp_path / "r.urdf", "p.obj", copies), tmp_path / "r.xode")
    (found,) = [one for one in report.diagnostics if one.code == "FM302"]
    assert "150000" in found.message and str((corners - 2) * min(copies, 2)) in found.message
    assert report.saved and report.data.count(b"<t ") < 150_000


def test_triangles_of_an_ordinary_mesh_are_written_as_often_as_it_is_used(tmp_path: Path) -> None:
    tetrahedron(tmp_path / "t.obj", 1.0)
    report = exoskel.convert(collision_robot(tmp_path / "r.urdf", "t.obj", 50), tmp_path / "r.xode")
    assert report.data.count(b"<t ") == 200 and "FM302" not in [one.code for one in report.diagnostics]


def test_a_mesh_that_many_shapes_share_is_examined_once_for_mjcf(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tetrahedron(tmp_path / "part.obj", 1.0)
    file = robot(tmp_path / "r.urdf", *["part.obj"] * 20)
    seen = []
    monkeypatch.setattr(mesh_assets, "is_flat", lambda vertices: bool(seen.append(vertices)))
    file.write_text(file.read_text().replace("visual>", "collision>"))
    report = exoskel.convert(file, tmp_path / "r.xml")
    assert report.saved and report.certificate.passed
    assert len(seen) == 1
    assert sum(len(body.collisions) for body in exoskel.load(tmp_path / "r.xml").world.bodies()) == 20


def test_a_mesh_file_is_scaled_for_each_shape(tmp_path: Path) -> None:
    tetrahedron(tmp_path / "part.obj", 1.0)
    file = robot(tmp_path / "r.urdf", *[f'part.obj" scale="{scale} 1 1' for scale in (2, 3, 3, -2, 2)])
    read = MeshFiles()
    found = [read.triangles(mesh) for mesh in meshes(file)]
    assert [one[0][1].tolist() for one in found if one is not None] == [[x, 0.0, 0.0] for x in (2, 3, 3, -2, 2)]
    assert [one[1][0].tolist() for one in found if one is not None] == [
        [1, 2, 0] if mirrored else [0, 2, 1] for mirrored in (False, False, False, True, False)
    ]


UNUSABLE = {"not a mesh": b"not a mesh", "one triangle": b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n", "empty": b""}
TARGETS = ("a.skel", "a.xode", "a.xml", "a.sdf", "a.urdf", "a.usda", "a.glb")


@pytest.mark.parametrize("meshes", ["copy", "reference", "absolute"])
@pytest.mark.parametrize("content", UNUSABLE)
def test_the_rest_of_a_scene_with_an_unusable_mesh_is_converted(tmp_path: Path, content: str, meshes: Any) -> None:
    mesh = '<geometry><mesh filename="bad.obj"/></geometry>'
    link = f'<link name="b"><visual>{mesh}</visual><collision>{mesh}</collision></link>'
    (tmp_path / "bad.obj").write_bytes(UNUSABLE[content])
    (tmp_path / "a.urdf").write_text(f'<robot name="r">{link}</robot>', encoding="utf-8")
    (tmp_path / "out").mkdir()
    for name in TARGETS:
        report = exoskel.convert(tmp_path / "a.urdf", tmp_path / "out" / name, meshes=meshes)
        assert report.saved and report.certificate.passed
        if name == "a.xml":
            assert {item.why for item in report.losses} <= {
                "the mesh cannot be read and is not written (MJ606)",
                "the mesh has fewer than four vertices, or no triangles, and is not written (MJ606)",
            }
