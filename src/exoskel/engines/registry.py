"""All engines: one table, for the library, the command line and the viewer."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.engines.dart.dart_world import DartWorld
from exoskel.engines.interface import EngineFactory
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.mujoco.warp import WarpWorld
from exoskel.engines.ode.ode_world import OdeWorld


class Engine(Struct, frozen=True):
    """An engine: its package, how to install that, what it does not support, and how to start a world."""

    name: str
    package: str
    install: str
    cannot: str
    start: EngineFactory

    @property
    def version(self) -> str | None:
        """The version of the installed package; None if it is not installed."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(
            "mujoco",
            "mujoco",
            "pip install mujoco",
            "soft skins; different springs about the axes of a ball joint; stops of amotors; velocity limits",
            MujocoWorld,
        ),
        Engine(
            "warp",
            "mujoco-warp",
            "pip install 'exoskel[gpu]'",
            "what mujoco does not support; single precision; see `exoskel rollout --backend gpu` for many worlds",
            WarpWorld,
        ),
        Engine(
            "dart",
            "dartpy",
            "pip install 'exoskel[dart]' (Python 3.11, Linux)",
            "screw, translational2d, hinge2 and amotor joints; loops; runs in its own process",
            DartWorld,
        ),
        Engine(
            "ode",
            "panda3d",
            "pip install 'exoskel[ode]'",
            "screw, euler, planar and translational joints; hinge2 joints to static bodies; springs on ball and free "
            "joints; stops beyond half a turn; capsule-cylinder contacts; soft skins; single precision, in its own "
            "process",
            OdeWorld,
        ),
    )
}


def engine(name: str) -> Engine:
    """The engine of that name; raises ExoskelError for an unknown one."""
    if name not in ENGINES:
        raise ExoskelError(f"unknown engine {name!r}; choose one of {', '.join(ENGINES)}")
    return ENGINES[name]
