"""Diagnostics SK040 to SK055: bodies and mass properties."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, info, warning

TOPICS = (
    Topic(
        "SK040",
        "Body name",
        "Joints refer to bodies by name, so every body needs a unique name.",
        (
            warning(
                "SK040.missing",
                "the body has no name; it is named '{name}'",
                "add a name",
                "leaves it unnamed: no joint can refer to it",
            ),
            error(
                "SK040.repeated",
                "duplicate body name '{name}'; this body is ignored",
                "use a unique name",
                "drops the body, but adds its shapes to the first one",
            ),
        ),
    ),
    Topic(
        "SK041",
        "Skeleton or joint name",
        "A missing name is generated. A duplicate name gets a number: (1), (2), …",
        (
            warning("SK041.missing", "the {element} has no name; it is named '{name}'", "add a name"),
            warning(
                "SK041.repeated",
                "duplicate {element} name '{name}'; it is renamed to '{renamed}'",
                "",
                "silently does the same",
            ),
        ),
    ),
    Topic(
        "SK042",
        "Body named world",
        "`world` in a joint's `parent` means the world, unless a body has that name.",
        (
            warning(
                "SK042",
                "a body named 'world' hides the world from joints",
                "rename the body",
                "silently does the same",
            ),
        ),
    ),
    Topic(
        "SK043",
        "immobile",
        "`immobile` is the opposite of `mobile` in the old wiki. No release of DART has ever read it.",
        (
            warning(
                "SK043",
                "<immobile> is obsolete",
                "use <mobile> with the opposite value",
                "ignores it: the skeleton is mobile",
            ),
            warning(
                "SK043.contradiction",
                "<immobile> contradicts <mobile>; <mobile> is used",
                "remove <immobile>",
                "ignores <immobile>",
            ),
        ),
    ),
    Topic(
        "SK044",
        "Empty world or skeleton",
        "This is harmless, but may be a mistake.",
        (
            info("SK044.world", "the world has no skeletons"),
            info("SK044.skeleton", "the skeleton has no bodies"),
        ),
    ),
    Topic(
        "SK050",
        "Mass",
        "An `inertia` element requires a `mass`.",
        (
            warning("SK050.missing", "<inertia> has no <mass>; 1 kg is used", "", "throws an exception"),
            warning("SK050.zero", "the mass is 0", "", "accepts it with a warning"),
            error("SK050.negative", "the mass is negative: {found}", "", "accepts it with a warning"),
        ),
    ),
    Topic(
        "SK051",
        "Incomplete moment of inertia",
        "`moment_of_inertia` has six entries.",
        (
            warning(
                "SK051.off_diagonal", "<moment_of_inertia> has no <{element}>; 0 is used", "", "throws an exception"
            ),
            error("SK051.diagonal", "<moment_of_inertia> has no <{element}>; it is ignored", "", "throws an exception"),
        ),
    ),
    Topic(
        "SK052",
        "Impossible moment of inertia",
        "No mass distribution has this moment: the principal moments must be positive, and none may exceed "
        "the sum of the other two. The moment is used as given.",
        (
            error(
                "SK052.indefinite",
                "the principal moments are not all positive: {eigenvalues}",
                "",
                "silently accepts it",
            ),
            warning(
                "SK052.singular",
                "one of the principal moments is zero: {eigenvalues}",
                "",
                "silently accepts it",
            ),
            warning(
                "SK052.triangle",
                "the largest principal moment exceeds the sum of the others: {eigenvalues}",
                "",
                "silently accepts it",
            ),
        ),
    ),
    Topic(
        "SK053",
        "inertia/transformation",
        "The old wiki shows a `transformation` in `inertia`. Its translation is the centre of mass, and its "
        "rotation is applied to the moment. `offset` takes precedence.",
        (
            warning("SK053", "<transformation> in <inertia> is obsolete", "use <offset>", "ignores it"),
            warning(
                "SK053.both",
                "<offset> takes precedence over <transformation> in <inertia>",
                "remove <transformation>",
                "ignores <transformation>",
            ),
        ),
    ),
    Topic(
        "SK054",
        "Moment derived from shapes",
        "Without a `moment_of_inertia`, the moment is derived from all shapes, including visual ones, about "
        "the centre of mass given by `offset`. DART up to 6.19 used only the first shape.",
        (
            info("SK054.centre", "the centre of the shapes is {distance} m from the given centre of mass"),
            info(
                "SK054.rule",
                "DART up to 6.19 derives a moment that differs by {percent} %",
                "add <moment_of_inertia>",
            ),
        ),
    ),
    Topic(
        "SK055",
        "Moment cannot be derived",
        "A derived moment is only as good as the shapes.",
        (
            warning(
                "SK055.no_shape",
                "there is no moment and no shape to derive it from; the identity is used",
                "add <moment_of_inertia>",
                "silently does the same",
            ),
            warning(
                "SK055.plane",
                "a plane has no moment; it counts as massless in the derived moment",
                "add <moment_of_inertia>",
                "does the same",
            ),
            warning(
                "SK055.pyramid",
                "DART's rule gives a pyramid the identity moment, regardless of its mass",
                "add <moment_of_inertia>",
                "does the same",
            ),
            warning(
                "SK055.overflow",
                "the moment derived from the shapes overflows; the identity is used",
                "check for extremely large dimensions and masses",
                "does the same",
            ),
        ),
    ),
)
