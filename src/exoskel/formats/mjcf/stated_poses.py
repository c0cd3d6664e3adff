"""The poses that elements of a document state, and the frames around them."""

from __future__ import annotations

from collections.abc import Mapping
from math import radians

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.reader.asset_paths import compiler_settings
from exoskel.formats.mjcf.shape_edits import CannotEditError
from exoskel.source.document import Document
from exoskel.spatial import Array

_OWNERS = frozenset({"body", "worldbody"})
_UNITS = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
_LEAST_SINE = 1e-6


class StatedPoses:
    """Computes poses from the attributes of elements, with the settings of the document's compiler."""

    def __init__(self, document: Document) -> None:
        self.document = document
        settings = compiler_settings(
            {name: document.attribute_text(node, name) for name in document.attributes(node)}
            for node, tag in enumerate(document.outline.tags)
            if tag == "compiler"
        )
        self.uses_degrees = settings.get("angle", "degree") != "radian"
        self.order = settings.get("eulerseq", "xyz")

    def frame(self, node: int) -> Array:
        """The pose in its body of the `<frame>` elements around an element.

        Raises CannotEditError if other elements are around it, which copy or generate what is in them.
        """
        tags, above, found = self.document.outline.tags, self.document.outline.parents[node], np.eye(4)
        while above > 0 and tags[above] not in _OWNERS:
            if tags[above] != "frame":
                raise CannotEditError
            found = self.pose(above) @ found
            above = self.document.outline.parents[above]
        return found

    def pose(self, node: int) -> Array:
        """The pose that an element states.  Raises CannotEditError for numbers that cannot be read."""
        return self.pose_of({name: self.document.attribute_text(node, name) for name in self.document.attributes(node)})

    def pose_of(self, given: Mapping[str, str]) -> Array:
        """The pose that attributes state.  Raises CannotEditError for numbers that cannot be read."""
        try:
            return spatial.transform(self._rotation(given), np.array(_numbers(given.get("pos", "0 0 0"), 3)))
        except ValueError as problem:
            raise CannotEditError from problem

    def _rotation(self, given: Mapping[str, str]) -> Array:
        stated = [name for name in _ROTATIONS if given.get(name, "").split()]
        if len(stated) > 1:
            raise ValueError("several rotations")
        return _ROTATIONS[stated[0]](self, given[stated[0]]) if stated else np.eye(3)

    def _angle(self, value: float) -> float:
        return radians(value) if self.uses_degrees else value

    def _quaternion(self, text: str) -> Array:
        return spatial.quaternion_matrix(_unit(_numbers(text, 4)))

    def _axis_angle(self, text: str) -> Array:
        *axis, angle = _numbers(text, 4)
        return spatial.axis_angle_matrix(_unit(axis), self._angle(angle))

    def _axes(self, text: str) -> Array:
        numbers = np.array(_numbers(text, 6))
        x = _unit(numbers[:3])
        y = _unit(numbers[3:] - (numbers[3:] @ x) * x)
        return np.column_stack([x, y, np.cross(x, y)])

    def _z_axis(self, text: str) -> Array:
        """The smallest rotation that leads from the z axis to a vector; half a turn about x to the opposite one."""
        x, y, z = _unit(_numbers(text, 3)).tolist()
        if x == y == 0.0:
            return np.diag([1.0, 1.0, 1.0] if z > 0.0 else [1.0, -1.0, -1.0])
        sine = float(np.hypot(x, y))
        if sine < _LEAST_SINE:
            raise ValueError("a rotation that depends on rounding")
        return spatial.axis_angle_matrix((-y, x, 0.0), float(np.arctan2(sine, z)))

    def _euler(self, text: str) -> Array:
        """Rotations about the axes of the rotated frame, or of the frame around it for capital letters."""
        found = np.eye(3)
        for letter, angle in zip(self.order, _numbers(text, 3), strict=True):
            turn = spatial.axis_angle_matrix(_UNITS[letter.lower()], self._angle(angle))
            found = found @ turn if letter.islower() else turn @ found
        return found


_ROTATIONS = {
    "quat": StatedPoses._quaternion,
    "axisangle": StatedPoses._axis_angle,
    "xyaxes": StatedPoses._axes,
    "zaxis": StatedPoses._z_axis,
    "euler": StatedPoses._euler,
}
"""How rotations are stated."""


def _numbers(text: str, count: int) -> list[float]:
    found = [float(one) for one in text.split()]
    if len(found) != count:
        raise ValueError("wrong number of values")
    return found


def _unit(values: Array | list[float]) -> Array:
    vector = np.array(values, dtype=float)
    length = float(np.linalg.norm(vector))
    if not 1e-14 < length < np.inf:
        raise ValueError("a vector without a direction")
    found: Array = vector / length
    return found
