"""The diagnostics of the SDFormat reader.

`SDnnn` is a topic; the suffix after the dot in a key distinguishes its messages. In strict mode,
every warning is an error.
"""

from __future__ import annotations

from exoskel.diagnostics import LIMIT_HINT, Catalogue, Fix, Topic, error, info, warning
from exoskel.formats.macro_codes import macro_topic

_DOCUMENT = (
    Topic(
        "SD001",
        "Not well-formed XML",
        "The file is not XML, is another kind of file, or exceeds the limits. Nothing is loaded from it.",
        error("SD001", "not well-formed XML: {reason}", "{hint}"),
        error("SD001.limit", "{reason}", LIMIT_HINT),
        error("SD001.kind", "not an SDF file: {reason}", "{hint}"),
    ),
    Topic(
        "SD002",
        "Root is not sdf",
        "The root element of an SDFormat document is `sdf`.",
        error("SD002", "the root element is <{root}>, not <sdf>"),
        error("SD002.format", "the root element is <{root}>: this is {format}, not SDF", "{hint}"),
    ),
    Topic(
        "SD003",
        "Nothing to load",
        "A document contains worlds, or a single model without a world.",
        error("SD003", "<sdf> contains neither <world> nor <model>"),
    ),
    Topic(
        "SD004",
        "Document type declaration",
        "Entities are never expanded: they can exhaust the memory or read other files.",
        error(
            "SD004.entity",
            "the document declares entities, which are refused for security",
            "replace each entity with its text",
        ),
        warning("SD004.doctype", "the document type declaration has no effect", "remove it"),
    ),
    Topic(
        "SD005",
        "Version",
        "Versions 1.6 to 1.12 are supported, each with its own rules. In documents before 1.5, joint axes are in the "
        "model frame; since 1.5, in the joint frame.",
        warning("SD005.absent", "<sdf> has no version; 1.6 is assumed"),
        warning("SD005.other", "version '{version}' is not one of 1.6 to 1.12; the nearest of these is assumed"),
    ),
    Topic(
        "SD006",
        "Model outside a world",
        "A document contains worlds, or one model without a world.",
        warning("SD006.beside", "<model> is outside <world>; it is added to the first world"),
        info(
            "SD006.several",
            "several models without a <world>; all are added to one world",
            "",
            "allows only one since version 1.8",
        ),
    ),
    macro_topic("SD007", "SDF", ".sdf"),
    Topic(
        "SD010",
        "Unknown element",
        "SDFormat does not define the element here. It is ignored.",
        warning("SD010", "unknown element <{element}> in <{parent}>", "{suggestion}"),
        warning("SD010.misplaced", "<{element}> is not allowed in <{parent}>; it is ignored", "{suggestion}"),
        info("SD010.prefixed", "<{element}> is an extension of another program; it is ignored"),
    ),
    Topic(
        "SD011",
        "Unknown attribute",
        "SDFormat does not define the attribute for this element. It is ignored.",
        warning("SD011", "unknown attribute '{name}' on <{element}>", "{suggestion}"),
        info("SD011.prefixed", "attribute '{name}' on <{element}> belongs to another program; it is ignored"),
    ),
    Topic(
        "SD012",
        "Not part of the scene",
        "A scene does not include plugins, rendering or the parameters of a specific solver. It includes some kinds of "
        "sensors.",
        info("SD012", "<{element}> is not part of the scene; it is ignored"),
        info("SD012.sensor", "sensor '{name}' is read as {kinds}; its other settings are ignored"),
        info("SD012.camera", "sensor '{name}' is read as a camera; its other settings are ignored"),
        info(
            "SD012.noise",
            "the noise of sensor '{name}' is ignored: only Gaussian noise without bias, equal on all axes, is read",
        ),
        warning("SD012.physics", "<{element}> changes the physics but is not supported; it is ignored"),
    ),
    Topic(
        "SD013",
        "Stray or split text",
        "Text where only elements are allowed has no effect. A value that is split by a comment is read whole.",
        warning("SD013.stray", "text '{text}' in <{element}> has no effect"),
        warning("SD013.split", "a comment splits the value after '{first}'", "move the comment out of the value"),
    ),
    Topic(
        "SD014",
        "Duplicate element",
        "The element may appear only once. The first is used.",
        warning("SD014", "duplicate <{element}>; the first, on line {line}, is used"),
    ),
    Topic(
        "SD015",
        "Missing element",
        "The element requires this child.",
        error("SD015", "<{parent}> has no <{element}>"),
        warning("SD015.empty", "<{element}> is empty; the default is used"),
    ),
    Topic(
        "SD016",
        "Missing attribute",
        "The element requires this attribute. It must not be empty.",
        error("SD016", "<{element}> has no '{attribute_name}'"),
        error("SD016.blank", "'{name}' is empty"),
    ),
)

_VALUES = (
    Topic(
        "SD020",
        "Not a number",
        "A number consists of decimal digits with an optional sign, point and exponent.",
        error("SD020", "'{token}' in '{name}' is not a number; it is ignored"),
    ),
    Topic(
        "SD021",
        "Wrong number of values",
        "The element takes a fixed number of values.",
        error("SD021", "'{name}': expected {expected} numbers, found {found}; it is ignored"),
    ),
    Topic(
        "SD022",
        "Number is not finite",
        "Numbers must be finite.",
        error("SD022", "'{token}' in '{name}' is not a finite number; it is ignored"),
    ),
    Topic(
        "SD023",
        "Not a boolean",
        "A boolean is `1`, `0`, `true` or `false`.",
        error("SD023", "'{token}' in '{name}' is not a boolean", "use true or false"),
    ),
    Topic(
        "SD024",
        "Invalid choice",
        "The element allows only a few values.",
        error("SD024", "{name}: '{token}' is not one of {allowed}", "{suggestion}"),
    ),
    Topic(
        "SD025",
        "Size out of range",
        "Sizes, radii, lengths and the time step must be positive.",
        error("SD025", "<{element}> is {found}, but must be positive; the shape is ignored"),
        error("SD025.step", "the time step is {found}, but must be positive; 0.001 s is used"),
        error("SD025.scale", "the scale of a mesh is 0; the shape is ignored"),
    ),
    Topic(
        "SD026",
        "Zero quaternion",
        "The quaternion of a rotation must not be zero.",
        error("SD026", "the quaternion is zero; the identity is used"),
    ),
)

_MODELS = (
    Topic(
        "SD030",
        "Names",
        "The names of links, joints, frames and nested models are unique within their model. The names of models and "
        "frames are unique within their world.",
        error("SD030.repeated", "duplicate name '{name}'; this {element} is renamed to '{renamed}'"),
        warning("SD030.reserved", "'{name}' is a reserved name"),
    ),
    Topic(
        "SD031",
        "Model without links",
        "A model must have a link, unless it is static.",
        warning("SD031", "model '{name}' has no links"),
    ),
    Topic(
        "SD032",
        "Static nested model",
        "The links of a static model are fixed to the world, even if the model is nested in another one.",
        info("SD032", "the links of '{name}' are fixed to the world because it is static"),
    ),
    Topic(
        "SD033",
        "Mixed self-collision",
        "A scene enables self-collision for all models or for none.",
        warning("SD033", "self-collision is enabled for only some links; the scene enables it for all"),
    ),
    Topic(
        "SD034",
        "Depth of nested models",
        "Models may be nested, also by including files, up to a limit.",
        error("SD034", "model '{name}' is nested deeper than the limit of {most} levels; it is ignored"),
    ),
    Topic(
        "SD040",
        "Included file",
        "Included files are searched in the document's directory, in the package path, and among the models that "
        "Gazebo has downloaded. Nothing is downloaded.",
        error(
            "SD040.missing",
            "'{uri}' was not found",
            "{hint}",
            "searches SDF_PATH and GZ_SIM_RESOURCE_PATH",
        ),
        error("SD040.outside", "'{uri}' is outside the document's directory, which is not allowed here"),
        error("SD040.remote", "'{uri}' is on the network; nothing is downloaded", "run: gz fuel download -u {uri}"),
        error("SD040.circle", "'{uri}' includes itself; it is ignored"),
        error("SD040.config", "{file} is not well-formed: {reason}; model.sdf is read instead"),
        error("SD040.empty", "'{uri}' contains no model; it is ignored"),
        error("SD040.deep", "'{uri}' is included more than {most} levels deep; it is ignored"),
        error("SD040.many", "'{uri}' is ignored: with it, the included files exceed the limit of {most} elements"),
        warning("SD040.several", "'{uri}' contains several models; the first is used"),
    ),
    Topic(
        "SD050",
        "Frames",
        "Poses, frames and joints refer to frames by name. This is the name of a link, joint, frame or nested model, "
        "`__model__`, or `world` in a world.",
        error("SD050.unknown", "unknown frame '{name}'; {instead}", "{suggestion}"),
        error("SD050.circle", "the pose of '{name}' depends on itself; it is read relative to the model or world"),
        error("SD050.attached", "frame '{name}' is attached to itself; it belongs to no link"),
        error("SD050.canonical", "unknown link '{name}'; the first link is used", "{suggestion}"),
    ),
)

_JOINTS = (
    Topic(
        "SD060",
        "Ends of a joint",
        "A joint connects its child to its parent, or to the world.",
        error("SD060.unknown", "unknown link or frame '{name}'; joint '{joint}' is ignored", "{suggestion}"),
        error("SD060.self", "joint '{joint}' connects '{name}' to itself; it is ignored"),
        error("SD060.missing", "joint '{joint}' has no {end}; it is ignored"),
        warning("SD060.reversed", "the child of joint '{joint}' is the world; parent and child are swapped"),
    ),
    Topic(
        "SD061",
        "Unsupported joint",
        "A gearbox is supported if two revolute joints connect its links with its reference body, about its axes. A "
        "joint in a world connects two models, which is not supported.",
        warning(
            "SD061.gearbox",
            "joint '{joint}' is a gearbox, which is not supported here; it is ignored",
            "connect both links with the reference body by revolute joints about the axes of the gearbox",
        ),
        warning("SD061.world", "joint '{joint}' connects two models, which is not supported; it is ignored"),
        error("SD061.type", "the type of joint '{joint}' is missing or unknown; the joint is ignored"),
    ),
    Topic(
        "SD062",
        "Axis",
        "An axis is a direction; its length does not matter unless it is zero.",
        error("SD062.zero", "the axis is zero; 0 0 1 is used"),
        info("SD062.default", "joint '{joint}' has no <{element}>; 0 0 1 is used"),
    ),
    Topic(
        "SD063",
        "Loop",
        "A joint closes a loop if its child already has a parent joint or is an ancestor of its parent. Such a joint "
        "is a constraint without coordinates.",
        info("SD063", "joint '{joint}' closes a loop"),
    ),
    Topic(
        "SD064",
        "Thread pitch",
        "`screw_thread_pitch` is the travel in metres per revolution, positive for a right-handed thread. The older "
        "`thread_pitch` is in radians per metre with the opposite sign: -2π divided by the travel per revolution.",
        info("SD064.old", "<thread_pitch> of {found} rad/m is read as a travel of {pitch} m per revolution"),
        error("SD064.zero", "<thread_pitch> is zero; a travel of 1 m per revolution is used"),
        info("SD064.default", "screw joint '{joint}' has no pitch; a travel of 1 m per revolution is used"),
        info("SD064.both", "<screw_thread_pitch> is used; <thread_pitch> is ignored"),
    ),
    Topic(
        "SD065",
        "Mimic",
        "An axis can mimic the axis of another joint with one axis.",
        error("SD065.unknown", "<mimic> refers to the unknown joint '{name}'; it is ignored", "{suggestion}"),
        warning("SD065.axis", "<mimic> is supported only between joints with one axis; it is ignored"),
    ),
    Topic(
        "SD066",
        "Limits reversed",
        "The lower limit exceeds the upper limit; both are ignored.",
        error("SD066", "the lower limit {lower} exceeds the upper limit {upper}; both are ignored"),
    ),
    Topic(
        "SD067",
        "Gearbox",
        "A gearbox couples the angles of two links to its reference body. The joint of its child mimics that of its "
        "parent.",
        info("SD067", "gearbox '{joint}': joint '{follower}' mimics joint '{leader}' with the multiplier {multiplier}"),
    ),
)

_LINKS = (
    Topic(
        "SD070",
        "Mass properties",
        "A link without mass properties has a mass of 1 kg and unit moments. Moments are about the centre of mass. "
        'With auto="true" they are computed from the collision shapes, each of uniform density. This supports boxes, '
        "spheres, cylinders, capsules and ellipsoids whose poses are relative to their link.",
        info("SD070.default", "link '{name}' has no <inertial>; 1 kg and unit moments are used"),
        warning(
            "SD070.auto",
            "the mass properties of '{name}' cannot be computed from its collision shapes; "
            "the given ones, or 1 kg, are used",
        ),
        error("SD070.mass", "the mass is {found}, but must be positive; 1 kg is used"),
        warning("SD070.moment", "the inertia of '{name}' is not physical"),
        warning("SD070.added", "the added mass of a fluid is not supported; it is ignored"),
    ),
    Topic(
        "SD080",
        "Geometry",
        "A shape has one geometry. A shape without a supported geometry is ignored.",
        error("SD080.none", "<{element}> has no geometry; it is ignored"),
        warning("SD080.several", "several geometries in one <geometry>; <{kind}> is used"),
        warning("SD080.unknown", "the geometry <{kind}> is not supported; the shape is ignored"),
        error("SD080.normal", "the plane's normal is zero; 0 0 1 is used"),
        error(
            "SD080.polyline",
            "the polylines are not simple polygons of 3 to {most} corners that do not cross; the shape is ignored",
        ),
        warning("SD080.height", "several polylines have the height of the first, {height}; another height is ignored"),
    ),
    Topic(
        "SD081",
        "Mesh",
        "The file cannot be found or read. The shape and its reference are preserved.",
        warning("SD081.missing", "mesh '{uri}' was not found", "{hint}"),
        warning("SD081.unreadable", "mesh '{uri}' cannot be read: {reason}"),
        warning("SD081.submesh", "<submesh> is not supported; the whole mesh is used"),
    ),
    Topic(
        "SD082",
        "Surface",
        "A shape has one sliding friction and one restitution. Other contact properties are ignored.",
        info("SD082", "the surface property <{element}> is not supported; it is ignored"),
        warning(
            "SD082.motion", "the surface property <{element}> changes the physics but is not supported; it is ignored"
        ),
        warning(
            "SD082.bitmask",
            "shapes with <{element}> {value} and shapes with the bitmask {other} do not collide in Gazebo; this is not "
            "supported, and they collide",
        ),
    ),
    Topic(
        "SD083",
        "Friction",
        "A shape has one coefficient of friction for all directions. It must not be negative.",
        warning("SD083", "mu2 is {mu2} and mu is {mu}; mu is used for both directions"),
        error("SD083.negative", "mu is {mu}, but must not be negative; 1 is used"),
    ),
)

_APPROXIMATED = (
    Topic(
        "SD084",
        "Soft skin",
        "DART's element for a soft skin has a mass of at least 0 and whole numbers of points.",
        error("SD084.mass", "<total_mass> is {found}, but must not be negative; the skin is ignored"),
        error("SD084.count", "<{element}> must be whole numbers from {least} to {most}; the skin is ignored"),
    ),
    Topic(
        "SD086",
        "Texture",
        "The image of a material cannot be found, or the file is not an image. The reference is preserved.",
        warning("SD086", "texture '{uri}' cannot be used: {reason}"),
        warning("SD086.missing", "texture '{uri}' was not found", "{hint}"),
    ),
    Topic(
        "SD085",
        "Direction of a force sensor",
        "A sensor of a scene measures what the parent link applies to the child link (`parent_to_child`). By default, "
        "SDF means the force and torque of the child link on the parent link.",
        info("SD085", "sensor '{name}' measures the wrench of the child on the parent; the scene has the other sign"),
    ),
    Topic(
        "SD101",
        "Floating link",
        "A link without a joint floats. Without a joint, it has no joint frame, springs or dampers.",
        warning("SD101", "a floating link has no joint in SDF: its coordinates refer to the link frame"),
        warning("SD101.dynamics", "a floating link has no joint in SDF: springs and dampers are not written"),
    ),
    Topic(
        "SD102",
        "Massless link",
        "Readers of SDF reject links without mass.",
        warning("SD102", "SDF has no massless links: a mass of {mass} kg is written"),
    ),
    Topic(
        "SD103",
        "Zero axis",
        "An axis must not be zero.",
        warning("SD103", "the axis is zero; the joint is written as fixed"),
    ),
    Topic(
        "SD104",
        "One limit for both directions",
        "SDF has one number for both directions of a velocity or effort limit.",
        warning("SD104", "SDF has one {limit} limit for both directions: the larger is written"),
    ),
    Topic(
        "SD105",
        "Parameters of ODE",
        "A joint has one set of ODE parameters for all of its axes.",
        warning("SD105", "SDF has one set of ODE parameters for all axes: those of the first axis are written"),
    ),
    Topic(
        "SD106",
        "Convex hull of spheres",
        "SDF has no convex hull of several spheres.",
        warning("SD106", "written as its spheres, without their convex hull"),
    ),
    Topic(
        "SD107",
        "Shapes in files for DART",
        "DART's SDF reader supports boxes, spheres, cylinders, planes and meshes.",
        warning("SD107", "DART's SDF reader has no {kind}: written as a mesh of its surface"),
        warning("SD107.capsule", "DART's SDF reader has no capsule: written as a cylinder and two spheres"),
    ),
    Topic(
        "SD108",
        "Soft skin in files for DART",
        "DART's SDF reader has its own element for soft bodies. Other readers ignore it.",
        warning("SD108", "written as <soft_shape>, which only DART reads"),
    ),
)

_NOT_WRITTEN = (
    Topic(
        "SD201",
        "Exempt groups",
        "SDF has no collision filter by names.",
        warning("SD201", "SDF has no groups exempt from collision"),
    ),
    Topic(
        "SD202",
        "Unsupported joints",
        "A joint that closes a loop is not lowered to a chain, and SDF has no angular motors.",
        warning("SD202.motor", "angular motors are not supported by SDF; the motor is not written"),
        warning("SD202.dart", "DART's SDF reader has no joints that close loops; not written"),
        warning("SD202.loop", "{kind} joints that close a loop are not supported by SDF"),
    ),
    Topic(
        "SD203",
        "Initial state",
        "Positions and velocities of joints, and states of bodies, are not part of a model in SDF.",
        warning("SD203", "SDF has no initial state: links are written at rest, at zero joint positions"),
        warning("SD203.link", "SDF has no initial state of links"),
    ),
    Topic(
        "SD204",
        "Soft skin",
        "Only the rigid core of a soft body is written.",
        warning("SD204", "SDF has no soft bodies: the skin and its mass are not written"),
    ),
    Topic("SD205", "Markers", "SDF has no markers.", warning("SD205", "SDF has no markers")),
    Topic(
        "SD206",
        "Mimic",
        "A joint can mimic only a joint that is written, and has an axis.",
        warning("SD206", "the joint mimics a joint that is not written"),
        warning("SD206.dart", "DART's SDF reader ignores mimic joints; not written"),
    ),
    Topic(
        "SD207",
        "Actuators",
        "Motors are plugins of a simulator, not parts of SDF.",
        warning("SD207", "SDF has no actuators: '{actuator}' is not written"),
    ),
    Topic(
        "SD208",
        "Unsupported limits",
        "SDF limits position, velocity and effort of axes, and readers enforce every limit.",
        warning("SD208.acceleration", "SDF has no acceleration limits"),
        warning("SD208.unenforced", "limits that are not enforced are not written"),
        warning("SD208.large", "limits of 1e16 or more mean no limit in SDF"),
        warning("SD208.axes", "SDF has no limits and dynamics for joints without axes"),
    ),
    Topic(
        "SD209",
        "Unsupported shapes",
        "SDF has no counterpart of the shape, or DART's reader crashes on it.",
        warning("SD209", "SDF does not support this geometry: the shape is not written"),
        warning("SD209.faces", "not written: the shape has no faces"),
        warning("SD209.dart", "DART's SDF reader crashes on meshes that it cannot read: the shape is not written"),
    ),
    Topic(
        "SD210",
        "World of a model",
        "With `--split`, a file is one model. Gravity, time step and collision detector belong to a world.",
        warning("SD210", "the file is a model without a world: gravity, time step and engine settings are not written"),
    ),
    Topic(
        "SD211",
        "Unsupported sensors",
        "SDF has sensors of links and of joints. Sensors of tendons, actuators and joint positions are plugins.",
        warning("SD211", "SDF has no sensor that measures '{kind}' of this part: it is not written"),
        warning("SD211.dart", "DART's SDF reader has no sensors: '{kind}' is not written"),
        warning("SD211.joint", "the sensor '{kind}' needs a joint of its link, which SDF does not have: not written"),
        warning(
            "SD211.contact",
            "no collision shape has the volume of the site, as a contact sensor of SDF needs: '{kind}' is not written",
        ),
    ),
    Topic(
        "SD212",
        "Settings of sensors",
        "Values of sensors are not clipped in SDF, and orientations have no noise.",
        warning("SD212.cutoff", "SDF does not clip the values of this sensor: the cutoff is not written"),
        warning("SD212.noise", "SDF has no noise of this sensor"),
    ),
    Topic(
        "SD213",
        "Unsupported cameras and lights",
        "SDF has perspective cameras. A model without a world has only those of its links. DART's reader has none.",
        warning("SD213.orthographic", "SDF has no orthographic cameras: {kind} '{name}' is not written"),
        warning(
            "SD213.angle", "a camera of SDF has an angle between 0 and 180 degrees: {kind} '{name}' is not written"
        ),
        warning("SD213.world", "the file is a model without a world: {kind} '{name}' is not written"),
        warning("SD213.dart", "DART's SDF reader has no cameras and lights: {kind} '{name}' is not written"),
    ),
    Topic(
        "SD214",
        "Settings of cameras and lights",
        "Cameras and lights of SDF are fixed to their links. Lights have no ambient colour. Spots have two angles "
        "instead of an exponent.",
        warning("SD214.mode", "SDF does not support the mode '{mode}': {kind} '{name}' is fixed"),
        warning("SD214.ambient", "SDF has no ambient colours of lights: that of '{name}' is not written"),
        warning("SD214.spot", "SDF has no exponent of spots: light '{name}' has a linear falloff"),
    ),
    Topic(
        "SD215",
        "Unsupported textures",
        "SDF does not repeat textures. DART's reader has none.",
        warning("SD215.repeat", "SDF does not repeat textures: the image is written once"),
        warning("SD215.dart", "DART's SDF reader has no textures: the texture is not written"),
    ),
    Topic(
        "SD216",
        "What DART ignores",
        "DART 6.20's SDF reader ignores some of what a file states. Set these values in the program.",
        warning("SD216", "DART's SDF reader ignores {what}"),
        warning("SD216.plane", "DART's SDF reader replaces the plane by a box, 100 m wide and 1 mm thick"),
    ),
)

_FIXES = {
    "SD010": Fix("rename", "use <{nearest}>", name="{nearest}", preserves_meaning=False),
    "SD011": Fix("rename_attribute", "use '{nearest}'", name="{nearest}", preserves_meaning=False),
    "SD024": Fix("replace", "use '{nearest}'", text="{nearest}", preserves_meaning=False),
    "SD050.unknown": Fix("replace", "use '{nearest}'", text="{nearest}", preserves_meaning=False),
    "SD060.unknown": Fix("replace", "use '{nearest}'", text="{nearest}", preserves_meaning=False),
    "SD065.unknown": Fix("replace", "use '{nearest}'", text="{nearest}", preserves_meaning=False),
}
"""The automatic fixes, by the key of the diagnostic, for `exoskel check --fix` and editors."""

CATALOGUE = Catalogue(
    "Gazebo",
    (
        *(*_DOCUMENT, *_VALUES, *_MODELS, *_JOINTS, *_LINKS),
        *(*_APPROXIMATED, *_NOT_WRITTEN),
    ),
    _FIXES,
)
