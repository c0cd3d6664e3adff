"""New MJCF documents keep data of sites, cameras, lights and actuators, groups, and how lights look."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from msgspec import structs

import exoskel

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
    assert report.losses == []
    model, before = mujoco.MjModel.from_xml_string(report.data.decode()), mujoco.MjModel.from_xml_string(text)
    numbers = [model.joint(name).id for name in ("j", "k")]
    assert model.jnt_stiffness[numbers].tolist() == [7.0, 0.0]
    assert model.dof_damping[numbers].tolist() == [0.5, 4.0]
    np.testing.assert_array_equal(model.jnt_stiffnesspoly[numbers], before.jnt_stiffnesspoly)
    np.testing.assert_array_equal(model.dof_dampingpoly[numbers], before.dof_dampingpoly)
    assert any("MJ303" in item.why for item in exoskel.convert(text, None, to="skel").losses)
