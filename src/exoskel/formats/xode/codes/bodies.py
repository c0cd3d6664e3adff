"""X601 to X709: what there is to say about masses and geoms."""

from __future__ import annotations

from exoskel.diagnostics import Topic, message_with_severities

TOPICS = (
    Topic(
        "X601",
        "Struct and shape",
        "A mass has a struct or a shape, not both.",
        (
            message_with_severities(
                "X601", "E/E", "<mass_struct> and <mass_shape> in one <mass>", "nest masses to add them"
            ),
        ),
    ),
    Topic(
        "X602",
        "Neither density nor total",
        "A mass shape needs one of them.",
        (message_with_severities("X602", "E/E", "<mass_shape> has neither density nor total"),),
    ),
    Topic(
        "X603",
        "Both density and total",
        "The density is used.",
        (
            message_with_severities(
                "X603", "I/I", "density and total are both given; the density is used", "", "uses only the density"
            ),
        ),
    ),
    Topic(
        "X604",
        "Nothing to adjust",
        "`adjust` scales what stands before it. With nothing before it, the body's own geoms are taken at equal "
        "density; PyODE has a sphere of radius 1.",
        (
            message_with_severities(
                "X604",
                "W/W",
                "there is nothing to adjust: {rule}",
                "write a <mass_shape>",
                "takes a sphere of radius 1",
            ),
        ),
    ),
    Topic(
        "X605",
        "Mass not positive",
        "A body has a positive, finite mass and moment of inertia. One that has not counts as without a mass: 1 kg and "
        "the identity.",
        (
            message_with_severities("X605", "E/E", "the mass is {mass}"),
            message_with_severities(
                "X605.moment", "E/E", "the centre of mass or the moment of inertia is not a finite number"
            ),
        ),
    ),
    Topic(
        "X606",
        "Inertia not symmetric",
        "The mean of both entries is used.",
        (message_with_severities("X606", "E/W", "{first} is {a}, but {second} is {b}; their mean is used"),),
    ),
    Topic(
        "X607",
        "Impossible inertia",
        "No distribution of mass has such an inertia. Where it is not even positive, the body counts as without a "
        "mass: 1 kg and the identity.",
        (
            message_with_severities("X607", "E/E", "principal moments {eigenvalues}: not positive"),
            message_with_severities(
                "X607.triangle", "W/W", "principal moments {eigenvalues}: the largest exceeds the sum of the others"
            ),
        ),
    ),
    Topic(
        "X608",
        "Centre of mass not at the origin",
        "ODE wants the centre of mass at the body's origin. Here it may be elsewhere.",
        (
            message_with_severities(
                "X608", "W/W", "the centre of mass is at {com}", "", "has ODE stop at it, or ignore it"
            ),
        ),
    ),
    Topic(
        "X609",
        "Not a mass shape",
        "Masses have the shape of a box, sphere, cylinder or cappedCylinder.",
        (
            message_with_severities(
                "X609",
                "E/E",
                "a mass cannot have the shape of a {element}",
                "use a box, sphere, cylinder or cappedCylinder",
            ),
        ),
    ),
    Topic(
        "X610",
        "Mass without effect",
        "Nothing in it gives a mass: the body has ODE's default, 1 kg and the identity.",
        (
            message_with_severities(
                "X610",
                "W/W",
                "the <mass> says nothing; mass 1 and the identity are used",
                "",
                "takes a sphere of density 1 and radius 1",
            ),
        ),
    ),
    Topic(
        "X611",
        "Attributes of a mass transform",
        "A mass is moved and turned within the body, nothing else.",
        (message_with_severities("X611", "E/W", "{name} has no effect on a transform in <mass>"),),
    ),
    Topic(
        "X612",
        "Mass not expressible",
        "The target has no way to say it.",
        (message_with_severities("X612", "E/W", "the mass of '{body}' cannot be written for {target}"),),
    ),
    Topic(
        "X701",
        "Index out of range",
        "Triangles name vertices by number. The mesh is left out.",
        (
            message_with_severities(
                "X701", "E/E", "triangle {triangle} names vertex {index}; there are {count}, counted from {base}"
            ),
        ),
    ),
    Topic(
        "X702",
        "Index base unknown",
        "Neither the first number of base 0 nor the last of base 1 occurs.",
        (
            message_with_severities(
                "X702", "W/W", "nothing tells whether vertices are counted from 0 or from 1; 1 is assumed"
            ),
        ),
    ),
    Topic(
        "X703",
        "Degenerate triangle",
        "It has no area.",
        (message_with_severities("X703", "W/W", "triangle {triangle} has no area", "", ""),),
    ),
    Topic(
        "X704",
        "Plane normal zero",
        "A normal has a direction.",
        (message_with_severities("X704", "E/E", "the plane's normal is zero"),),
    ),
    Topic(
        "X705",
        "Plane normal not unit",
        "The offset is divided by its length, as older ODE does.",
        (
            message_with_severities(
                "X705", "W/W", "the plane's normal has length {length}; normal and offset are divided by it"
            ),
        ),
    ),
    Topic(
        "X706",
        "Plane under a body",
        "Planes never move; it stays where it is at the start.",
        (message_with_severities("X706", "W/W", "a plane does not move with body '{body}'"),),
    ),
    Topic(
        "X707",
        "Moved plane or ray",
        "Some readers ignore the transforms of planes and rays.",
        (
            message_with_severities("X707", "W/W", "the {shape} is moved by transforms", "", "ignores them"),
            message_with_severities("X707.ignored", "W/W", "the transforms of the {shape} are ignored, as PyODE does"),
        ),
    ),
    Topic(
        "X708",
        "Cone",
        "ODE itself has no cones.",
        (message_with_severities("X708", "W/W", "ODE has no cones; it is kept", "", "refuses it"),),
    ),
    Topic(
        "X709",
        "Old name",
        "Names of single readers.",
        (
            message_with_severities("X709.capsule", "E/W", "<capsule> is one reader's name", "write <cappedCylinder>"),
            message_with_severities("X709.indices", "E/W", "<indices> is an early name", "write <triangles>"),
        ),
    ),
)
