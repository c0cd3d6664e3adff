"""Options shared by the commands that simulate: gravity, friction, limits, time step; and their warnings."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Annotated, Literal

from msgspec import structs

from exoskel.cli import terminal
from exoskel.cli.parameters import Argument, not_negative, positive
from exoskel.diagnostics import Diagnostic, ExoskelError, Severity, pluralize, printable
from exoskel.engines.codes import CATALOGUE
from exoskel.formats import registry
from exoskel.scene.joint import UNLIMITED
from exoskel.scene.world import Scene, World

EngineName = Literal["mujoco", "dart", "ode"]
_EARTH = {"earth-y": (0.0, -9.81, 0.0), "earth-z": (0.0, 0.0, -9.81)}


def _count_gravity(following: Sequence[str]) -> int:
    """The number of values of `--gravity`: a name, or three numbers."""
    return 1 if following and following[0].startswith("earth") else 3


def _check_gravity(values: tuple[str, ...]) -> None:
    """Refuse what is neither three finite numbers nor a name."""
    try:
        numbers = [float(value) for value in values]
    except ValueError:
        numbers = []
    if not (len(values) == 1 and values[0] in _EARTH) and not (len(numbers) == 3 and all(map(isfinite, numbers))):
        raise ValueError("must be three finite numbers, earth-y or earth-z")


Gravity = Annotated[
    tuple[str, ...],
    Argument(
        help="Gravity in m/s²: three numbers, earth-y or earth-z.",
        metavar="X Y Z",
        validator=_check_gravity,
        count=_count_gravity,
    ),
]
Friction = Annotated[
    float | None, Argument(help="Friction coefficient of all contacts; default 1.", validator=not_negative)
]
Duration = Annotated[float, Argument(help="Simulated time in s.", validator=not_negative)]
LimitMode = Annotated[Literal["file", "on", "off"], Argument(help="Joint position limits: as in the file, on, or off.")]
WorldName = Annotated[str | None, Argument(names=("--world",), help="World to use, if the file has several.")]
TimeStep = Annotated[float | None, Argument(help="Time step in s; default: the file's.", validator=positive)]

_MAX_WARNINGS = 5


def select_world(scene: Scene, name: str | None) -> Scene:
    """Return the scene with only the named world; without a name, the scene must not have several."""
    known = ", ".join(repr(printable(world.name)) for world in scene.worlds)
    if name is None:
        if len(scene.worlds) > 1:
            raise ExoskelError(f"the file has several worlds; choose one of {known} with --world")
        return scene
    found = [world for world in scene.worlds if world.name == name]
    if not found:
        raise ExoskelError(f"unknown world {name!r}; choose one of {known}")
    return structs.replace(scene, worlds=found[:1])


def prepare_world(scene: Scene, gravity: tuple[str, ...], limits: str) -> bool | None:
    """Set gravity and print warnings about the file.

    Returns the `limits` argument of the simulation: True, False, or None for those of the file.
    """
    terminal.warn_about_errors(scene, "simulated")
    _set_gravity(scene.world, gravity)
    if limits != "file":
        return limits == "on"
    _note_limits(scene)
    return None


def print_warnings(diagnostics: list[Diagnostic]) -> None:
    """Print what the engine does differently from the file on standard error; only `exoskel.preflight` lists notes."""
    warnings = [d for d in diagnostics if d.severity is not Severity.INFO]
    for diagnostic in warnings[:_MAX_WARNINGS]:
        terminal.print_text(terminal.format_diagnostic(diagnostic, CATALOGUE.original_reader), stderr=True)
    if len(warnings) > _MAX_WARNINGS:
        terminal.print_message(f"and {pluralize(len(warnings) - _MAX_WARNINGS, 'more warning')}")


def _note_limits(scene: Scene) -> None:
    """Print one line if the file's joint limits make the motion differ from DART's."""
    source = scene.source_info
    if not source.format or not registry.by_name(source.format).dart_ignores_limits or source.semantics != "written":
        return
    if any(dof.position_limits != UNLIMITED for joint in scene.world.joints() for dof in joint._dofs or ()):
        terminal.print_message(
            "joint limits are enforced (DART ignores them in SKEL files); use --limits off to match DART"
        )


def _set_gravity(world: World, values: tuple[str, ...]) -> None:
    if not values:
        if world.provenance("gravity") == "default" and not any(world.gravity):
            terminal.print_message("the file sets no gravity, so nothing falls; use --gravity earth-z or earth-y")
        return
    if len(values) == 1:
        world.gravity = _EARTH[values[0]]
        return
    x, y, z = (float(value) for value in values)
    world.gravity = (x, y, z)
