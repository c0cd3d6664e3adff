"""Values that were set in Python, and that the document does not state: their loss is reported like that of a node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import exoskel
from exoskel import Marker
from exoskel.conversion.report import RefusedError
from exoskel.fates import Fate
from exoskel.scene.body import BodyState, SoftBody
from exoskel.scene.joint import Drive
from exoskel.scene.shape import Box
from tests.support.edited_scenes import arm_of, source_scene

Edit = Callable[[exoskel.Scene], object]


def joint(field: str, value: object) -> Edit:
    return lambda scene: setattr(arm_of(scene).joint("shoulder"), field, value)


def dof(field: str, value: object) -> Edit:
    return lambda scene: setattr(arm_of(scene).joint("shoulder").dofs[0], field, value)


def body(field: str, value: Any) -> Edit:
    return lambda scene: setattr(arm_of(scene).body("upper"), field, value)


LOST: list[tuple[str, str, Edit, str, Fate]] = [
    (
        "urdf",
        "sdf",
        lambda scene: scene.world.add_sensor("rate", "jointpos", _path(scene)),
        "sensors/rate",
        Fate.DROPPED,
    ),
    ("urdf", "mjcf", lambda scene: setattr(scene.world, "erp", 0.3), ".erp", Fate.DROPPED),
    ("mjcf", "urdf", joint("actuator", "locked"), "shoulder.actuator", Fate.DROPPED),
    ("mjcf", "urdf", joint("drives", (Drive(bounce=0.5),)), "shoulder.drives/bounce", Fate.DROPPED),
    ("urdf", "mjcf", dof("acceleration", 1.0), "shoulder.dofs/acceleration", Fate.DROPPED),
    ("urdf", "sdf", dof("armature", 0.1), "shoulder.dofs/armature", Fate.DROPPED),
    ("sdf", "mjcf", body("state", BodyState(force=(1.0, 0.0, 0.0))), "upper.state/force", Fate.DROPPED),
    ("mjcf", "sdf", body("soft", SoftBody(0.5, Box((0.1, 0.1, 0.1)))), "upper.soft", Fate.DROPPED),
    ("urdf", "sdf", lambda scene: arm_of(scene).body("upper").markers.append(Marker("m")), "upper/m", Fate.DROPPED),
]


def _path(scene: exoskel.Scene) -> str:
    return f"{arm_of(scene).name}/shoulder"


def lost_edits(scene: exoskel.Scene, to: str) -> dict[str, Fate]:
    report = exoskel.convert(scene, None, to=to, model=arm_of(scene).name if to == "urdf" else None)
    assert report.certificate.passed
    return {one.path: one.fate for one in report.losses if one.node < 0}


@pytest.mark.parametrize(("source", "to", "edit", "path", "fate"), LOST)
def test_the_loss_of_an_edited_value_is_reported(source: str, to: str, edit: Edit, path: str, fate: Fate) -> None:
    scene = source_scene(source)
    assert not lost_edits(scene, to)
    edit(scene)
    found = lost_edits(scene, to)
    assert [(one.endswith(path), kind) for one, kind in found.items()] == [(True, fate)], found


def test_an_edited_value_that_the_document_states_is_reported_once() -> None:
    scene = source_scene("mjcf")
    before = {one.path for one in exoskel.convert(scene, None, to="urdf", model=arm_of(scene).name).losses}
    arm_of(scene).joint("elbow").dofs[0].stiffness = 7.0
    after = {one.path for one in exoskel.convert(scene, None, to="urdf", model=arm_of(scene).name).losses}
    assert before == after and any("stiffness" in path for path in after)


def test_edited_values_that_are_written_are_no_losses() -> None:
    scene = source_scene("urdf")
    arm_of(scene).body("upper").mass = 3.0
    arm_of(scene).joint("shoulder").dofs[0].damping = 0.3
    arm_of(scene).add_body("tool", parent="hand", joint="revolute", axis=(0, 1, 0), mass=0.5)
    scene.world.gravity = (0.0, 0.0, -1.0)
    for to in ("skel", "xode", "mjcf", "sdf"):
        assert lost_edits(scene, to) == {}, to


def test_a_lost_edit_is_refused_if_losses_are() -> None:
    scene = source_scene("skel")
    scene.world.erp = 0.3
    with pytest.raises(RefusedError, match="would be lost"):
        exoskel.convert(scene, None, to="mjcf", strict=True)
