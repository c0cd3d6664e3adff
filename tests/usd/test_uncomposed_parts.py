"""The fates of what a file contains and its composed stage does not: variants, inactive prims, classes, comments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.conversion.report import Report
from exoskel.fates import Fate
from tests.support.edits import edited

pytest.importorskip("pxr")
SOURCE = """#usda 1.0
# about the file
(
    defaultPrim = "World"
    metersPerUnit = 1
    subLayers = [
        @./below.usda@
    ]
    upAxis = "Z"
)
class Xform "Used"
{
    custom int note = 1
}
class Xform "Unused"
{
}
over "Alone"
{
}
def Xform "World" (
    variants = { string size = "small" }
    prepend variantSets = "size"
)
{
    # about the world
    def Cube "box" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])
    {
        double3 xformOp:translate.timeSamples = { 0: (0, 0, 1), 10: (0, 0, 2) }
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def Sphere "ball" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])
    {
        double radius.timeSamples = { 0: 1, 10: 2 }
        double3 xformOp:translate.timeSamples = { 0: (3, 0, 1), 10: (3, 0, 2) }
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def Cube "off" (active = false)
    {
        def Cube "inside"
        {
        }
    }
    def Xform "child" (inherits = </Used>)
    {
    }
    def IsaacSensor "sensor" (kind = "component")
    {
        custom string note = "#no comment"
        def Xform "part" (kind = "component")
        {
            custom int level = 1
        }
    }
    variantSet "size" = {
        "small" {
            def Cube "cube"
            {
            }
        }
        "large" {
            def Cube "cube"
            {
                double size = 5
            }
        }
    }
}
"""


def convert(folder: Path, name: str, *, is_edited: bool) -> Report:
    (folder / "below.usda").write_text("#usda 1.0\n")
    (folder / "a.usda").write_text(SOURCE)
    source: Any = edited(folder / "a.usda") if is_edited else folder / "a.usda"
    (folder / name).parent.mkdir(exist_ok=True)
    return exoskel.convert(source, folder / name)


def fate_of(report: Report, path: str) -> Fate:
    (found,) = [one for one in report.items if one.path == path]
    return found.fate


UNCOMPOSED = ("/World{size=large}", "/World/off", "/Unused", "/Alone")
COMMENTS = ("comment[1]", "comment[2]")


def test_an_edited_scene_reports_what_is_not_in_the_composed_stage(tmp_path: Path) -> None:
    from pxr import Usd

    report = convert(tmp_path, "b.usda", is_edited=True)
    fates = {path: fate_of(report, path) for path in (*UNCOMPOSED, *COMMENTS)}
    assert set(fates.values()) == {Fate.DROPPED}
    assert {"/World{size=large}", "/World/off"} <= {one.path for one in report.losses}
    assert fate_of(report, "/Used") is Fate.LOWERED
    stage = Usd.Stage.Open(str(tmp_path / "b.usda"))
    assert not [one for one in stage.TraverseAll() if one.GetName() in ("off", "Unused", "Alone")]
    assert stage.GetDefaultPrim().GetChild("child").GetAttribute("note").Get() == 1


def test_another_format_reports_what_is_not_in_the_composed_stage(tmp_path: Path) -> None:
    report = convert(tmp_path, "b.xml", is_edited=False)
    assert {fate_of(report, path) for path in (*UNCOMPOSED, *COMMENTS)} == {Fate.DROPPED}


def test_an_unedited_file_keeps_all_of_them(tmp_path: Path) -> None:
    report = convert(tmp_path, "there/b.usda", is_edited=False)
    assert {fate_of(report, path) for path in UNCOMPOSED} == {Fate.EXACT}
    assert {fate_of(report, path) for path in COMMENTS} == {Fate.EXACT}
    assert b"# about the world" in (tmp_path / "there/b.usda").read_bytes()


def test_the_binary_form_has_no_comments(tmp_path: Path) -> None:
    report = convert(tmp_path, "b.usdc", is_edited=False)
    assert {fate_of(report, path) for path in UNCOMPOSED} == {Fate.EXACT}
    assert {fate_of(report, path) for path in COMMENTS} == {Fate.DROPPED}
    assert report.losses == []


@pytest.mark.parametrize("name", ["there/b.usda", "there/b.usdc"])
def test_sublayers_with_other_paths_are_lowered(tmp_path: Path, name: str) -> None:
    report = convert(tmp_path, name, is_edited=False)
    (found,) = [one for one in report.items if one.attribute == "subLayers"]
    assert found.fate is Fate.LOWERED
    assert not [one for one in exoskel.load(tmp_path / name).diagnostics if one.code == "US101"]


def test_sublayers_with_the_same_paths_are_exact(tmp_path: Path) -> None:
    report = convert(tmp_path, "b.usda", is_edited=False)
    (found,) = [one for one in report.items if one.attribute == "subLayers"]
    assert found.fate is Fate.EXACT


def test_each_animated_property_that_is_read_is_approximated(tmp_path: Path) -> None:
    report = convert(tmp_path, "b.usda", is_edited=True)
    fates = {one.path: one.fate for one in report.items}
    for path in ("box/@xformOp:translate", "ball/@radius", "ball/@xformOp:translate"):
        assert fates[f"/World/{path}"] is Fate.APPROXIMATED


def test_kinds_of_preserved_prims_are_kept_if_a_model_may_be_there(tmp_path: Path) -> None:
    from pxr import Usd

    convert(tmp_path, "b.usda", is_edited=True)
    stage = Usd.Stage.Open(str(tmp_path / "b.usda"))
    sensor = stage.GetDefaultPrim().GetChild("sensor")
    assert sensor.GetMetadata("kind") == "component"
    assert sensor.GetChild("part").GetMetadata("kind") == "subcomponent"
