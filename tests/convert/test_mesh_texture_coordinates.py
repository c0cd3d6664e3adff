"""Mesh files that are converted or written into a document keep their texture coordinates, and flat ones their shape."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh
from pxr import Usd, UsdGeom

import exoskel
from exoskel import Material, Mesh, Shape, Texture, World
from tests.support.textured_meshes import png

POINTS = np.array([[-1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [1.0, 0.5, 1.0], [-1.0, 0.0, 1.0]])
PLACES = np.array([[0.0, 0.0], [0.25, 0.0], [0.25, 0.75], [0.0, 0.75]])
FACES = np.array([[0, 1, 2], [0, 2, 3]])
KINDS = ("obj", "glb", "dae", "ply")
FLAT = POINTS * (1.0, 0.0, 1.0)


def write_mesh(folder: Path, kind: str, points: np.ndarray) -> Path:
    visual = trimesh.visual.TextureVisuals(uv=PLACES)
    path = folder / f"plain.{kind}"
    trimesh.Trimesh(points, FACES, visual=visual, process=False).export(path)
    return path


def world_with(mesh: Path, *, collides: bool = False, has_image: bool = True) -> World:
    (mesh.parent / "a.png").write_bytes(png())
    world = World("w")
    body = world.add_model("m").add_body("b", mass=1.0)
    material = Material(texture=Texture(str(mesh.parent / "a.png"))) if has_image else None
    shape = Shape(geometry=Mesh(str(mesh), scale=(2.0, 1.0, 1.0)), material=material)
    (body.collisions if collides else body.visuals).append(shape)
    return world


def by_place(points: np.ndarray, places: np.ndarray) -> list[tuple[float, ...]]:
    rows = np.column_stack([points, places]).astype(float).round(6) + 0.0
    return sorted({tuple(row) for row in rows.tolist()})


EXPECTED = by_place(POINTS * (2.0, 1.0, 1.0), PLACES)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("meshes", ["reference", "copy"])
def test_mjcf_lays_the_image_as_the_file_does(kind: str, meshes: str, tmp_path: Path) -> None:
    world = world_with(write_mesh(tmp_path, kind, POINTS))
    (tmp_path / "out").mkdir()
    report = exoskel.convert(world, tmp_path / "out" / "a.xml", meshes=meshes)
    assert report.certificate.passed
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out" / "a.xml"))
    assert model.nmeshtexcoord > 0
    frame = np.zeros(9)
    mujoco.mju_quat2Mat(frame, model.mesh_quat[0])
    points = model.mesh_vert[model.mesh_face.ravel()] @ frame.reshape(3, 3).T + model.mesh_pos[0]
    places = model.mesh_texcoord[model.mesh_facetexcoord.ravel()]
    places = np.column_stack([places[:, 0], 1.0 - places[:, 1]])
    assert by_place(points.round(5), places.round(5)) == EXPECTED


@pytest.mark.parametrize("kind", ["glb", "ply"])
def test_meshes_that_are_converted_to_obj_have_their_coordinates(kind: str, tmp_path: Path) -> None:
    world = world_with(write_mesh(tmp_path, kind, POINTS))
    report = exoskel.convert(world, tmp_path / "out" / "a.urdf", meshes="copy")
    assert report.certificate.passed and "meshes/plain.obj" in report.companions
    read = trimesh.load(tmp_path / "out" / "meshes" / "plain.obj", process=False)
    assert by_place(read.vertices * (2.0, 1.0, 1.0), read.visual.uv) == EXPECTED


@pytest.mark.parametrize("kind", KINDS)
def test_usd_and_gltf_lay_the_image_as_the_file_does(kind: str, tmp_path: Path) -> None:
    world = world_with(write_mesh(tmp_path, kind, POINTS))
    assert exoskel.convert(world, tmp_path / "a.usda").certificate.passed
    stage = Usd.Stage.Open(str(tmp_path / "a.usda"))
    (mesh,) = (UsdGeom.Mesh(prim) for prim in stage.Traverse() if prim.IsA(UsdGeom.Mesh))
    points = np.array(mesh.GetPointsAttr().Get())[np.array(mesh.GetFaceVertexIndicesAttr().Get())]
    stored = UsdGeom.PrimvarsAPI(mesh).GetPrimvar("st")
    places = np.array(stored.ComputeFlattened())
    if stored.GetInterpolation() == "vertex":
        places = places[np.array(mesh.GetFaceVertexIndicesAttr().Get())]
    scale = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(mesh.GetPrim()))[:3, :3]
    assert by_place(points @ scale, places) == EXPECTED
    assert exoskel.convert(world, tmp_path / "a.glb").certificate.passed
    (shown,) = trimesh.load(tmp_path / "a.glb", process=False).geometry.values()
    assert by_place(shown.vertices * (2.0, 1.0, 1.0), shown.visual.uv) == EXPECTED  # its node has the scale


@pytest.mark.parametrize("kind", [*KINDS, "stl"])
@pytest.mark.parametrize("has_image", [True, False])
def test_flat_meshes_that_do_not_collide_are_flat_in_mjcf(kind: str, has_image: bool, tmp_path: Path) -> None:
    world = world_with(write_mesh(tmp_path, kind, FLAT), has_image=has_image)
    report = exoskel.convert(world, tmp_path / "a.xml")
    assert report.certificate.passed and not [one for one in report.losses if "MJ501" in one.why]
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "a.xml"))
    assert min(np.ptp(model.mesh_vert, axis=0)) == 0.0 and model.nmeshface == 2
    assert (model.nmeshtexcoord > 0) >= (has_image and kind != "stl")


@pytest.mark.parametrize("kind", [*KINDS, "stl"])
def test_flat_meshes_that_collide_are_thin_solids_and_reported(kind: str, tmp_path: Path) -> None:
    world = world_with(write_mesh(tmp_path, kind, FLAT), collides=True, has_image=False)
    report = exoskel.convert(world, tmp_path / "a.xml")
    assert report.certificate.passed
    assert {str(one.fate) for one in report.losses if "MJ501" in one.why} == {"approximated"}
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "a.xml"))
    assert 0.0 < min(np.ptp(model.mesh_vert, axis=0)) < 0.01
