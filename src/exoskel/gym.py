"""Scenes as Gymnasium environments: `make` for one, `make_vec` for many at once.

    env = exoskel.gym.make("dart://sample/skel/walker.skel")  # observes all coordinates
    env = exoskel.gym.make(task="hopper")  # a built-in task with its own scene
    envs = exoskel.gym.make_vec(task="walker2d", num_envs=256)

Importing this module registers the built-in tasks, if Gymnasium is installed:
`gymnasium.make("exoskel.gym:exoskel/Hopper-v0")`.
"""

from contextlib import suppress

from exoskel.diagnostics import ExoskelError
from exoskel.simulate.gym import TASKS, EnvironmentState, Task, make, make_vec, register

__all__ = ["TASKS", "EnvironmentState", "Task", "make", "make_vec", "register"]

with suppress(ExoskelError):  # Gymnasium is an extra
    register()
