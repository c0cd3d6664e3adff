"""Split a large document into parts that MuJoCo compiles one by one.

MuJoCo's time grows with the square of the number of coordinates and of elements.  Trees of bodies that no constraint,
tendon or actuator connects do not depend on each other, so that they are compiled apart.  Elements of the world, and
trees that use meshes or have targets of cameras, are compiled twice: what does not depend on joints (frames, inertia,
shapes, cameras, lights and options) with all meshes and without joints, and the joints without shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from msgspec import Struct

from exoskel.formats.mjcf.reader.compiler import PartText, Workload, is_large
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.formats.mjcf.reader.preprocessor import Line, format_lines
from exoskel.formats.mjcf.reader.workload import measure

_JOINTS = ("joint", "freejoint")
_SETTINGS: dict[str, frozenset[str]] = dict.fromkeys(("compiler", "option", "default"), frozenset())
"""Sections that all parts have; they may contain any element."""
_RELATIONS = ("tendon", "equality", "actuator")
"""Sections whose elements connect trees; elements of the later ones may name those of the earlier ones."""
_TAGS: dict[str, frozenset[str]] = {
    "worldbody": frozenset({"body", "frame", "inertial", "geom", "site", "camera", "light", *_JOINTS}),
    "equality": frozenset({"connect", "weld", "joint"}),
    "tendon": frozenset({"fixed", "joint"}),
    "actuator": frozenset({"motor", "general", "position", "velocity"}),
    "contact": frozenset({"exclude"}),
    "keyframe": frozenset({"key"}),
    "asset": frozenset({"material", "mesh", "hfield"}),
    "size": frozenset(),
}
"""The elements of each section in documents that are split; others are rare in large documents."""
_INERTIA = ("inertiafromgeom", "boundmass", "boundinertia")
_NOT_IN_PARTS: dict[str, tuple[str, ...]] = {"compiler": _INERTIA, "site": ("material",)}
"""Attributes that parts with joints do not have, by the tags of their elements."""
_COMPILER = frozenset({"angle", "autolimits", "eulerseq", *_INERTIA})
"""Attributes of the compiler that have the same effect on a part as on the whole."""
_KEY = frozenset({"name", "time", "qpos", "qvel", "ctrl"})
_MAX_KEYS = 16
"""Keyframes of parts are put together in this process, without a limit on memory."""
_WHOLE_ONLY = frozenset({"springdamper", "actdim"})
"""Attributes whose effect depends on inertia, or on all elements before."""
_REFERENCES: dict[str, str] = {
    **dict.fromkeys(("body", "body1", "body2"), "body"),
    **dict.fromkeys(("joint", "jointinparent", "joint1", "joint2"), "joint"),
    **dict.fromkeys(("site", "site1", "site2", "refsite"), "site"),
    **dict.fromkeys(("tendon", "tendon1", "tendon2"), "tendon"),
}
"""Attributes that name an element, and its kind."""
_MAX_BODIES = 64
"""The number of bodies from which on a part is full: MuJoCo needs about a millisecond for each part."""
_MAX_MATERIALS = 100
"""A document with more materials has only one part without joints: every part has all of them."""
_MOST_SHARE = 0.5
"""A document is not split if one tree takes more than this share of the time for the whole."""


class DocumentParts(Struct):
    """Parts without joints, and parts with joints, of which complete ones also have shapes, cameras and lights.

    `seconds` is the least processor time that MuJoCo needs for them, `names` are the names of elements by line.
    `excludes` and `keys` are elements that no part has, with their lines.
    """

    jointless: list[PartText]
    parts: list[PartText]
    seconds: float
    names: dict[int, str]
    excludes: list[tuple[int, Fragment]]
    keys: list[tuple[int, Fragment]]


def split(root: Fragment, work: Workload) -> DocumentParts | None:
    """The parts of a large document; None if it is small, or if its trees depend on each other."""
    return _Splitter(root).split(work) if is_large(work) and _can_split(root) else None


def _can_split(root: Fragment) -> bool:
    """Whether a document has only elements and settings that mean the same in a part as in the whole."""
    for section in root.children:
        below = [one for one in section.iter() if one is not section]
        if any(not _WHOLE_ONLY.isdisjoint(one.attributes) for one in below):
            return False
        if section.tag == "compiler" and not section.attributes.keys() <= _COMPILER:
            return False
        allowed = _TAGS.get(section.tag, _SETTINGS.get(section.tag))
        if allowed is None or (allowed and not allowed.issuperset(one.tag for one in below)):
            return False
    keys = [key for section in root.children if section.tag == "keyframe" for key in section.children]
    are_plain = len(keys) <= _MAX_KEYS and all(key.attributes.keys() <= _KEY for key in keys)
    return are_plain and not _repeats_names(root)


def _repeats_names(root: Fragment) -> bool:
    """Whether two elements of a kind have the same name: MuJoCo reports it if they are in one document."""
    names: dict[str, list[str]] = {}
    for section in root.children:
        own = section.tag if section.tag in (*_RELATIONS, "contact") else ""
        for one in section.iter() if section.tag in _TAGS else ():
            if "name" in one.attributes:
                names.setdefault(own or _kind(one), []).append(one.attributes["name"])
    return any(len(set(found)) < len(found) for found in names.values())


def _kind(fragment: Fragment) -> str:
    return "joint" if fragment.tag == "freejoint" else fragment.tag


Relations = dict[int, list[tuple[str, Fragment]]]
"""Constraints, tendons and actuators with their sections, by the number of the first tree that they name."""


class _Splitter:
    """One document: which trees belong together, and their texts."""

    def __init__(self, root: Fragment) -> None:
        self.root = root
        self.lines = {id(fragment): line for line, fragment in enumerate(root.iter(), start=1)}
        bodies = (one for section in self._sections("worldbody") for one in section.iter() if one.tag == "body")
        self.bodies = {id(body): number for number, body in enumerate(bodies, start=1)}
        self.trees = [
            one for section in self._sections("worldbody") for one in section.children if one.tag in ("body", "frame")
        ]
        self.sizes = [sum(one.tag == "body" for one in tree.iter()) for tree in self.trees]
        """The number of bodies of each tree."""
        self.groups = list(range(len(self.trees)))
        """The group of each tree, as the number of another tree in it, or its own number."""
        self.owners: dict[tuple[str, str], int] = {
            (_kind(one), one.attributes["name"]): number
            for number, tree in enumerate(self.trees)
            for one in tree.iter()
            if "name" in one.attributes and one.tag in ("body", "site", *_JOINTS)
        }
        """The trees of bodies, joints, sites and tendons, by kind and name."""
        self._targets = {one.attributes["target"] for one in root.iter() if "target" in one.attributes}
        self._assets = [one for section in self._sections("asset") for one in section.children]
        self._not_shared = {id(one) for one in self._assets if one.tag != "material"}
        """The assets that only the first part has."""

    def _sections(self, *tags: str) -> list[Fragment]:
        return [one for one in self.root.children if one.tag in tags]

    def split(self, work: Workload) -> DocumentParts | None:
        relations = self._relations()
        if relations is None or not self.trees:
            return None
        groups: dict[int, list[int]] = {}
        for number in range(len(self.trees)):
            groups.setdefault(self._group(number), []).append(number)
        first = set(self._first_trees())
        complete = list(self._packed(group for group in groups.values() if first.isdisjoint(group)))
        divided = list(self._packed(group for group in groups.values() if not first.isdisjoint(group)))
        works = [self._measure(trees) for trees in (*complete, *divided)]
        if max((one.seconds for one in works), default=0.0) > _MOST_SHARE * work.seconds:
            return None
        named = (one for one in self.root.iter() if "name" in one.attributes)
        return DocumentParts(
            self._jointless(first, sorted(number for trees in divided for number in trees if number not in first)),
            [
                *(self._complete_part(trees, relations) for trees in complete),
                *(self._part(trees, relations) for trees in divided),
            ],
            sum(one.seconds for one in works),
            {self.lines[id(one)]: one.attributes["name"] for one in named},
            self._lines_of("contact"),
            self._lines_of("keyframe"),
        )

    def _lines_of(self, tag: str) -> list[tuple[int, Fragment]]:
        return [(self.lines[id(one)], one) for section in self._sections(tag) for one in section.children]

    # --- which trees belong together ------------------------------------------------------------------

    def _group(self, number: int) -> int:
        while self.groups[number] != number:
            self.groups[number] = self.groups[self.groups[number]]
            number = self.groups[number]
        return number

    def _relations(self) -> Relations | None:
        """What connects trees, whose groups are joined; None if something refers to no tree or to unknown names."""
        found: Relations = {}
        for section in sorted(self._sections(*_RELATIONS), key=lambda one: _RELATIONS.index(one.tag)):
            for one in section.children:
                named = [self.owners.get(key) for key in _references(one) if key != ("body", "world")]
                trees = [number for number in named if number is not None]
                if not trees or len(trees) < len(named):
                    return None
                for other in trees[1:]:
                    self.groups[self._group(other)] = self._group(trees[0])
                if section.tag == "tendon" and "name" in one.attributes:
                    self.owners["tendon", one.attributes["name"]] = trees[0]
                found.setdefault(trees[0], []).append((section.tag, one))
        return found

    def _packed(self, groups: Iterable[list[int]]) -> Iterator[list[int]]:
        """The trees of each part, in document order: groups, until the part has enough bodies."""
        part: list[int] = []
        count = 0
        for trees in groups:
            size = sum(self.sizes[number] for number in trees)
            if part and count + size > _MAX_BODIES:
                yield sorted(part)
                part, count = [], 0
            part += trees
            count += size
        if part:
            yield sorted(part)

    def _measure(self, trees: Sequence[int]) -> Workload:
        return measure(Fragment("mujoco", {}, -1, [*self._sections("default"), *(self.trees[i] for i in trees)]))

    # --- texts ----------------------------------------------------------------------------------------

    def _first_trees(self) -> list[int]:
        """The trees in the first part without joints: with meshes, and with bodies that cameras are directed at."""
        settings = [one for section in self._sections("default") for one in section.iter()]
        if sum(one.tag == "material" for one in self._assets) > _MAX_MATERIALS or any(map(_uses_mesh, settings)):
            return list(range(len(self.trees)))
        return [number for number, tree in enumerate(self.trees) if _needs_first_part(tree, self._targets)]

    def _jointless(self, first: Container[int], others: Sequence[int]) -> list[PartText]:
        """Trees without joints and what refers to them, and without names, which the parts with joints have.

        The first part also has the elements of the world, meshes and height fields.
        """
        within = {id(one) for section in self._sections("worldbody") for one in section.iter()}

        def text(sections: list[Fragment], left_out: Container[int]) -> PartText:
            def attributes(one: Fragment) -> dict[str, str] | None:
                if id(one) in left_out or (one.tag in _JOINTS and id(one) in within):
                    return None
                if id(one) not in within or one.attributes.get("name") in self._targets:
                    return one.attributes
                return {key: value for key, value in one.attributes.items() if key != "name"}

            return self._text(sections, attributes)

        not_first = {id(tree) for number, tree in enumerate(self.trees) if number not in first}
        texts = [text(self._sections(*_SETTINGS, "size", "asset", "worldbody"), not_first)]
        for trees in self._packed([number] for number in others):
            texts.append(text([*self._sections(*_SETTINGS, "asset"), self._world(trees)], self._not_shared))
        return texts

    def _complete_part(self, trees: Sequence[int], relations: Relations) -> PartText:
        """Some trees with all that is in them."""
        sections = [*self._sections(*_SETTINGS, "asset"), self._world(trees), *self._own_relations(trees, relations)]
        part = self._text(sections, lambda one: None if id(one) in self._not_shared else one.attributes)
        part.is_complete = True
        return part

    def _part(self, trees: Sequence[int], relations: Relations) -> PartText:
        """Some trees with their joints; the inertia of their bodies is that of the whole document."""

        def attributes(one: Fragment) -> dict[str, str] | None:
            if one.tag in ("geom", "inertial", "camera", "light"):
                return None
            left_out = _NOT_IN_PARTS.get(one.tag)
            if left_out is None:
                return one.attributes
            return {key: value for key, value in one.attributes.items() if key not in left_out}

        sections = [*self._sections(*_SETTINGS), self._world(trees), *self._own_relations(trees, relations)]
        return self._text(sections, attributes, with_inertia=True)

    def _world(self, trees: Sequence[int]) -> Fragment:
        return Fragment("worldbody", {}, -1, [self.trees[number] for number in trees])

    def _own_relations(self, trees: Sequence[int], relations: Relations) -> Iterator[Fragment]:
        """The sections of what connects some trees."""
        for tag in _RELATIONS:
            own = [one for number in trees for kind, one in relations.get(number, ()) if kind == tag]
            if own:
                yield Fragment(tag, {}, -1, sorted(own, key=lambda one: self.lines[id(one)]))

    def _text(
        self,
        sections: list[Fragment],
        attributes: Callable[[Fragment], dict[str, str] | None],
        *,
        with_inertia: bool = False,
    ) -> PartText:
        """The text of some sections, without elements whose attributes are None.

        With `with_inertia`, the inertia of bodies is that of the whole document.
        """
        lines, fragments = format_lines(Fragment("mujoco", {}, -1, sections), attributes)
        inertials: dict[int, int] = {}
        for place, one in enumerate(fragments if with_inertia else ()):
            if one.tag == "body":
                inertials[place] = self.bodies[id(one)]
                if lines[place].start.endswith("/>"):
                    lines[place] = Line(lines[place].start[:-2] + ">", "</body>" + lines[place].ends)
        texts = [(line.start, line.ends) for line in lines]
        bodies = [self.bodies[id(one)] for one in fragments if one.tag == "body"]
        return PartText(texts, [self.lines.get(id(one), 0) for one in fragments], bodies, inertials)


def _uses_mesh(fragment: Fragment) -> bool:
    return "mesh" in fragment.attributes or "hfield" in fragment.attributes


def _needs_first_part(tree: Fragment, targets: set[str]) -> bool:
    """Whether a tree has elements of the world, uses meshes or height fields, or has targets of cameras or lights."""
    if tree.tag == "frame" and _has_world_elements(tree):
        return True
    return any(
        _uses_mesh(one) or "target" in one.attributes or one.attributes.get("name") in targets for one in tree.iter()
    )


def _has_world_elements(frame: Fragment) -> bool:
    """Whether a frame of the world contains other elements than bodies and frames."""
    waiting = [frame]
    while waiting:
        for child in waiting.pop().children:
            if child.tag == "frame":
                waiting.append(child)
            elif child.tag != "body":
                return True
    return False


def _references(fragment: Fragment) -> Iterator[tuple[str, str]]:
    """The kinds and names of the elements that one element names."""
    for one in fragment.iter():
        for attribute, value in one.attributes.items():
            if attribute in _REFERENCES:
                yield _REFERENCES[attribute], value
