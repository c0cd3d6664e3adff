"""Diagnostics X601 to X709: masses and geoms."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, message_with_severities

TOPICS = (
    Topic(
        "X601",
        "Struct and shape",
        "A mass has a struct or a shape, not both.",
        message_with_severities(
            "X601", "E/E", "<mass> contains both <mass_struct> and <mass_shape>", "nest the masses to add them"
        ),
    ),
    Topic(
        "X602",
        "Neither density nor total",
        "A mass shape requires one of them.",
        message_with_severities("X602", "E/E", "<mass_shape> has neither density nor total"),
    ),
    Topic(
        "X603",
        "Both density and total",
        "The density is used.",
        message_with_severities(
            "X603", "I/I", "both density and total are given; the density is used", "", "uses only the density"
        ),
    ),
    Topic(
        "X604",
        "Nothing to adjust",
        "`adjust` scales the mass before it. Without one, the geoms of the body are used with equal "
        "density; PyODE uses a sphere of radius 1.",
        message_with_severities(
            "X604", "W/W", "<adjust> has nothing to adjust: {rule}", "add a <mass_shape>", "uses a sphere of radius 1"
        ),
    ),
    Topic(
        "X605",
        "Mass not positive",
        "A body needs a positive, finite mass and moment of inertia. Otherwise, 1 kg and the identity are used.",
        message_with_severities("X605", "E/E", "the mass is {mass}, but must be positive and finite"),
        message_with_severities("X605.moment", "E/E", "the centre of mass or the moment of inertia is not finite"),
    ),
    Topic(
        "X606",
        "Inertia not symmetric",
        "The mean of both entries is used.",
        message_with_severities(
            "X606", "E/W", "the inertia is not symmetric: {first} is {a}, but {second} is {b}; their mean is used"
        ),
    ),
    Topic(
        "X607",
        "Unphysical inertia",
        "No mass distribution has this inertia. If it is not positive, 1 kg and the identity are used.",
        message_with_severities("X607", "E/E", "the principal moments are not all positive: {eigenvalues}"),
        message_with_severities(
            "X607.triangle", "W/W", "the largest principal moment exceeds the sum of the others: {eigenvalues}"
        ),
    ),
    Topic(
        "X608",
        "Centre of mass not at the origin",
        "ODE requires the centre of mass at the origin of the body. Here it may be elsewhere.",
        message_with_severities(
            "X608",
            "W/W",
            "the centre of mass is at {com}, not at the origin of the body",
            "",
            "ignores it, or makes ODE abort",
        ),
    ),
    Topic(
        "X609",
        "Not a mass shape",
        "A mass shape is a box, sphere, cylinder or cappedCylinder.",
        message_with_severities(
            "X609", "E/E", "<{element}> is not a mass shape", "use a box, sphere, cylinder or cappedCylinder"
        ),
    ),
    Topic(
        "X610",
        "Mass without effect",
        "The element defines no mass. ODE's default is used: 1 kg and the identity.",
        message_with_severities(
            "X610",
            "W/W",
            "<mass> defines no mass; 1 kg and the identity are used",
            "",
            "uses a sphere of density 1 and radius 1",
        ),
    ),
    Topic(
        "X611",
        "Attributes of a mass transform",
        "A mass can only be moved and rotated within the body.",
        message_with_severities("X611", "E/W", "{name} has no effect on a transform in <mass>"),
    ),
    Topic(
        "X612",
        "Mass not supported by PyODE",
        "PyODE reads only the masses of single solids. Other masses are written only if you allow the nearest ones.",
        error(
            "X612",
            "PyODE does not support some of the masses: it reads only those of single solids",
            "use --approximate (approximate=True) to write the nearest ones",
        ),
    ),
    Topic(
        "X701",
        "Index out of range",
        "Triangles refer to vertices by index. The mesh is ignored.",
        message_with_severities(
            "X701",
            "E/E",
            "triangle {triangle} refers to vertex {index}, but the mesh has {count} vertices, counted from {base}",
        ),
    ),
    Topic(
        "X702",
        "Index base unknown",
        "The indices are valid for both bases: 0 and the number of vertices do not occur.",
        message_with_severities(
            "X702", "W/W", "it is unclear whether vertices are counted from 0 or from 1; 1 is assumed"
        ),
    ),
    Topic(
        "X703",
        "Degenerate triangle",
        "The triangle has no area.",
        message_with_severities("X703", "W/W", "triangle {triangle} has no area", "", ""),
    ),
    Topic(
        "X704",
        "Plane normal zero",
        "A normal must not be zero.",
        message_with_severities("X704", "E/E", "the plane's normal is zero"),
    ),
    Topic(
        "X705",
        "Plane normal not unit",
        "The normal and the offset are divided by the length of the normal, as in older ODE.",
        message_with_severities(
            "X705", "W/W", "the plane's normal has length {length}; normal and offset are divided by it"
        ),
    ),
    Topic(
        "X706",
        "Plane in a body",
        "Planes never move; the plane stays at its initial position.",
        message_with_severities("X706", "W/W", "the plane does not move with body '{body}'"),
    ),
    Topic(
        "X707",
        "Moved plane or ray",
        "Some readers ignore the transforms of planes and rays.",
        message_with_severities("X707", "W/W", "transforms move the {shape}", "", "ignores them"),
        message_with_severities("X707.ignored", "W/W", "the transforms of the {shape} are ignored, as in PyODE"),
    ),
    Topic(
        "X708",
        "Cone",
        "ODE does not support cones.",
        message_with_severities("X708", "W/W", "ODE does not support cones; the cone is preserved", "", "rejects it"),
    ),
    Topic(
        "X709",
        "Obsolete name",
        "Only one reader knows each of these names.",
        message_with_severities(
            "X709.capsule", "E/W", "only one reader uses the name <capsule>", "use <cappedCylinder>"
        ),
        message_with_severities("X709.indices", "E/W", "<indices> is obsolete", "use <triangles>"),
    ),
)
