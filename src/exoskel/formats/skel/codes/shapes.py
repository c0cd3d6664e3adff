"""SK060 to SK069: what there is to say about shapes and meshes."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, info, warning

TOPICS = (
    Topic(
        "SK060",
        "No geometry",
        "A shape holds one `geometry` with one child. A shape without is left out.",
        (
            error("SK060.none", "the {parent} has no <geometry>", "", "crashes"),
            error("SK060.empty", "<geometry> is empty", "", "crashes, or leaves a shape without form"),
            error(
                "SK060.unknown",
                "<{element}> is no geometry of SKEL",
                "{suggestion}",
                "crashes, or leaves a shape without form",
            ),
            error(
                "SK060.soft",
                "a soft shape cannot be a {element}",
                "the choices are {allowed}",
                "leaves a soft body without points",
            ),
        ),
    ),
    Topic(
        "SK061",
        "Several geometries",
        "Of several geometries in one shape DART takes the first in a fixed order of its own.",
        (
            warning(
                "SK061",
                "{count} geometries in one shape; the {kind} is used",
                "make one shape of each",
                "does the same without a word",
            ),
        ),
    ),
    Topic(
        "SK062",
        "Dimension not positive",
        "A negative dimension is taken without its sign (reading `dart`: DART's own default, 1). A shape of no "
        "size is left out.",
        (
            warning("SK062.negative", "<{element}> is {found}; its magnitude is used", "", "uses 1 for it"),
            error("SK062.zero", "<{element}> is {found}", "", "uses 1 for it"),
            error("SK062.scale", "a mesh scale of 0 flattens the mesh", "", "accepts it without a word"),
        ),
    ),
    Topic(
        "SK063",
        "Mesh not usable",
        "The file cannot be found or read. The shape and its reference are kept; only what needs the triangles fails.",
        (
            warning("SK063.visual", "mesh '{uri}' {reason}", "{hint}", "logs it; then often crashes"),
            error("SK063.needed", "mesh '{uri}' {reason}, and {purpose}", "{hint}", "crashes"),
        ),
    ),
    Topic(
        "SK064",
        "Odd mesh reference",
        "The reference is spelled in a way DART does not resolve, or not in the same way.",
        (
            warning("SK064.blanks", "blanks around the file name", "remove them", "looks for a file with the blanks"),
            warning(
                "SK064.backslash", "a backslash in the file name", "write /", "looks for a file with the backslash"
            ),
            warning(
                "SK064.percent",
                "the file name is percent-encoded",
                "write the characters themselves",
                "looks for a file with the percent codes",
            ),
            warning("SK064.fragment", "# or ? in the file name", "rename the file", "cuts the name there"),
            info("SK064.absolute", "an absolute path is not portable", "write it relative to the document"),
            warning(
                "SK064.relative_file_uri",
                "file: without slashes; taken as relative to the document",
                "drop the file:",
                "takes it as relative to the working directory",
            ),
            error(
                "SK064.foreign_file_uri",
                "'{uri}' names a file on another machine",
                "a local file has three slashes: file:///",
                "does not find it",
            ),
            warning("SK064.scheme", "nobody here resolves '{uri}'", "{hint}", "does not find it"),
            warning(
                "SK064.no_base",
                "the document has no location that '{uri}' could be relative to",
                "pass base=… when loading text",
            ),
            error("SK064.outside", "'{uri}' leaves the directory of the document, which is forbidden here"),
        ),
    ),
    Topic(
        "SK065",
        "Plane offset",
        "A plane's place is given by `offset`; `point` is deprecated.",
        (
            warning(
                "SK065.none",
                "the plane has neither <offset> nor <point>; 0 is used",
                "",
                "does the same with a warning",
            ),
            warning("SK065.point", "<point> is deprecated", "write <offset>", "warns too"),
        ),
    ),
    Topic(
        "SK066",
        "Plane normal",
        "A normal has a direction.",
        (error("SK066", "the plane's normal is zero", "", "accepts it without a word"),),
    ),
    Topic(
        "SK067",
        "Colour",
        "A colour has 3 or 4 components from 0 to 1.",
        (
            warning("SK067.count", "a colour of {found} numbers is ignored; 3 or 4 belong there", "", "does the same"),
            warning("SK067.range", "colour component {token} is outside 0 to 1", "", "accepts it without a word"),
        ),
    ),
    Topic(
        "SK068",
        "Soft box fragments",
        "`frags` is the number of vertices along each edge of a soft box, at least 3.",
        (
            warning("SK068.missing", "the soft box has no <frags>; 3 3 3 is used", "", "throws an exception"),
            warning("SK068.low", "<frags> below 3 is raised to 3", "", "does the same"),
        ),
    ),
    Topic(
        "SK069",
        "length for height",
        "The old wiki once said `length`.",
        (warning("SK069", "<length> is an old name", "write <height>", "throws for want of a <height>"),),
    ),
)
