"""Ball and free joints converted by numba equal those converted by NumPy, to the last bit."""

from __future__ import annotations

import builtins
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Pose, World, spatial
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.formats.mjcf import model
from exoskel.formats.mjcf.model import rotational_joints
from exoskel.formats.mjcf.model.coordinates import Coordinates

pytest.importorskip("numba")
from exoskel.formats.mjcf.model.compiled_conversion import CompiledConversion

SPECIAL = [(1, 0, 0, 0), (-1, 0, 0, 0), (0, 0, 1, 0), (1, 1e-13, 0, 0), (-1, 0, 1e-13, 0), (1, 1e-9, 0, 1e-9)]


def random_pose(random: np.random.Generator, wanted: bool) -> Pose:
    if not wanted:
        return Pose()
    return Pose(tuple(random.normal(size=3)), exoskel.Euler(tuple(random.normal(size=3))))


def coordinates(kind: Any, framed: bool, turned: bool) -> Coordinates:
    """Those of three joints of a kind, with frames other than the child's and rotated bodies if wanted, and a hinge."""
    random = np.random.default_rng(3)
    world = World()
    for number in range(3):
        model = world.add_model(f"m{number}")
        body = model.add_body("b", joint=kind, mass=1.0, pose=random_pose(random, turned))
        model.joints[-1].pose = random_pose(random, framed)
        if number == 1:
            model.add_body("c", joint="revolute", parent=body, mass=1.0, axis=(1.0, 0.0, 0.0))
    return MujocoWorld(world).coordinates


def random_states(own: Coordinates) -> tuple[Any, Any]:
    """States of 20 worlds and 30 samples, some of them with quaternions near those of no rotation or of half a turn."""
    random = np.random.default_rng(4)
    qpos, qvel = random.normal(size=(20, 30, own.nq)), random.normal(size=(20, 30, own.nv))
    quaternions = random.normal(size=(20, 30, 3, 4))
    quaternions[0, : len(SPECIAL), 0] = SPECIAL
    qpos[..., own.rotational[0].qpos[:, -4:]] = spatial.unit(quaternions)
    return qpos, qvel


def convert(own: Coordinates, *arrays: Any) -> None:
    """In two parts of the worlds."""
    conversion = CompiledConversion(own, *arrays)
    conversion.convert(slice(0, 7))
    conversion.convert(slice(7, 20))


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("kind", ["ball", "free"])
def test_coordinates_compiled_by_numba_equal_those_of_numpy(kind: str, framed: bool, turned: bool) -> None:
    own = coordinates(kind, framed, turned)
    (qpos, qvel), found = random_states(own), np.zeros((2, 20, 30, own.count))
    convert(own, qpos, qvel, *found)
    np.testing.assert_array_equal(found[0], own.positions(qpos))
    np.testing.assert_array_equal(found[1], own.velocities(qpos, qvel))


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_positions_and_velocities_are_compiled_alone(kind: str) -> None:
    own = coordinates(kind, True, True)
    (qpos, qvel), found = random_states(own), np.zeros((2, 20, 30, own.count))
    convert(own, qpos, qvel[..., :0], found[0], None)
    convert(own, qpos, qvel, None, found[1])
    np.testing.assert_array_equal(found[0], own.positions(qpos))
    np.testing.assert_array_equal(found[1], own.velocities(qpos, qvel))


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_compiled_coordinates_may_replace_states(kind: str) -> None:
    """World by world, as the memory of a rollout is reused."""
    own = coordinates(kind, True, True)
    states = random_states(own)
    expected = own.positions(states[0]), own.velocities(*states)
    memory = [np.zeros((20, 30 * 40)) for _ in states]
    inside = [one[:, : 30 * rows.shape[2]].reshape(rows.shape) for one, rows in zip(memory, states, strict=True)]
    for rows, now in zip(inside, states, strict=True):
        rows[:] = now
    found = [one[:, : 30 * own.count].reshape(20, 30, own.count) for one in memory]
    assert own.can_replace_states
    convert(own, *inside, *found)
    for one, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("name", ["falling_boxes", "chain", "walker", "robot_arm"])
def test_rollouts_are_the_same_with_numba(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = exoskel.load(f"dart://sample/skel/{name}.skel")
    plain = exoskel.rollout(scene, 5, 20, stride=1)
    without = {record: array.copy() for record, array in plain.arrays.items()}
    monkeypatch.setattr(rotational_joints, "_MIN_COMPILED", 1)
    compiled = exoskel.rollout(scene, 5, 20, stride=1)
    for record, expected in without.items():
        np.testing.assert_array_equal(compiled.arrays[record], expected)


def test_numba_is_used_from_a_certain_number_of_conversions() -> None:
    least = rotational_joints._MIN_COMPILED
    assert [rotational_joints.are_compiled(number) for number in (1, least - 1, least)] == [False, False, True]


@pytest.mark.parametrize("error", [ImportError("Numba needs NumPy 2.5 or less"), RuntimeError("cannot cache function")])
def test_numpy_converts_if_numba_is_missing_or_cannot_be_used(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = "exoskel.formats.mjcf.model.compiled_rotations"
    plain = builtins.__import__

    def fails(name: str, *arguments: Any) -> Any:
        if name == "numba":
            raise error
        return plain(name, *arguments)

    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delattr(model, "compiled_rotations", raising=False)
    monkeypatch.setattr(builtins, "__import__", fails)
    rotational_joints._has_numba.cache_clear()
    assert not rotational_joints.are_compiled(rotational_joints._MIN_COMPILED)
    rotational_joints._has_numba.cache_clear()


def test_a_small_rollout_does_not_import_numba() -> None:
    code = (
        "import exoskel, sys; many = exoskel.rollout(exoskel.load('dart://sample/skel/falling_boxes.skel'), 4, 10); many.positions; "
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
