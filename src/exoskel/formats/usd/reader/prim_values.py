"""Read values, relationships, schemas and names of prims in a layer, without composing a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Values = dict[str, Any]


def values(prim: Any, names: Iterable[str] | None = None) -> Values:
    """The values of all attributes of a prim, or only of `names`, which is faster.

    Vectors are tuples, quaternions tuples of w x y z.
    """
    known = prim.attributes
    if names is None:
        found = {spec.name: spec.default for spec in known}
    else:
        found = {name: spec.default for name in names if (spec := known.get(name)) is not None}
    for name, value in found.items():
        plain = _CONVERTERS.get(type(value).__name__)
        if plain is not None:
            found[name] = plain(value)
    return found


def _vector(value: Any) -> tuple[float, ...]:
    return (value[0], value[1], value[2])  # unpacking it takes ten times as long


def _quaternion(value: Any) -> tuple[float, ...]:
    return (value.real, *_vector(value.imaginary))


_CONVERTERS: dict[str, Callable[[Any], tuple[float, ...]]] = {
    "Vec3d": _vector,
    "Vec3f": _vector,
    "Quatd": _quaternion,
    "Quatf": _quaternion,
}
"""Converters for usd-core's own types, by type name."""


def name_of(prim: Any) -> str:
    """The name in the scene: the display name, if there is one."""
    return str(prim.GetInfo("displayName")) if prim.HasInfo("displayName") else str(prim.name)


def apis(prim: Any) -> list[str]:
    return list(prim.GetInfo("apiSchemas").GetAddedOrExplicitItems()) if prim.HasInfo("apiSchemas") else []


def target(prim: Any, name: str) -> str:
    """The target path of a relationship; empty if there is none."""
    found = targets(prim, name)
    return found[0] if found else ""


def targets(prim: Any, name: str) -> list[str]:
    """The target paths of a relationship."""
    spec = prim.relationships.get(name)
    return [str(path) for path in spec.targetPathList.GetAddedOrExplicitItems()] if spec is not None else []


def value_of(layer: Any, path: str, name: str) -> Any:
    """The value of one attribute of the prim at a path; None if it has none."""
    spec = layer.GetAttributeAtPath(f"{path}.{name}")
    return None if spec is None else spec.default


def custom_data(prim: Any) -> dict[str, str]:
    """The custom data that the writer added to a prim."""
    return dict(prim.customData) if prim.HasInfo("customData") else {}
