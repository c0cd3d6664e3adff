"""Fingerprints of embedded values do not depend on the last bits of computed numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Inertia, Pose, Quaternion, spatial
from exoskel.scene.json_codec import fingerprint, has_fingerprint
from tests.support.places import SAMPLES

ULP = 2.3e-16


def noisy(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of which other processors give the last bits: the same ones for the same numbers."""

    @wraps(function)
    def compute(*args: Any, **options: Any) -> Any:
        exact = np.ascontiguousarray(function(*args, **options))
        bits = np.abs(exact).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        change = ((bits >> np.uint64(40)) % np.uint64(3)).astype(float) - 1.0
        return np.where(exact == np.round(exact), exact, exact * (1.0 + ULP * change))

    return compute


@pytest.mark.parametrize("name", ["pendulum", "robot_arm", "screw_press", "walker"])
def test_another_processor_reads_all_embedded_values(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = SAMPLES / "skel" / f"{name}.skel"
    written = tmp_path / "here.xode"
    exoskel.convert(file, written, meshes="absolute")
    for computed in ("quaternion_matrix", "quaternion", "euler_matrix", "axis_angle_matrix"):
        monkeypatch.setattr(spatial, computed, noisy(getattr(spatial, computed)))
    scene = exoskel.load(written)
    assert [d for d in scene.diagnostics if d.code == "X910"] == []
    assert exoskel.diff(exoskel.load(file), scene) == []


def test_noise_leaves_fingerprints_the_same_and_edits_change_them() -> None:
    pose = Pose((0.1, 1 / 3, 0.0), Quaternion((0.8, 0.6, 0.0, 0.0)))
    close = Pose((0.1 + 1e-16, 1 / 3 - 1e-16, 1e-17), Quaternion((-0.8, -0.6000000000000001, 0.0, 1e-17)))
    assert has_fingerprint(close, fingerprint(pose))
    assert not has_fingerprint(Pose((0.1, 0.3333, 0.0), pose.rotation), fingerprint(pose))
    assert fingerprint(Pose((1e-17, 0.0, 0.0), Quaternion((1.0, 0.0, -1e-17, 0.0)))) == fingerprint(Pose())
    small = Inertia(1e-9, (0.0, 0.0, 0.0), (1e-14, 1e-14, 1e-14, 0.0, 0.0, 0.0))
    other = Inertia(1e-9, (0.0, 0.0, 0.0), (1.1e-14, 1e-14, 1e-14, 0.0, 0.0, 0.0))
    assert not has_fingerprint(other, fingerprint(small))


def test_noise_across_a_limit_of_rounding_is_no_edit() -> None:
    limit = 0.12345678905
    values = [limit, limit * (1 + 4e-16), limit * (1 - 4e-16)]
    assert all(has_fingerprint([one], fingerprint([other])) for one in values for other in values)
