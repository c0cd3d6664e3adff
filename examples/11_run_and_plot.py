"""Running a scene on MuJoCo, with a controller, and looking at what happened."""

import tempfile
from pathlib import Path

import numpy as np

import exoskel

scene = exoskel.load("dart://sample/skel/double_pendulum.skel")
motion = exoskel.run(scene, duration=2.0, integrator="rk4")
print(motion)

total = motion.energy.sum(axis=1)
print(f"energy drift: {abs(total - total[0]).max():.1e} J of {abs(motion.energy).max():.0f} J")


def brake(simulation):
    """Generalised forces against the motion; called before every step."""
    return -0.5 * simulation.velocities


held = exoskel.run(scene, duration=4.0, controller=brake)
print("fastest joint at the end:", f"{np.abs(held.velocities[-1]).max():.2f} rad/s instead of", end=" ")
print(f"{np.abs(motion.velocities[-1]).max():.2f}")

with tempfile.TemporaryDirectory() as folder:
    motion.save(Path(folder) / "motion.npz")
    exoskel.plot(motion, Path(folder) / "motion.png")
    print("files:", sorted(path.name for path in Path(folder).iterdir()))
