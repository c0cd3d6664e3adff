"""Single Gymnasium environments beside those of gymnasium[mujoco], with the same number of time steps per action."""

from __future__ import annotations

import warnings
from time import process_time
from typing import Any

import numpy as np

from benchmarks.harness import Run, compare
from benchmarks.table import Row, Table

_PAIRS = (("cartpole", "InvertedPendulum-v5"), ("hopper", "Hopper-v5"))
_ACTIONS = 500
_BAR = 0.9


def measure(table: Table, quick: bool = False) -> None:
    try:
        import gymnasium

        import exoskel.gym
    except ImportError:
        table.note("environments: Gymnasium is not installed")
        return
    for task, name in _PAIRS:
        table.progress(f"environment {task}")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = gymnasium.make(name).unwrapped
        for integrator in (None, "implicitfast"):
            options: dict[str, Any] = {} if integrator is None else {"integrator": integrator}
            ours = exoskel.gym.make(task=task, frame_skip=theirs.frame_skip, **options)
            times = compare(_steps(ours), _steps(theirs), 5 if quick else 25)
            how = "default integrator" if integrator is None else integrator
            table.add(Row.of(f"step of {task} ({how}), as fast as {name}", times, bar=_BAR))


def _steps(env: Any) -> Run:
    """Takes actions; the seconds are processor time."""
    action = np.zeros(env.action_space.shape)

    def run() -> float:
        env.reset(seed=0)
        begin = process_time()
        for _ in range(_ACTIONS):
            _, _, over, late, _ = env.step(action)
            if over or late:
                env.reset()
        return process_time() - begin

    return run
