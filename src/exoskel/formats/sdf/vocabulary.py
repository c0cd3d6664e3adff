"""The vocabulary of SDFormat: every element and attribute, its place and its meaning.

Elements with both a value and attributes (`pose`, `xyz`) are declared opaque: the reader parses their text itself.
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
from exoskel.source.vocabulary import (
    FLATTENED,
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

GEOMETRIES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "cone", "plane", "mesh")
"""The supported geometries; of several in one `geometry` the first of these is used."""

UNSUPPORTED_GEOMETRIES = ("empty", "heightmap", "image", "polyline")
MOMENT = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")

_Field = SceneField | str | None
SELF_COLLISION = SceneField("self_collision", owner="world")
_LABEL = unused("a label that nothing refers to")
_NOT_READ = unused("appearance or solver settings: not part of a scene")

_IGNORED = "SD012"
_UNSUPPORTED = "SD012.physics"


def _ignored(*names: str, occurrence_code: str = _IGNORED) -> list[Element]:
    """Known elements that are not part of a scene."""
    meaning = "Not part of a scene." if occurrence_code == _IGNORED else "Physics that a scene does not support."
    return [Element(name, "*", meaning, opaque=True, occurrence_code=occurrence_code) for name in names]


def _settings(*names: str) -> list[Element]:
    """Appearance and solver settings, which are ignored without a diagnostic."""
    return [
        Element(name, "*", "Appearance or solver setting; not read.", opaque=True, field=_NOT_READ) for name in names
    ]


def _name(of: str, field: str | None = "name") -> Attribute:
    return Attribute("name", NAME, f"Name of the {of}.", required=True, field=field)


def _pose(meaning: str, field: str | None = "pose") -> Element:
    return Element(
        "pose",
        "?",
        meaning,
        attributes=(
            Attribute("relative_to", REFERENCE, "Frame that the pose is relative to; since 1.7."),
            Attribute("frame", REFERENCE, "Name of `relative_to` in 1.5 and 1.6.", in_schema=False),
            Attribute("degrees", BOOLEAN, "Whether angles are in degrees; since 1.9.", default="false"),
            Attribute(
                "rotation_format", ROTATION_FORMAT, "Representation of the rotation; since 1.9.", default="euler_rpy"
            ),
        ),
        default="0 0 0 0 0 0",
        unit="m, rad",
        opaque=True,
        field=field,
    )


def _real(name: str, meaning: str, default: str = "", unit: str = "", card: str = "?", field: _Field = None) -> Element:
    return leaf(name, REAL, meaning, card=card, default=default, unit=unit, field=field)


def _flag(name: str, meaning: str, field: SceneField | str, default: str = "false") -> Element:
    return leaf(name, BOOLEAN, meaning, default=default, field=field)


def _limit(name: str, meaning: str, default: str, unit: str, part: str) -> Element:
    return leaf(name, LIMIT, meaning, default=default, unit=unit, field=dof_field(part))


def _drive(name: str, meaning: str, unit: str = "", part: str = "") -> Element:
    return _real(name, meaning, unit=unit, field=SceneField("drives", parts=(part or name,)))


# --- geometry ---------------------------------------------------------------------------------------

_RADIUS = _real("radius", "Radius.", unit="m", card="1")


def _round(name: str, meaning: str, length: str) -> Element:
    return Element(name, "?", meaning, _RADIUS, _real("length", length, unit="m", card="1"))


_GEOMETRY = Element(
    "geometry",
    "?",
    "Geometry of the shape: one child.",
    Element("box", "?", "A box.", leaf("size", VECTOR, "Edge lengths along x, y, z.", card="1", unit="m")),
    Element("sphere", "?", "A sphere.", _RADIUS),
    _round("cylinder", "A cylinder along z, centred.", "Length along z."),
    _round("capsule", "A capsule along z, centred; since 1.8.", "Length of the cylindrical part."),
    Element(
        "ellipsoid",
        "?",
        "An ellipsoid; since 1.8.",
        leaf("radii", VECTOR, "Semi-axes along x, y, z.", card="1", unit="m"),
    ),
    _round("cone", "A cone along z, apex up, centred at half its height; since 1.11.", "Height."),
    Element(
        "plane",
        "?",
        "A plane through the origin of the shape; solid below it.",
        leaf("normal", VECTOR, "Outward normal.", default="0 0 1"),
        leaf(
            "size",
            PAIR,
            "Drawn size; as a collider the plane is infinite.",
            default="1 1",
            unit="m",
            field=unused("size of the drawn part of a plane"),
        ),
    ),
    Element(
        "mesh",
        "?",
        "A triangle mesh in a file.",
        leaf("uri", URI, "The file.", card="1"),
        leaf("scale", VECTOR, "Scale factors along the axes.", default="1 1 1"),
        Element("submesh", "?", "A part of the file.", opaque=True, occurrence_code="SD081.submesh"),
        *_settings("convex_decomposition"),
        attributes=(Attribute("optimization", TEXT, "Mesh simplification; no effect.", field=_NOT_READ),),
    ),
    *(
        Element(name, "*", "A geometry that a scene does not support.", opaque=True, field=_NOT_READ)
        for name in UNSUPPORTED_GEOMETRIES
    ),
    field=STRUCTURE,
    content="geometry",
)

_SURFACE = Element(
    "surface",
    "?",
    "Surface properties.",
    Element(
        "contact",
        "?",
        "Contact properties.",
        leaf("collide_bitmask", MASK, "0: the shape does not collide.", default="0xffff", field="collidable"),
        *(
            Element(name, "?", "Contact softness.", opaque=True, occurrence_code="SD082")
            for name in ("ode", "bullet", "poissons_ratio", "elastic_modulus")
        ),
        *_settings("category_bitmask", "collide_without_contact", "collide_without_contact_bitmask"),
    ),
    Element(
        "friction",
        "?",
        "Friction.",
        Element(
            "ode",
            "?",
            "Coulomb friction.",
            _real("mu", "Friction coefficient.", default="1", field="friction"),
            _real(
                "mu2",
                "Friction coefficient in the second direction; a scene has one for both.",
                default="1",
                field=unused("a scene has one friction for both directions"),
            ),
            *_settings("fdir1", "slip1", "slip2"),
        ),
        *(
            Element(name, "?", "Another kind of friction.", opaque=True, occurrence_code="SD082")
            for name in ("torsional", "bullet")
        ),
    ),
    Element(
        "bounce",
        "?",
        "Restitution.",
        _real("restitution_coefficient", "Coefficient of restitution, 0 to 1.", default="0", field="restitution"),
        *_settings("threshold"),
    ),
    Element("soft_contact", "?", "Surface property of a soft contact.", opaque=True, occurrence_code="SD082"),
)

_COLLISION = Element(
    "collision",
    "*",
    "A collision shape.",
    _pose("Pose in the link."),
    _GEOMETRY,
    _SURFACE,
    _real(
        "density",
        "Density for automatic mass properties; since 1.11.",
        default="1000",
        unit="kg/m³",
        field=SceneField("inertia", owner="body"),
    ),
    *_settings("laser_retro", "max_contacts", "auto_inertia_params"),
    attributes=(_name("collision"),),
    item=Shape,
)

_VISUAL = Element(
    "visual",
    "*",
    "A visual shape.",
    _pose("Pose in the link."),
    _GEOMETRY,
    Element(
        "material",
        "?",
        "Appearance.",
        leaf("diffuse", COLOR, "Colour.", field="color"),
        *_settings(
            "ambient", "specular", "emissive", "script", "shader", "lighting", "pbr", "render_order",
            "double_sided", "shininess",
        ),
    ),
    _real("transparency", "Transparency: 0 opaque, 1 invisible.", default="0", field="color"),
    *_settings("cast_shadows", "laser_retro", "meta", "visibility_flags"),
    *_ignored("plugin"),
    attributes=(_name("visual"),),
    item=Shape,
)  # fmt: skip

# --- links ------------------------------------------------------------------------------------------


def _moment(name: str) -> Element:
    default, part = ("1", "moment") if name[1] == name[2] else ("0", "products")
    return _real(name, "Entry of the tensor.", default, "kg·m²", field=SceneField("inertia", parts=(part,)))


_INERTIAL = Element(
    "inertial",
    "?",
    "Mass properties.",
    _real("mass", "Mass.", default="1", unit="kg", field=SceneField("inertia", parts=("mass",))),
    _pose("Centre of mass and orientation of the moments, in the link.", None),
    Element(
        "inertia",
        "?",
        "Inertia tensor about the centre of mass.",
        *map(_moment, MOMENT),
    ),
    Element("fluid_added_mass", "?", "Added mass of a fluid; since 1.10.", opaque=True, occurrence_code="SD070.added"),
    _real("density", "Default density of collision shapes; since 1.11.", default="1000", unit="kg/m³"),
    *_settings("auto_inertia_params"),
    attributes=(
        Attribute(
            "auto",
            BOOLEAN,
            "Whether to compute the mass properties from the collision shapes; since 1.11.",
            default="false",
        ),
    ),
    field="inertia",
)

_NO_KINEMATIC = unused("a scene has no kinematic bodies", affects_motion=True)
_NO_WIND = unused("a scene has no wind", affects_motion=True)
_NO_BODY_DAMPING = unused("a scene has no damping of bodies", affects_motion=True)


_LINK = Element(
    "link",
    "*",
    "A rigid body.",
    _pose("Pose in the model, at zero joint positions."),
    _INERTIAL,
    _COLLISION,
    _VISUAL,
    _flag("gravity", "Whether gravity acts on it.", "gravity", default="true"),
    _flag("self_collide", "Whether it collides with other links of its model.", SELF_COLLISION),
    _flag("kinematic", "Whether it moves only by commands; not supported.", _NO_KINEMATIC),
    _flag("enable_wind", "Whether wind acts on it; not supported.", _NO_WIND),
    Element(
        "velocity_decay",
        "?",
        "Damping of its motion; not supported.",
        _real("linear", "Linear damping.", default="0"),
        _real("angular", "Angular damping.", default="0"),
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
            "Direction in the joint frame.",
            attributes=(Attribute("expressed_in", REFERENCE, "Frame that the direction is expressed in; since 1.7."),),
            default="0 0 1",
            opaque=True,
            field="axes",
        ),
        Element(
            "use_parent_model_frame",
            "?",
            "Whether the direction is in the model frame; up to 1.6.",
            kind=BOOLEAN,
            default="false",
            in_schema=False,
            field="axes",
        ),
        Element(
            "dynamics",
            "?",
            "Damping, friction and spring; units depend on the joint type.",
            _real("damping", "Damping coefficient.", default="0", field=dof_field("damping")),
            _real("friction", "Coulomb friction.", default="0", field=dof_field("friction")),
            _real(
                "spring_reference",
                "Rest position of the spring.",
                default="0",
                unit="rad or m",
                field=dof_field("rest"),
            ),
            _real("spring_stiffness", "Stiffness of the spring.", default="0", field=dof_field("stiffness")),
        ),
        Element(
            "limit",
            "?",
            "Limits; 1e16 and more means no limit.",
            _limit("lower", "Lower position limit.", "-inf", "rad or m", "position_limits"),
            _limit("upper", "Upper position limit.", "inf", "rad or m", "position_limits"),
            _limit("effort", "Maximum force; negative: no limit.", "inf", "N·m or N", "force_limits"),
            _limit("velocity", "Maximum velocity; negative: no limit.", "inf", "rad/s or m/s", "velocity_limits"),
            *_settings("stiffness", "dissipation"),
        ),
        Element(
            "mimic",
            "?",
            "Mimic another joint: multiplier · (position - reference) + offset; since 1.11.",
            _real("multiplier", "Factor.", default="1"),
            _real("offset", "Offset of this joint.", default="0", unit="rad or m"),
            _real("reference", "Reference position of the other joint.", default="0", unit="rad or m"),
            attributes=(
                Attribute("joint", REFERENCE, "Name of the joint to mimic.", required=True),
                Attribute("axis", AXIS_NAME, "Axis of that joint.", default="axis"),
            ),
            field="mimic",
        ),
        *_ignored("initial_position"),
    )


_ODE_JOINT = Element(
    "ode",
    "?",
    "Parameters of ODE for the first axis.",
    _drive("fudge_factor", "Factor on the motor force at a stop."),
    _drive("cfm", "CFM of the axis."),
    _drive("bounce", "Restitution of the stops."),
    _drive("max_force", "Maximum motor force.", unit="N·m or N"),
    _drive("velocity", "Target velocity of the motor.", unit="rad/s or m/s"),
    Element(
        "limit",
        "?",
        "The stops.",
        _drive("cfm", "CFM.", part="stop_cfm"),
        _drive("erp", "ERP.", part="stop_erp"),
    ),
    Element(
        "suspension",
        "?",
        "Suspension of a revolute2 joint.",
        _drive("cfm", "CFM.", part="suspension_cfm"),
        _drive("erp", "ERP.", part="suspension_erp"),
    ),
    *_settings("cfm_damping", "implicit_spring_damper", "erp", "provide_feedback"),
)

_JOINT = Element(
    "joint",
    "*",
    "A joint between two links, or a link and the world.",
    leaf("parent", NAME, "A link or frame, or `world`.", field="parent"),
    leaf("child", NAME, "A link or frame.", field="child"),
    _pose("Pose in the child."),
    _axis("axis", "The first axis, fixed in the parent."),
    _axis("axis2", "The second axis of a universal or revolute2 joint, fixed in the child."),
    _real("screw_thread_pitch", "Travel per revolution of a right-handed screw; since 1.10.", "1", "m", field="pitch"),
    _real("thread_pitch", "Older form: -2π divided by the travel per revolution.", unit="rad/m", field="pitch"),
    *_settings("gearbox_ratio", "gearbox_reference_body"),
    Element(
        "physics",
        "?",
        "Parameters of specific engines.",
        _ODE_JOINT,
        *_settings("simbody", "provide_feedback"),
    ),
    *_ignored("sensor"),
    attributes=(_name("joint"), Attribute("type", JOINT_TYPE, "Joint type.", required=True, field="kind")),
    item=Joint,
)

_FRAME = Element(
    "frame",
    "*",
    "A named frame; since 1.7.",
    _pose("Pose.", None),
    attributes=(
        _name("frame", None),
        Attribute("attached_to", REFERENCE, "What it is attached to; default: the model or world."),
    ),
    field=FLATTENED,
)

# --- models and worlds ------------------------------------------------------------------------------

_INCLUDE = Element(
    "include",
    "*",
    "Include a model from another file.",
    leaf("uri", URI, "File, or folder of a model.", card="1"),
    leaf("name", NAME, "Name of the included model."),
    _pose("Pose; replaces the model's own.", None),
    leaf("static", BOOLEAN, "Replaces the model's own value."),
    leaf("placement_frame", REFERENCE, "Frame whose pose is stated; since 1.8."),
    *_ignored("plugin"),
    attributes=(
        Attribute("merge", BOOLEAN, "Whether to merge its parts into this model; since 1.9.", default="false"),
    ),
    field=FLATTENED,
)

_MODEL = Element(
    "model",
    "*",
    "Links and the joints between them.",
    _pose("Pose of the model."),
    _flag("static", "Whether the model is fixed.", "static"),
    _flag("self_collide", "Whether its links collide with each other.", SELF_COLLISION),
    _FRAME,
    _LINK,
    _JOINT,
    _INCLUDE,
    *_settings("allow_auto_disable", "enable_wind"),
    *_ignored("plugin", "gripper", "sensor", "light", "model_state"),
    attributes=(
        _name("model"),
        Attribute(
            "canonical_link",
            REFERENCE,
            "Link that the model frame is attached to; default: the first; since 1.7.",
            field=FLATTENED,
        ),
        Attribute("placement_frame", REFERENCE, "Frame whose pose is stated; since 1.8.", field=FLATTENED),
        Attribute("namespace", TEXT, "For other programs.", field=_LABEL),
    ),
    item=Model,
)
_MODEL.adopt(_MODEL)

_PHYSICS = Element(
    "physics",
    "*",
    "Physics settings; the default one is used, or else the first.",
    _real("max_step_size", "Time step.", default="0.001", unit="s", field="time_step"),
    Element("gravity", "?", "Gravity up to version 1.5.", kind=VECTOR, unit="m/s²", in_schema=False, field="gravity"),
    Element(
        "dart",
        "?",
        "Parameters of DART.",
        leaf("collision_detector", TEXT, "Collision detector of DART.", field="collision_detector"),
        *_settings("solver"),
    ),
    Element(
        "ode",
        "?",
        "Parameters of ODE.",
        Element(
            "constraints",
            "?",
            "Softness of constraints.",
            _real("cfm", "CFM.", field="cfm"),
            _real("erp", "ERP.", field="erp"),
            *_settings("contact_max_correcting_vel", "contact_surface_layer"),
        ),
        *_settings("solver"),
    ),
    *_settings("real_time_factor", "real_time_update_rate", "max_contacts", "bullet", "simbody"),
    attributes=(
        Attribute("name", TEXT, "Name.", field=_LABEL),
        Attribute("default", BOOLEAN, "Whether to use these settings.", default="false", field=STRUCTURE),
        Attribute("type", TEXT, "Intended engine; no effect.", field=_LABEL),
    ),
)


def _world() -> Element:
    return Element(
        "world",
        "*",
        "A world with models.",
        leaf("gravity", VECTOR, "Gravitational acceleration.", default="0 0 -9.8", unit="m/s²", field="gravity"),
        _PHYSICS,
        _MODEL,
        _INCLUDE,
        _FRAME,
        _JOINT,
        *_ignored("wind", occurrence_code=_UNSUPPORTED),
        *_settings("audio", "atmosphere", "gui", "scene", "magnetic_field", "spherical_coordinates"),
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
            "Version, 1.6 to 1.12.",
            demanded=True,
            field=unused("the output states the version of its own format"),
        ),
    ),
)

DYNAMICS = {
    tag: field.parts[0] for tag, field in _JOINT.children["axis"].children["dynamics"].rows_setting("dofs").items()
}
"""Elements of `dynamics`, and the fields of a degree of freedom that they set."""
DRIVES = tuple(_ODE_JOINT.rows_setting("drives"))
"""Elements of `ode` that set a field of `Drive` of the same name."""

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
