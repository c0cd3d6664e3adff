"""The choices a caller has when reading, shared by all formats."""

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
    """How a file is to be read.

    `semantics` (SKEL): `written`, what the documentation says, or `dart`, what DART 6.20 makes of it.
    `inertia_rule` (SKEL): from which shapes a missing moment is derived; `first_shape` is DART up to 6.19.
    `free_velocity_axes` (SKEL): in whose axes a free joint's initial velocity is; `child` is DART up to 6.16.
    `dialect` (XODE): the specification's meaning, PyODE's, or whichever the file shows to be meant.
    `index_base` (XODE): whether meshes count their vertices from 0 or 1, instead of telling it from the mesh.
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
    """Take the strict column of severities."""
    limits: Limits = DEFAULT_LIMITS
    paths: SearchPaths = SearchPaths()

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                shown = ", ".join(map(repr, choices))
                raise ExoskelError(f"{name}={value!r} is not possible; the choices are {shown}")
