"""MJ101 to MJ403: the diagnostics of the MJCF reader."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning

_DOCUMENT = (
    Topic(
        "MJ101",
        "Not readable",
        "The file is not well-formed XML, or exceeds a limit.",
        (
            error("MJ101", "{reason}"),
            error("MJ101.limit", "{reason}"),
            error("MJ101.kind", "not an MJCF file: {reason}", "{hint}"),
        ),
    ),
    Topic(
        "MJ102",
        "Not MJCF",
        "The root element of an MJCF document is <mujoco>.",
        (
            error("MJ102", "the root element is <{root}>, not <mujoco>"),
            error("MJ102.format", "the root element is <{root}>: this is {format}, not MJCF", "{hint}"),
        ),
    ),
    Topic(
        "MJ103",
        "Document type declaration",
        "A document type has no meaning in MJCF.  Entities are never expanded.",
        (
            error("MJ103.entity", "the document declares entities, which are refused for security"),
            info("MJ103.doctype", "a document type declaration has no effect"),
        ),
    ),
    Topic(
        "MJ104",
        "Included file",
        "Paths of included files are relative to the folder of the document.  Each file may be included once.",
        (
            error("MJ104", "cannot read the included file '{file}': {reason}"),
            error("MJ104.again", "the file '{file}' is included twice"),
        ),
    ),
    Topic(
        "MJ105",
        "Asset file",
        "A mesh or height field whose file is missing has no shape.  Masses that MuJoCo computes from it are missing.",
        (error("MJ105", "cannot read the {what} '{file}': {reason}"),),
    ),
    Topic(
        "MJ106",
        "MuJoCo rejects the document",
        "MuJoCo compiles the document.  A document that it does not compile cannot be read.",
        (
            error("MJ106", "MuJoCo cannot compile the document: {reason}"),
            warning("MJ106.warning", "MuJoCo warns: {reason}"),
        ),
    ),
    Topic(
        "MJ107",
        "Time step",
        "The time step is a positive number of seconds.",
        (error("MJ107", "the time step is {step}, but must be positive; {default} s is used"),),
    ),
    Topic(
        "MJ108",
        "Flags",
        "Features that a flag disables are not read.  Collision between a body and its parent is not supported.",
        (
            info("MJ108", "{name} is disabled: {meaning}"),
            warning(
                "MJ108.filterparent", "filterparent is disabled: collision between bodies and their parents is not read"
            ),
        ),
    ),
)

_UNSUPPORTED = (
    Topic(
        "MJ201",
        "Not part of the scene",
        "A scene contains bodies, joints, shapes and actuators.  Cameras, lights, sensors and textures are ignored.",
        (info("MJ201", "<{tag}>{name} is ignored: {what} not part of the scene"),),
    ),
    Topic(
        "MJ202",
        "Unsupported physics",
        "A scene does not support the element, so the motion will differ.",
        (warning("MJ202", "<{tag}>{name} is ignored: {what} are not supported"),),
    ),
    Topic(
        "MJ203",
        "Attribute not read",
        "Settings of the solver and of contacts belong to an engine, not to a scene.",
        (
            info("MJ203", "{word} of <{tag}> is not read ({count} times, first here)"),
            warning("MJ203.physics", "{word} of <{tag}> is not supported ({count} times, first here)"),
        ),
    ),
)

_PARTS = (
    Topic(
        "MJ301",
        "Several joints on a body",
        "If no single joint of a scene is equivalent to the joints of a body, they become a chain of joints with "
        "massless bodies between them.",
        (info("MJ301", "the {count} joints of body '{body}' become a chain: {kinds}"),),
    ),
    Topic(
        "MJ302",
        "Armature",
        "A joint of a scene has no inertia.",
        (warning("MJ302", "the armature {value} of joint '{joint}' is not supported; it is ignored"),),
    ),
    Topic(
        "MJ303",
        "Nonlinear force",
        "Damping and stiffness are linear in a scene.  Higher terms are ignored.",
        (warning("MJ303", "{what} of joint '{joint}' is not linear; only the linear part is read"),),
    ),
    Topic(
        "MJ304",
        "Limit of a ball joint",
        "MuJoCo limits the angle of a ball joint, a scene each component of its rotation vector.",
        (warning("MJ304", "the limit of ball joint '{joint}' is read as a limit of each component"),),
    ),
    Topic(
        "MJ305",
        "Gravity compensation",
        "Gravity is either on or off for a body of a scene.",
        (warning("MJ305", "gravity compensation {value} of body '{body}' is read as {read}"),),
    ),
    Topic(
        "MJ306",
        "Mocap body",
        "A program sets the pose of a mocap body.  It is read as a fixed body.",
        (warning("MJ306", "body '{body}' is a mocap body; it is read as fixed"),),
    ),
    Topic(
        "MJ307",
        "Shape",
        "Height fields are read as triangle meshes.  Signed distance fields are not supported.",
        (
            info("MJ307.hfield", "the height field is read as a triangle mesh, without its base"),
            warning("MJ307", "geoms of type {kind} are not supported; the geom is ignored"),
        ),
    ),
    Topic(
        "MJ308",
        "Collision filter",
        "A scene has self-collision per world, and groups of names that are exempt from collision.  Finer rules are "
        "ignored.",
        (
            warning("MJ308", "contype and conaffinity filter collisions in a way that a scene does not support"),
            warning(
                "MJ308.exclude", "excluding contact between bodies '{one}' and '{other}' is not supported by a scene"
            ),
        ),
    ),
)

_SURFACES = (
    Topic(
        "MJ309",
        "Kinds of friction",
        "A shape of a scene has only sliding friction, and every contact has it.",
        (warning("MJ309", "condim {condim} ({count} times, first here) is read as sliding friction only"),),
    ),
)

_ACTUATORS_AND_CONSTRAINTS = (
    Topic(
        "MJ401",
        "Actuator as spring and damper",
        "A scene has no position or velocity feedback.  The actuator is read with its control fixed at the initial "
        "value.",
        (
            warning("MJ401", "the actuator{actuator} is read as {what}, with its control fixed at {control}"),
            warning("MJ401.bounds", "the bounds of the actuator{actuator} are ignored: a spring and damper has none"),
        ),
    ),
    Topic(
        "MJ402",
        "Unsupported actuator",
        "Supported are actuators that apply a force or linear feedback to one coordinate of a joint.",
        (
            warning("MJ402", "the actuator{actuator} is ignored: {reason}"),
            warning("MJ402.boundless", "the motor{actuator} is ignored: a joint without force limits takes any force"),
        ),
    ),
    Topic(
        "MJ403",
        "Unsupported constraint",
        "Bodies can be constrained by welds, balls and hinges, and joints of one kind by linear relations.",
        (warning("MJ403", "the {kind} constraint{name} is ignored: {reason}"),),
    ),
)

CATALOGUE = Catalogue("MuJoCo", (*_DOCUMENT, *_UNSUPPORTED, *_PARTS, *_SURFACES, *_ACTUATORS_AND_CONSTRAINTS))
