"""An edited scene that was read from MJCF is written to MJCF as its own document: only what was edited changes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest
from msgspec import structs

import exoskel
from exoskel.fates import Fate
from tests.mjcf.model_fields import differing_fields

DOCUMENT = """<mujoco model="robot">
  <!-- a robot -->
  <include file="settings.xml"/>
  <option integrator="RK4" cone="elliptic"/>
  <size nuser_geom="1"/>
  <visual><map znear="0.02"/></visual>
  <default><geom friction="0.7 0.01 0.002"/><default class="soft"><joint damping="0.5 0.1" armature="0.2"/></default></default>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" width="8" height="8"/>
    <skin name="skin" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2">
      <bone body="arm" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/>
    </skin>
  </asset>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 0.1"/>
    <body name="target" mocap="true" pos="0 0 2"><geom size="0.1" contype="0" conaffinity="0"/></body>
    <body name="arm" pos="0 0 1" euler="0 30 0" gravcomp="0.3">
      <joint name="shoulder" class="soft" axis="0 1 0" range="-90 90" solreflimit="0.03 1" stiffness="3 2"/>
      <geom name="bone" type="capsule" fromto="0 0 0 0 0 0.5" size="0.05" user="4" material=""/>
      <site name="tip" pos="0 0 0.5"/>
      <body name="hand" pos="0 0 0.5">
        <joint name="grip" type="slide" axis="1 0 0"/>
        <geom name="palm" type="box" size="0.1 0.1 0.02" solimp="0.8 0.9 0.01"/>
        <site name="grasp"/>
      </body>
    </body>
    <body name="cloth" pos="0 0 3">
      <flexcomp name="cloth" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" radius="0.01" dim="2" mass="0.1"/>
    </body>
    <include file="tip.xml"/>
  </worldbody>
  <contact><pair name="touch" geom1="bone" geom2="ground" condim="4" gap="0.01"/></contact>
  <tendon><spatial name="rope" range="0 1"><site site="tip"/><site site="grasp"/></spatial></tendon>
  <equality><weld name="follow" body1="target" body2="hand" active="false"/></equality>
  <actuator><muscle name="mus" tendon="rope" lengthrange="0.1 0.7"/><motor name="m" joint="shoulder"/></actuator>
  <sensor><distance name="d" geom1="bone" geom2="palm" cutoff="1"/><jointpos name="jp" joint="grip"/></sensor>
  <custom><tuple name="both"><element objtype="body" objname="hand"/></tuple></custom>
</mujoco>
"""
DOCUMENT = DOCUMENT.replace(' material=""', "")
KEY = '<keyframe><key name="home" mpos="0 0 2.5" act="0.2" ctrl="0.1 0.2"/></keyframe></mujoco>'
SETTINGS = "<mujocoinclude><compiler angle='degree'/><option density='1.2'/></mujocoinclude>"
TIP = '<mujocoinclude><body name="ball" pos="1 0 1"><freejoint/><geom name="skin" size="0.05"/></body></mujocoinclude>'

MASSES = {
    *("body_mass", "body_inertia", "body_iquat", "body_ipos", "body_subtreemass", "body_invweight0", "body_sameframe"),
    *("dof_M0", "dof_invweight0", "tendon_invweight0", "actuator_acc0", "stat.meaninertia", "stat.meanmass"),
    *("geom_sameframe", "site_sameframe", "bvh_aabb", "bvh_nodeid", "bvh_child", "body_simple", "actuator_length0"),
    *("actuator_lengthrange", "light_poscom0", "cam_poscom0", "flexedge_invweight0", "dof_simplenum", "eq_data"),
    *("geom_quat", "opt.timestep"),
}
"""Fields that follow from mass properties."""
PLACES = MASSES | {
    *("body_pos", "body_quat", "geom_pos", "geom_size", "geom_aabb", "geom_rbound", "tendon_length0"),
    *("dof_length", "jnt_axis", "jnt_pos", "stat.extent", "stat.center", "stat.meansize", "tendon_lengthspring"),
    *("site_pos", "site_quat"),
}
"""Fields that follow from places and sizes."""
LIMITS = {"actuator_lengthrange", "jnt_range", "jnt_limited"}
NAMES = {
    *("names", "names_map", "nnames", "nnames_map", "name_bodyadr", "name_jntadr", "name_geomadr", "name_siteadr"),
    *("name_camadr", "name_lightadr", "name_skinadr", "name_matadr", "name_texadr", "name_pairadr", "name_eqadr"),
    *("name_tendonadr", "name_actuatoradr", "name_sensoradr", "name_tupleadr", "name_keyadr", "name_flexadr"),
    *("name_excludeadr", "name_meshadr", "name_numericadr", "name_textadr", "signature", "name_pluginadr"),
    "name_hfieldadr",
}


@pytest.fixture(params=["one file", "elsewhere"])
def robot(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """A document with included files, and the path of the new document."""
    (tmp_path / "robot.xml").write_text(DOCUMENT.replace("</mujoco>", KEY))
    (tmp_path / "settings.xml").write_text(SETTINGS)
    (tmp_path / "tip.xml").write_text(TIP)
    (tmp_path / "other").mkdir()
    return tmp_path / "robot.xml", tmp_path / ("out.xml" if request.param == "one file" else "other/out.xml")


def _arm(scene: exoskel.Scene) -> exoskel.Body:
    return scene.world.model("target").body("arm")


def _set_mass(scene: exoskel.Scene) -> None:
    _arm(scene).mass = 7.5


def _set_gravity(scene: exoskel.Scene) -> None:
    scene.world.gravity = (0, 0, -1.6)


def _set_time_step(scene: exoskel.Scene) -> None:
    scene.world.time_step = 0.004


def _move_body(scene: exoskel.Scene) -> None:
    body = scene.world.model("target").body("hand")
    body.pose = exoskel.Pose((0.1, 0.2, 0.3)) @ body.pose


def _set_damping(scene: exoskel.Scene) -> None:
    joint = scene.world.model("target").joint("shoulder")
    joint.dofs[0].damping, joint.dofs[0].stiffness, joint.dofs[0].friction = 1.5, 4.0, 0.1


def _set_limits(scene: exoskel.Scene) -> None:
    scene.world.model("target").joint("shoulder").dofs[0].position_limits = (-1.0, 0.5)


def _set_axis(scene: exoskel.Scene) -> None:
    scene.world.model("target").joint("grip").axes = ((0, 1, 0),)


def _set_friction(scene: exoskel.Scene) -> None:
    _arm(scene).collisions[0].friction = 0.3


def _set_color(scene: exoskel.Scene) -> None:
    _arm(scene).collisions[0].color = (1, 0, 0, 1)


def _set_size(scene: exoskel.Scene) -> None:
    _arm(scene).collisions[0].geometry = exoskel.Capsule(0.07, 0.6)


def _move_marker(scene: exoskel.Scene) -> None:
    _arm(scene).markers[0].offset = (0.1, 0, 0.5)


def _rename_joint(scene: exoskel.Scene) -> None:
    scene.world.rename("target/grip", "gripper")


def _rename_body(scene: exoskel.Scene) -> None:
    scene.world.rename("target/hand", "wrist")


def _edit_included(scene: exoskel.Scene) -> None:
    scene.world.model("ball").body("ball").mass = 0.25


EDITS: dict[Callable[[exoskel.Scene], None], set[str]] = {
    _set_mass: MASSES,
    _set_gravity: {"opt.gravity"},
    _set_time_step: {"opt.timestep"},
    _move_body: PLACES,
    _set_damping: {"dof_damping", "jnt_stiffness", "dof_frictionloss", "actuator_lengthrange"},
    _set_limits: LIMITS,
    _set_axis: PLACES,
    _set_friction: {"geom_friction"},
    _set_color: {"geom_rgba"},
    _set_size: PLACES,
    _move_marker: PLACES,
    _rename_joint: NAMES,
    _rename_body: NAMES,
    _edit_included: MASSES,
}


@pytest.mark.parametrize("edit", EDITS, ids=[edit.__name__.strip("_") for edit in EDITS])
def test_only_what_was_edited_changes(robot: tuple[Path, Path], edit: Callable[[exoskel.Scene], None]) -> None:
    source, output = robot
    scene = exoskel.load(source)
    edit(scene)
    report = exoskel.convert(scene, output, to="mjcf")
    assert report.certificate.passed, report.certificate
    assert report.losses == []
    assert "<!-- a robot -->" in output.read_text()
    before, after = (mujoco.MjModel.from_xml_path(str(path)) for path in (source, output))
    changed = set(differing_fields(before, after))
    assert changed
    assert changed <= EDITS[edit], changed - EDITS[edit]


def test_an_edited_value_is_lowered_and_all_others_are_exact(robot: tuple[Path, Path]) -> None:
    source, _ = robot
    scene = exoskel.load(source)
    _set_limits(scene)
    report = exoskel.convert(scene, source.with_name("out.xml"), to="mjcf")
    edited = [item for item in report.items if "edited" in item.why]
    assert [item.path.rpartition("/")[2] for item in edited] == ["@range"]
    assert edited[0].fate is Fate.LOWERED
    assert "joint" in edited[0].path
    others = [item for item in report.items if item.fate not in (Fate.EXACT, Fate.KEPT) and item is not edited[0]]
    assert all("include" in item.path for item in others)


def test_renamed_elements_are_renamed_in_all_references(robot: tuple[Path, Path]) -> None:
    source, output = robot
    scene = exoskel.load(source)
    scene.world.rename("target/hand", "wrist")
    scene.world.rename("target/grip", "gripper")
    exoskel.convert(scene, output, to="mjcf")
    model = mujoco.MjModel.from_xml_path(str(output))
    assert model.sensor("jp").objid[0] == model.joint("gripper").id
    assert model.eq("follow").obj2id[0] == model.body("wrist").id
    assert model.tuple_objid[0] == model.body("wrist").id


def test_removed_bodies_go_with_what_refers_to_them(tmp_path: Path) -> None:
    text = DOCUMENT.replace('<include file="settings.xml"/>', "").replace('<include file="tip.xml"/>', "")
    start, end = text.index('<body name="cloth"'), text.index("</worldbody>")
    source, output = tmp_path / "robot.xml", tmp_path / "out.xml"
    text = text[:start] + text[end:]
    source.write_text(text.replace('<weld name="follow" body1="target" body2="hand" active="false"/>', ""))
    scene = exoskel.load(source)
    scene.world.remove("arm/hand")
    report = exoskel.convert(scene, output, to="mjcf")
    model = mujoco.MjModel.from_xml_path(str(output))
    assert "<!-- a robot -->" in output.read_text()
    assert (model.npair, model.nskin, model.nmocap, model.ntendon, model.neq, model.ntuple) == (1, 1, 1, 0, 0, 0)
    assert [model.actuator(i).name for i in range(model.nu)] == ["m"]
    assert model.nsensor == 0
    fates = {item.path.rpartition("/")[2]: item for item in report.items if not item.attribute}
    assert not fates["body[@name='hand']"].loss
    assert fates["spatial[@name='rope']"].loss
    assert "not in the output" in fates["jointpos[@name='jp']"].why
    assert fates["pair[@name='touch']"].fate is Fate.EXACT


def test_mass_settings_of_the_compiler_do_not_undo_edits() -> None:
    for setting in ('settotalmass="10"', 'inertiafromgeom="true"'):
        text = f"""<mujoco><compiler {setting}/><worldbody><body name="a"><freejoint/><geom size="0.1"/>
            <body name="b"><joint springdamper="0.1 1"/><inertial pos="0 0 0" mass="3" diaginertia="1 1 1"/>
            <geom size="0.2"/></body></body></worldbody></mujoco>"""
        scene = exoskel.load(text)
        joint = scene.world.model("a").joints[1].dofs[0]
        wanted = joint.stiffness, joint.damping, scene.world.model("a").body("b").mass
        scene.world.model("a").body("a").mass = 2.0
        report = exoskel.convert(scene, None, to="mjcf")
        model = mujoco.MjModel.from_xml_string(report.data.decode())
        assert b"exoskel" not in report.data
        assert model.body("a").mass[0] == 2.0
        found = model.jnt_stiffness[1], model.dof_damping[6], model.body("b").mass[0]
        assert found[:3] == pytest.approx(wanted, rel=1e-12) or np.ravel(found[0])[0] == pytest.approx(wanted[0])


def test_edits_within_frames_and_copies_are_compared_with_the_scene() -> None:
    """The pose in the document is relative to the frame; an edit of one copy must not change the others."""
    text = """<mujoco><worldbody><frame pos="1 0 0"><body name="a"><freejoint/><geom name="g" size="0.1"/></body></frame>
        <replicate count="2" offset="0 0 1"><body name="r" pos="0 1 0"><joint/><geom size="0.1"/></body></replicate>
        </worldbody></mujoco>"""
    for name in ("a", "r0"):
        scene = exoskel.load(text)
        body = next(one for one in scene.world.bodies() if one.name == name)
        body.pose = exoskel.Pose((5, 0, 0))
        body.mass = 2.0
        report = exoskel.convert(scene, None, to="mjcf")
        assert report.certificate.passed
        data = mujoco.MjModel.from_xml_string(report.data.decode())
        assert data.body(name).pos[0] == pytest.approx(5.0)
        assert [data.body(one).mass[0] for one in ("r0", "r1")].count(2.0) == (name != "a")


def test_saving_edits_the_document_too(robot: tuple[Path, Path]) -> None:
    source, output = robot
    scene = exoskel.load(source)
    _set_mass(scene)
    exoskel.save(scene, output)
    before, after = (mujoco.MjModel.from_xml_path(str(path)) for path in (source, output))
    assert set(differing_fields(before, after)) <= MASSES
    assert after.body("arm").mass[0] == 7.5
    assert not any(one.code == "FM201" for one in scene.diagnostics)


def test_saving_twice_in_place(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(
        '<mujoco><!-- mine --><worldbody><body name="a"><joint name="j"/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    scene = exoskel.load(path)
    for mass in (2.0, 3.0):
        scene.world.model("a").body("a").mass = mass
        scene.world.model("a").joint("j").dofs[0].damping = mass
        exoskel.save(scene)
        model = mujoco.MjModel.from_xml_path(str(path))
        assert (model.body("a").mass[0], np.ravel(model.dof_damping)[0]) == (mass, mass)
        assert "mine" in path.read_text()
        assert exoskel.load(path).world.model("a").body("a").mass == mass


@pytest.mark.parametrize(
    "rotation",
    ['euler="10 20 30"', 'quat="1 2 3 4"', 'axisangle="1 2 3 40"', 'xyaxes="1 2 3 0 1 0"', 'zaxis="1 2 3"', ""],
)
@pytest.mark.parametrize("compiler", ['eulerseq="zyx"', 'angle="radian" eulerseq="XyZ"'])
def test_what_is_in_frames_is_edited_in_the_document(rotation: str, compiler: str) -> None:
    text = f"""<mujoco><compiler {compiler}/><worldbody><frame pos="1 2 3" {rotation}><frame zaxis="0 0 -1" pos="0 1 0">
      <body name="a" {rotation}><joint name="j"/>
        <frame pos="3 2 1" {rotation}><geom name="g" type="box" size="1 2 3"/><site name="s" {rotation}/></frame></body>
      <camera name="c" {rotation}/><light name="l" pos="1 1 1" dir="1 2 3"/></frame></frame></worldbody></mujoco>"""
    scene = exoskel.load(text)
    world, body = scene.world, scene.world.model("a").body("a")
    for item in (body, body.shapes[0]):
        item.pose = exoskel.Pose((0.1, 0.2, 0.3), exoskel.Euler((0.3, 0.2, 0.1)))
    body.markers[0].offset, body.markers[0].quaternion = (0.1, 0.2, 0.3), (0.6, 0.0, 0.8, 0.0)
    world.cameras[0] = structs.replace(world.cameras[0], pose=exoskel.Pose((4, 5, 6), exoskel.Euler((0.1, 0.2, 0.3))))
    world.lights[0] = structs.replace(world.lights[0], position=(7, 8, 9), direction=(0, 0.6, 0.8))
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert report.data.count(b"<frame") == 3
    again = exoskel.load(report.data, format="mjcf").world
    found = again.model("a").body("a")
    pairs = [(body.pose, found.pose), (body.shapes[0].pose, found.shapes[0].pose)]
    pairs += [(world.cameras[0].pose, again.cameras[0].pose)]
    assert all(np.abs(one.matrix() - other.matrix()).max() < 1e-12 for one, other in pairs)
    assert found.markers[0].offset == pytest.approx(body.markers[0].offset, abs=1e-12)
    assert found.markers[0].quaternion == pytest.approx(body.markers[0].quaternion, abs=1e-12)
    assert again.lights[0].position == pytest.approx((7, 8, 9), abs=1e-12)
    assert again.lights[0].direction == pytest.approx((0, 0.6, 0.8), abs=1e-12)


@pytest.mark.parametrize("kind", ["hinge", "slide"])
@pytest.mark.parametrize("unit", ["degree", "radian"])
def test_limits_and_springs_of_joints_with_a_reference_position_are_edited(kind: str, unit: str) -> None:
    text = f"""<mujoco><compiler angle="{unit}"/><default><joint ref="0.5"/></default><worldbody><body name="a">
      <joint name="j" type="{kind}" stiffness="1" solreflimit="0.03 1"/><geom size="1"/></body></worldbody></mujoco>"""
    scene = exoskel.load(text)
    dof = scene.world.model("a").joint("j").dofs[0]
    dof.position_limits, dof.rest = (-0.3, 0.2), 0.1
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b"solreflimit" in report.data
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    np.testing.assert_allclose(model.jnt_range[0] - model.qpos0[0], (-0.3, 0.2), atol=1e-12)
    np.testing.assert_allclose(model.qpos_spring[0] - model.qpos0[0], 0.1, atol=1e-12)


def test_models_are_moved_in_the_document(tmp_path: Path) -> None:
    scene = exoskel.load(
        """<mujoco><compiler angle="radian"/><worldbody><body name="a" pos="1 0 0"><freejoint/><geom size="1" user="3"/>
        <body name="b" pos="0 1 0"><joint/><geom size="1"/></body></body></worldbody></mujoco>"""
    )
    model = scene.world.model("a")
    model.pose = exoskel.Pose((0.1, 0.2, 0.3), exoskel.Euler((0.3, 0.2, 0.1)))
    places = [model.pose.matrix() @ body.pose.matrix() for body in model.bodies]
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b'user="3"' in report.data
    again = exoskel.load(report.data, format="mjcf").world.model("a")
    assert all(np.abs(one - other.pose.matrix()).max() < 1e-12 for one, other in zip(places, again.bodies, strict=True))
    exoskel.save(scene, tmp_path / "saved.xml")
    assert b'user="3"' in (tmp_path / "saved.xml").read_bytes()


@pytest.mark.parametrize("joint", ["", '<freejoint name="f"/>', "<freejoint/>", '<joint type="free"/>', "<joint/>"])
@pytest.mark.parametrize("renamed", ["r", "c"])
def test_bodies_of_joints_without_names_are_renamed_in_the_document(joint: str, renamed: str) -> None:
    text = f"""<mujoco><worldbody><!-- mine --><body name="r" pos="0 0 1">{joint}<geom size=".1"/>
      <body name="c" pos=".3 0 0"><joint axis="0 1 0"/><geom size=".1"/></body></body></worldbody>
      <sensor><framepos name="p" objtype="body" objname="{renamed}"/></sensor></mujoco>"""
    scene = exoskel.load(text, format="mjcf")
    names = [one.name for one in scene.world.joints()]
    body = next(one for one in scene.world.bodies() if one.name == renamed)
    body.name = "other"
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    written = report.data.decode()
    assert "<!-- mine --><body" in written and 'objname="other"' in written
    again = [one.name for one in exoskel.load(written, format="mjcf").world.joints()]
    assert again[-1:] == names[-1:] and (again == names or not joint)  # fixed bodies have no joint element
