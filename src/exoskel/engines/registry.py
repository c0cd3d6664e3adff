"""All engines: one table, for the library, the command line and the viewer."""

from __future__ import annotations

from exoskel.diagnostics import ExoskelError
from exoskel.engines.dart.dart_world import DART
from exoskel.engines.interface import Engine
from exoskel.engines.mujoco.mujoco_world import MUJOCO
from exoskel.engines.mujoco.warp import WARP
from exoskel.engines.ode.ode_world import ODE

ENGINES: dict[str, Engine] = {engine.name: engine for engine in (MUJOCO, WARP, DART, ODE)}


def engine(name: str) -> Engine:
    """The engine of that name; raises ExoskelError for an unknown one."""
    if name not in ENGINES:
        raise ExoskelError(f"unknown engine {name!r}; choose one of {', '.join(ENGINES)}")
    return ENGINES[name]


def engine_title(name: str) -> str:
    """The title of an engine; its name if the engine is unknown, as in a trajectory of a newer version."""
    return ENGINES[name].title if name in ENGINES else name
