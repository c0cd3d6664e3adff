"""US001 to US316: the diagnostics of the USD reader and writer.

US0nn are errors, US1nn problems of a file that is read, US2nn parts that are written approximately, US3nn parts that
are not written.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, ExoskelError, Topic, error, info, warning
from exoskel.fates import Fate


class UsdError(ExoskelError):
    """A USD file cannot be written or read."""


_ERRORS = (
    Topic(
        "US001",
        "OpenUSD is missing",
        "OpenUSD, as the module `pxr` of Pixar's package usd-core or NVIDIA's usd-exchange, reads USD files. It is "
        "also needed to write them: Exoskel reads back every file that it writes, to verify it.",
        error("US001", "{what} needs the module pxr of OpenUSD", "run: pip install 'exoskel[usd]'"),
    ),
    Topic(
        "US002",
        "Not a USD file",
        "usd-core cannot open the file. A file that Exoskel has just written is read back to verify it.",
        error("US002", "not a USD file: {reason}"),
        error("US002.other_program", "this USD file was not written by Exoskel: {reason}"),
    ),
    Topic(
        "US003",
        "Limit exceeded",
        "usd-core runs in a process of its own, with limits on time and memory that grow with the size of the files.",
        error("US003", "the USD file needs more than {limit}", "remove references that repeat many times"),
    ),
)

_READ = (
    Topic(
        "US004",
        "Invalid value",
        "A value is not a number, or is outside the range that a scene allows.",
        error("US004", "'{name}' is not a number; its default is used"),
        error("US004.infinite", "'{name}' is infinite; its default is used", "set it to a finite number"),
        error(
            "US004.negative",
            "'{name}' is {value}: expected zero or a positive number; its default is used",
            "set it to a positive number",
        ),
        warning("US004.type", "'{name}' has a value of another type than expected; its default is used"),
        error("US004.place", "the pose of '{name}' is not finite; the origin is used"),
        error("US004.skipped", "'{path}' is not read: {problem}", "set {wanted}, or remove the prim"),
        error("US004.replaced", "a value of '{path}' is not read: {problem}", "set {wanted}"),
        error("US004.scene", "{problem}; nothing is read", "correct the value"),
    ),
    Topic(
        "US101",
        "File not found",
        "A layer refers to other files: sublayers, references and payloads. Their content is missing in the scene.",
        error("US101", "the file '{path}' was not found or is not USD", "put it where the reference points"),
    ),
    Topic(
        "US102",
        "Composition",
        "usd-core reports a part of the stage that it cannot compose.",
        warning("US102", "usd-core cannot compose a part of the stage: {problem}"),
    ),
    Topic(
        "US103",
        "Units and scenes",
        "USD measures in centimetres unless a file states metersPerUnit. Without a PhysicsScene, gravity is 9.81 m/s², "
        "opposite to the up axis.",
        info("US103", "metersPerUnit is not stated; 0.01 is assumed, as in USD", "state metersPerUnit = 1 for metres"),
        info("US103.scene", "the file has no PhysicsScene; gravity is 9.81 m/s², opposite to the up axis"),
        warning("US103.several", "only the first PhysicsScene is read"),
    ),
    Topic(
        "US104",
        "Scaled shapes",
        "A scene has no sheared shapes, and no round shapes with different scales across their axis.",
        warning("US104", "the {kind} is sheared; its scale along its axes is used"),
        warning("US104.uneven", "the {kind} has different scales across its axis; their mean is used"),
        warning("US104.tapered", "the {kind} has different radii; it is read as a mesh with flat sides"),
        warning("US104.body", "body '{name}' is sheared; the shear is applied only to its shapes"),
    ),
    Topic(
        "US105",
        "Meshes",
        "The face counts and indices of a mesh must match its points. USD may approximate a mesh that collides.",
        error("US105.mesh", "mesh '{name}' has no faces that match its points; it is not read"),
        warning("US105.approximation", "USD approximates the mesh as '{name}' for collisions; its triangles are read"),
    ),
    Topic(
        "US106",
        "Joints",
        "A joint connects two rigid bodies, or a body and the world. Not every combination of free axes is supported.",
        info("US106.disabled", "joint '{name}' is disabled and not read"),
        warning("US106.distance", "distance joints are not supported; joint '{name}' is not read"),
        error("US106.body", "joint '{name}' refers to '{path}', which does not exist", "name an existing prim"),
        error("US106.same", "joint '{name}' connects a body with itself, or the world with itself"),
        warning("US106.axes", "joint '{name}' with the free axes {axes} is not supported; its translations are locked"),
        warning("US106.reversed", "body0 of joint '{name}' is the child; the order of its rotations is reversed"),
        warning("US106.mimic", "joint '{name}' mimics '{path}', which is not a joint of its model; it moves freely"),
        warning("US106.cone", "the cone of ball joint '{name}' is read as limits of the components of its rotation"),
        info("US106.split", "joint '{name}' with the free axes {axes} becomes a chain with massless bodies"),
        info("US106.stacked", "the {count} of body '{name}' become a chain with bodies without mass in between"),
        warning("US106.apart", "the pose of body '{name}' contradicts its joint; the joint is used"),
        warning(
            "US106.welded",
            "the fixed joint '{name}' contradicts the pose of body '{body}'; the pose is used, as in Newton",
        ),
        warning("US106.moving", "the velocity of body '{name}' is not read: its joints state their own velocities"),
    ),
    Topic(
        "US107",
        "Drives",
        "A scene has springs, dampers, and motors that reach a velocity with a bounded force.",
        warning("US107.acceleration", "the drive of joint '{name}' sets accelerations; its gains are read as forces"),
        warning("US107.damper", "the drive of joint '{name}' is read as a motor that reaches its target velocity"),
        warning("US107.velocity", "the target velocity of the drive of joint '{name}' is not read"),
        warning("US107.force", "the maximum force of the drive of joint '{name}' is not read"),
    ),
    Topic(
        "US108",
        "Mass from shapes",
        "A body without a mass gets that of its colliders. Their density is 1000 kg/m³ if none is stated. What a body "
        "states outranks what its colliders state; a mass outranks a density.",
        info("US108", "body '{name}' states no mass; the mass of its colliders is {mass} kg"),
        info("US108.assumed", "body '{name}' states no mass and has no solid colliders; {mass} kg is assumed"),
        info("US108.invalid", "the mass of body '{name}' is invalid; the mass of its colliders is {mass} kg"),
        info("US108.invalid_assumed", "the mass of body '{name}' is invalid; {mass} kg is assumed"),
        info("US108.unused", "{property} of '{name}' has no effect: other mass properties outrank it"),
    ),
    Topic(
        "US109",
        "Collision filter",
        "A scene exempts shapes from collision by parts of their names.",
        warning("US109", "bodies '{one}' and '{other}' do not collide in USD; a scene cannot express this"),
        warning("US109.pairs", "{count} more filtered pairs are not read"),
    ),
    Topic(
        "US111",
        "Animation",
        "A scene has an initial state and no animation. The first time sample of a property is its value.",
        warning("US111", "time samples are not read; the first one is used{repeats}"),
    ),
    Topic(
        "US112",
        "Kinematic body",
        "A kinematic body moves only by animation. It is read as fixed, or as moved by its joint if it has one.",
        warning("US112", "body '{name}' is kinematic; it is read as fixed to the world"),
        warning("US112.joint", "body '{name}' is kinematic; it is read as moved by its joint"),
    ),
    Topic(
        "US113",
        "Unsupported prims",
        "Curves, points, skins, soft bodies, further texture coordinates, and prims of other schemas have no "
        "counterpart in a scene.",
        warning("US113", "prims of type {kind} are not supported; not read"),
        warning("US113.collider", "the collider '{name}' is not read: its type {kind} is not supported"),
        warning("US113.actuator", "{kind} '{name}' is not read: {reason}"),
        warning("US113.instancer", "point instancer '{name}' is not read: {reason}", "correct its arrays"),
        warning("US113.delay", "the delay of actuator '{name}' is not read; its controls act at once"),
        warning("US113.skin", "the mesh shows the soft skin of body '{name}' at rest; it is not read"),
        warning("US113.places", "the texture coordinates '{primvar}' of '{name}' are not read"),
        info("US113.hidden", "a shape that neither collides nor is visible is not read{repeats}"),
    ),
    Topic(
        "US114",
        "Cameras and lights",
        "A scene has lights that shine from a point or in one direction. Other lights, such as dome lights, and "
        "cameras and lights with invalid values are not read.",
        warning("US114", "{kind} '{name}' is not read"),
    ),
    Topic(
        "US115",
        "Settings of cameras and lights",
        "A camera of a scene has a vertical field of view. A light has colours and a cone, and no size.",
        info("US115", "settings of {kind} '{name}' are not read: {settings}"),
        warning("US115.aspect", "the horizontal aperture of camera '{name}' is not read: the view has no aspect ratio"),
        warning("US115.temperature", "the colour temperature of light '{name}' is not read"),
        warning("US115.area", "light '{name}' has an area; it is read as a {kind} light at its centre"),
        warning("US115.bright", "light '{name}' is brighter than a light of a scene; its largest colour is 1"),
    ),
    Topic(
        "US116",
        "Gravity compensation",
        "In MuJoCo, a force can compensate a part of a body's weight. In a scene, gravity acts on a body or does not.",
        warning("US116", "body '{name}' compensates {share} times its weight; it has its whole weight"),
    ),
)

_APPROXIMATED = (
    Topic(
        "US201",
        "Order of rotations",
        "UsdPhysics does not define the order of rotations in a generic joint. The file assumes intrinsic rotations "
        "about x, then y, then z, as Newton does. PhysX uses swing and twist.",
        warning("US201", "USD does not define the order of rotations in a generic joint; x, y, z is assumed"),
    ),
    Topic(
        "US202",
        "Rotation vector as angles",
        "The rotation of a free joint is a rotation vector. A generic joint has three angles.",
        warning("US202", "limits, springs and dampers act on three angles instead of a rotation vector"),
    ),
    Topic(
        "US203",
        "Motors",
        "A motor tracks a target velocity with a bounded force. It is written as a drive: a damper towards that "
        "velocity with the same bound. A joint with prescribed motion becomes a damper without a bound.",
        warning("US203", "the motor is written as a stiff damper towards its target velocity, with its force limit"),
        warning(
            "US203.prescribed", "the '{actuator}' actuator is written as a stiff damper towards its target velocity"
        ),
        warning("US203.spring", "an axis has only one drive: the spring is written, the motor is not"),
    ),
    Topic(
        "US204",
        "Prismatic joint that mimics a revolute joint",
        "Newton's schema defines no unit for a joint that mimics a joint of another type.",
        warning(
            "US204",
            "a prismatic joint that mimics a revolute joint has no defined unit; m/rad is written, as in Newton",
        ),
    ),
    Topic(
        "US205",
        "One value for all axes",
        "Newton's and MuJoCo's schemas have one dry friction, one velocity limit and one limit stiffness for all axes "
        "of a joint and both directions.",
        warning("US205", "{what} has one value for all axes; the mean is written"),
        warning("US205.sides", "{what} has one value for both directions; the larger is written"),
    ),
    Topic(
        "US207",
        "Mesh instead of a primitive",
        "UsdPhysics does not support this collision shape. It is written as a mesh whose convex hull collides.",
        warning("US207", "USD has no {kind} collider; the convex hull of a mesh of its surface is written"),
    ),
    Topic(
        "US208",
        "Suspension",
        "A hinge2 travels along its first axis, a generic joint along an axis of the parent. If the first axis is "
        "fixed in the child, the two directions agree at rest only.",
        warning("US208", "the suspension axis does not rotate with the child"),
    ),
    Topic(
        "US210",
        "Joints of static models",
        "A static model is written without joints. Its bodies stay at their initial poses.",
        warning("US210", "the joints of a static model are not written; its bodies stay at their initial poses"),
    ),
    Topic(
        "US211",
        "Mass properties",
        'In UsdPhysics a mass or moment of zero means "not stated", and readers compute it from the shapes. '
        "A tiny value is written instead.",
        warning("US211", 'a mass of zero means "not stated" in USD; {mass} kg is written'),
        warning(
            "US211.moment",
            "only Newton reads principal moments that are not positive; {moment} kg·m² is written for others",
        ),
    ),
    Topic(
        "US212",
        "Time step",
        "Newton's schema takes an integer number of steps per second.",
        warning("US212", "Newton takes an integer number of steps per second: {steps} instead of {found}"),
    ),
    Topic(
        "US213",
        "Numbers out of range",
        "UsdPhysics has most of its numbers in single precision, up to 3.4e38.",
        warning(
            "US213",
            "the number {number} is out of the range of single precision; the largest number in this range is written",
        ),
    ),
    Topic(
        "US214",
        "Soft skin as a mesh",
        "UsdPhysics describes rigid bodies only. The skin of a soft body is written as a mesh at rest, without mass.",
        warning("US214", "UsdPhysics has no soft skins; the skin is written as a rigid mesh without mass"),
    ),
    Topic(
        "US215",
        "Texture on a primitive",
        "Primitives of USD, such as cubes, and colliders have no texture coordinates. The texture is written, but most "
        "programs show one colour of the image.",
        warning("US215", "the {kind} has no texture coordinates; most programs show one colour of the image"),
    ),
    Topic(
        "US217",
        "Limits of a ball joint",
        "A spherical joint in USD has a cone around one axis. A scene limits each component of the rotation vector. "
        "Newton 1.8 reads no cones.",
        warning("US217", "the limits of this ball joint are written as a cone around its {axis} axis"),
    ),
    Topic(
        "US216",
        "Settings of cameras and lights",
        "Lights of USD have one colour. They decay with the square of the distance. Cameras have an aspect ratio "
        "instead of a resolution. All of them are fixed to their prims.",
        warning("US216.mode", "USD does not support the mode '{mode}': {kind} '{name}' is fixed"),
        warning("US216.resolution", "USD has no resolution of cameras: camera '{name}' has only its aspect ratio"),
        warning(
            "US216.decay",
            "lights of USD decay with the square of the distance: light '{name}' has its brightness at {distance} m",
        ),
        warning("US216.specular", "lights of USD have one colour: that of the highlights of '{name}' is not written"),
        warning("US216.ambient", "USD has no ambient colours of lights: that of '{name}' is not written"),
        warning("US216.cone", "the cone of a light is above 0 and up to 90 degrees: {angle} is written for '{name}'"),
        warning("US216.exponent", "the exponent of light '{name}' is negative; 0 is written"),
        warning("US216.power", "light '{name}' is too bright for single precision; the largest number is written"),
    ),
    Topic(
        "US218",
        "Initial controls",
        "MuJoCo's schema has no initial controls and activations of actuators. Exoskel states them in the custom data "
        "of the prim and reads them again. Other programs start with zero.",
        warning("US218", "only Exoskel reads the initial control of actuator '{name}'"),
    ),
    Topic(
        "US219",
        "Actuators and tendons of joints with several axes",
        "MuJoCo's schema has actuators and fixed tendons of joints with one axis. Exoskel states the axis of other "
        "joints as well. Newton 1.8 skips such actuators and tendons with a warning.",
        warning("US219", "only Exoskel reads the {kind} '{name}', which acts on a joint with several axes"),
    ),
)

_DROPPED = (
    Topic(
        "US301",
        "Soft skin",
        "UsdPhysics describes rigid bodies only. If the skin of a soft body has no surface, only its rigid "
        "core is written.",
        warning("US301", "soft skins are not supported by UsdPhysics; the skin and its mass are not written"),
    ),
    Topic(
        "US302",
        "Angular motor",
        "An angular motor drives axes between two bodies without a joint. UsdPhysics has drives of joints only.",
        warning("US302", "angular motors are not supported by UsdPhysics; the motor is not written"),
    ),
    Topic(
        "US303",
        "Spherical joint",
        "A spherical joint has no axes. Newton's schema gives it one damping and one friction.",
        warning("US303", "a spherical joint in USD has no {what}; not written"),
    ),
    Topic(
        "US304",
        "Limits that are not enforced",
        "UsdPhysics enforces every limit. A lower limit above the upper limit would lock the axis.",
        warning("US304", "limits that are not enforced are not written"),
        warning("US304.crossed", "the lower limit exceeds the upper limit; neither is written"),
    ),
    Topic(
        "US305",
        "Unsupported limits",
        "A drive in UsdPhysics has one maximum force per axis. There are no acceleration limits.",
        warning("US305", "acceleration limits are not supported by UsdPhysics"),
        warning("US305.force", "force limits are written only for joints with one axis and two finite bounds"),
    ),
    Topic(
        "US306",
        "Parameters of ODE",
        "Bounce, ERP and CFM are parameters of ODE's solver.",
        warning("US306", "UsdPhysics has no {what}; not written"),
        warning("US306.world", "UsdPhysics has no ERP and CFM; not written"),
    ),
    Topic(
        "US307",
        "First step",
        "UsdPhysics states initial positions and velocities, but no initial forces or accelerations.",
        warning("US307", "forces and accelerations of the first step are not written"),
        warning("US307.rotation", "ODE's finite rotation mode is not written"),
    ),
    Topic(
        "US308",
        "Unsupported shapes",
        "The shape has no counterpart in USD, or its mesh file cannot be read.",
        warning("US308", "USD has no {kind}; the shape is not written"),
        warning("US308.mesh", "the mesh cannot be read and is not written: {reason}"),
    ),
    Topic(
        "US309",
        "Mimic",
        "Newton's schema supports mimic only between joints with one axis.",
        warning("US309", "the joint mimics a joint that is not written"),
        warning("US309.axes", "mimic is supported only between joints with one axis; not written"),
    ),
    Topic(
        "US311",
        "Collision detector",
        "The collision detector is a setting of DART.",
        warning("US311", "UsdPhysics has no collision detector setting; '{name}' is not written"),
    ),
    Topic(
        "US312",
        "Zero axis",
        "An axis must not be zero.",
        warning("US312", "the axis is zero; the joint is written as fixed"),
    ),
    Topic(
        "US313",
        "Unsupported joints",
        "A joint that closes a loop, or that another joint mimics, is not lowered to a chain.",
        warning("US313", "UsdPhysics has no {kind} joint, and it cannot be lowered to a chain here; not written"),
    ),
    Topic(
        "US314",
        "Texture",
        "Images of textures are files of their own, as PNG or JPEG. Other images are converted to PNG if possible.",
        warning("US314", "texture '{uri}' is not written: {reason}"),
    ),
    Topic(
        "US315",
        "Unsupported cameras",
        "A perspective camera has an angle above 0 and below 180 degrees.",
        warning("US315", "the angle of camera '{name}' is not between 0 and 180 degrees: the camera is not written"),
    ),
    Topic(
        "US316",
        "Unsupported actuators and tendons",
        "Actuators and tendons are prims of MuJoCo's schema. Isaac Sim reads no prims of this schema.",
        warning("US316.target", "actuator '{name}' is not written: what it drives is not in the file"),
        warning("US316.part", "tendon '{name}' is not written: a part of it is not in the file"),
        warning("US316.isaac", "Isaac Sim does not read tendons: '{name}' is not written"),
    ),
)

CATALOGUE = Catalogue("USD", (*_ERRORS, *_READ, *_APPROXIMATED, *_DROPPED))


def catalogue_error(key: str, **details: object) -> UsdError:
    """The exception for an error of the catalogue."""
    return UsdError(CATALOGUE.exception_text(key, **details))


def fate_of(code: str) -> Fate:
    """The fate of a part with a loss of this code."""
    return Fate.DROPPED if code.startswith("US3") else Fate.APPROXIMATED
