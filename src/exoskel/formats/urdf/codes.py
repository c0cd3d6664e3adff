"""The diagnostics of the URDF reader."""

from __future__ import annotations

from exoskel.diagnostics import LIMIT_HINT, Catalogue, Fix, Topic, error, info, warning
from exoskel.formats.macro_codes import macro_topic

_DOCUMENT = (
    Topic(
        "UR001",
        "Not well-formed XML",
        "The file is not XML, is another kind of file, or exceeds the limits. Nothing is loaded from it.",
        error("UR001", "not well-formed XML: {reason}", "{hint}"),
        error("UR001.limit", "{reason}", LIMIT_HINT),
        error("UR001.kind", "not a URDF file: {reason}", "{hint}"),
    ),
    Topic(
        "UR002",
        "Root is not robot",
        "The root element of a URDF document is `robot`.",
        error("UR002", "the root element is <{root}>, not <robot>"),
        error("UR002.format", "the root element is <{root}>: this is {format}, not URDF", "{hint}"),
    ),
    Topic(
        "UR003",
        "Document type declaration",
        "Entities are never expanded: they can exhaust the memory or read other files.",
        error(
            "UR003.entity",
            "the document declares entities, which are refused for security",
            "replace each entity with its text",
        ),
        warning("UR003.doctype", "the document type declaration has no effect", "remove it"),
    ),
    macro_topic("UR004", "URDF", ".urdf"),
    Topic("UR005", "No link", "A robot has at least one link.", error("UR005", "the robot has no link")),
)

_STRUCTURE = (
    Topic(
        "UR101",
        "Unknown element",
        "The element is not part of URDF. It is ignored with all its content, as in other readers.",
        info("UR101", "unknown element <{element}> in <{parent}>", "{suggestion}"),
        warning("UR101.misspelt", "unknown element <{element}> in <{parent}>", "{suggestion}"),
        info("UR101.prefixed", "<{element}> is in another namespace; it is ignored"),
    ),
    Topic(
        "UR102",
        "Unknown attribute",
        "The attribute is not part of URDF. It is ignored.",
        info("UR102", "unknown attribute '{name}' on <{element}>", "{suggestion}"),
        warning("UR102.misspelt", "unknown attribute '{name}' on <{element}>", "{suggestion}"),
        info("UR102.prefixed", "attribute '{name}' on <{element}> is in another namespace; it is ignored"),
    ),
    Topic(
        "UR103",
        "Duplicate element",
        "The element may appear only once. The first is used.",
        warning("UR103", "duplicate <{element}>; the first, on line {line}, is used"),
    ),
    Topic(
        "UR104",
        "Stray text",
        "URDF stores all data in attributes. Text has no effect.",
        warning("UR104", "text '{token}' in <{element}> has no effect"),
    ),
    Topic(
        "UR105", "Missing element", "The element requires this child.", error("UR105", "<{parent}> has no <{element}>")
    ),
    Topic(
        "UR106",
        "Missing attribute",
        "The element requires this attribute. Each message states what is used instead.",
        error("UR106", "<{element}> has no '{attribute_name}'"),
        warning("UR106.name", "<{element}> has no name; it is named '{name}'"),
        warning("UR106.limit", "<limit> has no '{attribute_name}'; it is unlimited"),
    ),
    Topic(
        "UR107",
        "Data of another program",
        "Gazebo, ros_control and other programs store their own data in URDF files. It is ignored.",
        info("UR107", "<{element}> is for another program; it is ignored"),
    ),
    Topic(
        "UR108",
        "No effect",
        "The element does not affect the physics. It is ignored.",
        info("UR108", "<{element}> has no effect"),
    ),
    Topic(
        "UR109",
        "Motors of ros2_control",
        "The command of an effort interface is the force on a joint. It is read as a motor, an actuator of the scene, "
        "with the stated range, or that of the effort limit. The `initial_value` of a state interface is the initial "
        "position or velocity of its joint. Hardware and other parameters are ignored. "
        "Transmissions are not read if a file has a ros2_control element.",
        info("UR109", "the effort interfaces of <{element}> are read as actuators ({count}); the rest is ignored"),
        info("UR109.initial", "the initial values of <{element}> are read as the initial state of joints ({count})"),
    ),
    Topic(
        "UR110",
        "Interface without gains",
        "A position or velocity interface has a command, but the file does not state the gains of its controller. The "
        "force is unknown, so the interface is not an actuator of the scene.",
        info("UR110", "the {interface} interface of joint '{joint}' has no gains; it is ignored"),
    ),
    Topic(
        "UR111",
        "Unknown joint of an interface",
        "A ros2_control or transmission element refers to a joint that the robot does not have. Its interfaces are "
        "ignored.",
        warning("UR111", "unknown joint '{name}' in <{element}>; its interfaces are ignored", "{suggestion}"),
    ),
    Topic(
        "UR112",
        "Invalid value of an interface",
        "The parameters `min`, `max` and `initial_value` of an interface are finite numbers, and `min` is not larger "
        "than `max`. Other values are ignored.",
        warning("UR112", "'{value}' is not a finite number; the parameter '{name}' is ignored"),
        warning("UR112.range", "the minimum {low} is larger than the maximum {high}; both are ignored"),
    ),
)

_VALUES = (
    Topic(
        "UR201",
        "Not a number",
        "A number consists of decimal digits with an optional sign, point and exponent.",
        error("UR201", "'{value}' is not a number"),
    ),
    Topic(
        "UR202", "Number is not finite", "Numbers must be finite.", error("UR202", "'{value}' is not a finite number")
    ),
    Topic(
        "UR203",
        "Wrong number of values",
        "The attribute takes a fixed number of values.",
        error("UR203", "'{name}': expected {wanted} numbers, found {found}"),
    ),
    Topic(
        "UR204",
        "Invalid choice",
        "The attribute takes one of a few values. A joint of unknown type is read as fixed.",
        error("UR204", "'{value}' is not one of {choices}", "{suggestion}"),
    ),
    Topic("UR205", "Empty name", "A name must not be empty.", error("UR205", "'{name}' is empty")),
)

_TREE = (
    Topic(
        "UR301",
        "Duplicate name",
        "The names of links, joints and materials are unique. A link or joint with a duplicate name gets a number. "
        "Of several materials with the same name, the first is used.",
        error("UR301", "duplicate {element} name '{name}'; it is renamed to '{renamed}'"),
        warning("UR301.material", "duplicate material '{name}'; the first is used"),
    ),
    Topic(
        "UR302",
        "Unknown link",
        "A joint refers to a link that does not exist. The joint is ignored, unless its parent is `world`: that is the "
        "world, as in Drake. Most other programs reject such a file.",
        error("UR302", "unknown {end} link '{link}'; joint '{joint}' is ignored", "{suggestion}"),
        warning(
            "UR302.world",
            "unknown parent link 'world'; joint '{joint}' attaches link '{link}' to the world",
            'add <link name="world"/>',
        ),
        error("UR302.ends", "joint '{joint}' lacks a parent or child; it is ignored"),
    ),
    Topic(
        "UR303",
        "Two parents",
        "A link has one parent joint, because a URDF robot is a tree. The first joint is used.",
        error("UR303", "link '{link}' already has the parent joint '{first}'; joint '{joint}' is ignored"),
    ),
    Topic(
        "UR304",
        "Cycle",
        "The links form a cycle without a root. The joint that closes the cycle is ignored.",
        error("UR304", "joint '{joint}' closes a cycle through link '{link}'; it is ignored"),
    ),
    Topic(
        "UR305",
        "Several roots",
        "A robot is one tree. If there are several, each moves freely.",
        error("UR305", "link '{link}' has no parent joint, but '{first}' is the root; it moves freely"),
    ),
)

_LINKS = (
    Topic(
        "UR401",
        "Mass out of range",
        "A mass must not be negative; 0 is used.",
        error("UR401", "the mass of link '{link}' is negative: {mass}; 0 is used"),
    ),
    Topic(
        "UR402",
        "Unphysical inertia",
        "No mass distribution has this inertia: the principal moments must be positive, and none may exceed the sum of "
        "the other two. The values are used as given; physics engines may reject them.",
        warning("UR402", "the inertia of link '{link}' is not physical: principal moments {moments}"),
        warning("UR402.massless", "link '{link}' has moments of inertia but no mass"),
    ),
    Topic(
        "UR403",
        "Missing or ambiguous geometry",
        "A shape has one geometry. Of several, the first that URDF's own parser tries is used. A shape without "
        "geometry is ignored.",
        error("UR403", "<geometry> contains no known geometry; the shape is ignored"),
        warning("UR403.several", "<geometry> contains {kinds}; {taken} is used"),
        info("UR403.capsule", "many readers do not support <capsule>", "use a cylinder and two spheres"),
    ),
    Topic(
        "UR404",
        "Size out of range",
        "Lengths must be positive, and scales must not be zero. Otherwise the shape is ignored.",
        error("UR404", "'{name}' of <{element}> is {value}; the shape is ignored"),
    ),
    Topic(
        "UR405",
        "Mesh file",
        "A mesh whose file is missing or unreadable stays in the scene as a reference, without vertices.",
        warning("UR405.lost", "mesh '{uri}' {reason}", "{hint}"),
        info("UR405.odd", "unusual mesh reference '{uri}': {finding}"),
    ),
    Topic(
        "UR406",
        "Unknown material",
        "A visual refers to a material that the robot does not define. The shape has no colour.",
        warning("UR406", "unknown material '{name}'", "{suggestion}"),
    ),
    Topic(
        "UR408",
        "Texture",
        "A texture whose image is missing or unreadable stays in the scene as a reference.",
        warning("UR408", "texture '{uri}' {reason}", "{hint}"),
    ),
    Topic(
        "UR407",
        "World link with mass or shapes",
        "A root link named `world` represents the world. If it has mass or shapes, it becomes a body welded to the "
        "world.",
        info("UR407", "the link 'world' has mass or shapes; it becomes a body welded to the world"),
    ),
)

_JOINTS = (
    Topic(
        "UR501",
        "Zero axis",
        "An axis must not be zero. The x axis, which is the default, is used.",
        error("UR501", "the axis of joint '{joint}' is zero; 1 0 0 is used"),
    ),
    Topic(
        "UR502",
        "Limits",
        "Revolute and prismatic joints require limits. Without them, the joint is unlimited. If lower and upper are "
        "reversed, they are swapped.",
        error("UR502", "{kind} joint '{joint}' has no <limit>; it is unlimited"),
        error(
            "UR502.order",
            "the lower limit {lower} of joint '{joint}' exceeds the upper limit {upper}; they are swapped",
        ),
        error("UR502.negative", "'{name}' of joint '{joint}' is negative: {value}; its absolute value is used"),
        info("UR502.zero", "'{name}' of joint '{joint}' is 0; it is read as a limit of 0"),
    ),
    Topic(
        "UR503",
        "Mimic",
        "A joint can mimic another joint of the robot with the same number of degrees of freedom. Otherwise the "
        "element is ignored.",
        error("UR503", "joint '{joint}' mimics the unknown joint '{other}'", "{suggestion}"),
        error("UR503.self", "joint '{joint}' mimics itself through '{other}'"),
        warning(
            "UR503.unlike", "joint '{joint}' cannot mimic '{other}': they have {own} and {theirs} degrees of freedom"
        ),
    ),
    Topic(
        "UR504",
        "Negative damping or friction",
        "Damping and friction must not be negative; 0 is used.",
        error("UR504", "'{name}' of joint '{joint}' is negative: {value}; 0 is used"),
    ),
    Topic(
        "UR505",
        "Planar joint",
        "URDF does not define the coordinates of a planar joint. Here they are two translations in the plane and a "
        "rotation about its normal, as in DART and MuJoCo. The translations are along the x and y axes after the "
        "rotation that aligns z with the normal.",
        info("UR505", "readers interpret planar joints such as '{joint}' differently"),
    ),
)

_APPROXIMATED = (
    Topic(
        "UR601",
        "Joint written as other joints",
        "URDF has fixed, revolute, continuous, prismatic, planar and floating joints. Others become chains of them.",
        warning(
            "UR601.screw",
            "written as a prismatic joint that mimics a revolute joint; readers that ignore mimic lose the coupling",
        ),
        warning("UR601.ball", "written as three revolute joints about x, y, z, with gimbal lock at 90 degrees about y"),
        warning("UR601.hinge2", "written as two revolute joints: URDF has no suspension"),
        warning("UR601.amotor", "written as a floating joint: URDF has no motors"),
        warning(
            "UR601.free",
            "written as three prismatic and three revolute joints: URDF readers support floating joints only at the "
            "world",
        ),
    ),
    Topic(
        "UR602",
        "Shape written as other shapes",
        "URDF has boxes, cylinders, spheres, and meshes in files. Other shapes become boxes or spheres.",
        warning("UR602", "written as its bounding box: URDF does not support this geometry"),
        warning("UR602.plane", "written as a box of {size} m by {size} m below the plane: URDF has no planes"),
        warning("UR602.spheres", "written as its spheres, without their convex hull"),
    ),
    Topic(
        "UR603",
        "One limit for both directions",
        "URDF has one number for both directions of a velocity or force limit.",
        warning("UR603", "its {limits} differ in the two directions: the larger is written"),
    ),
    Topic(
        "UR604",
        "Negative damping or friction",
        "Readers of URDF ignore damping and friction that are negative.",
        warning("UR604", "its {field} is negative: not supported by URDF"),
    ),
    Topic(
        "UR605",
        "Repeated texture",
        "URDF does not repeat textures.",
        warning("UR605", "URDF does not repeat textures: the image is written once"),
    ),
    Topic(
        "UR606",
        "Ignored by DART",
        "DART 6.20 reads a URDF file without some of its parts. Reported for `--for dart`.",
        warning("UR606", "DART's URDF reader ignores {what}"),
        warning(
            "UR606.limits",
            "DART's URDF reader does not enforce limits of joints",
            "call setLimitEnforcement(True) on each joint in the program",
        ),
    ),
)

_NOT_WRITTEN = (
    Topic(
        "UR701",
        "Joint that closes a loop",
        "The joints of a URDF robot form a tree.",
        warning("UR701", "not written: URDF robots are trees, and this joint closes a loop"),
    ),
    Topic(
        "UR702",
        "Unsupported shapes",
        "URDF has no counterpart of the shape.",
        warning("UR702.faces", "not written: the shape has no faces"),
        warning("UR702.ray", "not written: URDF has no rays"),
    ),
    Topic(
        "UR703",
        "Joint that mimics itself",
        "A joint that mimics itself through other joints is refused by readers of URDF.",
        warning("UR703", "its mimic is not written: it mimics itself through other joints"),
    ),
)

_ELEMENT = Fix("rename", "use <{nearest}>", name="{nearest}", preserves_meaning=False)
_ATTRIBUTE = Fix("rename_attribute", "use '{nearest}'", name="{nearest}", preserves_meaning=False)
_WORD = Fix("replace", "use '{nearest}'", text="{nearest}", preserves_meaning=False)
_FIXES = {
    "UR101": _ELEMENT,
    "UR101.misspelt": _ELEMENT,
    "UR102": _ATTRIBUTE,
    "UR102.misspelt": _ATTRIBUTE,
    "UR204": _WORD,
    "UR302": _WORD,
    "UR406": _WORD,
    "UR503": _WORD,
}
"""The automatic fixes, by the key of the diagnostic.  Any program may add elements to URDF: only names that differ from
a single known one by a typo are fixed without asking."""

CATALOGUE = Catalogue(
    "URDF readers",
    (
        *(*_DOCUMENT, *_STRUCTURE, *_VALUES, *_TREE, *_LINKS, *_JOINTS),
        *(*_APPROXIMATED, *_NOT_WRITTEN),
    ),
    _FIXES,
)
