"""`exoskel get`, `exoskel set` and `exoskel rename`: print and change values and names of a file."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any

from msgspec import Struct

from exoskel.cli import terminal
from exoskel.cli.file_changes import EditedOutput, save_data, save_edits
from exoskel.cli.flags import ReadFlags, read_scene
from exoskel.cli.parameters import Argument
from exoskel.diagnostics import ExoskelError, did_you_mean, pluralize, printable
from exoskel.formats import registry
from exoskel.formats.interface import ReadOptions
from exoskel.formats.renaming import rename_in_text
from exoskel.scene.editing import matches_path
from exoskel.scene.item import Item, qualified_name
from exoskel.scene.joint import DOF_VALUES
from exoskel.scene.model import Model
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.numbers import given_numbers, round_value


def get(
    file: Annotated[str, Argument(help="File to read; `-` is standard input.")],
    paths: Annotated[
        tuple[str, ...],
        Argument(help="Values to print, such as gravity, body:torso.mass or 'joint:*.damping'."),
    ],
    /,
    *,
    json: Annotated[bool, Argument(help="Print the values as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Print values of a file: one value as it is, several as PATH=VALUE, which `exoskel set` accepts.

    Exit code 0: done. 2: a path matches nothing, or the file could not be opened.
    """
    scene = read_scene(file, flags)
    found = [value for path in paths for value in find_values(scene.worlds, path)]
    given = given_numbers(scene.documents)
    rows = [(value.path, round_value(value.read(), given)) for value in found]
    if json:
        terminal.write_json([{"path": path, "value": value} for path, value in rows])
    elif len(rows) == 1:
        sys.stdout.write(f"{format_value(rows[0][1])}\n")
    else:
        sys.stdout.writelines(f"{printable(path)}={format_value(value)}\n" for path, value in rows)
    return 0


def set(
    file: Annotated[str, Argument(help="File to edit; `-` edits standard input to standard output.")],
    assignments: Annotated[
        tuple[str, ...],
        Argument(help="Values to set, PATH=VALUE, such as body:torso.mass=4.2 or 'joint:*knee.damping=0.5'."),
    ],
    /,
    *,
    diff: Annotated[bool, Argument(help="Write nothing; print the changes as a diff.")] = False,
    out: Annotated[str | None, Argument(help="Write the result to this file instead.")] = None,
    force: Annotated[bool, Argument(help="Overwrite the file even if another program has changed it.")] = False,
    json: Annotated[bool, Argument(help="Print the changed values as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Set values of a file. Only their numbers change in the text.

    Paths are those of `exoskel get` and `rollout --vary`: gravity.z, time_step, body:NAME.mass, joint:NAME.damping,
    dof:NAME.position. `*`, `?` and `[abc]` in names match several items. The result is read again before it is written.

    Exit code 0: done. 2: a path matches nothing, a value is invalid, or the file cannot be written.
    """
    output = EditedOutput(file=file, out=out, diff=diff, force=force, json=json)
    scene = read_scene(file, flags)
    rows = [row for assignment in assignments for row in _assign(scene, assignment)]
    save_edits(scene, output)
    if json:
        terminal.write_json(rows)
    elif not diff:
        for row in rows:
            before, after = format_value(row["before"]), format_value(row["after"])
            output.print(f"{printable(str(row['path']))}: {before} → {after}")
    return 0


def _assign(scene: Scene, assignment: str) -> list[dict[str, object]]:
    """Set the values that an assignment names; returns them before and after."""
    path, equals, text = assignment.rpartition("=")
    if not equals or not path.strip():
        raise ExoskelError(f"{assignment!r} is not an assignment; use PATH=VALUE, such as body:torso.mass=4.2")
    return [_write(value, text.strip()) for value in find_values(scene.worlds, path.strip())]


def _write(value: SceneValue, text: str) -> dict[str, object]:
    before = value.read()
    value.write(text)
    return {"path": value.path, "before": before, "after": value.read()}


def rename(
    file: Annotated[str, Argument(help="File to edit; `-` edits standard input to standard output.")],
    names: Annotated[
        tuple[str, ...],
        Argument(help="Items and their new names, such as body:torso=chest or joint:robot/a=b."),
    ],
    /,
    *,
    diff: Annotated[bool, Argument(help="Write nothing; print the changes as a diff.")] = False,
    out: Annotated[str | None, Argument(help="Write the result to this file instead.")] = None,
    force: Annotated[bool, Argument(help="Overwrite the file even if another program has changed it.")] = False,
    json: Annotated[bool, Argument(help="Print the renamed items as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Rename models, bodies, joints and shapes, with all references to them. Nothing else changes in the text.

    Exit code 0: done. 2: a name is unknown or in use, or the file cannot be written.
    """
    output = EditedOutput(file=file, out=out, diff=diff, force=force, json=json)
    scene = read_scene(file, flags)
    source = scene.documents[0] if scene.documents else None
    has_text = isinstance(source, Document) and output.is_like(source)
    if has_text and registry.by_name(scene.source_info.format).name_references() is not None:
        rows = _rename_in_text(scene, names, output)
    else:
        rows = [_rename(scene, one) for one in names]
        save_edits(scene, output)
    if json:
        terminal.write_json(rows)
    elif not diff:
        for row in rows:
            output.print(f"{printable(row['item'])} → {printable(row['name'])}")
    return 0


def _rename_in_text(scene: Scene, names: Sequence[str], output: EditedOutput) -> list[dict[str, str]]:
    """Rename items of a file that is not edited in place otherwise: only names change in its text."""
    source = scene.documents[0]
    assert isinstance(source, Document)
    rows: list[dict[str, str]] = []
    current, data = scene, source.data
    for text in names:
        item, name = _split_name(text)
        found = [one for world in current.worlds for one in world.find(item)]
        if len(found) != 1:
            raise ExoskelError(f"{len(found) or 'no'} items match {item!r}")
        renamed = rename_in_text(current, found[0], name, partial(_read_again, scene))
        if renamed.parameters:
            count = pluralize(renamed.parameters, "parameter of a plugin has", "parameters of plugins have")
            terminal.print_line(f"{item}: {count} this name, and may refer to it; they are unchanged")
        data, current = renamed.data, renamed.scene
        rows.append({"item": item, "name": name})
    save_data(source, data, output)
    return rows


def _read_again(scene: Scene, data: bytes) -> Scene:
    """Read new content of the file of a scene with the same options."""
    source = scene.documents[0]
    assert isinstance(source, Document)
    document = Document(data, source.name, source.location)
    return registry.by_name(scene.source_info.format).reader()(document, ReadOptions.of(scene))


def _rename(scene: Scene, text: str) -> dict[str, str]:
    """Rename the item that a text such as `body:old=new` names."""
    item, name = _split_name(text)
    worlds = [world for world in scene.worlds if world.find(item)]
    if len(worlds) > 1:
        raise ExoskelError(f"items of several worlds match {item!r}")
    (worlds or scene.worlds)[0].rename(item, name)
    return {"item": item, "name": name}


def _split_name(text: str) -> tuple[str, str]:
    """The path of an item and its new name."""
    item, equals, name = text.rpartition("=")
    if not equals or ":" not in item:
        raise ExoskelError(f"{text!r} is not a new name; use KIND:NAME=NEW, such as body:torso=chest")
    kind = item.partition(":")[0]
    if kind not in ("model", "body", "joint", "shape"):
        raise ExoskelError(f"cannot rename a {kind!r}; use model:, body:, joint: or shape:")
    return item, name


# --- paths of values, as in `rollout(vary=...)`; names may have wildcards -------------------------------
#
# | path | value |
# |---|---|
# | `gravity`, `gravity.z`, `time_step`, `erp`, `cfm` | of the worlds |
# | `model:NAME.static` | whether a model does not move |
# | `body:NAME.mass`, `com`, `com.x`, `moment`, `gravity` | of bodies |
# | `body:NAME.friction`, `restitution` | of all collision shapes of bodies |
# | `shape:NAME.friction`, `restitution`, `color`, `collidable` | of shapes |
# | `joint:NAME.damping`, `stiffness`, `position`, `position_limits`, … | fields of `Dof`, for all coordinates |
# | `dof:NAME.…` | the same for single coordinates |

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
