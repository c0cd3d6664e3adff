"""Options shared by several commands, and the functions that apply them: how a file is read, and simulated."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from msgspec import structs

from exoskel.cli import terminal
from exoskel.cli.parameters import Argument, OptionGroup, between, not_negative, positive
from exoskel.cli.terminal import NOTICEABLE, STDIN, spinner
from exoskel.diagnostics import Diagnostic, ExoskelError, Severity, SourceError, pluralize, printable
from exoskel.formats import registry
from exoskel.formats.load import load, source_files
from exoskel.scene.joint import UNLIMITED
from exoskel.scene.world import Scene, World
from exoskel.source.atomic_write import add_sources
from exoskel.source.limits import DEFAULT_LIMITS, MAX_DEPTH, Limits

if TYPE_CHECKING:
    from exoskel.simulate.trajectory import Trajectory


class ReadFlags(OptionGroup, frozen=True, kw_only=True):
    """Options that control how files are read."""

    heading: ClassVar[str] = "Reading"

    semantics: Annotated[
        Literal["written", "dart"],
        Argument(help="SKEL: read the file as it is written, or exactly as DART 6.20 reads it."),
    ] = "written"
    dialect: Annotated[
        Literal["auto", "spec", "pyode"],
        Argument(help="XODE: follow the specification or PyODE, or detect which one the file uses."),
    ] = "auto"
    format: Annotated[
        str | None,
        Argument(names=("--format", "--from"), help="Input format, instead of detecting it from the content."),
    ] = None
    package_path: Annotated[
        tuple[str, ...],
        Argument(help="Directory to search for `package://` references; repeat to add more."),
    ] = ()
    confine: Annotated[bool, Argument(help="Reject references to files outside the file's directory.")] = False
    arg: Annotated[
        tuple[str, ...],
        Argument(help="xacro: an argument of the file, NAME=VALUE; repeat to add more."),
    ] = ()
    inertia_rule: Annotated[
        Literal["all-shapes", "first-shape"],
        Argument(
            help="SKEL: derive missing moments of inertia from all shapes (as DART 6.20) or the first one (up to 6.19)."
        ),
    ] = "all-shapes"
    free_velocity_axes: Annotated[
        Literal["parent", "child"],
        Argument(help="SKEL: frame of a free joint's initial velocity; `child` matches DART up to 6.16."),
    ] = "parent"
    max_bytes: Annotated[int, Argument(help="Maximum file size in bytes.", validator=positive)] = DEFAULT_LIMITS.bytes
    max_depth: Annotated[int, Argument(help="Maximum nesting depth of elements.", validator=between(1, MAX_DEPTH))] = (
        DEFAULT_LIMITS.depth
    )
    max_elements: Annotated[int, Argument(help="Maximum number of elements.", validator=positive)] = (
        DEFAULT_LIMITS.elements
    )
    max_seconds: Annotated[
        float,
        Argument(
            help="MJCF: maximum time of MuJoCo's compiler in s, for up to 1 MB; more for larger files.",
            validator=positive,
        ),
    ] = DEFAULT_LIMITS.seconds

    def load_options(self) -> dict[str, Any]:
        """The same options as keyword arguments of `load`."""
        return {
            "format": self.format,
            "semantics": self.semantics,
            "dialect": self.dialect,
            "limits": self.limits,
            "package_path": self.package_path,
            "confine": self.confine,
            "arguments": self._arguments(),
            "inertia_rule": "first_shape" if self.inertia_rule == "first-shape" else "all_shapes",
            "free_velocity_axes": self.free_velocity_axes,
        }

    def _arguments(self) -> dict[str, str]:
        pairs = [one.partition("=") for one in self.arg]
        if wrong := next(
            (one for one, (name, equals, _) in zip(self.arg, pairs, strict=True) if not (name and equals)), None
        ):
            raise ExoskelError(f"--arg {wrong!r} is not an argument; use --arg NAME=VALUE")
        return {name: value for name, _, value in pairs}

    @property
    def limits(self) -> Limits:
        return Limits(bytes=self.max_bytes, depth=self.max_depth, elements=self.max_elements, seconds=self.max_seconds)


def read_scene(file: str, flags: ReadFlags | None, *, strict: bool = False) -> Scene:
    """Load a file with the given flags; with `strict`, raise LoadError for strict errors."""
    flags = flags or ReadFlags()
    if file == STDIN:
        return read_bytes(read_stdin(flags), STDIN, ".", flags, strict=strict)
    return _load(file, flags, None, None, strict)


def read_motion(file: str) -> Trajectory:
    """Load a trajectory, which becomes a source of new files."""
    from exoskel.simulate.trajectory import Trajectory

    add_sources([Path(file)])
    return Trajectory.load(file)


def read_bytes(data: bytes, name: str, base: str, flags: ReadFlags, *, strict: bool = False) -> Scene:
    """Load the content of a file; its references are relative to `base`, a path or URI."""
    return _load(data, flags, name, base, strict)


def read_stdin(flags: ReadFlags) -> bytes:
    """Read standard input, up to one byte beyond the limit: enough to detect that it is too large."""
    if sys.stdin is None:
        raise SourceError("cannot read standard input: it is closed")
    return sys.stdin.buffer.read(flags.max_bytes + 1)


def _load(source: str | bytes, flags: ReadFlags, name: str | None, base: str | None, strict: bool) -> Scene:
    shown = name or (source if isinstance(source, str) else "")
    with spinner(f"loading {printable(shown)}", after=NOTICEABLE):
        scene = load(source, name=name, base=base, strict=strict, **flags.load_options())
    add_sources(source_files(scene))
    return scene


# --- simulating: gravity, friction, limits, time step; and warnings ---------------------------------------

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
    terminal.note_warnings(scene)
    _set_gravity(scene.world, gravity)
    if limits != "file":
        return limits == "on"
    _note_limits(scene)
    return None


def print_warnings(diagnostics: list[Diagnostic]) -> None:
    """Print what the engine does differently from the file on standard error; only `exoskel.preflight` lists notes."""
    from exoskel.engines.codes import CATALOGUE

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
