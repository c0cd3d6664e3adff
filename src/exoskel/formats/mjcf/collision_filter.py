"""The collision filter in MJCF: contact bits and exclusions, written, compared and read.

The rules of a scene cannot express all contact bits of a document.  `read_collision_filter` converts those that they
can; for documents that Exoskel wrote, `read_collision_rules` uses the bits unchanged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Set
from itertools import chain, combinations_with_replacement, islice
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import (
    CollisionKind,
    CollisionRules,
    Pair,
    ShapeNames,
    connected_pairs,
    exempt_names,
    fixed_bodies,
)
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape, Sphere
from exoskel.scene.world import Scene, World
from exoskel.source.document import Document
from exoskel.spatial import Mask

if TYPE_CHECKING:
    from exoskel.formats.mjcf.reader.compiled import Compiled
    from exoskel.formats.mjcf.reader.models import FoundParts

Bits = tuple[int, int]
"""`contype` and `conaffinity`."""
_BITS = 31
_ANY = 1 << (_BITS - 1)
_NUMBERS = _ANY - 1
CollisionGroup = tuple[int, frozenset[int]]
"""Shapes that collide with the same others: the number of their model (0: irrelevant), and their exempt groups."""
_NOT_EXEMPT: frozenset[int] = frozenset()
_ANY_GROUP: CollisionGroup = (0, _NOT_EXEMPT)


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
        self._model_groups: dict[int, CollisionGroup] = {
            id(m): (n, _NOT_EXEMPT)
            for n, m in enumerate(world.models if not world.self_collision else (), 1)
            if len(m.bodies) > 1 or (skins and any(id(body) in skins for body in m.bodies))
        }
        self._groups: dict[CollisionGroup, int] = {}
        if world.collision_exempt_groups:
            for model in world.models:
                for body in model.bodies:
                    for shape in [*body.collisions, SKIN] if skins and id(body) in skins else body.collisions:
                        self._groups.setdefault(self._group(model, body, shape), len(self._groups))
        elif self._model_groups:
            for model in world.models:
                if any(body.collisions or id(body) in skins for body in model.bodies):
                    self._groups.setdefault(self._model_groups.get(id(model), _ANY_GROUP), len(self._groups))
        else:
            self._groups[_ANY_GROUP] = 0
        self._numbered = len(self._groups) >= _BITS and not world.collision_exempt_groups
        groups = list(self._groups) if not self._numbered else []
        self._own, self._listed = groups[: _BITS - 1], groups[_BITS - 1 :]
        self._masks = [0] * (len(self._own) + bool(self._listed))
        for one, other in combinations_with_replacement(range(len(self._masks)), 2):
            if max(one, other) == len(self._own) or _collide(self._own[one], self._own[other]):
                self._masks[one] |= 1 << other
                self._masks[other] |= 1 << one

        self._any_bits = self._group_bits(_ANY_GROUP) if _ANY_GROUP in self._groups else None
        """Those of models whose bodies collide with all others."""

    def _group(self, model: Model, body: Body, shape: Shape) -> CollisionGroup:
        group = self._model_groups.get(id(model), _ANY_GROUP)
        if not self.world.collision_exempt_groups:
            return group
        return group[0], frozenset(self.world.exempt_groups_of(body.collision_name(shape)))

    def model_bits(self, model: Model) -> Bits | None:
        """`contype` and `conaffinity` of all colliding shapes of a model; None if they depend on the shape."""
        if self.world.collision_exempt_groups:
            return None
        group = self._model_groups.get(id(model)) if self._model_groups else None
        if group is None:
            return self._any_bits
        return self._group_bits(group) if group in self._groups else None

    def bits(self, model: Model, body: Body, shape: Shape) -> Bits:
        """`contype` and `conaffinity` of a shape."""
        return self._group_bits(self._group(model, body, shape)) if shape.collidable else (0, 0)

    def _group_bits(self, group: CollisionGroup) -> Bits:
        if self._numbered:
            # The highest bit is for shapes that collide with all, including themselves.
            own = self._groups[group] & _NUMBERS if group[0] else _ANY
            return own, (~own & _NUMBERS) | _ANY if group[0] else _NUMBERS | _ANY
        number = min(self._groups[group], len(self._own))
        return 1 << number, self._masks[number]

    @property
    def excludes_pairs(self) -> bool:
        """Whether the bits may not separate all pairs of bodies that do not collide."""
        return bool(self._listed or self.world.self_collision)

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


# --- reading -------------------------------------------------------------------------------------------

Ids = NDArray[np.int64]
_MAX_PAIRS = 1000
"""Groups that a document separates pair by pair: more names than that say nothing to a reader."""
Members = dict[int, dict[int, int]]
"""By the id of a model: the bodies that have geoms with some bits, and the node of the first such geom of each."""


def read_collision_filter(world: World, compiled: Compiled, found: FoundParts, report: Callable[..., None]) -> None:
    """Set self-collision and the exempt groups of a world; report rules that a scene does not support."""
    groups = _contact_groups(compiled, found)
    static = {id(model) for model in world.models if model.static}
    table = _PairTable(groups, static)
    world.self_collision = any(_share_model(groups[a], groups[b], static) for a, b in table.colliding_in_models())
    between_models = (
        (a, b) for a, b in table.apart_between_models() if _span_models(groups[a].keys(), groups[b].keys(), static)
    )
    in_models = (
        (a, b)
        for a, b in (table.apart_in_models() if world.self_collision else ())
        if _share_model(groups[a], groups[b], static)
    )
    exempt = list(dict.fromkeys(islice(chain(between_models, in_models), _MAX_PAIRS + 1)))
    bodies = {bits: _bodies(members, found) for bits, members in groups.items()}
    if len(exempt) > _MAX_PAIRS or not _exempt(world, exempt, bodies):
        nodes = (node for members in groups.values() for bodies in members.values() for node in bodies.values())
        report("MJ308", min(nodes, default=-1))
    excluded = _excluded_geoms(compiled, found)
    if world.self_collision:
        _set_collide_connected(world, excluded)
    _apply_exclusions(world, excluded, compiled, report)


class _PairTable:
    """Pairs of groups, found row by row in arrays: there may be as many groups as geoms.

    A group with one body or one model has its id; others have a number of their own, so that they differ from all.
    """

    def __init__(self, groups: dict[Bits, Members], static: set[int]) -> None:
        self.groups = list(groups)
        self.kind, self.affinity = np.array(self.groups, dtype=np.int64).reshape(-1, 2).T
        members = list(groups.values())
        self.static = np.array([one.keys() <= static for one in members], dtype=bool)
        self.model = np.array([_only(one, place) for place, one in enumerate(members)], dtype=np.int64)
        self.body = np.array(
            [_only([body for bodies in one.values() for body in bodies], place) for place, one in enumerate(members)],
            dtype=np.int64,
        )

    def _rows(self) -> Iterator[tuple[int, Mask]]:
        """For each group: which of it and the groups after it collide with it."""
        for place, (one, other) in enumerate(self.groups):
            yield place, np.not_equal((one & self.affinity[place:]) | (self.kind[place:] & other), 0)

    def _moving(self, place: int) -> Mask:
        """Which of a group and the groups after it are not static together with it."""
        out: Mask = np.logical_not(self.static[place:] & self.static[place])
        return out

    def _pairs(self, place: int, wanted: Mask) -> Iterator[tuple[Bits, Bits]]:
        for further in np.flatnonzero(wanted).tolist():
            yield self.groups[place], self.groups[place + further]

    def _differ(self, owner: Ids, place: int) -> Mask:
        """Which of a group and the groups after it have another owner, or several: these are negative."""
        out: Mask = np.logical_or(owner[place:] != owner[place], owner[place:] < 0)
        return out

    def colliding_in_models(self) -> Iterator[tuple[Bits, Bits]]:
        """Pairs that collide and may have two bodies of one model."""
        for place, collide in self._rows():
            yield from self._pairs(place, collide & self._differ(self.body, place) & self._may_share_model(place))

    def apart_between_models(self) -> Iterator[tuple[Bits, Bits]]:
        """Pairs that do not collide and have two models."""
        for place, collide in self._rows():
            yield from self._pairs(place, ~collide & self._differ(self.model, place) & self._moving(place))

    def apart_in_models(self) -> Iterator[tuple[Bits, Bits]]:
        """Pairs that do not collide and may have two bodies of one model."""
        for place, collide in self._rows():
            yield from self._pairs(place, ~collide & self._differ(self.body, place) & self._may_share_model(place))

    def _may_share_model(self, place: int) -> Mask:
        own = self.model
        same = np.logical_or(own[place:] == own[place], np.minimum(own[place:], own[place]) < 0)
        out: Mask = np.logical_and(same, self._moving(place))
        return out


def _only(owners: Collection[int], place: int) -> int:
    """The only owner, or a negative number that no other group has."""
    return next(iter(owners)) if len(owners) == 1 else -1 - place


def _bodies(members: Members, found: FoundParts) -> list[Body]:
    return [found.bodies[body] for bodies in members.values() for body in bodies]


def _exempt(world: World, exempt: list[tuple[Bits, Bits]], groups: dict[Bits, list[Body]]) -> bool:
    """Exempt pairs of groups from collision by the names of their bodies; False if names cannot express it exactly.

    All members of an exempt group are exempt from each other.  So each group of a pair must be exempt from itself too,
    or be a single body.
    """
    alone = {bits for bits, bodies in groups.items() if len(bodies) == 1} | {a for a, b in exempt if a == b}
    counts = Counter(id(body) for bodies in groups.values() for body in bodies)
    known = ShapeNames(world)
    names: list[tuple[str, ...]] = []
    for one, other in exempt:
        bodies = {id(body): body for bits in (one, other) for body in groups[bits]}
        group = exempt_names(known, list(bodies.values()))
        if not {one, other} <= alone or any(counts[body] > 1 for body in bodies) or group is None:
            return False
        names.append(group)
    world.collision_exempt_groups += names
    return True


def _contact_groups(compiled: Compiled, found: FoundParts) -> dict[Bits, Members]:
    model: Any = compiled.model
    out: dict[Bits, Members] = {}
    rows = zip(model.geom_bodyid.tolist(), model.geom_contype.tolist(), model.geom_conaffinity.tolist(), strict=True)
    for geom, (body, kind, affinity) in enumerate(rows):
        owner = found.models.get(body)
        if owner is not None and (kind or affinity):
            bodies = out.setdefault((kind, affinity), {}).setdefault(id(owner), {})
            bodies.setdefault(body, compiled.geoms.node(geom))
    return out


def _share_model(one: Members, other: Members, static: set[int]) -> bool:
    """Whether they contain two bodies of one model that is not static."""
    return any(len(one[model].keys() | other[model].keys()) > 1 for model in one.keys() & other.keys() - static)


def _span_models(one: Set[int], other: Set[int], static: set[int]) -> bool:
    """Whether they contain two models of which one is not static."""
    return any(bool(theirs - {model}) for mine, theirs in ((one, other), (other, one)) for model in mine - static)


def _excluded_geoms(compiled: Compiled, found: FoundParts) -> list[tuple[int, Body, Body]]:
    """The excluded pairs of bodies with shapes, and the numbers of the elements."""
    out = []
    for number, signature in enumerate(compiled.model.exclude_signature.tolist()):
        one, other = (found.bodies.get(part) for part in (signature >> 16, signature & 0xFFFF))
        if one is not None and other is not None and one.collisions and other.collisions:
            out.append((number, one, other))
    return out


def _set_collide_connected(world: World, excluded: list[tuple[int, Body, Body]]) -> None:
    """Set `collide_connected` of loop joints: MuJoCo filters a body and its parent, but not bodies of a constraint."""
    apart = {_pair(one, other) for _, one, other in excluded}
    for model in world.models:
        loops = [j for j in model.joints if j.loop and j.parent is not None and j.parent.collisions]
        if not loops:
            continue
        filtered = apart | {_pair(*pair) for pair in connected_pairs(model, loops=False)}
        for joint in loops:
            joint.collide_connected = bool(joint.child.collisions) and _pair(joint.parent, joint.child) not in filtered


def _pair(one: Body | None, other: Body | None) -> frozenset[int]:
    return frozenset((id(one), id(other)))


def _apply_exclusions(
    world: World, excluded: list[tuple[int, Body, Body]], compiled: Compiled, report: Callable[..., None]
) -> None:
    connected = {_pair(*pair) for model in world.models for pair in connected_pairs(model)}
    models = {id(body): model for model in world.models for body in model.bodies}
    known = ShapeNames(world)
    for number, one, other in excluded:
        if _pair(one, other) in connected or (models[id(one)] is models[id(other)] and not world.self_collision):
            continue
        group = exempt_names(known, [one, other])
        if group is not None:
            world.collision_exempt_groups.append(group)
        else:
            report("MJ308.exclude", compiled.excludes.node(number), one=one.name, other=other.name)
