"""New MJCF documents keep data of sites, cameras, lights and actuators, groups, and how lights look."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest
from msgspec import structs

import exoskel
from tests.support.edits import edited
from tests.support.mujoco_version import needs_mujoco_4

DOCUMENT = """<mujoco model="m">
  <default><camera ipd="0.2"/><light bulbradius="0.3"/></default>
  <worldbody>
    <light name="l" pos="0 0 2" intensity="3" range="5"/><light name="m" pos="0 0 3"/>
    <camera name="c" pos="0 0 2" user="3"/>
    <body name="b"><joint name="j"/><geom size=".1"/><site name="s" user="7" group="4"/><site name="t" user="1 2"/>
      <camera name="d" ipd="0.1"/></body>
  </worldbody>
  <actuator>
    <motor name="a" joint="j" user="9" group="2"/><muscle name="mus" joint="j" lengthrange="0 1" group="3" user="1"/>
    <position name="p" joint="j" kp="3" user="4" lengthrange="0 1"/>
  </actuator>
</mujoco>"""
FIELDS = (
    *("site_user", "site_group", "cam_user", "cam_ipd", "light_intensity", "light_range", "light_bulbradius"),
    *("actuator_user", "actuator_group", "actuator_lengthrange"),
)


@pytest.mark.parametrize("removed", ["", "a"])
def test_new_documents_keep_data(removed: str) -> None:
    scene = exoskel.load(DOCUMENT)
    scene.world.model("b").add_body("new", parent="b", joint="revolute", axis=(1, 0, 0), mass=1.0)
    scene.world.erp = 0.3  # which a copy of the document cannot have
    scene.world.actuators = [one for one in scene.world.actuators if one.name != removed]
    scene.world.lights[0] = structs.replace(scene.world.lights[0], position=(0.0, 0.0, 4.0))
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    before, after = mujoco.MjModel.from_xml_string(DOCUMENT), mujoco.MjModel.from_xml_string(report.data.decode())
    assert after.body("new").mass[0] == 1.0
    for name in FIELDS:
        mine, theirs = getattr(before, name), getattr(after, name)
        if name.startswith("actuator"):
            mine = mine[[number for number in range(before.nu) if before.actuator(number).name != removed]]
        np.testing.assert_array_equal(mine, theirs[: len(mine)], err_msg=name)
    kept = {item.attribute for item in report.items if item.fate == "kept"}
    assert kept >= {"user", "group", "ipd", "intensity", "range", "bulbradius", "lengthrange"}


def test_new_documents_keep_nonlinear_springs_and_dampers() -> None:
    """The linear part is that of the scene."""
    text = """<mujoco><worldbody>
      <body name="b"><joint name="j" stiffness="3 2 1" damping="0.5 0.1"/><geom size=".1"/>
        <body name="c"><joint name="k" type="slide" stiffness="0 2" damping="4"/><geom size=".1"/></body></body>
    </worldbody></mujoco>"""
    scene = exoskel.load(text)
    scene.world.model("b").add_body("new", parent="b", joint="revolute", axis=(1, 0, 0), mass=1.0)
    scene.world.erp = 0.3  # which a copy of the document cannot have
    scene.world.model("b").joint("j").dofs[0].stiffness = 7.0
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert [item.path for item in report.losses] == ["world:world.erp"]
    model, before = mujoco.MjModel.from_xml_string(report.data.decode()), mujoco.MjModel.from_xml_string(text)
    numbers = [model.joint(name).id for name in ("j", "k")]
    assert model.jnt_stiffness[numbers].tolist() == [7.0, 0.0]
    assert model.dof_damping[numbers].tolist() == [0.5, 4.0]
    np.testing.assert_array_equal(model.jnt_stiffnesspoly[numbers], before.jnt_stiffnesspoly)
    np.testing.assert_array_equal(model.dof_dampingpoly[numbers], before.dof_dampingpoly)
    assert any("MJ303" in item.why for item in exoskel.convert(text, None, to="skel").losses)


VIEWS = """<mujoco><asset><texture name="t" type="2d" builtin="checker" width="4" height="4"/></asset><worldbody>
  <light name="l" type="image" texture="t" pos="0 0 3"/><light pos="0 0 4" bulbradius="0.3"/><light pos="0 0 5"/>
  <camera name="c" resolution="8 6" sensorsize="0.01 0.02" focal="0.03 0.03" principalpixel="1 2"/>
  <camera resolution="8 6" sensorsize="0.01 0.02" focalpixel="30 40" principal="0.1 0.2" ipd="0.1"/>
  <body name="b" sleep="never" simple="false"><joint name="j" stiffness="1" springyield="2"/>
    <geom size=".1" castshadow="false"/></body></worldbody></mujoco>"""


@needs_mujoco_4
def test_new_documents_keep_lenses_and_images_of_lights() -> None:
    report = exoskel.convert(edited(VIEWS), None, to="mjcf")
    before, after = mujoco.MjModel.from_xml_string(VIEWS), mujoco.MjModel.from_xml_string(report.data.decode())
    for name in ("intrinsic", "sensorsize", "fovy", "ipd", "resolution"):
        np.testing.assert_array_equal(getattr(before, f"cam_{name}"), getattr(after, f"cam_{name}")[:2])
    for name in ("type", "bulbradius", "softness"):
        np.testing.assert_array_equal(getattr(before, f"light_{name}"), getattr(after, f"light_{name}"))
    assert after.tex(int(after.light_texid[0])).name == "t"
    assert b"softness" not in report.data, "MuJoCo 3.3 refuses it, and it has MuJoCo's default"
    assert not after.geom_castshadow[0]
    assert after.jnt_springyield[0] == pytest.approx(before.jnt_springyield[0], rel=1e-12)
    assert after.tree_sleep_policy[0] == before.tree_sleep_policy[0]
    assert [item.attribute for item in report.items if item.fate == "dropped"] == []


@needs_mujoco_4
def test_an_edited_angle_of_view_replaces_the_lens() -> None:
    scene = edited(VIEWS.replace(' springyield="2"', "").replace(' castshadow="false"', ""))
    scene.world.cameras[0] = structs.replace(scene.world.cameras[0], field_of_view=50.0)
    report = exoskel.convert(scene, None, to="mjcf")
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    assert model.camera("c").fovy[0] == 50.0
    assert not model.cam_sensorsize[model.camera("c").id].any()
    lost = [item for item in report.items if item.attribute == "principalpixel"]
    assert [item.fate for item in lost] == ["dropped"]


def test_geoms_without_a_name_in_included_files_keep_their_materials(tmp_path: Path) -> None:
    """All elements of an included file have the number of the element that includes it."""
    (tmp_path / "part.xml").write_text(
        """<mujocoinclude><body name="a"><freejoint/><geom size="1" material="red" group="2"/>
        <geom size="2" contype="0" conaffinity="0" material="blue"/><geom size="3"/>
        <site pos="1 0 0" material="red" group="4"/><site pos="2 0 0" material="blue"/></body></mujocoinclude>"""
    )
    (tmp_path / "scene.xml").write_text(
        """<mujoco><asset><material name="red" emission="0.5"/><material name="blue" shininess="0.1"/></asset>
        <worldbody><include file="part.xml"/></worldbody></mujoco>"""
    )
    report = exoskel.convert(edited(tmp_path / "scene.xml"), None, to="mjcf")
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    materials = {
        float(size): model.mat(number).name if number >= 0 else ""
        for size, number in zip(model.geom_size[:, 0], model.geom_matid, strict=True)
    }
    assert materials == {1.0: "red", 2.0: "blue", 3.0: ""}
    assert sorted(model.geom_group[model.geom_matid >= 0].tolist()) == [0, 2]
    assert [model.mat(number).name for number in model.site_matid] == ["red", "blue"]
    assert model.site_group.tolist() == [4, 0]


@needs_mujoco_4
def test_words_of_mujoco_4_are_not_in_new_documents_for_others() -> None:
    text = VIEWS.replace(' simple="false"', "").replace(' sleep="never"', "")
    report = exoskel.convert(edited(text), None, to="mjcf", target="dm_control")
    assert b"springyield" not in report.data
    assert b"castshadow" not in report.data
    refused = {item.attribute for item in report.losses if item.why == "MuJoCo 3 refuses it"}
    assert refused == {"springyield", "castshadow"}
