"""A slide may follow a hinge, as in grippers with a rotating motor, and a hinge a slide."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.scene.joint import Mimic

INERTIA = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
ROBOT = f"""<robot name="gripper"><link name="base">{INERTIA}</link><link name="a">{INERTIA}</link>
<link name="b">{INERTIA}</link>
<joint name="turn" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 0 1"/>{{first}}</joint>
<joint name="slide" type="prismatic"><parent link="base"/><child link="b"/><axis xyz="1 0 0"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/>{{second}}</joint></robot>"""
MIMIC = '<mimic joint="{}" multiplier="{}" offset="0.01"/>'


@pytest.mark.parametrize("follower", ["slide", "turn"])
def test_joints_of_other_kinds_are_followed_in_mujoco(follower: str, tmp_path: Path) -> None:
    leader = {"slide": "turn", "turn": "slide"}[follower]
    factor = {"slide": 0.05, "turn": 20.0}[follower]
    stated = MIMIC.format(leader, factor)
    first, second = (stated if follower == name else "" for name in ("turn", "slide"))
    (tmp_path / "r.urdf").write_text(ROBOT.format(first=first, second=second))
    report = exoskel.convert(tmp_path / "r.urdf", tmp_path / "r.xml")
    assert report.certificate.passed
    assert not [one.path for one in report.losses if "mimic" in one.path]
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "r.xml"))
    assert model.neq == 1 and np.allclose(model.eq_data[0, :3], (0.01, factor, 0))
    again = exoskel.load(tmp_path / "r.xml")
    joints = {one.name: one for one in again.world.models[0].joints}
    assert joints[follower].mimic == Mimic(leader, factor, 0.01)
    assert not again.world.equalities
