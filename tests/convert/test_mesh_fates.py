"""Meshes that the output shows or collides differently are never called exact."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel.conversion.report import Report
from exoskel.fates import Fate, NodeFate
from exoskel.source.meshes import MeshFiles
from exoskel.source.surface import has_hollows, is_convex

L_SHAPE = [(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]
SQUARE = [(0, 0), (1, 0), (1, 1), (0, 1)]
FANS = {6: [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)], 4: [(0, 1, 2), (0, 2, 3)]}


def prism(corners: list[tuple[int, int]]) -> str:
    """An OBJ file of a prism over a polygon whose first corner sees all others."""
    count = len(corners)
    lines = [f"v {x} {y} {z}" for z in (0, 1) for x, y in corners]
    faces = [face for a, b, c in FANS[count] for face in ((c, b, a), (a + count, b + count, c + count))]
    for one in range(count):
        other = (one + 1) % count
        faces += [(one, other, other + count), (one, other + count, one + count)]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in faces]
    return "\n".join(lines) + "\n"


def sdf(path: Path, mesh: str, *, static: bool = False, kind: str = "collision") -> Path:
    path.write_text(
        f'<sdf version="1.6"><model name="m"><static>{str(static).lower()}</static><link name="a"><inertial>'
        f"<mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia></inertial>"
        f'<{kind} name="c"><geometry><mesh><uri>{mesh}</uri></mesh></geometry></{kind}></link></model></sdf>',
        encoding="utf-8",
    )
    return path


def geometry(report: Report) -> NodeFate:
    return next(item for item in report.items if item.path.endswith("mesh"))


@pytest.fixture
def hook(tmp_path: Path) -> Path:
    (tmp_path / "hook.obj").write_text(prism(L_SHAPE), encoding="utf-8")
    return sdf(tmp_path / "hook.sdf", "hook.obj")


def test_a_moving_concave_mesh_is_approximated_in_mjcf(hook: Path) -> None:
    found = geometry(exoskel.convert(hook, to="mjcf"))
    assert found.fate is Fate.APPROXIMATED and found.loss
    assert found.why == "MuJoCo collides a moving mesh as its convex hull: its hollows are filled (MJ501)"


def test_a_moving_concave_mesh_is_refused_when_nothing_may_be_lost(hook: Path) -> None:
    with pytest.raises(exoskel.RefusedError):
        exoskel.convert(hook, to="mjcf", strict=True)


def test_concave_triangles_in_the_scene_are_approximated_too(hook: Path) -> None:
    shape = next(iter(exoskel.load(hook).world.bodies())).collisions[0]
    found = MeshFiles().triangles(shape.geometry)
    assert found is not None
    world = exoskel.World(name="w")
    body = world.add_model("m").add_body("b")
    body.collisions.append(exoskel.Shape(geometry=exoskel.TriMesh(*found)))
    report = exoskel.convert(world, to="mjcf")
    assert any(item.loss and "geometry" in item.why for item in report.items)


@pytest.mark.parametrize("case", ["convex", "static", "visual"])
def test_meshes_that_collide_as_they_are_stay_exact(case: str, tmp_path: Path) -> None:
    (tmp_path / "part.obj").write_text(prism(SQUARE if case == "convex" else L_SHAPE), encoding="utf-8")
    kind = "visual" if case == "visual" else "collision"
    report = exoskel.convert(sdf(tmp_path / "p.sdf", "part.obj", static=case == "static", kind=kind), to="mjcf")
    assert not geometry(report).loss
    assert not any("MJ501" in item.why for item in report.items)


def test_large_static_meshes_collide_as_their_hulls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exoskel.source.surface.MAX_SLABS", 3)
    (tmp_path / "part.obj").write_text(prism(L_SHAPE), encoding="utf-8")
    report = exoskel.convert(sdf(tmp_path / "p.sdf", "part.obj", static=True), to="mjcf")
    assert geometry(report).fate is Fate.APPROXIMATED and "MJ501" in geometry(report).why


def test_convexity_is_tested_without_a_matrix_of_all_points_and_faces() -> None:
    angles = np.linspace(0.0, 2.0 * np.pi, 300, endpoint=False)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    points = np.vstack([np.hstack([ring, np.full((300, 1), z)]) for z in (0.0, 1.0)])
    sides = [(i, (i + 1) % 300, (i + 1) % 300 + 300) for i in range(300)]
    sides += [(i, (i + 1) % 300 + 300, i + 300) for i in range(300)]
    assert is_convex(points, np.array(sides), 1e-5)
    assert not has_hollows(points, np.array(sides)[:, ::-1])
    points[450] *= (0.9, 0.9, 1.0)
    assert has_hollows(points, np.array(sides))
    assert not is_convex(points, np.array(sides), 1e-5)


# --- textures -----------------------------------------------------------------------------------------


TEXTURED = {
    "obj": "mtllib skin.mtl\nusemtl skin\n" + prism(SQUARE),
    "plain": prism(SQUARE),
    "colored": "mtllib plain.mtl\nusemtl skin\n" + prism(SQUARE),
}


@pytest.fixture
def textured(tmp_path: Path) -> Path:
    (tmp_path / "skin.mtl").write_text("newmtl skin\nKd 1 1 1\nmap_Kd skin.png\n", encoding="utf-8")
    (tmp_path / "plain.mtl").write_text("newmtl skin\nKd 1 0 0\n", encoding="utf-8")
    for name, text in TEXTURED.items():
        (tmp_path / f"{name}.obj").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("format", ["gltf", "usd", "mjcf"])
def test_textures_are_lost_where_readers_get_triangles(format: str, textured: Path) -> None:
    found = geometry(exoskel.convert(sdf(textured / "t.sdf", "obj.obj", kind="visual"), to=format))
    assert found.fate is Fate.APPROXIMATED and found.loss
    assert "the textures of the mesh file are not written (FM303)" in found.why


@pytest.mark.parametrize("format", ["urdf", "skel", "xode"])
def test_textures_stay_where_the_output_refers_to_the_file(format: str, textured: Path) -> None:
    report = exoskel.convert(sdf(textured / "t.sdf", "obj.obj", kind="visual"), to=format)
    assert not any("FM303" in item.why for item in report.items)


@pytest.mark.parametrize("format", ["urdf", "sdf", "skel"])
def test_copies_of_mesh_files_lose_textures_that_are_missing(format: str, textured: Path) -> None:
    report = exoskel.convert(sdf(textured / "t.sdf", "obj.obj", kind="visual"), to=format, meshes="copy")
    assert "FM303" in geometry(report).why and geometry(report).loss


@pytest.mark.parametrize("name", ["plain", "colored"])
def test_meshes_without_textures_are_exact(name: str, textured: Path) -> None:
    found = geometry(exoskel.convert(sdf(textured / "t.sdf", f"{name}.obj", kind="visual"), to="gltf"))
    assert found.fate is Fate.EXACT


def test_textures_of_shapes_that_are_not_seen_do_not_matter(textured: Path) -> None:
    report = exoskel.convert(sdf(textured / "t.sdf", "obj.obj"), to="mjcf")
    assert "FM303" in geometry(report).why  # without visual shapes, it is seen
    text = (textured / "t.sdf").read_text(encoding="utf-8")
    box = '<visual name="v"><geometry><box><size>1 1 1</size></box></geometry></visual></link>'
    (textured / "t.sdf").write_text(text.replace("</link>", box), encoding="utf-8")
    assert not any("FM303" in item.why for item in exoskel.convert(textured / "t.sdf", to="mjcf").items)


@pytest.mark.parametrize("mesh", [prism(L_SHAPE), prism(SQUARE)], ids=["concave", "convex"])
@pytest.mark.parametrize("static", [False, True], ids=["moving", "static"])
def test_meshes_keep_their_friction_in_mjcf(mesh: str, static: bool, tmp_path: Path) -> None:
    """MuJoCo collides a static concave mesh as many parts, and the whole mesh is written beside them."""
    (tmp_path / "mesh.obj").write_text(mesh, encoding="utf-8")
    scene = exoskel.load(sdf(tmp_path / "mesh.sdf", "mesh.obj", static=static))
    scene.world.models[0].bodies[0].collisions[0].friction = 0.8
    report = exoskel.convert(scene, tmp_path / "mesh.xml")
    assert report.certificate.passed
    again = exoskel.load(tmp_path / "mesh.xml").world.models[0].bodies[0].collisions
    assert [shape.friction for shape in again] == [0.8]
