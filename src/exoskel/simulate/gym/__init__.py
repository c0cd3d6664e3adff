"""Scenes as Gymnasium environments: `make` for one, `make_vec` for many at once.

env = exoskel.gym.make("dart://sample/skel/walker.skel")  # all positions and velocities; every driven joint
env = exoskel.gym.make(task="hopper")  # a built-in task with its own scene
envs = exoskel.gym.make_vec(task="walker2d", num_envs=256)
"""

from exoskel.simulate.gym.factory import make, make_vec, register
from exoskel.simulate.gym.tasks import TASKS, Moment, Task

__all__ = ["TASKS", "Moment", "Task", "make", "make_vec", "register"]
