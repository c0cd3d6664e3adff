"""MJ101 to MJ410: everything the MJCF reader can say, as data."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning

_DOCUMENT = (
    Topic(
        "MJ101",
        "Not readable",
        "The file is no well-formed XML, or over a limit.",
        (
            error("MJ101", "{reason}"),
            error("MJ101.limit", "{reason}"),
            error("MJ101.kind", "this is no MJCF file: {reason}", "{hint}"),
        ),
    ),
    Topic(
        "MJ102",
        "Not MJCF",
        "An MJCF document has the root <mujoco>.",
        (
            error("MJ102", "the root is <{root}>, not <mujoco>"),
            error("MJ102.format", "the root is <{root}>: this is {format}", "{hint}"),
        ),
    ),
    Topic(
        "MJ103",
        "Document type",
        "A document type has no meaning in MJCF; entities are refused.",
        (
            error("MJ103.entity", "the document declares entities, which are not expanded"),
            info("MJ103.doctype", "the document type is ignored"),
        ),
    ),
    Topic(
        "MJ104",
        "Included file",
        "Included files are looked for from the folder of the document, and each may be included once.",
        (
            error("MJ104", "the included file '{file}' cannot be used: {reason}"),
            error("MJ104.again", "the file '{file}' is included a second time"),
        ),
    ),
    Topic(
        "MJ105",
        "Asset file",
        "A mesh or height field that is not there has no shape; masses that MuJoCo would work out from it are missing.",
        (error("MJ105", "the {what} '{file}' cannot be used: {reason}"),),
    ),
    Topic(
        "MJ106",
        "MuJoCo refuses it",
        "The document is compiled by MuJoCo itself; what it does not compile has no meaning.",
        (
            error("MJ106", "MuJoCo does not compile it: {reason}"),
            warning("MJ106.warning", "MuJoCo warns: {reason}"),
        ),
    ),
    Topic(
        "MJ107",
        "Time step",
        "A time step is a positive number of seconds.",
        (error("MJ107", "the time step is {step}; {default} s is taken"),),
    ),
    Topic(
        "MJ108",
        "Flags",
        "What a flag switches off is read as if it were not there.  A scene cannot say that a body meets the one that "
        "holds it.",
        (
            info("MJ108", "{name} is switched off: {meaning}"),
            warning("MJ108.filterparent", "filterparent is switched off: that bodies meet their parents is not read"),
        ),
    ),
)

_LEFT_OUT = (
    Topic(
        "MJ201",
        "No part of a scene",
        "A scene holds bodies, joints, shapes and what drives them; views, lights, sensors and pictures are left out.",
        (info("MJ201", "<{tag}>{name} is left out: {what} no part of a scene"),),
    ),
    Topic(
        "MJ202",
        "Physics left out",
        "A scene has no words for it, so that the motion will differ.",
        (warning("MJ202", "<{tag}>{name} is left out: a scene has no {what}"),),
    ),
    Topic(
        "MJ203",
        "Attribute not read",
        "Settings of solver and contacts belong to an engine and not to a scene.",
        (
            info("MJ203", "{word} of <{tag}> is not read ({count} times, first here)"),
            warning("MJ203.physics", "{word} of <{tag}> is left out ({count} times, first here)"),
        ),
    ),
)

_PARTS = (
    Topic(
        "MJ301",
        "Several joints on a body",
        "Joints of one body that are no joint of ours together become a chain of bodies without mass.",
        (info("MJ301", "the {count} joints of body '{body}' become a chain: {kinds}"),),
    ),
    Topic(
        "MJ302",
        "Armature",
        "A scene has no inertia that belongs to a joint alone.",
        (warning("MJ302", "the armature {value} of joint '{joint}' is left out"),),
    ),
    Topic(
        "MJ303",
        "Not linear",
        "Damping and stiffness of a scene are linear; the higher terms are left out.",
        (warning("MJ303", "{what} of joint '{joint}' is not linear; only the linear part is read"),),
    ),
    Topic(
        "MJ304",
        "Limit of a ball",
        "MuJoCo limits the angle of a ball joint, a scene each component of its rotation vector.",
        (warning("MJ304", "the limit of ball joint '{joint}' is read as one of each component"),),
    ),
    Topic(
        "MJ305",
        "Gravity compensation",
        "A body of a scene feels gravity or does not.",
        (warning("MJ305", "gravity compensation {value} of body '{body}' is read as {read}"),),
    ),
    Topic(
        "MJ306",
        "Body moved from outside",
        "A mocap body is placed by the program; here it stands where it is.",
        (warning("MJ306", "body '{body}' is moved from outside; it is read as standing still"),),
    ),
    Topic(
        "MJ307",
        "Shape",
        "Height fields are read as triangle meshes; signed distance fields have no shape here.",
        (
            info("MJ307.hfield", "the height field is read as a triangle mesh, without its base"),
            warning("MJ307", "a geom of type {kind} is left out"),
        ),
    ),
    Topic(
        "MJ308",
        "Who meets whom",
        "A scene says whether bodies of one model meet, and which names pass each other; finer rules are left out.",
        (
            warning("MJ308", "contype and conaffinity ask for a finer choice of who meets whom than a scene holds"),
            warning(
                "MJ308.exclude", "bodies '{one}' and '{other}' are excluded from contact, which a scene cannot say"
            ),
        ),
    ),
)

_SURFACES = (
    Topic(
        "MJ309",
        "Kinds of friction",
        "A shape of a scene has one friction, that of sliding, and all contacts have it.",
        (
            warning(
                "MJ309", "condim {condim} ({count} times, first here): contacts are read with sliding friction alone"
            ),
        ),
    ),
)

_TIES = (
    Topic(
        "MJ401",
        "Actuator as spring and damper",
        "A scene has no position or velocity feedback: it is read with its control held as it is at the start.",
        (
            warning("MJ401", "the actuator{actuator} is read as {what}, its control held at {control}"),
            warning("MJ401.bounds", "the bounds of the actuator{actuator} are left out: a spring and damper has none"),
        ),
    ),
    Topic(
        "MJ402",
        "Actuator left out",
        "Only what pushes one coordinate of a joint, constantly or by linear feedback, has a place in a scene.",
        (
            warning("MJ402", "the actuator{actuator} is left out: {reason}"),
            warning("MJ402.boundless", "the motor{actuator} is left out: any force may push a joint without limits"),
        ),
    ),
    Topic(
        "MJ403",
        "Constraint left out",
        "Bodies may be tied by welds, balls and hinges, joints of one kind by linear relations.",
        (warning("MJ403", "the {kind} constraint{name} is left out: {reason}"),),
    ),
)

CATALOGUE = Catalogue("MuJoCo", (*_DOCUMENT, *_LEFT_OUT, *_PARTS, *_SURFACES, *_TIES))
