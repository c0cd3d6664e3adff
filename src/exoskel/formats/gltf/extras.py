"""The `extras` of nodes in glTF: data of Exoskel, and data of other programs, which are preserved from glTF to glTF."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exoskel.scene.body import Body
from exoskel.scene.world import Scene
from exoskel.source.output_context import OutputContext

EXTRAS = "extras"
OWN_EXTRAS = frozenset({"mass", "com", "inertia", "gravity", "joint", "static", "loops", "marker"})
"""The names of the data of Exoskel."""
PreservedExtras = dict[int, dict[str, Any]]
"""The extras of other programs, by the objects of the document."""


def other_extras(node: Mapping[str, Any], *, is_own: bool) -> dict[str, Any]:
    """The extras of other programs; `is_own`: Exoskel wrote the file."""
    found = node.get(EXTRAS)
    if not isinstance(found, dict):
        return {}
    return {name: value for name, value in found.items() if not is_own or name not in OWN_EXTRAS}


class ExtrasWriter:
    """Adds the extras of other programs to those of bodies that were read from a glTF file."""

    def __init__(self, scene: Scene, output: OutputContext) -> None:
        self._output = output
        info = scene.source_info
        self._preserved: PreservedExtras = {}
        if info.format == "gltf" and isinstance(info.preserved, dict):
            self._preserved = info.preserved

    def add(self, body: Body, extras: dict[str, Any]) -> dict[str, Any]:
        """The extras of a body.  Data with the names of those of Exoskel are not preserved."""
        others = self._preserved.get(body.node, {}) if body.document == 0 else {}
        if not others or OWN_EXTRAS.intersection(others):
            return extras
        self._output.preserved_attributes.add((body.node, EXTRAS))
        return {**others, **extras}
