"""Diagnostics SK070 to SK094: joints."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, info, warning

TOPICS = (
    Topic(
        "SK070",
        "Joint type",
        "The types are weld, revolute, prismatic, screw, universal, ball, euler, translational, "
        "translational2d, planar and free. A joint of unknown type is ignored.",
        error("SK070.missing", "the joint has no type; it is ignored", "", "drops the joint, then often crashes"),
        error(
            "SK070.unknown",
            "unknown joint type '{token}'; the joint is ignored",
            "{suggestion}",
            "drops the joint, then often crashes",
        ),
    ),
    Topic(
        "SK071",
        "Unknown body",
        "A joint refers to bodies of its own skeleton. A joint that refers to an unknown body is ignored.",
        error(
            "SK071.parent",
            "unknown parent body '{name}'; the joint is ignored",
            "{suggestion}",
            "drops the joint, then often crashes",
        ),
        error(
            "SK071.child",
            "unknown child body '{name}'; the joint is ignored",
            "{suggestion}",
            "drops the joint, then often crashes",
        ),
    ),
    Topic(
        "SK072",
        "Two parent joints",
        "A body has only one parent joint.",
        error(
            "SK072",
            "body '{body}' already has the parent joint '{other}'; this joint is ignored",
            "",
            "drops the second joint",
        ),
    ),
    Topic(
        "SK073",
        "Cycle",
        "Joints form trees rooted in the world. The last joint of a cycle is ignored.",
        error("SK073.cycle", "the joints of {bodies} form a cycle; this joint is ignored", "", "loops forever"),
        error("SK073.self", "the joint connects body '{body}' to itself; it is ignored", "", "loops forever"),
    ),
    Topic(
        "SK074",
        "Body without a joint",
        "A body without a joint floats freely.",
        warning("SK074", "body '{body}' has no joint; a free joint '{joint}' is added", "add a joint", "{consequence}"),
        warning(
            "SK074.ignored",
            "body '{body}' has no joint, because joint '{ignored}' is ignored; a free joint '{joint}' is added",
            "correct joint '{ignored}'",
            "{consequence}",
        ),
    ),
    Topic(
        "SK075",
        "Missing parent",
        "A joint without a `parent` is attached to the world.",
        warning(
            "SK075",
            "the joint has no <parent>; the world is used",
            "add <parent>world</parent>",
            "does the same and logs an error",
        ),
    ),
    Topic(
        "SK076",
        "Actuator",
        "The actuators are force, passive, servo, acceleration, velocity and locked.",
        error(
            "SK076.unknown",
            "unknown actuator '{token}'; force is used",
            "{suggestion}",
            "does the same and logs an error",
        ),
        warning(
            "SK076.torque", "actuator '{token}' is obsolete", "use '{meant}'", "does not recognise it and uses force"
        ),
    ),
    Topic(
        "SK077",
        "Joint axis",
        "Revolute, prismatic, screw and universal joints rotate about or slide along an axis of unit length. In DART's "
        "old wiki, an `axis` without `xyz` is 1 0 0; DART never implemented this.",
        error(
            "SK077.missing",
            "the {kind} joint has no <{element}>; {fallback} is used",
            "",
            "uses {fallback} and logs an error",
        ),
        error(
            "SK077.no_xyz",
            "<{element}> of the {kind} joint has no <xyz>; {fallback} is used",
            "",
            "throws an exception",
        ),
        warning(
            "SK077.default",
            "<axis> of the {kind} joint has no <xyz>; 1 0 0 is used",
            "add <xyz>",
            "throws an exception",
        ),
        error("SK077.zero", "the axis is zero; {fallback} is used", "", "keeps it: the joint cannot move"),
        warning("SK077.length", "the axis has length {found}; it is normalised", "use a unit vector", "{consequence}"),
    ),
    Topic(
        "SK078",
        "Axis order",
        "An euler joint rotates about x, y, z or about z, y, x.",
        warning("SK078.missing", "the euler joint has no <axis_order>; xyz is used", "", "throws an exception"),
        error(
            "SK078.unknown",
            "unknown axis order '{token}'; xyz is used",
            "{suggestion}",
            "does the same and logs an error",
        ),
    ),
    Topic(
        "SK079",
        "Plane of a planar joint",
        "The planes are xy, yz, zx and arbitrary. Two axes span an arbitrary plane.",
        warning("SK079.missing", "the {kind} joint has no <plane>; xy is used", "", "does the same with a warning"),
        warning("SK079.no_type", "<plane> has no type; xy is used", "", "does the same and logs an error"),
        error(
            "SK079.unknown", "unknown plane '{token}'; xy is used", "{suggestion}", "does the same and logs an error"
        ),
        error(
            "SK079.axis",
            "an arbitrary plane needs <{element}> with <xyz>; {fallback} is used",
            "",
            "crashes or throws an exception",
        ),
        error(
            "SK079.parallel",
            "the two axes of the plane are parallel; the joint is ignored",
            "",
            "accepts it: the joint moves along one line",
        ),
    ),
    Topic(
        "SK080",
        "Number of initial values",
        "`init_pos` and `init_vel` have one number per degree of freedom.",
        error(
            "SK080",
            "wrong number of values in <{element}>: expected {expected} for the {kind} joint, found {found}",
            "",
            "reads memory out of bounds, or uses the first number",
        ),
    ),
    Topic(
        "SK081",
        "Initial position outside the limits",
        "The value is used as given.",
        warning(
            "SK081",
            "the initial position {found} of '{dof}' is outside its limits, {lower} to {upper}",
            "",
            "silently accepts it",
        ),
    ),
    Topic(
        "SK082",
        "Limits reversed",
        "The lower limit exceeds the upper limit; both are ignored (reading `dart`: preserved).",
        error(
            "SK082",
            "the lower limit {lower} exceeds the upper limit {upper}; both are ignored",
            "",
            "silently stores them",
        ),
    ),
    Topic(
        "SK083",
        "Negative damping, friction or stiffness",
        "These values must not be negative; 0 is used.",
        error(
            "SK083", "{element} is {found}, but must not be negative; 0 is used", "", "does the same and logs an error"
        ),
    ),
    Topic(
        "SK084",
        "Index of a degree of freedom",
        "`local_index` starts at 0 and is optional only if the joint has one degree of freedom. A `dof` with "
        "an invalid index is ignored.",
        error(
            "SK084.missing",
            "<dof> has no local_index, but the {kind} joint has {count} degrees of freedom",
            "add a local_index from 0 to {last}",
            "ignores it and logs an error",
        ),
        error(
            "SK084.range",
            "local_index is {found}, but must be from 0 to {last}",
            "",
            "reads the leading number; if it is not an index, ignores the element or writes memory out of bounds",
        ),
    ),
    Topic(
        "SK085",
        "dof and axis disagree",
        "A value in `dof` takes precedence over the same value in `axis`, `init_pos` or `init_vel`.",
        warning(
            "SK085",
            "{element} of '{dof}' is {value} here, but {other} in <{place}>; this value is used",
            "",
            "silently does the same",
        ),
    ),
    Topic(
        "SK086",
        "Duplicate dof",
        "A later `dof` takes precedence over an earlier one for the same degree of freedom.",
        warning(
            "SK086",
            "duplicate <dof> for degree of freedom {index}; the values of the later one are used",
            "",
            "silently does the same",
        ),
    ),
    Topic(
        "SK087",
        "Obsolete position of damping",
        "`damping` moved from `axis` to `axis/dynamics`, which takes precedence.",
        warning(
            "SK087", "<damping> directly in an axis is obsolete", "move it into <dynamics>", "reads it with a warning"
        ),
    ),
    Topic(
        "SK088",
        "Unknown names in dynamics and limit",
        "Misspellings from DART's old wiki are accepted. `stiffness` and `spring_damping` are not applied: they "
        "occur in models that were tuned without them.",
        warning("SK088.sprint", "<{element}> is a misspelling", "use 'spring_…'", "ignores it"),
        warning(
            "SK088.stiffness",
            "<stiffness> is not part of SKEL and is not applied",
            "did you mean 'spring_stiffness'?",
            "ignores it",
        ),
        warning(
            "SK088.spring_damping",
            "<spring_damping> is not part of SKEL and is not applied",
            "did you mean 'damping'?",
            "ignores it",
        ),
        warning("SK088.effort", "<effort> in <limit> is read as a force limit", "move it into <dof>", "ignores it"),
        warning(
            "SK088.velocity", "<velocity> in <limit> is read as a velocity limit", "move it into <dof>", "ignores it"
        ),
    ),
    Topic(
        "SK089",
        "Limits not enforced by DART",
        "DART stores position and velocity limits, and enforces them only if a program enables this for a "
        "joint. The reading `written` enforces the limits; the reading `dart` only stores them. A servo is an "
        "exception: in both readings, and in DART, it stops at the limits.",
        info("SK089", "joint '{joint}' has {kinds} limits", "", "does not enforce them by default"),
        info("SK089.servo", "joint '{joint}' has {kinds} limits", "", "the servo stops at them"),
    ),
    Topic(
        "SK090",
        "Joint not supported by DART",
        "DART parses screw and translational2d joints, but never builds them.",
        warning("SK090", "DART does not support {kind} joints", "", "stops loading at the joint and often crashes"),
    ),
    Topic(
        "SK091",
        "Velocity of a free joint",
        "Since DART 6.17, the velocity of a free joint is in the axes of its parent; before that, in the axes"
        " of its child.",
        info(
            "SK091",
            "DART up to 6.16 interprets the initial velocity differently",
            "use --free-velocity-axes child (free_velocity_axes=) to read it like them",
        ),
    ),
    Topic(
        "SK092",
        "Spring on a ball or free joint",
        "The spring acts on each coordinate of the rotation vector separately, not along the shortest rotation.",
        info("SK092", "a spring on a {kind} joint acts on each coordinate of its rotation vector separately"),
    ),
    Topic(
        "SK093",
        "Soft body used as a rigid body",
        "The rigid core is used, and the soft skin is ignored.",
        warning("SK093", "the soft skin of body '{body}' is ignored"),
    ),
    Topic(
        "SK094",
        "Euler joint at its singularity",
        "With the second angle at ±π/2, the first and third rotation axes coincide.",
        warning(
            "SK094",
            "the initial state of the euler joint is singular: its second angle is {found}",
            "",
            "silently accepts it",
        ),
    ),
)
