"""Differences in meaning between two scenes, independent of their formats, and their description in text."""

from __future__ import annotations

from collections.abc import Sequence
from math import degrees, hypot, isfinite
from typing import Any, Literal, NamedTuple

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.conversion.comparable_values import (
    is_used,
    motion_differences,
    single_values,
    space_difference,
)
from exoskel.conversion.comparison import TOLERANCE
from exoskel.conversion.matching import Matching, match_markers, match_members, match_models, match_shapes, match_worlds
from exoskel.diagnostics import ExoskelError, pluralize, printable
from exoskel.scene.body import Body, Marker
from exoskel.scene.fields import Difference, differences, inertia_component_differences, transform_differences
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import MOTION_FIELDS, Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, pose_matrices
from exoskel.scene.shape import Mesh, Shape, Texture, TriMesh
from exoskel.scene.summary import moments
from exoskel.scene.validation import require_valid
from exoskel.scene.world import Scene, SceneLike, World, as_scene
from exoskel.source.document import garbage_collection_paused

_DIGITS = (6, 9, 12, 17)
_LONGEST = 200


def texts_of_pair(one: Any, other: Any) -> tuple[str, str]:
    """The texts of two values, with as few digits as distinguish them."""
    shown = ("", "")
    for digits in _DIGITS:
        shown = (_short(text_of(one, digits)), _short(text_of(other, digits)))
        if shown[0] != shown[1]:
            break
    return shown


def text_of(value: Any, digits: int = _DIGITS[0]) -> str:
    """A value as short text."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | int):
        return _number(value, digits)
    if isinstance(value, str):
        return repr(printable(value))
    if isinstance(value, Pose):
        return _frame(frames(value.matrix()[None])[0], digits)
    if isinstance(value, TextFrame):
        return _frame(value, digits)
    if isinstance(value, np.ndarray):
        return f"{len(value)} rows"
    if isinstance(value, tuple | list):
        flat = all(isinstance(part, float | int | str) for part in value)
        return (" " if flat else "; ").join(text_of(part, digits) for part in value) or "none"
    if isinstance(value, Struct):
        return _struct(value, digits)
    return printable(str(value))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _number(value: float, digits: int) -> str:
    # Hide rounding errors close to zero, unless only they distinguish two values.
    return "0" if digits < _DIGITS[-1] and abs(value) < 10.0 ** (-6 - digits) else f"{value:.{digits}g}"


class TextFrame(NamedTuple):
    """A position and a rotation vector."""

    position: list[float]
    rotation: list[float]


def frames(transforms: np.ndarray) -> list[TextFrame]:
    """Positions and rotation vectors of 4x4 transforms."""
    return list(map(TextFrame, transforms[:, :3, 3].tolist(), spatial.log(transforms[:, :3, :3]).tolist()))


def _frame(frame: TextFrame, digits: int) -> str:
    position = " ".join(_number(v, digits) for v in frame.position)
    angle = hypot(*frame.rotation)
    if _number(angle, digits) == "0":
        return position
    axis = " ".join(_number(v / angle, digits) for v in frame.rotation)
    return f"{position}, rotated {_number(degrees(angle), digits)}° about {axis}"


def _struct(value: Struct, digits: int) -> str:
    if isinstance(value, TriMesh):
        places = "" if value.uvs is None else " with texture coordinates"
        return f"trimesh of {len(value.triangles)} triangles{places}"
    if isinstance(value, Mesh):
        return f"mesh {text_of(value.path or value.uri)}"
    if isinstance(value, Texture):
        return f"texture {text_of(value.path or value.uri)}"
    tag = value.__struct_config__.tag
    parts = [text_of(getattr(value, name), digits) for name in value.__struct_fields__]
    return " ".join([str(tag), *parts] if tag else parts)


def summary(item: object) -> str:
    """A summary of an item that is in only one of two scenes."""
    match item:
        case World():
            return pluralize(len(item.models), "model")
        case Model():
            bodies = pluralize(len(item.bodies), "body", "bodies")
            return f"{bodies}, {pluralize(len(item.joints), 'joint')}, {item.mass:.6g} kg"
        case Body():
            return f"{item.mass:.6g} kg, {pluralize(len(item.visuals) + len(item.collisions), 'shape')}"
        case Joint():
            parent = "the world" if item.parent is None else repr(printable(item.parent.name))
            return f"{'loop, ' if item.loop else ''}{item.kind}, {parent} to {printable(item.child.name)!r}"
        case Shape():
            return _short(text_of(item.geometry))
        case Marker():
            return text_of(item.offset)
    return ""


# --- differences ---------------------------------------------------------------------------------------


DifferenceKind = Literal["changed", "renamed", "moved", "only in A", "only in B"]


class DiffEntry(Struct, frozen=True):
    """One difference in meaning between scene A and scene B.

    `path` consists of names in A: `lab/arm/body[hand]/mass`.  In names, `~1` stands for `/` and `~0` for `~`.  `a` and
    `b` are the values as short text, or None where there is no value.  `size` is the difference between numbers, in the
    unit of the tolerance: relative above 1, radians for rotations (the chord for large ones).  It is None if something
    other than a number differs.  `line_a` and `line_b` are the lines of the body, joint, … in the files, if known.
    `world` and `model` name the world and model that contain the difference; `model` is empty for fields of the world.
    """

    path: str
    kind: DifferenceKind
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


def diff(a: SceneLike, b: SceneLike, *, tolerance: float = TOLERANCE) -> list[DiffEntry]:
    """All differences in meaning, in the order of A; an empty list if both scenes mean the same.

    - Rotations are compared as rotations, axes by direction, and joints by the motion of their bodies.
    - Moments of inertia are compared by value, derived or stated; meshes by the files that they refer to.
    - Bodies are compared by their poses in the world at zero joint positions.
    - A default is the same as its stated value.
    - Numbers are the same within `tolerance`, which is relative above 1 (always for masses and moments).
    - Worlds, models, bodies and joints are matched by name, then by connection, by equal content, or as the only ones
      left.  Those without the same name count as renamed.

    The time is proportional to the size of the scenes.
    """
    require_valid(a, structure=False)
    require_valid(b, structure=False)
    if not (isfinite(tolerance) and tolerance >= 0.0):
        raise ExoskelError(f"the tolerance must be finite and not negative, not {tolerance}")
    a, b = as_scene(a), as_scene(b)
    with garbage_collection_paused():
        return _SceneDifferences(a, b, tolerance).run()


class _FoundDifference(Struct):
    """A difference before its path and lines are determined; `at` is the pair it belongs to, or would follow."""

    at: int
    kind: DifferenceKind
    a: str | None
    b: str | None
    one: Item | None
    other: Item | None
    tail: str = ""
    error: float = np.inf
    own: bool = True
    """The difference is in the pair itself; otherwise in a part that was found before the pair `at`."""
    container: int = -1


class _PairedItems(Struct):
    one: Item
    other: Item
    container: int
    name: str
    """The list that the items are in; `place` is the index there."""
    place: int


_STEPS = {"bodies": "body", "joints": "joint", "visuals": "visual", "collisions": "collision", "markers": "marker"}


class _SceneDifferences:
    """The differences of two scenes: items are paired from the top down, then all pairs are compared in bulk."""

    def __init__(self, a: Scene, b: Scene, tolerance: float) -> None:
        self.a = a
        self.b = b
        self.tolerance = tolerance
        self.pairs: list[_PairedItems] = []
        self.number: dict[int, int] = {}
        self.found: list[_FoundDifference] = []

    def run(self) -> list[DiffEntry]:
        self._pair_items(match_worlds(self.a.worlds, self.b.worlds), -1, "worlds")
        distinct = [(pair.one, pair.other) for pair in self.pairs if pair.one is not pair.other]
        self._compare_fields(differences(distinct, self.tolerance))
        self._compare_poses()
        self.found.sort(key=lambda found: (found.at, found.own))
        return self._entries()

    # --- pairs ----------------------------------------------------------------------------------------

    def _pair_items(self, matching: Matching[Any], container: int, name: str) -> None:
        at = len(self.pairs)
        for i in matching.unmatched:
            self._add_part("only in A", at, container, name, i, matching.ones[i], None)
        for j in matching.unmatched_others:
            self._add_part("only in B", at, container, name, j, None, matching.others[j])
        for i, j in matching.moved():
            self._add_part("moved", at, container, name, i, matching.ones[i], matching.others[j], f"place {j + 1}")
        for i, j in sorted(matching.to.items()):
            one, other = matching.ones[i], matching.others[j]
            number = len(self.pairs)
            self.number.setdefault(id(one), number)
            self.pairs.append(_PairedItems(one, other, container, name, i))
            if one is not other:
                self._pair_parts(number, one, other)

    def _add_part(
        self,
        kind: DifferenceKind,
        at: int,
        container: int,
        name: str,
        place: int,
        one: Item | None,
        other: Item | None,
        there: str = "",
    ) -> None:
        shown = other if one is None else one
        assert shown is not None
        here = f"place {place + 1}" if there else summary(shown)
        a, b = (None, here) if one is None else (here, there or None)
        tail = _step(name, shown, place)
        self.found.append(_FoundDifference(at, kind, a, b, one, other, tail, own=False, container=container))

    def _pair_parts(self, number: int, one: Any, other: Any) -> None:
        if isinstance(one, World):
            self._pair_items(match_models(one.models, other.models), number, "models")
        elif isinstance(one, Model):
            bodies, joints = match_members(one, other)
            self._pair_items(bodies, number, "bodies")
            self._pair_items(joints, number, "joints")
        elif isinstance(one, Body):
            for name in ("visuals", "collisions"):
                if getattr(one, name) or getattr(other, name):
                    self._pair_items(match_shapes(getattr(one, name), getattr(other, name)), number, name)
            if one.markers or other.markers:
                self._pair_items(match_markers(one.markers, other.markers), number, "markers")

    # --- fields ---------------------------------------------------------------------------------------

    def _compare_fields(self, raw: Sequence[Difference]) -> None:
        heavy = [d for d in raw if d.field == "inertia"]
        if heavy:
            self._compare_inertias(heavy)
        alike = self._same_motion(raw)
        for d in raw:
            if isinstance(d.one, Shape) and isinstance(d.other, Shape) and self._is_same_place(d, d.one, d.other):
                continue
            if d.field == "inertia" or (d.field == "pose" and isinstance(d.one, Body | Model)):
                continue
            if d.field == "name":
                self._compare_names(d)
            elif isinstance(d.one, Joint) and isinstance(d.other, Joint):
                if not (d.field in MOTION_FIELDS and id(d.one) in alike) and is_used(d.field, d.one, d.other):
                    self._compare_joint(d, d.one, d.other)
            else:
                self._compare_values(d)

    def _is_same_place(self, d: Difference, one: Shape, other: Shape) -> bool:
        """Whether a shape with another pose or geometry takes up the same space, or would with the same geometry."""
        if d.field not in ("pose", "geometry"):
            return False
        if space_difference(one, other) <= self.tolerance:
            return True
        moved = structs.replace(other, geometry=one.geometry)
        return d.field == "pose" and one.kind == other.kind and space_difference(one, moved) <= self.tolerance

    def _compare_values(self, d: Difference) -> None:
        for tail, mine, theirs, error in single_values(d.one, d.other, d.field):
            if error > self.tolerance:
                self._add_change(d.one, d.other, tail, *texts_of_pair(mine, theirs), error)

    def _add_change(self, one: Item, other: Item, tail: str, a: str, b: str, error: float) -> None:
        self.found.append(_FoundDifference(self.number[id(one)], "changed", a, b, one, other, tail, error))

    def _compare_names(self, d: Difference) -> None:
        if isinstance(d.one, Joint) and isinstance(d.other, Joint) and (d.one.implicit or d.other.implicit):
            return  # that name is not in a file
        texts = texts_of_pair(d.one.name, d.other.name)  # type: ignore[attr-defined]
        self.found.append(_FoundDifference(self.number[id(d.one)], "renamed", *texts, d.one, d.other))

    def _compare_joint(self, d: Difference, one: Joint, other: Joint) -> None:
        if d.field in ("child", "parent"):
            mine, theirs = getattr(one, d.field), getattr(other, d.field)
            if mine is None or theirs is None or not self._is_pair(mine, theirs):
                a, b = ("the world" if body is None else text_of(body.name) for body in (mine, theirs))
                self._add_change(one, other, d.field, a, b, d.error)
        elif d.field in ("axes", "dofs") and one.kind != other.kind and len(one.motion) != len(other.motion):
            return  # follows from the kind
        elif d.field in MOTION_FIELDS:
            texts = texts_of_pair(getattr(one, d.field), getattr(other, d.field))
            self._add_change(one, other, d.field, *texts, d.error)
        else:
            self._compare_values(d)

    def _is_pair(self, one: Item, other: Item) -> bool:
        number = self.number.get(id(one))
        return number is not None and self.pairs[number].other is other

    def _same_motion(self, raw: Sequence[Difference]) -> set[int]:
        """The ids of joints that are written differently and have the same motion as their counterparts."""
        pairs = {
            id(d.one): (d.one, d.other)
            for d in raw
            if d.field in MOTION_FIELDS and isinstance(d.one, Joint) and isinstance(d.other, Joint)
        }
        if not pairs:
            return set()
        ones, others = zip(*pairs.values(), strict=True)
        gaps = motion_differences(ones, others)
        return {name for name, error in zip(pairs, gaps.tolist(), strict=True) if error <= self.tolerance}

    def _compare_inertias(self, raw: Sequence[Difference]) -> None:
        bodies = [(d.one, d.other) for d in raw if isinstance(d.one, Body) and isinstance(d.other, Body)]
        ones, others = [one for one, _ in bodies], [other for _, other in bodies]
        errors = inertia_component_differences(ones, others).tolist()
        tensors = zip(moments(ones).tolist(), moments(others).tolist(), strict=True)
        for (one, other), row, moment in zip(bodies, errors, tensors, strict=True):
            sides = ((one.mass, other.mass), (one.com, other.com), moment)
            for name, error, (mine, theirs) in zip(("mass", "com", "moment"), row, sides, strict=True):
                if error > self.tolerance and not (name == "moment" and self._are_derived_alike(one, other)):
                    self._add_change(one, other, name, *texts_of_pair(mine, theirs), error)

    def _are_derived_alike(self, one: Body, other: Body) -> bool:
        """Whether both moments are derived by the same rule from data that is compared anyway.

        Shapes of different kinds that take up the same space are no difference, but may have different moments.
        """
        mine, theirs = one.inertia, other.inertia
        if mine.moment is not None or theirs.moment is not None or mine.rule != theirs.rule:
            return False
        pairs = zip(one.shapes, other.shapes, strict=False)
        return not any(a.kind != b.kind and space_difference(a, b) <= self.tolerance for a, b in pairs)

    # --- poses of bodies ------------------------------------------------------------------------------

    def _compare_poses(self) -> None:
        """Compare bodies in the world frame; a model that moved with its bodies is one difference."""
        models = [pair for pair in self.pairs if isinstance(pair.one, Model) and _pose(pair.one) != _pose(pair.other)]
        moved = {self.number[id(pair.one)]: place for place, pair in enumerate(models)}
        bodies = [
            pair
            for pair in self.pairs
            if isinstance(pair.one, Body) and (pair.container in moved or _pose(pair.one) != _pose(pair.other))
        ]
        if not models and not bodies:
            return
        containers = [self.pairs[pair.container] for pair in bodies]
        mine, theirs = _poses_in_world(containers, bodies, 0), _poses_in_world(containers, bodies, 1)
        errors = transform_differences(mine, theirs)
        if models:
            owner = np.array([moved.get(pair.container, -1) for pair in bodies], dtype=np.intp)
            errors = self._compare_models(models, owner, mine, theirs, errors)
        far = np.flatnonzero(~(errors <= self.tolerance))
        descriptions = zip(frames(mine[far]), frames(theirs[far]), strict=True)
        for pair, error, texts in zip([bodies[i] for i in far], errors[far].tolist(), descriptions, strict=True):
            self._add_change(pair.one, pair.other, "pose", *texts_of_pair(*texts), error)

    def _compare_models(
        self,
        models: Sequence[_PairedItems],
        owner: np.ndarray,
        mine: np.ndarray,
        theirs: np.ndarray,
        errors: np.ndarray,
    ) -> np.ndarray:
        """Add the models that moved with most of their bodies; returns the remaining differences of bodies.

        `owner` is the index of each body's model in `models`, or -1.
        """
        before, after = (
            pose_matrices([_pose(side) for side in sides]) for sides in zip(*map(_sides, models), strict=True)
        )
        steps = transform_differences(before, after)
        shifts = np.concatenate([after @ spatial.inverse(before), np.eye(4)[None]])  # the last is for owner -1
        following = transform_differences(shifts[owner] @ mine, theirs)
        inside = owner >= 0
        follow, stay, count = (
            np.bincount(owner[inside & members], minlength=len(models))
            for members in (following <= self.tolerance, errors <= self.tolerance, inside)
        )
        moved = (steps > self.tolerance) & ((follow > stay) | (count == 0))
        for i in np.flatnonzero(moved).tolist():
            texts = texts_of_pair(_pose(models[i].one), _pose(models[i].other))
            self._add_change(models[i].one, models[i].other, "pose", *texts, float(steps[i]))
        return np.where(np.append(moved, False)[owner], following, errors)

    # --- entries --------------------------------------------------------------------------------------

    def _entries(self) -> list[DiffEntry]:
        lines = _lines(self.a, [f.one for f in self.found]), _lines(self.b, [f.other for f in self.found])
        return [self._entry(f, *where) for f, *where in zip(self.found, *lines, strict=True)]

    def _entry(self, found: _FoundDifference, line_a: int | None, line_b: int | None) -> DiffEntry:
        number = found.at if found.own else found.container
        steps: list[str] = [found.tail] if found.tail else []
        names = {type(item): item.name for item in (found.one or found.other,) if isinstance(item, World | Model)}
        while number >= 0:
            pair = self.pairs[number]
            steps.append(_step(pair.name, pair.one, pair.place))
            if isinstance(pair.one, World | Model):
                names.setdefault(type(pair.one), pair.one.name)
            number = pair.container
        size = float(found.error) if isfinite(found.error) else None
        path = "/".join(reversed(steps))
        return DiffEntry(
            path, found.kind, found.a, found.b, size, line_a, line_b, names.get(World, ""), names.get(Model, "")
        )


def _pose(item: Any) -> Pose:
    pose: Pose = item.pose
    return pose


def _sides(pair: _PairedItems) -> tuple[Item, Item]:
    return pair.one, pair.other


def _poses_in_world(models: Sequence[_PairedItems], bodies: Sequence[_PairedItems], side: int) -> np.ndarray:
    """The poses of bodies in the world at zero joint positions, `(n, 4, 4)`."""
    frames = pose_matrices([_pose(_sides(pair)[side]) for pair in models])
    placed: np.ndarray = frames @ pose_matrices([_pose(_sides(pair)[side]) for pair in bodies])
    return placed


def _step(name: str, item: Item, place: int) -> str:
    called = item_name(item).replace("~", "~0").replace("/", "~1")
    word = _STEPS.get(name)
    return called if word is None else f"{word}[{called or place + 1}]"


def _lines(scene: Scene, items: Sequence[Item | None]) -> list[int | None]:
    """The line of each item, None for items without a file; looked up once per document."""
    found: list[int | None] = [None] * len(items)
    for number, document in enumerate(scene.documents):
        own = [(i, item.node) for i, item in enumerate(items) if item and item.document == number and item.node >= 0]
        for (i, _), line in zip(own, document.lines([node for _, node in own]), strict=True):
            found[i] = line or None
    return found
