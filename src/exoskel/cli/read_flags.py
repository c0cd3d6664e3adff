"""The options shared by all verbs that read a file, and the reading itself."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from exoskel.cli.stdin import STDIN
from exoskel.diagnostics import SourceError
from exoskel.formats.load import load
from exoskel.scene.world import Scene
from exoskel.source.limits import DEFAULT_LIMITS, Limits

Flag = Annotated[bool, Parameter(show_default=False)]
"""A switch that is off unless given."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ReadFlags:
    """How files are read."""

    semantics: Annotated[
        Literal["written", "dart"],
        Parameter(help="SKEL: read what the file says, or what DART 6.20 makes of it."),
    ] = "written"
    dialect: Annotated[
        Literal["auto", "spec", "pyode"],
        Parameter(help="XODE: the specification's meaning, PyODE's, or whichever the file shows to be meant."),
    ] = "auto"
    format: Annotated[str | None, Parameter(help="Read as this format instead of telling it by content.")] = None
    package_path: Annotated[
        tuple[str, ...],
        Parameter(
            help="Directory in which `package://` names are looked up; may be given several times.", show_default=False
        ),
    ] = ()
    confine: Annotated[Flag, Parameter(help="Refuse references that leave the file's directory tree.")] = False
    inertia_rule: Annotated[
        Literal["all-shapes", "first-shape"],
        Parameter(help="SKEL: derive missing moments as DART 6.20 (all shapes) or up to 6.19 (first shape)."),
    ] = "all-shapes"
    free_velocity_axes: Annotated[
        Literal["parent", "child"],
        Parameter(help="SKEL: axes of a free joint's initial velocity; `child` is DART up to 6.16."),
    ] = "parent"
    max_bytes: Annotated[int, Parameter(help="Largest file to read.")] = DEFAULT_LIMITS.bytes
    max_depth: Annotated[int, Parameter(help="Deepest nesting of elements.")] = DEFAULT_LIMITS.depth
    max_elements: Annotated[int, Parameter(help="Largest number of elements.")] = DEFAULT_LIMITS.elements

    def options(self) -> dict[str, Any]:
        """The same as options of `load`."""
        return {
            "format": self.format,
            "semantics": self.semantics,
            "dialect": self.dialect,
            "limits": self.limits,
            "package_path": self.package_path,
            "confine": self.confine,
            "inertia_rule": "first_shape" if self.inertia_rule == "first-shape" else "all_shapes",
            "free_velocity_axes": self.free_velocity_axes,
        }

    @property
    def limits(self) -> Limits:
        return Limits(bytes=self.max_bytes, depth=self.max_depth, elements=self.max_elements)


def read(file: str, flags: ReadFlags | None, *, strict: bool = False) -> Scene:
    """Load a file as the flags say; with `strict`, LoadError is raised for errors of the strict column."""
    flags = flags or ReadFlags()
    if file == STDIN:
        return read_bytes(standard_input(flags), STDIN, ".", flags, strict=strict)
    return _load(file, flags, None, None, strict)


def read_bytes(data: bytes, name: str, base: str, flags: ReadFlags, *, strict: bool = False) -> Scene:
    """Load what a file holds, or will hold; references in it start from `base`, a path or URI."""
    return _load(data, flags, name, base, strict)


def standard_input(flags: ReadFlags) -> bytes:
    """All of it; one byte more than the limit is enough to know that it is too large."""
    if sys.stdin is None:
        raise SourceError("cannot read standard input: it is closed")
    return sys.stdin.buffer.read(flags.max_bytes + 1)


def _load(source: str | bytes, flags: ReadFlags, name: str | None, base: str | None, strict: bool) -> Scene:
    return load(source, name=name, base=base, strict=strict, **flags.options())
