"""Options shared by all commands that read a file, and the functions that read it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from exoskel.cli.parameters import Argument, OptionGroup, between, positive
from exoskel.cli.terminal import NOTICEABLE, STDIN, spinner
from exoskel.diagnostics import ExoskelError, SourceError, printable
from exoskel.formats.load import load, source_files
from exoskel.scene.world import Scene
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
