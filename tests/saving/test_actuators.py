"""Actuators saved in place: the native part of the file is that of a conversion."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel import Actuator, Joint, Scene
from exoskel.formats.write import reread
from exoskel.scene.fields import DOF_FIELDS

EDITS: dict[str, list[Actuator]] = {
    "servo": [Actuator("servo", "pendulum/hinge", kind="position", gain=20.0, damping=1.0, control=0.3)],
    "motor": [Actuator("push", "pendulum/hinge", gear=2.0, control_range=(-1, 3))],
    "both": [
        Actuator("servo", "pendulum/hinge", kind="position", gain=7.0, control=-0.5),
        Actuator("push", "pendulum/hinge", force_range=(-4, 4)),
    ],
    "unstable": [Actuator("up", "pendulum/hinge", kind="general", bias=(0.0, 5.0, 0.0))],
    "none": [],
}


def native_dof(data: bytes, format: str) -> list[object]:
    """The values of the degree of freedom that other readers find."""
    world = reread(data, format, None, apply_embedded_data=False).world
    dof = next(joint for joint in world.joints() if joint.name == "hinge").dofs[0]
    return [getattr(dof, name) for name in DOF_FIELDS]


@pytest.fixture(params=["skel", "xode"])
def scene(request: pytest.FixtureRequest, tmp_path: Path) -> Scene:
    file = tmp_path / f"pendulum.{request.param}"
    exoskel.convert("dart://sample/skel/pendulum.skel", file)
    return exoskel.load(file)


@pytest.mark.parametrize("first", ["servo", "both", "none"])
@pytest.mark.parametrize("second", EDITS)
def test_edited_actuators_are_written_as_by_a_conversion(scene: Scene, first: str, second: str) -> None:
    format, file = scene.source_info.format, Path(scene.documents[0].name)
    for name in (first, second):
        scene.world.actuators[:] = EDITS[name]
        exoskel.save(scene)
        exoskel.save(scene)
        wanted = exoskel.convert(scene.world, None, to=format).data
        assert native_dof(file.read_bytes(), format) == native_dof(wanted, format)
        again = exoskel.load(file)
        assert again.world.actuators == EDITS[name]
        assert not exoskel.diff(scene, again)
        assert not exoskel.check(again)


def test_edits_of_a_driven_joint_keep_its_actuators(scene: Scene) -> None:
    format, file = scene.source_info.format, Path(scene.documents[0].name)
    scene.world.actuators[:] = EDITS["both"]
    exoskel.save(scene)
    scene.world.find("joint:hinge", Joint)[0].dofs[0].damping = 0.5
    exoskel.save(scene)
    wanted = exoskel.convert(scene.world, None, to=format).data
    assert native_dof(file.read_bytes(), format) == native_dof(wanted, format)
    assert not exoskel.diff(scene, exoskel.load(file))
