"""The vocabulary of XODE: every element and attribute, its parent, its meaning and the scene field it sets."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from exoskel.formats.xode.transforms import TRANSFORM, float_attributes, transform_element
from exoskel.formats.xode.values import (
    BODY,
    BOOLEAN,
    FLAG,
    FLOAT,
    INTEGER,
    MODE,
    NAME,
    POSITIVE,
    STOP,
    TEXT,
    VERSION,
)
from exoskel.scene.body import Body
from exoskel.scene.joint import TRAITS, Joint, JointKind
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.embedded_format import EXTENSION
from exoskel.source.vocabulary import STRUCTURE, Attribute, Element, SceneField, StructureCodes, Vocabulary, unused

SHAPES = ("box", "cappedCylinder", "cone", "cylinder", "plane", "ray", "sphere", "trimesh")
MASS_SHAPES = ("box", "sphere", "cappedCylinder", "cylinder")
_NO_MASS_SHAPES = {"cone": ("radius", "length"), "plane": tuple("abcd"), "ray": ("length",), "trimesh": ()}
"""Geom shapes that are not mass shapes, with their attributes."""
JOINT_KINDS: dict[str, JointKind] = {
    "amotor": "amotor",
    "ball": "ball",
    "fixed": "weld",
    "hinge": "revolute",
    "hinge2": "hinge2",
    "slider": "prismatic",
    "universal": "universal",
}
"""The joint kinds of XODE's joint types."""
GROUPS = frozenset({"space", "group", "jointgroup"})
"""Elements that only group others."""
LEAST_VERTICES = 3
_LABEL = unused("a label that nothing refers to")


def _state(part: str) -> SceneField:
    return SceneField("state", parts=(part,))


def _sizes(**meanings: str) -> list[Attribute]:
    return [Attribute(name, POSITIVE, meaning, required=True, unit="m") for name, meaning in meanings.items()]


def _name(meaning: str, field: SceneField | str = "name") -> list[Attribute]:
    return [Attribute("name", NAME, meaning, field=field)]


_EXT = Element(
    EXTENSION.tag,
    "*",
    "Data of another application; preserved, without effect on other elements.",
    attributes=[
        Attribute(EXTENSION.name_attribute, TEXT, "Name of the extension."),
        Attribute("name", TEXT, "Alternative name of `ename`, used by one reader."),
    ],
    unknown_attribute_code="X903",
    opaque=True,
    extension=True,
)
_TOLERATED_EXT = Element(
    EXTENSION.tag,
    "*",
    "Accepted here, without effect.",
    attributes=_EXT.attributes.values(),
    unknown_attribute_code="X903",
    opaque=True,
    occurrence_code="X210",
    in_schema=False,
)

# --- shapes -----------------------------------------------------------------------------------------


def _solid(name: str, meaning: str, sizes: list[Attribute], **options: object) -> Element:
    return Element(name, "?", meaning, _EXT, attributes=sizes, repeated="X204.shape", **options)  # type: ignore[arg-type]


def _solids(field: str | None) -> dict[str, Element]:
    """Shapes of both geoms and masses."""
    tube = {"radius": "Radius.", "length": "Length along z, without the caps."}
    return {
        "box": _solid(
            "box",
            "A box, centred at the origin.",
            _sizes(sizex="Length along x.", sizey="Length along y.", sizez="Length along z."),
            field=field,
        ),
        "cappedCylinder": _solid(
            "cappedCylinder", "A capsule along z, centred at the origin.", _sizes(**tube), field=field
        ),
        "cylinder": _solid(
            "cylinder",
            "A cylinder along z, centred at the origin.",
            _sizes(radius="Radius.", length="Length along z."),
            field=field,
        ),
        "sphere": _solid("sphere", "A sphere, centred at the origin.", _sizes(radius="Radius."), field=field),
        "capsule": _solid(
            "capsule",
            "Name of `cappedCylinder` in one reader.",
            _sizes(**tube),
            field=field,
            occurrence_code="X709.capsule",
            in_schema=False,
        ),
    }


def _corner_list(name: str, occurrence_code: str = "") -> Element:
    return Element(
        name,
        "1" if name == "triangles" else "?",
        "The triangles.",
        Element(
            "t",
            "+",
            "A triangle.",
            attributes=[
                Attribute(a, INTEGER, "Index of a vertex, counted from 1.", required=True) for a in ("ia", "ib", "ic")
            ],
        ),
        occurrence_code=occurrence_code,
        alias_of="triangles" if occurrence_code else "",
        in_schema=not occurrence_code,
    )


_TRIMESH = Element(
    "trimesh",
    "?",
    "A triangle mesh; triangles are counter-clockwise seen from outside.",
    Element(
        "vertices",
        "1",
        "The vertices.",
        Element(
            "v",
            "+",
            "A vertex.",
            attributes=[
                *float_attributes("xyz", "Coordinate.", "m"),
                Attribute("e", TEXT, "Application data of the vertex."),
            ],
            least=LEAST_VERTICES,
        ),
    ),
    _corner_list("triangles"),
    _corner_list("indices", occurrence_code="X709.indices"),
    _EXT,
    repeated="X204.shape",
    field="geometry",
)

_GEOM_SHAPES = [
    *_solids("geometry").values(),
    _solid(
        "cone",
        "A cone along z: base disc at the origin, apex at +length.",
        _sizes(radius="Radius of the base.", length="Height."),
        reader_note="PyODE rejects it.",
        field="geometry",
    ),
    Element(
        "plane",
        "?",
        "A half-space, solid where ax + by + cz < d; it never moves.",
        _EXT,
        attributes=[
            *float_attributes("abc", "Component of the normal."),
            Attribute("d", FLOAT, "Offset.", required=True, unit="m"),
        ],
        repeated="X204.shape",
        reader_note="PyODE ignores transforms of planes.",
        field="geometry",
    ),
    _solid("ray", "A ray from the origin along +z.", _sizes(length="Length."), field="geometry"),
    _TRIMESH,
]

# --- masses -----------------------------------------------------------------------------------------


def _no_mass_shape(name: str, attributes: Iterable[str]) -> Element:
    return Element(
        name,
        "?",
        "Not a mass shape.",
        attributes=[Attribute(attribute, TEXT, "Has no effect.") for attribute in attributes],
        occurrence_code="X609",
        opaque=True,
        in_schema=False,
    )


_MASS = Element(
    "mass",
    "?",
    "Mass properties: a struct or shape, then a transform, an adjustment and nested masses, in that order.",
    Element(
        "mass_struct",
        "?",
        "Mass, centre of mass and inertia.",
        Element(
            "centerGravity",
            "1",
            "Centre of mass in the body frame.",
            attributes=float_attributes("xyz", "Coordinate.", "m"),
        ),
        Element(
            "imatrix",
            "1",
            "Inertia about the body origin.",
            attributes=float_attributes([f"m{r}{c}" for r in range(3) for c in range(3)], "Row, then column.", "kg·m²"),
        ),
        attributes=[
            Attribute("total", POSITIVE, "Mass.", required=True, unit="kg"),
            Attribute("density", FLOAT, "Has no effect.", in_schema=False),
        ],
        gathered=True,
        reader_note="PyODE rejects its children.",
    ),
    Element(
        "mass_shape",
        "?",
        "The mass of a solid.",
        *_solids(None).values(),
        *[_no_mass_shape(name, attributes) for name, attributes in _NO_MASS_SHAPES.items()],
        attributes=[
            Attribute("density", POSITIVE, "Density; takes precedence over total.", unit="kg/m³"),
            Attribute("total", POSITIVE, "Mass.", unit="kg"),
        ],
        one_of=MASS_SHAPES,
        unknown_child_code="X202.inside",
        gathered=True,
    ),
    transform_element("Rotates the mass about the body origin, then translates it.", of_mass=True),
    Element(
        "adjust",
        "?",
        "Scales the mass before it to a new total.",
        attributes=[
            Attribute("total", POSITIVE, "New mass.", required=True, unit="kg"),
            Attribute("density", FLOAT, "Has no effect.", in_schema=False),
        ],
        gathered=True,
    ),
    _TOLERATED_EXT,
    attributes=_name("A label.", "inertia"),
    unknown_child_code="X202.inside",
    gathered=True,
    one_of=("mass_struct", "mass_shape"),
    ordered=True,
    field="inertia",
    states=("mass",),
)
_NESTED_MASS = Element(
    "mass",
    "*",
    "A mass that is added.",
    attributes=_name("A label.", "inertia"),
    unknown_child_code="X202.inside",
    one_of=("mass_struct", "mass_shape"),
    ordered=True,
)
_NESTED_MASS.adopt(*_MASS.children.values(), _NESTED_MASS)
_MASS.adopt(_NESTED_MASS)

# --- joints -----------------------------------------------------------------------------------------

DRIVE_ATTRIBUTES: dict[str, tuple[str, str]] = {
    "LowStop": ("low_stop", "Lower stop; effective above -π."),
    "HiStop": ("high_stop", "Upper stop; effective below π."),
    "Vel": ("velocity", "Target velocity of the motor."),
    "FMax": ("max_force", "Maximum torque or force of the motor; 0: no motor."),
    "FudgeFactor": ("fudge_factor", "Reduces the motor force at a stop, 0 to 1."),
    "Bounce": ("bounce", "Restitution of the stops, 0 to 1."),
    "CFM": ("cfm", "Constraint force mixing of the axis."),
    "StopERP": ("stop_erp", "Error reduction parameter of the stops, 0 to 1."),
    "StopCFM": ("stop_cfm", "Constraint force mixing of the stops."),
    "SuspensionERP": ("suspension_erp", "Error reduction parameter of the suspension, 0 to 1."),
    "SuspensionCFM": ("suspension_cfm", "Constraint force mixing of the suspension."),
}
"""The ODE parameters of an axis: attribute, scene field and meaning."""

AXIS_COUNT = {type: TRAITS[kind].axes for type, kind in JOINT_KINDS.items()}
ANCHORED = ("ball", "hinge", "hinge2", "universal")


def _axis(count: int) -> Element:
    infinite = ("LowStop", "HiStop", "FMax")
    drives = {name: SceneField("drives", parts=(field,)) for name, (field, _) in DRIVE_ATTRIBUTES.items()}
    return Element(
        "axis",
        str(count) if count > 1 else "1" if count else "?",
        "An axis in the root frame, of any length.",
        attributes=[
            *float_attributes("xyz", "Component.", field="axes"),
            Attribute(
                "absolute", BOOLEAN, "Not part of XODE: `false` rotates the axis with the joint's frame.", field="axes"
            ),
            Attribute("LoStop", STOP, "Alternative name of `LowStop`.", field=drives["LowStop"]),
            *[
                Attribute(name, STOP if name in infinite else FLOAT, meaning, field=drives[name])
                for name, (_, meaning) in DRIVE_ATTRIBUTES.items()
            ],
        ],
        unknown_attribute_code="X807",
        gathered=True,
        in_schema=bool(count),
        field=STRUCTURE,
    )


def _joint_type(name: str) -> Element:
    return Element(
        name,
        "?",
        f"A {name} joint.",
        Element(
            "anchor",
            "?",
            "The point that the joint rotates about; in the joint's frame unless absolute.",
            attributes=[
                *float_attributes("xyz", "Coordinate.", "m"),
                Attribute("absolute", BOOLEAN, "In the root frame.", default="false"),
            ],
            in_schema=name in ANCHORED,
            reader_note="PyODE always reads it in the root frame.",
            field="pose",
        ),
        _axis(AXIS_COUNT[name]),
        _TOLERATED_EXT,
        repeated="X204.type",
        unknown_child_code="X202.inside",
        field="kind",
        content=STRUCTURE,
    )


def _link(name: str, meaning: str, field: str) -> Element:
    return Element(name, "?", meaning, attributes=[Attribute("body", BODY, "The body.", required=True)], field=field)


JOINT_ELEMENT = Element(
    "joint",
    "*",
    "A joint that connects two bodies, or a body to the environment.",
    _link("link1", "The first body; if omitted, the body that contains the joint, or the environment.", "child"),
    _link("link2", "The second body; if omitted, the body that contains the joint, or the environment.", "parent"),
    *[_joint_type(name) for name in JOINT_KINDS],
    TRANSFORM,
    _EXT,
    attributes=_name("Name of the joint."),
    unknown_child_code="X202.inside",
    one_of=tuple(JOINT_KINDS),
    streamed=True,
    item=Joint,
)

# --- bodies and containers --------------------------------------------------------------------------


def _vector(name: str, meaning: str, unit: str, part: str) -> Element:
    attributes = float_attributes("xyz", "Component in the root frame.", unit)
    return Element(name, "?", meaning, attributes=attributes, field=_state(part))


def _velocity(name: str, meaning: str, unit: str, part: str) -> Element:
    rows = float_attributes("xyz", "Component in the root frame.", unit)
    attributes = [structs.replace(row, field=_state(f"{part}/{number}")) for number, row in enumerate(rows)]
    return Element(name, "?", meaning, attributes=attributes, field=_state(part))


GEOM_ELEMENT = Element(
    "geom",
    "*",
    "A collision shape; it belongs to the innermost body that contains it, or is static.",
    TRANSFORM,
    *_GEOM_SHAPES,
    _EXT,
    attributes=_name("Name of the geom."),
    one_of=SHAPES,
    streamed=True,
    item=Shape,
)

BODY_ELEMENT = Element(
    "body",
    "*",
    "A rigid body.",
    TRANSFORM,
    _vector("torque", "Torque during the first step.", "N·m", "torque"),
    _vector("force", "Force at the centre of mass during the first step.", "N", "force"),
    Element(
        "finiteRotation",
        "?",
        "How ODE integrates the rotation.",
        attributes=[
            Attribute("mode", MODE, "0: infinitesimal, 1: finite.", required=True, default="0"),
            *float_attributes(["xaxis", "yaxis", "zaxis"], "Axis of finite rotation.", required=False),
        ],
        field=_state("finite_rotation"),
    ),
    _velocity("linearVel", "Initial velocity of the body origin.", "m/s", "linear_velocity"),
    _velocity("angularVel", "Initial angular velocity.", "rad/s", "angular_velocity"),
    _MASS,
    _EXT,
    attributes=[
        *_name("Name of the body; links refer to it."),
        Attribute(
            "enabled",
            BOOLEAN,
            "false: the body is disabled until a contact wakes it.",
            default="true",
            field=_state("enabled"),
        ),
        Attribute("gravitymode", FLAG, "0: gravity does not act on the body.", default="1", field="gravity"),
    ],
    streamed=True,
    item=Body,
)


def _container(name: str, card: str, meaning: str) -> Element:
    return Element(name, card, meaning, TRANSFORM, _EXT, attributes=_name("A label.", _LABEL))


_SPACE = _container("space", "*", "A collision space.")
_GROUP = _container("group", "*", "A group of elements with a common transform.")
_JOINT_GROUP = _container("jointgroup", "*", "A group of joints; allows everything that a group allows.")

for _parent in (_SPACE, _GROUP, _JOINT_GROUP, BODY_ELEMENT, GEOM_ELEMENT):
    _parent.adopt(_SPACE, _GROUP, _JOINT_GROUP, BODY_ELEMENT, GEOM_ELEMENT, JOINT_ELEMENT)

WORLD_ELEMENT = Element(
    "world",
    "*",
    "A separate world: its contents do not interact with other worlds.",
    TRANSFORM,
    Element("space", "+", _SPACE.meaning, attributes=_SPACE.attributes.values()),
    _EXT,
    attributes=_name("Name of the world."),
    item=World,
)
WORLD_ELEMENT.children["space"].adopt(*_SPACE.children.values())

XODE = Vocabulary(
    "xode",
    "XODE 1.0, the XML interchange format of ODE",
    Element(
        "xode",
        "1",
        "The root element.",
        TRANSFORM,
        WORLD_ELEMENT,
        _EXT,
        attributes=[
            Attribute(
                "version",
                VERSION,
                "Version of the format, such as 1.0r22.",
                demanded=True,
                reader_note="PyODE ignores it.",
                field=unused("the output states the version of its own format"),
            ),
            *_name("A label.", _LABEL),
        ],
    ),
    StructureCodes(
        unknown_element="X202",
        unknown_prefixed_element="X202.prefixed",
        unknown_attribute="X206",
        unknown_prefixed_attribute="X206.prefixed",
        repeated="X204",
        stray_text="X207",
        missing_child="X203",
        missing_attribute="X301",
        empty="X302",
        split_text="X207",
        misplaced="X201",
        namespaced="X106",
        prefix_excuses=False,
    ),
)
