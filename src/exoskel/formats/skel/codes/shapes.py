"""Diagnostics SK060 to SK069: shapes and meshes."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, info, warning

TOPICS = (
    Topic(
        "SK060",
        "No geometry",
        "A shape has one `geometry` with one child. A shape without geometry is ignored.",
        (
            error("SK060.none", "the {parent} has no <geometry>", "", "crashes"),
            error("SK060.empty", "<geometry> is empty", "", "crashes, or creates a shape without geometry"),
            error(
                "SK060.unknown",
                "<{element}> is not a SKEL geometry",
                "{suggestion}",
                "crashes, or creates a shape without geometry",
            ),
            error(
                "SK060.soft",
                "a soft shape cannot be a {element}",
                "use one of: {allowed}",
                "creates a soft body without points",
            ),
        ),
    ),
    Topic(
        "SK061",
        "Several geometries",
        "If a shape has several geometries, DART uses the first in its own fixed order.",
        (
            warning(
                "SK061",
                "{count} geometries in one shape; the {kind} is used",
                "use one shape for each",
                "silently does the same",
            ),
        ),
    ),
    Topic(
        "SK062",
        "Dimension not positive",
        "The magnitude of a negative dimension is used (reading `dart`: DART's default, 1). A shape with a "
        "zero dimension is ignored.",
        (
            warning(
                "SK062.negative",
                "<{element}> must be positive, but is {found}; its magnitude is used",
                "",
                "uses 1 instead",
            ),
            error("SK062.zero", "<{element}> must be positive, but is {found}", "", "uses 1 instead"),
            error("SK062.scale", "a mesh scale of 0 flattens the mesh", "", "silently accepts it"),
        ),
    ),
    Topic(
        "SK063",
        "Mesh not usable",
        "The file cannot be found or read. The shape and its reference are preserved; only operations that "
        "need the triangles fail.",
        (
            warning("SK063.visual", "mesh '{uri}' {reason}", "{hint}", "logs an error, then often crashes"),
            error("SK063.needed", "mesh '{uri}' {reason}, and {purpose}", "{hint}", "crashes"),
        ),
    ),
    Topic(
        "SK064",
        "Unusual mesh reference",
        "DART does not resolve this kind of reference, or resolves it differently.",
        (
            warning(
                "SK064.blanks",
                "spaces around the file name",
                "remove them",
                "looks for a file with the spaces in its name",
            ),
            warning(
                "SK064.backslash",
                "a backslash in the file name",
                "use /",
                "looks for a file with the backslash in its name",
            ),
            warning(
                "SK064.percent",
                "the file name is percent-encoded",
                "use the characters themselves",
                "looks for a file with the percent codes in its name",
            ),
            warning("SK064.fragment", "# or ? in the file name", "rename the file", "truncates the name there"),
            info("SK064.absolute", "an absolute path is not portable", "use a path relative to the document"),
            warning(
                "SK064.relative_file_uri",
                "file: without slashes; it is resolved relative to the document",
                "remove file:",
                "resolves it relative to the working directory",
            ),
            error(
                "SK064.foreign_file_uri",
                "'{uri}' refers to a file on another machine",
                "use three slashes for a local file: file:///",
                "does not find it",
            ),
            warning("SK064.scheme", "'{uri}' cannot be resolved", "{hint}", "does not find it"),
            warning(
                "SK064.no_base",
                "'{uri}' is relative, but the document has no location",
                "pass base=… when loading text",
            ),
            error("SK064.outside", "'{uri}' is outside the document's directory, which is not allowed here"),
        ),
    ),
    Topic(
        "SK065",
        "Plane offset",
        "`offset` gives the position of a plane; `point` is deprecated.",
        (
            warning(
                "SK065.none",
                "the plane has neither <offset> nor <point>; 0 is used",
                "",
                "does the same with a warning",
            ),
            warning("SK065.point", "<point> is deprecated", "use <offset>", "also warns"),
        ),
    ),
    Topic(
        "SK066",
        "Plane normal",
        "A normal must not be zero.",
        (error("SK066", "the plane's normal is zero", "", "silently accepts it"),),
    ),
    Topic(
        "SK067",
        "Colour",
        "A colour has 3 or 4 components between 0 and 1.",
        (
            warning("SK067.count", "a colour has 3 or 4 numbers, not {found}; it is ignored", "", "does the same"),
            warning("SK067.range", "colour component {token} is not between 0 and 1", "", "silently accepts it"),
        ),
    ),
    Topic(
        "SK068",
        "Soft box fragments",
        "`frags` is the number of vertices along each edge of a soft box, at least 3.",
        (
            warning("SK068.missing", "the soft box has no <frags>; 3 3 3 is used", "", "throws an exception"),
            warning("SK068.low", "<frags> must be at least 3; 3 is used", "", "does the same"),
        ),
    ),
    Topic(
        "SK069",
        "length instead of height",
        "The old wiki once used `length`.",
        (warning("SK069", "<length> is obsolete", "use <height>", "throws an exception because <height> is missing"),),
    ),
)
