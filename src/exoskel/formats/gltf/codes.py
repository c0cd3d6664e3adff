"""GL101 to GL309: the diagnostics of the glTF reader and writer.

GL1nn are errors, GL2nn parts that are written approximately, GL3nn parts that are not written.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, ExoskelError, Topic, error, warning
from exoskel.fates import Fate
from exoskel.source import draco


class GltfError(ExoskelError):
    """A glTF file cannot be written."""


_ERRORS = (
    Topic(
        "GL101",
        "Too large",
        "Sizes in a binary glTF file are 32-bit integers.",
        error("GL101", "the file would have {size} bytes; glTF allows at most {most}", "sample the motion less often"),
    ),
    Topic(
        "GL102",
        "Numbers out of range",
        "Vertices and motions are stored in single precision: they must be finite and at most 3.4e38.",
        error("GL102", "{what} is out of the range of single precision"),
    ),
    Topic(
        "GL103",
        "Motion of another scene",
        "A motion has one pose for each body of one world. Its times increase, and the first is not negative.",
        error("GL103", "the motion has {found} bodies, but the world has {wanted}"),
        error("GL103.names", "the motion belongs to another scene: it has body '{found}' instead of '{wanted}'"),
        error("GL103.shape", "poses must have the shape (times, bodies, 7) or (times, bodies, 4, 4), not {shape}"),
        error("GL103.times", "times must increase and must not be negative: {reason}"),
        error("GL103.worlds", "a motion belongs to one world, but the scene has {count}"),
    ),
)

_READ = (
    Topic(
        "GL104",
        "Malformed file",
        "A glTF file is JSON with buffers of numbers, in one binary file or in several files.",
        error("GL104", "the glTF file cannot be read: {reason}"),
    ),
    Topic(
        "GL105",
        "Skins, animations and textures",
        "A scene has rigid shapes, and no animation. The image of a base colour is the texture of the shape; other "
        "images are not read. Texture coordinates are those of the base colour.",
        warning("GL105", "{kind} are not read"),
        warning("GL105.image", "image {number} is not read: {reason}"),
        warning("GL105.node", "node {number} is in no scene; it is not read"),
        warning("GL105.shared", "node {number} has several parents; it is read once for each of them"),
        warning("GL105.places", "the texture coordinates of mesh {mesh} are invalid, and are not read"),
    ),
    Topic(
        "GL106",
        "Primitives of meshes",
        "Lines, points and morph targets are not supported. Triangles that are compressed with Draco need DracoPy.",
        warning("GL106", "the {what} of mesh {mesh} are not read"),
        warning(
            "GL106.compressed",
            "the {what} of mesh {mesh} are not read: {reason}",
            "export triangles without compression",
        ),
        warning("GL106.draco", "the {what} of mesh {mesh} are not read: DracoPy is missing", f"run: {draco.INSTALL}"),
        warning("GL106.mesh", "mesh {mesh} is not read: it has only {what}", "export triangles without compression"),
    ),
    Topic(
        "GL107",
        "Required extensions",
        "A file can require extensions. A reader that does not support one of them may read something else than meant.",
        warning("GL107", "the file requires {names}, which is not supported: parts may be missing or wrong"),
    ),
    Topic(
        "GL108",
        "Cameras and lights",
        "Cameras and lights without a node, and those with invalid values, are not read.",
        warning("GL108", "{kind} {number} is not read: {reason}"),
    ),
    Topic(
        "GL109",
        "Settings of cameras and lights",
        "A camera of a scene has a vertical field of view. A light has colours that are at most 1 and one cone.",
        warning("GL109.aspect", "the aspect ratio of camera {number} is not read"),
        warning("GL109.range", "the range of light {number} is not read: it has no limit"),
        warning("GL109.cone", "the inner cone of light {number} is not read; its outer cone is"),
        warning("GL109.bright", "light {number} is brighter than a light of a scene; its largest colour is 1"),
    ),
)

_INVALID = (
    Topic(
        "GL110",
        "Invalid part of a file",
        "A part of a file contradicts the specification of glTF 2.0, or nothing of it can be shown. Other parts are "
        "read.",
        error("GL110", "{problem}; {outcome}", "correct the value"),
        warning("GL110.shape", "the shape of node {number} is not read: {reason}", "remove it, or correct its scale"),
        error("GL110.primitive", "primitive {number} of mesh {mesh} is not read: {reason}", "export the mesh again"),
        error("GL110.scene", "the default scene is {number}, but the file has {count}", "name an existing scene"),
        warning("GL110.version", "'asset' states {found}; the file is read as glTF 2.0", "state version 2.0"),
        warning("GL110.header", "the header of the binary file states {found}, not {wanted}", "export the file again"),
        error(
            "GL110.matrix",
            "the last row of the matrix of node {number} is not 0 0 0 1; it is ignored",
            "state the matrix column by column",
        ),
    ),
)

_APPROXIMATED = (
    Topic(
        "GL201",
        "Tessellation",
        "glTF has only triangles. Round shapes are tessellated with 32 segments and vertices on the surface. They "
        "have the normals of the round shape, so they look smooth.",
        warning("GL201", "the {kind} is tessellated; facets lie inside it by up to 1 % of its radius"),
    ),
    Topic(
        "GL202",
        "Plane",
        "A plane is infinite, a mesh is not.",
        warning("GL202", "the plane is written as a square of {edge} m"),
    ),
    Topic(
        "GL203",
        "Convex hull of spheres",
        "The hull is tessellated with 64 segments. If its spheres lie far apart, flat parts are slightly too small.",
        warning("GL203", "the convex hull of spheres is tessellated; facets lie inside it"),
    ),
    Topic(
        "GL204",
        "Soft skin",
        "The skin of a soft body is written as a rigid mesh in its rest shape.",
        warning("GL204", "the soft skin is written as a rigid mesh"),
    ),
    Topic(
        "GL205",
        "Colour out of range",
        "Colour components in glTF are from 0 to 1.",
        warning("GL205", "a colour component is outside 0 to 1; it is clamped"),
    ),
    Topic(
        "GL206",
        "Skipped frames",
        "Times are stored in single precision. Late in a long motion, consecutive frames can have the same time.",
        warning("GL206", "{count} frames are skipped: in single precision their times equal those before them"),
    ),
    Topic(
        "GL207",
        "Settings of cameras and lights",
        "Lights of KHR_lights_punctual have one colour, and no ambient light. They decay with the square of the "
        "distance. Cameras have an aspect ratio instead of a resolution. All of them are fixed to their nodes.",
        warning("GL207.mode", "glTF does not support the mode '{mode}': {kind} '{name}' is fixed"),
        warning("GL207.resolution", "glTF has no resolution of cameras: camera '{name}' has only its aspect ratio"),
        warning(
            "GL207.decay",
            "lights of glTF decay with the square of the distance: light '{name}' has its brightness at {distance} m",
        ),
        warning("GL207.specular", "lights of glTF have one colour: that of the highlights of '{name}' is not written"),
        warning("GL207.ambient", "glTF has no ambient colours of lights: that of '{name}' is not written"),
        warning("GL207.spot", "glTF has no exponent of spots: light '{name}' decays towards its cone in another way"),
        warning("GL207.cone", "the cone of a light is above 0 and up to 90 degrees: {angle} is written for '{name}'"),
        warning("GL207.shadows", "glTF does not state shadows: light '{name}' may cast them"),
        warning("GL207.power", "light '{name}' is too bright for single precision; the largest number is written"),
    ),
)

_DROPPED = (
    Topic(
        "GL301",
        "Joints",
        "glTF has no joints. The name, kind and parent of a body's parent joint are stored in the `extras` of its "
        "node. Axes, limits, springs, dampers, motors and actuators are not written.",
        warning("GL301", "glTF has no joints: only the name, kind and parent of this {kind} joint are stored"),
    ),
    Topic(
        "GL302",
        "Initial velocity",
        "glTF has no velocities.",
        warning("GL302", "glTF has no velocities: the initial velocity is not written"),
    ),
    Topic(
        "GL303",
        "Collision filter",
        "glTF has no collision filters.",
        warning("GL303", "glTF has no collision filters: groups exempt from collision are not written"),
    ),
    Topic(
        "GL304",
        "Shapes that are not shown",
        "If a body has visual shapes, its collision shapes are not written unless requested.",
        warning("GL304", "its collision shapes differ from its visual shapes and are not written"),
        warning("GL304.visual", "its visual shapes are not written, as requested"),
    ),
    Topic(
        "GL305",
        "Shape without a surface",
        "A ray has no surface. The surface of a mesh is unknown if its file is missing.",
        warning("GL305", "the {kind} is not written: {reason}"),
    ),
    Topic(
        "GL306",
        "ODE parameters",
        "glTF has no forces and no solver parameters.",
        warning("GL306", "forces and torques of the first step and ODE's finite rotation mode are not written"),
        warning("GL306.world", "ERP and CFM are not written"),
    ),
    Topic(
        "GL307",
        "Mass properties out of range",
        "JSON cannot represent infinity.",
        warning("GL307", "the mass properties of the body are not finite and are not written"),
    ),
    Topic(
        "GL308",
        "Texture that cannot be read",
        "The images of textures are written into the file. An image whose file is missing or damaged is not.",
        warning("GL308", "texture '{uri}' is not written: {reason}"),
    ),
    Topic(
        "GL309",
        "Unsupported cameras and lights",
        "A perspective camera has an angle below 180 degrees. glTF has no lights that are off.",
        warning("GL309.angle", "the angle of camera '{name}' is not below 180 degrees: the camera is not written"),
        warning("GL309.off", "glTF has no lights that are off: light '{name}' is not written"),
    ),
)

CATALOGUE = Catalogue("glTF", (*_ERRORS, *_READ, *_INVALID, *_APPROXIMATED, *_DROPPED))


def catalogue_error(key: str, **details: object) -> GltfError:
    """The exception for an error of the catalogue."""
    return GltfError(CATALOGUE.exception_text(key, **details))


def fate_of(code: str) -> Fate:
    """The fate of a part with a loss of this code."""
    return Fate.DROPPED if code.startswith("GL3") else Fate.APPROXIMATED
