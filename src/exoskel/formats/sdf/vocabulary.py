"""SDFormat as a table: the elements a scene is made of, where they stand, and what becomes of the others.

Elements with both a value and attributes (`pose`, `xyz`) are declared opaque: the reader takes their text by itself.
"""

from __future__ import annotations

from exoskel.formats.sdf.values import (
    AXIS_NAME,
    BOOLEAN,
    COLOR,
    JOINT_TYPE,
    LIMIT,
    MASK,
    NAME,
    PAIR,
    REAL,
    REFERENCE,
    ROTATION_FORMAT,
    TEXT,
    URI,
    VECTOR,
    VERSION,
)
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World
from exoskel.source.scene_fields import FLATTENED, STRUCTURE, SceneField, dof_field, unused
from exoskel.source.vocabulary import Attribute, Element, StructureCodes, Vocabulary

GEOMETRIES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "cone", "plane", "mesh")
"""What a scene can hold; of several in one `geometry` the first of these is taken."""

FOREIGN_GEOMETRIES = ("empty", "heightmap", "image", "polyline")
MOMENT = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")

SELF_COLLISION = SceneField("self_collision", owner="world")
_LABEL = unused("a label that nothing refers to")
_SILENT = unused("appearance or solver settings: not part of a scene")

_IGNORED = "SD012"
_LOST = "SD012.physics"


def _ignored(*names: str, remark: str = _IGNORED) -> list[Element]:
    """Elements that are known, and of which a scene takes nothing."""
    meaning = "Not part of a scene." if remark == _IGNORED else "Physics that a scene has no place for."
    return [Element(name, "*", meaning, opaque=True, remark=remark) for name in names]


def _silent(*names: str) -> list[Element]:
    """Elements that say how something looks or is solved: not worth a word for each of thousands of links."""
    return [Element(name, "*", "How it looks or is solved; not read.", opaque=True, field=_SILENT) for name in names]


def _name(of: str, field: str | None = "name") -> Attribute:
    return Attribute("name", NAME, f"The name of the {of}.", required=True, field=field)


def _pose(meaning: str, field: str | None = "pose") -> Element:
    return Element(
        "pose",
        "?",
        meaning,
        attributes=(
            Attribute("relative_to", REFERENCE, "The frame it is in; since 1.7."),
            Attribute("frame", REFERENCE, "The name of `relative_to` in 1.5 and 1.6.", in_schema=False),
            Attribute("degrees", BOOLEAN, "Angles are in degrees; since 1.9.", default="false"),
            Attribute("rotation_format", ROTATION_FORMAT, "How the rotation is said; since 1.9.", default="euler_rpy"),
        ),
        default="0 0 0 0 0 0",
        unit="m, rad",
        opaque=True,
        field=field,
    )


def _real(
    name: str,
    meaning: str,
    default: str = "",
    unit: str = "",
    card: str = "?",
    field: SceneField | str | None = None,
) -> Element:
    return Element(name, card, meaning, kind=REAL, default=default, unit=unit, field=field)


def _drive(name: str, meaning: str, unit: str = "", part: str = "") -> Element:
    return _real(name, meaning, unit=unit, field=SceneField("drives", parts=(part or name,)))


# --- geometry ---------------------------------------------------------------------------------------

_RADIUS = _real("radius", "Radius.", unit="m", card="1")


def _round(name: str, meaning: str, length: str) -> Element:
    return Element(name, "?", meaning, _RADIUS, _real("length", length, unit="m", card="1"))


_GEOMETRY = Element(
    "geometry",
    "?",
    "The shape's geometry: one of its children.",
    Element("box", "?", "A box.", Element("size", "1", "Edge lengths along x, y, z.", kind=VECTOR, unit="m")),
    Element("sphere", "?", "A sphere.", _RADIUS),
    _round("cylinder", "A cylinder along z, centred.", "Length along z."),
    _round("capsule", "A capsule along z, centred; since 1.8.", "Length of the cylindrical part, without the caps."),
    Element(
        "ellipsoid",
        "?",
        "An ellipsoid; since 1.8.",
        Element("radii", "1", "Half the diameters along x, y, z.", kind=VECTOR, unit="m"),
    ),
    _round("cone", "A cone along z, apex up, centred at half its height; since 1.11.", "Height."),
    Element(
        "plane",
        "?",
        "A plane through the origin of the shape; solid below it.",
        Element("normal", "?", "Outward normal.", kind=VECTOR, default="0 0 1"),
        Element(
            "size",
            "?",
            "How much of it is drawn; it collides without end.",
            kind=PAIR,
            default="1 1",
            unit="m",
            field=unused("size of the drawn part of a plane"),
        ),
    ),
    Element(
        "mesh",
        "?",
        "Triangles from a file.",
        Element("uri", "1", "The file.", kind=URI),
        Element("scale", "?", "Factors for the vertex coordinates.", kind=VECTOR, default="1 1 1"),
        Element("submesh", "?", "A part of the file.", opaque=True, remark="SD081.submesh"),
        *_silent("convex_decomposition"),
        attributes=(Attribute("optimization", TEXT, "How a simulator may simplify it; no effect.", field=_SILENT),),
    ),
    *(
        Element(name, "*", "A geometry that no scene can hold.", opaque=True, field=_SILENT)
        for name in FOREIGN_GEOMETRIES
    ),
    field=STRUCTURE,
    content="geometry",
)

_SURFACE = Element(
    "surface",
    "?",
    "What the shape is like to touch.",
    Element(
        "contact",
        "?",
        "What the shape touches.",
        Element(
            "collide_bitmask",
            "?",
            "0 lets the shape pass through everything.",
            kind=MASK,
            default="0xffff",
            field="collidable",
        ),
        *(
            Element(name, "?", "Softness of contacts.", opaque=True, remark="SD082")
            for name in ("ode", "bullet", "poissons_ratio", "elastic_modulus")
        ),
        *_silent("category_bitmask", "collide_without_contact", "collide_without_contact_bitmask"),
        field=STRUCTURE,
    ),
    Element(
        "friction",
        "?",
        "How it grips.",
        Element(
            "ode",
            "?",
            "Coulomb friction.",
            _real("mu", "The coefficient.", default="1", field="friction"),
            _real(
                "mu2",
                "The same in the second direction; a scene has one for both.",
                default="1",
                field=unused("a scene has one friction for both directions"),
            ),
            *_silent("fdir1", "slip1", "slip2"),
            field=STRUCTURE,
        ),
        *(
            Element(name, "?", "Friction of another kind.", opaque=True, remark="SD082")
            for name in ("torsional", "bullet")
        ),
        field=STRUCTURE,
    ),
    Element(
        "bounce",
        "?",
        "How it bounces.",
        _real(
            "restitution_coefficient", "How much of the speed it gives back, 0 to 1.", default="0", field="restitution"
        ),
        *_silent("threshold"),
        field=STRUCTURE,
    ),
    Element("soft_contact", "?", "A property of the surface.", opaque=True, remark="SD082"),
    field=STRUCTURE,
)

_COLLISION = Element(
    "collision",
    "*",
    "A shape that touches others.",
    _pose("Where it is in the link."),
    _GEOMETRY,
    _SURFACE,
    _real(
        "density",
        "What an automatic mass is worked out with; since 1.11.",
        default="1000",
        unit="kg/m³",
        field=SceneField("inertia", owner="body"),
    ),
    *_silent("laser_retro", "max_contacts", "auto_inertia_params"),
    attributes=(_name("collision"),),
    item=Shape,
)

_VISUAL = Element(
    "visual",
    "*",
    "A shape that is seen.",
    _pose("Where it is in the link."),
    _GEOMETRY,
    Element(
        "material",
        "?",
        "What it looks like.",
        Element("diffuse", "?", "Its colour.", kind=COLOR, field="color"),
        *_silent(
            "ambient", "specular", "emissive", "script", "shader", "lighting", "pbr", "render_order",
            "double_sided", "shininess",
        ),
        field=STRUCTURE,
    ),
    _real("transparency", "0 opaque, 1 invisible: less alpha.", default="0", field="color"),
    *_silent("cast_shadows", "laser_retro", "meta", "visibility_flags"),
    *_ignored("plugin"),
    attributes=(_name("visual"),),
    item=Shape,
)  # fmt: skip

# --- links ------------------------------------------------------------------------------------------

_INERTIAL = Element(
    "inertial",
    "?",
    "Mass properties.",
    _real("mass", "Mass.", default="1", unit="kg", field=SceneField("inertia", parts=("mass",))),
    _pose("The centre of mass and the axes of the moment, in the link.", None),
    Element(
        "inertia",
        "?",
        "The moment about the centre of mass; off-diagonals are entries of the tensor.",
        *(
            _real(
                name,
                "An entry.",
                default="1" if name[1] == name[2] else "0",
                unit="kg·m²",
                field=SceneField("inertia", parts=("moment" if name[1] == name[2] else "products",)),
            )
            for name in MOMENT
        ),
    ),
    Element("fluid_added_mass", "?", "Added mass of a fluid; since 1.10.", opaque=True, remark="SD070.added"),
    _real("density", "That of collisions which state none; since 1.11.", default="1000", unit="kg/m³"),
    *_silent("auto_inertia_params"),
    attributes=(Attribute("auto", BOOLEAN, "Worked out from the collisions; since 1.11.", default="false"),),
    field="inertia",
)

_NO_KINEMATIC = unused("a scene has no kinematic bodies", affects_motion=True)
_NO_WIND = unused("a scene has no wind", affects_motion=True)
_NO_BODY_DAMPING = unused("a scene has no damping of bodies", affects_motion=True)


def _flag(name: str, meaning: str, field: SceneField | str, default: str = "false") -> Element:
    return Element(name, "?", meaning, kind=BOOLEAN, default=default, field=field)


_LINK = Element(
    "link",
    "*",
    "A rigid body.",
    _pose("Where it is in the model, at zero positions of all joints."),
    _INERTIAL,
    _COLLISION,
    _VISUAL,
    _flag("gravity", "Whether gravity acts on it.", "gravity", default="true"),
    _flag("self_collide", "Whether it meets other links of its model.", SELF_COLLISION),
    _flag("kinematic", "Moved by commands only; a scene has no such bodies.", _NO_KINEMATIC),
    _flag("enable_wind", "Whether wind acts on it; a scene has none.", _NO_WIND),
    Element(
        "velocity_decay",
        "?",
        "Damping of its motion; a scene has none.",
        _real("linear", "Of its speed.", default="0"),
        _real("angular", "Of its spin.", default="0"),
        field=_NO_BODY_DAMPING,
    ),
    *_ignored(
        "sensor", "light", "projector", "audio_sink", "audio_source", "battery", "particle_emitter", "plugin",
        "must_be_base_link",
    ),
    attributes=(_name("link"),),
    item=Body,
)  # fmt: skip

# --- joints -----------------------------------------------------------------------------------------


def _axis(name: str, meaning: str) -> Element:
    return Element(
        name,
        "?",
        meaning,
        Element(
            "xyz",
            "?",
            "Its direction in the frame of the joint.",
            attributes=(Attribute("expressed_in", REFERENCE, "Another frame that it is in; since 1.7."),),
            default="0 0 1",
            opaque=True,
            field="axes",
        ),
        Element(
            "use_parent_model_frame",
            "?",
            "The direction is in the axes of the model; up to 1.6.",
            kind=BOOLEAN,
            default="false",
            in_schema=False,
            field="axes",
        ),
        Element(
            "dynamics",
            "?",
            "What resists the motion; units by the kind of motion.",
            _real("damping", "Viscous.", default="0", field=dof_field("damping")),
            _real("friction", "Coulomb.", default="0", field=dof_field("friction")),
            _real(
                "spring_reference",
                "Where the spring is at rest.",
                default="0",
                unit="rad or m",
                field=dof_field("rest"),
            ),
            _real("spring_stiffness", "Of the spring.", default="0", field=dof_field("stiffness")),
            field=STRUCTURE,
        ),
        Element(
            "limit",
            "?",
            "What the motion is bounded by; 1e16 and beyond is no bound.",
            Element(
                "lower",
                "?",
                "Least position.",
                kind=LIMIT,
                default="-inf",
                unit="rad or m",
                field=dof_field("position_limits"),
            ),
            Element(
                "upper",
                "?",
                "Greatest position.",
                kind=LIMIT,
                default="inf",
                unit="rad or m",
                field=dof_field("position_limits"),
            ),
            Element(
                "effort",
                "?",
                "Greatest force; negative: none.",
                kind=LIMIT,
                default="inf",
                unit="N·m or N",
                field=dof_field("force_limits"),
            ),
            Element(
                "velocity",
                "?",
                "Greatest speed; negative: none.",
                kind=LIMIT,
                default="inf",
                unit="rad/s or m/s",
                field=dof_field("velocity_limits"),
            ),
            *_silent("stiffness", "dissipation"),
            field=STRUCTURE,
        ),
        Element(
            "mimic",
            "?",
            "Follow another joint: multiplier · (position - reference) + offset; since 1.11.",
            _real("multiplier", "Ratio of the motions.", default="1"),
            _real("offset", "Added to the follower.", default="0", unit="rad or m"),
            _real("reference", "Taken from the leader.", default="0", unit="rad or m"),
            attributes=(
                Attribute("joint", REFERENCE, "The joint that is followed.", required=True),
                Attribute("axis", AXIS_NAME, "Its axis.", default="axis"),
            ),
            field="mimic",
        ),
        *_ignored("initial_position"),
        field=STRUCTURE,
    )


_ODE_JOINT = Element(
    "ode",
    "?",
    "Parameters of ODE, of the first axis.",
    _drive("fudge_factor", "Eases a motor off a stop."),
    _drive("cfm", "Softness of the axis."),
    _drive("bounce", "Restitution of the stops."),
    _drive("max_force", "What the motor has behind it.", unit="N·m or N"),
    _drive("velocity", "What the motor aims at.", unit="rad/s or m/s"),
    Element(
        "limit",
        "?",
        "The stops.",
        _drive("cfm", "Softness.", part="stop_cfm"),
        _drive("erp", "Error reduction.", part="stop_erp"),
        field=STRUCTURE,
    ),
    Element(
        "suspension",
        "?",
        "A revolute2's travel.",
        _drive("cfm", "Softness.", part="suspension_cfm"),
        _drive("erp", "Error reduction.", part="suspension_erp"),
        field=STRUCTURE,
    ),
    *_silent("cfm_damping", "implicit_spring_damper", "erp", "provide_feedback"),
    field=STRUCTURE,
)

_JOINT = Element(
    "joint",
    "*",
    "What ties a link to another, or to the world.",
    Element("parent", "?", "A link or frame, or `world`.", kind=NAME, field="parent"),
    Element("child", "?", "A link or frame.", kind=NAME, field="child"),
    _pose("Where the joint is in the child."),
    _axis("axis", "The first axis, fixed in the parent."),
    _axis("axis2", "The second axis of a universal or revolute2 joint, fixed in the child."),
    _real(
        "screw_thread_pitch",
        "Travel per turn of a screw, right-handed; since 1.10.",
        default="1",
        unit="m",
        field="pitch",
    ),
    _real("thread_pitch", "The older way: -2π divided by the travel per turn.", unit="rad/m", field="pitch"),
    *_silent("gearbox_ratio", "gearbox_reference_body"),
    Element(
        "physics",
        "?",
        "Parameters of single engines.",
        _ODE_JOINT,
        *_silent("simbody", "provide_feedback"),
        field=STRUCTURE,
    ),
    *_ignored("sensor"),
    attributes=(_name("joint"), Attribute("type", JOINT_TYPE, "What it allows.", required=True, field="kind")),
    item=Joint,
)

_FRAME = Element(
    "frame",
    "*",
    "A named frame; since 1.7.",
    _pose("Where it is.", None),
    attributes=(
        _name("frame", None),
        Attribute("attached_to", REFERENCE, "What it goes with; default the model or world."),
    ),
    field=FLATTENED,
)

# --- models and worlds ------------------------------------------------------------------------------

_INCLUDE = Element(
    "include",
    "*",
    "The model of another file.",
    Element("uri", "1", "A file, or the folder of a model.", kind=URI),
    Element("name", "?", "Its name here.", kind=NAME),
    _pose("Where it is; stands in for the model's own.", None),
    Element("static", "?", "Stands in for the model's own.", kind=BOOLEAN),
    Element("placement_frame", "?", "The frame that the pose is of; since 1.8.", kind=REFERENCE),
    *_ignored("plugin"),
    attributes=(Attribute("merge", BOOLEAN, "Take its parts into this model; since 1.9.", default="false"),),
    field=FLATTENED,
)

_MODEL = Element(
    "model",
    "*",
    "Links and the joints between them.",
    _pose("Where it is."),
    Element("static", "?", "It never moves.", kind=BOOLEAN, default="false", field="static"),
    Element("self_collide", "?", "Its links meet each other.", kind=BOOLEAN, default="false", field=SELF_COLLISION),
    _FRAME,
    _LINK,
    _JOINT,
    _INCLUDE,
    *_silent("allow_auto_disable", "enable_wind"),
    *_ignored("plugin", "gripper", "sensor", "light", "model_state"),
    attributes=(
        _name("model"),
        Attribute(
            "canonical_link", REFERENCE, "The link its frame goes with; default the first; since 1.7.", field=FLATTENED
        ),
        Attribute("placement_frame", REFERENCE, "The frame that its pose is of; since 1.8.", field=FLATTENED),
        Attribute("namespace", TEXT, "For other programs.", field=_LABEL),
    ),
    item=Model,
)
_MODEL.adopt(_MODEL)

_PHYSICS = Element(
    "physics",
    "*",
    "How the world is stepped; the default one counts, else the first.",
    _real("max_step_size", "Time step.", default="0.001", unit="s", field="time_step"),
    Element(
        "gravity", "?", "The place of `gravity` up to 1.5.", kind=VECTOR, unit="m/s²", in_schema=False, field="gravity"
    ),
    Element(
        "dart",
        "?",
        "Parameters of DART.",
        Element(
            "collision_detector", "?", "Which collision detector DART takes.", kind=TEXT, field="collision_detector"
        ),
        *_silent("solver"),
        field=STRUCTURE,
    ),
    Element(
        "ode",
        "?",
        "Parameters of ODE.",
        Element(
            "constraints",
            "?",
            "Softness of all constraints.",
            _real("cfm", "Softness.", field="cfm"),
            _real("erp", "Error reduction.", field="erp"),
            *_silent("contact_max_correcting_vel", "contact_surface_layer"),
            field=STRUCTURE,
        ),
        *_silent("solver"),
        field=STRUCTURE,
    ),
    *_silent("real_time_factor", "real_time_update_rate", "max_contacts", "bullet", "simbody"),
    attributes=(
        Attribute("name", TEXT, "Its name.", field=_LABEL),
        Attribute("default", BOOLEAN, "Which of several counts.", default="false", field=STRUCTURE),
        Attribute("type", TEXT, "The engine it was made for; any may be used.", field=_LABEL),
    ),
    field=STRUCTURE,
)


def _world() -> Element:
    return Element(
        "world",
        "*",
        "Models under one gravity.",
        Element("gravity", "?", "Acceleration.", kind=VECTOR, default="0 0 -9.8", unit="m/s²", field="gravity"),
        _PHYSICS,
        _MODEL,
        _INCLUDE,
        _FRAME,
        _JOINT,
        *_ignored("wind", remark=_LOST),
        *_silent("audio", "atmosphere", "gui", "scene", "magnetic_field", "spherical_coordinates"),
        *_ignored("light", "actor", "plugin", "road", "state", "population"),
        attributes=(_name("world"), Attribute("namespace", TEXT, "For other programs.", field=_LABEL)),
        item=World,
    )


_SDF = Element(
    "sdf",
    "1",
    "A document.",
    _world(),
    _MODEL,
    *_ignored("light", "actor"),
    attributes=(
        Attribute(
            "version",
            VERSION,
            "1.6 to 1.12.",
            demanded=True,
            field=unused("the output states the version of its own format"),
        ),
    ),
)

SDF = Vocabulary(
    "sdf",
    "SDFormat",
    _SDF,
    StructureCodes(
        unknown_element="SD010",
        unknown_prefixed_element="SD010.prefixed",
        unknown_attribute="SD011",
        unknown_prefixed_attribute="SD011.prefixed",
        repeated="SD014",
        stray_text="SD013.stray",
        missing_child="SD015",
        missing_attribute="SD016",
        empty="SD015.empty",
        split_text="SD013.split",
        misplaced="SD010.misplaced",
    ),
)
