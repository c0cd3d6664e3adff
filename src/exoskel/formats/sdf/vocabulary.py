"""The vocabulary of SDFormat: every element and attribute, its place and its meaning."""

from __future__ import annotations

from exoskel.formats.sdf.geometry_elements import (
    COLLISION_ELEMENT,
    SOFT_ELEMENT,
    VISUAL_ELEMENT,
    ignored_elements,
    name_attribute,
    pose_element,
    real_element,
    setting_elements,
)
from exoskel.formats.sdf.values import (
    AXIS_NAME,
    BOOLEAN,
    JOINT_TYPE,
    LIMIT,
    LINK_NAME,
    NAME,
    REFERENCE,
    TEXT,
    URI,
    VECTOR,
    VERSION,
)
from exoskel.scene.body import Body
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.world import World
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

MOMENT = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")

SELF_COLLISION = SceneField("self_collision", owner="world")
SENSORS = SceneField("sensors", owner="world")
CAMERAS, LIGHTS = SceneField("cameras", owner="world"), SceneField("lights", owner="world")
_LABEL = unused("a label that nothing refers to")


def _flag(name: str, meaning: str, field: SceneField | str, default: str = "false") -> Element:
    return leaf(name, BOOLEAN, meaning, default=default, field=field)


def _limit(name: str, meaning: str, default: str, unit: str, part: str) -> Element:
    return leaf(name, LIMIT, meaning, default=default, unit=unit, field=dof_field(part))


def _drive(name: str, meaning: str, unit: str = "", part: str = "") -> Element:
    return real_element(name, meaning, unit=unit, field=SceneField("drives", parts=(part or name,)))


# --- links ------------------------------------------------------------------------------------------


def _moment(name: str) -> Element:
    default, part = ("1", "moment") if name[1] == name[2] else ("0", "products")
    return real_element(name, "Entry of the tensor.", default, "kg·m²", field=SceneField("inertia", parts=(part,)))


INERTIAL_ELEMENT = Element(
    "inertial",
    "?",
    "Mass properties.",
    real_element("mass", "Mass.", default="1", unit="kg", field=SceneField("inertia", parts=("mass",))),
    pose_element("Centre of mass and orientation of the moments, in the link.", None),
    Element(
        "inertia",
        "?",
        "Inertia tensor about the centre of mass.",
        *map(_moment, MOMENT),
        states=("moment",),
    ),
    Element("fluid_added_mass", "?", "Added mass of a fluid; since 1.10.", opaque=True, occurrence_code="SD070.added"),
    real_element("density", "Default density of collision shapes; since 1.11.", default="1000", unit="kg/m³"),
    *setting_elements("auto_inertia_params"),
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


def _sensor(field: SceneField) -> Element:
    return Element(
        "sensor",
        "*",
        "A sensor, if a scene has its kind: a camera, an IMU, a magnetometer, a contact sensor of one shape, a lidar "
        "with one ray, or the force and torque of a joint.",
        attributes=(name_attribute("sensor", None), Attribute("type", TEXT, "What it measures.", demanded=True)),
        opaque=True,
        field=field,
    )


LIGHT_ELEMENT = Element(
    "light",
    "*",
    "A light: `point`, `directional` or `spot`.",
    attributes=(name_attribute("light", None), Attribute("type", TEXT, "Its kind.", demanded=True)),
    opaque=True,
    field=LIGHTS,
)

LINK_ELEMENT = Element(
    "link",
    "*",
    "A rigid body.",
    pose_element("Pose in the model, at zero joint positions."),
    INERTIAL_ELEMENT,
    COLLISION_ELEMENT,
    VISUAL_ELEMENT,
    SOFT_ELEMENT,
    _flag("gravity", "Whether gravity acts on it.", "gravity", default="true"),
    _flag("self_collide", "Whether it collides with other links of its model.", SELF_COLLISION),
    _flag("kinematic", "Whether it moves only by commands; not supported.", _NO_KINEMATIC),
    _flag("enable_wind", "Whether wind acts on it; not supported.", _NO_WIND),
    Element(
        "velocity_decay",
        "?",
        "Damping of its motion; not supported.",
        real_element("linear", "Linear damping.", default="0"),
        real_element("angular", "Angular damping.", default="0"),
        field=_NO_BODY_DAMPING,
    ),
    _sensor(CAMERAS),  # the other sensors of a link that are in the scene are at markers, which have rows of their own
    LIGHT_ELEMENT,
    *ignored_elements(
        "projector", "audio_sink", "audio_source", "battery", "particle_emitter", "plugin",
        "must_be_base_link",
    ),
    attributes=(name_attribute("link"),),
    item=Body,
    states=("bodies",),
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
            real_element("damping", "Damping coefficient.", default="0", field=dof_field("damping")),
            real_element("friction", "Coulomb friction.", default="0", field=dof_field("friction")),
            real_element(
                "spring_reference",
                "Rest position of the spring.",
                default="0",
                unit="rad or m",
                field=dof_field("rest"),
            ),
            real_element("spring_stiffness", "Stiffness of the spring.", default="0", field=dof_field("stiffness")),
        ),
        Element(
            "limit",
            "?",
            "Limits; 1e16 and more means no limit.",
            _limit("lower", "Lower position limit.", "-inf", "rad or m", "position_limits"),
            _limit("upper", "Upper position limit.", "inf", "rad or m", "position_limits"),
            _limit("effort", "Maximum force; negative: no limit.", "inf", "N·m or N", "force_limits"),
            _limit("velocity", "Maximum velocity; negative: no limit.", "inf", "rad/s or m/s", "velocity_limits"),
            *setting_elements("stiffness", "dissipation"),
        ),
        Element(
            "mimic",
            "?",
            "Mimic another joint: multiplier · (position - reference) + offset; since 1.11.",
            real_element("multiplier", "Factor.", default="1"),
            real_element("offset", "Offset of this joint.", default="0", unit="rad or m"),
            real_element("reference", "Reference position of the other joint.", default="0", unit="rad or m"),
            attributes=(
                Attribute("joint", REFERENCE, "Name of the joint to mimic.", required=True),
                Attribute("axis", AXIS_NAME, "Axis of that joint.", default="axis"),
            ),
            field="mimic",
        ),
        *ignored_elements("initial_position"),
        states=("axes",),
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
    *setting_elements("cfm_damping", "implicit_spring_damper", "erp", "provide_feedback"),
)

JOINT_ELEMENT = Element(
    "joint",
    "*",
    "A joint between two links, or a link and the world.",
    leaf("parent", LINK_NAME, "A link or frame, or `world`.", field="parent"),
    leaf("child", LINK_NAME, "A link or frame.", field="child"),
    pose_element("Pose in the child."),
    _axis("axis", "The first axis, fixed in the parent."),
    _axis("axis2", "The second axis of a universal or revolute2 joint, fixed in the child."),
    real_element(
        "screw_thread_pitch", "Travel per revolution of a right-handed screw; since 1.10.", "1", "m", field="pitch"
    ),
    real_element("thread_pitch", "Older form: -2π divided by the travel per revolution.", unit="rad/m", field="pitch"),
    real_element(
        "gearbox_ratio", "Minus the angle of the child of a gearbox, per angle of its parent.", "1", field="mimic"
    ),
    leaf("gearbox_reference_body", LINK_NAME, "Link from which a gearbox measures both angles.", field="mimic"),
    Element(
        "physics",
        "?",
        "Parameters of specific engines.",
        _ODE_JOINT,
        *setting_elements("simbody", "provide_feedback"),
    ),
    _sensor(SENSORS),
    attributes=(name_attribute("joint"), Attribute("type", JOINT_TYPE, "Joint type.", required=True, field="kind")),
    item=Joint,
    states=("joints",),
)

_FRAME = Element(
    "frame",
    "*",
    "A named frame; since 1.7.",
    pose_element("Pose.", None),
    attributes=(
        name_attribute("frame", None),
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
    pose_element("Pose; replaces the model's own.", None),
    leaf("static", BOOLEAN, "Replaces the model's own value."),
    leaf("placement_frame", REFERENCE, "Frame whose pose is stated; since 1.8."),
    *ignored_elements("plugin"),
    attributes=(
        Attribute("merge", BOOLEAN, "Whether to merge its parts into this model; since 1.9.", default="false"),
    ),
    field=FLATTENED,
)

MODEL_ELEMENT = Element(
    "model",
    "*",
    "Links and the joints between them.",
    pose_element("Pose of the model."),
    _flag("static", "Whether the model is fixed.", "static"),
    _flag("self_collide", "Whether its links collide with each other.", SELF_COLLISION),
    _FRAME,
    LINK_ELEMENT,
    JOINT_ELEMENT,
    _INCLUDE,
    *setting_elements("allow_auto_disable"),
    _flag("enable_wind", "Whether wind acts on its links; not supported.", _NO_WIND),
    *ignored_elements("plugin", "gripper", "sensor", "light", "model_state"),
    attributes=(
        name_attribute("model"),
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
    states=("models",),
)
MODEL_ELEMENT.adopt(MODEL_ELEMENT)

PHYSICS_ELEMENT = Element(
    "physics",
    "*",
    "Physics settings; the default one is used, or else the first.",
    real_element("max_step_size", "Time step.", default="0.001", unit="s", field="time_step"),
    Element("gravity", "?", "Gravity up to version 1.5.", kind=VECTOR, unit="m/s²", in_schema=False, field="gravity"),
    Element(
        "dart",
        "?",
        "Parameters of DART.",
        leaf("collision_detector", TEXT, "Collision detector of DART.", field="collision_detector"),
        *setting_elements("solver"),
    ),
    Element(
        "ode",
        "?",
        "Parameters of ODE.",
        Element(
            "constraints",
            "?",
            "Softness of constraints.",
            real_element("cfm", "CFM.", field="cfm"),
            real_element("erp", "ERP.", field="erp"),
            *setting_elements("contact_max_correcting_vel", "contact_surface_layer"),
        ),
        *setting_elements("solver"),
    ),
    *setting_elements("real_time_factor", "real_time_update_rate", "max_contacts", "bullet", "simbody"),
    attributes=(
        Attribute("name", TEXT, "Name.", field=_LABEL),
        Attribute("default", BOOLEAN, "Whether to use these settings.", default="false", field=STRUCTURE),
        Attribute("type", TEXT, "Intended engine; no effect.", field=_LABEL),
    ),
)


WORLD_ELEMENT = Element(
    "world",
    "*",
    "A world with models.",
    leaf("gravity", VECTOR, "Gravitational acceleration.", default="0 0 -9.8", unit="m/s²", field="gravity"),
    PHYSICS_ELEMENT,
    MODEL_ELEMENT,
    _INCLUDE,
    _FRAME,
    JOINT_ELEMENT,
    Element("wind", "*", "Wind; not supported.", opaque=True, field=_NO_WIND),
    *setting_elements("audio", "atmosphere", "gui", "scene", "magnetic_field", "spherical_coordinates"),
    LIGHT_ELEMENT,
    *ignored_elements("actor", "plugin", "road", "state", "population"),
    attributes=(name_attribute("world"), Attribute("namespace", TEXT, "For other programs.", field=_LABEL)),
    item=World,
)

_SDF = Element(
    "sdf",
    "1",
    "A document.",
    WORLD_ELEMENT,
    MODEL_ELEMENT,
    *ignored_elements("light", "actor"),
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

_AXIS_ROWS = JOINT_ELEMENT.children["axis"].children
DYNAMICS = _AXIS_ROWS["dynamics"].part_of_each_row("dofs")
"""Elements of `dynamics`, and the fields of a degree of freedom that they set."""
SYMMETRIC_LIMITS = {
    tag: part for tag, part in _AXIS_ROWS["limit"].part_of_each_row("dofs").items() if part != "position_limits"
}
"""Elements of `limit` that hold for both directions, and the fields of a degree of freedom that they set."""
DRIVES = {"": _ODE_JOINT.part_of_each_row("drives")} | {
    child.name: parts for child in _ODE_JOINT.children.values() if (parts := child.part_of_each_row("drives"))
}
"""Elements of `ode`, and of the containers in it, with the fields of `Drive` that they set."""

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
