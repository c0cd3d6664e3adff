"""Paths of values in a scene, such as `body:torso.mass`, as in `rollout(vary=...)`; names may have wildcards.

| path | value |
|---|---|
| `gravity`, `gravity.z`, `time_step`, `erp`, `cfm` | of the worlds |
| `model:NAME.static` | whether a model does not move |
| `body:NAME.mass`, `com`, `com.x`, `moment`, `gravity` | of bodies |
| `body:NAME.friction`, `restitution` | of all collision shapes of bodies |
| `shape:NAME.friction`, `restitution`, `color`, `collidable` | of shapes |
| `joint:NAME.damping`, `stiffness`, `position`, `position_limits`, … | fields of `Dof`, for all coordinates of joints |
| `dof:NAME.…` | the same for single coordinates |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from exoskel.diagnostics import ExoskelError, did_you_mean
from exoskel.scene.editing import matches_path
from exoskel.scene.item import Item, qualified_name
from exoskel.scene.joint import DOF_VALUES
from exoskel.scene.model import Model
from exoskel.scene.world import World

_COMPONENTS = {"x": 0, "y": 1, "z": 2}
_SURFACE = ("friction", "restitution")
_FIELDS: dict[str, tuple[str, ...]] = {
    "world": ("gravity", "time_step", "erp", "cfm"),
    "model": ("static",),
    "body": ("mass", "com", "moment", "gravity", *_SURFACE),
    "shape": (*_SURFACE, "color", "collidable"),
    "joint": DOF_VALUES,
    "dof": DOF_VALUES,
}
_NONE = "none"
"""The text of a value that is not set."""
_VECTORS = ("gravity", "com")
_FLAGS = ("static", "collidable")
_OPTIONAL = ("erp", "cfm", "com", "moment", *_SURFACE)
_LIST_SEPARATOR = ","


class SceneValue(Struct, frozen=True):
    """One value of a scene: a field of an item, or one component of it, and the path that leads to it alone."""

    path: str
    item: Item
    field: str
    component: int = -1

    def read(self) -> float | bool | tuple[float, ...] | None:
        """The value: a number, some numbers, true or false; None if it is not set."""
        value: float | bool | tuple[float, ...] | None = getattr(self.item, self.field)
        return value[self.component] if isinstance(value, tuple) and self.component >= 0 else value

    def write(self, text: str) -> None:
        """Set the value from text: a number, numbers separated by commas or spaces, `true` or `false`, `none`."""
        value: Any = self._parse(text)
        if self.component >= 0:
            numbers = list(getattr(self.item, self.field))
            numbers[self.component] = value
            value = numbers
        setattr(self.item, self.field, value)

    def _parse(self, text: str) -> Any:
        if text.lower() == _NONE and self.field in _OPTIONAL and self.component < 0:
            return None
        is_flag = self.field in _FLAGS or isinstance(getattr(self.item, self.field), bool)
        if is_flag:
            if text.lower() not in ("true", "false"):
                raise ExoskelError(f"{self.path} must be true or false, not {text!r}")
            return text.lower() == "true"
        try:
            numbers = [float(part) for part in text.replace(_LIST_SEPARATOR, " ").split()]
        except ValueError:
            numbers = []
        if not numbers:
            raise ExoskelError(f"{self.path} must be a number, not {text!r}")
        is_single = self.component >= 0 or not isinstance(getattr(self.item, self.field), tuple)
        if is_single and len(numbers) > 1:
            raise ExoskelError(f"{self.path} is one number, not {len(numbers)}")
        return numbers[0] if is_single else numbers


def find_values(worlds: Sequence[World], path: str) -> list[SceneValue]:
    """The values that a path leads to.  Raises ExoskelError if it matches nothing."""
    kind, pattern, field, component = _split(path)
    shown = f"{field}.{'xyz'[component]}" if component >= 0 else field
    if kind == "world":
        return [SceneValue(shown, world, field, component) for world in worlds]
    entries = [entry for world in worlds for model in world.models for entry in _entries(model, kind, field)]
    found = [
        SceneValue(f"{entry.path}.{shown}", entry.item, field, component)
        for entry in entries
        if matches_path(entry.names, pattern, partial=True)
    ]
    if not found:
        hint = did_you_mean(pattern, {entry.names[-1] for entry in entries})
        raise ExoskelError(f"no {kind} matches {pattern!r}" + (f"; {hint}" if hint else ""))
    return found


def _split(path: str) -> tuple[str, str, str, int]:
    """The kind, the pattern of names, the field and the component (-1: none) of a path."""
    kind, colon, rest = path.partition(":")
    if not colon:
        kind, rest = "world", f".{path}"
    pattern, dot, field = rest.rpartition(".")
    component = -1
    if field in _COMPONENTS and pattern.rpartition(".")[2] in _VECTORS:
        component = _COMPONENTS[field]
        pattern, _, field = pattern.rpartition(".")
    if kind not in _FIELDS or not dot or (colon and not pattern):
        raise ExoskelError(
            f"{path!r} is not a path of a value; use gravity, gravity.z, time_step, body:NAME.mass, "
            "joint:NAME.damping, dof:NAME.position and similar"
        )
    if field not in _FIELDS[kind]:
        hint = did_you_mean(field, _FIELDS[kind])
        known = f"the values of a {kind} are {', '.join(_FIELDS[kind])}"
        raise ExoskelError(f"{path!r}: unknown value {field!r}; {hint or known}")
    return kind, pattern, field, component


class _Entry(Struct, frozen=True):
    """An item with values, the names that a pattern has to match, and its own path."""

    names: tuple[str, ...]
    path: str
    item: Item


def _entries(model: Model, kind: str, field: str) -> Iterator[_Entry]:
    """The items of a model with a field, for paths of a kind."""
    if kind == "model":
        yield _Entry((model.name,), f"model:{qualified_name(model.name)}", model)
    elif kind in ("joint", "dof"):
        yield from _dof_entries(model, kind)
    elif kind == "body" and field not in _SURFACE:
        for body in model.bodies:
            names = (model.name, body.name)
            yield _Entry(names, f"body:{qualified_name(*names)}", body)
    else:
        yield from _shape_entries(model, kind)


def _dof_entries(model: Model, kind: str) -> Iterator[_Entry]:
    for joint in model.joints:
        for name, dof in zip(joint.dof_names, joint.dofs, strict=False):
            own = (model.name, name)
            yield _Entry((model.name, joint.name) if kind == "joint" else own, f"dof:{qualified_name(*own)}", dof)


def _shape_entries(model: Model, kind: str) -> Iterator[_Entry]:
    """The shapes of a model; for paths of bodies those that collide."""
    for body in model.bodies:
        for shape in body.collisions if kind == "body" else body.shapes:
            own = (model.name, body.name, shape.name)
            names = own[:2] if kind == "body" else own
            yield _Entry(names, f"{kind}:{qualified_name(*names)}", shape)


def format_value(value: object) -> str:
    """A value as `SceneValue.write` accepts it; `none` if it is not set."""
    if value is None:
        return _NONE
    if isinstance(value, bool):
        return str(value).lower()
    numbers = value if isinstance(value, tuple) else (value,)
    return _LIST_SEPARATOR.join(repr(number).removesuffix(".0") for number in numbers)
