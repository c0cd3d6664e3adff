"""Simulate a scene with MuJoCo, add a controller, and save and plot the motion."""

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
    """Return generalised forces against the motion; called before every step."""
    return -0.5 * simulation.velocities


braked = exoskel.run(scene, duration=2.0, controller=brake)
for name, one in (("free", motion), ("braked", braked)):
    print(f"{name}: fastest joint at the end: {np.abs(one.velocities[-1]).max():.2f} rad/s")

with tempfile.TemporaryDirectory() as folder:
    motion.save(Path(folder) / "motion.npz")
    exoskel.plot(motion, Path(folder) / "motion.png")
    exoskel.render(scene, Path(folder) / "start.png", size=(320, 240))
    print("files:", sorted(path.name for path in Path(folder).iterdir()))
# exoskel.show(braked) opens it in the browser.
