"""A document of MJCF that is copied for a certain program has its words, and names without slashes if it wants that."""

from __future__ import annotations

import re
from pathlib import Path

import mujoco
import pytest
from lxml import etree

import exoskel
from exoskel.fates import Fate
from exoskel.formats.interface import SourceCopy
from exoskel.formats.mjcf.copy_comparison import count_differences
from exoskel.formats.mjcf.program_copies import adapt_copy
from exoskel.formats.mjcf.source_copy import copy_source
from exoskel.source.output_context import OutputContext, Target
from tests.mjcf.model_fields import differing_fields
from tests.support.edits import edited
from tests.support.mujoco_version import needs_mujoco_4

DOCUMENT = """<mujoco model="rob/ot">
  <option integrator="discrete"/>
  <include file="classes.xml"/>
  <asset><material name="r/red" rgba="1 0 0 1"/><mesh name="r/m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset>
  <worldbody>
    <camera name="a/top" pos="0 0 3" projection="orthographic" fovy="2"/>
    <light name="l/1" pos="0 0 3" mode="targetbody" target="r/torso"/>
    <body name="r/torso" childclass="r/" pos="0 0 1">
      <freejoint name="r/root"/>
      <geom name="r/g" size=".1" material="r/red"/>
      <geom name="r_g" type="mesh" mesh="r/m" pos=".1 0 0"/>
      <site name="r/s"/>
      <body name="r/leg" pos="0 0 -.3">
        <joint name="r/hip" class="r/leg" axis="0 1 0" range="-1 1"/>
        <geom name="r/g2" size=".05"/><site name="r/s2" pos="0 0 .1"/>
        <camera name="r/cam" mode="targetbody" target="r/torso"/>
      </body>
    </body>
    <body name="plain" pos="2 0 1"><joint name="j" axis="0 1 0"/><geom size=".1"/></body>
    <body name="r/cloth" pos="0 0 3">
      <flexcomp name="r/cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01" dim="2" mass=".1"/>
    </body>
  </worldbody>
  <contact><exclude name="r/x" body1="r/torso" body2="plain"/><pair name="p/1" geom1="r/g" geom2="r_g"/></contact>
  <tendon><spatial name="r/t" range="0 2"><site site="r/s"/><site site="r/s2"/></spatial></tendon>
  <equality><weld name="e/w" body1="r/leg" body2="plain" active="false"/></equality>
  <actuator><motor name="r/hip" joint="r/hip" gear="3"/><muscle name="r/m" tendon="r/t" lengthrange=".1 2"/></actuator>
  <sensor>
    <jointpos name="r/hip" joint="r/hip"/>
    <framepos name="r/f" objtype="body" objname="r/leg" reftype="site" refname="r/s"/>
    <gyro name="g" site="r/s"/><actuatorfrc actuator="r/m"/><tendonpos name="t/p" tendon="r/t"/>
    <distance name="r_hip" geom1="r/g" geom2="r/g2" cutoff="1"/>
  </sensor>
  <custom><text name="r/note" data="a/b"/><tuple name="r/all"><element objtype="body" objname="r/leg"/></tuple></custom>
</mujoco>
"""
POINTS = 'vertex="0 0 0 1 0 0 0 1 0 0 0 1"'
CLASSES = """<mujocoinclude><compiler angle="radian"/><default><default class="r/"><geom rgba="0 1 0 1"/>
<default class="r/leg"><joint damping=".1"/></default></default></default></mujocoinclude>"""
NAMES = re.compile(r"names|names_map|nnames|nnames_map|name_\w+adr|signature|n?text\w*")
"""Fields with names and texts."""
TARGETS: tuple[Target, ...] = ("portable", "mujoco4", "mujoco3", "dm_control", "newton", "isaac")


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    (tmp_path / "robot.xml").write_text(DOCUMENT)
    (tmp_path / "classes.xml").write_text(CLASSES)
    return tmp_path / "robot.xml"


def _differences(source: Path, output: Path) -> set[str]:
    before, after = (mujoco.MjModel.from_xml_path(str(path)) for path in (source, output))
    return {name for name in differing_fields(before, after) if not NAMES.fullmatch(name)}


EXPECTED: dict[Target, set[str]] = {
    "portable": set(),
    "mujoco4": set(),
    "mujoco3": {"opt.integrator", "cam_projection", "cam_fovy"},
    "dm_control": {"opt.integrator"},
    "newton": {"opt.integrator"},
    "isaac": {"opt.integrator"},
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("is_edited", [False, True], ids=["unedited", "edited"])
def test_only_what_the_program_refuses_differs(robot: Path, target: Target, is_edited: bool) -> None:
    if target == "isaac":  # which refuses meshes inside the document
        robot.write_text(DOCUMENT.replace(POINTS, 'file="m.obj"'))
        robot.with_name("m.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    scene = exoskel.load(robot)
    expected = EXPECTED[target]
    if is_edited:
        scene.world.time_step = 0.004
        scene.world.rename("r/hip", "knee")
        expected = expected | {"opt.timestep"}
    output = robot.with_name("out.xml")
    report = exoskel.convert(scene, output, to="mjcf", target=target)
    assert report.certificate.passed
    assert _differences(robot, output) == expected
    has_slashes = b'name="r/torso"' in report.data
    assert has_slashes == (target not in ("portable", "dm_control"))
    ignored = [item for item in report.losses if "MJ513" in item.why or "MJ508" in item.why]
    assert bool(ignored) == (target in ("newton", "isaac"))
    assert {item.path.rpartition("@")[2] for item in report.losses if item not in ignored} == {
        *({"integrator"} if "opt.integrator" in expected else ()),
        *({"projection", "fovy"} if "cam_fovy" in expected else ()),
    }


@pytest.mark.parametrize("target", ["portable", "dm_control"])
def test_no_name_or_reference_has_a_slash(robot: Path, target: Target) -> None:
    data = exoskel.convert(robot, None, to="mjcf", target=target).data.decode()
    found = re.findall(r'(\w+)="([^"]*/[^"]*)"', data)
    assert {name for name, _ in found} == {"data"}


def test_the_scene_has_its_names_again(robot: Path) -> None:
    exoskel.convert(robot, robot.with_name("out.xml"), to="mjcf")
    one, other = exoskel.load(robot).world, exoskel.load(robot.with_name("out.xml")).world
    assert [model.name for model in one.models] == [model.name for model in other.models]
    assert [body.name for body in one.bodies()] == [body.name for body in other.bodies()]
    for field in ("cameras", "lights", "sensors", "tendons", "actuators", "equalities"):
        assert getattr(one, field) == getattr(other, field)
    assert {sensor.name for sensor in one.sensors} >= {"r/hip", "r/f", "t/p"}


def test_names_stay_different(robot: Path) -> None:
    """A name without a slash may already be that of another element."""
    model = mujoco.MjSpec.from_string(exoskel.convert(robot, None, to="mjcf").data.decode()).compile()
    assert [model.geom(number).name for number in range(3)] == ["r_g_2", "r_g", "r_g2"]


def test_saving_keeps_names(robot: Path, tmp_path: Path) -> None:
    scene = exoskel.load(robot)
    scene.world.time_step = 0.004
    (tmp_path / "other").mkdir()
    for one in (exoskel.load(robot), scene):
        exoskel.save(one, tmp_path / "other" / "saved.xml")
        assert b'name="r/torso"' in (tmp_path / "other" / "saved.xml").read_bytes()
        assert _differences(robot, tmp_path / "other" / "saved.xml") <= {"opt.timestep"}


@needs_mujoco_4
def test_words_of_mujoco_4_are_removed_for_mujoco_3(tmp_path: Path) -> None:
    document = """<mujoco><option><flag speculative="enable"/></option>
    <default><joint springyield="1"/></default>
    <worldbody><body><joint name="j" springyield="1"/><geom size=".1" castshadow="false"/></body></worldbody>
    <tendon><fixed springyield="1"><joint joint="j" coef="1"/></fixed></tendon></mujoco>"""
    words = {"speculative", "springyield", "castshadow"}
    (tmp_path / "a.xml").write_text(document)
    for target in ("mujoco3", "dm_control", "isaac"):
        report = exoskel.convert(tmp_path / "a.xml", None, to="mjcf", target=target)
        assert not any(word.encode() in report.data for word in words)
        assert {item.path.rpartition("@")[2] for item in report.losses} >= words
    assert exoskel.convert(tmp_path / "a.xml", None, to="mjcf", target="mujoco4").data == document.encode()


@pytest.mark.parametrize(("flag", "projection"), [("true", b"orthographic"), ("false", b"perspective")])
def test_orthographic_cameras_of_earlier_versions_are_read(tmp_path: Path, flag: str, projection: bytes) -> None:
    """MuJoCo 3.5 has another attribute."""
    camera = f'<camera name="top" orthographic="{flag}" fovy="2"/>'
    (tmp_path / "a.xml").write_text(f"<mujoco><worldbody>{camera}</worldbody></mujoco>")
    scene = exoskel.load(tmp_path / "a.xml")
    assert scene.diagnostics == []
    assert scene.world.cameras[0].orthographic == (flag == "true")
    report = exoskel.convert(scene, tmp_path / "out.xml", to="mjcf")
    assert b'projection="' + projection + b'"' in report.data
    assert [item.fate for item in report.items if item.attribute == "orthographic"] == [Fate.LOWERED]
    mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))


def test_new_documents_for_mujoco_3_have_no_orthographic_cameras() -> None:
    """MuJoCo 3.2 to 3.4 refuse the attribute of later versions, and those the attribute of earlier ones."""
    world = exoskel.World()
    world.cameras.append(exoskel.SceneCamera("top", orthographic=True, field_of_view=2.0))
    report = exoskel.convert(world, None, to="mjcf", target="mujoco3")
    assert report.certificate.passed
    assert b"projection" not in report.data
    assert b'fovy="45"' in report.data
    assert b"projection" in exoskel.convert(world, None, to="mjcf").data


@pytest.mark.parametrize(
    ("good", "bad"),
    [(b'objname="r_leg"', b'objname="plain"'), (b"implicitfast", b"RK4"), (b'condim="4"', b'condim="3"')],
)
def test_another_value_is_noticed(robot: Path, good: bytes, bad: bytes) -> None:
    robot.write_text(DOCUMENT.replace('geom2="r_g"/>', 'geom2="r_g" condim="4"/>'))
    scene, output = exoskel.load(robot), OutputContext(robot.parent, "dm_control")
    copied = copy_source(scene, output)
    assert copied is not None
    copy = adapt_copy(copied, scene, output)
    assert count_differences(scene, copy, output) == 0
    assert good in copy.data
    changed = SourceCopy(
        copy.data.replace(good, bad),
        copy.fates,
        copy.inserted,
        replaced=copy.replaced,
        source_numbers=copy.source_numbers,
    )
    assert count_differences(scene, changed, output) > 0


IGNORED: dict[Target, set[str]] = {
    "newton": {"gravity, and uses -9.81 m/s² along z", "cameras", "lights", "keyframes", "sensors"},
    "isaac": {"cameras", "lights", "keyframes", "sensors", "contact pairs"},
}
READ_BY_FEW = """<mujoco><option gravity="0 0 {}" timestep=".004"/>
<worldbody><light/><body><joint name="j"/><geom name="g" size=".1"/><camera/></body><geom name="h" size=".2"/></worldbody>
<contact><pair geom1="g" geom2="h"/></contact><sensor><jointpos joint="j"/></sensor>
<keyframe><key qpos=".5"/></keyframe></mujoco>"""


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_program_ignores_is_not_exact(target: Target) -> None:
    document = READ_BY_FEW.format("-3")
    report = exoskel.convert(document, None, to="mjcf", target=target)
    assert report.data == document.encode()
    expected = IGNORED.get(target, set())
    losses = [item for item in report.losses if "MJ513" in item.why]
    assert {item.why.partition("ignores ")[2].removesuffix(" (MJ513)") for item in losses} == expected
    assert {item.fate for item in losses} <= {Fate.APPROXIMATED}
    is_stepped = any("MJ508" in item.why and item.attribute == "timestep" for item in report.losses)
    assert is_stepped == bool(expected)


UNREAD_BY_ISAAC_SIM = """<mujoco><asset><texture name="t" type="2d" builtin="checker" width="4" height="4"/>
<material name="m" texture="t"/></asset><worldbody><body name="b"><joint name="j"/><joint name="k" axis="1 0 0"/>
<geom size=".1" material="m"/><site name="s"/></body></worldbody>
<tendon><fixed name="f"><joint joint="j" coef="1"/></fixed><fixed name="h"><joint joint="k" coef="1"/></fixed></tendon>
<equality><tendon name="e" tendon1="f" tendon2="h"/></equality>
<sensor><user name="u" objtype="site" objname="s" datatype="real" needstage="pos" dim="1"/></sensor></mujoco>"""


@pytest.mark.parametrize("is_new", [True, False])
def test_what_isaac_sim_ignores_is_not_exact(is_new: bool) -> None:
    scene = edited(UNREAD_BY_ISAAC_SIM) if is_new else exoskel.load(UNREAD_BY_ISAAC_SIM)
    report = exoskel.convert(scene, None, to="mjcf", target="isaac")
    losses = [item for item in report.losses if "MJ513" in item.why]
    words = {item.why.partition("ignores ")[2].removesuffix(" (MJ513)") for item in losses}
    assert {"generated textures", "equality constraints of tendons", "sensors"} <= words
    assert {item.fate for item in losses} == {Fate.APPROXIMATED}
    other = exoskel.convert(scene, None, to="mjcf", target="mujoco4")
    assert not any("MJ513" in item.why for item in other.losses)


def test_the_gravity_that_newton_uses_is_exact() -> None:
    report = exoskel.convert(READ_BY_FEW.format("-9.81"), None, to="mjcf", target="newton")
    assert {item.fate for item in report.items if item.attribute == "gravity"} == {Fate.EXACT}


MACROS = ('<replicate count="3" offset="1 0 0">{}</replicate>', '<frame pos="0 0 1">{}</frame>')


@pytest.mark.parametrize("macro", MACROS)
def test_bodies_that_newton_does_not_expand_are_written(macro: str) -> None:
    """Newton ignores a `replicate`, and all in it."""
    body = macro.format('<body name="b"><joint name="j"/><geom size=".1"/></body>')
    document = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    report = exoskel.convert(document, None, to="mjcf", target="newton")
    assert (report.data == document.encode()) == ("replicate" not in macro)
    assert report.data.count(b"<body") == (3 if "replicate" in macro else 1)


UNREADABLE = {
    "points": '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>',
    "generated": '<mesh name="m" builtin="sphere" params="2"/>',
    "triangles": '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="0 2 1 0 1 3 0 3 2 1 2 3"/>',
}


@pytest.mark.parametrize("mesh", UNREADABLE.values(), ids=UNREADABLE)
def test_meshes_for_isaac_sim_are_in_files(mesh: str, tmp_path: Path) -> None:
    geom = '<body><joint/><geom type="mesh" mesh="m"/></body>'
    (tmp_path / "a.xml").write_text(f"<mujoco><asset>{mesh}</asset><worldbody>{geom}</worldbody></mujoco>")
    report = exoskel.convert(tmp_path / "a.xml", tmp_path / "out.xml", to="mjcf", target="isaac")
    assert report.certificate.passed
    (element,) = etree.fromstring(report.data).iter("mesh")
    assert "vertex" not in element.attrib and (tmp_path / element.get("file", "")).suffix == ".obj"
    assert (tmp_path / element.get("file", "")).is_file()
    one, other = (mujoco.MjModel.from_xml_path(str(tmp_path / name)) for name in ("a.xml", "out.xml"))
    assert other.body_mass == pytest.approx(one.body_mass)
    assert other.geom_aabb[0, 3:] == pytest.approx(one.geom_aabb[0, 3:], abs=1e-6)


def test_copies_for_newton_lack_its_refused_solver_and_report_the_total_mass_that_it_ignores() -> None:
    text = """<mujoco><compiler settotalmass="14"/><option solver="PGS"/><worldbody><body name="a"><freejoint/>
      <geom size=".1"/></body></worldbody></mujoco>"""
    report = exoskel.convert(text, None, to="mjcf", target="newton")
    assert report.certificate.passed
    assert b"solver" not in report.data and b'settotalmass="14"' in report.data
    lost = {item.path.rpartition("@")[2]: item.why for item in report.losses}
    assert "refuses the solver PGS" in lost["solver"] and "ignores the total mass" in lost["settotalmass"]
    assert b'solver="PGS"' in exoskel.convert(text, None, to="mjcf").data


def test_boxes_between_two_points_are_stated_by_pose_and_size_for_newton() -> None:
    text = """<mujoco><worldbody><body name="a"><freejoint/><geom type="box" size=".05" fromto="0 0 0 .3 0 0"/>
      </body></worldbody></mujoco>"""
    report = exoskel.convert(text, None, to="mjcf", target="newton")
    assert report.certificate.passed
    assert b"fromto" not in report.data and b'type="box" size="0.05 0.05 0.15"' in report.data
    assert b"fromto" in exoskel.convert(text, None, to="mjcf").data
