"""Materials of MJCF that are written for the roughness and metalness of shapes, for MuJoCo 3.2 and newer."""

from __future__ import annotations

from exoskel.formats.mjcf.names import GENERATED
from exoskel.formats.mjcf.tree import MjcfElement, Value
from exoskel.scene.shape import Material, Shape

PLAIN_MATERIAL = f"{GENERATED}plain_"
"""How the name of a material starts whose shapes have no colour."""


class MjcfMaterialWriter:
    """Adds materials to a list of assets, each once."""

    def __init__(self, assets: list[MjcfElement]) -> None:
        self._assets = assets
        self._names: dict[tuple[Material, object], str] = {}

    def paint(self, shape: Shape, geom: MjcfElement) -> None:
        """Set the material of a geom.  It has the colour of the geom: MuJoCo ignores a colour of default grey."""
        material, color = shape.material, geom.attributes.get("rgba")
        if material is None or material == Material():
            return
        key = (material, color)
        if key not in self._names:
            self._names[key] = f"{PLAIN_MATERIAL if color is None else GENERATED}material_{len(self._names)}"
            given: dict[str, Value] = {"name": self._names[key]}
            given |= {"metallic": material.metalness} if material.metalness is not None else {}
            given |= {"roughness": material.roughness} if material.roughness is not None else {}
            given |= {"rgba": color} if color is not None else {}
            self._assets.append(MjcfElement("material", given))
        geom.attributes["material"] = self._names[key]
