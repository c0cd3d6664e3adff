"""DART: the engine SKEL was made for, in a child process, fed with SKEL that we write and its own parser reads."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.engines.child import Child
from exoskel.formats.write import write
from exoskel.scene.world import Scene, World
from exoskel.spatial import Array

NOT_IN_DART = ("screw", "translational2d", "hinge2", "amotor")


def available() -> bool:
    return importlib.util.find_spec("dartpy") is not None


class DartWorld:
    """A world in DART.  The same face as MuJoCo's, as far as motion goes."""

    name = "dart"

    def __init__(self, world: World, *, limits: bool | None = None, step: float | None = None) -> None:
        if not available():
            raise ExoskelError("DART is not installed: pip install 'exoskel[dart]' (Python 3.11, Linux)")
        _refuse(world)
        self.world = world
        self.bodies = [(m.name, b.name) for m in world.models for b in m.bodies]
        self.dof_names = [name for m in world.models for name in m.dof_names]
        self.time_step = step or world.time_step
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / "world.skel"
        file.write_bytes(write(Scene([world]), "skel", folder=file.parent).data)
        self._child = Child("DART", "exoskel.engines.dart_worker")
        enforced = {j.name: j.limits_enforced if limits is None else limits for j in world.joints() if not j.loop}
        self._state = self._child.ask({"load": str(file), "limits": enforced, "step": step})

    def step(self, count: int = 1) -> None:
        self._state = self._child.ask({"step": count})

    @property
    def time(self) -> float:
        return float(self._state["time"])

    @property
    def positions(self) -> Array:
        return np.array(self._state["positions"])

    @property
    def velocities(self) -> Array:
        return np.array(self._state["velocities"])

    @property
    def body_poses(self) -> Array:
        return np.array(self._state["poses"])

    @property
    def energy(self) -> tuple[float, float]:
        kinetic, potential = self._state["energy"]
        return kinetic, potential

    @property
    def contact_count(self) -> int:
        """How many points touched in the last step."""
        return int(self._state["contacts"])

    def close(self) -> None:
        self._child.close()
        self._folder.cleanup()


def _refuse(world: World) -> None:
    for joint in world.joints():
        if joint.kind in NOT_IN_DART or joint.loop:
            what = "a joint that closes a loop" if joint.loop else f"a {joint.kind} joint"
            raise ExoskelError(f"DART's parser cannot build {what} ({joint.name!r})")
