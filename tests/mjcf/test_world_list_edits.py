"""Edited actuators, tendons, sensors, cameras and lights are edited in the document that they were read from."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import pytest
from msgspec import structs

import exoskel
from tests.mjcf.model_fields import differing_fields

DOCUMENT = """<mujoco model="robot">
  <!-- a robot -->
  <default><default class="strong"><motor gear="20" ctrlrange="-1 1"/></default></default>
  <worldbody>
    <light name="lamp" pos="0 0 3" diffuse="0.5 0.5 0.5"/>
    <body name="arm">
      <joint name="shoulder" axis="0 1 0"/><geom name="bone" size="0.1"/><site name="tip"/>
      <camera name="eye" pos="1 0 0" euler="0 90 0" fovy="50"/>
      <body name="hand" pos="0 0 0.5"><joint name="grip" type="slide"/><geom name="palm" size="0.1"/></body>
    </body>
    <geom name="wall" type="box" size="1 1 1" pos="9 0 0" solimp="0.8 0.9 0.01"/>
  </worldbody>
  <tendon><fixed name="rope" stiffness="3"><joint joint="shoulder" coef="1"/></fixed></tendon>
  <actuator>
    <motor name="m" joint="shoulder" class="strong"/><position name="p" joint="grip" kp="30" dampratio="1"/>
    <velocity name="v" joint="grip" kv="4"/><muscle name="mus" joint="shoulder" lengthrange="0.1 1"/>
    <general name="g" joint="grip" gainprm="2" biasprm="1 -3 -0.5" biastype="affine"/><motor joint="grip"/>
  </actuator>
  <sensor><jointpos name="angle" joint="shoulder" noise="0.1"/></sensor>
</mujoco>
"""


def change(field: str, name: str, /, **values: Any) -> Callable[[exoskel.Scene], None]:
    """An edit of the item of a list of the world with a name."""

    def edit(scene: exoskel.Scene) -> None:
        items = getattr(scene.world, field)
        items[:] = [structs.replace(one, **values) if one.name == name else one for one in items]

    return edit


EDITS: dict[str, tuple[Callable[[exoskel.Scene], None], set[str]]] = {
    "gear": (change("actuators", "m", gear=30.0), {"actuator_gear", "actuator_acc0"}),
    "control range": (change("actuators", "m", control_range=(-2.0, 3.0)), {"actuator_ctrlrange"}),
    "no control range": (
        change("actuators", "m", control_range=(float("-inf"), float("inf"))),
        {"actuator_ctrlrange", "actuator_ctrllimited"},
    ),
    "force range": (
        change("actuators", "v", force_range=(-5.0, 6.0)),
        {"actuator_forcerange", "actuator_forcelimited"},
    ),
    "stiffness of a servo": (change("actuators", "p", gain=40.0), {"actuator_gainprm", "actuator_biasprm"}),
    "damping of a servo": (change("actuators", "p", damping=7.0), {"actuator_biasprm"}),
    "gain of a velocity servo": (change("actuators", "v", gain=8.0), {"actuator_gainprm", "actuator_biasprm"}),
    "gain of a general actuator": (change("actuators", "g", gain=5.0), {"actuator_gainprm"}),
    "bias of a general actuator": (change("actuators", "g", bias=(0.5, -4.0, -1.0)), {"actuator_biasprm"}),
    "limits of a tendon": (change("tendons", "rope", limits=(-0.5, 0.75)), {"tendon_range", "tendon_limited"}),
    "noise": (change("sensors", "angle", noise=0.25), {"sensor_noise"}),
    "cutoff": (change("sensors", "angle", cutoff=2.5), {"sensor_cutoff"}),
    "field of view": (change("cameras", "eye", field_of_view=70.0), {"cam_fovy"}),
    "place of a camera": (
        change("cameras", "eye", pose=exoskel.Pose((0.5, 1.0, 0.0))),
        {"cam_pos", "cam_quat", "cam_mat0", "cam_pos0", "cam_poscom0"},
    ),
    "colour of a light": (change("lights", "lamp", diffuse=(0.25, 0.5, 1.0)), {"light_diffuse"}),
    "place of a light": (
        change("lights", "lamp", position=(1.0, 0.0, 2.0)),
        {"light_pos", "light_pos0", "light_poscom0"},
    ),
}


@pytest.mark.parametrize(("edit", "fields"), EDITS.values(), ids=EDITS)
def test_only_what_was_edited_changes(edit: Callable[[exoskel.Scene], None], fields: set[str], tmp_path: Path) -> None:
    scene = exoskel.load(DOCUMENT)
    edit(scene)
    report = exoskel.convert(scene, tmp_path / "out.xml", to="mjcf")
    assert report.certificate.passed, report.certificate
    assert report.losses == []
    assert "<!-- a robot -->" in (tmp_path / "out.xml").read_text()
    before, after = (mujoco.MjModel.from_xml_string(text) for text in (DOCUMENT, (tmp_path / "out.xml").read_text()))
    changed = set(differing_fields(before, after))
    assert changed
    assert changed <= fields, changed - fields


@pytest.mark.parametrize(
    "edit",
    [
        change("actuators", "m", gain=2.0),
        change("actuators", "m", joint="arm/grip"),
        change("actuators", "m", name="other"),
        lambda scene: scene.world.actuators.pop(),
        lambda scene: scene.world.cameras.pop(),
    ],
    ids=["gain of a motor", "other joint", "other name", "fewer actuators", "fewer cameras"],
)
def test_other_edits_are_written_too(edit: Callable[[exoskel.Scene], None]) -> None:
    scene = exoskel.load(DOCUMENT)
    edit(scene)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed, report.certificate
    again = exoskel.load(report.data)
    rows = [[(one.name, one.joint, one.gear, one.gain) for one in side.world.actuators] for side in (scene, again)]
    assert rows[0] == rows[1]
    assert [one.name for one in again.world.cameras] == [one.name for one in scene.world.cameras]
