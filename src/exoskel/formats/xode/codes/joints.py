"""X801 to X813: what there is to say about joints."""

from __future__ import annotations

from exoskel.diagnostics import Topic, message_with_severities

TOPICS = (
    Topic(
        "X801",
        "Number of axes",
        "Each joint type has its number of axes: an amotor 3, hinge2 and universal 2, hinge and slider 1, others none.",
        (
            message_with_severities("X801", "E/E", "a {kind} joint has {expected} axes, not {found}; it is left out"),
            message_with_severities("X801.amotor", "E/W", "an amotor has 3 axes, not {found}"),
        ),
    ),
    Topic(
        "X802",
        "Zero axis",
        "An axis has a direction.",
        (message_with_severities("X802", "E/E", "the axis is zero; the joint is left out"),),
    ),
    Topic(
        "X803",
        "Anchor without effect",
        "Sliders, fixed joints and angular motors have no anchor.",
        (
            message_with_severities("X803", "E/W", "an anchor has no effect on a {kind} joint"),
            message_with_severities("X803.amotor", "W/W", "an anchor has no effect on an amotor"),
        ),
    ),
    Topic(
        "X804",
        "Anchor missing",
        "The origin of the joint's frame is used.",
        (
            message_with_severities(
                "X804",
                "W/W",
                "the {kind} joint has no anchor; {point} is used",
                "",
                "pulls the two bodies' origins together",
            ),
        ),
    ),
    Topic(
        "X805",
        "Frame of the anchor",
        "By the specification an anchor is relative to what the joint stands in, unless it is absolute; PyODE takes "
        "all anchors as absolute.",
        (
            message_with_severities(
                "X805",
                "W/W",
                "the anchor is at {point} in dialect {dialect}, at {other} in the other",
                'write absolute="true" and root coordinates',
            ),
        ),
    ),
    Topic(
        "X806",
        "Frame of the axis",
        "Axes are in the root frame, whatever the joint stands in.",
        (
            message_with_severities(
                "X806", "W/W", "the joint stands in a turned frame; its axis is in the root frame all the same"
            ),
            message_with_severities(
                "X806.relative",
                "W/W",
                'absolute="false" on an axis: it is turned with the joint\'s frame',
                "",
                "refuses the attribute",
            ),
        ),
    ),
    Topic(
        "X807",
        "Unknown axis parameter",
        "It has no effect, and is kept.",
        (
            message_with_severities(
                "X807", "E/W", "unknown parameter '{name}' on <axis>", "{suggestion}", "stops reading there"
            ),
        ),
    ),
    Topic(
        "X808",
        "Two lower stops",
        "`LoStop` is another name of `LowStop`.",
        (message_with_severities("X808", "E/E", "LowStop is {low}, LoStop is {lo}"),),
    ),
    Topic(
        "X809",
        "Stops the wrong way round",
        "Both stops are off, as in newer ODE.",
        (
            message_with_severities("X809", "W/W", "LowStop {low} exceeds HiStop {high}; both are off"),
            message_with_severities(
                "X809.infinite", "W/W", "nothing lies between LowStop {low} and HiStop {high}; both are off"
            ),
        ),
    ),
    Topic(
        "X810",
        "Parameter out of range",
        "ODE ignores it, and so do we.",
        (message_with_severities("X810", "E/W", "{name} is {value}; it has to be {range}"),),
    ),
    Topic(
        "X811",
        "Suspension without effect",
        "ODE honours the suspension of a hinge2's first axis only.",
        (
            message_with_severities(
                "X811", "W/W", "{name} has no effect here: only the first axis of a hinge2 is sprung"
            ),
        ),
    ),
    Topic(
        "X812",
        "Angle between axes",
        "A hinge2's axes must not be parallel, a universal joint's are perpendicular.",
        (
            message_with_severities("X812", "E/E", "the axes of the hinge2 are parallel; it is left out"),
            message_with_severities(
                "X812.universal", "W/W", "the axes of the universal joint are {angle} degrees apart, not 90"
            ),
        ),
    ),
    Topic(
        "X813",
        "Stop never reached",
        "ODE measures angles from -π to π.",
        (message_with_severities("X813", "W/W", "{name} is {value}; an angle never gets there"),),
    ),
)
