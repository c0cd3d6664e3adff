"""Expands `<composite>`, which MuJoCo 4 refuses, to the bodies that MuJoCo 3.3 makes of it.

MuJoCo 3.3 knows cables only: chains of bodies along a curve, connected by ball joints.  Their parts use no default
classes, so they state MuJoCo's defaults where a class of the author has other values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import atan2, cos, pi, sin

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.mjcf.default_values import mujoco_defaults
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.source.markup import format_number, format_numbers
from exoskel.source.numbers import parse_decimal
from exoskel.spatial import Array

_REPLACEMENTS = {
    "rope": 'use type="cable"',
    "particle": "use <replicate>",
    **dict.fromkeys(("grid", "cloth", "loop", "box", "cylinder", "ellipsoid"), "use <flexcomp>"),
}
"""What replaces the types that MuJoCo has removed."""
_CURVES: dict[str, Callable[[float, Sequence[float]], float]] = {
    "s": lambda part, size: part * size[0],
    "cos(s)": lambda part, size: size[1] * cos(pi * part * size[2]),
    "sin(s)": lambda part, size: size[1] * sin(pi * part * size[2]),
    "0": lambda part, size: 0.0,
}
_GEOM_TYPES = frozenset({"capsule", "cylinder", "box"})
_INITIAL = frozenset({"ball", "free", "none"})
_GROUP = "3"
"""The default group of joints and sites."""
_ZERO = 1e-14
_REPORTED = frozenset({"plugin", "skin"})
"""Parts that a scene does not support."""
_ONLY_HERE = frozenset({"kind", "solreffix", "solimpfix", "type", "axis"})
"""Attributes of joints that a composite has for itself."""
_OF_FREE = frozenset({"group", "stiffness"})
"""Attributes of the joints that the first one has if it is free."""


class UnsupportedComposite(Struct, frozen=True):
    """A composite that is not expanded, and why."""

    fragment: Fragment
    reason: str
    hint: str = ""


class _InvalidCompositeError(Exception):
    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.hint = hint


def expand_composites(root: Fragment) -> Iterator[UnsupportedComposite]:
    """Replace all composites by their bodies; those that have none are removed and returned."""
    parents = [one for one in root.iter() if any(child.tag == "composite" for child in one.children)]
    if not parents:
        return
    stated = _stated_defaults(root)
    excluded: list[tuple[str, str]] = []
    for parent in parents:
        children: list[Fragment] = []
        for child in parent.children:
            if child.tag != "composite":
                children.append(child)
                continue
            try:
                cable = _Cable(child, stated)
                body = cable.expand()
                body.children += [one for one in child.children if one.tag in _REPORTED]
                children.append(body)
                excluded += cable.excluded
            except _InvalidCompositeError as problem:
                yield UnsupportedComposite(child, str(problem), problem.hint)
        parent.children = children
    if excluded:
        pairs = [Fragment("exclude", {"body1": one, "body2": other}, -1) for one, other in excluded]
        root.children.append(Fragment("contact", {}, -1, pairs))


def _stated_defaults(root: Fragment) -> Mapping[str, frozenset[str]]:
    """The attributes that default classes state, by the tags of elements."""
    found: dict[str, frozenset[str]] = {}
    for section in root.children:
        for one in section.iter() if section.tag == "default" else ():
            found[one.tag] = found.get(one.tag, frozenset()) | one.attributes.keys()
    return found


class _Cable:
    def __init__(self, composite: Fragment, stated: Mapping[str, frozenset[str]]) -> None:
        self.node = composite.node
        self.given = composite.attributes
        self.stated = stated
        self.prefix = self.given.get("prefix", "")
        self.parts = {child.tag: child for child in reversed(composite.children) if child.tag != "joint"}
        self.joint = next((child for child in composite.children if child.tag == "joint"), None)
        self.excluded: list[tuple[str, str]] = []
        kind = self.given.get("type", "")
        if kind != "cable":
            hint = _REPLACEMENTS.get(kind, 'use type="cable"')
            raise _InvalidCompositeError(f"MuJoCo 3 has no composites of the type '{kind}'", hint)
        if self.given.get("initial", "ball") not in _INITIAL:
            raise _InvalidCompositeError(f"a cable cannot have the initial joint '{self.given['initial']}'")
        geom = self.parts.get("geom")
        self.geom = geom.attributes if geom is not None else {}
        if self.geom.get("type") not in _GEOM_TYPES:
            raise _InvalidCompositeError("the geoms of a cable must be capsules, cylinders or boxes")

    # --- the curve ------------------------------------------------------------------------------------

    def _numbers(self, name: str, default: Sequence[float]) -> list[float]:
        """The numbers of an attribute; those that it does not state have the default."""
        stated = [parse_decimal(one) for one in self.given.get(name, "").split()]
        found = [one for one in stated if one is not None]
        if len(found) < len(stated):
            raise _InvalidCompositeError(f"the {name} of a composite is not numeric: '{self.given[name]}'")
        return [*found, *default[len(found) :]]

    def _vertices(self) -> Array:
        stated = self._numbers("vertex", ())
        if stated:
            if len(stated) % 3 or len(stated) < 6:
                raise _InvalidCompositeError(f"a cable needs vertices of 3 numbers, not {len(stated)} numbers")
            return np.reshape(stated, (-1, 3))
        count, *others = (int(one) for one in self._numbers("count", (1, 1, 1)))
        if count < 2 or any(one != 1 for one in others):
            raise _InvalidCompositeError(f"a cable needs a count like '10 1 1', not '{self.given.get('count', '')}'")
        words = [*self.given.get("curve", "").split(), "0", "0", "0"][:3]
        if not set(words) <= _CURVES.keys():
            raise _InvalidCompositeError(f"unknown curve '{self.given['curve']}': {', '.join(_CURVES)} expected")
        size = self._numbers("size", (1.0, 0.0, 0.0))
        points = [[_CURVES[word](i / (count - 1), size) for word in words] for i in range(count)]
        w, *axis = self._numbers("quat", (1.0, 0.0, 0.0, 0.0))
        rows = np.array(points)
        return rows + 2.0 * np.cross(axis, w * rows + np.cross(axis, rows))

    @staticmethod
    def _frames(edges: Array) -> Iterator[Array]:
        """The rotations of the bodies, whose x axes are edges and whose y axes turn as little as possible.

        A curve that starts straight has no normals there and after it: as in MuJoCo, they are zero.
        """
        tangents = spatial.unit(edges)
        normal = np.zeros(3)
        for number, tangent in enumerate(tangents):
            if number == 0:
                binormal = _unit(np.cross(tangent, tangents[min(1, len(tangents) - 1)]))
                normal = _unit(np.cross(binormal, tangent))
            else:
                binormal = np.cross(tangents[number - 1], tangent)
                angle = atan2(float(np.linalg.norm(binormal)), float(tangents[number - 1] @ tangent))
                normal = _unit(spatial.axis_angle_matrix(_unit(binormal), angle) @ normal)
            matrix = np.column_stack([tangent, normal, _unit(np.cross(tangent, normal))])
            yield spatial.quaternion_matrix(_quaternion(matrix))

    # --- the bodies -----------------------------------------------------------------------------------

    def expand(self) -> Fragment:
        rounded = self._vertices().astype(np.float32)  # as in MuJoCo 3.3
        points, edges = rounded.astype(np.float64), np.diff(rounded, axis=0).astype(np.float64)
        lengths = np.linalg.norm(edges, axis=1).tolist()
        first: Fragment | None = None
        above: Fragment | None = None
        before = np.eye(3)
        place = np.array(self._numbers("offset", (0.0, 0.0, 0.0))) + points[0]
        for number, frame in enumerate(self._frames(edges)):
            body = self._body(number, len(edges), lengths[number], place, before.T @ frame)
            if above is None:
                first = body
            else:
                above.children.append(body)
                self.excluded.append((above.attributes["name"], body.attributes["name"]))
            above, before, place = body, frame, np.array([lengths[number], 0.0, 0.0])
        assert first is not None
        return first

    def _body(self, number: int, count: int, length: float, place: Array, rotation: Array) -> Fragment:
        is_first, is_last = number == 0, number == count - 1
        suffix = "first" if is_first else "last" if is_last else str(number)
        given = {
            "name": f"{self.prefix}B_{suffix}",
            "pos": format_numbers(place.tolist()),
            "quat": format_numbers(spatial.quaternion(rotation).tolist()),
        }
        body = Fragment("body", given, self.node)
        initial = self.given.get("initial", "ball")
        stated = self.joint.attributes if self.joint is not None else {}
        is_free = is_first and initial == "free"
        if is_free or not is_first or initial == "ball":
            own = {
                name: one for name, one in stated.items() if (name in _OF_FREE if is_free else name not in _ONLY_HERE)
            }
            kind = "free" if is_free else "ball"
            joint = {"name": f"{self.prefix}J_{suffix}", "type": kind, "group": _GROUP, **own}
            body.children.append(self._part("joint", joint))
        body.children.append(self._geom(number, length))
        if is_first or is_last:
            site = self.parts.get("site")
            own = {} if site is None else site.attributes
            end = format_numbers((length if is_last else 0.0, 0.0, 0.0))
            body.children.append(
                self._part("site", {"name": f"{self.prefix}S_{suffix}", "pos": end, "group": _GROUP, **own})
            )
        return body

    def _geom(self, number: int, length: float) -> Fragment:
        own = {"name": f"{self.prefix}G{number}", **self.geom}
        sizes = own.get("size", "").split()
        if own["type"] == "box":
            own["size"] = " ".join([format_number(length / 2), *sizes[1:]])
            own["pos"] = format_numbers((length / 2, 0.0, 0.0))
        else:
            own["size"] = " ".join(sizes[:1])
            own["fromto"] = format_numbers((0.0, 0.0, 0.0, length, 0.0, 0.0))
        return self._part("geom", own)

    def _part(self, tag: str, given: dict[str, str]) -> Fragment:
        return Fragment(tag, mujoco_defaults(tag, self.stated.get(tag, frozenset()), given) | given, self.node)


def _unit(vector: Array) -> Array:
    """A vector of length 1, or zero."""
    length = float(np.linalg.norm(vector))
    return vector / length if length > _ZERO else np.zeros(3)


def _quaternion(m: Array) -> Array:
    """The quaternion that MuJoCo computes for the axes of a frame, also if two of them are zero."""
    if m[0, 0] + m[1, 1] + m[2, 2] > 0:
        q = [1 + m[0, 0] + m[1, 1] + m[2, 2], m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]
    elif m[0, 0] > m[1, 1] and m[0, 0] > m[2, 2]:
        q = [m[2, 1] - m[1, 2], 1 + m[0, 0] - m[1, 1] - m[2, 2], m[0, 1] + m[1, 0], m[0, 2] + m[2, 0]]
    elif m[1, 1] > m[2, 2]:
        q = [m[0, 2] - m[2, 0], m[0, 1] + m[1, 0], 1 - m[0, 0] + m[1, 1] - m[2, 2], m[1, 2] + m[2, 1]]
    else:
        q = [m[1, 0] - m[0, 1], m[0, 2] + m[2, 0], m[1, 2] + m[2, 1], 1 - m[0, 0] - m[1, 1] + m[2, 2]]
    return spatial.unit(q)
