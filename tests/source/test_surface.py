"""Triangulated surfaces are closed, face outwards, have the right size, are cached, and have the colours of files."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
import pytest
import trimesh

from exoskel.scene.shape import (
    Ball,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    MultiSphere,
    Plane,
    Pyramid,
    Ray,
    Sphere,
    TriMesh,
)
from exoskel.source import surface
from exoskel.source.surface import Surface, Surfaces
from tests.support.geometry import TETRA

CUBE_CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
CUBE_FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
)  # fmt: skip
DUMBBELL = MultiSphere((Ball(0.3, (0.1, -0.4, 0.2)), Ball(0.3, (0.5, 0.4, -0.1))))
APART = float(np.linalg.norm(np.subtract(DUMBBELL.spheres[0].position, DUMBBELL.spheres[1].position)))

SOLIDS: list[tuple[Geometry, float, float]] = [
    (Box((1.0, 2.0, 3.0)), 6.0, 1e-12),
    (Pyramid(1.0, 2.0, 3.0), 2.0, 1e-12),
    (TriMesh(CUBE_CORNERS, CUBE_FACES), 1.0, 1e-12),
    (Cylinder(0.5, 3.0), pi * 0.25 * 3.0, 0.007),
    (Cone(0.5, 3.0), pi * 0.25, 0.007),
    (Cone(0.5, 3.0, centred=False), pi * 0.25, 0.007),
    (Sphere(0.5), pi / 6, 0.016),
    (Ellipsoid((1.0, 2.0, 0.5)), pi / 6, 0.016),
    (Capsule(0.5, 3.0), pi * (0.25 * 3.0 + 1 / 6), 0.016),
    (Capsule(0.5, 0.0), pi / 6, 0.016),
    (MultiSphere((Ball(0.5, (1.0, 2.0, 3.0)),)), pi / 6, 0.005),
    (DUMBBELL, pi * 0.09 * (APART + 0.4), 0.005),
]
"""Solids, their volumes in m³, and the relative error that facets may cause."""
IDS = [f"{type(solid[0]).__name__}-{i}" for i, solid in enumerate(SOLIDS)]


def surface_of(geometry: Geometry) -> Surface:
    found = Surfaces().of(geometry)
    assert found is not None
    return found


def volume(of: Surface) -> float:
    a, b, c = np.moveaxis(of.vertices[of.triangles], 1, 0)
    return float(np.einsum("fk,fk->", a, np.cross(b, c)) / 6.0)


@pytest.mark.parametrize(("geometry", "expected", "share"), SOLIDS, ids=IDS)
def test_a_solid_has_its_volume(geometry: Geometry, expected: float, share: float) -> None:
    found = volume(surface_of(geometry))
    assert (1.0 - share) * expected <= found <= expected * (1.0 + 1e-12)


@pytest.mark.parametrize(("geometry", "_volume", "_share"), SOLIDS, ids=IDS)
def test_a_solid_is_closed_and_has_no_holes(geometry: Geometry, _volume: float, _share: float) -> None:
    vertices, faces = surface_of(geometry).merge_vertices()
    assert np.array_equal(np.unique(faces), np.arange(len(vertices)))
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    directed = {(int(a), int(b)) for a, b in edges}
    assert len(directed) == len(edges), "an edge is walked twice in the same direction"
    assert directed == {(b, a) for a, b in directed}, "an edge has a face on one side only"
    assert len(vertices) - len(edges) // 2 + len(faces) == 2


@pytest.mark.parametrize(("geometry", "_volume", "_share"), SOLIDS, ids=IDS)
def test_normals_are_unit_and_point_outwards(geometry: Geometry, _volume: float, _share: float) -> None:
    found = surface_of(geometry)
    np.testing.assert_allclose(np.linalg.norm(found.normals, axis=1), 1.0, rtol=0, atol=1e-12)
    corners = found.vertices[found.triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    leaning = np.einsum("fck,fk->fc", found.normals[found.triangles], across)
    assert (leaning > 0.0).all()


@pytest.mark.parametrize(
    "geometry", [solid for solid, _, _ in SOLIDS if not isinstance(solid, MultiSphere)], ids=lambda g: type(g).__name__
)
def test_a_surface_fills_the_bounds_of_its_geometry(geometry: Geometry) -> None:
    found = surface_of(geometry)
    bounds = geometry.bounds()
    assert bounds is not None
    np.testing.assert_allclose([found.vertices.min(axis=0), found.vertices.max(axis=0)], bounds, rtol=0, atol=1e-12)


@pytest.mark.parametrize("geometry", [solid for solid, _, _ in SOLIDS] + [Plane((0.0, 0.6, 0.8), 2.0)])
def test_a_scaled_unit_geometry_has_the_surface_of_the_original(geometry: Geometry) -> None:
    plain, scale = surface.unit_geometry(geometry)
    np.testing.assert_allclose(
        surface_of(plain).vertices * np.array(scale), surface_of(geometry).vertices, rtol=0, atol=1e-12
    )


def test_boxes_of_all_sizes_share_one_unit_geometry() -> None:
    assert surface.unit_geometry(Box((1.0, 2.0, 3.0)))[0] == surface.unit_geometry(Box((4.0, 5.0, 6.0)))[0]


def test_normals_of_an_ellipsoid_match_its_equation() -> None:
    found = surface_of(Ellipsoid((1.0, 2.0, 0.5)))
    gradient = found.vertices / np.array([0.5, 1.0, 0.25]) ** 2
    expected = gradient / np.linalg.norm(gradient, axis=1, keepdims=True)
    np.testing.assert_allclose(found.normals, expected, rtol=0, atol=1e-12)


def test_a_plane_is_a_square_of_the_requested_size() -> None:
    found = Surfaces(reach=3.0).of(Plane((0.0, 0.6, 0.8), 2.0))
    assert found is not None
    np.testing.assert_allclose(found.vertices @ [0.0, 0.6, 0.8], 2.0, rtol=0, atol=1e-12)
    corners = found.vertices[found.triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]) / 2.0
    np.testing.assert_allclose(across.sum(axis=0), np.array([0.0, 0.6, 0.8]) * 36.0, rtol=0, atol=1e-12)


def test_a_box_mesh_has_sharp_edges_and_a_sphere_mesh_is_smooth() -> None:
    cube = surface_of(TriMesh(CUBE_CORNERS, CUBE_FACES))
    assert len(cube.vertices) == 24
    ball = surface_of(Sphere(0.5))
    vertices, faces = ball.merge_vertices()
    smooth = surface_of(TriMesh(vertices, faces))
    assert len(smooth.vertices) == len(vertices)
    assert (np.einsum("nk,nk->n", smooth.normals, smooth.vertices * 2.0) > 0.999).all()


def test_equal_geometries_share_one_surface() -> None:
    surfaces = Surfaces()
    assert surfaces.of(Box((1.0, 2.0, 3.0))) is surfaces.of(Box((1.0, 2.0, 3.0)))
    one, same = (TriMesh(CUBE_CORNERS.copy(), CUBE_FACES.copy()) for _ in range(2))
    assert surfaces.of(one) is surfaces.of(same)


def test_a_scaled_mesh_is_scaled_and_a_mirrored_mesh_faces_outwards(tmp_path: Path) -> None:
    file = tmp_path / "tetra.obj"
    file.write_text(TETRA)
    assert volume(surface_of(Mesh("tetra.obj", (2.0, 3.0, 1.0), str(file)))) == pytest.approx(1.0, rel=1e-12)
    assert volume(surface_of(Mesh("tetra.obj", (-2.0, 3.0, 1.0), str(file)))) == pytest.approx(1.0, rel=1e-12)


RED_GREEN_BLUE = [[1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
PAINT = "".join(f"property uchar {c}\n" for c in ("red", "green", "blue"))


def ply(vertices: list[str], faces: list[str], vertex_colors: str = "", face_colors: str = "") -> str:
    axes = "".join(f"property float {axis}\n" for axis in "xyz")
    return (
        f"ply\nformat ascii 1.0\nelement vertex {len(vertices)}\n{axes}{vertex_colors}"
        f"element face {len(faces)}\nproperty list uchar int vertex_indices\n{face_colors}end_header\n"
        + "".join(f"{line}\n" for line in vertices + faces)
    )


def test_colours_of_vertices_are_read(tmp_path: Path) -> None:
    file = tmp_path / "painted.ply"
    file.write_text(ply(["0 0 0 255 0 0", "1 0 0 0 255 0", "0 1 0 0 0 255"], ["3 0 1 2"], vertex_colors=PAINT))
    found = surface_of(Mesh("painted.ply", path=str(file)))
    assert found.colors is not None
    assert found.colors[found.triangles[0]].tolist() == RED_GREEN_BLUE


def test_colours_of_faces_are_read(tmp_path: Path) -> None:
    file = tmp_path / "painted.ply"
    corners = ["0 0 0", "1 0 0", "0 1 0", "0 0 1"]
    file.write_text(ply(corners, ["3 0 2 1 255 0 0", "3 0 1 3 0 0 255"], face_colors=PAINT))
    found = surface_of(Mesh("painted.ply", path=str(file)))
    assert found.colors is not None
    assert (found.colors[found.triangles[0]] == RED_GREEN_BLUE[0]).all()
    assert (found.colors[found.triangles[1]] == RED_GREEN_BLUE[2]).all()


DAE = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
  <asset><unit name="m" meter="1"/><up_axis>Z_UP</up_axis></asset>
  <library_effects><effect id="e"><profile_COMMON><technique sid="c"><lambert>
    <diffuse><color>1 0.5 0 1</color></diffuse>
  </lambert></technique></profile_COMMON></effect></library_effects>
  <library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
  <library_geometries><geometry id="g"><mesh>
    <source id="p">
      <float_array id="pa" count="9">0 0 0 1 0 0 0 1 0</float_array>
      <technique_common><accessor source="#pa" count="3" stride="3">
        <param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>
      </accessor></technique_common>
    </source>
    <vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
    <triangles count="1" material="x"><input semantic="VERTEX" source="#v" offset="0"/><p>0 1 2</p></triangles>
  </mesh></geometry></library_geometries>
  <library_visual_scenes><visual_scene id="s"><node id="n"><instance_geometry url="#g"><bind_material>
    <technique_common><instance_material symbol="x" target="#m"/></technique_common>
  </bind_material></instance_geometry></node></visual_scene></library_visual_scenes>
  <scene><instance_visual_scene url="#s"/></scene>
</COLLADA>
"""


def test_colours_of_materials_are_read(tmp_path: Path) -> None:
    file = tmp_path / "painted.dae"
    file.write_text(DAE)
    colors = surface_of(Mesh("painted.dae", path=str(file))).colors
    assert colors is not None
    assert colors.tolist() == [[1.0, 128 / 255, 0.0, 1.0]] * 3


def test_a_material_without_colour_gives_no_colours(tmp_path: Path) -> None:
    file = tmp_path / "plain.glb"
    plain = trimesh.visual.TextureVisuals(material=trimesh.visual.material.PBRMaterial(metallicFactor=0.5))
    trimesh.Trimesh(CUBE_CORNERS, CUBE_FACES, visual=plain, process=False).export(file, include_normals=False)
    assert surface_of(Mesh("plain.glb", path=str(file))).colors is None


def test_a_file_without_colours_gives_no_colours(tmp_path: Path) -> None:
    file = tmp_path / "tetra.obj"
    file.write_text(TETRA)
    assert surface_of(Mesh("tetra.obj", path=str(file))).colors is None


@pytest.mark.parametrize(
    ("geometry", "reason"),
    [
        (Ray(1.0), "a ray has no surface"),
        (MultiSphere(()), "it has no spheres"),
        (Mesh("gone.obj"), "the file 'gone.obj' was not found"),
        (Mesh("gone.obj", path="/nowhere/gone.obj"), "No such file or directory"),
        (TriMesh(CUBE_CORNERS, np.empty((0, 3), dtype=np.int64)), "it has no triangles"),
    ],
)
def test_a_geometry_without_surface_has_a_reason(geometry: Geometry, reason: str) -> None:
    surfaces = Surfaces()
    assert surfaces.of(geometry) is None
    assert surfaces.missing == {geometry: reason}
