"""SK070 to SK094: what there is to say about joints."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, info, warning

TOPICS = (
    Topic(
        "SK070",
        "Joint type",
        "The types are weld, revolute, prismatic, screw, universal, ball, euler, translational, translational2d, "
        "planar and free. A joint of no known type is left out.",
        (
            error("SK070.missing", "the joint has no type", "", "drops the joint, then often crashes"),
            error(
                "SK070.unknown", "unknown joint type '{token}'", "{suggestion}", "drops the joint, then often crashes"
            ),
        ),
    ),
    Topic(
        "SK071",
        "Unknown body",
        "A joint names bodies of its own skeleton. One that names another is left out.",
        (
            error(
                "SK071.parent",
                "there is no body '{name}' for the parent",
                "{suggestion}",
                "drops the joint, then often crashes",
            ),
            error(
                "SK071.child",
                "there is no body '{name}' for the child",
                "{suggestion}",
                "drops the joint, then often crashes",
            ),
        ),
    ),
    Topic(
        "SK072",
        "Two parents",
        "A body hangs on one joint.",
        (
            error(
                "SK072",
                "body '{body}' already hangs on joint '{other}'; this one is left out",
                "",
                "drops the second joint",
            ),
        ),
    ),
    Topic(
        "SK073",
        "Cycle",
        "Joints form trees that grow from the world. The last joint of a cycle is left out.",
        (
            error(
                "SK073.cycle",
                "the bodies {bodies} hang on each other in a circle; this joint is left out",
                "",
                "loops for ever",
            ),
            error("SK073.self", "body '{body}' hangs on itself; the joint is left out", "", "loops for ever"),
        ),
    ),
    Topic(
        "SK074",
        "Body without a joint",
        "A body that hangs on no joint floats freely.",
        (
            warning(
                "SK074",
                "body '{body}' hangs on no joint; it gets a free one called '{joint}'",
                "write the joint",
                "{consequence}",
            ),
        ),
    ),
    Topic(
        "SK075",
        "Parent missing",
        "A joint without a `parent` hangs on the world.",
        (
            warning(
                "SK075",
                "the joint has no <parent>; the world is used",
                "write <parent>world</parent>",
                "does the same, and logs an error",
            ),
        ),
    ),
    Topic(
        "SK076",
        "Actuator",
        "The actuators are force, passive, servo, acceleration, velocity and locked.",
        (
            error(
                "SK076.unknown",
                "unknown actuator '{token}'; force is used",
                "{suggestion}",
                "does the same, and logs an error",
            ),
            warning(
                "SK076.torque",
                "actuator '{token}' is an old name",
                "write '{meant}'",
                "does not know it, and uses force",
            ),
        ),
    ),
    Topic(
        "SK077",
        "Joint axis",
        "Revolute, prismatic, screw and universal joints turn or slide along an axis of length one.",
        (
            error(
                "SK077.missing",
                "a {kind} joint needs <{element}>; {fallback} is used",
                "",
                "uses {fallback}, and logs an error",
            ),
            error(
                "SK077.no_xyz",
                "<{element}> of a {kind} joint has no <xyz>; {fallback} is used",
                "",
                "throws an exception",
            ),
            error("SK077.zero", "the axis is zero; {fallback} is used", "", "keeps it: the joint cannot move"),
            warning(
                "SK077.length", "the axis has length {found}; it is normalised", "write a unit vector", "{consequence}"
            ),
        ),
    ),
    Topic(
        "SK078",
        "Axis order",
        "An euler joint turns about x, y, z or about z, y, x.",
        (
            warning("SK078.missing", "the euler joint has no <axis_order>; xyz is used", "", "throws an exception"),
            error(
                "SK078.unknown",
                "unknown axis order '{token}'; xyz is used",
                "{suggestion}",
                "does the same, and logs an error",
            ),
        ),
    ),
    Topic(
        "SK079",
        "Plane of a planar joint",
        "The planes are xy, yz, zx, and arbitrary with two axes that span it.",
        (
            warning("SK079.missing", "the {kind} joint has no <plane>; xy is used", "", "does the same with a warning"),
            warning("SK079.no_type", "<plane> has no type; xy is used", "", "does the same, and logs an error"),
            error(
                "SK079.unknown",
                "unknown plane '{token}'; xy is used",
                "{suggestion}",
                "does the same, and logs an error",
            ),
            error(
                "SK079.axis",
                "an arbitrary plane needs <{element}> with <xyz>; {fallback} is used",
                "",
                "crashes, or throws an exception",
            ),
            error(
                "SK079.parallel",
                "the two axes of the plane are parallel; the joint is left out",
                "",
                "accepts it: the joint moves along one line",
            ),
        ),
    ),
    Topic(
        "SK080",
        "Number of initial values",
        "`init_pos` and `init_vel` have one number for each degree of freedom.",
        (
            error(
                "SK080",
                "<{element}> has {found} numbers; a {kind} joint has {expected} degrees of freedom",
                "",
                "reads memory it should not, or takes the first",
            ),
        ),
    ),
    Topic(
        "SK081",
        "Initial position outside the limits",
        "The value is kept.",
        (
            warning(
                "SK081",
                "initial position {found} of '{dof}' is outside its limits {lower} to {upper}",
                "",
                "accepts it without a word",
            ),
        ),
    ),
    Topic(
        "SK082",
        "Limits the wrong way round",
        "The lower limit exceeds the upper one; both are dropped (reading `dart`: kept).",
        (
            error(
                "SK082",
                "lower limit {lower} exceeds upper limit {upper}; there is no limit",
                "",
                "stores them without a word",
            ),
        ),
    ),
    Topic(
        "SK083",
        "Negative damping, friction or stiffness",
        "These are not negative; 0 is used.",
        (error("SK083", "{element} is {found}; 0 is used", "", "does the same, and logs an error"),),
    ),
    Topic(
        "SK084",
        "Index of a degree of freedom",
        "`local_index` counts from 0 and may be left out only when the joint has one degree of freedom. A `dof` "
        "with a wrong index is ignored.",
        (
            error(
                "SK084.missing",
                "a {kind} joint has {count} degrees of freedom; this <dof> has no local_index",
                'write local_index="0" to "{last}"',
                "ignores it, and logs an error",
            ),
            error(
                "SK084.range",
                "local_index {found} is not one of 0 to {last}",
                "",
                "takes the number in front; ignores it, or writes to a wrong place in memory, if that is no index",
            ),
        ),
    ),
    Topic(
        "SK085",
        "dof and axis disagree",
        "A value in `dof` wins over the same value in `axis`, `init_pos` or `init_vel`.",
        (
            warning(
                "SK085",
                "{element} of '{dof}': {value} here, {other} in <{place}>; this one is used",
                "",
                "does the same without a word",
            ),
        ),
    ),
    Topic(
        "SK086",
        "dof twice",
        "A later `dof` wins over an earlier one for the same degree of freedom.",
        (
            warning(
                "SK086",
                "a second <dof> for degree of freedom {index}; what it states wins",
                "",
                "does the same without a word",
            ),
        ),
    ),
    Topic(
        "SK087",
        "Old place of damping",
        "`damping` moved from `axis` into `axis/dynamics`, which wins.",
        (
            warning(
                "SK087",
                "<damping> directly in an axis is the old place",
                "move it into <dynamics>",
                "reads it with a warning",
            ),
        ),
    ),
    Topic(
        "SK088",
        "Names that are not SKEL, in dynamics and limit",
        "Misspellings of the old wiki are understood. `stiffness` and `spring_damping`, which occur in models "
        "tuned without them, are not applied.",
        (
            warning("SK088.sprint", "<{element}> is a misspelling", "write 'spring_…'", "ignores it"),
            warning(
                "SK088.stiffness",
                "<stiffness> is not SKEL, and not applied",
                "did you mean 'spring_stiffness'?",
                "ignores it",
            ),
            warning(
                "SK088.spring_damping",
                "<spring_damping> is not SKEL, and not applied",
                "did you mean 'damping'?",
                "ignores it",
            ),
            warning("SK088.effort", "<effort> in <limit> is taken as a force limit", "write it in <dof>", "ignores it"),
            warning(
                "SK088.velocity",
                "<velocity> in <limit> is taken as a velocity limit",
                "write it in <dof>",
                "ignores it",
            ),
        ),
    ),
    Topic(
        "SK089",
        "Limits are not enforced by DART",
        "DART stores limits of position and velocity, and enforces them only when a program switches them on for a "
        "joint. In reading `written` limits are limits, in reading `dart` they are stored and have no effect.",
        (info("SK089", "'{joint}' has {kinds} limits", "", "does not enforce them unless told to"),),
    ),
    Topic(
        "SK090",
        "Joint DART cannot build",
        "DART parses screw and translational2d joints but never builds them.",
        (warning("SK090", "DART cannot build a {kind} joint", "", "stops loading there, and often crashes"),),
    ),
    Topic(
        "SK091",
        "Velocity of a free joint",
        "Since DART 6.17 a free joint's velocity is in the axes of its parent, before in those of its child.",
        (
            info(
                "SK091",
                "the initial velocity means something else in DART up to 6.16",
                "load(..., free_velocity_axes='child') reads it so",
            ),
        ),
    ),
    Topic(
        "SK092",
        "Spring on a ball or free joint",
        "The spring acts on each coordinate of the rotation vector by itself, not along the shortest turn.",
        (info("SK092", "a spring on a {kind} joint acts on its raw coordinates"),),
    ),
    Topic(
        "SK093",
        "Soft body in a rigid-only operation",
        "The rigid core is used and the skin left out.",
        (warning("SK093", "body '{body}' has a soft skin, which is left out"),),
    ),
    Topic(
        "SK094",
        "Euler joint at its singularity",
        "With the second angle at ±π/2 the first and the third turn about the same axis.",
        (
            warning(
                "SK094",
                "the euler joint starts at its singularity: second angle {found}",
                "",
                "accepts it without a word",
            ),
        ),
    ),
)
