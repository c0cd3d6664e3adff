"""The transform elements of the XODE vocabulary, and how a pose and a scale are read from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import hypot
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.xode.context import XodeContext
from exoskel.formats.xode.values import ANGLE_FORMAT, BOOLEAN, FLOAT, POSITIVE, TEXT
from exoskel.scene.pose import IDENTITY, NO_ROTATION, ZERO, AxisAngle, Euler, Matrix, Pose, Quaternion, Rotation, Vector
from exoskel.source.flat_tree import Node
from exoskel.source.vocabulary import Attribute, Element, SceneField, unused

ROTATIONS = ("axisangle", "quaternion", "euler")
"""In order of precedence, if a file gives several."""
MATRICES = ("matrix4f", "matrix")


def float_attributes(
    names: Iterable[str], meaning: str, unit: str = "", required: bool = True, field: str | None = None
) -> list[Attribute]:
    return [Attribute(name, FLOAT, meaning, required=required, unit=unit, field=field) for name in names]


_MATRIX_ENTRIES = [f"m{row}{column}" for row in range(4) for column in range(4)][:-1]
_LAST_ENTRY = unused("the last entry of a matrix is always read as 1")


def _matrix(name: str, meaning: str, last_entry: SceneField | None, occurrence_code: str = "") -> Element:
    return Element(
        name,
        "?",
        meaning,
        attributes=[
            *float_attributes(_MATRIX_ENTRIES, "First digit is the row, second the column."),
            Attribute("m33", FLOAT, "First digit is the row, second the column.", required=True, field=last_entry),
        ],
        occurrence_code=occurrence_code,
        in_schema=not occurrence_code,
    )


_REACH = [
    Attribute("absolute", BOOLEAN, "Relative to the root instead of the parent.", default="false"),
    Attribute("scale", POSITIVE, "Uniform scale of the contents.", default="1"),
]
_UNUSED_IN_MASSES = [Attribute(a.name, a.kind, "Has no effect on a mass.", in_schema=False) for a in _REACH]

_ANGLE_FORMAT = Attribute("aformat", ANGLE_FORMAT, "Unit of the angles.", default="radians")


def _rotation_forms(occurrence_code: str = "", in_schema: bool = True) -> list[Element]:
    return [
        Element(
            "euler",
            "?",
            "Rotations about x, then the new y, then the new z; clockwise in dialect pyode.",
            attributes=[*float_attributes("xyz", "Angle about that axis.", "rad or degrees"), _ANGLE_FORMAT],
            occurrence_code=occurrence_code,
            in_schema=in_schema,
            reader_note="PyODE rotates in the opposite direction.",
        ),
        Element(
            "axisangle",
            "?",
            "A right-handed rotation about an axis of any length.",
            attributes=[
                *float_attributes("xyz", "Axis."),
                Attribute("angle", FLOAT, "Angle.", required=True, unit="rad or degrees"),
                _ANGLE_FORMAT,
            ],
            occurrence_code=occurrence_code,
            in_schema=in_schema,
            reader_note="PyODE rejects it.",
        ),
        Element(
            "quaternion",
            "?",
            "A quaternion; normalised on reading.",
            attributes=[
                *float_attributes("xyz", "Vector part."),
                Attribute("w", FLOAT, "Scalar part.", required=True),
                Attribute("aformat", ANGLE_FORMAT, "Has no effect."),
            ],
            occurrence_code=occurrence_code,
            in_schema=in_schema,
            reader_note="PyODE rejects it.",
        ),
    ]


def transform_element(meaning: str, *, of_mass: bool = False) -> Element:
    last_entry = None if of_mass else _LAST_ENTRY
    return Element(
        "transform",
        "?",
        meaning,
        _matrix("matrix4f", "The whole transform as a matrix; excludes all other children.", last_entry),
        _matrix("matrix", "Odejava's name for `matrix4f`.", last_entry, occurrence_code="X511"),
        Element(
            "position",
            "?",
            "Translation.",
            attributes=float_attributes("xyz", "Coordinate.", "m"),
            field=SceneField("inertia", parts=("com",)) if of_mass else None,
        ),
        Element(
            "rotation",
            "?",
            "Rotation: exactly one child.",
            *_rotation_forms(),
            one_of=ROTATIONS,
            unknown_child_code="X202.inside",
        ),
        Element(
            "scale",
            "?",
            "Scale as an element, instead of the attribute.",
            attributes=[
                Attribute("scale", POSITIVE, "Scale factor."),
                *[Attribute(axis, POSITIVE, "Scale factor along that axis.") for axis in "xyz"],
            ],
            in_schema=False,
        ),
        *_rotation_forms(occurrence_code="X506", in_schema=False),
        attributes=[
            *(_UNUSED_IN_MASSES if of_mass else _REACH),
            Attribute("transformstyle", TEXT, "Has no effect."),
        ],
        exclusive_children=("matrix4f",),
        unknown_child_code="X202.inside",
        gathered=of_mass,
        field="inertia" if of_mass else "pose",
    )


TRANSFORM = transform_element("Pose of the element in its parent.")


_BLOCK_TOLERANCE = 1e-4
_NORM_TOLERANCE = 1e-3
_EXACT = 1e-15
"""A matrix that is a rotation within this tolerance is used exactly as written."""


class LocalTransform(Struct, frozen=True):
    """A transform: a pose, a uniform scale of the contents, and whether it is relative to the root."""

    pose: Pose = IDENTITY
    scale: float = 1.0
    absolute: bool = False

    @property
    def moves(self) -> bool:
        return self.pose.position != ZERO

    @property
    def rotates(self) -> bool:
        rotation = self.pose.rotation
        if isinstance(rotation, Euler):
            return rotation.angles != ZERO
        return bool(np.abs(rotation.matrix() - np.eye(3)).max() > 0.0)

    @property
    def is_identity(self) -> bool:
        return self is NO_TRANSFORM or (not self.moves and not self.rotates and self.scale == 1.0)


NO_TRANSFORM = LocalTransform()


class TransformReader:
    """Reads the `transform` elements of one document."""

    def __init__(self, context: XodeContext) -> None:
        self.context = context
        self.report = context.report

    def read(self, owner: Node, *, of_mass: bool = False) -> LocalTransform:
        """The transform of an element; the identity if it is missing or invalid."""
        node: Node | None = owner.fields.get("transform")
        return NO_TRANSFORM if node is None else self.read_transform(node, of_mass=of_mass)

    def read_transform(self, node: Node, *, of_mass: bool = False) -> LocalTransform:
        fields = node.fields
        absolute = fields.get("@absolute", False)
        if of_mass:
            for name in ("absolute", "scale"):
                if f"@{name}" in fields or name in fields:
                    self.report("X611", node.number, name=name)
            absolute = False
        matrices = [name for name in MATRICES if name in fields]
        if matrices:
            matrix: Node = fields[self.context.choose_first(node, matrices, "X204")]
            others = [name for name in ("position", "rotation", "scale", *ROTATIONS) if name in fields]
            others += ["a scale"] if "@scale" in fields else []
            if others:
                self.report("X501", node.number, other=", ".join(others))
                return NO_TRANSFORM
            return self._read_matrix(matrix, absolute, of_mass)
        pose = Pose(self._read_position(fields.get("position")), self._read_rotation(node))
        scale = 1.0 if of_mass else self._read_scale(node)
        return LocalTransform(pose, scale, absolute)

    # --- vector style ---------------------------------------------------------------------------------

    def _read_position(self, node: Node | None) -> Vector:
        return ZERO if node is None else vector(node) or ZERO

    def _read_rotation(self, node: Node) -> Rotation:
        rotation: Node | None = node.fields.get("rotation")
        unwrapped = [name for name in ROTATIONS if name in node.fields]
        if rotation is None:
            forms = {name: node.fields[name] for name in unwrapped}
        else:
            forms = {name: rotation.fields[name] for name in ROTATIONS if name in rotation.fields}
            if not forms and not rotation.is_invalid("?"):
                self.report("X203.rotation", rotation.number)
            for name in unwrapped:
                forms.setdefault(name, node.fields[name])
        if len(forms) > 1:
            first = next(name for name in ROTATIONS if name in forms)
            self.report("X505", (rotation or node).number, used=first)
        for name in ROTATIONS:
            if name in forms:
                return _ROTATION_READERS[name](self, forms[name])
        return NO_ROTATION

    def _euler(self, node: Node) -> Rotation:
        angles = vector(node)
        degrees = node.fields.get("@aformat") == "degrees"
        if angles is None or node.is_invalid("@aformat") or angles == ZERO:
            return NO_ROTATION
        self.context.euler_angles.append(node.number)
        if self.context.dialect == "pyode":
            x, y, z = angles
            angles = (-x, -y, -z)
        return Euler(angles, degrees=degrees)

    def _axisangle(self, node: Node) -> Rotation:
        axis, angle = vector(node), node.fields.get("@angle")
        if axis is None or angle is None or node.is_invalid("@aformat"):
            return NO_ROTATION
        if axis == ZERO:
            self.report("X507.angle" if angle == 0.0 else "X507", node.number, element="axis")
            return NO_ROTATION
        return AxisAngle(axis, angle, degrees=node.fields.get("@aformat") == "degrees")

    def _quaternion(self, node: Node) -> Rotation:
        part, w = vector(node), node.fields.get("@w")
        if part is None or w is None:
            return NO_ROTATION
        norm = hypot(w, *part)
        if norm == 0.0:
            self.report("X507", node.number, element="quaternion")
            return NO_ROTATION
        if abs(norm - 1.0) > _NORM_TOLERANCE:
            self.report("X508", node.number, norm=norm)
        return Quaternion((w, *part))

    # --- scale ----------------------------------------------------------------------------------------

    def _read_scale(self, node: Node) -> float:
        attribute: float | None = node.fields.get("@scale")
        element = self._read_scale_element(node.fields.get("scale"))
        if attribute is not None and element is not None and attribute != element:
            self.report("X513", node.number, given=attribute, element=element)
            return 1.0
        scale = attribute if attribute is not None else element if element is not None else 1.0
        if scale != 1.0:
            self.report("X509", node.number, value=scale)
        return scale

    def _read_scale_element(self, node: Node | None) -> float | None:
        if node is None:
            return None
        single: float | None = node.fields.get("@scale")
        factors = [node.fields["@" + axis] for axis in "xyz" if "@" + axis in node.fields]
        if single is None and not factors:
            if not node.invalid:
                self.report("X301", node.number, attribute_name="scale", element="scale")
            return None
        if factors and (len(set(factors)) > 1 or len(factors) < 3):
            self.report("X510", node.number)
            return None
        if single is not None and factors and single != factors[0]:
            self.report("X513.element", node.number, given=single, axes=factors[0])
            return None
        scale = factors[0] if single is None else single
        self.report("X509.element", node.number, value=scale)
        return scale

    # --- matrix style ---------------------------------------------------------------------------------

    def _read_matrix(self, node: Node, absolute: bool, of_mass: bool) -> LocalTransform:
        entries = [node.fields.get(f"@m{row}{column}") for row in range(4) for column in range(4)]
        if None in entries:
            return NO_TRANSFORM
        matrix = np.array(entries, dtype=float).reshape(4, 4)
        translation = self._read_translation(node, matrix)
        if translation is None:
            return NO_TRANSFORM
        if matrix[3, 3] != 1.0:
            self.report("X502.corner", node.number, attribute="m33", value=float(matrix[3, 3]))
        block = matrix[:3, :3]
        largest = float(np.abs(block).max()) or 1.0  # factored out, so that the determinant does not overflow
        determinant = float(np.linalg.det(block / largest))
        if determinant < 0.0:
            self.report("X514", node.number, determinant=determinant * largest * largest * largest)
            return NO_TRANSFORM
        scale = largest * determinant ** (1 / 3)
        rotation = block / scale if scale > 0.0 else block
        deviation = _deviation(rotation)
        if not deviation <= _BLOCK_TOLERANCE:
            self.report("X503", node.number, deviation=deviation)
            return NO_TRANSFORM
        if abs(scale - 1.0) <= _BLOCK_TOLERANCE:
            scale, rotation = 1.0, block
        elif of_mass:
            self.report("X611", node.number, name="scale")
            scale = 1.0
        else:
            self.report("X509", node.number, value=scale)
        if _deviation(rotation) > _EXACT:
            rotation = _orthonormalise(rotation)
        return LocalTransform(Pose(translation, _matrix_rotation(rotation)), scale, absolute)

    def _read_translation(self, node: Node, matrix: spatial.Array) -> Vector | None:
        row, column = matrix[3, :3], matrix[:3, 3]
        if not row.any():
            return _vector(column)
        if not column.any():
            self.report("X504", node.number)
            return _vector(row)
        self.context.ambiguous_matrices.append(node.number)
        if self.context.dialect == "pyode":
            self.report("X504", node.number)
            return _vector(row)
        entries = {f"m3{i}": row[i] for i in range(3)} | {f"m{i}3": column[i] for i in range(3)}
        shown = ", ".join(f"{name} {value:g}" for name, value in sorted(entries.items()) if value)
        self.report("X502", node.number, entries=shown)
        return None


_ROTATION_READERS: dict[str, Callable[[TransformReader, Node], Rotation]] = {
    "axisangle": TransformReader._axisangle,
    "quaternion": TransformReader._quaternion,
    "euler": TransformReader._euler,
}


def vector(node: Node) -> Vector | None:
    """The attributes x, y and z, or None if one is missing."""
    fields = node.fields
    if "@x" in fields and "@y" in fields and "@z" in fields:
        return (fields["@x"], fields["@y"], fields["@z"])
    return None


def _vector(values: Any) -> Vector:
    x, y, z = (float(value) for value in values)
    return (x, y, z)


def _deviation(rotation: spatial.Array) -> float:
    return float(np.abs(rotation @ rotation.T - np.eye(3)).max())


def _orthonormalise(rotation: spatial.Array) -> spatial.Array:
    """Orthonormalise a rounded matrix as ODE does: row by row, starting with the first.

    Without this, the inverse of a body's pose would be inexact and move its anchors.
    """
    first = spatial.unit(rotation[0])
    second = spatial.unit(rotation[1] - (first @ rotation[1]) * first)
    return np.stack([first, second, np.cross(first, second)]) + 0.0


def _matrix_rotation(rotation: spatial.Array) -> Rotation:
    if np.array_equal(rotation, np.eye(3)):
        return NO_ROTATION
    first, second, third = (_vector(row) for row in rotation)
    return Matrix((first, second, third))
