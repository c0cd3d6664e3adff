"""The options for reading a file, shared by all formats."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.scene.inertia import Rule
from exoskel.scene.world import Scene
from exoskel.source.limits import DEFAULT_LIMITS, Limits
from exoskel.source.location import SearchPaths

Semantics = Literal["written", "dart"]
VelocityAxes = Literal["parent", "child"]
Dialect = Literal["auto", "spec", "pyode"]


_CHOICES: dict[str, tuple[object, ...]] = {
    "semantics": get_args(Semantics),
    "inertia_rule": get_args(Rule),
    "free_velocity_axes": get_args(VelocityAxes),
    "dialect": get_args(Dialect),
    "index_base": (None, 0, 1),
}


class ReadOptions(Struct, frozen=True, kw_only=True):
    """How a file is read.

    `semantics` (SKEL): `written`, as documented, or `dart`, as DART 6.20 loads it.
    `inertia_rule` (SKEL): the shapes that missing moments of inertia derive from; `first_shape` is DART up to 6.19.
    `free_velocity_axes` (SKEL): the axes of a free joint's initial velocity; `child` is DART up to 6.16.
    `dialect` (XODE): that of the specification, that of PyODE, or `auto` to detect it in the file.
    `index_base` (XODE): the index of the first vertex of a mesh; None detects it in the mesh.
    """

    semantics: Semantics = "written"
    inertia_rule: Rule = "all_shapes"
    free_velocity_axes: VelocityAxes = "parent"
    dialect: Dialect = "auto"
    index_base: Literal[0, 1] | None = None
    apply_embedded_data: bool = True
    """Apply the data that exoskel has embedded in the file; otherwise ignore it."""
    on_native_scene: Callable[[Scene], None] | None = None
    """Called with the scene before embedded data is applied."""
    strict: bool = False
    """Use the strict severities of diagnostics."""
    limits: Limits = DEFAULT_LIMITS
    paths: SearchPaths = SearchPaths()

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                shown = ", ".join(map(repr, choices))
                raise ExoskelError(f"{name}={value!r} is not supported; use one of {shown}")
