"""Diagnostics X601 to X905: masses, geoms, joints, dialects and extensions."""

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
        "`adjust` scales the mass before it. If there is no such mass, the geoms of the body are used with equal "
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
        "Only one of the XODE readers supports this name.",
        message_with_severities(
            "X709.capsule", "E/W", "only one reader uses the name <capsule>", "use <cappedCylinder>"
        ),
        message_with_severities("X709.indices", "E/W", "<indices> is obsolete", "use <triangles>"),
    ),
    Topic(
        "X801",
        "Number of axes",
        "Each joint type has a fixed number of axes: amotor 3, hinge2 and universal 2, hinge and slider 1, "
        "all others 0.",
        message_with_severities(
            "X801",
            "E/E",
            "wrong number of axes for a {kind} joint: expected {expected}, found {found}; the joint is ignored",
        ),
        message_with_severities("X801.amotor", "E/W", "wrong number of axes for an amotor: expected 3, found {found}"),
    ),
    Topic(
        "X802",
        "Zero axis",
        "An axis must not be zero.",
        message_with_severities("X802", "E/E", "the axis is zero; the joint is ignored"),
    ),
    Topic(
        "X803",
        "Anchor without effect",
        "Sliders, fixed joints and angular motors have no anchor.",
        message_with_severities("X803", "E/W", "an anchor has no effect on a {kind} joint"),
        message_with_severities("X803.amotor", "W/W", "an anchor has no effect on an amotor"),
    ),
    Topic(
        "X804",
        "Missing anchor",
        "Joints of this type have an anchor. If it is missing, the origin of the joint's frame is used.",
        message_with_severities(
            "X804",
            "W/W",
            "the {kind} joint has no anchor; {point} is used",
            "",
            "pulls the origins of the two bodies together",
        ),
    ),
    Topic(
        "X805",
        "Frame of the anchor",
        "In the specification, an anchor is relative to the element that contains the joint, unless it is "
        "absolute. PyODE treats all anchors as absolute.",
        message_with_severities(
            "X805",
            "W/W",
            "the anchor is at {point} in dialect {dialect}, but at {other} in the other",
            'use absolute="true" and coordinates of the root frame',
        ),
    ),
    Topic(
        "X806",
        "Frame of the axis",
        "Axes are in the root frame, regardless of the element that contains the joint.",
        message_with_severities("X806", "W/W", "the joint is in a rotated frame, but its axis is in the root frame"),
        message_with_severities(
            "X806.relative",
            "W/W",
            "the axis is not absolute: it rotates with the joint's frame",
            "",
            "rejects the attribute",
        ),
    ),
    Topic(
        "X807",
        "Unknown axis parameter",
        "The parameter has no effect, and is preserved.",
        message_with_severities(
            "X807", "E/W", "unknown parameter '{name}' on <axis>", "{suggestion}", "stops reading there"
        ),
    ),
    Topic(
        "X808",
        "Two lower stops",
        "`LoStop` is another name for `LowStop`.",
        message_with_severities("X808", "E/E", "LowStop is {low}, but LoStop is {lo}"),
    ),
    Topic(
        "X809",
        "Stops reversed",
        "Both stops are disabled, as in newer ODE.",
        message_with_severities("X809", "W/W", "LowStop {low} exceeds HiStop {high}; both are disabled"),
        message_with_severities(
            "X809.infinite", "W/W", "LowStop {low} and HiStop {high} allow no position; both are disabled"
        ),
    ),
    Topic(
        "X810",
        "Parameter out of range",
        "The parameter is ignored. ODE ignores only invalid values of `FMax` and `FudgeFactor`, and uses any value of "
        "other parameters. The dialect `pyode` does the same as ODE.",
        message_with_severities("X810", "E/W", "{name} is {value}, but must be {range}; it is ignored"),
        message_with_severities("X810.kept", "E/W", "{name} is {value}, but should be {range}"),
    ),
    Topic(
        "X811",
        "Suspension or stop without effect",
        "ODE applies suspension and stops only to the first axis of a hinge2; the second rotates freely.",
        message_with_severities(
            "X811", "W/W", "{name} has no effect here: only the first axis of a hinge2 has a suspension"
        ),
        message_with_severities(
            "X811.stop", "W/W", "{name} has no effect here: only the first axis of a hinge2 has stops"
        ),
    ),
    Topic(
        "X812",
        "Angle between axes",
        "The axes of a hinge2 must not be parallel; those of a universal joint should be perpendicular.",
        message_with_severities("X812", "E/E", "the axes of the hinge2 are parallel; the joint is ignored"),
        message_with_severities(
            "X812.universal", "W/W", "the axes of the universal joint are {angle} degrees apart, not 90"
        ),
    ),
    Topic(
        "X813",
        "Stop never reached",
        "ODE measures angles from -π to π.",
        message_with_severities("X813", "W/W", "the angle never reaches {name}, which is {value}"),
    ),
    Topic(
        "X901",
        "Dialect chosen",
        "The specification and PyODE interpret something in this file differently.",
        message_with_severities(
            "X901",
            "I/I",
            "read in dialect {dialect}: {reason}",
            "choose the dialect: --dialect spec or --dialect pyode (dialect=)",
        ),
    ),
    Topic(
        "X902",
        "Extension without a name",
        "The extension is preserved.",
        message_with_severities("X902", "E/W", "<ext> has no ename"),
    ),
    Topic(
        "X903",
        "Attributes of an extension",
        "`ename` is the only attribute of an extension.",
        message_with_severities("X903", "E/W", "attribute '{name}' is not allowed on <ext>"),
        message_with_severities("X903.conflict", "E/W", "ename is '{ename}', but name is '{name}'; ename is used"),
    ),
    Topic(
        "X904",
        "Duplicate extension name",
        "Unique names keep the extensions of several applications apart.",
        message_with_severities("X904", "W/-", "two extensions in one element are named '{name}'"),
    ),
    Topic(
        "X905",
        "PyBrain's comment",
        "PyBrain stores simulation settings in a comment after the root element. The comment is read as data "
        "and never evaluated.",
        message_with_severities("X905", "-/W", "cannot parse line {number} of the PyBrain comment: {text}"),
    ),
)
