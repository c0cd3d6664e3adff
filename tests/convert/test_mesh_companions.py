"""Copies of mesh files keep what these refer to: materials and images; MJCF gets the colours of materials."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import exoskel
from exoskel import Mesh, World
from exoskel.source.mesh_textures import load_file_colors, load_textured_triangles
from tests.support.textured_meshes import KINDS, write_square


def shown(*meshes: Path) -> World:
    world = World("w")
    for number, mesh in enumerate(meshes):
        body = world.add_model(f"m{number}").add_body("b", mass=1)
        body.visuals.append(exoskel.Shape(Mesh(str(mesh))))
    return world


def copies(path: Path) -> list[Path]:
    return [Path(s.geometry.path) for body in exoskel.load(path).world.bodies() for s in body.visuals]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("format", ["sdf", "skel"])
def test_copies_have_the_images_of_the_source(kind: str, format: str, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "target").mkdir()
    source = write_square(tmp_path / "source", kind)
    before = load_textured_triangles(source)[1]
    report = exoskel.convert(shown(source), tmp_path / "target" / f"scene.{format}", meshes="copy")
    source.parent.rename(tmp_path / "gone")
    if any("FM303" in item.why for item in report.items):
        pytest.fail("the textures are reported as lost")
    (copied,) = copies(tmp_path / "target" / f"scene.{format}")
    after = load_textured_triangles(copied)[1]
    assert len(before) == len(after) == 1
    np.testing.assert_array_equal(before[0], after[0])


PLATE = "mtllib my colours.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nusemtl c\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def write_plates(folder: Path) -> list[Path]:
    """Two meshes in two folders, whose files have the same names but other colours."""
    found = []
    for name, color in (("a", "1 0 0"), ("b", "0 0 1")):
        (folder / name).mkdir()
        (folder / name / "plate.obj").write_text(PLATE)
        (folder / name / "my colours.mtl").write_text(f"newmtl c\nKd {color}\n")
        found.append(folder / name / "plate.obj")
    return found


def test_materials_with_the_same_name_do_not_replace_each_other(tmp_path: Path) -> None:
    plates = write_plates(tmp_path)
    target = tmp_path / "target"
    (target / "meshes").mkdir(parents=True)
    (target / "meshes" / "my_colours.mtl").write_text("of somebody else")
    exoskel.convert(shown(*plates), target / "scene.sdf", meshes="copy")
    assert (target / "meshes" / "my_colours.mtl").read_text() == "of somebody else"
    colors = [load_file_colors(path) for path in copies(target / "scene.sdf")]
    np.testing.assert_array_equal([one[0] for one in colors if one is not None], [[1, 0, 0, 1], [0, 0, 1, 1]])


@pytest.mark.parametrize("meshes", ["copy", "reference"])
def test_mjcf_has_the_colours_of_materials(meshes: str, tmp_path: Path) -> None:
    plates = write_plates(tmp_path)
    (tmp_path / "target").mkdir()
    exoskel.convert(shown(*plates), tmp_path / "target" / "scene.xml", meshes=meshes)  # type: ignore[arg-type]
    root = ElementTree.parse(tmp_path / "target" / "scene.xml")
    assert [one.get("rgba") for one in root.iter("geom") if one.get("mesh")] == ["1 0 0 1", "0 0 1 1"]


@pytest.mark.parametrize(
    ("place", "is_lost"),
    [("../../outside.mtl", True), ("../../nowhere.mtl", True), ("/etc/hostname", True), ("nowhere.mtl", False)],
)
def test_files_elsewhere_are_not_copied(place: str, is_lost: bool, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "source"
    folder.mkdir(parents=True)
    (tmp_path / "outside.mtl").write_text("newmtl c\nKd 1 0 0\n")
    (folder / "plate.obj").write_text(PLATE.replace("my colours.mtl", place))
    (tmp_path / "target").mkdir()
    report = exoskel.convert(shown(folder / "plate.obj"), tmp_path / "target" / "scene.sdf", meshes="copy")
    assert [path.name for path in (tmp_path / "target" / "meshes").iterdir()] == ["plate.obj"]
    assert any("FM303" in item.why for item in report.items) is is_lost
