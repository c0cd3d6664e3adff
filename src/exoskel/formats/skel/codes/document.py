"""Diagnostics SK001 to SK033: the document, its structure, its values, and the physics of a world."""

from __future__ import annotations

from exoskel.diagnostics import LIMIT_HINT, Topic, error, info, warning

TOPICS = (
    Topic(
        "SK001",
        "Not well-formed XML",
        "The file is not XML, is another kind of file, or exceeds the limits. Nothing is loaded from it.",
        error("SK001", "not well-formed XML: {reason}", "{hint}", "reports 'Failed parsing XML' without a line number"),
        error("SK001.limit", "{reason}", LIMIT_HINT),
        error("SK001.kind", "not a SKEL file: {reason}", "{hint}", "reports 'Failed parsing XML'"),
    ),
    Topic(
        "SK002",
        "Pre-3.0 text format",
        "DART 1 and 2 used a plain text format with braces (`dofs { … }`, `node name { … }`) and the same "
        "file extension. It is unrelated to the XML format of DART 3 to 6.",
        error(
            "SK002",
            "this is the text format of DART 1 and 2 (with braces), not the XML format of DART 3 to 6",
            "load it with DART 2.6 and rebuild the model; no current tool reads this format",
            "reports 'Failed parsing XML'",
        ),
    ),
    Topic(
        "SK003",
        "Root is not skel",
        "The root element of a SKEL document is `skel`. In early files it is `dart`; the reading `written` accepts it.",
        error("SK003", "the root element is <{root}>, not <skel>", "", "loads nothing"),
        warning("SK003.early", "the root element is <{root}>, the early name of <skel>", "use <skel>", "loads nothing"),
        error("SK003.format", "the root element is <{root}>: this is {format}, not SKEL", "{hint}", "loads nothing"),
    ),
    Topic(
        "SK004",
        "Nothing to load",
        "A SKEL document contains a `world`, or bare `skeleton` elements.",
        error("SK004", "<skel> contains neither <world> nor <skeleton>", "", "loads nothing"),
    ),
    Topic(
        "SK005",
        "Several worlds, or skeletons outside the world",
        "DART has two functions that open a file. One reads only the first `world`. The other reads only the "
        "first `skeleton` directly under `skel`, and ignores worlds.",
        warning("SK005.world", "duplicate <world>; only the first is used", "", "silently uses the first"),
        warning(
            "SK005.taken",
            "<skeleton> is outside <world>, which has no skeletons; it is added to the world",
            "move it into <world>",
            "silently ignores it",
        ),
        warning(
            "SK005.kept",
            "<skeleton> is outside <world>, which has other skeletons; it is not part of the world",
            "move it into <world>",
            "silently ignores it",
        ),
        warning(
            "SK005.several",
            "several skeletons without a <world>; all are added to one world",
            "",
            "uses only the first",
        ),
    ),
    Topic(
        "SK006",
        "Version",
        "All SKEL files are version 1.0.",
        info("SK006.absent", "<skel> has no version; 1.0 is assumed"),
        info("SK006.other", "unknown version '{version}'; 1.0 is assumed", "", "ignores the version"),
    ),
    Topic(
        "SK007",
        "Document type declaration",
        "SKEL needs no document type declaration. Entities are never expanded: they can exhaust the memory or"
        " read other files.",
        error(
            "SK007.entity",
            "the document declares entities, which are refused for security",
            "replace each entity with its text",
        ),
        warning("SK007.doctype", "the document type declaration has no effect", "remove it", "skips it"),
    ),
    Topic(
        "SK008",
        "Encoding is not UTF-8",
        "Any encoding named in the XML declaration is read, but DART reads only UTF-8.",
        warning("SK008", "the file is encoded as {encoding}", "save it as UTF-8", "fails or reads garbled names"),
    ),
    Topic(
        "SK009",
        "Bare skeleton",
        "A document without a `world` is read as a world with default physics that contains its skeletons. It"
        " is saved without a `world`.",
        info("SK009", "no <world>; a world with default physics is used", "", "does not load it as a world"),
    ),
    Topic(
        "SK010",
        "Unknown element",
        "Elements that are not part of SKEL have no effect. They are preserved when the file is saved; those "
        "of another namespace are also preserved in conversions.",
        warning("SK010", "unknown element <{element}> in <{parent}>", "{suggestion}", "silently ignores it"),
        info("SK010.prefixed", "<{element}> in <{parent}> is not part of SKEL; it is preserved as an extension"),
    ),
    Topic(
        "SK011",
        "Unknown attribute",
        "Attributes that are not part of SKEL have no effect. They are preserved when the file is saved.",
        warning("SK011", "unknown attribute '{name}' on <{element}>", "{suggestion}", "silently ignores it"),
        info("SK011.prefixed", "attribute '{name}' on <{element}> is not part of SKEL and has no effect"),
    ),
    Topic(
        "SK012",
        "Duplicate element",
        "Where only one element is allowed, the first is used.",
        warning("SK012", "duplicate <{element}>; only the first is used", "", "silently does the same"),
    ),
    Topic(
        "SK013",
        "Element without effect",
        "The element has no effect here.",
        warning(
            "SK013.axis_dynamics",
            "<{element}> has no effect on {kind} joints; its dynamics and limits are ignored",
            "move them into <dof> elements",
            "silently ignores it",
        ),
        info("SK013.axis", "<{element}> has no effect on {kind} joints"),
        info("SK013.axis_xyz", "the direction of <{element}> has no effect on {kind} joints"),
        warning("SK013.axis_order", "<axis_order> has no effect on {kind} joints", "", "silently ignores it"),
        warning("SK013.plane", "<plane> has no effect on {kind} joints", "", "silently ignores it"),
        warning("SK013.pitch", "<pitch> has no effect on {kind} joints; only screw joints use it"),
        warning("SK013.weld", "<{element}> has no effect on weld joints, which do not move"),
        warning("SK013.color", "<color> has no effect on a collision shape", "move it to the visualization shape"),
        warning(
            "SK013.collidable", "<collidable> has no effect on a visualization shape", "move it to the collision shape"
        ),
        info(
            "SK013.collidable_zero",
            "the shape does not collide (<collidable> is 0)",
            "",
            "ignores the element; the shape collides",
        ),
        warning(
            "SK013.geometry_color",
            "<color> belongs next to <geometry>, not inside it; it is used as the shape's colour",
            "move it out of <geometry>",
            "ignores it there",
        ),
        info("SK013.tessellation", "<{element}> has no effect here; only soft shapes use it"),
        warning(
            "SK013.self_collide",
            "<self_collide> has never had an effect",
            "remove it",
            "never lets a skeleton collide with itself",
        ),
        warning("SK013.alpha", "<alpha> is not part of SKEL and has no effect", "add a fourth number to <color>"),
        warning(
            "SK013.contact",
            "<{element}> is not part of SKEL and has no effect",
            "",
            "uses friction 1 and restitution 0 for all contacts",
        ),
        warning("SK013.thread_pitch", "<thread_pitch> is the SDFormat name and has no effect", "did you mean 'pitch'?"),
        warning(
            "SK013.dof_limit",
            "limits of a <dof> are attributes; the element <{element}> has no effect",
            'use {element}="…"',
        ),
        warning("SK013.soft_marker", "the <marker> is on a soft body", "", "silently drops the markers of soft bodies"),
        warning(
            "SK013.soft_transformation",
            "<transformation> is not applied to a soft {kind}; it is preserved",
            "",
            "ignores it",
        ),
    ),
    Topic(
        "SK014",
        "Stray text",
        "Text where only elements are allowed has no effect; it is preserved when the file is saved. A value "
        "that is split by a comment is read whole.",
        warning("SK014", "text '{text}' in <{element}> has no effect", "", "silently ignores it"),
        warning(
            "SK014.split",
            "a comment or a CDATA section splits the value",
            "move it out of the value",
            "reads only '{first}'",
        ),
    ),
    Topic(
        "SK020",
        "Missing element",
        "The element requires this child. DART's old wiki states defaults for the dimensions of boxes, ellipsoids and "
        "cylinders. DART never implemented them. They are used, except in the reading `dart`.",
        error("SK020", "<{parent}> has no <{element}>", "", "throws an exception without a line number"),
        warning("SK020.scale", "<mesh> has no <scale>; 1 1 1 is used", "", "throws an exception"),
        warning("SK020.size", "<{parent}> has no <size>; 1 1 1 is used", "", "throws an exception"),
        warning("SK020.radius", "<{parent}> has no <radius>; 0.5 is used", "", "throws an exception"),
        warning("SK020.height", "<{parent}> has no <height>; 1 is used", "", "throws an exception"),
    ),
    Topic(
        "SK021",
        "Empty value",
        "The element has no content; it counts as absent.",
        error("SK021", "<{element}> is empty", "", "throws an exception, sometimes without naming the element"),
    ),
    Topic(
        "SK022",
        "Not a number",
        "A number consists of decimal digits with an optional sign, point and exponent. An invalid value "
        "counts as absent.",
        error("SK022", "'{token}' is not a number", "", "throws an exception that contains only 'stod'"),
    ),
    Topic(
        "SK023",
        "Characters after a number",
        "The text starts with a number but has more characters. An invalid value counts as absent (reading "
        "`dart`: the leading number is used).",
        error(
            "SK023",
            "'{token}' is not a number: unexpected characters after {leading}",
            "",
            "silently reads the leading digits",
        ),
        error("SK023.count", "'{token}' is not a positive integer", "", "silently reads the leading digits"),
    ),
    Topic(
        "SK024",
        "Wrong number of values",
        "A vector has a fixed number of components. A `transformation` with three numbers is read as a "
        "translation. With any other wrong number, the value counts as absent. DART 6.20.3 refuses a file with such a "
        "`transformation`.",
        error("SK024", "expected {expected} numbers, found {found}", "", "reads or writes memory out of bounds"),
        warning(
            "SK024.translation",
            "expected 6 numbers, found 3; they are read as a translation",
            "add the three angles",
            "does the same",
        ),
    ),
    Topic(
        "SK025",
        "Commas between numbers",
        "Numbers are separated by spaces. Commas are accepted if the count is right. DART 6.20.3 refuses a file with "
        "commas in a `transformation`.",
        warning(
            "SK025", "the numbers are separated by commas", "separate them with spaces", "silently reads wrong numbers"
        ),
    ),
    Topic(
        "SK026",
        "Number is not finite",
        "`nan` is never valid; infinities are valid only as limits. An invalid value counts as absent. In the reading "
        "`dart`, a joint frame that is not finite becomes the frame of the parent, and a body whose joint axis is not "
        "finite has the frame of its parent.",
        error(
            "SK026",
            "'{token}' is not a finite number",
            "",
            "accepts it, replaces it or throws an exception, depending on the element",
        ),
        error("SK026.overflow", "'{token}' is too large", "", "throws an exception"),
    ),
    Topic(
        "SK027",
        "Not a boolean",
        "A boolean is `1`, `0`, `true` or `false`. `collidable` is different: DART reads a number there.",
        error("SK027", "'{token}' is not a boolean", "use true or false", "reads it as false"),
        warning("SK027.word", "<collidable> is '{token}', not a number", "use 0 or 1", "throws an exception"),
        warning("SK027.number", "<collidable> is '{token}'; any number except 0 means true", "use 0 or 1"),
    ),
    Topic(
        "SK028",
        "Spaces or capitals in a keyword",
        "DART compares keywords exactly, including spaces and capitals. Here they are ignored (reading "
        "`dart`: as in DART).",
        warning(
            "SK028.trimmed",
            "'{token}' has spaces around it",
            "remove them",
            "treats them as part of the value, and does not recognise it",
        ),
        warning("SK028.case", "'{token}' contains capitals", "use '{word}'", "does not recognise it"),
    ),
    Topic(
        "SK030",
        "Time step",
        "The time step must be positive.",
        error("SK030", "the time step is {found}, but must be positive; 0.001 s is used", "", "does the same"),
    ),
    Topic(
        "SK031",
        "No gravity",
        "Without a `gravity` element, gravity is 0 0 -9.81, along -z, although y points up in most SKEL files.",
        info("SK031", "no <gravity>; 0 0 -9.81 is used"),
    ),
    Topic(
        "SK032",
        "Unknown collision detector",
        "The detectors are fcl, fcl_mesh, dart, bullet and ode. Any other is preserved and treated as fcl.",
        warning("SK032", "unknown collision detector '{token}'", "{suggestion}", "uses fcl"),
    ),
    Topic(
        "SK033",
        "Geometry not supported by the collision detector",
        "Not every collision detector of DART supports every geometry. When the simulation starts, DART "
        "replaces some with a small sphere and ignores others.",
        warning("SK033", "collision detector {detector} does not support {geometry}", "{advice}", "{consequence}"),
    ),
)
