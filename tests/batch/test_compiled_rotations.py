"""Ball and free joints converted by numba equal those converted by NumPy, to the last bit."""

from __future__ import annotations

import builtins
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import spatial
from exoskel.formats.mjcf import model
from exoskel.formats.mjcf.model import rotational_joints
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoint, RotationalJoints
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.pose import Pose

pytest.importorskip("numba")

SPECIAL = [(1, 0, 0, 0), (-1, 0, 0, 0), (0, 0, 1, 0), (1, 1e-13, 0, 0), (-1, 0, 1e-13, 0), (1, 1e-9, 0, 1e-9)]


def random_poses(random: np.random.Generator, count: int) -> Any:
    return spatial.transform(spatial.exp(random.normal(size=(count, 3))), random.normal(size=(count, 3)))


def joints(kind: Any, random: np.random.Generator, framed: bool, turned: bool) -> RotationalJoints:
    """Three joints, with frames other than the child's and rotated zero poses if wanted."""
    frames = random_poses(random, 3) if framed else [np.eye(4)] * 3
    zero = random_poses(random, 3) if turned else np.tile(np.eye(4), (3, 1, 1))
    width, speeds, coordinates = (4, 3, 3) if kind == "ball" else (7, 6, 6)
    own = [Joint("j", kind, child=Body("b"), pose=Pose.from_matrix(frame)) for frame in frames]
    members = [
        RotationalJoint(joint, 1 + coordinates * number, 2 + width * number, 3 + speeds * number)
        for number, joint in enumerate(own)
    ]
    return RotationalJoints(kind, members, zero)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("kind", ["ball", "free"])
def test_rotations_compiled_by_numba_equal_those_of_numpy(kind: str, framed: bool, turned: bool) -> None:
    random = np.random.default_rng(3)
    group = joints(kind, random, framed, turned)
    qpos, qvel = random.normal(size=(20, 30, 25)), random.normal(size=(20, 30, 25))
    quaternions = random.normal(size=(20, 30, 3, 4))
    quaternions[0, : len(SPECIAL), 0] = SPECIAL
    qpos[..., group.qpos[:, -4:]] = spatial.unit(quaternions)
    expected, found = np.zeros((2, 20, 30, 20)), np.zeros((2, 20, 30, 20))
    for out, compiled in ((expected, False), (found, True)):
        group.positions(qpos, out[0], compiled)
        group.velocities(qpos, qvel, out[1], compiled)
    assert np.count_nonzero(expected.any(axis=(0, 1, 2))) == group.scene.size
    np.testing.assert_array_equal(found, expected)


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
