"""What the verbs that simulate have in common: gravity, limits, and what an engine does otherwise."""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Literal

from cyclopts import Parameter
from msgspec import structs

from exoskel.cli import terminal
from exoskel.diagnostics import Diagnostic, ExoskelError, Severity, printable
from exoskel.engines.codes import CATALOGUE
from exoskel.scene.joint import UNLIMITED
from exoskel.scene.world import Scene, World

Engine = Literal["mujoco", "dart", "ode"]
Gravity = Annotated[
    tuple[str, ...],
    Parameter(help="Gravity in m/s²: three numbers, or earth-y or earth-z.", show_default=False),
]
Friction = Annotated[float | None, Parameter(help="Friction coefficient of all contacts; 1 if not given.")]
Limits = Annotated[
    Literal["file", "on", "off"], Parameter(help="Position limits of joints: as the file is read, on, or off.")
]
WorldName = Annotated[str | None, Parameter(name="--world", help="Which of several worlds.")]
Step = Annotated[float | None, Parameter(help="Time step in s, instead of the file's.")]

_MOST_SHOWN = 5
_EARTH = {"earth-y": (0.0, -9.81, 0.0), "earth-z": (0.0, 0.0, -9.81)}


def choose(scene: Scene, name: str | None) -> Scene:
    """The scene with the world of that name alone; without a name, there has to be just one."""
    known = ", ".join(repr(printable(world.name)) for world in scene.worlds)
    if name is None:
        if len(scene.worlds) > 1:
            raise ExoskelError(f"the file holds several worlds; --world chooses one of {known}")
        return scene
    found = [world for world in scene.worlds if world.name == name]
    if not found:
        raise ExoskelError(f"there is no world {name!r}; there are {known}")
    return structs.replace(scene, worlds=found[:1])


def prepare(scene: Scene, gravity: tuple[str, ...], limits: str) -> bool | None:
    """Set gravity, tell what the file leaves open or has wrong, and return how limits are switched."""
    terminal.complain_of_errors(scene, "simulated")
    _set_gravity(scene.world, gravity)
    if limits != "file":
        return limits == "on"
    _tell_limits(scene)
    return None


def show(findings: list[Diagnostic]) -> None:
    """What the engine does otherwise than the file says, on standard error; infos are for `exoskel.preflight`."""
    told = [d for d in findings if d.severity is not Severity.INFO]
    console = terminal.console(stderr=True)
    for one in told[:_MOST_SHOWN]:
        console.print(terminal.render(one, CATALOGUE.engine), soft_wrap=True)
    if len(told) > _MOST_SHOWN:
        terminal.complain(f"and {terminal.counted(len(told) - _MOST_SHOWN, 'more such note')}")


def _tell_limits(scene: Scene) -> None:
    """Where the two readings of a file lead to different motion, one line says so."""
    if scene.reading.format != "skel" or scene.reading.semantics != "written":
        return
    if any(dof.position_limits != UNLIMITED for joint in scene.world.joints() for dof in joint._dofs or ()):
        terminal.complain("joint limits hold; DART leaves them off after reading SKEL, as --limits off does here")


def _set_gravity(world: World, words: tuple[str, ...]) -> None:
    if not words:
        if world.provenance("gravity") == "default" and not any(world.gravity):
            terminal.complain("the file states no gravity, so nothing falls; --gravity earth-z or earth-y sets it")
        return
    if len(words) == 1 and words[0] in _EARTH:
        world.gravity = _EARTH[words[0]]
        return
    try:
        x, y, z = (float(word) for word in words)
    except ValueError:
        raise ExoskelError("--gravity takes three numbers, earth-y or earth-z") from None
    if not all(map(isfinite, (x, y, z))):
        raise ExoskelError("gravity has to be finite")
    world.gravity = (x, y, z)
