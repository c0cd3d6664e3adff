"""MJ101 to MJ403: the diagnostics of the MJCF reader; MJ501 to MJ608: the losses of the writer.

MJ5nn are parts that are written approximately, MJ6nn parts that are not written.
"""

from __future__ import annotations

from exoskel.diagnostics import LIMIT_HINT, Catalogue, Fix, Topic, error, info, warning
from exoskel.formats.macro_codes import macro_topic
from exoskel.source.surface import MAX_SLABS

_DOCUMENT = (
    Topic(
        "MJ101",
        "Not well-formed XML",
        "The file is not XML, is another kind of file, or exceeds the limits. Nothing is loaded from it.",
        error("MJ101", "not well-formed XML: {reason}", "{hint}"),
        error("MJ101.limit", "{reason}", LIMIT_HINT),
        error("MJ101.kind", "not an MJCF file: {reason}", "{hint}"),
    ),
    Topic(
        "MJ102",
        "Root is not mujoco",
        "The root element of an MJCF document is `mujoco`.",
        error("MJ102", "the root element is <{root}>, not <mujoco>"),
        error("MJ102.format", "the root element is <{root}>: this is {format}, not MJCF", "{hint}"),
    ),
    Topic(
        "MJ103",
        "Document type declaration",
        "Entities are never expanded: they can exhaust the memory or read other files.",
        error(
            "MJ103.entity",
            "the document declares entities, which are refused for security",
            "replace each entity with its text",
        ),
        info("MJ103.doctype", "the document type declaration has no effect", "remove it"),
    ),
    Topic(
        "MJ104",
        "Included file",
        "Paths of included files are relative to the main document. Each file may be included once.",
        error("MJ104", "cannot read the included file '{file}': {reason}"),
        error("MJ104.again", "the file '{file}' is included twice; the second <include> is ignored"),
    ),
    Topic(
        "MJ105",
        "Asset file",
        "A mesh or height field whose file is missing has no shape. It adds nothing to masses that MuJoCo computes.",
        error("MJ105", "cannot read the {what} '{file}': {reason}"),
        warning("MJ105.texture", "cannot use the texture '{file}': {reason}"),
    ),
    Topic(
        "MJ106",
        "MuJoCo rejects the document",
        "Exoskel reads MJCF with MuJoCo's compiler. What MuJoCo rejects is not read: a value, or the element that it "
        "belongs to. The rest is read, unless MuJoCo does not say what is wrong.",
        error("MJ106", "MuJoCo cannot compile the document: {reason}{outcome}"),
        info(
            "MJ106.missing",
            "MuJoCo cannot compile the document without the missing files: {reason}{outcome}",
            "provide the missing files first",
        ),
        error(
            "MJ106.element",
            "MuJoCo cannot compile the document: unknown element <{element}> in <{parent}>{outcome}",
            "{suggestion}",
        ),
        error(
            "MJ106.attribute",
            "MuJoCo cannot compile the document: unknown attribute '{name}' on <{element}>{outcome}",
            "{suggestion}",
        ),
        error("MJ106.value", "MuJoCo cannot compile the document: the {name} of {item} {problem}{outcome}"),
        error("MJ106.composite", "MuJoCo cannot compile the composite: {reason}", "{suggestion}"),
        error("MJ106.word", "MuJoCo cannot compile the document: {reason}{outcome}", "{suggestion}"),
        error(
            "MJ106.limit",
            "MuJoCo cannot compile the document: it needs more than {limit}",
            "simplify the document, or raise the limit: --max-seconds (limits=Limits(seconds=...))",
        ),
        error(
            "MJ106.memory",
            "MuJoCo cannot compile the document: it needs more than {limit} of memory",
            "simplify the document",
        ),
        error(
            "MJ106.keyframe",
            "MuJoCo cannot compile the document: the {name} of keyframe {keyframe} has too many numbers: {count}, "
            "{expected} expected{outcome}",
        ),
        warning("MJ106.warning", "MuJoCo warns: {reason}"),
    ),
    Topic(
        "MJ107",
        "Time step",
        "The time step must be positive.",
        error("MJ107", "the time step is {step}, but must be positive; {default} s is used"),
    ),
    Topic(
        "MJ108",
        "Flags",
        "Features that a flag disables are not read. Collision between a body and its parent is not supported.",
        info("MJ108", "{name} is disabled: {meaning}"),
        warning(
            "MJ108.filterparent",
            "filterparent is disabled: collision between bodies and their parents is not supported",
        ),
    ),
    Topic(
        "MJ109",
        "Invalid value",
        "MuJoCo compiles numbers that are not finite, computes them from very large ones, and accepts some negative "
        "ones. They are replaced by defaults, and what consists of them is not read.",
        error("MJ109", "{problem}{outcome}"),
    ),
    macro_topic("MJ110", "MJCF", ".xml"),
)

_UNSUPPORTED = (
    Topic(
        "MJ201",
        "Not part of the scene",
        "Some sensors, textures, skins, custom data and visual settings have no counterpart in a scene. From MJCF to "
        "MJCF, all but skins are preserved, and sensors if they measure the same.",
        info("MJ201", "<{tag}>{name} is ignored: {what} not part of the scene"),
    ),
    Topic(
        "MJ202",
        "Unsupported physics",
        "A scene does not support the element, so the motion will differ.",
        warning("MJ202", "<{tag}>{name} is ignored: {what} are not supported"),
    ),
    Topic(
        "MJ203",
        "Ignored attribute",
        "Settings of the solver and of contacts belong to an engine, not to a scene.",
        info("MJ203", "{word} of <{tag}> is ignored{repeats}"),
        warning("MJ203.physics", "{word} of <{tag}> is not supported{repeats}"),
    ),
)

_PARTS = (
    Topic(
        "MJ301",
        "Several joints on a body",
        "If no single joint of a scene is equivalent to the joints of a body, they become a chain of joints with "
        "massless bodies between them.",
        info("MJ301", "the {count} joints of body '{body}' become a chain: {kinds}"),
    ),
    Topic(
        "MJ303",
        "Nonlinear force",
        "Damping and stiffness are linear in a scene. Higher terms are ignored.",
        warning("MJ303", "{what} of joint '{joint}' is not linear; only the linear part is read"),
    ),
    Topic(
        "MJ304",
        "Limit of a ball joint",
        "MuJoCo limits the angle of a ball joint. A scene limits each component of its rotation vector.",
        warning("MJ304", "the limit of ball joint '{joint}' is read as a limit of each component"),
    ),
    Topic(
        "MJ305",
        "Gravity compensation",
        "In a scene, gravity is either on or off for a body.",
        warning("MJ305", "gravity compensation {value} of body '{body}' is read as {read}"),
    ),
    Topic(
        "MJ306",
        "Mocap body",
        "A program moves a mocap body at run time. It is read as a fixed body.",
        warning("MJ306", "body '{body}' is a mocap body; it is read as fixed"),
    ),
    Topic(
        "MJ307",
        "Shape",
        "Height fields are read as triangle meshes. Signed distance fields are not supported.",
        info("MJ307.hfield", "the height field is read as a triangle mesh, without its base"),
        warning("MJ307", "geoms of type {kind} are not supported; the geom is ignored"),
    ),
    Topic(
        "MJ308",
        "Collision filter",
        "A scene has self-collision per world, and groups of names that are exempt from collision. Finer rules are "
        "ignored.",
        warning("MJ308", "this combination of contype and conaffinity is not supported; it is ignored"),
        warning("MJ308.exclude", "excluding contact between bodies '{one}' and '{other}' is not supported"),
    ),
)

_SURFACES = (
    Topic(
        "MJ309",
        "Kinds of friction",
        "Shapes of a scene have only sliding friction.",
        warning("MJ309", "condim {condim} is read as sliding friction only{repeats}"),
    ),
    Topic(
        "MJ310",
        "Many keyframes",
        "A file may state many keyframes in few characters. At most a million numbers are read.",
        warning("MJ310", "{count} keyframes have more than a million numbers; the first {most} are read"),
    ),
    Topic(
        "MJ311",
        "Numbers of a keyframe",
        "A keyframe states a number for each coordinate of the document. MuJoCo completes a list that is too short "
        "with the default state, and ignores the poses of mocap bodies if one is missing.",
        error("MJ311", "the {name} of keyframe {keyframe} contains {found}: expected finite numbers; it is ignored"),
        warning(
            "MJ311.ignored",
            "the {name} of keyframe {keyframe} has numbers of {what}, which are not supported: they are ignored",
        ),
        warning(
            "MJ311.list",
            "the {name} of keyframe {keyframe} has numbers of {what}, which are not supported: it is ignored",
        ),
        warning(
            "MJ311.few",
            "the {name} of keyframe {keyframe} has too few numbers: {count}, {expected} expected; defaults follow",
            "state all numbers",
        ),
        warning(
            "MJ311.mocap",
            "the {name} of keyframe {keyframe} has too few numbers: {count}, {expected} expected; MuJoCo ignores it",
            "state all numbers",
        ),
    ),
)

_ACTUATORS_AND_CONSTRAINTS = (
    Topic(
        "MJ402",
        "Unsupported actuator",
        "Only actuators that apply a force or linear feedback to one coordinate of a joint, or to a tendon, are "
        "supported.",
        warning("MJ402", "the actuator{actuator} is ignored: {reason}"),
    ),
    Topic(
        "MJ404",
        "Unsupported tendon",
        "Tendons of hinges and slides, and over sites, geoms and pulleys, are supported, with linear springs and "
        "dampers.",
        warning("MJ404", "the tendon{tendon} is ignored: {reason}"),
    ),
    Topic(
        "MJ403",
        "Unsupported constraint",
        "Constraints of bodies, sites, joints and tendons are supported, those of flexes are not.",
        warning("MJ403", "the {kind} constraint{name} is ignored: {reason}"),
    ),
)

_APPROXIMATED = (
    Topic(
        "MJ501",
        "Concave mesh",
        "MuJoCo collides a mesh as its convex hull. A mesh of a static model is divided into its triangles instead, "
        f"if it has at most {MAX_SLABS}. A flat mesh that collides has a thickness of a thousandth of its size.",
        warning("MJ501", "MuJoCo collides a moving mesh as its convex hull: its hollows are filled", "use --decompose"),
        warning("MJ501.isaac", "Isaac Sim collides meshes as convex hulls: the hollows are filled", "convert to USD"),
        warning("MJ501.flat", "MuJoCo has no flat meshes that collide: the mesh is written as a thin solid"),
    ),
    Topic(
        "MJ502",
        "Axes of springs, dampers and friction",
        "In a scene, springs, dampers and friction of a free joint act along the axes of its parent, and friction of a "
        "ball joint acts about the axes of the joint. In MuJoCo, all of them act along the axes of the body.",
        warning(
            "MJ502", "springs, dampers and friction of the free joint act along the axes of the body, not of its parent"
        ),
        warning("MJ502.friction", "friction of the ball joint acts about the axes of the body, not of the joint"),
    ),
    Topic(
        "MJ503",
        "Ball joint",
        "A ball joint in MuJoCo has one damping, stiffness, friction and limit instead of three.",
        warning(
            "MJ503", "a ball joint has one damping, stiffness, friction and armature for all axes: the mean is written"
        ),
        warning("MJ503.limits", "a ball joint's limits become one angle: the widest is written"),
    ),
    Topic(
        "MJ504",
        "Motors",
        "MuJoCo has no motors that keep a velocity with a bounded force, and no prescribed motion.",
        warning("MJ504", "the motor is written as a flywheel coupled by dry friction"),
        warning("MJ504.torques", "the motor is written as torques about its axes, which track its speed"),
        warning("MJ504.prescribed", "a joint with prescribed motion is written as a very large inertia"),
    ),
    Topic(
        "MJ505",
        "Soft stops",
        "The CFM of a stop is not written.",
        warning("MJ505", "soft stops are written as hard stops"),
    ),
    Topic(
        "MJ506",
        "Shapes",
        "MuJoCo has fewer shapes than a scene, its planes have the normal z, and its vertices are in single precision.",
        warning("MJ506", "the shape is written as a convex mesh"),
        warning("MJ506.vertices", "MuJoCo reads vertices in single precision"),
        warning("MJ506.plane", "the plane's frame is rotated so that z is its normal"),
    ),
    Topic(
        "MJ507",
        "Mass properties",
        "MuJoCo rejects bodies without mass, and moments of inertia that no solid has. DART ignores all moments.",
        warning(
            "MJ507.massless",
            "MuJoCo rejects these mass properties: the body gets the smallest mass that MuJoCo accepts",
        ),
        warning(
            "MJ507.moment",
            "MuJoCo rejects these mass properties: principal moments that are not positive are raised to the smallest "
            "value that MuJoCo accepts",
        ),
        warning(
            "MJ507.triangle",
            "MuJoCo rejects these mass properties: the smaller principal moments are raised until their sum equals "
            "the largest",
        ),
        warning(
            "MJ507.static",
            "MuJoCo rejects these mass properties of a static body, which have no effect: valid ones are written",
        ),
        warning(
            "MJ507.dart",
            "DART's MJCF reader ignores moments of inertia: every body gets 1 kg·m²",
            "convert to SDF with --for dart",
        ),
    ),
    Topic(
        "MJ508",
        "Integrator",
        "`exoskel run` uses MuJoCo 4's integrator `discrete`. Other programs have other integrators.",
        warning(
            "MJ508",
            "the integrator is implicitfast: contacts, limits and springs differ from those of discrete, in MuJoCo 4",
        ),
        warning("MJ508.solver", "{program} integrates with its own solver"),
    ),
    Topic(
        "MJ509",
        "Sleeping bodies",
        "Bodies of an MJCF file are awake at first.",
        warning("MJ509", "the sleeping body is written as awake"),
    ),
    Topic(
        "MJ510",
        "Joints of static models",
        "Bodies of a static model do not move: they are written without joints, at their initial poses.",
        warning("MJ510", "the joints of a static model are written at their initial positions"),
    ),
    Topic(
        "MJ511",
        "What DART refuses",
        "DART's MJCF reader refuses a file with a body that has more than three joints, or with welded sites. It "
        "crashes on sites of the world, which angular motors on the world need: these are not written.",
        warning(
            "MJ511",
            "DART's MJCF reader refuses the file: the joint is written as more than three MuJoCo joints",
            "convert to SDF with --for dart",
        ),
        warning("MJ511.sites", "DART's MJCF reader refuses the file: an equality constraint welds two sites"),
        warning(
            "MJ511.site",
            "DART's MJCF reader crashes on sites of the world: the motor is not written",
            "set its velocity and force in the program",
        ),
    ),
    Topic(
        "MJ513",
        "What DART, Newton and Isaac Sim ignore",
        "The MJCF readers of DART 6.20, Newton and Isaac Sim (mujoco-usd-converter) ignore some of what a file states. "
        "Set these values in the program.",
        warning("MJ513", "{program}'s MJCF reader ignores {what}"),
        warning("MJ513.ball", "Newton 1.8 refuses the file: a body has a ball joint after slide joints"),
        warning(
            "MJ513.capsule",
            "DART's default collision detector replaces the capsule by a sphere of 0.1 m",
            "choose DART's own detector in the program",
        ),
        warning("MJ513.ellipsoid", "Isaac Sim's MJCF reader has no ellipsoids: the shape is written as a mesh"),
        warning(
            "MJ513.limits",
            "DART's MJCF reader does not enforce limits of joints",
            "call setLimitEnforcement(True) on each joint in the program",
        ),
        warning(
            "MJ513.trees",
            "DART's MJCF reader makes a skeleton of each tree of bodies: those of the model collide with each other",
        ),
        warning("MJ513.plane", "DART's MJCF reader replaces the plane by a box of limited size"),
    ),
    Topic(
        "MJ512",
        "Orthographic cameras",
        "MuJoCo 3.5 has another attribute for them than earlier versions, and each refuses that of the other.",
        warning("MJ512", "MuJoCo before 3.5 refuses orthographic cameras: camera '{name}' has a perspective"),
    ),
)

_NOT_WRITTEN = (
    Topic(
        "MJ601",
        "Unsupported limits",
        "MJCF limits positions, and forces of motors.",
        warning("MJ601.velocity", "velocity limits are not written"),
        warning("MJ601.acceleration", "acceleration limits are not written"),
        warning("MJ601.force", "force limits without a motor are not written"),
        warning("MJ601.large", "position limits of 1e10 or more are written as no limit"),
        warning("MJ601.infinite", "equal limits at infinity are not written"),
    ),
    Topic(
        "MJ602",
        "Rest position of a ball joint",
        "The springs of a ball joint in MuJoCo rest at zero.",
        warning("MJ602", "the rest position of a ball joint's springs is not written"),
    ),
    Topic(
        "MJ603",
        "First step",
        "MJCF states initial positions and velocities, but no initial forces or accelerations.",
        warning("MJ603.joint", "forces and accelerations of the first step are not written"),
        warning("MJ603.body", "forces and torques of the first step are not written"),
    ),
    Topic(
        "MJ604",
        "Universal joint with axes that are not unit vectors",
        "DART 6 does not normalise the axes of a universal joint. If the axes do not give a rotation, DART places the "
        "child at its parent's frame.",
        warning(
            "MJ604", "the axes of the universal joint are normalised; DART would place its child at its parent's frame"
        ),
    ),
    Topic(
        "MJ605",
        "Soft skin",
        "The points of a soft skin are written as bodies on slides, its edges as tendons. A skin of a static body, or "
        "without mass or points, is not written.",
        warning("MJ605", "the soft skin is not written"),
    ),
    Topic(
        "MJ606",
        "Unsupported shapes",
        "MuJoCo has planes only on bodies that do not move, and no rays. Meshes need their file.",
        warning("MJ606.mesh", "the mesh was not found and is not written"),
        warning("MJ606.unreadable", "the mesh cannot be read and is not written"),
        warning("MJ606.small", "the mesh has fewer than four vertices, or no triangles, and is not written"),
        warning("MJ606.ray", "the ray is not written"),
        warning("MJ606.plane", "a plane on a moving body is not written"),
    ),
    Topic(
        "MJ607",
        "Collision with the parent",
        "MuJoCo never collides a moving body with its parent.",
        warning("MJ607", "MuJoCo does not collide a body with its parent: the connected bodies do not collide"),
    ),
    Topic(
        "MJ608",
        "Servos of ball and free joints",
        "MuJoCo has no constraint that keeps a speed about three axes. Feedback of the speed needs a few time steps.",
        warning("MJ608", "the servo is written as velocity actuators, which reach their speed within a few time steps"),
        warning("MJ608.loop", "MuJoCo has no free joints that close loops: the servo is not written"),
    ),
    Topic(
        "MJ609",
        "Unsupported textures",
        "MuJoCo reads textures as PNG files. Other images are converted to PNG. MuJoCo rejects a document whose "
        "textures it cannot read, so these are not written.",
        warning("MJ609.missing", "the texture was not found and is not written"),
        warning("MJ609.unreadable", "the texture is not written: {reason}"),
        warning("MJ609.folder", "the texture is not written: the document has no folder to refer to it from"),
    ),
)

CATALOGUE = Catalogue(
    "MuJoCo",
    (
        *(*_DOCUMENT, *_UNSUPPORTED, *_PARTS, *_SURFACES, *_ACTUATORS_AND_CONSTRAINTS),
        *(*_APPROXIMATED, *_NOT_WRITTEN),
    ),
    {
        "MJ106.element": Fix("rename", "use <{nearest}>", name="{nearest}", preserves_meaning=False),
        "MJ106.attribute": Fix("rename_attribute", "use '{nearest}'", name="{nearest}", preserves_meaning=False),
        "MJ106.word": Fix("replace", "use '{nearest}'", text="{nearest}", preserves_meaning=False),
    },
)
