"""Skins are written to new documents if all of their bones are."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.fates import Fate
from tests.mjcf.model_fields import model_fields
from tests.support.edits import edited

SKIN = """<skin name="s" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2" material="m" inflate="0.01" group="2">
<bone body="b" bindpos="0 0 1" bindquat="1 0 0 0" vertid="0 1" vertweight="1 1"/>
<bone body="c" bindpos="0 0 2" bindquat="0.8 0 0.6 0" vertid="2 1" vertweight="1 0.5"/></skin>"""


def document(section: str = "deformable", skin: str = SKIN) -> str:
    assets = '<asset><material name="m" rgba="1 0 0 1"/></asset>'
    return f"""<mujoco>{assets}<{section}>{skin}</{section}><worldbody><body name="b" pos="0 0 1"><joint name="j" ref="10"/>
      <geom size=".1"/><body name="c" pos="0 0 1"><joint type="ball"/><geom size=".1"/></body></body>
      <body name="d" pos="3 0 0"><freejoint/><geom size=".1"/></body></worldbody></mujoco>"""


def skin_fields(model: mujoco.MjModel) -> dict[str, object]:
    found = {name: value for name, value in model_fields(model).items() if name.startswith("skin_")}
    bones = [mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_BODY, number) for number in model.skin_bonebodyid]
    material = model.mat(int(model.skin_matid[0])).name
    return found | {"skin_bonebodyid": bones, "skin_matid": material}


@pytest.mark.parametrize("section", ["deformable", "asset"])
def test_skins_are_kept(section: str) -> None:
    text = document(section)
    report = exoskel.convert(edited(text), None, to="mjcf")
    assert report.certificate.passed
    before, after = (mujoco.MjModel.from_xml_string(one) for one in (text, report.data.decode()))
    mine, theirs = skin_fields(before), skin_fields(after)
    assert mine.keys() == theirs.keys()
    for name in mine:
        np.testing.assert_array_equal(np.asarray(mine[name]), np.asarray(theirs[name]), err_msg=name)
    fates = {item.fate for item in report.items if "/skin" in item.path}
    assert fates == {Fate.KEPT}


@pytest.mark.parametrize(
    "skin",
    [SKIN, SKIN.replace('body="c"', 'body="d"')],
    ids=["bones that are written", "a removed bone"],
)
def test_skins_are_lost_with_their_bones(skin: str) -> None:
    scene = edited(document(skin=skin))
    model = scene.world.models[-1]
    scene.world.models.remove(model)  # body d
    report = exoskel.convert(scene, None, to="mjcf")
    is_kept = 'body="d"' not in skin
    assert (b"<skin" in report.data) is is_kept
    fates = {item.fate for item in report.items if "/skin" in item.path}
    assert fates == ({Fate.KEPT} if is_kept else {Fate.DROPPED})
    assert mujoco.MjModel.from_xml_string(report.data.decode()).nskin == is_kept
