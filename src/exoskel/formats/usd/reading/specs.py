"""What stands in a layer: values, relationships, schemas and names of prims, without composing a stage."""

from __future__ import annotations

from typing import Any


class Specs:
    """Reads the prims of one layer."""

    def __init__(self, layer: Any) -> None:
        self.layer = layer

    def kind(self, prim: Any) -> str:
        return str(prim.kind)

    def name(self, prim: Any) -> str:
        """The name in the scene: the one that is shown, if it is another."""
        return str(prim.GetInfo("displayName") or prim.name) if prim.HasInfo("displayName") else str(prim.name)

    def apis(self, prim: Any) -> list[str]:
        return list(prim.GetInfo("apiSchemas").GetAddedOrExplicitItems()) if prim.HasInfo("apiSchemas") else []

    def value(self, prim: Any, name: str, default: Any) -> Any:
        """The value of an attribute; quaternions as w x y z."""
        spec = self.layer.GetAttributeAtPath(prim.path.AppendProperty(name)) if prim is not None else None
        if spec is None or spec.default is None:
            return default
        found = spec.default
        return (found.real, *found.imaginary) if hasattr(found, "imaginary") else found

    def target(self, prim: Any, name: str) -> str:
        """The path that a relationship leads to; empty if there is none."""
        spec = self.layer.GetRelationshipAtPath(prim.path.AppendProperty(name))
        targets = list(spec.targetPathList.GetAddedOrExplicitItems()) if spec is not None else []
        return str(targets[0]) if targets else ""

    def words(self, prim: Any) -> dict[str, str]:
        """The scene's own words about a prim."""
        return dict(prim.customData)
