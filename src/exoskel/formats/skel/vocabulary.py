"""The vocabulary of SKEL: every element and attribute, its parent, its meaning and the scene field it sets.

Structural checks, the XML Schema, `exoskel describe` and the reference page are generated from it.
"""

from __future__ import annotations

from exoskel.formats.skel.geometry_elements import SHAPE_GEOMETRY, SOFT_GEOMETRY
from exoskel.formats.skel.values import (
    ACTUATOR,
    AXIS_ORDER,
    BODY_NAME,
    BOOLEAN,
    COLLIDABLE,
    COLOR,
    COORDINATES,
    DETECTOR,
    INDEX,
    JOINT_TYPE,
    LIMIT,
    NAME,
    PLANE_TYPE,
    REAL,
    TRANSFORMATION,
    VECTOR,
    VERSION,
)
from exoskel.scene.body import Body, Marker
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.vocabulary import (
    STRUCTURE,
    Attribute,
    Element,
    SceneField,
    StructureCodes,
    Vocabulary,
    dof_field,
    leaf,
    unused,
)

MOMENT_ENTRIES = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def _pose(meaning: str, field: SceneField | str = "pose") -> Element:
    return leaf("transformation", TRANSFORMATION, meaning, default="0 0 0 0 0 0", unit="m, rad", field=field)


# --- bodies -----------------------------------------------------------------------------------------

_MOMENT = Element(
    "moment_of_inertia",
    "?",
    "Moment of inertia about the centre of mass, in axes parallel to the body frame.",
    *(
        leaf(
            name,
            REAL,
            f"Entry {name[1:]} of the tensor" + ("." if name[1] == name[2] else " (not a product of inertia)."),
            card="1",
            unit="kg·m²",
            default="1" if name[1] == name[2] else "0",
            missing="SK051.diagonal" if name[1] == name[2] else "SK051.off_diagonal",
            refused="SK051.refused",
            reader_note="DART 6 throws an exception if it is missing.",
            field=SceneField("inertia", parts=("moment" if name[1] == name[2] else "products",)),
        )
        for name in MOMENT_ENTRIES
    ),
    default="derived from the body's shapes",
    field=SceneField("inertia", parts=("moment", "products")),
    reader_note="DART up to 6.19 derives a missing moment from the first shape only; since 6.20 from all shapes.",
)

INERTIA_ELEMENT = Element(
    "inertia",
    "?",
    "Mass properties.  A body without this element has mass 1 and the identity moment.",
    leaf(
        "mass",
        REAL,
        "Mass.",
        card="1",
        unit="kg",
        default="1",
        missing="SK050.missing",
        field=SceneField("inertia", parts=("mass",)),
    ),
    leaf(
        "offset",
        VECTOR,
        "Centre of mass in the body frame.",
        unit="m",
        default="0 0 0",
        field=SceneField("inertia", parts=("com",)),
    ),
    _MOMENT,
    leaf(
        "transformation",
        TRANSFORMATION,
        "Obsolete form: its translation is the centre of mass; its rotation is applied to the moment.",
        reader_note="DART 6 ignores it.",
    ),
    field="inertia",
)


def _surface(place: str) -> list[Element]:
    """Contact parameters that some files contain, although SKEL has none."""
    meaning = f"Not part of SKEL: a {place} has no contact parameters."
    return [leaf(name, REAL, meaning, occurrence_code="SK013.contact") for name in ("friction", "restitution")]


VISUAL_ELEMENT = Element(
    "visualization_shape",
    "*",
    "A visual shape of the body.",
    _pose("Pose of the shape in the body frame."),
    SHAPE_GEOMETRY,
    leaf("color", COLOR, "Red, green, blue and alpha, from 0 to 1.", default="0.5 0.5 1 1", field="color"),
    leaf(
        "collidable",
        COLLIDABLE,
        "Used only in a `collision_shape`.",
        occurrence_code="SK013.collidable",
        field="collidable",
    ),
    leaf("alpha", REAL, "Not part of SKEL: use a fourth number in `color`.", occurrence_code="SK013.alpha"),
    *_surface("shape"),
    item=Shape,
    states=("visuals",),
)

COLLISION_ELEMENT = Element(
    "collision_shape",
    "*",
    "A collision shape of the body.",
    _pose("Pose of the shape in the body frame."),
    SHAPE_GEOMETRY,
    leaf(
        "collidable",
        COLLIDABLE,
        "0: the shape does not collide.",
        default="1",
        reader_note="DART 6 reads a number here, ignores it, and throws an exception for true and false.",
        field="collidable",
    ),
    leaf("color", COLOR, "Used only in a `visualization_shape`.", occurrence_code="SK013.color", field="color"),
    *_surface("shape"),
    item=Shape,
    states=("collisions",),
)


def _soft(part: str) -> SceneField:
    return SceneField("soft", parts=(part,))


SOFT_ELEMENT = Element(
    "soft_shape",
    "?",
    "A deformable skin of point masses around the rigid body.",
    leaf(
        "total_mass",
        REAL,
        "Mass of the skin, in addition to the mass of the body.",
        card="1",
        unit="kg",
        field=_soft("total_mass"),
    ),
    _pose("Pose of the skin in the body frame; used only for a box.", field=_soft("pose")),
    SOFT_GEOMETRY,
    leaf(
        "kv",
        REAL,
        "Stiffness that pulls each point back to its rest position.",
        unit="N/m",
        default="1",
        field=_soft("vertex_stiffness"),
    ),
    leaf("ke", REAL, "Stiffness of the edges between points.", unit="N/m", default="1", field=_soft("edge_stiffness")),
    leaf("damp", REAL, "Damping of the points.", unit="N·s/m", default="0.01", field=_soft("damping")),
    field="soft",
)

MARKER_ELEMENT = Element(
    "marker",
    "*",
    "A named point on the body.",
    leaf("offset", VECTOR, "The point in the body frame.", unit="m", default="0 0 0", field="offset"),
    attributes=[Attribute("name", NAME, "Name of the marker.", field="name")],
    item=Marker,
    states=("markers",),
)

BODY_ELEMENT = Element(
    "body",
    "*",
    "A rigid body.",
    leaf("gravity", BOOLEAN, "Whether gravity acts on the body.", default="true", field="gravity"),
    _pose("Pose in the skeleton frame at zero joint positions (not relative to the parent body)."),
    INERTIA_ELEMENT,
    VISUAL_ELEMENT,
    COLLISION_ELEMENT,
    SOFT_ELEMENT,
    MARKER_ELEMENT,
    leaf(
        "self_collide",
        BOOLEAN,
        "From DART's old wiki; has never had an effect.",
        occurrence_code="SK013.self_collide",
        reader_note="DART 6 ignores it: bodies of one skeleton never collide with each other.",
        field="ignored_values",
    ),
    *_surface("body"),
    attributes=[Attribute("name", NAME, "Name, unique in the skeleton.", field="name")],
    item=Body,
    states=("bodies",),
)

# --- joints -----------------------------------------------------------------------------------------

DYNAMICS = {
    "damping": "damping",
    "friction": "friction",
    "spring_rest_position": "rest",
    "spring_stiffness": "stiffness",
}
"""Elements of `dynamics` and `dof`, and the fields of a degree of freedom that they set."""


def _dynamics(name: str, meaning: str, unit: str) -> Element:
    return leaf(name, REAL, meaning, unit=unit, default="0", field=dof_field(DYNAMICS[name]))


_DYNAMICS_VALUES = (
    _dynamics("damping", "Viscous damping.", "N·m·s/rad or N·s/m"),
    _dynamics("friction", "Coulomb friction of the joint, as a torque or force.", "N·m or N"),
    _dynamics("spring_rest_position", "Rest position of the spring.", "rad or m"),
    _dynamics("spring_stiffness", "Spring stiffness.", "N·m/rad or N/m"),
)


def _misspelled(name: str, meant: str) -> Element:
    return Element(
        name,
        "?",
        f"Misspelling of `{meant}` from DART's old wiki; read if the correct name is absent.",
        kind=REAL,
        occurrence_code="SK088.sprint",
        alias_of=meant,
        ignored_by_reader=True,
        reader_note="DART 6 ignores it.",
        field=dof_field(DYNAMICS[meant]),
    )


def _axis(name: str, meaning: str) -> Element:
    return Element(
        name,
        "?",
        meaning,
        leaf("xyz", VECTOR, "Direction in the joint frame; normalised on reading.", field="axes"),
        leaf(
            "pitch",
            REAL,
            "Screw joints: translation along the axis per revolution.",
            unit="m",
            default="0.1",
            field="pitch",
        ),
        leaf(
            "damping",
            REAL,
            "Obsolete position of `dynamics/damping`.",
            occurrence_code="SK087",
            field=dof_field("damping"),
        ),
        Element(
            "dynamics",
            "?",
            "Spring, damping and friction of this degree of freedom.",
            *_DYNAMICS_VALUES,
            _misspelled("sprint_rest_position", "spring_rest_position"),
            _misspelled("sprint_stiffness", "spring_stiffness"),
            leaf("stiffness", REAL, "Not part of SKEL; not applied.", occurrence_code="SK088.stiffness"),
            leaf("spring_damping", REAL, "Not part of SKEL; not applied.", occurrence_code="SK088.spring_damping"),
            field=dof_field(*DYNAMICS.values()),
        ),
        Element(
            "limit",
            "?",
            "Position limits.",
            leaf("lower", LIMIT, "Lower limit.", unit="rad or m", default="-inf"),
            leaf("upper", LIMIT, "Upper limit.", unit="rad or m", default="inf"),
            leaf(
                "effort",
                LIMIT,
                "From DART's old wiki: force limit ± this value.",
                occurrence_code="SK088.effort",
                field=dof_field("force_limits"),
            ),
            leaf(
                "velocity",
                LIMIT,
                "From DART's old wiki: velocity limit ± this value.",
                occurrence_code="SK088.velocity",
                field=dof_field("velocity_limits"),
            ),
            reader_note="DART 6 stores the limits, but enforces them only if a program enables this.",
            field=dof_field("position_limits"),
        ),
        leaf(
            "thread_pitch", REAL, "The SDFormat name; the SKEL name is `pitch`.", occurrence_code="SK013.thread_pitch"
        ),
    )


def _plane_axis(name: str, meaning: str) -> Element:
    return Element(name, "?", meaning, leaf("xyz", VECTOR, "Direction in the joint frame."))


def _state(name: str, meaning: str) -> Element:
    return Element(
        name,
        "?",
        meaning,
        leaf("lower", LIMIT, "Not part of SKEL: limits are attributes here.", occurrence_code="SK013.dof_limit"),
        leaf("upper", LIMIT, "Not part of SKEL: limits are attributes here.", occurrence_code="SK013.dof_limit"),
        attributes=[
            Attribute("lower", LIMIT, "Lower limit.", default="-inf"),
            Attribute("upper", LIMIT, "Upper limit.", default="inf"),
            Attribute("initial", REAL, "Initial value.", default="0", field=dof_field(name)),
        ],
        field=dof_field(name, f"{name}_limits"),
        content=dof_field(f"{name}_limits"),
    )


_DOF = Element(
    "dof",
    "*",
    "One degree of freedom; takes precedence over `axis` and `init_pos`.  Ball and free joints have no other form.",
    _state("position", "Position limits and initial position."),
    _state("velocity", "Velocity limits and initial velocity."),
    _state("acceleration", "Acceleration limits and initial acceleration, which acts for one step."),
    _state("force", "Force limits and initial force, which acts for one step."),
    *_DYNAMICS_VALUES,
    attributes=[
        Attribute("local_index", INDEX, "Index of the degree of freedom, from 0; optional if there is only one."),
        Attribute("name", NAME, "Name of the degree of freedom, instead of the default.", field=dof_field("name")),
    ],
    field="dofs",
)

JOINT_ELEMENT = Element(
    "joint",
    "*",
    "A joint that connects a body to another body or to the world.",
    leaf("parent", BODY_NAME, "Name of the parent body, or `world`.", card="1", missing="SK075", field="parent"),
    leaf("child", BODY_NAME, "Name of the child body.", card="1", field="child"),
    _pose("Pose of the joint frame in the child body."),
    _axis("axis", "First axis: its direction (revolute, prismatic, screw and universal joints) and dynamics."),
    _axis("axis2", "Second axis: its direction (universal joints) and dynamics."),
    _axis("axis3", "Third axis: dynamics of the third degree of freedom."),
    leaf("axis_order", AXIS_ORDER, "Euler joints: order of the three rotations; required.", field="order"),
    Element(
        "plane",
        "?",
        "Planar and translational2d joints: the plane of motion.",
        _plane_axis("translation_axis1", "First direction, for type `arbitrary`."),
        _plane_axis("translation_axis2", "Second direction, for type `arbitrary`; orthogonalised to the first."),
        attributes=[Attribute("type", PLANE_TYPE, "The plane.", default="xy", field="plane")],
        field=STRUCTURE,
        content="axes",
        states=("plane",),
    ),
    leaf(
        "init_pos",
        COORDINATES,
        "Initial positions.",
        unit="rad, m",
        default="zeros",
        field=dof_field("position"),
        states=("positions",),
    ),
    leaf(
        "init_vel",
        COORDINATES,
        "Initial velocities.",
        unit="rad/s, m/s",
        default="zeros",
        reader_note="DART up to 6.16 reads velocities of free joints in the axes of the child; "
        "since 6.17 of the parent.",
        field=dof_field("velocity"),
        states=("velocities",),
    ),
    _DOF,
    attributes=[
        Attribute("type", JOINT_TYPE, "Kind of joint.", demanded=True, field="kind"),
        Attribute("name", NAME, "Name, unique in the skeleton.", field="name"),
        Attribute("actuator", ACTUATOR, "Actuator type of the joint.", default="force", field="actuator"),
    ],
    item=Joint,
    states=("joints",),
)

INITIAL = JOINT_ELEMENT.part_of_each_row("dofs")
"""Elements with the initial state of all degrees of freedom of a joint, and the fields that they set."""

# --- the document -----------------------------------------------------------------------------------

SKELETON_ELEMENT = Element(
    "skeleton",
    "*",
    "Bodies and the joints between them.",
    _pose("Moves all bodies of the skeleton; DART does not store it."),
    leaf("mobile", BOOLEAN, "false: the simulation never moves the skeleton.", default="true", field="static"),
    leaf(
        "immobile",
        BOOLEAN,
        "Opposite of `mobile`, from DART's old wiki; read if there is no `mobile`.",
        reader_note="DART 6 ignores it.",
        field="static",
    ),
    BODY_ELEMENT,
    JOINT_ELEMENT,
    attributes=[Attribute("name", NAME, "Name, unique in the world.", field="name")],
    streamed=True,
    item=Model,
    states=("models",),
)

PHYSICS_ELEMENT = Element(
    "physics",
    "?",
    "Simulation settings.",
    leaf("time_step", REAL, "Time step of the simulation.", unit="s", default="0.001", field="time_step"),
    leaf("gravity", VECTOR, "Gravitational acceleration.", unit="m/s²", default="0 0 -9.81", field="gravity"),
    leaf(
        "collision_detector",
        DETECTOR,
        "Preferred collision detector.",
        default="fcl",
        reader_note="DART 6 uses fcl for any other value.",
        field="collision_detector",
    ),
)

WORLD_ELEMENT = Element(
    "world",
    "?",
    "A world: physics and skeletons.",
    PHYSICS_ELEMENT,
    SKELETON_ELEMENT,
    attributes=[Attribute("name", NAME, "Name of the world.", reader_note="DART 6 ignores it.", field="name")],
    repeated="SK005.world",
    item=World,
)

SKEL = Vocabulary(
    "skel",
    "SKEL 1.0, the XML format of DART",
    Element(
        "skel",
        "1",
        "The root element: contains a world, or bare skeletons.",
        WORLD_ELEMENT,
        SKELETON_ELEMENT,
        attributes=[
            Attribute(
                "version",
                VERSION,
                "Version of the format: 1.0.",
                reader_note="DART 6 ignores it.",
                field=unused("the output states the version of its own format"),
            )
        ],
        nonempty=True,
    ),
    StructureCodes(
        unknown_element="SK010",
        unknown_prefixed_element="SK010.prefixed",
        unknown_attribute="SK011",
        unknown_prefixed_attribute="SK011.prefixed",
        repeated="SK012",
        stray_text="SK014",
        missing_child="SK020",
        missing_attribute="SK020",
        empty="SK021",
        split_text="SK014.split",
    ),
)
