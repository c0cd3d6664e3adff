"""All engines there are: one list, for whatever lets people choose."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Protocol

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.engines.dart.dart_world import DartWorld
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.engines.mujoco.warp import WarpWorld
from exoskel.engines.ode.ode_world import OdeWorld
from exoskel.scene.world import World
from exoskel.spatial import Array


class Running(Protocol):
    """A world in some engine, as far as its motion goes; coordinates are the scene's, poses in the world."""

    bodies: list[tuple[str, str]]

    @property
    def time(self) -> float: ...

    @property
    def time_step(self) -> float: ...

    @property
    def positions(self) -> Array: ...

    @property
    def velocities(self) -> Array: ...

    @property
    def body_poses(self) -> Array: ...

    @property
    def energy(self) -> tuple[float, float]: ...

    @property
    def contact_count(self) -> int: ...

    def step(self, count: int = 1) -> None: ...

    def close(self) -> None: ...


class Start(Protocol):
    """Builds a world.

    `limits` switches position limits on or off, by default each joint says; `step` in s replaces the world's;
    `friction` is the coefficient of all contacts.
    """

    def __call__(
        self,
        world: World,
        *,
        limits: bool | None = None,
        step: float | None = None,
        friction: float | None = None,
    ) -> Running: ...


class Engine(Struct, frozen=True):
    """An engine: the package it comes in, how to install that, and what it cannot do."""

    name: str
    package: str
    install: str
    cannot: str
    start: Start

    @property
    def version(self) -> str | None:
        """The installed package's; None if there is none."""
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
            "soft skins; springs that differ about the axes of a ball; stops of amotors; velocity limits",
            MujocoWorld,
        ),
        Engine(
            "warp",
            "mujoco-warp",
            "pip install 'exoskel[gpu]'",
            "what mujoco cannot; single precision; thousands of worlds at once, see `exoskel rollout --backend gpu`",
            WarpWorld,
        ),
        Engine(
            "dart",
            "dartpy",
            "pip install 'exoskel[dart]' (Python 3.11, Linux)",
            "screw and translational2d joints, hinge2, amotor, loops; runs in a process of its own",
            DartWorld,
        ),
        Engine(
            "ode",
            "panda3d",
            "pip install 'exoskel[ode]'",
            "screw, euler, planar and translational joints; hinge2 to what stands still; springs on ball and free "
            "joints; stops beyond half a turn; capsules on cylinders; soft skins; single precision, in a process of "
            "its own",
            OdeWorld,
        ),
    )
}


def engine(name: str) -> Engine:
    """The engine of that name; an error that lists the others if there is none."""
    if name not in ENGINES:
        raise ExoskelError(f"there is no engine {name!r}; there are {', '.join(ENGINES)}")
    return ENGINES[name]
