"""Everything the SDFormat reader can say, as data.

`SDnnn` is a topic; what follows the dot in a key tells its messages apart.  The severity is that of a lenient
reading; a strict one turns every warning into an error.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Topic, error, info, warning
from exoskel.source.embedded_data import topic

CARRIED = "SD098"

_DOCUMENT = (
    Topic(
        "SD001",
        "Not well-formed XML",
        "The file cannot be read as XML, is some other kind of file, or is larger than the limits allow.",
        (
            error("SD001", "not well-formed XML: {reason}", "{hint}"),
            error("SD001.limit", "{reason}", "raise the limit if you trust the file: load(..., limits=Limits(...))"),
            error("SD001.kind", "this is no SDFormat file: {reason}", "{hint}"),
        ),
    ),
    Topic(
        "SD002",
        "Root is not sdf",
        "The root element of an SDFormat document is `sdf`.",
        (
            error("SD002", "the root element is <{root}>, not <sdf>"),
            error("SD002.format", "the root element is <{root}>: this is {format}, not SDFormat", "{hint}"),
        ),
    ),
    Topic(
        "SD003",
        "Nothing to load",
        "A document holds worlds, or a bare model.",
        (error("SD003", "<sdf> holds neither a <world> nor a <model>"),),
    ),
    Topic(
        "SD004",
        "Document type declaration",
        "Entities are never expanded, and no document type is ever fetched.",
        (
            error("SD004.entity", "the document declares entities; they are not expanded, and it is not read"),
            warning("SD004.doctype", "a document type declaration has no effect"),
        ),
    ),
    Topic(
        "SD005",
        "Version",
        "Versions 1.6 to 1.12 are read, each by its own rules: before 1.5 an axis is in the axes of the model, since "
        "then in those of the joint.",
        (
            warning("SD005.absent", "<sdf> has no version; it is read as 1.6"),
            warning(
                "SD005.other", "version '{version}' is not one of 1.6 to 1.12; it is read like the nearest of them"
            ),
        ),
    ),
    Topic(
        "SD006",
        "Models beside worlds",
        "A bare model is a document of its own.",
        (
            warning("SD006.beside", "<model> stands beside <world>; it is put into the first world"),
            info("SD006.several", "several bare models: all taken into one world", "", "allows one since 1.8"),
        ),
    ),
    Topic(
        "SD010",
        "Unknown element",
        "An element that SDFormat does not know at this place.  It has no effect.",
        (
            warning("SD010", "<{element}> is unknown in <{parent}>", "{suggestion}"),
            warning("SD010.misplaced", "<{element}> does not belong in <{parent}>: no effect", "{suggestion}"),
            info("SD010.prefixed", "<{element}> is an extension of another program: no effect here"),
        ),
    ),
    Topic(
        "SD011",
        "Unknown attribute",
        "An attribute that SDFormat does not know at this element.",
        (
            warning("SD011", "attribute '{name}' is unknown at <{element}>", "{suggestion}"),
            info("SD011.prefixed", "attribute '{name}' at <{element}> belongs to another program: no effect here"),
        ),
    ),
    Topic(
        "SD012",
        "Not part of the scene",
        "Parts of SDFormat that are no rigid-body physics, or that a scene has no place for: plugins, sensors, lights, "
        "rendering, the parameters of single solvers.",
        (
            info("SD012", "<{element}> is not part of the scene: no effect here"),
            warning("SD012.physics", "<{element}> changes the physics, but a scene has no place for it: left out"),
        ),
    ),
    Topic(
        "SD013",
        "Stray or split text",
        "Text where elements are expected, or a value that a comment cuts in two.",
        (
            warning("SD013.stray", "text in <{element}> has no effect: '{text}'"),
            warning("SD013.split", "the value is cut in two by a comment; '{first}' is only its beginning"),
        ),
    ),
    Topic(
        "SD014",
        "Element stands twice",
        "Where one element is expected, the first counts.",
        (warning("SD014", "a second <{element}>; the one in line {line} counts"),),
    ),
    Topic(
        "SD015",
        "Missing element",
        "A required element is not there.",
        (
            error("SD015", "<{parent}> needs <{element}>"),
            warning("SD015.empty", "<{element}> is empty; the default is taken"),
        ),
    ),
    Topic(
        "SD016",
        "Missing attribute",
        "A required attribute is not there, or is blank.",
        (
            error("SD016", "<{element}> needs the attribute '{attribute_name}'"),
            error("SD016.blank", "'{name}' is blank"),
        ),
    ),
)

_VALUES = (
    Topic("SD020", "Not a number", "", (error("SD020", "'{token}' in '{name}' is not a number; it is left out"),)),
    Topic(
        "SD021",
        "Wrong number of numbers",
        "",
        (error("SD021", "'{name}' has {found} numbers, not {expected}; it is left out"),),
    ),
    Topic(
        "SD022",
        "Number that is not finite",
        "",
        (error("SD022", "'{token}' in '{name}' is not finite; it is left out"),),
    ),
    Topic("SD023", "Not a truth value", "", (error("SD023", "'{token}' in '{name}' is neither true nor false"),)),
    Topic(
        "SD024",
        "Unknown word",
        "",
        (error("SD024", "'{token}' is no choice for '{name}'; the choices are {allowed}", "{suggestion}"),),
    ),
    Topic(
        "SD025",
        "Impossible size",
        "Sizes, radii and lengths are positive; a time step is, too.",
        (
            error("SD025", "<{element}> has to be positive, not {found}: the shape is left out"),
            error("SD025.step", "a time step has to be positive, not {found}; 0.001 s is taken"),
            error("SD025.scale", "a mesh with a scale of zero has no extent: the shape is left out"),
        ),
    ),
    Topic(
        "SD026",
        "Rotation of length zero",
        "A quaternion of length zero is no rotation.",
        (error("SD026", "a quaternion of length zero is no rotation; none is taken"),),
    ),
)

_MODELS = (
    Topic(
        "SD030",
        "Names",
        "Links, joints, frames and nested models of one model share one list of names; models and frames of a world "
        "another.",
        (
            error("SD030.repeated", "'{name}' is taken already; this {element} is called '{renamed}'"),
            warning("SD030.reserved", "'{name}' is a reserved name"),
        ),
    ),
    Topic(
        "SD031",
        "Model without links",
        "A model that is not static has to have a link.",
        (warning("SD031", "model '{name}' has no links"),),
    ),
    Topic(
        "SD032",
        "Static model inside of another",
        "The links of a static model are fixed to the world, wherever the model stands.",
        (info("SD032", "the links of '{name}' are fixed to the world, as it is static"),),
    ),
    Topic(
        "SD033",
        "Self-collision of some only",
        "A scene either lets the bodies of all models meet each other, or those of none.",
        (
            warning(
                "SD033",
                "some links collide with others of their model and some do not; all of them do in the scene",
            ),
        ),
    ),
    Topic(
        "SD040",
        "Included file",
        "Files are looked for beside the document and in the package path; nothing is fetched from a network.",
        (
            error(
                "SD040.missing",
                "'{uri}' is not found",
                "pass package_path=… to say where models are",
                "looks in SDF_PATH and GZ_SIM_RESOURCE_PATH",
            ),
            error("SD040.outside", "'{uri}' leads out of the directory of the document, which is not allowed here"),
            error("SD040.remote", "'{uri}' is on the network; nothing is fetched", "download it first"),
            error("SD040.circle", "'{uri}' includes itself: left out"),
            error("SD040.empty", "'{uri}' holds no model: left out"),
            error("SD040.deep", "'{uri}' is included at a depth of more than {most}: left out"),
            error("SD040.many", "with '{uri}' the includes come to more than {most} elements: left out"),
            warning("SD040.several", "'{uri}' holds several models; the first is taken"),
        ),
    ),
    Topic(
        "SD050",
        "Frames",
        "Poses, frames and joints refer to frames by name: links, joints, frames and nested models, `__model__`, and "
        "in a world `world`.",
        (
            error("SD050.unknown", "there is no frame called '{name}' here; {instead}", "{suggestion}"),
            error("SD050.circle", "the pose of '{name}' depends on itself; it is taken to be in the model or world"),
            error("SD050.attached", "frame '{name}' is attached to itself in a circle: it is on no link"),
            error("SD050.canonical", "there is no link called '{name}'; the first link counts", "{suggestion}"),
        ),
    ),
)

_JOINTS = (
    Topic(
        "SD060",
        "Ends of a joint",
        "A joint ties its child to its parent, or to the world.",
        (
            error(
                "SD060.unknown", "joint '{joint}': there is no link or frame called '{name}'; left out", "{suggestion}"
            ),
            error("SD060.self", "joint '{joint}' ties '{name}' to itself: left out"),
            error("SD060.missing", "joint '{joint}' has no {end}: left out"),
            warning("SD060.reversed", "joint '{joint}' has the world for a child: its ends are exchanged"),
        ),
    ),
    Topic(
        "SD061",
        "Joints that a scene cannot hold",
        "Gearboxes couple two other joints; joints of a world tie two models together.",
        (
            warning("SD061.gearbox", "joint '{joint}' is a gearbox, which no scene can hold: left out"),
            warning("SD061.world", "joint '{joint}' ties two models together, which no scene can hold: left out"),
            error("SD061.type", "joint '{joint}' has no type that is known: left out"),
        ),
    ),
    Topic(
        "SD062",
        "Axis",
        "An axis is a direction; its length does not matter unless it is zero.",
        (
            error("SD062.zero", "an axis of length zero has no direction; 0 0 1 is taken"),
            info("SD062.default", "joint '{joint}' has no <{element}>; 0 0 1 is taken"),
        ),
    ),
    Topic(
        "SD063",
        "Loop",
        "A joint whose child is held by another joint, or that leads back to its own parent, closes a loop.  It stays "
        "a constraint and has no coordinates of its own.",
        (info("SD063", "joint '{joint}' closes a loop"),),
    ),
    Topic(
        "SD064",
        "Thread pitch",
        "`screw_thread_pitch` is the travel in metres per turn, positive for a right-handed thread.  The older "
        "`thread_pitch` is in radians per metre with the sign turned: -2π divided by the travel per turn.",
        (
            info("SD064.old", "<thread_pitch> {found} rad/m is a travel of {pitch} m per turn"),
            error("SD064.zero", "a <thread_pitch> of zero is no screw; a travel of 1 m per turn is taken"),
            info("SD064.default", "screw '{joint}' states no pitch; a travel of 1 m per turn is taken"),
            info("SD064.both", "<screw_thread_pitch> counts, <thread_pitch> beside it does not"),
        ),
    ),
    Topic(
        "SD065",
        "Mimic",
        "An axis may follow the axis of another joint.",
        (
            error("SD065.unknown", "there is no joint called '{name}' to follow: not followed", "{suggestion}"),
            warning("SD065.axis", "a scene can follow only joints with one axis, and with one: not followed"),
        ),
    ),
    Topic(
        "SD066",
        "Limits",
        "",
        (error("SD066", "the lower limit {lower} lies above the upper limit {upper}: both are left out"),),
    ),
)

_LINKS = (
    Topic(
        "SD070",
        "Mass properties",
        "A link without mass properties has 1 kg and the unit moment.  Moments are about the centre of mass.  "
        'With auto="true" they are those of the collisions, each of even density: boxes, spheres, cylinders, capsules '
        "and ellipsoids that are placed in their link.",
        (
            info("SD070.default", "link '{name}' states no <inertial>: 1 kg and the unit moment are taken"),
            warning(
                "SD070.auto",
                "the mass properties of '{name}' cannot be worked out from its collisions; others are taken",
            ),
            error("SD070.mass", "a mass has to be positive, not {found}; 1 kg is taken"),
            warning("SD070.moment", "the moment of inertia of '{name}' belongs to no real thing"),
            warning("SD070.added", "the added mass of a fluid is left out: a scene has none"),
        ),
    ),
    Topic(
        "SD080",
        "Geometry",
        "",
        (
            error("SD080.none", "the <{element}> has no geometry: left out"),
            warning("SD080.several", "several geometries in one <geometry>; <{kind}> is taken"),
            warning("SD080.unknown", "<{kind}> is a geometry that no scene can hold: left out"),
            error("SD080.normal", "a normal of length zero has no direction; 0 0 1 is taken"),
        ),
    ),
    Topic(
        "SD081",
        "Mesh",
        "",
        (
            warning("SD081.missing", "mesh '{uri}' is not found"),
            warning("SD081.unreadable", "mesh '{uri}' cannot be read: {reason}"),
            warning("SD081.submesh", "a part of a mesh cannot be chosen: all of it is taken"),
        ),
    ),
    Topic(
        "SD082",
        "Surface",
        "A shape of a scene has a friction and a restitution; softness of contacts and other friction are left out.",
        (info("SD082", "<{element}> is left out: a scene states no such property of surfaces"),),
    ),
    Topic(
        "SD083",
        "Friction of two directions",
        "A shape of a scene has one coefficient of friction for all directions.",
        (warning("SD083", "mu2 is {mu2} and mu is {mu}: mu is taken for both directions"),),
    ),
)

CATALOGUE = Catalogue(
    "Gazebo",
    (*_DOCUMENT, *_VALUES, *_MODELS, *_JOINTS, *_LINKS, topic(CARRIED)),
)
