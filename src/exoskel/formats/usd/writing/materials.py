"""Write materials: colours, and the friction of contacts."""

from __future__ import annotations

from exoskel.formats.usd.tree import Identifiers, Prim, PrimPath
from exoskel.scene.shape import Color

FRICTION = 1.0
"""The friction of all contacts, DART's default."""
SCOPE = "Looks"


class MaterialWriter:
    """The materials of one world, one for each colour."""

    def __init__(self, world: str) -> None:
        self.path = f"{world}/{SCOPE}"
        self.names = Identifiers(("contact",))
        self.found: dict[Color, PrimPath] = {}

    @property
    def contact(self) -> PrimPath:
        """The material of all colliders."""
        return PrimPath(f"{self.path}/contact")

    def of(self, color: Color) -> PrimPath:
        """The material of a colour, created on first use."""
        path = self.found.get(color)
        if path is None:
            path = self.found[color] = PrimPath(f"{self.path}/{self.names.unique('color', 'color')}")
        return path

    def prim(self) -> Prim:
        contact = Prim("Material", "contact", apis=["PhysicsMaterialAPI"])
        contact.properties |= {
            "float physics:staticFriction": FRICTION,
            "float physics:dynamicFriction": FRICTION,
            "float physics:restitution": 0.0,
        }
        return Prim("Scope", SCOPE, children=[contact, *(_material(*one) for one in self.found.items())])


def _material(color: Color, path: PrimPath) -> Prim:
    shader = Prim("Shader", "shader")
    shader.properties |= {
        "uniform token info:id": "UsdPreviewSurface",
        "color3f inputs:diffuseColor": color[:3],
        "float inputs:opacity": color[3],
        "token outputs:surface": None,
    }
    made = Prim("Material", path.rpartition("/")[2], children=[shader])
    made.properties["token outputs:surface.connect"] = PrimPath(f"{path}/shader.outputs:surface")
    return made
