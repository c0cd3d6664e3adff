"""SK040 to SK055: what there is to say about bodies and mass properties."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, info, warning

TOPICS = (
    Topic(
        "SK040",
        "Body name",
        "Joints find bodies by name, so every body needs one of its own.",
        (
            warning(
                "SK040.missing",
                "the body has no name; it is called '{name}'",
                "name it",
                "leaves it nameless: no joint can find it",
            ),
            error(
                "SK040.repeated",
                "a second body called '{name}'; it is left out",
                "give it a name of its own",
                "drops it but adds its shapes to the first one",
            ),
        ),
    ),
    Topic(
        "SK041",
        "Skeleton or joint name",
        "A missing name is made up, a repeated one is told apart by (1), (2), …",
        (
            warning("SK041.missing", "the {element} has no name; it is called '{name}'", "name it"),
            warning(
                "SK041.repeated",
                "a second {element} called '{name}'; it becomes '{renamed}'",
                "",
                "does the same without a word",
            ),
        ),
    ),
    Topic(
        "SK042",
        "Body called world",
        "`world` in a joint's `parent` means the world, unless a body has that name.",
        (
            warning(
                "SK042",
                "a body called 'world' hides the world from the joints",
                "call it something else",
                "does the same without a word",
            ),
        ),
    ),
    Topic(
        "SK043",
        "immobile",
        "`immobile` is the old wiki's opposite of `mobile`. DART never read it in any release.",
        (
            warning(
                "SK043",
                "<immobile> is an old name",
                "write <mobile> with the opposite value",
                "ignores it: the skeleton is mobile",
            ),
            warning(
                "SK043.contradiction",
                "<immobile> contradicts <mobile>, which is used",
                "remove <immobile>",
                "ignores <immobile>",
            ),
        ),
    ),
    Topic(
        "SK044",
        "Nothing inside",
        "Harmless, but perhaps not meant.",
        (
            info("SK044.world", "the world has no skeletons"),
            info("SK044.skeleton", "the skeleton has no bodies"),
        ),
    ),
    Topic(
        "SK050",
        "Mass",
        "A body that has an `inertia` element needs a `mass` in it.",
        (
            warning("SK050.missing", "<inertia> has no <mass>; 1 kg is used", "", "throws an exception"),
            warning("SK050.zero", "the mass is 0", "", "accepts it with a warning"),
            error("SK050.negative", "the mass is {found}, which is negative", "", "accepts it with a warning"),
        ),
    ),
    Topic(
        "SK051",
        "Incomplete moment of inertia",
        "`moment_of_inertia` has six entries.",
        (
            warning("SK051.off_diagonal", "the moment has no <{element}>; 0 is used", "", "throws an exception"),
            error("SK051.diagonal", "the moment has no <{element}>, so it cannot be used", "", "throws an exception"),
        ),
    ),
    Topic(
        "SK052",
        "Impossible moment of inertia",
        "No distribution of mass has such a moment: its principal values have to be positive, and none may "
        "exceed the sum of the two others. The moment is kept as given.",
        (
            error("SK052.indefinite", "principal moments {eigenvalues}: not positive", "", "accepts it without a word"),
            warning(
                "SK052.singular",
                "principal moments {eigenvalues}: one of them is zero",
                "",
                "accepts it without a word",
            ),
            warning(
                "SK052.triangle",
                "principal moments {eigenvalues}: the largest exceeds the sum of the others",
                "",
                "accepts it without a word",
            ),
        ),
    ),
    Topic(
        "SK053",
        "inertia/transformation",
        "The old wiki drew a `transformation` in `inertia`. Its translation is the centre of mass and its "
        "rotation turns the moment; `offset` wins over it.",
        (
            warning("SK053", "<transformation> in <inertia> is an old form", "write <offset>", "ignores it"),
            warning(
                "SK053.both",
                "<offset> wins over <transformation> in <inertia>",
                "remove <transformation>",
                "ignores <transformation>",
            ),
        ),
    ),
    Topic(
        "SK054",
        "Moment derived from shapes",
        "Without a `moment_of_inertia` the moment comes from all shapes, the visual ones too, about the stated "
        "centre of mass, which stays at `offset`. DART up to 6.19 used the first shape alone.",
        (
            info("SK054.centre", "the centre of the shapes is {distance} m away from the stated centre of mass"),
            info(
                "SK054.rule",
                "DART up to 6.19 derives another moment ({percent} % off)",
                "write <moment_of_inertia> to fix it",
            ),
        ),
    ),
    Topic(
        "SK055",
        "Moment cannot be derived",
        "A moment derived from shapes is only as good as the shapes.",
        (
            warning(
                "SK055.no_shape",
                "no moment and no shape to derive it from: the identity is used",
                "write <moment_of_inertia>",
                "does the same without a word",
            ),
            warning(
                "SK055.plane",
                "a plane has no moment of its own and takes part in the derived one as if weightless",
                "write <moment_of_inertia>",
                "does the same",
            ),
            warning(
                "SK055.pyramid",
                "DART's rule gives a pyramid the identity moment, whatever its mass",
                "write <moment_of_inertia>",
                "does the same",
            ),
            warning(
                "SK055.overflow",
                "the moment of the shapes is too large for a number: the identity is used",
                "look for a dimension or mass that is out of proportion",
                "does the same",
            ),
        ),
    ),
)
