"""Samples that go to USD and back: SKEL and XODE, through the text and the binary form."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel.scene.body import BodyState
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.world import World
from tests.support.places import PROJECT

pytest.importorskip("pxr")

SAMPLES = sorted((PROJECT / "src/exoskel/samples").glob("*/*.*ode")) + sorted(
    (PROJECT / "src/exoskel/samples").glob("*/*.skel")
)
WRITTEN_APPROXIMATELY = ("US105", "US107", "shows the soft skin")
"""Ellipsoids that collide as hulls, prescribed motions, which are dampers without a bound, and skins, which are meshes."""
TOLERANCE = 1e-5
"""Single precision, along chains of bodies."""


def _moving(world: World) -> dict[tuple[str, str], np.ndarray]:
    """Initial pose, mass and moment of the bodies of models that are not static."""
    bodies = [(model, body) for model in world.models for body in model.bodies]
    poses = Kinematics(world.models).poses()
    return {
        (model.name, body.name): np.concatenate([pose.ravel(), [body.mass], body.moment])
        for (model, body), pose in zip(bodies, poses, strict=True)
        if not model.static
    }


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_sample_goes_to_usd_and_back(sample: Path, tmp_path: Path) -> None:
    usd = tmp_path / f"scene.{'usdc' if SAMPLES.index(sample) % 2 else 'usda'}"
    exoskel.convert(sample, usd)
    report = exoskel.convert(usd, tmp_path / f"back{sample.suffix}")
    assert report.certificate.passed
    assert [loss for loss in report.losses if not any(code in loss.why for code in WRITTEN_APPROXIMATELY)] == []
    for one, other in zip(exoskel.load(sample).worlds, exoskel.load(report.output).worlds, strict=True):
        mine, theirs = _moving(one), _moving(other)
        assert mine.keys() <= theirs.keys()  # lowered joints have bodies of their own
        for name, values in mine.items():
            assert np.abs(values - theirs[name]).max() <= TOLERANCE * (1.0 + np.abs(values).max()), name
        assert np.allclose(one.gravity, other.gravity)


def test_a_screw_joint_is_saved_as_a_chain(tmp_path: Path) -> None:
    """`save` does not lower joints: the writer does, and its bodies in between are none of the scene."""
    scene = exoskel.load("dart://sample/skel/screw_press.skel")
    exoskel.save(scene, tmp_path / "press.usda")
    again = exoskel.load(tmp_path / "press.usda").world
    assert {body.name for body in scene.world.bodies()} < {body.name for body in again.bodies()}
    (follower,) = (joint for joint in again.joints() if joint.mimic is not None)
    assert (follower.kind, follower.mimic and follower.mimic.joint) == ("prismatic", "thread")


def test_a_floating_body_has_the_velocity_of_its_joint_whatever_it_states() -> None:
    world = World(name="w")
    body = world.add_model("m").add_body("b", mass=1.0, moment=(1, 1, 1, 0, 0, 0))
    scene = exoskel.Scene([world])
    world.models[0].joints[0].velocities = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    body.state = BodyState(linear_velocity=(1.0, 2.0, 3.0), enabled=False)
    report = exoskel.convert(scene, None, to="usd")
    assert report.certificate.passed
    again = exoskel.load(report.data, format="usd").world
    assert again.models[0].joints[0].velocities == (0.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    assert any("linear velocity" in loss.why for loss in report.losses)
