"""Scenes as objects of MuJoCo, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import exoskel
from tests.support.places import SAMPLES

NAMES = sorted(path.name for path in (SAMPLES / "skel").glob("*.skel"))
CONTACT_FREE = ("double_pendulum.skel", "cart_pole.skel", "gyroscope.skel", "ferris_wheel.skel")


def poses(made: exoskel.MujocoModel, data: mujoco.MjData, world: exoskel.World) -> np.ndarray:
    """The positions of all bodies, found by their names in the scene."""
    paths = [f"{model.name}/{body.name}" for model in world.models for body in model.bodies]
    return np.array([data.body(made.names["body"][path]).xpos for path in paths])


@pytest.mark.parametrize("name", NAMES)
def test_bodies_and_masses_are_those_of_the_scene(name: str) -> None:
    world = exoskel.load(SAMPLES / "skel" / name).world
    made = exoskel.to_mujoco(world)
    found = poses(made, made.data(), world)
    np.testing.assert_allclose(found, exoskel.Kinematics(world.models).poses()[:, :3, 3], atol=1e-9)
    moving = [(m, b) for m in world.models if not m.static for b in m.bodies]
    masses = [made.model.body(made.names["body"][f"{m.name}/{b.name}"]).mass[0] for m, b in moving if not b.soft]
    np.testing.assert_allclose(masses, [b.mass for _, b in moving if not b.soft], rtol=1e-9)


@pytest.mark.parametrize("name", [name for name in CONTACT_FREE if name in NAMES])
def test_the_model_moves_as_a_simulation_does(name: str) -> None:
    scene = exoskel.load(SAMPLES / "skel" / name)
    made, simulation = exoskel.to_mujoco(scene), exoskel.Simulation(scene)
    data = made.data()
    simulation.step(50)
    for _ in range(50):
        mujoco.mj_step(made.model, data)
    mujoco.mj_forward(made.model, data)
    np.testing.assert_allclose(poses(made, data, scene.world), simulation.body_poses[:, :3, 3], atol=1e-3)


def test_the_specification_can_be_edited_and_read_back(tmp_path: Path) -> None:
    made = exoskel.to_mujoco(exoskel.load("dart://sample/skel/cart_pole.skel"))
    made.spec.body(made.names["body"]["cart_pole/pole"]).add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.1, 0, 0])
    scene = exoskel.from_mujoco(made.spec)
    assert any(shape.kind == "sphere" for shape in scene.world.model("cart_pole").body("pole").shapes)
    exoskel.save(scene, tmp_path / "edited.xml", format="mjcf")
    assert exoskel.load(tmp_path / "edited.xml").world.model("cart_pole").body("pole")


def test_a_specification_made_by_hand_is_read() -> None:
    spec = mujoco.MjSpec()
    body = spec.worldbody.add_body(name="ball", pos=[0, 0, 1])
    body.add_freejoint()
    body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.2, 0, 0], mass=3)
    scene = exoskel.from_mujoco(spec)
    (found,) = scene.world.bodies()
    assert (found.name, found.mass) == ("ball", 3.0)


def test_a_specification_that_mujoco_rejects_is_an_error_of_ours() -> None:
    spec = mujoco.MjSpec()
    spec.worldbody.add_body(name="a").add_freejoint()  # without mass
    with pytest.raises(exoskel.ExoskelError, match="MuJoCo cannot compile the specification"):
        exoskel.from_mujoco(spec)


def test_scenes_with_several_worlds_are_refused() -> None:
    world = exoskel.load("dart://sample/skel/cart_pole.skel").world
    with pytest.raises(exoskel.ExoskelError, match=r"2 worlds; pass one of them, such as scene.worlds\[0\]"):
        exoskel.to_mujoco(exoskel.Scene([world, exoskel.World("other")]))


def test_losses_are_named() -> None:
    assert exoskel.to_mujoco(exoskel.load("dart://sample/skel/geometry_zoo.skel")).losses


@pytest.mark.parametrize("value", [3, None, "<mujoco/>"])
def test_other_values_than_specifications_are_refused(value: Any) -> None:
    with pytest.raises(exoskel.ExoskelError, match=r"expected a mujoco.MjSpec, not .*; use exoskel.load to read MJCF"):
        exoskel.from_mujoco(value)
