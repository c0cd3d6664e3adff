"""Which models meet themselves in a document that exoskel wrote: for certificates.

A scene says it for a whole world, and the reader tells where models differ.
"""

from __future__ import annotations

from bisect import bisect_right

from exoskel.scene.collision_filter import CollisionRules, collision_rules
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document

_TAG = b"<self_collide>"


def encounters(scene: Scene, world: World) -> CollisionRules:
    """The rules of the document that a world was read from, which has no nested models."""
    document = scene.documents[0]
    assert isinstance(document, Document)
    models = sorted(world.models, key=lambda model: model.node)
    places = [model.node for model in models]
    stated = [n for n, start in enumerate(document.scan.starts.tolist()) if document.text.startswith(_TAG, start)]
    meeting = [n for n in stated if document.value_text(n).strip() in ("true", "1")]
    found = {id(models[bisect_right(places, node) - 1]) for node in meeting}
    return collision_rules(world, self_colliding=found, exempt_groups=False, collide_connected=False)
