"""Visuals that show collision shapes, for formats whose readers show only visuals.

A body without visual shapes gets a visual for each collision shape that is written.  The reader gives the appearance
back to the collision shapes, unless the file was edited.
"""

from __future__ import annotations

from exoskel.scene.body import Body
from exoskel.scene.shape import Shape
from exoskel.source.markup import Markup

PREFIX = "exoskel_shown_"
"""What the names of these visuals start with."""
_FORMATS = frozenset({"sdf", "urdf"})
"""Formats in which a body without visuals is invisible."""
_PLACED_GEOMETRY = frozenset({"pose", "origin", "geometry"})
_APPEARANCE = frozenset({"color", "material"})


def shows_collisions(body: Body, source_format: str) -> bool:
    """Whether the collision shapes of a body are written as visuals, too.

    A body that is invisible in its own file remains so, unless a program has added shapes or their appearance.
    """
    if body.shown_shapes is not body.collisions:
        return False
    return source_format not in _FORMATS or any(
        shape.node < 0 or shape.appearance_node >= 0 or shape.color is not None or shape.material is not None
        for shape in body.collisions
    )


def visual_of(collision: Markup, count: int) -> Markup:
    """The visual of a collision, without its material."""
    parts = [_copy(child) for child in collision.children if child.tag in _PLACED_GEOMETRY]
    return Markup("visual", {"name": f"{PREFIX}{count}"}, children=parts)


def _copy(element: Markup) -> Markup:
    children = [_copy(child) for child in element.children]
    return Markup(element.tag, dict(element.attributes), element.text, children, is_rounded=element.is_rounded)


def shown_pairs(body: Body) -> list[tuple[Shape, Shape]]:
    """The visuals of a body with the collision shapes that they show; none if a visual shows anything else."""
    if len(body.visuals) != len(body.collisions):
        return []
    pairs = list(zip(body.visuals, body.collisions, strict=True))
    is_unedited = all(
        visual.name.startswith(PREFIX) and visual.geometry == solid.geometry and visual.pose == solid.pose
        for visual, solid in pairs
    )
    return pairs if is_unedited else []


def give_appearance(visual: Shape, solid: Shape) -> None:
    """Give the appearance of a visual to the collision shape that it shows."""
    solid.color, solid.material = visual.color, visual.material
    solid.given |= visual.given & _APPEARANCE
    solid.repaired |= visual.repaired & _APPEARANCE
    solid.appearance_node = visual.node
