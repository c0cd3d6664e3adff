"""A model of an MJCF scene is written as its document without the other models."""

from __future__ import annotations

from pathlib import Path

import mujoco
import pytest

import exoskel
from exoskel.fates import Fate

DOCUMENT = """<mujoco model="scene">
  <include file="robot.xml"/>
  <option cone="elliptic"/>
  <default><default class="soft"><geom solref=".02 1"/></default></default>
  <asset><material name="red" rgba="1 0 0 1"/></asset>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/><site name="origin"/><light name="sun"/>
    <camera name="watch" mode="targetbody" target="ball"/>
    <body name="ball" pos="1 0 1"><freejoint/><geom name="gb" size=".1" class="soft" material="red"/><site name="sb"/></body>
    <replicate count="2" offset="0 0 1"><body name="r" pos="0 5 0"><joint/><geom name="gr" size=".1"/></body></replicate>
  </worldbody>
  <contact><pair geom1="gb" geom2="palm"/><pair geom1="gb" geom2="floor"/><pair geom1="gr0" geom2="palm"/></contact>
  <sensor><framepos name="fb" objtype="body" objname="ball"/><jointpos name="jp" joint="wrist"/></sensor>
  <keyframe><key name="k" qpos="0.5 1 0 2 1 0 0 0 0.1 0.2" ctrl="3"/></keyframe>
</mujoco>
"""
ROBOT = """<mujoco><worldbody><body name="hand"><joint name="wrist" axis="0 1 0"/><geom name="palm" size=".1" user="1 2"/>
<site name="tip"/></body></worldbody><actuator><muscle name="mus" joint="wrist" lengthrange="-1 1"/></actuator>
<sensor><touch name="t" site="tip"/></sensor></mujoco>"""


@pytest.fixture
def scene(tmp_path: Path) -> Path:
    document = DOCUMENT.replace("ctrl=", 'act="0.5" ctrl=')
    (tmp_path / "scene.xml").write_text(document)
    (tmp_path / "robot.xml").write_text(ROBOT)
    return tmp_path / "scene.xml"


def _convert(scene: Path, model: str) -> tuple[exoskel.Report, mujoco.MjModel]:
    report = exoskel.convert(scene, scene.with_name("out.xml"), to="mjcf", model=model)
    assert report.certificate.passed
    assert b"exoskel_camera" not in report.data  # not a new document
    return report, mujoco.MjModel.from_xml_path(str(scene.with_name("out.xml")))


def _names(model: mujoco.MjModel) -> set[str]:
    return {name.decode() for name in model.names.split(b"\0")}


def test_a_model_keeps_what_belongs_to_it(scene: Path) -> None:
    report, model = _convert(scene, "hand")
    assert _names(model) >= {"hand", "wrist", "palm", "tip", "mus", "jp", "t", "k", "sun"}
    assert _names(model).isdisjoint({"ball", "gb", "floor", "origin", "watch", "fb", "r0", "gr0", "red", "soft"})
    assert (model.npair, model.nu, model.opt.cone) == (0, 1, mujoco.mjtCone.mjCONE_ELLIPTIC)
    assert model.geom_user.tolist() == [[1.0, 2.0]]
    assert (model.key_qpos.tolist(), model.key_act.tolist(), model.key_ctrl.tolist()) == ([[0.5]], [[0.5]], [[3.0]])
    assert {item.unselected for item in report.items if item.fate is Fate.DROPPED} == {"model"}
    assert report.unselected.models == ("world", "ball", "r0", "r1")


def test_a_model_beside_an_included_one_is_written_alone(scene: Path) -> None:
    report, model = _convert(scene, "ball")
    assert _names(model) >= {"ball", "gb", "sb", "fb", "watch", "soft"} - {"soft"}
    assert _names(model).isdisjoint({"hand", "palm", "mus", "floor"})
    assert model.key_qpos.tolist() == [[1, 0, 2, 1, 0, 0, 0]]
    assert model.geom_solref.tolist() == [[0.02, 1.0]]
    include = next(item for item in report.items if item.path.endswith("include[1]"))
    assert include.fate is Fate.APPROXIMATED


def test_removed_parts_of_included_files_are_reported(scene: Path) -> None:
    loaded = exoskel.load(scene)
    loaded.world.remove("hand")
    report = exoskel.convert(loaded, scene.with_name("out.xml"), to="mjcf")
    model = mujoco.MjModel.from_xml_path(str(scene.with_name("out.xml")))
    assert report.certificate.passed
    assert _names(model).isdisjoint({"hand", "palm", "mus", "jp"})
    assert _names(model) >= {"ball", "floor", "r0", "r1"}
    assert {item.path.rpartition("/")[2] for item in report.losses} >= {"include[1]", "jointpos[@name='jp']"}
    exoskel.save(loaded, scene.with_name("saved.xml"))
    told = [one.message for one in loaded.diagnostics if one.code == "FM204"]
    assert "parts of the file are removed: they refer to something that was removed" in told
    assert not [one for one in told if "<include>" in one]


def test_the_body_of_the_world_can_be_removed(scene: Path) -> None:
    loaded = exoskel.load(scene)
    loaded.world.remove("world")
    exoskel.save(loaded, scene.with_name("out.xml"))
    model = mujoco.MjModel.from_xml_path(str(scene.with_name("out.xml")))
    assert {"floor", "origin"}.isdisjoint(_names(model))
    assert (model.nlight, model.npair, model.nu) == (1, 2, 1)


def test_copies_are_removed_together(scene: Path) -> None:
    loaded = exoskel.load(scene)
    loaded.world.remove("r0")
    loaded.world.remove("r1")
    report = exoskel.convert(loaded, scene.with_name("out.xml"), to="mjcf")
    assert report.certificate.passed
    model = mujoco.MjModel.from_xml_path(str(scene.with_name("out.xml")))
    assert (model.nu, model.npair, model.key_qpos.shape) == (1, 2, (1, 8))
