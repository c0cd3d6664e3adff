"""Meshes and materials, each written once: equal geometries share their buffers, equal colours also the mesh."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel.formats.gltf.binary import INDICES, VERTICES, Buffer, single
from exoskel.scene.shape import DEFAULT_COLOR, Color, Geometry, Mesh, TriMesh, kind_of
from exoskel.source.colors import srgb_to_linear
from exoskel.source.surface import Surface, Surfaces

_MOST_SHORT = 65535
"""Indices below this fit into two bytes; the largest itself is reserved."""
_ROUGHNESS = 0.7
"""The roughness of all materials."""
_WHITE: Color = (1.0, 1.0, 1.0, 1.0)


class Meshes:
    """Creates meshes and materials, each once."""

    def __init__(self, surfaces: Surfaces, buffer: Buffer) -> None:
        self.surfaces = surfaces
        self.meshes: list[dict[str, Any]] = []
        self.materials: list[dict[str, Any]] = []
        self._buffer = buffer
        self._made: dict[tuple[Geometry, Color | None], int] = {}
        self._painted: dict[tuple[Color, bool, bool], int] = {}
        self._numbers: dict[Geometry, dict[str, Any]] = {}

    def of(self, geometry: Geometry, color: Color | None) -> int | None:
        """The index of the mesh of a geometry in a colour (None: that of its file); None if it has no surface."""
        key = (geometry, color)
        if key not in self._made:
            surface = self.surfaces.of(geometry)
            if surface is None:
                return None
            self._made[key] = self._make(geometry, surface, color)
        return self._made[key]

    def _make(self, geometry: Geometry, surface: Surface, color: Color | None) -> int:
        numbers = self._numbers.get(geometry)
        if numbers is None:
            numbers = self._numbers[geometry] = self._stored(geometry, surface)
        attributes = {name: numbers[name] for name in ("POSITION", "NORMAL")}
        opaque = True
        if color is None and surface.colors is not None:
            attributes["COLOR_0"] = numbers["COLOR_0"]
            opaque = bool((surface.colors[:, 3] >= 1.0).all())
            color = _WHITE
        # Files often have reversed triangles, or a single layer of them.
        both_sides = isinstance(geometry, Mesh | TriMesh)
        material = self._material(color or DEFAULT_COLOR, opaque, both_sides)
        primitive = {"attributes": attributes, "indices": numbers["indices"], "material": material}
        self.meshes.append({"name": _name(geometry), "primitives": [primitive]})
        return len(self.meshes) - 1

    def _stored(self, geometry: Geometry, surface: Surface) -> dict[str, Any]:
        what = f"a vertex of a {kind_of(geometry)}"
        small = np.uint16 if len(surface.vertices) < _MOST_SHORT else np.uint32
        stored = {
            "POSITION": self._buffer.add(single(surface.vertices, what), target=VERTICES, bounds=True),
            "NORMAL": self._buffer.add(single(surface.normals, what), target=VERTICES),
            "indices": self._buffer.add(surface.triangles.ravel().astype(small), target=INDICES),
        }
        if surface.colors is not None:
            light = np.rint(np.clip(srgb_to_linear(surface.colors), 0.0, 1.0) * _MOST_SHORT).astype(np.uint16)
            stored["COLOR_0"] = self._buffer.add(light, target=VERTICES, normalized=True)
        return stored

    def _material(self, color: Color, opaque: bool, both_sides: bool) -> int:
        key = (color, opaque, both_sides)
        if key not in self._painted:
            self.materials.append(_material(color, opaque, both_sides))
            self._painted[key] = len(self.materials) - 1
        return self._painted[key]


def _material(color: Color, opaque: bool, both_sides: bool) -> dict[str, Any]:
    shown = np.clip(color, 0.0, 1.0)
    made: dict[str, Any] = {
        "name": " ".join(f"{part:g}" for part in shown),
        "pbrMetallicRoughness": {
            "baseColorFactor": srgb_to_linear(shown).tolist(),
            "metallicFactor": 0.0,
            "roughnessFactor": _ROUGHNESS,
        },
    }
    if shown[3] < 1.0 or not opaque:
        made["alphaMode"] = "BLEND"
    if both_sides:
        made["doubleSided"] = True
    return made


def _name(geometry: Geometry) -> str:
    return geometry.uri if isinstance(geometry, Mesh) else kind_of(geometry)
