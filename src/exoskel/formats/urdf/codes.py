"""Everything the URDF reader can say, as data."""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning

_DOCUMENT = (
    Topic(
        "UR001",
        "Not well-formed XML",
        "The file cannot be read as XML, is some other kind of file, or is larger than the limits allow. "
        "Nothing is loaded from it.",
        (
            error("UR001", "not well-formed XML: {reason}", "{hint}"),
            error("UR001.limit", "{reason}", "raise the limit if you trust the file: load(..., limits=Limits(...))"),
            error("UR001.kind", "this is no URDF file: {reason}", "{hint}"),
        ),
    ),
    Topic(
        "UR002",
        "Root is not robot",
        "The root element of a URDF document is `robot`.",
        (
            error("UR002", "the root element is <{root}>, not <robot>"),
            error("UR002.format", "the root element is <{root}>: this is {format}, not URDF", "{hint}"),
        ),
    ),
    Topic(
        "UR003",
        "Document type declaration",
        "Entities are never expanded, because files that declare them can fill the memory or read other files.",
        (
            error(
                "UR003.entity", "the document declares entities, which are refused for safety", "write the text itself"
            ),
            warning("UR003.doctype", "a document type declaration has no effect", "remove it"),
        ),
    ),
    Topic(
        "UR004",
        "xacro",
        "xacro is a macro language that makes URDF. Its files are no URDF until the xacro program has run over them. "
        "A document that only declares the namespace, as the program's output does, is read as it is.",
        (error("UR004", "this is xacro, not URDF: {what}", "expand it first: xacro FILE.xacro > FILE.urdf"),),
    ),
    Topic(
        "UR005",
        "No link",
        "A robot has at least one link.",
        (error("UR005", "the robot has no link"),),
    ),
)

_STRUCTURE = (
    Topic(
        "UR101",
        "Unknown element",
        "The element is not in URDF; it and all in it are passed over, as other readers do.",
        (
            info("UR101", "unknown element <{element}> in <{parent}>", "{suggestion}"),
            info("UR101.prefixed", "<{element}> is of another vocabulary; it is passed over"),
        ),
    ),
    Topic(
        "UR102",
        "Unknown attribute",
        "The attribute is not in URDF and is passed over.",
        (
            info("UR102", "unknown attribute '{name}' of <{element}>", "{suggestion}"),
            info("UR102.prefixed", "attribute '{name}' is of another vocabulary; it is passed over"),
        ),
    ),
    Topic(
        "UR103",
        "Repeated element",
        "The element may stand once; the first one is taken.",
        (warning("UR103", "another <{element}> after that of line {line}; the first is taken"),),
    ),
    Topic(
        "UR104",
        "Stray text",
        "URDF says everything in attributes; text has no meaning.",
        (warning("UR104", "text in <{element}> has no meaning: '{token}'"),),
    ),
    Topic(
        "UR105",
        "Missing element",
        "Something needed is not there.",
        (error("UR105", "<{parent}> has no <{element}>"),),
    ),
    Topic(
        "UR106",
        "Missing attribute",
        "Something needed is not there; each message tells what is assumed.",
        (
            error("UR106", "<{element}> has no '{attribute_name}'"),
            warning("UR106.name", "<{element}> has no name; it is called '{name}'"),
            warning("UR106.limit", "<limit> has no '{attribute_name}'; none is assumed"),
        ),
    ),
    Topic(
        "UR107",
        "Data of another program",
        "Gazebo, ros_control and others keep data of their own in URDF files. It is passed over.",
        (info("UR107", "<{element}> is for another program; it is passed over"),),
    ),
    Topic(
        "UR108",
        "Without effect",
        "The element says nothing about the physics, and nothing is made of it.",
        (
            info("UR108", "<{element}> has no effect here"),
            info("UR108.texture", "textures are not read"),
        ),
    ),
)

_VALUES = (
    Topic(
        "UR201", "Not a number", "Numbers are decimal, with a point.", (error("UR201", "'{value}' is not a number"),)
    ),
    Topic("UR202", "Not finite", "Numbers have to be finite.", (error("UR202", "'{value}' is not a finite number"),)),
    Topic(
        "UR203",
        "Wrong count",
        "So many numbers are wanted, no more and no fewer.",
        (error("UR203", "'{name}' has {found} numbers, not {wanted}"),),
    ),
    Topic(
        "UR204",
        "Not one of the words",
        "Only some words mean something here. A joint of another type is taken as fixed.",
        (error("UR204", "'{value}' is none of {choices}"),),
    ),
    Topic("UR205", "Empty", "A name cannot be empty.", (error("UR205", "'{name}' is empty"),)),
)

_TREE = (
    Topic(
        "UR301",
        "Name taken",
        "Links, joints and materials each have names of their own. A namesake gets a number; of materials the "
        "first is taken.",
        (
            error("UR301", "another {element} called '{name}'; it is called '{renamed}' here"),
            warning("UR301.material", "another material called '{name}'; the first is taken"),
        ),
    ),
    Topic(
        "UR302",
        "No such link",
        "A joint names a link that is not there; it is left out.",
        (
            error("UR302", "joint '{joint}' has the {end} '{link}', and there is no such link", "{hint}"),
            error("UR302.ends", "joint '{joint}' does not say what it ties; it is left out"),
        ),
    ),
    Topic(
        "UR303",
        "Two parents",
        "A link hangs on one joint: URDF robots are trees. The first joint is taken.",
        (error("UR303", "link '{link}' hangs on joint '{first}' already; joint '{joint}' is left out"),),
    ),
    Topic(
        "UR304",
        "Cycle",
        "Links that hang on each other in a circle hang on nothing. The circle is cut.",
        (error("UR304", "joint '{joint}' closes a circle through link '{link}'; it is left out"),),
    ),
    Topic(
        "UR305",
        "Several roots",
        "A robot is one tree. Each of several moves freely here.",
        (error("UR305", "link '{link}' hangs on nothing, as '{first}' does; it moves freely"),),
    ),
)

_LINKS = (
    Topic(
        "UR401",
        "Mass out of range",
        "A mass is not negative; zero is taken instead.",
        (error("UR401", "the mass of link '{link}' is {mass}, which is negative; 0 is taken"),),
    ),
    Topic(
        "UR402",
        "Moments of no real thing",
        "The principal moments of matter are positive, and none exceeds the other two together. Values are kept as "
        "they are; engines may refuse them.",
        (
            warning("UR402", "the moments of link '{link}' are not those of a real thing: principal moments {moments}"),
            warning("UR402.massless", "link '{link}' has moments of inertia but no mass"),
        ),
    ),
    Topic(
        "UR403",
        "Geometry missing or unclear",
        "A shape has one geometry. The first in URDF's order is taken of several; a shape without is left out.",
        (
            error("UR403", "<geometry> holds no geometry that URDF knows; the shape is left out"),
            warning("UR403.several", "<geometry> holds {kinds}; {taken} is taken"),
            info("UR403.capsule", "many readers do not know <capsule>", "write a cylinder and two spheres"),
        ),
    ),
    Topic(
        "UR404",
        "Size out of range",
        "Lengths are greater than zero, and no scale is zero. The shape is left out.",
        (error("UR404", "'{name}' of <{element}> is {value}; the shape is left out"),),
    ),
    Topic(
        "UR405",
        "Mesh file",
        "The mesh stays in the scene, by name only, where its file is not found or cannot be read.",
        (
            warning("UR405.lost", "the mesh '{uri}' {reason}", "{hint}"),
            info("UR405.odd", "the reference '{uri}' is odd: {remark}"),
        ),
    ),
    Topic(
        "UR406",
        "No such material",
        "A visual names a material without a colour that the robot does not define. It gets no colour.",
        (warning("UR406", "there is no material called '{name}'", "{hint}"),),
    ),
    Topic(
        "UR407",
        "The world has a body",
        "A root called `world` stands for the world itself. One that has mass or shapes becomes a body that is "
        "welded to the world.",
        (info("UR407", "the link 'world' has mass or shapes: it becomes a body that is welded to the world"),),
    ),
)

_JOINTS = (
    Topic(
        "UR501",
        "No direction",
        "An axis of length zero has no direction; the x axis, which is the default, is taken.",
        (error("UR501", "the axis of joint '{joint}' has length zero; 1 0 0 is taken"),),
    ),
    Topic(
        "UR502",
        "Limits",
        "Revolute and prismatic joints state limits. Where they are missing none are taken; where they are "
        "upside down they are turned over.",
        (
            error("UR502", "{kind} joint '{joint}' has no <limit>; none is assumed"),
            error(
                "UR502.order", "joint '{joint}' has its lower limit {lower} above its upper {upper}; they are swapped"
            ),
            error("UR502.negative", "'{name}' of joint '{joint}' is {value}, which is negative; its size is taken"),
            info("UR502.zero", "'{name}' of joint '{joint}' is 0: it is taken literally"),
        ),
    ),
    Topic(
        "UR503",
        "Mimic",
        "A joint follows another joint of the robot that moves in as many ways. What it says otherwise is passed over.",
        (
            error("UR503", "joint '{joint}' follows '{other}', and there is no such joint", "{hint}"),
            error("UR503.self", "joint '{joint}' follows itself in the end, through '{other}'"),
            warning(
                "UR503.unlike", "joint '{joint}' cannot follow '{other}', which has {theirs} ways to move, not {own}"
            ),
        ),
    ),
    Topic(
        "UR504",
        "Dynamics out of range",
        "Damping and friction are not negative; zero is taken instead.",
        (error("UR504", "'{name}' of joint '{joint}' is {value}, which is negative; 0 is taken"),),
    ),
    Topic(
        "UR505",
        "Planar joint",
        "URDF does not say how a planar joint counts its motion. Here: along two directions of the plane, then a turn "
        "about its normal, as DART and MuJoCo do. The directions are x and y, turned with z onto the normal.",
        (info("UR505", "readers differ in what they make of planar joints such as '{joint}'"),),
    ),
)

CATALOGUE = Catalogue("URDF readers", (*_DOCUMENT, *_STRUCTURE, *_VALUES, *_TREE, *_LINKS, *_JOINTS))
