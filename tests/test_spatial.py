"""Rotations and transforms satisfy the group axioms on random batches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from exoskel import spatial
from exoskel.scene import pose
from exoskel.scene.pose import AxisAngle, Euler, Matrix, Pose, Quaternion

angles = npst.arrays(np.float64, (5, 3), elements=st.floats(-math.pi, math.pi))
vectors = npst.arrays(np.float64, (5, 3), elements=st.floats(-3, 3))
quaternions = npst.arrays(np.float64, (5, 4), elements=st.floats(-1, 1)).filter(
    lambda q: bool((np.linalg.norm(q, axis=-1) > 1e-3).all())
)


def transforms() -> st.SearchStrategy[spatial.Array]:
    return st.builds(lambda a, p: spatial.transform(spatial.euler_matrix(a), p), angles, vectors)


@given(transforms(), transforms(), transforms())
def test_composition_is_associative(a: spatial.Array, b: spatial.Array, c: spatial.Array) -> None:
    assert np.allclose((a @ b) @ c, a @ (b @ c), atol=1e-12)


@given(transforms())
def test_the_inverse_undoes_a_transform(t: spatial.Array) -> None:
    identity = spatial.identity(len(t))
    assert np.allclose(t @ spatial.inverse(t), identity, atol=1e-12)
    assert np.allclose(spatial.inverse(t) @ t, identity, atol=1e-12)
    assert np.array_equal(t @ identity, t)


@given(vectors)
def test_exp_gives_rotations(w: spatial.Array) -> None:
    r = spatial.exp(w)
    assert np.allclose(r @ np.swapaxes(r, -1, -2), np.eye(3), atol=1e-12)
    assert np.allclose(np.linalg.det(r), 1.0)
    assert np.allclose(spatial.exp(-w), np.swapaxes(r, -1, -2), atol=1e-14)


@given(vectors)
def test_log_inverts_exp(w: spatial.Array) -> None:
    assert np.allclose(spatial.exp(spatial.log(spatial.exp(w))), spatial.exp(w), atol=1e-12)
    short = w / 2.0  # below half a turn the vector itself comes back
    short *= np.minimum(1.0, 3.0 / np.maximum(np.linalg.norm(short, axis=-1, keepdims=True), 1e-9))
    assert np.allclose(spatial.log(spatial.exp(short)), short, atol=1e-9)


@given(quaternions)
def test_quaternions_round_trip(q: spatial.Array) -> None:
    r = spatial.quaternion_matrix(q)
    back = spatial.quaternion(r)
    assert np.allclose(spatial.quaternion_matrix(back), r, atol=1e-14)
    assert (back[..., 0] >= 0.0).all()
    assert np.allclose(np.linalg.norm(back, axis=-1), 1.0)


@pytest.mark.parametrize("axis", range(3))
def test_rotations_by_180_degrees_keep_their_axis(axis: int) -> None:
    half = spatial.exp(np.eye(3)[axis] * math.pi)
    expected = np.zeros(4)
    expected[axis + 1] = 1.0
    assert np.allclose(np.abs(spatial.quaternion(half)), expected, atol=1e-12)
    assert np.allclose(np.abs(spatial.log(half)), np.eye(3)[axis] * math.pi, atol=1e-9)


@given(angles)
def test_euler_angles_round_trip(a: spatial.Array) -> None:
    r = spatial.euler_matrix(a)
    back = spatial.euler_xyz(r)
    assert np.allclose(spatial.euler_matrix(back), r, atol=1e-14)
    assert (np.abs(back[..., 1]) <= math.pi / 2).all()


@pytest.mark.parametrize("away", [0.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-13])
@pytest.mark.parametrize("side", [1, -1])
def test_euler_angles_round_trip_near_gimbal_lock(away: float, side: int) -> None:
    r = spatial.euler_matrix([0.7, side * (math.pi / 2 - away), -1.1])
    assert np.allclose(spatial.euler_matrix(spatial.euler_xyz(r)), r, atol=1e-12)


@given(angles)
@settings(max_examples=20)
def test_euler_orders_are_products_of_elementary_rotations(a: spatial.Array) -> None:
    for order in ("xyz", "zyx", "yzx"):
        x, y, z = (spatial.axis_rotation(axis, a[:, i]) for i, axis in enumerate(order))
        assert np.allclose(spatial.euler_matrix(a, order), x @ y @ z, atol=1e-14)


@given(vectors, vectors)
def test_the_cross_matrix_computes_the_cross_product(v: spatial.Array, w: spatial.Array) -> None:
    assert np.allclose((spatial.cross_matrix(v) @ w[..., None])[..., 0], np.cross(v, w), atol=1e-12)


def test_axis_angle_is_right_handed_and_normalizes_the_axis() -> None:
    r = spatial.axis_angle_matrix([0.0, 0.0, 5.0], math.pi / 2)
    assert np.allclose(r @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    assert np.array_equal(spatial.axis_angle_matrix([0.0, 0.0, 0.0], 1.0), np.eye(3))


@given(angles, vectors)
def test_all_authored_rotations_agree(a: spatial.Array, p: spatial.Array) -> None:
    for angle, position in zip(a, p, strict=True):
        r = spatial.euler_matrix(angle)
        w = spatial.log(r)
        turn = float(np.linalg.norm(w))
        w_, x, y, z = spatial.quaternion(r)
        forms = [
            Euler(tuple(angle)),
            Euler(tuple(np.degrees(angle)), degrees=True),
            Quaternion((2 * w_, 2 * x, 2 * y, 2 * z)),
            AxisAngle(tuple(w) if turn > 1e-6 else (0.0, 0.0, 1.0), turn if turn > 1e-6 else 0.0),
            Matrix(tuple(map(tuple, r))),
        ]
        poses = [Pose(tuple(position), form) for form in forms]
        single = np.array([one.matrix() for one in poses])
        assert np.allclose(single, spatial.transform(r, position), atol=1e-6)
        assert np.array_equal(pose.pose_matrices(poses), single)


def test_a_pose_from_a_matrix() -> None:
    original = Pose((1.0, 2.0, 3.0), Euler((0.1, 0.2, 0.3)))
    assert np.allclose(Pose.from_matrix(original.matrix()).matrix(), original.matrix(), atol=1e-15)
    assert Pose().is_identity and not original.is_identity
    assert Pose().quaternion == (1.0, 0.0, 0.0, 0.0)


@given(npst.arrays(np.float64, (4, 6), elements=st.floats(-3, 3)))
def test_moment_entries_round_trip(entries: spatial.Array) -> None:
    tensors = spatial.moment_matrix(entries)
    assert np.array_equal(tensors, np.swapaxes(tensors, -1, -2))
    assert np.array_equal(spatial.moment_entries(tensors), entries)


@pytest.mark.parametrize("noise", [0.0, 4e-16, -4e-16])
def test_rounded_vectors_do_not_depend_on_rounding_errors(noise: float) -> None:
    vector = np.array([27.03, -1.857, 0.0]) * (1.0 + noise) + noise
    assert spatial.round_vectors(vector).tolist() == [27.03, -1.857, 0.0]
    assert spatial.round_vectors([noise, noise], 1.0).tolist() == [0.0, 0.0]
    assert spatial.round_vectors(1e-200 * vector).tolist()[0] == pytest.approx(27.03e-200, rel=1e-12)


def test_rounded_vectors_have_13_digits_of_the_largest_and_no_minus_zero() -> None:
    assert spatial.round_vectors([[2.0 / 3.0, 2e-5 / 3.0], [0.0, -0.0]]).tolist() == [
        [0.6666666666667, 6.6666667e-06],
        [0.0, 0.0],
    ]
    assert np.copysign(1.0, spatial.round_vectors([-0.0, -1e-20], 1.0)).tolist() == [1.0, 1.0]
    assert spatial.round_vectors([np.inf, 1.0 / 3.0]).tolist() == [np.inf, 1.0 / 3.0]


def test_components_that_are_rounding_errors_become_zero() -> None:
    assert spatial.without_noise([[1.0, 4e-16, -0.5], [3e-20, 1e-20, 0.0]]).tolist() == [
        [1.0, 0.0, -0.5],
        [3e-20, 1e-20, 0.0],
    ]
    assert spatial.without_noise([5e-17, 0.0, 0.0], 0.3).tolist() == [0.0, 0.0, 0.0]
    assert spatial.without_noise([np.inf, 1.0]).tolist() == [np.inf, 1.0]
