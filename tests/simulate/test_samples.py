"""All bundled samples run on the default engine."""

from __future__ import annotations

import numpy as np
import pytest

import exoskel
from exoskel.formats.mjcf import write
from exoskel.samples import Sample, samples

BRIDGE = "dart://sample/xode/rope_bridge.xode"


@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.path.name)
def test_a_sample_runs_for_a_second(sample: Sample) -> None:
    motion = exoskel.run(exoskel.load(sample.uri), 1.0, every=0.25, warn=False)
    assert motion.time[-1] == pytest.approx(1.0)
    assert np.isfinite(motion.body_poses).all()


@pytest.mark.parametrize("largest", [write.MAX_DENSE, 0])
def test_motors_of_many_joints_do_not_tear_a_bridge_apart(largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """MuJoCo's Newton solver does not converge here with sparse matrices; without dense ones, CG is used."""
    monkeypatch.setattr(write, "MAX_DENSE", largest)
    motion = exoskel.run(exoskel.load(BRIDGE), 1.0, every=0.25, warn=False)
    assert motion.meta["summary"]["constraint_error"] < 1e-4


def test_small_worlds_keep_the_solver_of_mujoco() -> None:
    world = exoskel.load("dart://sample/xode/four_bar.xode").world
    assert {"jacobian", "solver"}.isdisjoint(write.write(world).child("option").attributes)
