"""The transform elements of the XODE vocabulary: of bodies, geoms and groups, and of masses."""

from __future__ import annotations

from collections.abc import Iterable

from exoskel.formats.xode.values import ANGLE_FORMAT, BOOLEAN, FLOAT, POSITIVE, TEXT
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
