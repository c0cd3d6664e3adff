"""`exoskel describe`, `exoskel explain` and `exoskel schema`: elements, diagnostics, and schemas.

Schemas are XML Schemas of formats, and JSON Schemas of what the commands print with `--json`.
"""

from __future__ import annotations

from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, get_args

from exoskel.cli import terminal
from exoskel.cli.parameters import Argument
from exoskel.diagnostics import Catalogue, ExoskelError, Topic, did_you_mean
from exoskel.engines import codes
from exoskel.formats import registry
from exoskel.formats.interface import Format
from exoskel.scene import codes as scene_codes
from exoskel.scene import merge
from exoskel.source.atomic_write import write_atomically
from exoskel.source.schema import build_schema as schema_of
from exoskel.source.schema import describe_element as rows_of
from exoskel.source.vocabulary import Element


def describe(
    name: Annotated[
        str,
        Argument(help="Element name, or the end of its path, such as `joint/axis`; default: list all."),
    ] = "",
    /,
    *,
    format: Annotated[str | None, Argument(help="Describe only this format.")] = None,
    json: Annotated[bool, Argument(help="Print the description as JSON.")] = False,
) -> int:
    """Describe an element: its children, attributes, units, defaults, and how DART or PyODE reads it.

    Without a name, list all elements.
    """
    formats = [registry.with_vocabulary(format)] if format else list(registry.WITH_VOCABULARY)
    if not name:
        _print_outline(formats, json)
        return 0
    found = [(one.title, path, element) for one in formats for path, element in one.vocabulary().find(name)]
    if not found:
        known = [known_name for one in formats for known_name in one.vocabulary().names()]
        hint = did_you_mean(name, known)
        raise ExoskelError(f"unknown element {name!r}" + (f"; {hint}" if hint else ""))
    if json:
        terminal.write_json([rows_of(path, element) for _, path, element in found])
        return 0
    for title, path, element in found:
        _show_element(title, rows_of(path, element))
    return 0


def _print_outline(formats: list[Format], json: bool) -> None:
    if json:
        every = [rows_of(path, element) for one in formats for path, element in one.vocabulary().rows()]
        terminal.write_json(every)
        return
    from rich.markup import escape
    from rich.tree import Tree

    for one in formats:
        root = one.vocabulary().root
        tree = Tree(f"[bold]{root.name}[/]  [dim]{escape(root.meaning)}[/]", guide_style="dim")
        _add_children(tree, root, {id(root)})
        terminal.console().print(tree)


def _add_children(tree: Any, element: Element, expanded: set[int]) -> None:
    """Add the children of an element; an element that occurs again is named but not expanded."""
    from rich.markup import escape

    for child in element.children.values():
        attributes = "".join(f" @{attribute}" for attribute in child.attributes)
        old = " [yellow](deprecated or misplaced)[/]" if child.occurrence_code else ""
        branch = tree.add(f"[bold]{child.name}[/] {child.card}{attributes}{old}  [dim]{escape(child.meaning)}[/]")
        if id(child) not in expanded:
            expanded.add(id(child))
            _add_children(branch, child, expanded)


def _show_element(title: str, row: dict[str, Any]) -> None:
    from rich.markup import escape

    console = terminal.console()
    console.print(f"[bold green]{escape(row['path'])}[/]  [dim]{escape(title)}[/]")
    console.print(f"  {escape(row['meaning'])}")
    facts = [("occurs", row["occurs"]), ("type", row["type"]), ("unit", row["unit"]), ("default", row["default"])]
    facts += [("reported as", row["code"]), ("note", row["engine"])]
    for label, value in facts:
        if value:
            console.print(f"  [dim]{label}:[/] {escape(str(value))}")
    for attribute in row["attributes"]:
        _print_row(f"@{attribute['name']}", "required" if attribute["required"] else "optional", attribute)
    for child in row["children"]:
        _print_row(f"<{child['name']}>", child["occurs"], child)
    console.print()


def _print_row(name: str, occurrence: str, row: dict[str, Any]) -> None:
    """Print an attribute or child: its type on the first line, its meaning on the second."""
    from rich.markup import escape

    facts = [occurrence, row["type"] or "element"]
    facts += [row["unit"]] if row["unit"] else []
    facts += [f"default {row['default']}"] if row["default"] else []
    meaning = f"{row['meaning']} {row['engine'] or ''}".strip()
    console = terminal.console()
    console.print(f"  [bold]{escape(name)}[/]  [dim]{escape(', '.join(facts))}[/]")
    console.print(f"      {escape(meaning)}")


def explain(
    code: Annotated[str, Argument(help="Diagnostic code, such as SK024; default: list all.")] = "",
    /,
    *,
    json: Annotated[bool, Argument(help="Print the explanation as JSON.")] = False,
) -> int:
    """Explain a diagnostic code: its meaning, its severity, and how DART or PyODE handles the same input.

    Without a code, list all codes.
    """
    topics = {
        topic.code: (catalogue, topic)
        for catalogue in [*registry.catalogues(), merge.CATALOGUE, scene_codes.CATALOGUE, codes.CATALOGUE]
        for topic in catalogue.topics.values()
    }
    if not code:
        _list_topics([topic for _, topic in topics.values()], json)
        return 0
    found = topics.get(code.upper())
    if found is None:
        hint = did_you_mean(code, topics)
        raise ExoskelError(
            f"unknown code {code!r}" + (f"; {hint}" if hint else "; list all codes with `exoskel explain`")
        )
    if json:
        terminal.write_json(_topic_row(found[1]))
    else:
        _show_topic(*found)
    return 0


def _list_topics(topics: list[Topic], json: bool) -> None:
    if json:
        terminal.write_json([_topic_row(topic) for topic in topics])
        return
    from rich.markup import escape

    console = terminal.console()
    for topic in topics:
        severities = "/".join(dict.fromkeys(terminal.severity_label(m) for m in topic.messages))
        console.print(f"[bold]{topic.code}[/]  {escape(topic.title)}  [dim]{severities}[/]")


def _show_topic(catalogue: Catalogue, topic: Topic) -> None:
    from rich.markup import escape

    console = terminal.console()
    console.print(f"[bold]{topic.code}[/]: {escape(topic.title)}\n")
    console.print(escape(topic.text) + "\n")
    for message in topic.messages:
        style = terminal.STYLES.get(message.severity or message.strict, "dim")
        console.print(f"[{style}]{terminal.severity_label(message)}[/]: {escape(_topic_template(message.text))}")
        if message.hint and message.hint not in ("{hint}", "{suggestion}"):
            console.print(f"  [bold]hint[/]: {escape(_topic_template(message.hint))}")
        if message.reader_note and "{" not in message.reader_note:
            console.print(f"  [bold]{catalogue.original_reader}[/]: {escape(message.reader_note)}")


def _topic_template(text: str) -> str:
    """The text of a message with an ellipsis for each placeholder."""
    import re

    return re.sub(r"\{[a-z_]+\}", "…", text)


def _topic_row(topic: Topic) -> dict[str, Any]:
    return {
        "code": topic.code,
        "title": topic.title,
        "text": topic.text,
        "messages": [
            {
                "severity": m.severity,
                "strict": m.strict,
                "message": m.text,
                "hint": m.hint or None,
                "engine": m.reader_note or None,
            }
            for m in topic.messages
        ],
    }


_JSON = "json"


def schema(
    format: Annotated[str, Argument(help="Format: skel, xode, urdf or sdf; or json, with a command.")],
    command: Annotated[str, Argument(help="With json: the command that prints the JSON.")] = "",
    /,
    *,
    out: Annotated[Path | None, Argument(names=("--out", "-o"), help="Write the schema to this file.")] = None,
) -> int:
    """Print the XML Schema of a format, generated from the reader's vocabulary.

    `exoskel schema json COMMAND` prints the JSON Schema of the output of `exoskel COMMAND --json`.
    """
    if format == _JSON:
        text = _json_schema(command)
    elif command:
        raise ExoskelError(f"unexpected argument {command!r}: only `exoskel schema json` takes a command")
    else:
        text = schema_of(registry.with_vocabulary(format).vocabulary())
    if out is None:
        terminal.write_bytes(text)
        return 0
    write_atomically(out, text)
    return 0


def _json_schema(command: str) -> bytes:
    if command not in SHAPES:
        problem = f"{command!r} has no --json output" if command else "the command is missing"
        raise ExoskelError(f"{problem}; {did_you_mean(command, SHAPES) or 'choose one of ' + ', '.join(SHAPES)}")
    return terminal.format_json(json_schema(command))


JsonShape = Any
"""The shape of a value: a type, a union of types, a list with the shape of its items, or a dict of shapes by name.

Every name of a dict is always there.  The name `*` stands for any names."""

_TEXT, _NUMBER, _LINE = str | None, float | None, int | None
_DIAGNOSTIC = {
    "code": str, "severity": str, "message": str, "file": str, "line": _LINE, "column": _LINE, "path": str,
    "hint": _TEXT, "note": _TEXT,
}  # fmt: skip
_BODY = {
    "name": str, "mass": _NUMBER, "com": [_NUMBER], "inertia": [_NUMBER], "pose": [_NUMBER], "gravity": bool,
    "visuals": int, "collisions": int, "line": _LINE,
}  # fmt: skip
_JOINT = {
    "name": str, "type": str, "parent": _TEXT, "child": str, "dofs": int, "positions": [_NUMBER],
    "velocities": [_NUMBER], "loop": bool, "line": _LINE,
}  # fmt: skip
_MODEL = {"name": str, "static": bool, "bodies": [_BODY], "joints": [_JOINT]}
_WORLD = {"name": str, "gravity": [_NUMBER], "time_step": float, "models": [_MODEL]}
_CHECK = {"name": str, "max_error": _NUMBER, "tolerance": float, "passed": bool}
_NODE = {"line": int, "path": str, "fate": str, "why": _TEXT, "loss": bool, "file": str}
_DESCRIBED = {"meaning": str, "type": _TEXT, "unit": _TEXT, "default": _TEXT, "engine": _TEXT}
_TOPIC = {
    "code": str, "title": str, "text": str,
    "messages": [{"severity": _TEXT, "strict": _TEXT, "message": str, "hint": _TEXT, "engine": _TEXT}],
}  # fmt: skip
_BOUND: JsonShape = float | list

SHAPES: dict[str, dict[str, JsonShape]] = {
    "check": {
        "": [_DIAGNOSTIC],
        "--statistics": [{"code": str, "count": int, "severity": str, "example": str}],
    },
    "info": {
        "": {
            "file": _TEXT, "format": _TEXT, "format_version": _TEXT, "semantics": _TEXT, "worlds": [_WORLD],
            "totals": {"worlds": int, "models": int, "bodies": int, "joints": int, "dofs": int, "mass": float},
            "diagnostics": {"error": int, "warning": int, "info": int},
        },
    },
    "fmt": {"": [{"file": str, "changed": bool | None}]},
    "get": {"": [{"path": str, "value": float | bool | list | None}]},
    "set": {"": [{"path": str, "before": float | bool | list | None, "after": float | bool | list | None}]},
    "rename": {"": [{"item": str, "name": str}]},
    "convert": {
        "": {
            "input": str, "output": str, "formats": [str], "nodes": int,
            "fates": {"exact": int, "lowered": int, "approximated": int, "kept": int, "dropped": int},
            "refusals": [str], "losses": int, "not_selected": {"worlds": [str], "models": [str]}, "items": [_NODE],
            "certificate": {"passed": bool, "checks": [_CHECK]}, "hints": [str], "diagnostics": [_DIAGNOSTIC],
        },
        "FOLDER": [{
            "file": str, "ok": bool, "errors": int, "warnings": int, "losses": int, "certificate": bool | None,
            "seconds": float, "output": str, "problem": str, "hint": str,
            "causes": [{"harm": int, "why": str, "nodes": int}],
        }],
    },
    "diff": {
        "": [{
            "path": str, "kind": str, "a": _TEXT, "b": _TEXT, "size": _NUMBER, "line_a": _LINE, "line_b": _LINE,
            "world": str, "model": str,
        }],
    },
    "run": {
        "": {
            "file": str, "engine": str, "simulated": float, "wall": float, "real_time_factor": _NUMBER, "samples": int,
            "energy_first": _NUMBER, "energy_last": _NUMBER, "most_contacts": int, "constraint_error": float,
            "interrupted": bool, "diverged": _TEXT, "out": _TEXT, "plot": _TEXT, "video": _TEXT,
        },
    },
    "compare": {
        "": {
            "world": str, "time": [float],
            "engines": [{
                "engine": str, "seconds": float, "energy_first": [_NUMBER], "energy_last": [_NUMBER],
                "energy": [_NUMBER], "has_skin_energy": bool, "most_contacts": int,
            }],
            "differences": [{
                "engines": [str], "position_max": _NUMBER, "position_rms": _NUMBER, "rotation_max": _NUMBER,
                "rotation_rms": _NUMBER, "coordinate_max": _NUMBER, "coordinate_rms": _NUMBER,
                "throughput_ratio": _NUMBER, "distance": [_NUMBER], "rotation": [_NUMBER],
            }],
        },
    },
    "rollout": {
        "": [{
            "file": str, "backend": str, "device": str, "worlds": int, "steps": int, "time_step": float, "samples": int,
            "wall": float, "steps_per_second": _NUMBER, "real_time_factor": _NUMBER, "interrupted": bool,
            "diverged": [{"world": int, "time": float}], "parameters": {"*": {"least": _BOUND, "most": _BOUND}},
            "out": _TEXT,
        }],
    },
    "engines": {"": [{"engine": str, "version": _TEXT, "install": str, "limitations": str}]},
    "doctor": {"": [{"group": str, "name": str, "status": str, "detail": str, "install": str}]},
    "describe": {
        "": [{
            "path": str, "name": str, "occurs": str, "code": _TEXT, **_DESCRIBED,
            "attributes": [{"name": str, "required": bool, **_DESCRIBED}],
            "children": [{"name": str, "occurs": str, "code": _TEXT, **_DESCRIBED}],
        }],
    },
    "explain": {"CODE": _TOPIC, "": [_TOPIC]},
    "samples": {"": [{"name": str, "uri": str, "title": str, "path": str}]},
}  # fmt: skip
"""The shapes by command, and by the arguments that change them; an empty text stands for all others."""

_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", NoneType: "null"}


def json_schema(command: str) -> dict[str, Any]:
    """The JSON Schema of what a command prints with `--json`."""
    shapes = SHAPES[command]
    found = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"exoskel {command} --json"}
    if len(shapes) == 1:
        return {**found, **_schema(shapes[""])}
    variants = [{"description": f"with {key}" if key else "otherwise", **_schema(one)} for key, one in shapes.items()]
    return {**found, "anyOf": variants}


def _schema(shape: JsonShape) -> dict[str, Any]:
    if isinstance(shape, list):
        return {"type": "array", "items": _schema(shape[0])}
    if isinstance(shape, dict) and "*" in shape:
        return {"type": "object", "additionalProperties": _schema(shape["*"])}
    if isinstance(shape, dict):
        properties = {name: _schema(inner) for name, inner in shape.items()}
        return {"type": "object", "properties": properties, "required": list(shape), "additionalProperties": False}
    return {"type": json_type(shape)}


def json_type(shape: JsonShape) -> str | list[str]:
    """The JSON type of a shape that is a type, or the types of a union."""
    types = get_args(shape) if isinstance(shape, UnionType) else (shape,)
    names = [_TYPES[one] for one in types]
    return names[0] if len(names) == 1 else names
