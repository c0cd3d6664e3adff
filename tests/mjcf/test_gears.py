"""The gear of an actuator is a force at some kinds of joints and a torque at others."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.formats.save import canonical_bytes
from exoskel.scene.joint import TRAITS

GEARS = {"free": "1 0 0 0 0 0", "ball": "1 0 0", "hinge": "2"}
KINDS = {"free": "free", "ball": "ball", "hinge": "revolute", "slide": "prismatic"}
"""The kinds of joints of a scene by those of MuJoCo."""


def document(kind: str) -> str:
    return f"""<mujoco>
  <worldbody><body name="b"><joint name="j" type="{kind}"/><geom size=".1"/></body></worldbody>
  <actuator><motor name="m" joint="j" gear="{GEARS[kind]}"/></actuator>
  <keyframe><key name="home" ctrl="2"/></keyframe>
</mujoco>"""


def changed(kind: str, new: str, path: Path) -> exoskel.Scene:
    path.write_text(document(kind), encoding="utf-8")
    scene = exoskel.load(path)
    joint = next(scene.world.joints())
    joint.kind = KINDS[new]  # type: ignore[assignment]
    joint.axes = ((0.0, 0.0, 1.0),) * TRAITS[joint.kind].axes
    return scene


PAIRS = [(a, b) for a in GEARS for b in KINDS if a != b]


@pytest.mark.parametrize(("kind", "new"), PAIRS)
def test_an_actuator_stays_only_where_its_gear_means_the_same(tmp_path: Path, kind: str, new: str) -> None:
    scene = changed(kind, new, tmp_path / "a.xml")
    exoskel.save(scene)
    text = (tmp_path / "a.xml").read_text(encoding="utf-8")
    stays = (kind, new) == ("hinge", "slide")
    assert ("<motor" in text) is stays
    assert ('ctrl="2"' in text) is stays
    assert 'ctrl=""' not in text  # a list of no numbers
    reported = [one for one in scene.diagnostics if one.code == "FM204" and "'m'" in one.message]
    assert len(reported) == (0 if stays else 1)


@pytest.mark.parametrize(("kind", "new"), PAIRS)
def test_the_same_is_true_in_a_new_document(tmp_path: Path, kind: str, new: str) -> None:
    scene = changed(kind, new, tmp_path / "a.xml")
    text = canonical_bytes(scene, "mjcf", tmp_path).decode()
    assert ("<motor" in text) is ((kind, new) == ("hinge", "slide"))
