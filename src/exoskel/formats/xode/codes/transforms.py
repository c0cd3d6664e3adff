"""X501 to X517: what there is to say about transforms."""

from __future__ import annotations

from exoskel.diagnostics import Topic, message_with_severities

TOPICS = (
    Topic(
        "X501",
        "Mixed transform styles",
        "A transform is either a matrix, or a position, rotation and scale. One that is both counts as absent.",
        (message_with_severities("X501", "E/E", "a matrix together with {other}"),),
    ),
    Topic(
        "X502",
        "Odd matrix",
        "A matrix has its translation in the last column (or, as PyODE has it, in the last row), and 1 in its corner.",
        (
            message_with_severities(
                "X502", "E/E", "the matrix has a translation in its last row and in its last column: {entries}"
            ),
            message_with_severities("X502.corner", "E/W", "m33 is {value}; 1 is used"),
        ),
    ),
    Topic(
        "X503",
        "Matrix is no rotation",
        "The upper left block has to be a rotation times a scale.",
        (message_with_severities("X503", "E/E", "the matrix is no scaled rotation: off by {deviation}"),),
    ),
    Topic(
        "X504",
        "Translation in the last row",
        "PyODE reads matrices so, everybody else has the translation in the last column.",
        (
            message_with_severities(
                "X504", "W/W", "the translation stands in the last row of the matrix; PyODE's layout is assumed"
            ),
        ),
    ),
    Topic(
        "X505",
        "Two rotations",
        "Of several rotations the first of axisangle, quaternion and euler is used.",
        (message_with_severities("X505", "E/W", "several rotations; the {used} is used"),),
    ),
    Topic(
        "X506",
        "Rotation outside of rotation",
        "Odejava's writer leaves the `rotation` element out.",
        (message_with_severities("X506", "E/W", "<{element}> stands outside of <rotation>", "put it into <rotation>"),),
    ),
    Topic(
        "X507",
        "Rotation without a direction",
        "An axis and a quaternion have a length.",
        (
            message_with_severities("X507", "E/E", "the {element} is zero"),
            message_with_severities("X507.angle", "E/W", "the axis is zero, and so is the angle: no rotation"),
        ),
    ),
    Topic(
        "X508",
        "Quaternion not unit",
        "It is normalised.",
        (message_with_severities("X508", "W/W", "the quaternion has length {norm}; it is normalised"),),
    ),
    Topic(
        "X509",
        "Scale",
        "Readers differ on what scale does. Here it moves what is inside, and leaves shapes and masses as they are.",
        (
            message_with_severities(
                "X509", "W/W", "scale {value}: offsets inside are scaled, sizes and masses are not"
            ),
            message_with_severities(
                "X509.element", "W/W", "scale written as an element", 'write scale="{value}" on <transform>'
            ),
        ),
    ),
    Topic(
        "X510",
        "Unequal scale",
        "Only a uniform scale has a meaning.",
        (message_with_severities("X510", "E/E", "the scale is not the same in x, y and z"),),
    ),
    Topic(
        "X511",
        "matrix for matrix4f",
        "Odejava's name for the matrix.",
        (message_with_severities("X511", "E/W", "<matrix> is Odejava's name", "write <matrix4f>"),),
    ),
    Topic(
        "X512",
        "Absolute transform below a body",
        "The geom's place is worked out from where the body is at the start.",
        (
            message_with_severities(
                "X512", "W/W", "an absolute transform below a body; its offset there is {offset}", "", "gets it wrong"
            ),
        ),
    ),
    Topic(
        "X513",
        "Two scales",
        "The attribute and the element, or the attributes of the element, give different scales.",
        (
            message_with_severities("X513", "E/E", "scale {given} as attribute, {element} as element"),
            message_with_severities("X513.element", "E/E", "scale {given}, but {axes} in x, y and z"),
        ),
    ),
    Topic(
        "X514",
        "Reflection",
        "A matrix that mirrors is no transform.",
        (message_with_severities("X514", "E/E", "the matrix mirrors: its determinant is {determinant}"),),
    ),
    Topic(
        "X515",
        "Composed as PyODE does not",
        "PyODE composes nested rotations and translations wrongly; files written for it may rely on that.",
        (
            message_with_severities(
                "X515", "-/W", "a rotation and a translation are nested here", "", "places it elsewhere"
            ),
        ),
    ),
    Topic(
        "X516",
        "Transform of a joint",
        "It moves the joint's anchor. Most readers ignore it.",
        (
            message_with_severities(
                "X516", "W/W", "a joint with a <transform>: its anchor is relative to it", "", "stops reading there"
            ),
        ),
    ),
    Topic(
        "X517",
        "Euler angles of unknown sense",
        "The specification turns counter-clockwise, PyODE clockwise. Nothing in the file tells which is meant, and "
        "the specification's sense was taken.",
        (
            message_with_severities(
                "X517",
                "W/W",
                "{count} with angles that PyODE would turn the other way, the first here",
                "name the dialect: dialect='spec' or dialect='pyode'",
            ),
        ),
    ),
)
