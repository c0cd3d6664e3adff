"""Scenes as models of Pinocchio: frames, velocities, mass matrices and gravity."""

from __future__ import annotations

import numpy as np
import pytest

import exoskel
from exoskel.scene.kinematics import initial_twists
from tests.support.places import SAMPLES

pinocchio = pytest.importorskip("pinocchio")

FILES = sorted([*(SAMPLES / "skel").glob("*.skel"), *(SAMPLES / "xode").glob("*.xode")])
RATES = [
    f for f in FILES if f.stem in ("cart_pole", "double_pendulum", "ferris_wheel", "gyroscope", "mobile", "swing_ride")
]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_frames_and_velocities_are_those_of_the_scene(file) -> None:
    world = exoskel.load(file).world
    made = exoskel.to_pinocchio(world)
    data, kinematics = made.data(), exoskel.Kinematics(world.models)
    pinocchio.forwardKinematics(made.model, data, made.q, made.v)
    twists, still = initial_twists(world.models, kinematics), (np.zeros(3), np.zeros(3))
    bodies = [(model, body) for model in world.models for body in model.bodies]
    for (model, body), pose in zip(bodies, kinematics.poses(), strict=True):
        frame = made.body(f"{model.name}/{body.name}")
        np.testing.assert_allclose(data.oMf[frame].homogeneous, pose, atol=1e-12)
        if not model.static:
            found = pinocchio.getFrameVelocity(made.model, data, frame, pinocchio.LOCAL_WORLD_ALIGNED)
            speed, spin = twists.get(id(body), still)
            np.testing.assert_allclose(found.linear, speed, atol=1e-12)
            np.testing.assert_allclose(found.angular, spin, atol=1e-12)
    assert sum(one.mass for one in made.model.inertias) == pytest.approx(world.mass)


@pytest.mark.parametrize("file", RATES, ids=lambda file: file.stem)
def test_the_mass_matrix_and_bias_forces_are_those_of_the_scene(file) -> None:
    scene = exoskel.load(file)
    made, simulation = exoskel.to_pinocchio(scene), exoskel.Simulation(scene)
    data = made.model.createData()
    mass = pinocchio.crba(made.model, data, made.q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    scale = np.abs(mass).max()
    moving = np.diag(simulation.mass_matrix()) > 0.0
    np.testing.assert_allclose(mass, simulation.mass_matrix()[moving][:, moving], atol=1e-9 * scale)
    gravity = pinocchio.computeGeneralizedGravity(made.model, data, made.q)
    np.testing.assert_allclose(gravity, simulation.gravity_forces()[moving], atol=1e-9 * max(1, np.abs(gravity).max()))


def test_limits_damping_and_shapes_are_included() -> None:
    world = exoskel.World("w")
    model = world.add_model("arm")
    model.add_body("a", joint="revolute", axis=(0, 1, 0), limits=(-1, 2), damping=0.5, shapes=[exoskel.Box((1, 1, 1))])
    made = exoskel.to_pinocchio(world)
    assert (made.model.lowerPositionLimit[0], made.model.upperPositionLimit[0]) == (-1, 2)
    assert made.model.damping[0] == 0.5
    assert len(made.collisions.geometryObjects) == len(made.visuals.geometryObjects) == 1
    assert not made.losses


def test_names_of_frames_are_different() -> None:
    world = exoskel.World("w")
    for name in ("first", "second"):
        model = world.add_model(name)
        for body in ("universe", "a", "b"):  # "universe" is Pinocchio's frame of the world
            model.add_body(body, joint="revolute", axis=(0, 1, 0), joint_name=body, mass=1, at=(0, 0, 1))
    made = exoskel.to_pinocchio(world)
    names = [*made.names["body"].values(), *made.names["joint"].values()]
    assert len({*names, "universe"}) == len(names) + 1
    assert made.names["body"]["first/a"] == "a"
    for path, name in made.names["body"].items():
        assert made.model.frames[made.body(path)].name == name
        assert made.model.frames[made.body(path)].type == pinocchio.FrameType.BODY
