"""US001 to US313: everything the USD writer can say, as data.

US0nn are errors.  US2nn tell of what is written, but not quite as the scene has it; US3nn of what is left out.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, ExoskelError, Message, Topic, error, readable, warning
from exoskel.fates import Fate
from exoskel.scene.item import Item
from exoskel.source.output_context import OutputContext


class UsdError(ExoskelError):
    """A USD file cannot be made or read."""


_ERRORS = (
    Topic(
        "US001",
        "usd-core is missing",
        "Text (`.usda`) is written without any other package.  The binary form (`.usdc`), and reading either back, is "
        "Pixar's own code, in the package usd-core.",
        (error("US001", "{what} needs the package usd-core", "pip install 'exoskel[usd]'"),),
    ),
    Topic(
        "US002",
        "Not a USD file of ours",
        "USD is read back only to certify what was written; a file of another program has no scene to it here.",
        (
            error("US002", "this is no USD file: {reason}"),
            error("US002.foreign", "this USD file was not written by exoskel: {reason}"),
        ),
    ),
)

_APPROXIMATED = (
    Topic(
        "US201",
        "Order of turns",
        "A generic joint with several rotations leaves open in which order it turns.  What is written is meant about "
        "x, then y, then z, each axis carried along by the turns before, as Newton takes it.  PhysX has swing and "
        "twist.",
        (warning("US201", "a generic joint leaves the order of its turns open; x, y, z is meant, as in Newton"),),
    ),
    Topic(
        "US202",
        "Rotation vector as angles",
        "The rotation of a free joint is a rotation vector; a generic joint has three angles.",
        (warning("US202", "limits, springs and dampers of its rotation act on angles in place of a rotation vector"),),
    ),
    Topic(
        "US203",
        "Motors",
        "A motor holds a speed with a bounded force.  A drive has a damper towards that speed with the same bound; "
        "what does as it is told, whatever the force, has a damper without a bound.",
        (
            warning("US203", "a motor is a stiff damper towards its speed, with its force for a bound"),
            warning("US203.told", "a '{actuator}' actuator is a stiff damper towards its speed"),
            warning("US203.spring", "an axis has one drive: its spring is written, its motor is not"),
        ),
    ),
    Topic(
        "US204",
        "A slide that follows a turn",
        "The schema of Newton defines no unit for a joint that follows one of another type.",
        (warning("US204", "a slide that follows a turn has no defined unit: written in m/rad, as Newton takes it"),),
    ),
    Topic(
        "US205",
        "One value for all axes",
        "Dry friction, limits of velocity and the softness of stops are properties of Newton's and MuJoCo's schemas, "
        "with one value for all axes of a joint and for both directions.",
        (
            warning("US205", "{what} is one value for all axes: the mean is written"),
            warning("US205.sides", "{what} is one value for both directions: the larger is written"),
        ),
    ),
    Topic(
        "US207",
        "Triangles in place of a shape",
        "UsdPhysics has no such collider; it is a mesh whose hull collides.",
        (warning("US207", "USD has no {kind} to collide with: the hull of a mesh around its surface is written"),),
    ),
    Topic(
        "US208",
        "Suspension",
        "The travel of a hinge2 is along its first axis.  Where that is fixed in the child, a generic joint, whose "
        "travel is along the parent's axes, has it along the same direction at rest only.",
        (warning("US208", "the travel of its suspension does not turn with the child"),),
    ),
    Topic(
        "US210",
        "Joints of static models",
        "What never moves has no joints: its bodies stand where they are at the start.",
        (warning("US210", "a static model's joints are left out: its bodies stand as they are at the start"),),
    ),
    Topic(
        "US211",
        "Mass properties",
        "To UsdPhysics a mass of zero, or moments of zero, are none stated, and readers work them out from the shapes.",
        (
            warning("US211", "a mass of zero means none: readers weigh the shapes instead"),
            warning(
                "US211.moment", "principal moments that are not positive are for Newton alone: others work them out"
            ),
        ),
    ),
    Topic(
        "US212",
        "Time step",
        "Newton has a whole number of steps per second.",
        (warning("US212", "Newton has a whole number of steps per second: {steps:.0f} for {found:.6g}"),),
    ),
)

_DROPPED = (
    Topic("US301", "Soft skin", "", (warning("US301", "UsdPhysics has no soft skin: left out, with its mass"),)),
    Topic(
        "US302",
        "Angular motor",
        "",
        (warning("US302", "UsdPhysics has no angular motors: nothing drives its bodies"),),
    ),
    Topic(
        "US303",
        "Spherical joint",
        "A spherical joint has no axes of its own: what it has, from Newton's schema, is one damping and one friction.",
        (warning("US303", "a spherical joint has no {what}: left out"),),
    ),
    Topic(
        "US304",
        "Limits that do not hold",
        "UsdPhysics cannot state a limit without enforcing it, and crossed limits lock an axis.",
        (
            warning("US304", "limits that are not enforced are left out"),
            warning("US304.crossed", "the lower limit lies above the upper one: both are left out"),
        ),
    ),
    Topic(
        "US305",
        "Limits without a word",
        "",
        (
            warning("US305", "UsdPhysics has no limits of acceleration"),
            warning("US305.force", "limits of force are written for one axis, bounded on both sides: left out"),
        ),
    ),
    Topic(
        "US306",
        "Parameters of ODE",
        "",
        (
            warning("US306", "UsdPhysics has no {what}: left out"),
            warning("US306.world", "UsdPhysics has no ERP and CFM: left out"),
        ),
    ),
    Topic(
        "US307",
        "First step",
        "",
        (
            warning("US307", "forces and accelerations of the first step are left out"),
            warning("US307.rotation", "how ODE advances its rotation is left out"),
        ),
    ),
    Topic(
        "US308",
        "Shapes without a word",
        "",
        (
            warning("US308", "USD has no {kind}: the shape is left out"),
            warning("US308.mesh", "the mesh cannot be read and is left out: {reason}"),
        ),
    ),
    Topic(
        "US309",
        "Mimic",
        "Newton's schema has joints with one axis follow joints with one axis.",
        (
            warning("US309", "it follows a joint that is not written"),
            warning("US309.axes", "only joints with one axis follow others, of one axis: not followed"),
        ),
    ),
    Topic(
        "US311",
        "Collision detector",
        "",
        (warning("US311", "UsdPhysics names no collision detector: '{name}' is left out"),),
    ),
    Topic(
        "US312",
        "Axis of length zero",
        "",
        (warning("US312", "an axis of length zero moves nothing: written as fixed"),),
    ),
    Topic(
        "US313",
        "Joints without a word",
        "Joints that close a loop, and joints that others follow, are not taken apart.",
        (warning("US313", "UsdPhysics has no such {kind} joint, and a chain cannot stand for it here: left out"),),
    ),
)

CATALOGUE = Catalogue("USD", (*_ERRORS, *_APPROXIMATED, *_DROPPED))


def tell(output: OutputContext, item: Item, key: str, *fields: str, **details: object) -> None:
    """Record that a part of the scene, or some fields of it, cannot be written as it is."""
    message: Message = CATALOGUE[key]
    shown = {k: v if isinstance(v, float) else readable(v) for k, v in details.items()}
    output.add_loss(item, message.text.format(**shown), *fields, code=message.code)


def failure(key: str, **details: object) -> UsdError:
    """An error of the catalogue, to be raised."""
    message = CATALOGUE[key]
    hint = f"; {message.hint}" if message.hint else ""
    return UsdError(f"{message.text.format(**{k: readable(v) for k, v in details.items()})}{hint} ({message.code})")


def fate_of(code: str) -> Fate:
    """What a code of a reason says has become of the part."""
    return Fate.DROPPED if code.startswith("US3") else Fate.APPROXIMATED
