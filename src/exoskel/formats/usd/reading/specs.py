"""What stands in a layer: values, relationships, schemas and names of prims, without composing a stage."""

from __future__ import annotations

from typing import Any

Values = dict[str, Any]


def values(prim: Any) -> Values:
    """The values of all attributes of a prim; quaternions as w x y z."""
    found = {spec.name: spec.default for spec in prim.attributes}
    return {
        name: (value.real, *value.imaginary) if hasattr(value, "imaginary") and hasattr(value, "Normalize") else value
        for name, value in found.items()
    }


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
