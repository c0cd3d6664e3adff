"""What differs in meaning between two scenes, in whatever formats they were written."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, Literal

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.convert import value_text
from exoskel.convert.comparable_values import HOLD, is_used, leaves, motion_gaps
from exoskel.convert.matching import Matching, pair_markers, pair_members, pair_models, pair_shapes, pair_worlds
from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import Body
from exoskel.scene.fields import Difference, differences, inertia_component_differences, transform_differences
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.pose import Pose, pose_matrices
from exoskel.scene.summary import moments
from exoskel.scene.world import Model, Scene, World
from exoskel.source.gc_pause import garbage_collection_paused

TOLERANCE = 1e-9

Kind = Literal["changed", "renamed", "moved", "only in A", "only in B"]


class DiffEntry(Struct, frozen=True):
    """One difference in meaning between scene A and scene B.

    `path` leads to it through the names of A: `lab/arm/body[hand]/mass`; a `/` in a name is written `~1`, a `~`
    `~0`.  `a` and `b` are the values in short words, None where there is nothing.  `size` is how far numbers are
    apart, in the measure of the tolerance: relative where they are above 1, radians for rotations (of large ones
    the chord); None where something else than a number differs.  `line_a` and `line_b` are the lines of the body,
    joint, … in the files, where known.  `world` and `model` are the names of what it stands in; `model` is empty
    for the world's own.
    """

    path: str
    kind: Kind
    a: str | None
    b: str | None
    size: float | None = None
    line_a: int | None = None
    line_b: int | None = None
    world: str = ""
    model: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The shape of one entry of `diff --json`."""
        return structs.asdict(self)


def diff(a: Scene, b: Scene, *, tolerance: float = TOLERANCE) -> list[DiffEntry]:
    """All differences in meaning, in the order of A; none if both mean the same.

    Rotations are compared as such and axes by direction, joints by how they move their bodies, derived and stated
    moments by value, bodies by where they stand in the world at zero joint positions, meshes by the files that
    references lead to; a default is the same written out or not.  Numbers that are no further apart than
    `tolerance`, relative where they are above 1 (masses and moments always), are the same.  Worlds, models, bodies
    and joints are known by their names; what is then left, by what holds it, by equal content, or by being the
    only one left, and counts as renamed.  Takes time in proportion to the scenes.
    """
    if not (isfinite(tolerance) and tolerance >= 0.0):
        raise ExoskelError(f"a tolerance has to be finite and not negative, not {tolerance}")
    with garbage_collection_paused():
        return _Comparison(a, b, tolerance).run()


class _Found(Struct):
    """A difference before its path and lines are looked up; `at` is the pair it is in, or would follow."""

    at: int
    kind: Kind
    a: str | None
    b: str | None
    one: Item | None
    other: Item | None
    tail: str = ""
    error: float = np.inf
    own: bool = True
    """It is about the pair itself; otherwise about a part that was noted before the pair `at` was met."""
    holder: int = -1


class _Pair(Struct):
    one: Item
    other: Item
    holder: int
    name: str
    """The list it is in, and its place there."""
    place: int


_STEPS = {"bodies": "body", "joints": "joint", "visuals": "visual", "collisions": "collision", "markers": "marker"}


class _Comparison:
    """One comparison: pairs are made from the top down, then the fields of all of them are compared in bulk."""

    def __init__(self, a: Scene, b: Scene, tolerance: float) -> None:
        self.a = a
        self.b = b
        self.tolerance = tolerance
        self.pairs: list[_Pair] = []
        self.number: dict[int, int] = {}
        self.found: list[_Found] = []

    def run(self) -> list[DiffEntry]:
        self._list(pair_worlds(self.a.worlds, self.b.worlds), -1, "worlds")
        distinct = [(pair.one, pair.other) for pair in self.pairs if pair.one is not pair.other]
        self._fields(differences(distinct, self.tolerance))
        self._places()
        self.found.sort(key=lambda found: (found.at, found.own))
        return self._told()

    # --- pairs ----------------------------------------------------------------------------------------

    def _list(self, pairing: Matching[Any], holder: int, name: str) -> None:
        at = len(self.pairs)
        for i in pairing.left:
            self._part("only in A", at, holder, name, i, pairing.ones[i], None)
        for j in pairing.left_over:
            self._part("only in B", at, holder, name, j, None, pairing.others[j])
        for i, j in pairing.moved():
            self._part("moved", at, holder, name, i, pairing.ones[i], pairing.others[j], f"place {j + 1}")
        for i, j in sorted(pairing.to.items()):
            one, other = pairing.ones[i], pairing.others[j]
            number = len(self.pairs)
            self.number.setdefault(id(one), number)
            self.pairs.append(_Pair(one, other, holder, name, i))
            if one is not other:
                self._inside(number, one, other)

    def _part(
        self, kind: Kind, at: int, holder: int, name: str, place: int, one: Any, other: Any, there: str = ""
    ) -> None:
        here = f"place {place + 1}" if there else value_text.summary(other if one is None else one)
        a, b = (None, here) if one is None else (here, there or None)
        tail = _step(name, other if one is None else one, place)
        self.found.append(_Found(at, kind, a, b, one, other, tail, own=False, holder=holder))

    def _inside(self, number: int, one: Any, other: Any) -> None:
        if isinstance(one, World):
            self._list(pair_models(one.models, other.models), number, "models")
        elif isinstance(one, Model):
            bodies, joints = pair_members(one, other)
            self._list(bodies, number, "bodies")
            self._list(joints, number, "joints")
        elif isinstance(one, Body):
            for name in ("visuals", "collisions"):
                if getattr(one, name) or getattr(other, name):
                    self._list(pair_shapes(getattr(one, name), getattr(other, name)), number, name)
            if one.markers or other.markers:
                self._list(pair_markers(one.markers, other.markers), number, "markers")

    # --- fields ---------------------------------------------------------------------------------------

    def _fields(self, raw: Sequence[Difference]) -> None:
        heavy = [d for d in raw if d.field == "inertia"]
        if heavy:
            self._inertias(heavy)
        alike = self._same_motion(raw)
        for d in raw:
            if d.field == "inertia" or (d.field == "pose" and isinstance(d.one, Body | Model)):
                continue
            if d.field == "name":
                self._name(d)
            elif isinstance(d.one, Joint) and isinstance(d.other, Joint):
                if not (d.field in HOLD and id(d.one) in alike) and is_used(d.field, d.one, d.other):
                    self._joint(d, d.one, d.other)
            else:
                self._value(d)

    def _value(self, d: Difference) -> None:
        for tail, mine, theirs, error in leaves(d.one, d.other, d.field):
            if error > self.tolerance:
                self._changed(d.one, d.other, tail, *value_text.both(mine, theirs), error)

    def _changed(self, one: Item, other: Item, tail: str, a: str, b: str, error: float) -> None:
        self.found.append(_Found(self.number[id(one)], "changed", a, b, one, other, tail, error))

    def _name(self, d: Difference) -> None:
        if isinstance(d.one, Joint) and isinstance(d.other, Joint) and (d.one.implicit or d.other.implicit):
            return  # no file says that name
        texts = value_text.both(d.one.name, d.other.name)  # type: ignore[attr-defined]
        self.found.append(_Found(self.number[id(d.one)], "renamed", *texts, d.one, d.other))

    def _joint(self, d: Difference, one: Joint, other: Joint) -> None:
        if d.field in ("child", "parent"):
            mine, theirs = getattr(one, d.field), getattr(other, d.field)
            if mine is None or theirs is None or not self._is_pair(mine, theirs):
                a, b = ("the world" if body is None else value_text.words(body.name) for body in (mine, theirs))
                self._changed(one, other, d.field, a, b, d.error)
        elif d.field in ("axes", "dofs") and one.kind != other.kind and len(one.motion) != len(other.motion):
            return  # follows from the kind
        elif d.field in HOLD:
            texts = value_text.both(getattr(one, d.field), getattr(other, d.field))
            self._changed(one, other, d.field, *texts, d.error)
        else:
            self._value(d)

    def _is_pair(self, one: Item, other: Item) -> bool:
        number = self.number.get(id(one))
        return number is not None and self.pairs[number].other is other

    def _same_motion(self, raw: Sequence[Difference]) -> set[int]:
        """The joints, by id, that are written in other words and move as their counterparts do."""
        pairs = {
            id(d.one): (d.one, d.other)
            for d in raw
            if d.field in HOLD and isinstance(d.one, Joint) and isinstance(d.other, Joint)
        }
        if not pairs:
            return set()
        ones, others = zip(*pairs.values(), strict=True)
        gaps = motion_gaps(ones, others)
        return {name for name, error in zip(pairs, gaps.tolist(), strict=True) if error <= self.tolerance}

    def _inertias(self, raw: Sequence[Difference]) -> None:
        bodies = [(d.one, d.other) for d in raw if isinstance(d.one, Body) and isinstance(d.other, Body)]
        ones, others = [one for one, _ in bodies], [other for _, other in bodies]
        errors = inertia_component_differences(ones, others).tolist()
        tensors = zip(moments(ones).tolist(), moments(others).tolist(), strict=True)
        for (one, other), row, moment in zip(bodies, errors, tensors, strict=True):
            sides = ((one.mass, other.mass), (one.com, other.com), moment)
            for name, error, (mine, theirs) in zip(("mass", "com", "moment"), row, sides, strict=True):
                if error > self.tolerance and not (name == "moment" and _derived_alike(one, other)):
                    self._changed(one, other, name, *value_text.both(mine, theirs), error)

    # --- where bodies stand ---------------------------------------------------------------------------

    def _places(self) -> None:
        """Bodies are compared in the world; a model that moved with what is in it is one difference."""
        models = [pair for pair in self.pairs if isinstance(pair.one, Model) and _pose(pair.one) != _pose(pair.other)]
        moved = {self.number[id(pair.one)]: place for place, pair in enumerate(models)}
        bodies = [
            pair
            for pair in self.pairs
            if isinstance(pair.one, Body) and (pair.holder in moved or _pose(pair.one) != _pose(pair.other))
        ]
        if not models and not bodies:
            return
        holders = [self.pairs[pair.holder] for pair in bodies]
        mine, theirs = _placed(holders, bodies, 0), _placed(holders, bodies, 1)
        errors = transform_differences(mine, theirs)
        if models:
            owner = np.array([moved.get(pair.holder, -1) for pair in bodies], dtype=np.intp)
            errors = self._models(models, owner, mine, theirs, errors)
        far = np.flatnonzero(~(errors <= self.tolerance))
        frames = zip(value_text.frames(mine[far]), value_text.frames(theirs[far]), strict=True)
        for pair, error, texts in zip([bodies[i] for i in far], errors[far].tolist(), frames, strict=True):
            self._changed(pair.one, pair.other, "pose", *value_text.both(*texts), error)

    def _models(
        self, models: Sequence[_Pair], owner: np.ndarray, mine: np.ndarray, theirs: np.ndarray, errors: np.ndarray
    ) -> np.ndarray:
        """Tell the models that moved with most of their bodies; returns how far bodies are from where they should be.

        `owner` is the place of each body's model in `models`, -1 if that is not one of them.
        """
        before, after = (
            pose_matrices([_pose(side) for side in sides]) for sides in zip(*map(_sides, models), strict=True)
        )
        steps = transform_differences(before, after)
        shifts = np.concatenate([after @ spatial.inverse(before), np.eye(4)[None]])  # the last is for owner -1
        carried = transform_differences(shifts[owner] @ mine, theirs)
        inside = owner >= 0
        follow, stay, count = (
            np.bincount(owner[inside & members], minlength=len(models))
            for members in (carried <= self.tolerance, errors <= self.tolerance, inside)
        )
        moved = (steps > self.tolerance) & ((follow > stay) | (count == 0))
        for i in np.flatnonzero(moved).tolist():
            texts = value_text.both(_pose(models[i].one), _pose(models[i].other))
            self._changed(models[i].one, models[i].other, "pose", *texts, float(steps[i]))
        return np.where(np.append(moved, False)[owner], carried, errors)

    # --- telling --------------------------------------------------------------------------------------

    def _told(self) -> list[DiffEntry]:
        lines = _lines(self.a, [f.one for f in self.found]), _lines(self.b, [f.other for f in self.found])
        return [self._contrast(f, *where) for f, *where in zip(self.found, *lines, strict=True)]

    def _contrast(self, found: _Found, line_a: int | None, line_b: int | None) -> DiffEntry:
        number = found.at if found.own else found.holder
        steps: list[str] = [found.tail] if found.tail else []
        names = {type(item): item.name for item in (found.one or found.other,) if isinstance(item, World | Model)}
        while number >= 0:
            pair = self.pairs[number]
            steps.append(_step(pair.name, pair.one, pair.place))
            if isinstance(pair.one, World | Model):
                names.setdefault(type(pair.one), pair.one.name)
            number = pair.holder
        size = float(found.error) if isfinite(found.error) else None
        path = "/".join(reversed(steps))
        return DiffEntry(
            path, found.kind, found.a, found.b, size, line_a, line_b, names.get(World, ""), names.get(Model, "")
        )


def _pose(item: Any) -> Pose:
    pose: Pose = item.pose
    return pose


def _derived_alike(one: Body, other: Body) -> bool:
    """Whether both moments follow, by one rule, from what is compared anyway."""
    mine, theirs = one.inertia, other.inertia
    return mine.moment is None and theirs.moment is None and mine.rule == theirs.rule


def _sides(pair: _Pair) -> tuple[Item, Item]:
    return pair.one, pair.other


def _placed(models: Sequence[_Pair], bodies: Sequence[_Pair], side: int) -> np.ndarray:
    """Where bodies stand in the world at zero joint positions, `(n, 4, 4)`."""
    frames = pose_matrices([_pose(_sides(pair)[side]) for pair in models])
    placed: np.ndarray = frames @ pose_matrices([_pose(_sides(pair)[side]) for pair in bodies])
    return placed


def _step(name: str, item: Any, place: int) -> str:
    called = str(getattr(item, "name", "")).replace("~", "~0").replace("/", "~1")
    word = _STEPS.get(name)
    return called if word is None else f"{word}[{called or place + 1}]"


def _lines(scene: Scene, items: Sequence[Item | None]) -> list[int | None]:
    """The line of each item, None for those that come from no file; one look-up for each document."""
    found: list[int | None] = [None] * len(items)
    for number, document in enumerate(scene.documents):
        own = [(i, item.node) for i, item in enumerate(items) if item and item.document == number and item.node >= 0]
        for (i, _), line in zip(own, document.lines([node for _, node in own]), strict=True):
            found[i] = line or None
    return found
