"""A document of MJCF that was not edited is converted to MJCF as it is: the compiled model is the same in all fields."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from PIL import Image

import exoskel
from exoskel.fates import Fate
from exoskel.formats.interface import SourceCopy
from exoskel.formats.mjcf.copy_comparison import count_differences
from exoskel.formats.mjcf.source_copy import FILES, copy_source
from exoskel.source.output_context import OutputContext
from tests.mjcf.model_fields import differing_fields
from tests.mjcf.schema import schema
from tests.support.edits import edited

OCTAHEDRON = "v 1 0 0\nv -1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nv 0 0 -1\n" + "".join(
    f"f {a} {b} {c}\n"
    for a, b, c in [(1, 3, 5), (3, 2, 5), (2, 4, 5), (4, 1, 5), (3, 1, 6), (2, 3, 6), (4, 2, 6), (1, 4, 6)]
)
MAIN = """<?xml version="1.0"?>
<!-- a robot -->
<mujoco model="robot">
  <compiler meshdir="parts" texturedir="images" angle="degree"/>
  <include file="shared/settings.xml"/>
  <option integrator="RK4" cone="elliptic"><flag energy="enable" gravity="disable"/></option>
  <size nuserdata="3" nuser_geom="2"/>
  <visual><map znear="0.02"/></visual>
  <asset>
    <mesh file="stone.obj" scale="0.1 0.1 0.1"/>
    <mesh name="other" file="stone.obj" refpos="0.1 0 0"/>
    <texture type="2d" file="red.png"/>
    <material name="red" texture="red"/>
    <hfield name="hills" file="hills.png" size="1 1 0.1 0.1"/>
  </asset>
  <worldbody>
    <geom name="ground" type="hfield" hfield="hills"/>
    <body name="hand" mocap="true" pos="0 0 2"><geom size="0.1" contype="0" conaffinity="0"/></body>
    <body name="arm" gravcomp="0.3"> <!-- moves -->
      <joint name="j" type="hinge" axis="0 1 0" range="-90 90" solreflimit="0.03 1" margin="0.1" stiffness="3 2"/>
      <geom name="bone" class="hard" type="capsule" size="0.1 0.2" fluidshape="ellipsoid" user="1 2"/>
      <geom name="stone" type="mesh" mesh="stone" material="red" pos="0 0 1"/>
      <include file="shared/tip.xml"/>
    </body>
  </worldbody>
  <contact><pair name="touch" geom1="bone" geom2="stone" condim="4" gap="0.01"/></contact>
  <sensor><distance name="d" geom1="bone" geom2="stone" cutoff="1"/></sensor>
  <keyframe><key name="home" qpos="0.1" mpos="0 0 3"/></keyframe>
</mujoco>
"""
SETTINGS = """<mujocoinclude><default><default class="hard">
<geom solref="0.004 1" solimp="0.95 0.99 0.001" condim="6" priority="2" group="4" density="2700"/></default></default>
</mujocoinclude>"""
TIP = '<mujocoinclude><body name="tip" pos="0 0 0.3"><joint name="k" type="ball"/><geom size="0.05"/></body></mujocoinclude>'


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    """A document with included files, meshes, an image and a height field in folders of their own."""
    folder = tmp_path / "robot"
    for name in ("parts", "images", "shared"):
        (folder / name).mkdir(parents=True)
    (folder / "robot.xml").write_text(MAIN)
    (folder / "shared" / "settings.xml").write_text(SETTINGS)
    (folder / "shared" / "tip.xml").write_text(TIP)
    (folder / "parts" / "stone.obj").write_text(OCTAHEDRON)
    Image.new("RGB", (4, 4), (255, 0, 0)).save(folder / "images" / "red.png")
    heights = np.arange(16, dtype=np.uint8).reshape(4, 4)
    Image.fromarray(heights * 10).save(folder / "parts" / "hills.png")
    return folder / "robot.xml"


def models(source: Path, output: Path) -> list[mujoco.MjModel]:
    return [mujoco.MjModel.from_xml_path(str(path)) for path in (source, output)]


@pytest.mark.parametrize("meshes", ["reference", "copy", "absolute"])
@pytest.mark.parametrize("place", ["robot/out.xml", "elsewhere/out.xml"])
def test_all_fields_of_the_compiled_model_are_the_same(robot: Path, place: str, meshes: str) -> None:
    output = robot.parent.parent / place
    output.parent.mkdir(exist_ok=True)
    report = exoskel.convert(robot, output, to="mjcf", meshes=meshes)
    assert report.certificate.passed
    assert report.losses == []
    assert differing_fields(*models(robot, output)) == []
    assert bool(report.companions) == (meshes == "copy")
    assert "include" not in output.read_text()


def test_copies_are_complete(robot: Path, tmp_path: Path) -> None:
    """With copies of its files, the document does not need the folder of the source."""
    before = mujoco.MjModel.from_xml_path(str(robot))
    output = tmp_path / "out" / "robot.xml"
    output.parent.mkdir()
    exoskel.convert(robot, output, to="mjcf", meshes="copy")
    robot.parent.rename(tmp_path / "gone")
    assert differing_fields(before, mujoco.MjModel.from_xml_path(str(output))) == []


def test_a_document_of_one_file_is_the_same_in_its_folder(robot: Path) -> None:
    text = MAIN.replace('<include file="shared/settings.xml"/>', "").replace('<include file="shared/tip.xml"/>', "")
    robot.write_text(text.replace(' class="hard"', ""))
    assert exoskel.convert(robot, robot.with_name("out.xml"), to="mjcf").data == robot.read_bytes()


def test_all_nodes_are_exact_but_for_included_files(robot: Path) -> None:
    report = exoskel.convert(robot, robot.with_name("out.xml"), to="mjcf")
    others = {item.path for item in report.items if item.fate not in (Fate.EXACT, Fate.KEPT)}
    assert others == {path for path in others if "/include[" in path} and len(others) == 4
    kept = [item.path for item in report.items if item.fate is Fate.KEPT]
    assert kept == ["declaration", "comment[2]", "comment[3]"]


def test_references_to_files_are_lowered_in_another_folder(robot: Path, tmp_path: Path) -> None:
    report = exoskel.convert(robot, tmp_path / "out.xml", to="mjcf")
    lowered = {item.path.rpartition("/")[2] for item in report.items if item.fate is Fate.LOWERED}
    assert lowered == {"include[1]", "@file", "@meshdir", "@texturedir"}


def test_an_edited_scene_is_not_a_copy(robot: Path, tmp_path: Path) -> None:
    scene = exoskel.load(robot)
    scene.world.model("arm").body("arm").mass = 7.5
    exoskel.convert(scene, tmp_path / "out.xml", to="mjcf")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert model.body("arm").mass[0] == 7.5


def test_an_edit_that_was_undone_is_none(robot: Path, tmp_path: Path) -> None:
    scene = exoskel.load(robot)
    time_step, scene.world.time_step = scene.world.time_step, 0.5
    scene.world.time_step = time_step
    exoskel.convert(scene, tmp_path / "out.xml", to="mjcf")
    assert differing_fields(*models(robot, tmp_path / "out.xml")) == []


def test_dart_needs_a_new_document(robot: Path, tmp_path: Path) -> None:
    exoskel.convert(robot, tmp_path / "out.xml", to="mjcf", target="dart")
    assert b"exoskel_camera" in (tmp_path / "out.xml").read_bytes()


def test_a_document_with_a_missing_mesh_is_written_without_it(robot: Path, tmp_path: Path) -> None:
    (robot.parent / "parts" / "stone.obj").unlink()
    report = exoskel.convert(robot, tmp_path / "out.xml", to="mjcf")
    assert any("not found" in item.why for item in report.losses)


def test_names_of_meshes_follow_from_their_files(robot: Path, tmp_path: Path) -> None:
    """A copy may get another name, because another file has its name."""
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "stone.obj").write_text("another file")
    report = exoskel.convert(robot, tmp_path / "out.xml", to="mjcf", meshes="copy")
    assert "meshes/stone_2.obj" in report.companions
    assert differing_fields(*models(robot, tmp_path / "out.xml")) == []


def test_all_attributes_of_the_schema_that_name_files_are_relocated() -> None:
    named = {(path.rpartition("/")[2], name) for path, names in schema().items() for name in names if "file" in name}
    assert named == {(tag, name) for tag, names in FILES.items() for name in names}


def test_saving_to_another_folder_keeps_references(robot: Path, tmp_path: Path) -> None:
    exoskel.save(exoskel.load(robot), tmp_path / "saved.xml")
    assert differing_fields(*models(robot, tmp_path / "saved.xml")) == []


def test_another_scene_is_written_with_a_light(robot: Path) -> None:
    """Only copies have no light of ours."""
    assert b"exoskel_light" in exoskel.convert(edited(robot), None, to="mjcf").data
    assert b"exoskel_light" not in exoskel.convert(robot, None, to="mjcf").data


@pytest.mark.parametrize("meshes", ["reference", "copy", "absolute"])
@pytest.mark.parametrize("is_edited", [False, True], ids=["unedited", "edited"])
def test_certificates_compare_all_elements_and_files(robot: Path, tmp_path: Path, meshes: str, is_edited: bool) -> None:
    scene = exoskel.load(robot)
    if is_edited:
        scene.world.time_step = 0.004
        scene.world.model("arm").body("arm").mass = 7.5
    report = exoskel.convert(scene, tmp_path / "out.xml", to="mjcf", meshes=meshes)  # type: ignore[arg-type]
    rows = [row.name for row in report.certificate.checks if "of the source" in row.name]
    name = "other elements" if is_edited else "elements"
    assert rows == [f"{name}, attributes and files of the source"]
    assert report.certificate.passed


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        (b'condim="4"', b'condim="3"'),  # it is in no scene
        (b"<sensor>", b'<sensor><clock name="new"/>'),
        (b'cutoff="1"', b""),
        (b'qpos="0.1"', b'qpos="0.2"'),
        (b"parts/hills.png", b"parts/../images/red.png"),
        (b'solref="0.004 1"', b'solref="0.005 1"'),  # of an included file
    ],
)
def test_a_copy_with_another_value_is_noticed(robot: Path, tmp_path: Path, good: bytes, bad: bytes) -> None:
    scene, output = exoskel.load(robot), OutputContext(tmp_path)
    copy = copy_source(scene, output)
    assert copy is not None
    assert count_differences(scene, copy, output) == 0
    assert good in copy.data
    changed = SourceCopy(copy.data.replace(good, bad), copy.fates, copy.inserted)
    assert count_differences(scene, changed, output) > 0
