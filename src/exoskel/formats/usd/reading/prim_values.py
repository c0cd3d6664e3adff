"""What stands in a layer: values, relationships, schemas and names of prims, without composing a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

Values = dict[str, Any]


def values(prim: Any, names: Iterable[str] | None = None) -> Values:
    """The values of all attributes of a prim, or of those of some names, which is cheaper; vectors as tuples, and
    quaternions as tuples of w x y z."""
    known = prim.attributes
    if names is None:
        found = {spec.name: spec.default for spec in known}
    else:
        found = {name: spec.default for name in names if (spec := known.get(name)) is not None}
    for name, value in found.items():
        plain = _PLAIN.get(type(value).__name__)
        if plain is not None:
            found[name] = plain(value)
    return found


def _vector(value: Any) -> tuple[float, ...]:
    return (value[0], value[1], value[2])  # unpacking it takes ten times as long


def _quaternion(value: Any) -> tuple[float, ...]:
    return (value.real, *_vector(value.imaginary))


_PLAIN: dict[str, Callable[[Any], tuple[float, ...]]] = {
    "Vec3d": _vector,
    "Vec3f": _vector,
    "Quatd": _quaternion,
    "Quatf": _quaternion,
}
"""How to take values of usd-core's own types, by the names of these."""


def name_of(prim: Any) -> str:
    """The name in the scene: the one that is shown, if it is another."""
    return str(prim.GetInfo("displayName")) if prim.HasInfo("displayName") else str(prim.name)


def apis(prim: Any) -> list[str]:
    return list(prim.GetInfo("apiSchemas").GetAddedOrExplicitItems()) if prim.HasInfo("apiSchemas") else []


def target(prim: Any, name: str) -> str:
    """The path that a relationship leads to; empty if there is none."""
    found = targets(prim, name)
    return found[0] if found else ""


def targets(prim: Any, name: str) -> list[str]:
    """The paths that a relationship leads to."""
    spec = prim.relationships.get(name)
    return [str(path) for path in spec.targetPathList.GetAddedOrExplicitItems()] if spec is not None else []


def value_of(layer: Any, path: str, name: str) -> Any:
    """The value of one attribute of the prim at a path; None if it has none."""
    spec = layer.GetAttributeAtPath(f"{path}.{name}")
    return None if spec is None else spec.default


def words(prim: Any) -> dict[str, str]:
    """The scene's own words about a prim."""
    return dict(prim.customData) if prim.HasInfo("customData") else {}
