"""GL101 to GL307: everything the glTF writer can say, as data.

GL1nn are errors.  GL2nn tell of what is there, but not quite as the scene has it; GL3nn of what is left out.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, ExoskelError, Topic, error, readable, warning
from exoskel.fates import Fate
from exoskel.scene.item import Item
from exoskel.source.output_context import OutputContext


class GltfError(ExoskelError):
    """A glTF file cannot be made."""


_ERRORS = (
    Topic(
        "GL101",
        "Too large",
        "The parts of a binary glTF file are counted in 32 bits.",
        (error("GL101", "the file would have {size} bytes; glTF ends at {most}", "sample the motion less often"),),
    ),
    Topic(
        "GL102",
        "Numbers out of range",
        "Vertices and motions are in single precision, which ends at 3.4e38, and nothing may be infinite.",
        (error("GL102", "{what} is out of the range of single precision"),),
    ),
    Topic(
        "GL103",
        "Motion of another scene",
        "A motion has one pose for each body of the one world that moves, at times that rise from zero or later.",
        (
            error("GL103", "the motion has {found} bodies, but the world has {wanted}"),
            error("GL103.names", "the motion is of another scene: it has a body '{found}' in the place of '{wanted}'"),
            error("GL103.shape", "poses come as (times, bodies, 7) or (times, bodies, 4, 4), not {shape}"),
            error("GL103.times", "times have to rise, from zero or later: {reason}"),
            error("GL103.worlds", "a motion is that of one world, but the scene has {count}"),
        ),
    ),
)

_APPROXIMATED = (
    Topic(
        "GL201",
        "Facets",
        "glTF has triangles alone.  Round shapes are cut into flat facets, 32 around, whose corners lie on them; the "
        "normals are those of the round shape, so that it looks round.",
        (warning("GL201", "the {kind} is cut into facets, up to 1 % of its radius inside of it"),),
    ),
    Topic(
        "GL202",
        "Plane",
        "A plane has no end, a mesh has one.",
        (warning("GL202", "a plane is a square of {edge} m"),),
    ),
    Topic(
        "GL203",
        "Hull of spheres",
        "The hull is cut into facets, 64 around; where its spheres lie far apart, flat parts are a little too small.",
        (warning("GL203", "the hull of some spheres is cut into facets inside of it"),),
    ),
    Topic(
        "GL204",
        "Soft skin",
        "The skin of a soft body is there to be seen, stiff and in its shape at rest.",
        (warning("GL204", "a soft skin is written as a stiff one"),),
    ),
    Topic(
        "GL205",
        "Colour out of range",
        "The parts of a colour in glTF are from 0 to 1.",
        (warning("GL205", "a part of its colour lies outside of 0 to 1, and is moved there"),),
    ),
    Topic(
        "GL206",
        "Frames left out",
        "Times are in single precision: late in a long run, frames that follow each other closely have the same.",
        (warning("GL206", "{count} frames are left out: in single precision they are at the time of the ones before"),),
    ),
)

_DROPPED = (
    Topic(
        "GL301",
        "Joints",
        "glTF has nothing that moves by itself.  The name, kind and parent of the joint that holds a body are kept as "
        "`extras` of its node; axes, limits, springs, dampers, motors and actuators are not.",
        (warning("GL301", "glTF has no joints: of this {kind} joint only its name, kind and parent are kept"),),
    ),
    Topic(
        "GL302",
        "Initial velocity",
        "A still picture has none.",
        (warning("GL302", "glTF has no velocities: the initial one is left out"),),
    ),
    Topic(
        "GL303",
        "Contacts",
        "What touches what is no part of a picture.",
        (warning("GL303", "glTF has no contacts: groups of shapes that pass each other are left out"),),
    ),
    Topic(
        "GL304",
        "Shapes that are not shown",
        "Of a body that has shapes to be seen, those to collide with are left out, unless they are asked for.",
        (
            warning("GL304", "its collision shapes differ from the visual ones, and are left out"),
            warning("GL304.visual", "its visual shapes are left out, as asked"),
        ),
    ),
    Topic(
        "GL305",
        "Shape without a surface",
        "A ray has none, and a mesh whose file is missing has none that could be shown.",
        (warning("GL305", "a {kind} is left out: {reason}"),),
    ),
    Topic(
        "GL306",
        "Data of ODE",
        "",
        (
            warning("GL306", "forces and torques of the first step, and ODE's way of turning, are left out"),
            warning("GL306.world", "ERP and CFM are left out"),
        ),
    ),
    Topic(
        "GL307",
        "Mass properties out of range",
        "JSON has no infinities.",
        (warning("GL307", "its mass properties are not finite, and are left out"),),
    ),
)

CATALOGUE = Catalogue("glTF", (*_ERRORS, *_APPROXIMATED, *_DROPPED))


def tell(output: OutputContext, item: Item, key: str, *fields: str, **details: object) -> None:
    """Record that a part of the scene, or some fields of it, cannot be written as it is."""
    message = CATALOGUE[key]
    output.add_loss(item, message.text.format(**_shown(details)), *fields, code=message.code)


def failure(key: str, **details: object) -> GltfError:
    """An error of the catalogue, to be raised."""
    message = CATALOGUE[key]
    hint = f"; {message.hint}" if message.hint else ""
    return GltfError(f"{message.text.format(**_shown(details))}{hint} ({message.code})")


def fate_of(code: str) -> Fate:
    """What a code of a reason says has become of the part."""
    return Fate.DROPPED if code.startswith("GL3") else Fate.APPROXIMATED


def _shown(details: dict[str, object]) -> dict[str, str]:
    return {name: readable(value) for name, value in details.items()}
