"""Who passes whom in a document that exoskel wrote, by MuJoCo's own rules: for certificates.

The reader says it in the words of a scene, which has not all that bits can say.  Here they are taken as they are.
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


def encounters(scene: Scene, world: World) -> CollisionRules:
    """The rules of the document that a world was read from."""
    document = scene.documents[0]
    assert isinstance(document, Document)
    kinds: dict[int, Kind] = {}
    for body in world.bodies():
        one, other = _bits(document, body)
        if one or other:
            kinds[id(body)] = one, other
    still = fixed_bodies(world.models)
    return CollisionRules(
        kinds, friends_by_bits(kinds.values()), [*_held(world, still), *_excluded(document, world)], still
    )


def _bits(document: Document, body: Body) -> Bits:
    """Those of all geoms of a body together: it meets what one of them meets."""
    if not any(shape.collidable for shape in body.collisions):
        return 0, 0
    told = _together(document, (shape.node for shape in body.collisions))
    if any(told):
        return told
    # A mesh that is not convex is only seen; the slabs behind its triangles, which the reader makes one again, collide.
    outline = document.outline
    inside = range(body.node + 1, outline.ends[body.node])
    return _together(document, (n for n in inside if outline.tags[n] == "geom" and outline.parents[n] == body.node))


def _together(document: Document, geoms: Iterable[int]) -> Bits:
    kind = affinity = 0
    for node in geoms:
        kind |= int(document.attribute_text(node, "contype") or _DEFAULT)
        affinity |= int(document.attribute_text(node, "conaffinity") or _DEFAULT)
    return kind, affinity


def friends_by_bits(kinds: Iterable[Kind]) -> dict[Kind, list[Kind]]:
    """Which bits meet nothing of which.

    Where worlds have many models, shapes meet all bits but their own: such two pass only if they have the same ones,
    so that not all pairs have to be asked.
    """
    found: set[Bits] = set(kinds)  # type: ignore[arg-type]
    used = 0
    for kind, _ in found:
        used |= kind
    opposite = {bits for bits in found if bits[1] & used == used & ~bits[0]}
    alike: dict[int, list[Kind]] = {}
    for bits in opposite:
        alike.setdefault(bits[0], []).append(bits)
    others = found - opposite
    friends: dict[Kind, list[Kind]] = {}
    for bits in found:
        near = [*alike[bits[0]], *others] if bits in opposite else found
        friends[bits] = [one for one in near if not _meet(bits, one)]  # type: ignore[arg-type]
    return friends


def _meet(one: Bits, other: Bits) -> bool:
    return bool(one[0] & other[1] or other[0] & one[1])


def _held(world: World, still: set[int]) -> Iterator[Pair]:
    """MuJoCo keeps a body and its parent apart, unless that stands still."""
    for joint in world.joints():
        if joint.parent is not None and not joint.loop and id(joint.parent) not in still:
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
