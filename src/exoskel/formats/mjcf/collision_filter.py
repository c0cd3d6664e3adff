"""The collision rules of a document that Exoskel wrote, by MuJoCo's own rules: for certificates.

The reader converts bits to the rules of a scene, which cannot express all of them.  Here they are used unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from exoskel.scene.body import Body
from exoskel.scene.collision_filter import CollisionRules, Kind, Pair, fixed_bodies
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document

Bits = tuple[int, int]
"""`contype` and `conaffinity`."""
_DEFAULT = 1


def read_collision_rules(scene: Scene, world: World) -> CollisionRules:
    """The rules of the document that a world was read from."""
    document = scene.documents[0]
    assert isinstance(document, Document)
    kinds: dict[int, Kind] = {}
    for body in world.bodies():
        one, other = _bits(document, body)
        if one or other:
            kinds[id(body)] = one, other
    static = fixed_bodies(world.models)
    return CollisionRules(
        kinds, non_colliding_bits(kinds.values()), [*_parent_pairs(world, static), *_excluded(document, world)], static
    )


def _bits(document: Document, body: Body) -> Bits:
    """The bits of all geoms of a body together: it collides with what any of them collides with."""
    if not any(shape.collidable for shape in body.collisions):
        return 0, 0
    found = _combined_bits(document, (shape.node for shape in body.collisions))
    if any(found):
        return found
    # A mesh that is not convex is visual only; the slabs of its triangles, which the reader merges again, collide.
    outline = document.outline
    inside = range(body.node + 1, outline.ends[body.node])
    return _combined_bits(
        document, (n for n in inside if outline.tags[n] == "geom" and outline.parents[n] == body.node)
    )


def _combined_bits(document: Document, geoms: Iterable[int]) -> Bits:
    kind = affinity = 0
    for node in geoms:
        kind |= int(document.attribute_text(node, "contype") or _DEFAULT)
        affinity |= int(document.attribute_text(node, "conaffinity") or _DEFAULT)
    return kind, affinity


def non_colliding_bits(kinds: Iterable[Kind]) -> dict[Kind, list[Kind]]:
    """For each pair of bits, those that they do not collide with.

    In worlds with many models, shapes collide with all bits but their own: two of them do not collide only if they
    have the same bits, so that not all pairs have to be checked.
    """
    found: set[Bits] = set(kinds)  # type: ignore[arg-type]
    used = 0
    for kind, _ in found:
        used |= kind
    complementary = {bits for bits in found if bits[1] & used == used & ~bits[0]}
    same_bits: dict[int, list[Kind]] = {}
    for bits in complementary:
        same_bits.setdefault(bits[0], []).append(bits)
    others = found - complementary
    exempt: dict[Kind, list[Kind]] = {}
    for bits in found:
        candidates = [*same_bits[bits[0]], *others] if bits in complementary else found
        exempt[bits] = [one for one in candidates if not _collide(bits, one)]  # type: ignore[arg-type]
    return exempt


def _collide(one: Bits, other: Bits) -> bool:
    return bool(one[0] & other[1] or other[0] & one[1])


def _parent_pairs(world: World, static: set[int]) -> Iterator[Pair]:
    """A body and its parent, which do not collide in MuJoCo unless the parent is static."""
    for joint in world.joints():
        if joint.parent is not None and not joint.loop and id(joint.parent) not in static:
            yield joint.parent, joint.child


def _excluded(document: Document, world: World) -> Iterator[Pair]:
    if b"<exclude" not in document.text:
        return
    starts = document.scan.starts.tolist()
    excludes = [node for node, start in enumerate(starts) if document.text.startswith(b"<exclude", start)]
    named = {document.attribute_text(body.node, "name"): body for body in world.bodies()}
    for node in excludes:
        one, other = (named.get(document.attribute_text(node, f"body{i}")) for i in (1, 2))
        if one is not None and other is not None:
            yield one, other
