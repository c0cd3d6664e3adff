"""Report surface properties of shapes that change the motion and that a scene does not have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from exoskel.formats.sdf.context import SdfContext
from exoskel.formats.sdf.values import MASK
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.document import Tree
from exoskel.source.flat_tree import Node

_CONTACT, _FRICTION = "surface/contact", "surface/friction/ode"
_UNREAD = (
    (_CONTACT, "collide_without_contact"),
    (_FRICTION, "fdir1"),
    (_FRICTION, "slip1"),
    (_FRICTION, "slip2"),
)
"""Properties without effect if they are zero or false, as many programs write them."""
_ALL_BITS = 0xFFFF
"""The mask of a shape that states none."""
_MOST_COMPARED = 256
"""How many different masks each mask is compared with: worlds have few."""


def report_unread_properties(source: SdfContext, node: Node) -> None:
    """Report what a collision states about its surface besides friction, restitution and softness."""
    if node.fields.get("surface") is None:
        return
    element = source.elements[node.number]
    for path, tag in _UNREAD:
        if not _is_zero(element.findtext(f"{path}/{tag}") or ""):
            source.report("SD082.motion", node.number, f"{path}/{tag}", element=tag)


def _is_zero(text: str) -> bool:
    try:
        return not any(map(float, text.split()))
    except ValueError:
        return text.strip() == "false"


class _Bitmasks(NamedTuple):
    """The bits of a shape: with those of its category, it collides with shapes that have one of them in `collide`."""

    collide: int
    category: int

    def exclude(self, other: _Bitmasks) -> bool:
        """Whether shapes with these masks do not collide."""
        return not (self.category & other.collide | other.category & self.collide)


def report_bitmasks(world: World, sources: Sequence[SdfContext]) -> None:
    """Report bitmasks by which shapes that can touch do not collide: in a scene, they do."""
    if not any(b"collide_bitmask" in source.document.text for source in sources):
        return
    found: dict[_Bitmasks, list[tuple[Model, Shape]]] = {}
    for model in world.models:
        for shape in (shape for body in model.bodies for shape in body.collisions if shape.collidable):
            found.setdefault(_bitmasks(sources, shape), []).append((model, shape))
    for masks, shapes in found.items():
        others = (one for one in list(found)[:_MOST_COMPARED] if masks.exclude(one))
        excluded = next((one for one in others if _can_touch(world, shapes, found[one])), None)
        if excluded is not None:
            _report(sources, (shape for _, shape in shapes), excluded)


def _bitmasks(sources: Sequence[SdfContext], shape: Shape) -> _Bitmasks:
    element = sources[shape.document].elements[shape.node]
    collide = _mask(element, "collide_bitmask", _ALL_BITS)
    return _Bitmasks(collide, _mask(element, "category_bitmask", collide))


def _mask(element: Tree, tag: str, default: int) -> int:
    value = MASK.parse_valid(element.findtext(f"{_CONTACT}/{tag}") or "")
    return default if value is None else value


def _can_touch(world: World, one: Sequence[tuple[Model, Shape]], other: Sequence[tuple[Model, Shape]]) -> bool:
    """Whether a shape of the first can touch one of the others, apart from masks."""
    models = {id(model): model for model, _ in (*one, *other)}
    if all(model.static for model in models.values()):
        return False
    return len(models) > 1 or world.self_collision


def _report(sources: Sequence[SdfContext], shapes: Iterable[Shape], excluded: _Bitmasks) -> None:
    for shape in shapes:
        source = sources[shape.document]
        element = source.elements[shape.node]
        for tag in ("collide_bitmask", "category_bitmask"):
            text = element.findtext(f"{_CONTACT}/{tag}")
            if text is not None:
                details = {"element": tag, "value": text.strip(), "other": f"{excluded.collide:#x}"}
                source.report("SD082.bitmask", shape.node, f"{_CONTACT}/{tag}", **details)
