"""SK020 to SK033: what there is to say about values, and the physics of a world."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, info, warning

TOPICS = (
    Topic(
        "SK020",
        "Required child missing",
        "The element cannot do without this child.",
        (
            error("SK020", "<{parent}> has no <{element}>", "", "throws an exception that names no line"),
            warning("SK020.scale", "<mesh> has no <scale>; 1 1 1 is used", "", "throws an exception"),
        ),
    ),
    Topic(
        "SK021",
        "Empty value",
        "The element is there but says nothing; it counts as absent.",
        (error("SK021", "<{element}> is empty", "", "throws an exception, sometimes without naming the element"),),
    ),
    Topic(
        "SK022",
        "Not a number",
        "A number is decimal digits with an optional sign, point and exponent. A wrong value counts as absent.",
        (error("SK022", "'{token}' is not a number", "", "throws an exception that says no more than 'stod'"),),
    ),
    Topic(
        "SK023",
        "Something behind a number",
        "The text begins with a number but goes on. A wrong value counts as absent (reading `dart`: the number "
        "in front is taken).",
        (
            error(
                "SK023",
                "'{token}' is not a number: there is something behind the digits",
                "",
                "reads the digits in front without a word",
            ),
            error(
                "SK023.count",
                "'{token}' is not a positive whole number",
                "",
                "reads the digits in front without a word",
            ),
        ),
    ),
    Topic(
        "SK024",
        "Wrong number of components",
        "A vector has a fixed length. A `transformation` of three numbers is taken as a translation; any other "
        "wrong count makes the value count as absent.",
        (
            error("SK024", "{found} numbers where {expected} belong", "", "reads or writes memory it should not"),
            warning(
                "SK024.translation",
                "three numbers where six belong: taken as a translation alone",
                "add the three angles",
                "does the same",
            ),
        ),
    ),
    Topic(
        "SK025",
        "Commas between numbers",
        "Numbers are separated by blanks. Commas are understood when the count is right with them.",
        (warning("SK025", "commas separate the numbers", "separate them by blanks", "reads nonsense without a word"),),
    ),
    Topic(
        "SK026",
        "Number is not finite",
        "`nan` is no value anywhere; infinities only make sense as limits. A wrong value counts as absent.",
        (
            error(
                "SK026", "'{token}' is not a finite number", "", "accepts, replaces or throws, depending on the element"
            ),
            error("SK026.overflow", "'{token}' is too large for a number", "", "throws an exception"),
        ),
    ),
    Topic(
        "SK027",
        "Not a boolean",
        "A boolean is `1`, `0`, `true` or `false`. `collidable` is different: DART reads a number there.",
        (
            error("SK027", "'{token}' is neither true nor false", "write true or false", "takes it as false"),
            warning("SK027.word", "<collidable> says '{token}'", "write 0 or 1", "throws an exception on the word"),
            warning("SK027.number", "<collidable> says '{token}'; any number but 0 is true", "write 0 or 1"),
        ),
    ),
    Topic(
        "SK028",
        "Blanks or capitals in a word",
        "DART compares words exactly, blanks and capitals included. Here they are forgiven (reading `dart`: as DART).",
        (
            warning(
                "SK028.trimmed",
                "blanks around '{token}'",
                "remove them",
                "takes them as part of the word, and does not know it",
            ),
            warning("SK028.case", "'{token}' is written with capitals", "write '{word}'", "does not know it"),
        ),
    ),
    Topic(
        "SK030",
        "Time step",
        "A time step is positive.",
        (error("SK030", "the time step is {found}; 0.001 is used", "", "does the same"),),
    ),
    Topic(
        "SK031",
        "No gravity",
        "Without a `gravity` element gravity is 0 0 -9.81, that is along -z, although most SKEL files have y upwards.",
        (info("SK031", "no <gravity>: 0 0 -9.81 is used"),),
    ),
    Topic(
        "SK032",
        "Unknown collision detector",
        "The words are fcl, fcl_mesh, dart, bullet and ode. Any other is kept, and treated as fcl.",
        (warning("SK032", "unknown collision detector '{token}'", "{suggestion}", "uses fcl"),),
    ),
    Topic(
        "SK033",
        "Geometry the detector cannot handle",
        "Not every collision detector of DART knows every geometry. Some are replaced by a small sphere, some "
        "are left out, when the simulation starts.",
        (
            warning(
                "SK033",
                "detector {detector} has no {geometry}",
                "{advice}",
                "{consequence}",
            ),
        ),
    ),
)
