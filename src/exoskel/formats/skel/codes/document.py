"""SK001 to SK014: what there is to say about the document as a whole and its structure."""

from __future__ import annotations

from exoskel.diagnostics import Topic, error, info, warning

TOPICS = (
    Topic(
        "SK001",
        "Not well-formed XML",
        "The file cannot be read as XML, is some other kind of file, or is larger than the limits allow. "
        "Nothing is loaded from it.",
        (
            error("SK001", "not well-formed XML: {reason}", "{hint}", "says 'Failed parsing XML', without a line"),
            error("SK001.limit", "{reason}", "raise the limit if you trust the file: load(..., limits=Limits(...))"),
            error("SK001.kind", "this is no SKEL file: {reason}", "{hint}", "says 'Failed parsing XML'"),
        ),
    ),
    Topic(
        "SK002",
        "Pre-3.0 text format",
        "DART 1 and 2 had a plain text format with braces (`dofs { … }`, `node name { … }`) under the same "
        "file ending. It has nothing in common with the XML format of DART 3 to 6.",
        (
            error(
                "SK002",
                "this is the brace-style text format of DART 1 and 2, not the XML format of DART 3 to 6",
                "no tool reads it any more; DART 2.6 can load it, and its model has to be rebuilt from there",
                "says 'Failed parsing XML'",
            ),
        ),
    ),
    Topic(
        "SK003",
        "Root is not skel",
        "The root element of a SKEL document is `skel`.",
        (
            error("SK003", "the root element is <{root}>, not <skel>", "", "loads nothing"),
            error(
                "SK003.format", "the root element is <{root}>: this is {format}, not SKEL", "{hint}", "loads nothing"
            ),
        ),
    ),
    Topic(
        "SK004",
        "Nothing to load",
        "A SKEL document holds a `world`, or bare `skeleton` elements.",
        (error("SK004", "<skel> holds neither a <world> nor a <skeleton>", "", "loads nothing"),),
    ),
    Topic(
        "SK005",
        "More than one world, or skeletons beside it",
        "DART has two ways to open a file. One takes the first `world` and sees nothing else; the other takes "
        "the first `skeleton` directly under `skel` and never looks into a world.",
        (
            warning("SK005.world", "a second <world>; only the first one is used", "", "uses the first without a word"),
            warning(
                "SK005.taken",
                "<skeleton> stands beside <world>, which has none of its own: taken into that world",
                "move it into <world>",
                "loses it without a word",
            ),
            warning(
                "SK005.kept",
                "<skeleton> stands beside a <world> that has skeletons: not part of the world",
                "move it into <world>",
                "loses it without a word",
            ),
            warning("SK005.several", "several bare skeletons: all taken into one world", "", "takes only the first"),
        ),
    ),
    Topic(
        "SK006",
        "Version",
        "All SKEL files are version 1.0.",
        (
            info("SK006.absent", "<skel> has no version; 1.0 is assumed"),
            info("SK006.other", "version '{version}' is unknown; read as 1.0", "", "never looks at the version"),
        ),
    ),
    Topic(
        "SK007",
        "Document type declaration",
        "SKEL needs no document type declaration. Entities declared in one are never expanded, because files "
        "that do so can fill the memory or read other files.",
        (
            error(
                "SK007.entity", "the document declares entities, which are refused for safety", "write the text itself"
            ),
            warning("SK007.doctype", "a document type declaration has no effect", "remove it", "skips it"),
        ),
    ),
    Topic(
        "SK008",
        "Encoding is not UTF-8",
        "Any encoding the XML declaration names is read, but DART reads UTF-8 only.",
        (
            warning(
                "SK008",
                "the file is encoded as {encoding}",
                "save it as UTF-8",
                "fails or yields garbled names",
            ),
        ),
    ),
    Topic(
        "SK009",
        "Bare skeleton",
        "A document without a `world` is read as a world with default physics holding its skeletons, and is "
        "written back bare.",
        (info("SK009", "no <world>: the skeleton gets a world with default physics", "", "refuses it as a world"),),
    ),
    Topic(
        "SK010",
        "Unknown element",
        "Elements that are not SKEL have no effect. They are kept when the file is saved; those of another namespace "
        "are kept in conversions, too.",
        (
            warning("SK010", "unknown element <{element}> in <{parent}>", "{suggestion}", "ignores it without a word"),
            info("SK010.prefixed", "<{element}> in <{parent}> is not SKEL; kept as an extension"),
        ),
    ),
    Topic(
        "SK011",
        "Unknown attribute",
        "Attributes that are not SKEL have no effect. They are kept when the file is saved.",
        (
            warning("SK011", "unknown attribute '{name}' on <{element}>", "{suggestion}", "ignores it without a word"),
            info("SK011.prefixed", "attribute '{name}' on <{element}> is not SKEL, and has no effect"),
        ),
    ),
    Topic(
        "SK012",
        "Repeated element",
        "Of an element that may stand only once, the first is used.",
        (warning("SK012", "a second <{element}>; only the first one is used", "", "does the same without a word"),),
    ),
    Topic(
        "SK013",
        "Element without effect",
        "The element is known, but has no effect where it stands.",
        (
            warning(
                "SK013.axis_dynamics",
                "<{element}> has no effect on a {kind} joint, so its dynamics and limits are lost",
                "give them in <dof> elements",
                "ignores it without a word",
            ),
            info("SK013.axis", "<{element}> has no effect on a {kind} joint"),
            info("SK013.axis_xyz", "the direction of <{element}> has no effect on {kind} joints"),
            warning(
                "SK013.axis_order", "<axis_order> has no effect on a {kind} joint", "", "ignores it without a word"
            ),
            warning("SK013.plane", "<plane> has no effect on a {kind} joint", "", "ignores it without a word"),
            warning("SK013.pitch", "<pitch> has no effect on a {kind} joint; only screws have one"),
            warning("SK013.weld", "<{element}> has no effect on a weld joint, which does not move"),
            warning("SK013.color", "<color> has no effect on a collision shape", "put it on the visualization shape"),
            warning(
                "SK013.collidable",
                "<collidable> has no effect on a visualization shape",
                "put it on the collision shape",
            ),
            warning(
                "SK013.geometry_color",
                "<color> belongs beside <geometry>, not inside it; taken as the shape's colour",
                "move it out of <geometry>",
                "ignores it there",
            ),
            info("SK013.tessellation", "<{element}> has no effect here; it belongs to soft shapes"),
            warning(
                "SK013.self_collide",
                "<self_collide> never had an effect",
                "remove it",
                "lets no skeleton collide with itself",
            ),
            warning("SK013.alpha", "<alpha> is not SKEL", "give <color> a fourth number"),
            warning(
                "SK013.contact",
                "<{element}> is not SKEL here, and has no effect",
                "",
                "uses friction 1 and restitution 0 for all contacts",
            ),
            warning(
                "SK013.thread_pitch", "<thread_pitch> is SDFormat's name and has no effect", "did you mean 'pitch'?"
            ),
            warning(
                "SK013.dof_limit",
                "limits of a <dof> are attributes; the element <{element}> has no effect",
                'write {element}="…"',
            ),
            warning(
                "SK013.soft_marker", "a marker on a soft body", "", "loses the markers of soft bodies without a word"
            ),
            warning(
                "SK013.soft_transformation",
                "a soft {kind} has no <transformation>; it is kept, but not applied",
                "",
                "ignores it",
            ),
        ),
    ),
    Topic(
        "SK014",
        "Stray text",
        "Text where only elements belong has no effect; it is kept when the file is saved. Text that a "
        "comment cuts in two is read whole here.",
        (
            warning("SK014", "text '{text}' in <{element}> has no effect", "", "ignores it without a word"),
            warning(
                "SK014.split",
                "the value is cut by a comment or a CDATA section",
                "move the comment out of the value",
                "reads only '{first}'",
            ),
        ),
    ),
)
