"""US001 to US313: the diagnostics of the USD writer.

US0nn are errors, US2nn parts that are written approximately, US3nn parts that are not written.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, ExoskelError, Topic, error, format_detail, warning
from exoskel.fates import Fate


class UsdError(ExoskelError):
    """A USD file cannot be written or read."""


_ERRORS = (
    Topic(
        "US001",
        "usd-core is missing",
        "Exoskel reads back every USD file that it writes, to verify it. This, and the binary form (`.usdc`), need "
        "Pixar's package usd-core.",
        error("US001", "{what} needs the package usd-core", "run: pip install 'exoskel[usd]'"),
    ),
    Topic(
        "US002",
        "Not a USD file of Exoskel",
        "USD is read only to certify files that Exoskel has written. Files of other programs are not supported.",
        error("US002", "not a USD file: {reason}"),
        error("US002.other_program", "this USD file was not written by Exoskel: {reason}"),
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
        'In UsdPhysics a mass or moment of zero means "not stated", and readers compute it from the shapes.',
        warning("US211", 'a mass of zero means "not stated" in USD; readers compute it from the shapes'),
        warning("US211.moment", "only Newton reads principal moments that are not positive; others compute them"),
    ),
    Topic(
        "US212",
        "Time step",
        "Newton's schema takes an integer number of steps per second.",
        warning("US212", "Newton takes an integer number of steps per second: {steps} instead of {found}"),
    ),
)

_DROPPED = (
    Topic(
        "US301",
        "Soft skin",
        "UsdPhysics describes rigid bodies only. The rigid core of a soft body is written.",
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
        "A drive in UsdPhysics has one largest force per axis. There are no limits of acceleration.",
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
)

CATALOGUE = Catalogue("USD", (*_ERRORS, *_APPROXIMATED, *_DROPPED))


def catalogue_error(key: str, **details: object) -> UsdError:
    """The exception for an error of the catalogue."""
    message = CATALOGUE[key]
    hint = f"; {message.hint}" if message.hint else ""
    return UsdError(
        f"{message.text.format(**{k: format_detail(v) for k, v in details.items()})}{hint} ({message.code})"
    )


def fate_of(code: str) -> Fate:
    """The fate of a part with a loss of this code."""
    return Fate.DROPPED if code.startswith("US3") else Fate.APPROXIMATED
