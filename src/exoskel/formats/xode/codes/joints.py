"""Diagnostics X801 to X905: joints, dialects and extensions."""

from __future__ import annotations

from exoskel.diagnostics import Topic, message_with_severities

TOPICS = (
    Topic(
        "X801",
        "Number of axes",
        "Each joint type has a fixed number of axes: amotor 3, hinge2 and universal 2, hinge and slider 1, "
        "all others 0.",
        message_with_severities(
            "X801",
            "E/E",
            "wrong number of axes for a {kind} joint: expected {expected}, found {found}; the joint is ignored",
        ),
        message_with_severities("X801.amotor", "E/W", "wrong number of axes for an amotor: expected 3, found {found}"),
    ),
    Topic(
        "X802",
        "Zero axis",
        "An axis must not be zero.",
        message_with_severities("X802", "E/E", "the axis is zero; the joint is ignored"),
    ),
    Topic(
        "X803",
        "Anchor without effect",
        "Sliders, fixed joints and angular motors have no anchor.",
        message_with_severities("X803", "E/W", "an anchor has no effect on a {kind} joint"),
        message_with_severities("X803.amotor", "W/W", "an anchor has no effect on an amotor"),
    ),
    Topic(
        "X804",
        "Missing anchor",
        "Joints of this type have an anchor. Without one, the origin of the joint's frame is used.",
        message_with_severities(
            "X804",
            "W/W",
            "the {kind} joint has no anchor; {point} is used",
            "",
            "pulls the origins of the two bodies together",
        ),
    ),
    Topic(
        "X805",
        "Frame of the anchor",
        "In the specification, an anchor is relative to the element that contains the joint, unless it is "
        "absolute. PyODE treats all anchors as absolute.",
        message_with_severities(
            "X805",
            "W/W",
            "the anchor is at {point} in dialect {dialect}, but at {other} in the other",
            'use absolute="true" and coordinates of the root frame',
        ),
    ),
    Topic(
        "X806",
        "Frame of the axis",
        "Axes are in the root frame, regardless of the element that contains the joint.",
        message_with_severities("X806", "W/W", "the joint is in a rotated frame, but its axis is in the root frame"),
        message_with_severities(
            "X806.relative",
            "W/W",
            "the axis is not absolute: it rotates with the joint's frame",
            "",
            "rejects the attribute",
        ),
    ),
    Topic(
        "X807",
        "Unknown axis parameter",
        "The parameter has no effect, and is preserved.",
        message_with_severities(
            "X807", "E/W", "unknown parameter '{name}' on <axis>", "{suggestion}", "stops reading there"
        ),
    ),
    Topic(
        "X808",
        "Two lower stops",
        "`LoStop` is another name for `LowStop`.",
        message_with_severities("X808", "E/E", "LowStop is {low}, but LoStop is {lo}"),
    ),
    Topic(
        "X809",
        "Stops reversed",
        "Both stops are disabled, as in newer ODE.",
        message_with_severities("X809", "W/W", "LowStop {low} exceeds HiStop {high}; both are disabled"),
        message_with_severities(
            "X809.infinite", "W/W", "LowStop {low} and HiStop {high} allow no position; both are disabled"
        ),
    ),
    Topic(
        "X810",
        "Parameter out of range",
        "Exoskel ignores the parameter. ODE ignores `FMax` and `FudgeFactor` out of range, but uses any value of the "
        "others; so does the dialect `pyode`.",
        message_with_severities("X810", "E/W", "{name} is {value}, but must be {range}; it is ignored"),
        message_with_severities("X810.kept", "E/W", "{name} is {value}, but should be {range}"),
    ),
    Topic(
        "X811",
        "Suspension or stop without effect",
        "ODE applies suspension and stops only to the first axis of a hinge2; the second rotates freely.",
        message_with_severities(
            "X811", "W/W", "{name} has no effect here: only the first axis of a hinge2 has a suspension"
        ),
        message_with_severities(
            "X811.stop", "W/W", "{name} has no effect here: only the first axis of a hinge2 has stops"
        ),
    ),
    Topic(
        "X812",
        "Angle between axes",
        "The axes of a hinge2 must not be parallel; those of a universal joint should be perpendicular.",
        message_with_severities("X812", "E/E", "the axes of the hinge2 are parallel; the joint is ignored"),
        message_with_severities(
            "X812.universal", "W/W", "the axes of the universal joint are {angle} degrees apart, not 90"
        ),
    ),
    Topic(
        "X813",
        "Stop never reached",
        "ODE measures angles from -π to π.",
        message_with_severities("X813", "W/W", "the angle never reaches {name}, which is {value}"),
    ),
    Topic(
        "X901",
        "Dialect chosen",
        "The specification and PyODE interpret something in this file differently.",
        message_with_severities(
            "X901",
            "I/I",
            "read in dialect {dialect}: {reason}",
            "choose the dialect: --dialect spec or --dialect pyode (dialect=)",
        ),
    ),
    Topic(
        "X902",
        "Extension without a name",
        "The extension is preserved.",
        message_with_severities("X902", "E/W", "<ext> has no ename"),
    ),
    Topic(
        "X903",
        "Attributes of an extension",
        "`ename` is the only attribute of an extension.",
        message_with_severities("X903", "E/W", "attribute '{name}' is not allowed on <ext>"),
        message_with_severities("X903.conflict", "E/W", "ename is '{ename}', but name is '{name}'; ename is used"),
    ),
    Topic(
        "X904",
        "Duplicate extension name",
        "Unique names keep the extensions of several applications apart.",
        message_with_severities("X904", "W/-", "two extensions in one element are named '{name}'"),
    ),
    Topic(
        "X905",
        "PyBrain's comment",
        "PyBrain stores simulation settings in a comment after the root element. The comment is read as data "
        "and never evaluated.",
        message_with_severities("X905", "-/W", "cannot parse line {number} of the PyBrain comment: {text}"),
    ),
)
