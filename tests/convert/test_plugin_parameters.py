"""Parameters of plugins refer to renamed joints and links by their new names, and to no removed ones."""

from __future__ import annotations

import pytest

import exoskel

_LINK = "<link name='{0}'><inertial><mass>1</mass></inertial></link>"
_JOINT = (
    "<joint name='{0}' type='revolute'><parent>base</parent><child>{1}</child><axis><xyz>0 1 0</xyz></axis></joint>"
)
SDF = f"""<sdf version="1.9"><world name="w"><model name="bot">
  {"".join(_LINK.format(name) for name in ("base", "left", "right"))}{_JOINT.format("a", "left")}{_JOINT.format("b", "right")}
  <plugin filename="diff" name="Drive"><left_joint>a</left_joint><right_joint>b</right_joint><radius>0.3</radius></plugin>
  <plugin filename="base" name="Pose"><link_name>base</link_name></plugin>
</model></world></sdf>"""


@pytest.fixture
def scene() -> exoskel.Scene:
    return exoskel.load(SDF.encode(), format="sdf")


def test_renamed_joints(scene: exoskel.Scene) -> None:
    scene.world.rename("bot/a", "hip")
    report = exoskel.convert(scene, None, to="sdf")
    assert report.certificate.passed
    assert b"<left_joint>hip</left_joint>" in report.data
    assert b"<right_joint>b</right_joint>" in report.data


def test_removed_joints(scene: exoskel.Scene) -> None:
    scene.world.remove("bot/left")
    report = exoskel.convert(scene, None, to="sdf")
    assert b"Drive" not in report.data
    assert b"Pose" in report.data
    assert "plugin[Drive]" in " ".join(item.path for item in report.losses)
