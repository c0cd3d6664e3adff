"""Triangles, pyramids and polylines become mesh files beside URDF and SDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import Pyramid, Shape, TriMesh
from exoskel.fates import Fate
from exoskel.scene.shape import Geometry, Mesh
from exoskel.source import output_context
from exoskel.source.meshes import MeshFiles
from tests.support.places import SAMPLES

VERTICES = np.array([[0, 0, 0], [1, 0, 0], [0, 1.5, 0], [0, 0, 0.1], [9, 9, 9]], dtype=float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
TETRAHEDRON = TriMesh(VERTICES, FACES)
TARGETS = [("urdf", "portable"), ("sdf", "portable"), ("sdf", "dart")]


def world(*geometries: Geometry) -> exoskel.World:
    made = exoskel.World(name="w")
    for number, geometry in enumerate(geometries):
        body = made.add_model(f"m{number}").add_body("b")
        body.collisions.append(Shape(geometry=geometry, pose=exoskel.Pose((0.0, 0.0, 1.0))))
    return made


def points(geometry: Geometry) -> set[tuple[float, ...]]:
    """The corners of all faces."""
    found = MeshFiles().triangles(geometry)
    assert found is not None
    return {tuple(one) for one in found[0][found[1].ravel()].tolist()}


@pytest.mark.parametrize(("to", "target"), TARGETS)
@pytest.mark.parametrize("geometry", [TETRAHEDRON, Pyramid(1.0, 2.0, 3.0)], ids=["triangles", "pyramid"])
def test_flat_faces_become_a_mesh_file(geometry: Geometry, to: str, target: str, tmp_path: Path) -> None:
    file = tmp_path / f"out.{to}"
    report = exoskel.convert(world(geometry), file, target=target)
    assert report.saved and report.certificate.passed
    assert not [item for item in report.losses if "/joint" not in item.path]
    shapes = [item for item in report.items if "as a mesh file beside the document" in item.why]
    assert shapes and {item.fate for item in shapes} == {Fate.LOWERED}
    (name,) = report.companions
    (shape,) = next(iter(exoskel.load(file).world.bodies())).collisions
    assert isinstance(shape.geometry, Mesh) and shape.geometry.uri == name and (tmp_path / name).exists()
    corners = [(-0.5, -1.0), (0.5, -1.0), (0.5, 1.0), (-0.5, 1.0)]
    pyramid = {(0.0, 0.0, 1.5), *((x, y, -1.5) for x, y in corners)}
    expected = {tuple(one) for one in VERTICES[:4].tolist()} if geometry is TETRAHEDRON else pyramid
    assert points(shape.geometry) == expected
    assert shape.pose.position == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(("to", "target"), TARGETS)
@pytest.mark.parametrize(
    "geometry", [TriMesh(VERTICES, np.empty((0, 3), dtype=int)), Pyramid(1.0, 0.0, 1.0)], ids=["no triangles", "flat"]
)
def test_shapes_without_faces_are_dropped(geometry: Geometry, to: str, target: str) -> None:
    try:
        report = exoskel.convert(world(geometry), to=to, target=target)
    except exoskel.ExoskelError:
        return  # such a scene cannot be built
    assert not report.companions and report.certificate.passed
    assert any("the shape has no faces" in item.why and item.fate is Fate.DROPPED for item in report.losses)


@pytest.mark.parametrize("split", [False, True], ids=["one file", "split"])
def test_models_share_the_file_of_the_same_triangles(split: bool, tmp_path: Path) -> None:
    other = TriMesh(2.0 * VERTICES, FACES)
    report = exoskel.convert(world(TETRAHEDRON, other, TETRAHEDRON), tmp_path / "out", to="sdf", split=split)
    assert report.saved and len(report.companions) == 2


def test_a_document_that_is_written_again_has_the_same_files(tmp_path: Path) -> None:
    names = [{*exoskel.convert(world(TETRAHEDRON), tmp_path / f"{n}.sdf").companions} for n in "aba"]
    assert names[0] == names[1] == names[2]
    assert len(list((tmp_path / "meshes").iterdir())) == 1


def test_saved_scenes_have_their_mesh_files(tmp_path: Path) -> None:
    exoskel.save(world(TETRAHEDRON), tmp_path / "a.urdf")
    (shape,) = next(iter(exoskel.load(tmp_path / "a.urdf").world.bodies())).collisions
    assert points(shape.geometry) == {tuple(one) for one in VERTICES[:4].tolist()}


POLYLINE = """<sdf version="1.9"><model name="m"><link name="l"><inertial><mass>1</mass></inertial>
<collision name="c"><geometry><polyline><point>0 0</point><point>1 0</point><point>0 1</point><height>2</height></polyline>
</geometry></collision></link></model></sdf>"""


@pytest.mark.parametrize("to", ["urdf", "sdf"])
def test_polylines_become_mesh_files(to: str, tmp_path: Path) -> None:
    report = exoskel.convert(POLYLINE, tmp_path / f"p.{to}")
    assert report.saved and not report.losses
    assert {one.fate for one in report.items if one.path.endswith("polyline")} == {Fate.LOWERED}
    (shape,) = next(iter(exoskel.load(tmp_path / f"p.{to}").world.bodies())).collisions
    assert shape.geometry.bounds() == ((0.0, 0.0, 0.0), (1.0, 1.0, 2.0))


@pytest.mark.parametrize("to", ["urdf", "sdf"])
def test_samples_lose_no_pyramids_and_triangles(to: str, tmp_path: Path) -> None:
    for name in ("xode/trimesh_terrain.xode", "skel/ferris_wheel.skel"):
        report = exoskel.convert(SAMPLES / name, tmp_path / Path(name).stem, to=to)
        lost = [item for item in report.losses if item.path.rpartition("/")[2].startswith(("pyramid", "trimesh"))]
        assert not lost and report.certificate.passed


def test_meshes_with_the_same_checksum_are_different_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_context, "crc32", lambda data: 1)
    large = TriMesh(2.0 * VERTICES, FACES)
    exoskel.convert(world(TETRAHEDRON, large, TETRAHEDRON), tmp_path / "out.sdf")
    read = exoskel.load(tmp_path / "out.sdf").world
    found = [points(model.bodies[0].collisions[0].geometry) for model in read.models]
    assert found == [points(TETRAHEDRON), points(large), points(TETRAHEDRON)]
    assert len(list((tmp_path / "meshes").iterdir())) == 2
