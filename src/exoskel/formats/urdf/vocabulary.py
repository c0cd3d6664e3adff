"""The vocabulary of URDF: every element and attribute, its place and its meaning."""

from __future__ import annotations

from typing import Any

from exoskel.diagnostics import did_you_mean
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint, JointKind
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.source import numbers
from exoskel.source.vocabulary import (
    ABSENT,
    STRUCTURE,
    Attribute,
    Element,
    Finding,
    Outcome,
    SceneField,
    StructureCodes,
    Text,
    ValueType,
    Vocabulary,
    dof_field,
    unused,
)

_SPACE = " \t\r\n"


class UrdfReal(ValueType):
    """A finite decimal number."""

    def __init__(self) -> None:
        super().__init__("number", "a decimal number", pattern=rf"\s*{numbers.DECIMAL}\s*")

    def parse_valid(self, text: str) -> float | None:
        return numbers.parse_decimal(text.strip(_SPACE))

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (_number_finding(text.strip(_SPACE)),))


class NumberRow(ValueType):
    """A fixed number of numbers, separated by spaces."""

    def __init__(self, name: str, count: int) -> None:
        more = rf"(\s+{numbers.DECIMAL}){{{count - 1}}}"
        meaning = f"{count} decimal numbers, separated by spaces"
        super().__init__(name, meaning, pattern=rf"\s*{numbers.DECIMAL}{more}\s*")
        self.count = count

    def parse_valid(self, text: str) -> tuple[float, ...] | None:
        values = [numbers.parse_decimal(token) for token in text.split()]
        found = tuple(value for value in values if value is not None)
        return found if len(found) == len(values) == self.count else None

    def examine(self, text: str, literal: bool) -> Outcome:
        tokens = text.split()
        wrong = next((token for token in tokens if numbers.parse_decimal(token) is None), None)
        if wrong is not None:
            return Outcome(ABSENT, (_number_finding(wrong),))
        return Outcome(ABSENT, (_finding("UR203", text.strip(_SPACE), wanted=self.count, found=len(tokens)),))


class UrdfChoice(ValueType):
    """One of a few texts."""

    def __init__(self, name: str, choices: tuple[str, ...]) -> None:
        super().__init__(name, "one of " + ", ".join(f"`{word}`" for word in choices), enumeration=choices)
        self.choices = choices

    def parse_valid(self, text: str) -> str | None:
        return text if text in self.choices else None

    def examine(self, text: str, literal: bool) -> Outcome:
        token = text.strip(_SPACE)
        suggestion = did_you_mean(token, self.choices)
        return Outcome(ABSENT, (_finding("UR204", token, choices=", ".join(self.choices), suggestion=suggestion),))


class UrdfName(ValueType):
    """Any text that is not empty."""

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(name, meaning, pattern=r"[\s\S]*\S[\s\S]*")

    def parse_valid(self, text: str) -> str | None:
        return text if text.strip(_SPACE) else None

    def examine(self, text: str, literal: bool) -> Outcome:
        return Outcome(ABSENT, (Finding("UR205"),))


def _number_finding(token: str) -> Finding:
    is_not_finite = numbers.parse_infinity(token) is not None or numbers.is_nan(token) or numbers.overflows(token)
    return _finding("UR202" if is_not_finite else "UR201", token)


def _finding(key: str, token: str, **details: Any) -> Finding:
    return Finding(key, token, {"value": token, **details})


JOINT_KINDS: dict[str, JointKind] = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "weld",
    "floating": "free",
    "planar": "planar",
}
"""The joint kinds of URDF's joint types; of several types with the same kind, the first has limits."""

REAL = UrdfReal()
VECTOR = NumberRow("vector", 3)
RGBA = NumberRow("colour", 4)
NAME = UrdfName("name", "any text")
LINK = UrdfName("link name", "the name of a link")
FILE = UrdfName("file", "a path or URI, for example `package://NAME/…`")
JOINT_TYPE = UrdfChoice("joint type", tuple(JOINT_KINDS))
TEXT = Text("text", "any text")


GEOMETRIES = ("box", "cylinder", "sphere", "mesh", "capsule")
MOMENT_ENTRIES = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
EXTENSION, NO_EFFECT = "UR107", "UR108"
VERSION = unused("the output states the version of its own format")


def _origin(meaning: str, field: SceneField | str, position: SceneField | None = None) -> Element:
    return Element(
        "origin",
        "?",
        meaning,
        attributes=[
            Attribute("xyz", VECTOR, "Position.", default="0 0 0", unit="m", field=position),
            Attribute(
                "rpy", VECTOR, "Roll, pitch, yaw: rotations about the fixed x, y, z axes.", default="0 0 0", unit="rad"
            ),
        ],
        field=field,
    )


def _length(name: str, meaning: str) -> Attribute:
    return Attribute(name, REAL, meaning, required=True, unit="m")


def _number(
    name: str,
    meaning: str,
    unit: str = "",
    default: str = "",
    required: bool = False,
    field: SceneField | None = None,
) -> Attribute:
    return Attribute(name, REAL, meaning, required=required, unit=unit, default=default, field=field)


def _inertia(part: str) -> SceneField:
    return SceneField("inertia", parts=(part,))


def _extension(
    name: str,
    meaning: str,
    *attributes: str,
    field: SceneField | None = None,
    attribute_field: SceneField | None = None,
) -> Element:
    """Data of another program, which is not read, or only in part."""
    made = [Attribute(one, TEXT, "", field=attribute_field) for one in attributes]
    return Element(name, "*", meaning, attributes=made, occurrence_code=EXTENSION, opaque=True, field=field)


MOTORS = SceneField("actuators", owner="world")
"""What command interfaces state."""
HARDWARE = unused("hardware of ros2_control: not part of a scene")
_EXTENSIONS = (
    _extension("gazebo", "Data for Gazebo.", "reference"),
    _extension(
        "transmission",
        "Transmission of a joint, for ros_control: effort interfaces are read.",
        *("name", "type"),
        field=MOTORS,
    ),
    _extension(
        "ros2_control",
        "Hardware interfaces, for ros2_control: effort interfaces are read.",
        *("name", "type", "rw_rate", "is_async", "thread_priority"),
        field=MOTORS,
        attribute_field=HARDWARE,
    ),
    _extension("sensor", "A sensor; support differs between readers.", "name", "type", "update_rate"),
    Element(
        "mujoco",
        "*",
        "Options for MuJoCo's compiler.",
        Element(
            "compiler",
            "?",
            "How MuJoCo reads the file.",
            attributes=[Attribute("strippath", TEXT, "Whether to remove the folders of mesh files.")],
            opaque=True,
        ),
        occurrence_code=EXTENSION,
        opaque=True,
    ),
)

# --- links ------------------------------------------------------------------------------------------

_INERTIAL = Element(
    "inertial",
    "?",
    "Mass properties; without it, the link has no mass.",
    _origin("Centre of mass and orientation of the moments, in the link frame.", "inertia", _inertia("com")),
    Element(
        "mass", "1", "The mass.", attributes=[_number("value", "Mass.", "kg", required=True)], field=_inertia("mass")
    ),
    Element(
        "inertia",
        "1",
        "Inertia tensor about the centre of mass.",
        attributes=[
            _number(
                entry,
                "Entry of the tensor.",
                "kg·m²",
                "0",
                required=entry[1] == entry[2],
                field=_inertia("moment" if entry[1] == entry[2] else "products"),
            )
            for entry in MOMENT_ENTRIES
        ],
    ),
    field="inertia",
)

_GEOMETRY = Element(
    "geometry",
    "1",
    "The geometry: exactly one child.",
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
        "A triangle mesh in a file.",
        attributes=[
            Attribute("filename", FILE, "The file.", required=True),
            Attribute("scale", VECTOR, "Scale factors along the axes.", default="1 1 1"),
        ],
    ),
    Element(
        "capsule",
        "?",
        "A capsule along z, centred; many readers do not support it.",
        attributes=[_length("radius", "Radius."), _length("length", "Length of the cylindrical part.")],
    ),
    one_of=GEOMETRIES,
    field=STRUCTURE,
    content="geometry",
    states=("geometry",),
)


def _material(card: str, meaning: str, field: SceneField | str, name: Attribute) -> Element:
    return Element(
        "material",
        card,
        meaning,
        Element(
            "color",
            "?",
            "The colour.",
            attributes=[Attribute("rgba", RGBA, "Red, green, blue and alpha, from 0 to 1.", required=True)],
        ),
        Element(
            "texture",
            "?",
            "An image, whose colours are multiplied by the colour.",
            attributes=[Attribute("filename", TEXT, "The file.")],
            field=SceneField("material", ("texture",), owner=field.owner if isinstance(field, SceneField) else ""),
        ),
        attributes=[name],
        field=field,
    )


_SHAPE_NAME = Attribute("name", TEXT, "Name.", field="name")
VISUAL_ELEMENT = Element(
    "visual",
    "*",
    "A visual shape.",
    _origin("Pose of the geometry in the link frame.", "pose"),
    _GEOMETRY,
    _material(
        "?",
        "A colour, or the name of a material of the robot.",
        "color",
        Attribute("name", TEXT, "Name; may be empty, as in files of SolidWorks.", demanded=True),
    ),
    attributes=[_SHAPE_NAME],
    item=Shape,
    states=("visuals",),
)
COLLISION_ELEMENT = Element(
    "collision",
    "*",
    "A collision shape.",
    _origin("Pose of the geometry in the link frame.", "pose"),
    _GEOMETRY,
    Element(
        "verbose",
        "?",
        "Debug output setting; ignored.",
        attributes=[Attribute("value", TEXT, "")],
        occurrence_code=NO_EFFECT,
    ),
    attributes=[_SHAPE_NAME],
    item=Shape,
    states=("collisions",),
)
LINK_ELEMENT = Element(
    "link",
    "*",
    "A rigid body; its frame is the frame of its parent joint.",
    _INERTIAL,
    VISUAL_ELEMENT,
    COLLISION_ELEMENT,
    *_EXTENSIONS,
    attributes=[
        Attribute("name", NAME, "Name, unique among links.", demanded=True, field="name"),
        Attribute("type", TEXT, "No meaning.", field=unused("no meaning in URDF")),
    ],
    streamed=True,
    item=Body,
)

# --- joints -----------------------------------------------------------------------------------------


def _end(name: str, meaning: str) -> Element:
    return Element(
        name, "1", meaning, attributes=[Attribute("link", LINK, "Name of the link.", required=True)], field=name
    )


JOINT_ELEMENT = Element(
    "joint",
    "*",
    "A joint between two links.",
    _origin(
        "Frame of the joint and of its child, in the parent link frame at position zero.",
        SceneField("pose", owner="child"),
    ),
    _end("parent", "The parent link."),
    _end("child", "The child link."),
    Element(
        "axis",
        "?",
        "Axis of motion, or normal of a planar joint, in the joint frame.",
        attributes=[Attribute("xyz", VECTOR, "Direction of the axis.", required=True, default="1 0 0")],
        field="axes",
    ),
    Element(
        "limit",
        "?",
        "Limits; required for revolute and prismatic joints.",
        attributes=[
            _number("lower", "Lower position limit.", "rad, m", "0", field=dof_field("position_limits")),
            _number("upper", "Upper position limit.", "rad, m", "0", field=dof_field("position_limits")),
            Attribute(
                "effort",
                REAL,
                "Maximum force or torque.",
                demanded=True,
                unit="N·m, N",
                field=dof_field("force_limits"),
            ),
            Attribute(
                "velocity",
                REAL,
                "Maximum velocity.",
                demanded=True,
                unit="rad/s, m/s",
                field=dof_field("velocity_limits"),
            ),
        ],
        field=STRUCTURE,
        states=("dofs",),
    ),
    Element(
        "dynamics",
        "?",
        "Damping and friction.",
        attributes=[
            _number("damping", "Damping coefficient.", "N·m·s/rad, N·s/m", "0", field=dof_field("damping")),
            _number("friction", "Coulomb friction.", "N·m, N", "0", field=dof_field("friction")),
        ],
        field=STRUCTURE,
        states=("dofs",),
    ),
    Element(
        "mimic",
        "?",
        "Mimic another joint: position = multiplier · its position + offset.",
        attributes=[
            Attribute("joint", NAME, "Name of the joint to mimic.", required=True),
            _number("multiplier", "Factor.", default="1"),
            _number("offset", "Offset.", "rad, m", "0"),
        ],
        field="mimic",
    ),
    Element(
        "calibration",
        "?",
        "Reference positions of encoders.",
        attributes=[Attribute(n, REAL, "") for n in ("rising", "falling", "reference_position")],
        occurrence_code=NO_EFFECT,
    ),
    Element(
        "safety_controller",
        "?",
        "Soft limits of a controller.",
        attributes=[
            Attribute(n, REAL, "") for n in ("soft_lower_limit", "soft_upper_limit", "k_position", "k_velocity")
        ],
        occurrence_code=NO_EFFECT,
    ),
    *_EXTENSIONS,
    attributes=[
        Attribute("name", NAME, "Name, unique among joints.", demanded=True, field="name"),
        Attribute("type", JOINT_TYPE, "Joint type.", required=True, field="kind"),
    ],
    streamed=True,
    item=Joint,
)

DYNAMICS = JOINT_ELEMENT.children["dynamics"].part_of_each_row("dofs")
"""Attributes of `dynamics`, with an `@`, and the fields of a degree of freedom that they set."""
SYMMETRIC_LIMITS = {
    name: part
    for name, part in JOINT_ELEMENT.children["limit"].part_of_each_row("dofs").items()
    if part != "position_limits"
}
"""Attributes of `limit`, with an `@`, that hold for both directions, and the fields that they set."""

ROBOT_ELEMENT = Element(
    "robot",
    "1",
    "The root element: one robot.",
    _material(
        "*",
        "A named material for visuals.",
        SceneField("color", owner="shapes"),
        Attribute("name", NAME, "Name.", demanded=True),
    ),
    LINK_ELEMENT,
    JOINT_ELEMENT,
    *_EXTENSIONS,
    attributes=[
        Attribute("name", NAME, "Name of the robot.", demanded=True, field="name"),
        Attribute("version", TEXT, "Version of the format.", field=VERSION),
    ],
    item=Model,
)

URDF = Vocabulary(
    "urdf",
    "URDF, the robot format of ROS",
    ROBOT_ELEMENT,
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
