"""Single Gymnasium environments beside those of gymnasium[mujoco], with the same number of time steps per action.

The built-in tasks have scenes of their own.  The files of Gymnasium's tasks are the same scenes in both, with the
integrator of the file: there the environments differ only in what they do besides MuJoCo's steps.
"""

from __future__ import annotations

import warnings
from time import process_time
from typing import Any

import numpy as np

from benchmarks.harness import Run, compare
from benchmarks.table import Row, Table

_PAIRS = (
    ("cartpole", "InvertedPendulum-v5"),
    ("hopper", "Hopper-v5"),
    ("walker2d", "Walker2d-v5"),
    ("half_cheetah", "HalfCheetah-v5"),
    ("reacher", "Reacher-v5"),
)
_FILES = ("Walker2d-v5", "HalfCheetah-v5", "Reacher-v5")
"""Tasks whose episodes last: in others, only their environment is reset often."""
_INTEGRATORS = ("Euler", "RK4", "implicit", "implicitfast")
_ACTIONS = 500
_BAR = 0.9


def measure(table: Table, quick: bool = False) -> None:
    try:
        import gymnasium

        import exoskel.gym
    except ImportError:
        table.note("environments: Gymnasium is not installed")
        return
    rounds = 5 if quick else 25
    for task, name in _PAIRS:
        table.progress(f"environment {task}")
        theirs = _make(gymnasium, name)
        for integrator in (None, "discrete"):
            ours = exoskel.gym.make(task=task, frame_skip=theirs.frame_skip, integrator=integrator)
            how = integrator or exoskel.gym.TASKS[task].integrator
            times = compare(_steps(ours), _steps(theirs), rounds)
            table.add(Row.of(f"step of {task} ({how}), as fast as {name}", times, bar=_BAR))
            if task == "cartpole":  # episodes last longer, so that resets count less
                times = compare(_steps(ours, scale=0.0), _steps(theirs, scale=0.0), rounds)
                table.add(Row.of(f"step of {task} ({how}) with actions of zero, as fast as {name}", times, bar=_BAR))
    for name in _FILES:
        table.progress(f"environment of the file of {name}")
        theirs = _make(gymnasium, name)
        integrator = _INTEGRATORS[theirs.model.opt.integrator]
        ours = exoskel.gym.make(theirs.fullpath, frame_skip=theirs.frame_skip, integrator=integrator)
        times = compare(_steps(ours), _steps(theirs), rounds)
        table.add(Row.of(f"step of the file of {name} ({integrator}), as fast as its environment", times, bar=_BAR))


def _make(gymnasium: Any, name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gymnasium.make(name).unwrapped


def _steps(env: Any, scale: float = 1.0) -> Run:
    """Takes random actions times `scale`; the seconds are processor time."""
    low, high = env.action_space.low, env.action_space.high
    actions = scale * np.random.default_rng(0).uniform(low, high, (_ACTIONS, *low.shape))

    def run() -> float:
        env.reset(seed=0)
        begin = process_time()
        for action in actions:
            _, _, over, late, _ = env.step(action)
            if over or late:
                env.reset()
        return process_time() - begin

    return run
