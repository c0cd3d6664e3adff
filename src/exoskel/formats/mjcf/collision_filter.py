"""Collision rules as MuJoCo's contact bits and exclusions, and back from a document that Exoskel wrote.

The reader converts bits to the rules of a scene, which cannot express all of them.  Here they are used unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import combinations_with_replacement

from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import CollisionKind, CollisionRules, Pair, connected_pairs, fixed_bodies
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape, Sphere
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document

_BITS = 31
_ANY = 1 << (_BITS - 1)
_NUMBERS = _ANY - 1
CollisionGroup = tuple[int, frozenset[int]]
"""Shapes that collide with the same others: the number of their model (0: irrelevant), and their exempt groups."""


SKIN = Shape(geometry=Sphere(0.0))
"""Stands for any soft skin among the shapes of a body."""


class ContactBits:
    """The contact bits of shapes.

    Bodies of one model do not collide (DART), or collide unless a joint connects them (ODE, `world.self_collision`).
    Shapes whose names match one collision-exempt group do not collide (PyBrain).  Each collision group has its own
    bit while there are enough.  Beyond that, models have numbers: the contype of a shape is the binary number, and its
    conaffinity the complement, so that any two models collide and none collides with itself.  With exempt groups, the
    bodies of further groups are excluded pair by pair.
    """

    def __init__(self, world: World, skins: Collection[int] = ()) -> None:
        """`skins` are the ids of bodies whose soft skins collide, though not with themselves."""
        self.world = world
        several = [len(m.bodies) > 1 or (bool(skins) and any(id(b) in skins for b in m.bodies)) for m in world.models]
        self._models = {
            id(m): n + 1 for n, (m, is_group) in enumerate(zip(world.models, several, strict=True)) if is_group
        }
        self._groups: dict[CollisionGroup, int] = {}
        for model in world.models:
            for body in model.bodies:
                for shape in [*body.collisions, SKIN] if id(body) in skins else body.collisions:
                    self._groups.setdefault(self._group(model, body, shape), len(self._groups))
        self._numbered = len(self._groups) >= _BITS and not world.collision_exempt_groups
        groups = list(self._groups) if not self._numbered else []
        self._own, self._listed = groups[: _BITS - 1], groups[_BITS - 1 :]
        self._masks = [0] * (len(self._own) + bool(self._listed))
        for one, other in combinations_with_replacement(range(len(self._masks)), 2):
            if max(one, other) == len(self._own) or _collide(self._own[one], self._own[other]):
                self._masks[one] |= 1 << other
                self._masks[other] |= 1 << one

    def _group(self, model: Model, body: Body, shape: Shape) -> CollisionGroup:
        own = 0 if self.world.self_collision else self._models.get(id(model), 0)
        if not self.world.collision_exempt_groups:
            return own, frozenset()
        return own, frozenset(self.world.exempt_groups_of(body.collision_name(shape)))

    def bits(self, model: Model, body: Body, shape: Shape) -> tuple[int, int]:
        """`contype` and `conaffinity` of a shape."""
        if not shape.collidable:
            return 0, 0
        group = self._group(model, body, shape)
        if self._numbered:
            # The highest bit is for shapes that collide with all, including themselves.
            own = self._groups[group] & _NUMBERS if group[0] else _ANY
            return own, (~own & _NUMBERS) | _ANY if group[0] else _NUMBERS | _ANY
        number = min(self._groups[group], len(self._own))
        return 1 << number, self._masks[number]

    def exclude(self, contact: MjcfElement, name: Callable[..., str]) -> None:
        """Add an `exclude` for each pair of bodies that the bits do not separate."""
        for one, other in dict.fromkeys([*self._listed_pairs(), *self._connected_pairs()]):
            contact.add("exclude", body1=name(*one), body2=name(*other))

    def _connected_pairs(self) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        """Connected bodies, which do not collide; without self-collision no bodies of a model do."""
        for model in self.world.models if self.world.self_collision else ():
            for parent, child in connected_pairs(model) if not model.static else ():
                yield (model.name, parent.name), (model.name, child.name)

    def _listed_pairs(self) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
        listed = set(self._listed)
        if not listed:
            return
        members: dict[CollisionGroup, dict[tuple[str, str], None]] = {}
        for model in self.world.models:
            for body in model.bodies:
                for shape in body.collisions:
                    members.setdefault(self._group(model, body, shape), {})[model.name, body.name] = None
        for one, other in combinations_with_replacement(members, 2):
            if (one in listed or other in listed) and not _collide(one, other):
                yield from ((a, b) for a in members[one] for b in members[other] if a != b)


def _collide(one: CollisionGroup, other: CollisionGroup) -> bool:
    return not (one[0] and one[0] == other[0]) and not one[1] & other[1]


# --- from the written document back to the rules -------------------------------------------------------


Bits = tuple[int, int]
"""`contype` and `conaffinity`."""
_DEFAULT = 1


def read_collision_rules(scene: Scene, world: World) -> CollisionRules:
    """The rules of the document that a world was read from."""
    document = scene.documents[0]
    assert isinstance(document, Document)
    kinds: dict[int, CollisionKind] = {}
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


def non_colliding_bits(kinds: Iterable[CollisionKind]) -> dict[CollisionKind, list[CollisionKind]]:
    """For each pair of bits, those that they do not collide with.

    In worlds with many models, shapes collide with all bits but their own: two of them do not collide only if they
    have the same bits, so that not all pairs have to be checked.
    """
    found: set[Bits] = set(kinds)  # type: ignore[arg-type]
    used = 0
    for kind, _ in found:
        used |= kind
    complementary = {bits for bits in found if bits[1] & used == used & ~bits[0]}
    same_bits: dict[int, list[CollisionKind]] = {}
    for bits in complementary:
        same_bits.setdefault(bits[0], []).append(bits)
    others = found - complementary
    exempt: dict[CollisionKind, list[CollisionKind]] = {}
    for bits in found:
        candidates = [*same_bits[bits[0]], *others] if bits in complementary else found
        exempt[bits] = [one for one in candidates if not _bits_collide(bits, one)]  # type: ignore[arg-type]
    return exempt


def _bits_collide(one: Bits, other: Bits) -> bool:
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
