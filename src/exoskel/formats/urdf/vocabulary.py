"""URDF as a table: every element and attribute, where it stands, and what it means."""

from __future__ import annotations

from exoskel.formats.urdf.values import FILE, JOINT_TYPE, LINK, NAME, REAL, RGBA, TEXT, VECTOR
from exoskel.source.vocabulary import Attribute, Element, StructureCodes, Vocabulary

GEOMETRIES = ("box", "cylinder", "sphere", "mesh", "capsule")
MOMENT_ENTRIES = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
EXTENSION, NO_EFFECT = "UR107", "UR108"


def _origin(meaning: str) -> Element:
    return Element(
        "origin",
        "?",
        meaning,
        attributes=[
            Attribute("xyz", VECTOR, "Position.", default="0 0 0", unit="m"),
            Attribute("rpy", VECTOR, "Turns about the fixed x, then y, then z axis.", default="0 0 0", unit="rad"),
        ],
    )


def _length(name: str, meaning: str) -> Attribute:
    return Attribute(name, REAL, meaning, required=True, unit="m")


def _number(name: str, meaning: str, unit: str = "", default: str = "", required: bool = False) -> Attribute:
    return Attribute(name, REAL, meaning, required=required, unit=unit, default=default)


def _extension(name: str, meaning: str) -> Element:
    """Data of other programs: not looked into."""
    return Element(name, "*", meaning, remark=EXTENSION, opaque=True)


_EXTENSIONS = (
    _extension("gazebo", "What Gazebo alone wants to know."),
    _extension("transmission", "How motors drive joints, for ros_control."),
    _extension("ros2_control", "Hardware interfaces, for ros2_control."),
    _extension("sensor", "A sensor; readers differ in what they make of it."),
    _extension("mujoco", "Options for MuJoCo's compiler."),
)

# --- links ------------------------------------------------------------------------------------------

_INERTIAL = Element(
    "inertial",
    "?",
    "Mass properties; a link without has no mass.",
    _origin("The centre of mass and the axes of the moments, in the link's frame."),
    Element("mass", "1", "The mass.", attributes=[_number("value", "Mass.", "kg", required=True)]),
    Element(
        "inertia",
        "1",
        "The moments about the centre of mass; off-diagonals are entries of the tensor.",
        attributes=[
            _number(entry, "An entry of the tensor.", "kg·m²", "0", required=entry[1] == entry[2])
            for entry in MOMENT_ENTRIES
        ],
    ),
)

_GEOMETRY = Element(
    "geometry",
    "1",
    "The geometry: exactly one of its children.",
    Element("box", "?", "A box.", attributes=[Attribute("size", VECTOR, "Edge lengths.", required=True, unit="m")]),
    Element(
        "cylinder",
        "?",
        "A cylinder along z, centred.",
        attributes=[_length("radius", "Radius."), _length("length", "Length along z.")],
    ),
    Element("sphere", "?", "A sphere.", attributes=[_length("radius", "Radius.")]),
    Element(
        "mesh",
        "?",
        "Triangles in a file.",
        attributes=[
            Attribute("filename", FILE, "The file.", required=True),
            Attribute("scale", VECTOR, "Factors along the axes.", default="1 1 1"),
        ],
    ),
    Element(
        "capsule",
        "?",
        "A capsule along z, centred; an addition of late versions that many readers do not know.",
        attributes=[_length("radius", "Radius."), _length("length", "Length of the cylindrical part.")],
    ),
    one_of=GEOMETRIES,
)


def _material(card: str, meaning: str) -> Element:
    return Element(
        "material",
        card,
        meaning,
        Element("color", "?", "The colour.", attributes=[Attribute("rgba", RGBA, "From 0 to 1.", required=True)]),
        Element(
            "texture",
            "?",
            "A picture on the surface.",
            attributes=[Attribute("filename", TEXT, "The file.")],
            remark=f"{NO_EFFECT}.texture",
        ),
        attributes=[Attribute("name", NAME, "Its name.", demanded=True)],
    )


_SHAPE_NAME = Attribute("name", TEXT, "Its name.")
_VISUAL = Element(
    "visual",
    "*",
    "What is seen.",
    _origin("The geometry's frame in the link's."),
    _GEOMETRY,
    _material("?", "Its colour, or the name of a material of the robot."),
    attributes=[_SHAPE_NAME],
)
_COLLISION = Element(
    "collision",
    "*",
    "What touches others.",
    _origin("The geometry's frame in the link's."),
    _GEOMETRY,
    Element("verbose", "?", "Nobody's business.", attributes=[Attribute("value", TEXT, "")], remark=NO_EFFECT),
    attributes=[_SHAPE_NAME],
)
_LINK = Element(
    "link",
    "*",
    "A rigid body; its frame is that of the joint that holds it.",
    _INERTIAL,
    _VISUAL,
    _COLLISION,
    *_EXTENSIONS,
    attributes=[
        Attribute("name", NAME, "Its name, unique among links.", demanded=True),
        Attribute("type", TEXT, "Of no meaning."),
    ],
    streamed=True,
)

# --- joints -----------------------------------------------------------------------------------------


def _end(name: str, meaning: str) -> Element:
    return Element(name, "1", meaning, attributes=[Attribute("link", LINK, "Its name.", required=True)])


_JOINT = Element(
    "joint",
    "*",
    "What ties a link to its parent.",
    _origin("The joint's frame, which is the child's, in the parent's at position zero."),
    _end("parent", "The link it hangs on."),
    _end("child", "The link it holds."),
    Element(
        "axis",
        "?",
        "The axis of motion, or the normal of a planar joint, in the joint's frame.",
        attributes=[Attribute("xyz", VECTOR, "A direction.", required=True, default="1 0 0")],
    ),
    Element(
        "limit",
        "?",
        "Limits; revolute and prismatic joints need them.",
        attributes=[
            _number("lower", "Lowest position.", "rad, m", "0"),
            _number("upper", "Highest position.", "rad, m", "0"),
            Attribute("effort", REAL, "Largest force.", demanded=True, unit="N·m, N"),
            Attribute("velocity", REAL, "Highest velocity.", demanded=True, unit="rad/s, m/s"),
        ],
    ),
    Element(
        "dynamics",
        "?",
        "Resistance to motion.",
        attributes=[
            _number("damping", "Force by velocity.", "N·m·s/rad, N·s/m", "0"),
            _number("friction", "Coulomb friction.", "N·m, N", "0"),
        ],
    ),
    Element(
        "mimic",
        "?",
        "Follow another joint: position = multiplier · its position + offset.",
        attributes=[
            Attribute("joint", NAME, "The joint to follow.", required=True),
            _number("multiplier", "Factor.", default="1"),
            _number("offset", "Offset.", "rad, m", "0"),
        ],
    ),
    Element(
        "calibration",
        "?",
        "Reference positions of encoders.",
        attributes=[Attribute(n, TEXT, "") for n in ("rising", "falling", "reference_position")],
        remark=NO_EFFECT,
    ),
    Element(
        "safety_controller",
        "?",
        "Soft limits of a controller.",
        attributes=[
            Attribute(n, TEXT, "") for n in ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity")
        ],
        remark=NO_EFFECT,
    ),
    *_EXTENSIONS,
    attributes=[
        Attribute("name", NAME, "Its name, unique among joints.", demanded=True),
        Attribute("type", JOINT_TYPE, "What it allows.", required=True),
    ],
    streamed=True,
)

URDF = Vocabulary(
    "urdf",
    "URDF, the robot format of ROS",
    Element(
        "robot",
        "1",
        "The root: one robot.",
        _material("*", "A colour for visuals to name."),
        _LINK,
        _JOINT,
        *_EXTENSIONS,
        attributes=[
            Attribute("name", NAME, "The robot's name.", demanded=True),
            Attribute("version", TEXT, "Version of the format."),
        ],
    ),
    StructureCodes(
        unknown_element="UR101",
        unknown_prefixed_element="UR101.prefixed",
        unknown_attribute="UR102",
        unknown_prefixed_attribute="UR102.prefixed",
        repeated="UR103",
        stray_text="UR104",
        missing_child="UR105",
        missing_attribute="UR106",
        empty="UR104",
        split_text="UR104",
    ),
)
