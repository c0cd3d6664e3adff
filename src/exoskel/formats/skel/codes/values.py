"""Diagnostics SK020 to SK033: values, and the physics of a world."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, info, warning

TOPICS = (
    Topic(
        "SK020",
        "Required child missing",
        "The element requires this child.",
        (
            error("SK020", "<{parent}> has no <{element}>", "", "throws an exception without a line number"),
            warning("SK020.scale", "<mesh> has no <scale>; 1 1 1 is used", "", "throws an exception"),
        ),
    ),
    Topic(
        "SK021",
        "Empty value",
        "The element has no content; it counts as absent.",
        (error("SK021", "<{element}> is empty", "", "throws an exception, sometimes without naming the element"),),
    ),
    Topic(
        "SK022",
        "Not a number",
        "A number consists of decimal digits with an optional sign, point and exponent. An invalid value "
        "counts as absent.",
        (error("SK022", "'{token}' is not a number", "", "throws an exception that contains only 'stod'"),),
    ),
    Topic(
        "SK023",
        "Characters after a number",
        "The text starts with a number but has more characters. An invalid value counts as absent (reading "
        "`dart`: the leading number is used).",
        (
            error(
                "SK023",
                "'{token}' is not a number: unexpected characters after {leading}",
                "",
                "silently reads the leading digits",
            ),
            error(
                "SK023.count",
                "'{token}' is not a positive integer",
                "",
                "silently reads the leading digits",
            ),
        ),
    ),
    Topic(
        "SK024",
        "Wrong number of components",
        "A vector has a fixed length. A `transformation` with three numbers is read as a translation. With "
        "any other wrong count, the value counts as absent.",
        (
            error("SK024", "expected {expected} numbers, found {found}", "", "reads or writes memory out of bounds"),
            warning(
                "SK024.translation",
                "expected 6 numbers, found 3; they are read as a translation",
                "add the three angles",
                "does the same",
            ),
        ),
    ),
    Topic(
        "SK025",
        "Commas between numbers",
        "Numbers are separated by spaces. Commas are accepted if the count is right.",
        (
            warning(
                "SK025",
                "the numbers are separated by commas",
                "separate them with spaces",
                "silently reads wrong numbers",
            ),
        ),
    ),
    Topic(
        "SK026",
        "Number is not finite",
        "`nan` is never valid; infinities are valid only as limits. An invalid value counts as absent.",
        (
            error(
                "SK026",
                "'{token}' is not a finite number",
                "",
                "accepts it, replaces it or throws an exception, depending on the element",
            ),
            error("SK026.overflow", "'{token}' is too large", "", "throws an exception"),
        ),
    ),
    Topic(
        "SK027",
        "Not a boolean",
        "A boolean is `1`, `0`, `true` or `false`. `collidable` is different: DART reads a number there.",
        (
            error("SK027", "'{token}' is not a boolean", "use true or false", "reads it as false"),
            warning("SK027.word", "<collidable> is '{token}', not a number", "use 0 or 1", "throws an exception"),
            warning("SK027.number", "<collidable> is '{token}'; any number except 0 means true", "use 0 or 1"),
        ),
    ),
    Topic(
        "SK028",
        "Spaces or capitals in a keyword",
        "DART compares keywords exactly, including spaces and capitals. Here they are ignored (reading "
        "`dart`: as in DART).",
        (
            warning(
                "SK028.trimmed",
                "spaces around '{token}'",
                "remove them",
                "treats them as part of the value, and does not recognise it",
            ),
            warning("SK028.case", "'{token}' contains capitals", "use '{word}'", "does not recognise it"),
        ),
    ),
    Topic(
        "SK030",
        "Time step",
        "The time step must be positive.",
        (error("SK030", "the time step must be positive, but is {found}; 0.001 is used", "", "does the same"),),
    ),
    Topic(
        "SK031",
        "No gravity",
        "Without a `gravity` element, gravity is 0 0 -9.81, along -z, although y points up in most SKEL files.",
        (info("SK031", "no <gravity>; 0 0 -9.81 is used"),),
    ),
    Topic(
        "SK032",
        "Unknown collision detector",
        "The detectors are fcl, fcl_mesh, dart, bullet and ode. Any other is preserved and treated as fcl.",
        (warning("SK032", "unknown collision detector '{token}'", "{suggestion}", "uses fcl"),),
    ),
    Topic(
        "SK033",
        "Geometry not supported by the collision detector",
        "Not every collision detector of DART supports every geometry. When the simulation starts, DART "
        "replaces some with a small sphere and ignores others.",
        (
            warning(
                "SK033",
                "collision detector {detector} does not support {geometry}",
                "{advice}",
                "{consequence}",
            ),
        ),
    ),
)
