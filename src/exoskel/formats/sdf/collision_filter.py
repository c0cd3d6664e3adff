"""The collision filter in SDFormat: models whose links collide with each other, as read and as written."""

from __future__ import annotations

from bisect import bisect_right

from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.formats.sdf.context import SdfContext
from exoskel.scene.collision_filter import CollisionRules, collision_rules
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.source.flat_tree import Node
from exoskel.source.markup import Markup
from exoskel.source.output_context import OutputContext

_SELF_COLLIDE = "self_collide"


class SelfCollision:
    """What the links of some models state about collisions with each other.  A scene has one value for a world."""

    def __init__(self) -> None:
        self._links: list[bool] = []
        self._nodes: list[tuple[SdfContext, int]] = []

    def add_model(self, source: SdfContext, node: Node) -> None:
        """Add what a model and its links state."""
        links = node.nodes("link")
        whole = node.fields.get(_SELF_COLLIDE, False)
        self._nodes += [(source, one.number) for one in (node, *links) if _SELF_COLLIDE in one.fields]
        self._links += [link.fields.get(_SELF_COLLIDE, whole) for link in links]

    def add(self, other: SelfCollision, bodies: int) -> None:
        """Add what another model states; that of a single body has no effect."""
        self._links += other._links if bodies > 1 else []
        self._nodes += other._nodes

    def apply(self, world: World) -> None:
        """Set the value of the world, and report models that differ."""
        world.self_collision = any(self._links)
        if world.self_collision and not all(self._links):
            for source, number in self._nodes[:1]:
                source.report("SD033", number, _SELF_COLLIDE)


def add_self_collision(element: Markup, world: World) -> None:
    """Write into the element of a model whether its links collide with each other."""
    if world.self_collision:
        element.add(_SELF_COLLIDE, "true")


def record_filter_losses(world: World, output: OutputContext) -> None:
    """Record the rules that SDFormat does not support."""
    if world.collision_exempt_groups:
        output.add_loss(world, CATALOGUE["SD201"], "collision_exempt_groups")


def read_collision_rules(scene: Scene, world: World) -> CollisionRules:
    """The collision rules of a document that Exoskel wrote, for certificates: a scene has no self-collision per model.

    Such a document has no nested models.
    """
    document = scene.documents[0]
    assert isinstance(document, Document)
    models = sorted(world.models, key=lambda model: model.node)
    places = [model.node for model in models]
    tag = f"<{_SELF_COLLIDE}>".encode()
    starts = document.scan.starts.tolist()
    stated = [node for node, start in enumerate(starts) if document.text.startswith(tag, start)]
    enabled = [node for node in stated if document.value_text(node).strip() in ("true", "1")]
    ends = document.outline.ends
    found: set[int] = set()
    for node in enabled:
        place = bisect_right(places, node) - 1
        if place >= 0 and node < ends[places[place]]:  # otherwise a model of another world
            found.add(id(models[place]))
    return collision_rules(world, self_colliding=found, exempt_groups=False, collide_connected=False)
