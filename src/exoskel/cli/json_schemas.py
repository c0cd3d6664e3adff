"""The JSON Schemas of what the commands print with `--json`."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, get_args

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
            "losses": int, "not_selected": {"worlds": [str], "models": [str]}, "items": [_NODE],
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
