"""Scenes as models of Newton: counts, masses, poses and velocities."""

from __future__ import annotations

import numpy as np
import pytest

import exoskel
from exoskel import spatial
from exoskel.scene.kinematics import initial_twists
from tests.support.places import SAMPLES

newton = pytest.importorskip("newton")

FILES = sorted([*(SAMPLES / "skel").glob("*.skel"), *(SAMPLES / "xode").glob("*.xode")])
SINGLE = 5e-5
"""Newton computes in single precision."""


@pytest.mark.parametrize("file", [f for f in FILES if f.stem != "screw_press"], ids=lambda file: file.stem)
def test_bodies_and_velocities_are_those_of_the_scene(file) -> None:
    world = exoskel.load(file).world
    made = exoskel.to_newton(world)
    model = made.model("cpu")
    state = model.state()
    newton.eval_fk(model, model.joint_q, model.joint_qd, state)
    found, rates, masses = state.body_q.numpy(), state.body_qd.numpy(), model.body_mass.numpy()
    assert model.body_count == sum(1 for _ in world.bodies())
    assert model.joint_dof_count == sum(one.dof_count for one in world.models if not one.static)
    kinematics = exoskel.Kinematics(world.models)
    twists, still = initial_twists(world.models, kinematics), (np.zeros(3), np.zeros(3))
    bodies = [(one, body) for one in world.models for body in one.bodies]
    for (one, body), pose in zip(bodies, kinematics.poses(), strict=True):
        number = made.body(f"{one.name}/{body.name}")
        np.testing.assert_allclose(found[number, :3], pose[:3, 3], atol=SINGLE)
        np.testing.assert_allclose(spatial.quaternion_matrix(found[number][[6, 3, 4, 5]]), pose[:3, :3], atol=SINGLE)
        assert masses[number] == pytest.approx(body.mass, rel=1e-5)
        if not one.static:
            speed, spin = twists.get(id(body), still)
            at_com = speed + np.cross(spin, pose[:3, :3] @ np.array(body.com))
            scale = 1.0 + float(np.abs(at_com).max())
            np.testing.assert_allclose(rates[number, :3], at_com, atol=SINGLE * scale * 2)
            np.testing.assert_allclose(rates[number, 3:], spin, atol=SINGLE * (1.0 + float(np.abs(spin).max())))


def test_a_screw_is_a_loss() -> None:
    losses = exoskel.to_newton(exoskel.load("dart://sample/skel/screw_press.skel")).losses
    assert any("does not travel" in loss for loss in losses)


@pytest.mark.filterwarnings("error:.*deprecated")
def test_springs_use_nothing_that_is_deprecated() -> None:
    world = exoskel.load("dart://sample/skel/springs.skel").world
    made = exoskel.to_newton(world)
    sprung = [dof.rest for joint in world.joints() for dof in joint.dofs if dof.stiffness]
    assert sprung
    held = made.builder.joint_target_q if hasattr(made.builder, "joint_target_q") else made.builder.joint_target_pos
    assert set(np.round(sprung, 6)) <= set(np.round(held, 6))
