"""Diagnostics X501 to X517: transforms."""

from __future__ import annotations

from exoskel.diagnostics import Topic, message_with_severities

TOPICS = (
    Topic(
        "X501",
        "Mixed transform styles",
        "A transform is either a matrix, or a position, rotation and scale. A transform with both counts as absent.",
        (message_with_severities("X501", "E/E", "the transform has a matrix and also {other}"),),
    ),
    Topic(
        "X502",
        "Unusual matrix",
        "A matrix has its translation in the last column (in PyODE: in the last row), and 1 in its corner.",
        (
            message_with_severities(
                "X502", "E/E", "the matrix has a translation in both its last row and its last column: {entries}"
            ),
            message_with_severities("X502.corner", "E/W", "m33 is {value}; 1 is used"),
        ),
    ),
    Topic(
        "X503",
        "Matrix is not a rotation",
        "The upper left block must be a rotation times a scale.",
        (message_with_severities("X503", "E/E", "the matrix is not a scaled rotation: it deviates by {deviation}"),),
    ),
    Topic(
        "X504",
        "Translation in the last row",
        "PyODE reads matrices this way; all other readers expect the translation in the last column.",
        (
            message_with_severities(
                "X504", "W/W", "the translation is in the last row of the matrix; PyODE's layout is assumed"
            ),
        ),
    ),
    Topic(
        "X505",
        "Several rotations",
        "Of several rotations, the first in the order axisangle, quaternion, euler is used.",
        (message_with_severities("X505", "E/W", "several rotations; the {used} is used"),),
    ),
    Topic(
        "X506",
        "Rotation outside the rotation element",
        "Odejava's writer omits the `rotation` element.",
        (message_with_severities("X506", "E/W", "<{element}> is outside <rotation>", "move it into <rotation>"),),
    ),
    Topic(
        "X507",
        "Zero axis or quaternion",
        "The axis and the quaternion of a rotation must not be zero.",
        (
            message_with_severities("X507", "E/E", "the {element} is zero"),
            message_with_severities("X507.angle", "E/W", "the axis and the angle are zero; there is no rotation"),
        ),
    ),
    Topic(
        "X508",
        "Quaternion not unit",
        "The quaternion is normalised.",
        (message_with_severities("X508", "W/W", "the quaternion has length {norm}; it is normalised"),),
    ),
    Topic(
        "X509",
        "Scale",
        "Readers interpret scale differently. Here it scales offsets inside the element, but not shapes and masses.",
        (
            message_with_severities(
                "X509", "W/W", "scale {value}: offsets inside are scaled, sizes and masses are not"
            ),
            message_with_severities(
                "X509.element", "W/W", "scale is written as an element", 'use scale="{value}" on <transform>'
            ),
        ),
    ),
    Topic(
        "X510",
        "Unequal scale",
        "Only a uniform scale is supported.",
        (message_with_severities("X510", "E/E", "the scale is not the same in x, y and z"),),
    ),
    Topic(
        "X511",
        "matrix instead of matrix4f",
        "Odejava calls the element `matrix`.",
        (message_with_severities("X511", "E/W", "<matrix> is Odejava's name for <matrix4f>", "use <matrix4f>"),),
    ),
    Topic(
        "X512",
        "Absolute transform inside a body",
        "The offset of the geom is computed from the initial pose of the body.",
        (
            message_with_severities(
                "X512",
                "W/W",
                "absolute transform inside a body; the offset from the body is {offset}",
                "",
                "computes it incorrectly",
            ),
        ),
    ),
    Topic(
        "X513",
        "Two scales",
        "The attribute and the element, or the attributes of the element, give different scales.",
        (
            message_with_severities("X513", "E/E", "scale is {given} as an attribute, but {element} as an element"),
            message_with_severities("X513.element", "E/E", "scale is {given}, but {axes} in x, y and z"),
        ),
    ),
    Topic(
        "X514",
        "Reflection",
        "A matrix that mirrors is not a valid transform.",
        (message_with_severities("X514", "E/E", "the matrix mirrors: its determinant is {determinant}"),),
    ),
    Topic(
        "X515",
        "PyODE composes the transforms differently",
        "PyODE composes nested rotations and translations incorrectly; files written for it may rely on that.",
        (
            message_with_severities(
                "X515", "-/W", "a rotation and a translation are nested here", "", "places it differently"
            ),
        ),
    ),
    Topic(
        "X516",
        "Transform of a joint",
        "The transform moves the joint's anchor. Most readers ignore it.",
        (
            message_with_severities(
                "X516", "W/W", "the joint has a <transform>; its anchor is relative to it", "", "stops reading there"
            ),
        ),
    ),
    Topic(
        "X517",
        "Ambiguous direction of Euler angles",
        "The specification rotates counter-clockwise, PyODE clockwise. The file does not show which is meant;"
        " the direction of the specification is used.",
        (
            message_with_severities(
                "X517",
                "W/W",
                "{count} with Euler angles that PyODE would rotate in the opposite direction; the first is here",
                "set the dialect: dialect='spec' or dialect='pyode'",
            ),
        ),
    ),
)
