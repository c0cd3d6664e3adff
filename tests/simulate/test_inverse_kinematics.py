"""Coordinates back from poses, and velocities from twists: the inverse of our kinematics."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Euler, Kinematics, Pose, World
from exoskel.engines.inverse_kinematics import InverseKinematics
from exoskel.scene.kinematics import initial_twists

TILTED = ((0.0, 0.6, 0.8), (1.0, 0.0, 0.0))
ASKEW = ((0.0, 0.6, 0.8), (1.0, 0.4, 0.0))
THREE = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

KINDS: dict[str, dict[str, Any]] = {
    "weld": {"joint": "weld"},
    "revolute": {"joint": "revolute", "axes": TILTED[:1]},
    "prismatic": {"joint": "prismatic", "axes": TILTED[:1]},
    "screw": {"joint": "screw", "axes": TILTED[:1], "pitch": 0.3},
    "universal": {"joint": "universal", "axes": TILTED},
    "universal, axes askew": {"joint": "universal", "axes": ASKEW},
    "universal, swapped": {"joint": "universal", "axes": TILTED, "swapped": True},
    "hinge2": {"joint": "hinge2", "axes": ASKEW},
    "ball": {"joint": "ball"},
    **{f"euler {''.join(o)}": {"joint": "euler", "order": "".join(o)} for o in permutations("xyz")},
    "translational": {"joint": "translational"},
    "translational2d": {"joint": "translational2d", "plane": "zx"},
    "planar": {"joint": "planar", "plane": "yz"},
    "planar, any": {"joint": "planar", "plane": "arbitrary", "axes": ASKEW},
    "free": {"joint": "free"},
    "amotor": {"joint": "amotor", "axes": THREE},
}


def chain(options: dict[str, Any]) -> World:
    """Two joints of a kind below each other, in frames that are nowhere in particular."""
    world = World()
    model = world.add_model("m", pose=Pose((0.3, 0.1, -0.2), Euler((0.2, -0.4, 0.9))))
    frame = Pose((0.1, -0.2, 0.3), Euler((0.5, 0.3, -0.7)))
    model.add_body("a", pose=Pose((1.0, 2.0, 3.0), Euler((0.4, 0.1, 0.2))), **options)
    model.add_body("b", pose=Pose((1.5, 2.0, 2.0), Euler((-0.4, 0.6, 0.2))), parent="a", **options)
    for joint in model.joints:
        joint.pose = frame
    return world


def somewhere(world: World, rng: np.random.Generator) -> np.ndarray:
    """Positions that have only one name: half a turn for what turns, less for balls and the middle of three angles."""
    out = []
    for joint in world.joints():
        width = 1.4 if joint.kind in ("ball", "euler", "free", "amotor") else 3.0
        out += rng.uniform(-width, width, joint.dof_count).tolist()
    return np.array(out)


@pytest.mark.parametrize("kind", KINDS)
def test_positions_are_recovered_from_poses(kind: str) -> None:
    world, rng = chain(KINDS[kind]), np.random.default_rng(3)
    kinematics, recovery = Kinematics(world.models), InverseKinematics(world.models)
    for _ in range(50):
        positions = somewhere(world, rng)
        assert np.allclose(recovery.positions(kinematics.poses(positions)), positions, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_velocities_are_recovered_from_twists(kind: str) -> None:
    world, rng = chain(KINDS[kind]), np.random.default_rng(4)
    recovery = InverseKinematics(world.models)
    for _ in range(10):
        wanted = rng.uniform(-2.0, 2.0, world.dof_count)
        positions = somewhere(world, rng)
        first = 0
        for joint in world.joints():
            last = first + joint.dof_count
            joint.positions, joint.velocities = tuple(positions[first:last]), tuple(wanted[first:last])
            first = last
        kinematics = Kinematics(world.models)
        moving = initial_twists(world.models, kinematics)
        rows = [moving.get(id(body), ((0.0,) * 3, (0.0,) * 3)) for body in world.bodies()]
        found = recovery.velocities(kinematics.poses(), np.array([[*spin, *speed] for speed, spin in rows]))
        assert np.allclose(found, wanted, rtol=0, atol=1e-8)  # the twists are differences


@pytest.mark.parametrize("kind", ["revolute", "universal", "hinge2", "screw", "euler zyx", "planar"])
def test_whole_turns_are_counted_from_the_last_position(kind: str) -> None:
    world, rng = chain(KINDS[kind]), np.random.default_rng(5)
    kinematics, recovery = Kinematics(world.models), InverseKinematics(world.models)
    for _ in range(20):
        positions = rng.uniform(-20.0, 20.0, world.dof_count)
        near = positions + rng.uniform(-0.1, 0.1, world.dof_count)
        assert np.allclose(recovery.positions(kinematics.poses(positions), near), positions, rtol=0, atol=1e-11)


def test_parallel_axes_share_a_rotation() -> None:
    world = World()
    world.add_model("m").add_body("a", joint="hinge2", axes=((0, 0, 1), (0, 0, 1)), positions=(0.3, 0.4))
    poses = Kinematics(world.models).poses()
    assert InverseKinematics(world.models).positions(poses) == pytest.approx([0.0, 0.7])


def test_bodies_off_their_joint_get_the_nearest_coordinates() -> None:
    world = chain(KINDS["revolute"])
    poses = Kinematics(world.models).poses(np.array([0.5, -1.0]))
    poses[:, :3, 3] += 1e-4
    poses[1, :3, :3] = poses[1, :3, :3] @ exoskel.spatial.exp((1e-4, -1e-4, 1e-4))
    assert np.allclose(InverseKinematics(world.models).positions(poses), [0.5, -1.0], atol=3e-4)
