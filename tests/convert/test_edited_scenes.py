"""Whatever is edited in a scene, all formats are written: what a format lacks is a loss, not a failed certificate."""

from __future__ import annotations

import pytest

import exoskel
from tests.support.edited_scenes import EDITS, SOURCES, NotInSceneError, arm_of, source_scene

FORMATS = ("skel", "urdf", "sdf", "mjcf", "usd")
ABSENT = {
    "urdf": {"sensor renamed"},
    "sdf": {"actuator renamed"},
    "mjcf": {"color of visuals"},
    "skel": {"actuator renamed", "sensor renamed"},
}
"""Edits of what the source does not contain."""


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("source", SOURCES)
def test_an_edited_scene_is_written_in_all_formats(source: str, edit: str) -> None:
    scene = source_scene(source)
    try:
        EDITS[edit](scene)
    except NotInSceneError:
        assert edit in ABSENT[source]
        return
    for format in FORMATS:
        model = arm_of(scene).name if format == "urdf" else None
        report = exoskel.convert(scene, None, to=format, model=model)
        failed = [check.name for check in report.certificate.checks if not check.passed]
        assert not failed, format


def test_references_to_removed_items_are_reported_and_not_written() -> None:
    for format in ("skel", "xode", "mjcf"):
        scene = source_scene("mjcf")
        EDITS["actuator of an unknown joint"](scene)
        before = list(scene.diagnostics)
        report = exoskel.convert(scene, None, to=format)
        assert [one.code for one in report.diagnostics if one not in before] == ["SC116"]
        assert scene.diagnostics == before
        assert scene.world.actuators[-1].joint == "gone/joint"
        again = exoskel.load(report.data, format=format)
        assert not any(one.code == "SC116" for one in again.diagnostics)


def test_bodies_are_written_in_the_order_of_their_joints() -> None:
    for format in ("skel", "xode"):
        scene = source_scene("skel")
        names = [body.name for body in arm_of(scene).bodies]
        EDITS["bodies reversed"](scene)
        again = exoskel.load(exoskel.convert(scene, None, to=format).data, format=format)
        assert [body.name for body in arm_of(again).bodies] == names
        assert [joint.name for joint in arm_of(again).joints] == [joint.name for joint in arm_of(scene).joints]


def test_a_range_without_extent_is_written_to_mjcf() -> None:
    scene = source_scene("mjcf")
    arm_of(scene).joint("shoulder").dofs[0].force_limits = (0.0, 0.0)
    again = exoskel.load(exoskel.convert(scene, None, to="mjcf").data, format="mjcf")
    limits = arm_of(again).joint("shoulder").dofs[0].force_limits
    assert limits == pytest.approx((0.0, 0.0), abs=1e-11)


def test_renamed_sensors_stay_in_their_order() -> None:
    scene = source_scene("mjcf")
    EDITS["sensor renamed"](scene)
    again = exoskel.load(exoskel.convert(scene, None, to="mjcf").data, format="mjcf")
    assert [one.name for one in again.world.sensors] == ["renamed", "g1"]


def test_a_joint_that_mimics_another_kind_does_not_keep_that_joint_from_being_lowered() -> None:
    scene = source_scene("mjcf")
    EDITS["joint replaced by planar"](scene)
    report = exoskel.convert(scene, None, to="sdf")
    again = arm_of(exoskel.load(report.data, format="sdf"))
    assert [joint.kind for joint in again.joints if joint.name.startswith("shoulder")] == [
        *["prismatic"] * 2,
        "revolute",
    ]


def test_an_imu_of_a_moved_body_still_measures_its_orientation_in_the_world() -> None:
    scene = source_scene("sdf")
    EDITS["model moved"](scene)
    again = exoskel.load(exoskel.convert(scene, None, to="sdf").data, format="sdf")
    assert [one.kind for one in again.world.sensors] == [one.kind for one in scene.world.sensors]


def test_joints_that_mimic_each_other_are_a_loss_in_urdf() -> None:
    scene = source_scene("mjcf")
    EDITS["hinge mimics hinge"](scene)
    report = exoskel.convert(scene, None, to="urdf")
    assert report.certificate.passed
    assert any("UR703" in one.why for one in report.losses)
