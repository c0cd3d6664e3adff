"""The conversion of quaternions of ball and free joints to rotation vectors, many at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import exoskel
from exoskel import spatial
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.formats.mjcf.model.rotational_joints import log, rotate, rotate_by_unit
from exoskel.spatial import Array

SAMPLES = ("falling_boxes", "chain", "gyroscope", "swing_ride", "walker")


def random_states(engine: MujocoWorld, shape: Sequence[int]) -> tuple[Array, Array]:
    """States with rotations of all angles, and with some by nearly zero and by pi."""
    rng = np.random.default_rng(0)
    coordinates = engine.coordinates
    qpos, qvel = rng.normal(size=(*shape, coordinates.nq)), rng.normal(size=(*shape, coordinates.nv))
    qpos[0], qpos[1] = engine.model.qpos0, engine.model.qpos0 + 1e-13
    for group in coordinates.rotational:
        quaternions = group.qpos[:, -4:]
        qpos[2:4][..., quaternions[:, 0]] = [[[0.0]], [[-0.0]]]
        qpos[..., quaternions] /= np.linalg.norm(qpos[..., quaternions], axis=-1, keepdims=True)
    return qpos, qvel


@pytest.mark.parametrize("name", SAMPLES)
def test_many_states_are_converted_like_single_ones(name: str) -> None:
    engine = MujocoWorld(exoskel.load(f"dart://sample/skel/{name}.skel").world)
    coordinates = engine.coordinates
    qpos, qvel = random_states(engine, (7, 5))
    positions, velocities = coordinates.positions(qpos), coordinates.velocities(qpos, qvel)
    for place in np.ndindex(7, 5):
        np.testing.assert_array_equal(positions[place], coordinates.positions(qpos[place]))
        np.testing.assert_array_equal(velocities[place], coordinates.velocities(qpos[place], qvel[place]))


@pytest.mark.parametrize("name", SAMPLES)
def test_states_return_from_coordinates(name: str) -> None:
    engine = MujocoWorld(exoskel.load(f"dart://sample/skel/{name}.skel").world)
    coordinates = engine.coordinates
    qpos, qvel = random_states(engine, (7, 5))
    positions, velocities = coordinates.positions(qpos), coordinates.velocities(qpos, qvel)
    again, speeds = np.zeros_like(qpos), np.zeros_like(qvel)
    coordinates.set_positions(positions, again)
    coordinates.set_velocities(velocities, again, speeds)
    for group in coordinates.rotational:
        assert (np.linalg.norm(positions[..., group.scene[:, :3]], axis=-1) <= np.pi + 1e-12).all()
        own, found = (spatial.quaternion_matrix(one[..., group.qpos[:, -4:]]) for one in (qpos, again))
        np.testing.assert_allclose(found, own, rtol=0.0, atol=1e-9)
        np.testing.assert_allclose(speeds[..., group.qvel], qvel[..., group.qvel], rtol=0.0, atol=1e-9)


def test_logarithms_of_all_angles_are_exact() -> None:
    rng = np.random.default_rng(0)
    angles = np.concatenate([np.geomspace(1e-15, np.pi, 500), np.pi - np.geomspace(1e-12, 1.0, 500)])
    axes = rng.normal(size=(len(angles), 3))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    quaternions = np.column_stack([np.cos(angles / 2), np.sin(angles / 2)[:, None] * axes])
    for sign in (1.0, -1.0):
        found = np.column_stack(log(tuple((sign * quaternions).T)))
        np.testing.assert_allclose(found, angles[:, None] * axes, rtol=1e-14, atol=1e-15)
    for w in (0.0, -0.0):
        half_turn = log(tuple(np.array([[w], [1.0], [0.0], [0.0]])))
        np.testing.assert_allclose(np.concatenate(half_turn), [np.pi, 0.0, 0.0], rtol=1e-15)


def test_unit_quaternions_rotate_like_others() -> None:
    rng = np.random.default_rng(0)
    quaternions, vectors = rng.normal(size=(4, 100)), tuple(rng.normal(size=(3, 100)))
    unit = quaternions / np.linalg.norm(quaternions, axis=0)
    expected = np.array(rotate(tuple(quaternions), vectors))
    np.testing.assert_allclose(np.array(rotate_by_unit(tuple(unit), vectors)), expected, rtol=0.0, atol=1e-14)
