"""Diagnostics SK040 to SK069: bodies, mass properties, shapes and meshes."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, info, warning

TOPICS = (
    Topic(
        "SK040",
        "Body name",
        "Joints refer to bodies by name, so every body needs a unique name.",
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
    Topic(
        "SK041",
        "Skeleton or joint name",
        "A missing name is generated. A duplicate name gets a number: (1), (2), …",
        warning("SK041.missing", "the {element} has no name; it is named '{name}'", "add a name"),
        warning(
            "SK041.repeated",
            "duplicate {element} name '{name}'; it is renamed to '{renamed}'",
            "",
            "silently does the same",
        ),
    ),
    Topic(
        "SK042",
        "Body named world",
        "`world` in a joint's `parent` means the world, unless a body has that name.",
        warning(
            "SK042", "a body named 'world' hides the world from joints", "rename the body", "silently does the same"
        ),
    ),
    Topic(
        "SK043",
        "immobile",
        "`immobile` is the opposite of `mobile` in DART's old wiki. No release of DART has ever read it.",
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
    Topic(
        "SK044",
        "Empty world or skeleton",
        "An empty world or skeleton is valid, but may be a mistake.",
        info("SK044.world", "the world has no skeletons"),
        info("SK044.skeleton", "the skeleton has no bodies"),
    ),
    Topic(
        "SK050",
        "Mass",
        "An `inertia` element requires a `mass`. If it is missing or negative, 1 kg is used (reading `dart`: a "
        "negative mass is used as given).",
        warning("SK050.missing", "<inertia> has no <mass>; 1 kg is used", "", "throws an exception"),
        warning("SK050.zero", "the mass is 0", "", "accepts it with a warning"),
        error("SK050.negative", "the mass is negative: {found}", "", "accepts it with a warning"),
        error("SK050.soft", "the mass of the soft skin is negative: {found}; 0 is used"),
    ),
    Topic(
        "SK051",
        "Incomplete moment of inertia",
        "`moment_of_inertia` has six entries. In DART's old wiki, a missing entry on the diagonal is 1, and any other "
        "is 0; DART requires all six.",
        warning("SK051.off_diagonal", "<moment_of_inertia> has no <{element}>; 0 is used", "", "throws an exception"),
        warning("SK051.diagonal", "<moment_of_inertia> has no <{element}>; 1 is used", "", "throws an exception"),
        error(
            "SK051.refused", "<moment_of_inertia> has no <{element}>; the moment is ignored", "", "throws an exception"
        ),
    ),
    Topic(
        "SK052",
        "Unphysical moment of inertia",
        "No mass distribution has this moment: the principal moments must be positive, and none may exceed "
        "the sum of the other two. The moment is used as given.",
        error(
            "SK052.indefinite", "the principal moments are not all positive: {eigenvalues}", "", "silently accepts it"
        ),
        warning("SK052.singular", "one of the principal moments is zero: {eigenvalues}", "", "silently accepts it"),
        warning(
            "SK052.triangle",
            "the largest principal moment exceeds the sum of the others: {eigenvalues}",
            "",
            "silently accepts it",
        ),
    ),
    Topic(
        "SK053",
        "inertia/transformation",
        "DART's old wiki shows a `transformation` in `inertia`. Its translation is the centre of mass, and its "
        "rotation is applied to the moment. `offset` takes precedence.",
        warning("SK053", "<transformation> in <inertia> is obsolete", "use <offset>", "ignores it"),
        warning(
            "SK053.both",
            "<offset> takes precedence over <transformation> in <inertia>",
            "remove <transformation>",
            "ignores <transformation>",
        ),
    ),
    Topic(
        "SK054",
        "Moment derived from shapes",
        "Without a `moment_of_inertia`, the moment is derived from all shapes, including visual ones, about "
        "the centre of mass given by `offset`. DART up to 6.19 used only the first shape.",
        info("SK054.centre", "the centre of mass is {distance} m from the centre of the shapes"),
        info("SK054.rule", "DART up to 6.19 derives a moment that differs by {percent} %", "add <moment_of_inertia>"),
    ),
    Topic(
        "SK055",
        "Moment cannot be derived",
        "Some shapes, and bodies without shapes, give no usable moment of inertia.",
        warning(
            "SK055.no_shape",
            "the body has neither a moment of inertia nor shapes to derive it from; the identity is used",
            "add <moment_of_inertia>",
            "silently does the same",
        ),
        warning(
            "SK055.plane",
            "a plane has no moment of inertia; it adds nothing to the derived moment",
            "add <moment_of_inertia>",
            "does the same",
        ),
        warning(
            "SK055.pyramid",
            "by DART's rule, the moment of inertia of a pyramid is the identity, whatever its mass",
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
    Topic(
        "SK060",
        "No geometry",
        "A shape has one `geometry` with one child. A shape without geometry is ignored.",
        error("SK060.none", "<{parent}> has no <geometry>; it is ignored", "", "crashes"),
        error(
            "SK060.empty",
            "<geometry> is empty; the shape is ignored",
            "",
            "crashes, or creates a shape without geometry",
        ),
        error(
            "SK060.unknown",
            "<{element}> is not a SKEL geometry; the shape is ignored",
            "{suggestion}",
            "crashes, or creates a shape without geometry",
        ),
        error(
            "SK060.soft",
            "<{element}> is not supported as a soft shape",
            "use one of: {allowed}",
            "creates a soft body without points",
        ),
    ),
    Topic(
        "SK061",
        "Several geometries",
        "If a shape has several geometries, DART uses the first in its own fixed order.",
        warning(
            "SK061",
            "{count} geometries in one shape; the {kind} is used",
            "use one shape for each geometry",
            "silently does the same",
        ),
    ),
    Topic(
        "SK062",
        "Dimension not positive",
        "The magnitude of a negative dimension is used (reading `dart`: DART's default, 1). A shape with a "
        "zero dimension is ignored.",
        warning(
            "SK062.negative",
            "<{element}> is {found}, but must be positive; its magnitude is used",
            "",
            "uses 1 instead",
        ),
        error("SK062.zero", "<{element}> is {found}, but must be positive", "", "uses 1 instead"),
        error("SK062.scale", "a mesh scale of 0 flattens the mesh", "", "silently accepts it"),
    ),
    Topic(
        "SK063",
        "Mesh not usable",
        "The file cannot be found or read. The shape and its reference are preserved; only operations that "
        "need the triangles fail.",
        warning("SK063.visual", "mesh '{uri}' {reason}", "{hint}", "logs an error, then often crashes"),
        error("SK063.needed", "mesh '{uri}' {reason}, and {purpose}", "{hint}", "crashes"),
    ),
    Topic(
        "SK064",
        "Unusual mesh reference",
        "DART does not resolve this kind of reference, or resolves it differently.",
        warning(
            "SK064.spaces",
            "the file name has spaces around it",
            "remove them",
            "looks for a file with the spaces in its name",
        ),
        warning(
            "SK064.backslash",
            "the file name contains a backslash",
            "use /",
            "looks for a file with the backslash in its name",
        ),
        warning(
            "SK064.percent",
            "the file name is percent-encoded",
            "use the characters themselves",
            "looks for a file with the percent codes in its name",
        ),
        warning("SK064.fragment", "the file name contains # or ?", "rename the file", "truncates the name there"),
        info("SK064.absolute", "an absolute path is not portable", "use a path relative to the document"),
        warning(
            "SK064.relative_file_uri",
            "the path after file: is relative; it is resolved relative to the document",
            "remove file:",
            "resolves it relative to the working directory",
        ),
        error(
            "SK064.foreign_file_uri",
            "'{uri}' refers to a file on another machine",
            "use three slashes for a local file: file:///…",
            "does not find it",
        ),
        warning("SK064.scheme", "'{uri}' cannot be resolved", "{hint}", "does not find it"),
        warning(
            "SK064.no_base", "'{uri}' is relative, but the document has no location", "pass base=… when loading text"
        ),
        error("SK064.outside", "'{uri}' is outside the document's directory, which is not allowed here"),
    ),
    Topic(
        "SK065",
        "Plane offset",
        "`offset` gives the position of a plane; `point` is deprecated.",
        warning(
            "SK065.none", "the plane has neither <offset> nor <point>; 0 is used", "", "does the same with a warning"
        ),
        warning("SK065.point", "<point> is deprecated", "use <offset>", "also warns"),
    ),
    Topic(
        "SK066",
        "Plane normal",
        "A normal must not be zero.",
        error("SK066", "the plane's normal is zero", "", "silently accepts it"),
    ),
    Topic(
        "SK067",
        "Colour",
        "A colour has 3 or 4 components between 0 and 1.",
        warning("SK067.count", "a colour has 3 or 4 numbers, not {found}; it is ignored", "", "does the same"),
        warning("SK067.range", "colour component {token} is not between 0 and 1", "", "silently accepts it"),
    ),
    Topic(
        "SK068",
        "Soft box fragments",
        "`frags` is the number of vertices along each edge of a soft box, at least 3.",
        warning("SK068.missing", "the soft box has no <frags>; 3 3 3 is used", "", "throws an exception"),
        warning("SK068.low", "<frags> is less than 3; 3 is used", "", "does the same"),
    ),
    Topic(
        "SK069",
        "length instead of height",
        "DART's old wiki uses `length`.",
        warning("SK069", "<length> is obsolete", "use <height>", "throws an exception because <height> is missing"),
    ),
)
