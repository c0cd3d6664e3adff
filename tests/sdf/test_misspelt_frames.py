"""Misspelt names of frames and joints: all are reported at their places, once, and `check --fix` corrects them."""

from __future__ import annotations

from pathlib import Path

import exoskel
from exoskel.cli.main import main

SDF = """<sdf version="1.11"><model name="m">
<frame name="mount" attached_to="bse"><pose>0 0 1 0 0 0</pose></frame>
<frame name="tip" attached_to="mout"><pose relative_to="mount"/></frame>
<link name="base"/><link name="arm"><pose relative_to="moun">1 0 0 0 0 0</pose></link>
<joint name="hinge" type="revolute"><parent>base</parent><child>arm</child>
<axis><xyz expressed_in="mont">0 0 1</xyz><mimic joint="slyder"><multiplier>2</multiplier></mimic></axis></joint>
<link name="c"/><joint name="slider" type="prismatic"><parent>base</parent><child>c</child>
<axis><xyz>0 0 1</xyz></axis></joint></model></sdf>
"""


def test_every_misspelt_frame_is_reported_once_at_its_place() -> None:
    found = [d for d in exoskel.load(SDF).diagnostics if d.severity.value == "error"]
    assert sorted((d.code, d.line, d.message.split("'")[1]) for d in found) == [
        ("SD050", 2, "bse"),
        ("SD050", 3, "mout"),
        ("SD050", 4, "moun"),
        ("SD050", 6, "mont"),
        ("SD065", 6, "slyder"),
    ]
    lines = SDF.splitlines()
    for one in found:
        assert lines[one.line - 1][one.column - 1 :].startswith(one.message.split("'")[1])


def test_misspelt_frames_and_joints_are_fixed(tmp_path: Path) -> None:
    file = tmp_path / "m.sdf"
    file.write_text(SDF)
    assert main(["check", str(file), "--fix"]) == 0
    names = {"bse": "base", "mout": "mount", '"moun"': '"mount"', "mont": "mount", "slyder": "slider"}
    wanted = SDF
    for wrong, right in names.items():
        wanted = wanted.replace(wrong, right)
    assert file.read_text() == wanted


def test_a_frame_of_the_world_that_nothing_uses_is_checked() -> None:
    text = (
        '<sdf version="1.11"><world name="w"><frame name="f" attached_to="modle"/>'
        '<model name="model"><link name="l"/></model></world></sdf>'
    )
    (found,) = [d for d in exoskel.load(text).diagnostics if d.severity.value == "error"]
    assert found.message == "unknown frame 'modle'; the default frame is used"
    assert found.hint == "did you mean 'model'?"


def test_the_joint_that_a_joint_of_a_nested_model_mimics_is_suggested_without_its_prefix() -> None:
    text = SDF.replace("slyder", "slidr").replace('<model name="m">', '<model name="o"><model name="m">')
    text = text.replace("</model>", "</model></model>")
    (found,) = [d for d in exoskel.load(text).diagnostics if d.code == "SD065"]
    assert found.hint == "did you mean 'slider'?"
