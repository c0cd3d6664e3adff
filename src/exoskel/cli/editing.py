"""`exoskel get`, `exoskel set` and `exoskel rename`: print and change values and names of a file."""

from __future__ import annotations

import sys
from typing import Annotated

from exoskel.cli import terminal
from exoskel.cli.file_changes import EditedOutput, save_edits
from exoskel.cli.parameters import Argument
from exoskel.cli.read_flags import ReadFlags, read_scene
from exoskel.diagnostics import ExoskelError, printable
from exoskel.scene.value_paths import SceneValue, find_values, format_value
from exoskel.scene.world import Scene
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
    rows = [_rename(scene, one) for one in names]
    save_edits(scene, output)
    if json:
        terminal.write_json(rows)
    elif not diff:
        for row in rows:
            output.print(f"{printable(row['item'])} → {printable(row['name'])}")
    return 0


def _rename(scene: Scene, text: str) -> dict[str, str]:
    """Rename the item that a text such as `body:old=new` names."""
    item, equals, name = text.rpartition("=")
    if not equals or ":" not in item:
        raise ExoskelError(f"{text!r} is not a new name; use KIND:NAME=NEW, such as body:torso=chest")
    kind = item.partition(":")[0]
    if kind not in ("model", "body", "joint", "shape"):
        raise ExoskelError(f"cannot rename a {kind!r}; use model:, body:, joint: or shape:")
    worlds = [world for world in scene.worlds if world.find(item)]
    if len(worlds) > 1:
        raise ExoskelError(f"items of several worlds match {item!r}")
    (worlds or scene.worlds)[0].rename(item, name)
    return {"item": item, "name": name}
