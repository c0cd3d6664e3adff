"""Everything the SKEL reader can say, as data.

`SKnnn` is a topic; a topic has one message or several, told apart by what follows the dot in their key.
The severity is that of a lenient reading; a strict one turns every warning into an error.
"""

from __future__ import annotations

from exoskel.diagnostics import Catalogue, Message, Severity, Topic


def _e(key: str, text: str, hint: str = "", dart: str = "") -> Message:
    return Message(key, Severity.ERROR, text, hint, dart)


def _w(key: str, text: str, hint: str = "", dart: str = "") -> Message:
    return Message(key, Severity.WARNING, text, hint, dart)


def _i(key: str, text: str, hint: str = "", dart: str = "") -> Message:
    return Message(key, Severity.INFO, text, hint, dart)


_DOCUMENT = (
    Topic(
        "SK001",
        "Not well-formed XML",
        "The file cannot be read as XML, is some other kind of file, or is larger than the limits allow. "
        "Nothing is loaded from it.",
        (
            _e("SK001", "not well-formed XML: {reason}", "{hint}", "says 'Failed parsing XML', without a line"),
            _e("SK001.limit", "{reason}", "raise the limit if you trust the file: load(..., limits=Limits(...))"),
            _e("SK001.kind", "this is no SKEL file: {reason}", "{hint}", "says 'Failed parsing XML'"),
        ),
    ),
    Topic(
        "SK002",
        "Pre-3.0 text format",
        "DART 1 and 2 had a plain text format with braces (`dofs { … }`, `node name { … }`) under the same "
        "file ending. It has nothing in common with the XML format of DART 3 to 6.",
        (
            _e(
                "SK002",
                "this is the brace-style text format of DART 1 and 2, not the XML format of DART 3 to 6",
                "no tool reads it any more; DART 2.6 can load it, and its model has to be rebuilt from there",
                "says 'Failed parsing XML'",
            ),
        ),
    ),
    Topic(
        "SK003",
        "Root is not skel",
        "The root element of a SKEL document is `skel`.",
        (
            _e("SK003", "the root element is <{root}>, not <skel>", "", "loads nothing"),
            _e("SK003.format", "the root element is <{root}>: this is {format}, not SKEL", "{hint}", "loads nothing"),
        ),
    ),
    Topic(
        "SK004",
        "Nothing to load",
        "A SKEL document holds a `world`, or bare `skeleton` elements.",
        (_e("SK004", "<skel> holds neither a <world> nor a <skeleton>", "", "loads nothing"),),
    ),
    Topic(
        "SK005",
        "More than one world, or skeletons beside it",
        "DART has two ways to open a file. One takes the first `world` and sees nothing else; the other takes "
        "the first `skeleton` directly under `skel` and never looks into a world.",
        (
            _w("SK005.world", "a second <world>; only the first one is used", "", "uses the first without a word"),
            _w(
                "SK005.taken",
                "<skeleton> stands beside <world>, which has none of its own: taken into that world",
                "move it into <world>",
                "loses it without a word",
            ),
            _w(
                "SK005.kept",
                "<skeleton> stands beside a <world> that has skeletons: not part of the world",
                "move it into <world>",
                "loses it without a word",
            ),
            _w("SK005.several", "several bare skeletons: all taken into one world", "", "takes only the first"),
        ),
    ),
    Topic(
        "SK006",
        "Version",
        "All SKEL files are version 1.0.",
        (
            _i("SK006.absent", "<skel> has no version; 1.0 is assumed"),
            _i("SK006.other", "version '{version}' is unknown; read as 1.0", "", "never looks at the version"),
        ),
    ),
    Topic(
        "SK007",
        "Document type declaration",
        "SKEL needs no document type declaration. Entities declared in one are never expanded, because files "
        "that do so can fill the memory or read other files.",
        (
            _e("SK007.entity", "the document declares entities, which are refused for safety", "write the text itself"),
            _w("SK007.doctype", "a document type declaration has no effect", "remove it", "skips it"),
        ),
    ),
    Topic(
        "SK008",
        "Encoding is not UTF-8",
        "Any encoding the XML declaration names is read, but DART reads UTF-8 only.",
        (
            _w(
                "SK008",
                "the file is encoded as {encoding}",
                "save it as UTF-8",
                "fails or yields garbled names",
            ),
        ),
    ),
    Topic(
        "SK009",
        "Bare skeleton",
        "A document without a `world` is read as a world with default physics holding its skeletons, and is "
        "written back bare.",
        (_i("SK009", "no <world>: the skeleton gets a world with default physics", "", "refuses it as a world"),),
    ),
    Topic(
        "SK010",
        "Unknown element",
        "Elements that are not SKEL have no effect. They are kept when the file is saved.",
        (
            _w("SK010", "unknown element <{element}> in <{parent}>", "{suggestion}", "ignores it without a word"),
            _i("SK010.prefixed", "<{element}> in <{parent}> is not SKEL; kept as an extension"),
        ),
    ),
    Topic(
        "SK011",
        "Unknown attribute",
        "Attributes that are not SKEL have no effect. They are kept when the file is saved.",
        (
            _w("SK011", "unknown attribute '{name}' on <{element}>", "{suggestion}", "ignores it without a word"),
            _i("SK011.prefixed", "attribute '{name}' on <{element}> is not SKEL; kept as an extension"),
        ),
    ),
    Topic(
        "SK012",
        "Repeated element",
        "Of an element that may stand only once, the first is used.",
        (_w("SK012", "a second <{element}>; only the first one is used", "", "does the same without a word"),),
    ),
    Topic(
        "SK013",
        "Element without effect",
        "The element is known, but has no effect where it stands.",
        (
            _w(
                "SK013.axis_dynamics",
                "<{element}> has no effect on a {kind} joint, so its dynamics and limits are lost",
                "give them in <dof> elements",
                "ignores it without a word",
            ),
            _i("SK013.axis", "<{element}> has no effect on a {kind} joint"),
            _i("SK013.axis_xyz", "the direction of <{element}> has no effect on {kind} joints"),
            _w("SK013.axis_order", "<axis_order> has no effect on a {kind} joint", "", "ignores it without a word"),
            _w("SK013.plane", "<plane> has no effect on a {kind} joint", "", "ignores it without a word"),
            _w("SK013.pitch", "<pitch> has no effect on a {kind} joint; only screws have one"),
            _w("SK013.weld", "<{element}> has no effect on a weld joint, which does not move"),
            _w("SK013.color", "<color> has no effect on a collision shape", "put it on the visualization shape"),
            _w("SK013.collidable", "<collidable> has no effect on a visualization shape", "put it on the collision shape"),
            _w(
                "SK013.geometry_color",
                "<color> belongs beside <geometry>, not inside it; taken as the shape's colour",
                "move it out of <geometry>",
                "ignores it there",
            ),
            _i("SK013.tessellation", "<{element}> has no effect here; it belongs to soft shapes"),
            _w("SK013.self_collide", "<self_collide> never had an effect", "remove it", "lets no skeleton collide with itself"),
            _w("SK013.alpha", "<alpha> is not SKEL", "give <color> a fourth number"),
            _w("SK013.contact", "<{element}> is not SKEL here, and has no effect", "", "uses friction 1 and restitution 0 for all contacts"),
            _w("SK013.thread_pitch", "<thread_pitch> is SDFormat's name and has no effect", "did you mean 'pitch'?"),
            _w("SK013.dof_limit", "limits of a <dof> are attributes; the element <{element}> has no effect", 'write {element}="…"'),
            _w("SK013.soft_marker", "a marker on a soft body", "", "loses the markers of soft bodies without a word"),
            _w("SK013.soft_transformation", "a soft {kind} has no <transformation>; it is kept, but not applied", "", "ignores it"),
        ),
    ),
    Topic(
        "SK014",
        "Stray text",
        "Text where only elements belong has no effect; it is kept when the file is saved. Text that a "
        "comment cuts in two is read whole here.",
        (
            _w("SK014", "text '{text}' in <{element}> has no effect", "", "ignores it without a word"),
            _w(
                "SK014.split",
                "the value is cut by a comment or a CDATA section",
                "move the comment out of the value",
                "reads only '{first}'",
            ),
        ),
    ),
)

_VALUES = (
    Topic(
        "SK020",
        "Required child missing",
        "The element cannot do without this child.",
        (
            _e("SK020", "<{parent}> has no <{element}>", "", "throws an exception that names no line"),
            _w("SK020.scale", "<mesh> has no <scale>; 1 1 1 is used", "", "throws an exception"),
        ),
    ),
    Topic(
        "SK021",
        "Empty value",
        "The element is there but says nothing; it counts as absent.",
        (_e("SK021", "<{element}> is empty", "", "throws an exception, sometimes without naming the element"),),
    ),
    Topic(
        "SK022",
        "Not a number",
        "A number is decimal digits with an optional sign, point and exponent. A wrong value counts as absent.",
        (_e("SK022", "'{token}' is not a number", "", "throws an exception that says no more than 'stod'"),),
    ),
    Topic(
        "SK023",
        "Something behind a number",
        "The text begins with a number but goes on. A wrong value counts as absent (reading `dart`: the number "
        "in front is taken).",
        (
            _e("SK023", "'{token}' is not a number: there is something behind the digits", "", "reads the digits in front without a word"),
            _e("SK023.count", "'{token}' is not a positive whole number", "", "reads the digits in front without a word"),
        ),
    ),
    Topic(
        "SK024",
        "Wrong number of components",
        "A vector has a fixed length. A `transformation` of three numbers is taken as a translation; any other "
        "wrong count makes the value count as absent.",
        (
            _e("SK024", "{found} numbers where {expected} belong", "", "reads or writes memory it should not"),
            _w("SK024.translation", "three numbers where six belong: taken as a translation alone", "add the three angles", "does the same"),
        ),
    ),
    Topic(
        "SK025",
        "Commas between numbers",
        "Numbers are separated by blanks. Commas are understood when the count is right with them.",
        (_w("SK025", "commas separate the numbers", "separate them by blanks", "reads nonsense without a word"),),
    ),
    Topic(
        "SK026",
        "Number is not finite",
        "`nan` is no value anywhere; infinities only make sense as limits. A wrong value counts as absent.",
        (
            _e("SK026", "'{token}' is not a finite number", "", "accepts, replaces or throws, depending on the element"),
            _e("SK026.overflow", "'{token}' is too large for a number", "", "throws an exception"),
        ),
    ),
    Topic(
        "SK027",
        "Not a boolean",
        "A boolean is `1`, `0`, `true` or `false`. `collidable` is different: DART reads a number there.",
        (
            _e("SK027", "'{token}' is neither true nor false", "write true or false", "takes it as false"),
            _w("SK027.word", "<collidable> says '{token}'", "write 0 or 1", "throws an exception on the word"),
            _w("SK027.number", "<collidable> says '{token}'; any number but 0 is true", "write 0 or 1"),
        ),
    ),
    Topic(
        "SK028",
        "Blanks or capitals in a word",
        "DART compares words exactly, blanks and capitals included. Here they are forgiven (reading `dart`: as DART).",
        (
            _w("SK028.trimmed", "blanks around '{token}'", "remove them", "takes them as part of the word, and does not know it"),
            _w("SK028.case", "'{token}' is written with capitals", "write '{word}'", "does not know it"),
        ),
    ),
    Topic(
        "SK030",
        "Time step",
        "A time step is positive.",
        (_e("SK030", "the time step is {found}; 0.001 is used", "", "does the same"),),
    ),
    Topic(
        "SK031",
        "No gravity",
        "Without a `gravity` element gravity is 0 0 -9.81, that is along -z, although most SKEL files have y upwards.",
        (_i("SK031", "no <gravity>: 0 0 -9.81 is used"),),
    ),
    Topic(
        "SK032",
        "Unknown collision detector",
        "The words are fcl, fcl_mesh, dart, bullet and ode. Any other is kept, and treated as fcl.",
        (_w("SK032", "unknown collision detector '{token}'", "{suggestion}", "uses fcl"),),
    ),
    Topic(
        "SK033",
        "Geometry the detector cannot handle",
        "Not every collision detector of DART knows every geometry. Some are replaced by a small sphere, some "
        "are left out, when the simulation starts.",
        (
            _w(
                "SK033",
                "detector {detector} has no {geometry}",
                "{advice}",
                "{consequence}",
            ),
        ),
    ),
)

_BODIES = (
    Topic(
        "SK040",
        "Body name",
        "Joints find bodies by name, so every body needs one of its own.",
        (
            _w("SK040.missing", "the body has no name; it is called '{name}'", "name it", "leaves it nameless: no joint can find it"),
            _e(
                "SK040.repeated",
                "a second body called '{name}'; it is left out",
                "give it a name of its own",
                "drops it but adds its shapes to the first one",
            ),
        ),
    ),
    Topic(
        "SK041",
        "Skeleton or joint name",
        "A missing name is made up, a repeated one is told apart by (1), (2), …",
        (
            _w("SK041.missing", "the {element} has no name; it is called '{name}'", "name it"),
            _w("SK041.repeated", "a second {element} called '{name}'; it becomes '{renamed}'", "", "does the same without a word"),
        ),
    ),
    Topic(
        "SK042",
        "Body called world",
        "`world` in a joint's `parent` means the world, unless a body has that name.",
        (_w("SK042", "a body called 'world' hides the world from the joints", "call it something else", "does the same without a word"),),
    ),
    Topic(
        "SK043",
        "immobile",
        "`immobile` is the old wiki's opposite of `mobile`. DART never read it in any release.",
        (_w("SK043", "<immobile> is an old name", "write <mobile> with the opposite value", "ignores it: the skeleton is mobile"),
         _w("SK043.contradiction", "<immobile> contradicts <mobile>, which is used", "remove <immobile>", "ignores <immobile>")),
    ),
    Topic(
        "SK044",
        "Nothing inside",
        "Harmless, but perhaps not meant.",
        (
            _i("SK044.world", "the world has no skeletons"),
            _i("SK044.skeleton", "the skeleton has no bodies"),
        ),
    ),
    Topic(
        "SK050",
        "Mass",
        "A body that has an `inertia` element needs a `mass` in it.",
        (
            _w("SK050.missing", "<inertia> has no <mass>; 1 kg is used", "", "throws an exception"),
            _w("SK050.zero", "the mass is 0", "", "accepts it with a warning"),
            _e("SK050.negative", "the mass is {found}, which is negative", "", "accepts it with a warning"),
        ),
    ),
    Topic(
        "SK051",
        "Incomplete moment of inertia",
        "`moment_of_inertia` has six entries.",
        (
            _w("SK051.off_diagonal", "the moment has no <{element}>; 0 is used", "", "throws an exception"),
            _e("SK051.diagonal", "the moment has no <{element}>, so it cannot be used", "", "throws an exception"),
        ),
    ),
    Topic(
        "SK052",
        "Impossible moment of inertia",
        "No distribution of mass has such a moment: its principal values have to be positive, and none may "
        "exceed the sum of the two others. The moment is kept as given.",
        (
            _e("SK052.indefinite", "principal moments {eigenvalues}: not positive", "", "accepts it without a word"),
            _w("SK052.singular", "principal moments {eigenvalues}: one of them is zero", "", "accepts it without a word"),
            _w(
                "SK052.triangle",
                "principal moments {eigenvalues}: the largest exceeds the sum of the others",
                "",
                "accepts it without a word",
            ),
        ),
    ),
    Topic(
        "SK053",
        "inertia/transformation",
        "The old wiki drew a `transformation` in `inertia`. Its translation is the centre of mass and its "
        "rotation turns the moment; `offset` wins over it.",
        (
            _w("SK053", "<transformation> in <inertia> is an old form", "write <offset>", "ignores it"),
            _w("SK053.both", "<offset> wins over <transformation> in <inertia>", "remove <transformation>", "ignores <transformation>"),
        ),
    ),
    Topic(
        "SK054",
        "Moment derived from shapes",
        "Without a `moment_of_inertia` the moment comes from all shapes, the visual ones too, about the stated "
        "centre of mass, which stays at `offset`. DART up to 6.19 used the first shape alone.",
        (
            _i("SK054.centre", "the centre of the shapes is {distance} m away from the stated centre of mass"),
            _i("SK054.rule", "DART up to 6.19 derives another moment ({percent} % off)", "write <moment_of_inertia> to fix it"),
        ),
    ),
    Topic(
        "SK055",
        "Moment cannot be derived",
        "A moment derived from shapes is only as good as the shapes.",
        (
            _w("SK055.no_shape", "no moment and no shape to derive it from: the identity is used", "write <moment_of_inertia>", "does the same without a word"),
            _w("SK055.plane", "a plane has no moment of its own and takes part in the derived one as if weightless", "write <moment_of_inertia>", "does the same"),
            _w("SK055.pyramid", "DART's rule gives a pyramid the identity moment, whatever its mass", "write <moment_of_inertia>", "does the same"),
        ),
    ),
)

_SHAPES = (
    Topic(
        "SK060",
        "No geometry",
        "A shape holds one `geometry` with one child. A shape without is left out.",
        (
            _e("SK060.none", "the {parent} has no <geometry>", "", "crashes"),
            _e("SK060.empty", "<geometry> is empty", "", "crashes, or leaves a shape without form"),
            _e("SK060.unknown", "<{element}> is no geometry of SKEL", "{suggestion}", "crashes, or leaves a shape without form"),
            _e("SK060.soft", "a soft shape cannot be a {element}", "the choices are {allowed}", "leaves a soft body without points"),
        ),
    ),
    Topic(
        "SK061",
        "Several geometries",
        "Of several geometries in one shape DART takes the first in a fixed order of its own.",
        (_w("SK061", "{count} geometries in one shape; the {kind} is used", "make one shape of each", "does the same without a word"),),
    ),
    Topic(
        "SK062",
        "Dimension not positive",
        "A negative dimension is taken without its sign (reading `dart`: DART's own default, 1). A shape of no "
        "size is left out.",
        (
            _w("SK062.negative", "<{element}> is {found}; its magnitude is used", "", "uses 1 for it"),
            _e("SK062.zero", "<{element}> is {found}", "", "uses 1 for it"),
            _e("SK062.scale", "a mesh scale of 0 flattens the mesh", "", "accepts it without a word"),
        ),
    ),
    Topic(
        "SK063",
        "Mesh not usable",
        "The file cannot be found or read. The shape and its reference are kept; only what needs the triangles fails.",
        (
            _w("SK063.visual", "mesh '{uri}' {reason}", "{hint}", "logs it; then often crashes"),
            _e("SK063.needed", "mesh '{uri}' {reason}, and {purpose}", "{hint}", "crashes"),
        ),
    ),
    Topic(
        "SK064",
        "Odd mesh reference",
        "The reference is spelled in a way DART does not resolve, or not in the same way.",
        (
            _w("SK064.blanks", "blanks around the file name", "remove them", "looks for a file with the blanks"),
            _w("SK064.backslash", "a backslash in the file name", "write /", "looks for a file with the backslash"),
            _w("SK064.percent", "the file name is percent-encoded", "write the characters themselves", "looks for a file with the percent codes"),
            _w("SK064.fragment", "# or ? in the file name", "rename the file", "cuts the name there"),
            _i("SK064.absolute", "an absolute path is not portable", "write it relative to the document"),
            _w("SK064.relative_file_uri", "file: without slashes; taken as relative to the document", "drop the file:", "takes it as relative to the working directory"),
            _e("SK064.foreign_file_uri", "'{uri}' names a file on another machine", "a local file has three slashes: file:///", "does not find it"),
            _w("SK064.scheme", "nobody here resolves '{uri}'", "{hint}", "does not find it"),
            _w("SK064.no_base", "the document has no location that '{uri}' could be relative to", "pass base=… when loading text"),
            _e("SK064.outside", "'{uri}' leaves the directory of the document, which is forbidden here"),
        ),
    ),
    Topic(
        "SK065",
        "Plane offset",
        "A plane's place is given by `offset`; `point` is deprecated.",
        (
            _w("SK065.none", "the plane has neither <offset> nor <point>; 0 is used", "", "does the same with a warning"),
            _w("SK065.point", "<point> is deprecated", "write <offset>", "warns too"),
        ),
    ),
    Topic(
        "SK066",
        "Plane normal",
        "A normal has a direction.",
        (_e("SK066", "the plane's normal is zero", "", "accepts it without a word"),),
    ),
    Topic(
        "SK067",
        "Colour",
        "A colour has 3 or 4 components from 0 to 1.",
        (
            _w("SK067.count", "a colour of {found} numbers is ignored; 3 or 4 belong there", "", "does the same"),
            _w("SK067.range", "colour component {token} is outside 0 to 1", "", "accepts it without a word"),
        ),
    ),
    Topic(
        "SK068",
        "Soft box fragments",
        "`frags` is the number of vertices along each edge of a soft box, at least 3.",
        (
            _w("SK068.missing", "the soft box has no <frags>; 3 3 3 is used", "", "throws an exception"),
            _w("SK068.low", "<frags> below 3 is raised to 3", "", "does the same"),
        ),
    ),
    Topic(
        "SK069",
        "length for height",
        "The old wiki once said `length`.",
        (_w("SK069", "<length> is an old name", "write <height>", "throws for want of a <height>"),),
    ),
)

_JOINTS = (
    Topic(
        "SK070",
        "Joint type",
        "The types are weld, revolute, prismatic, screw, universal, ball, euler, translational, translational2d, "
        "planar and free. A joint of no known type is left out.",
        (
            _e("SK070.missing", "the joint has no type", "", "drops the joint, then often crashes"),
            _e("SK070.unknown", "unknown joint type '{token}'", "{suggestion}", "drops the joint, then often crashes"),
        ),
    ),
    Topic(
        "SK071",
        "Unknown body",
        "A joint names bodies of its own skeleton. One that names another is left out.",
        (
            _e("SK071.parent", "there is no body '{name}' for the parent", "{suggestion}", "drops the joint, then often crashes"),
            _e("SK071.child", "there is no body '{name}' for the child", "{suggestion}", "drops the joint, then often crashes"),
        ),
    ),
    Topic(
        "SK072",
        "Two parents",
        "A body hangs on one joint.",
        (_e("SK072", "body '{body}' already hangs on joint '{other}'; this one is left out", "", "drops the second joint"),),
    ),
    Topic(
        "SK073",
        "Cycle",
        "Joints form trees that grow from the world. The last joint of a cycle is left out.",
        (
            _e("SK073.cycle", "the bodies {bodies} hang on each other in a circle; this joint is left out", "", "loops for ever"),
            _e("SK073.self", "body '{body}' hangs on itself; the joint is left out", "", "loops for ever"),
        ),
    ),
    Topic(
        "SK074",
        "Body without a joint",
        "A body that hangs on no joint floats freely.",
        (
            _w("SK074", "body '{body}' hangs on no joint; it gets a free one called '{joint}'", "write the joint", "{consequence}"),
        ),
    ),
    Topic(
        "SK075",
        "Parent missing",
        "A joint without a `parent` hangs on the world.",
        (_w("SK075", "the joint has no <parent>; the world is used", "write <parent>world</parent>", "does the same, and logs an error"),),
    ),
    Topic(
        "SK076",
        "Actuator",
        "The actuators are force, passive, servo, acceleration, velocity and locked.",
        (
            _e("SK076.unknown", "unknown actuator '{token}'; force is used", "{suggestion}", "does the same, and logs an error"),
            _w("SK076.torque", "actuator '{token}' is an old name", "write '{meant}'", "does not know it, and uses force"),
        ),
    ),
    Topic(
        "SK077",
        "Joint axis",
        "Revolute, prismatic, screw and universal joints turn or slide along an axis of length one.",
        (
            _e("SK077.missing", "a {kind} joint needs <{element}>; {fallback} is used", "", "uses {fallback}, and logs an error"),
            _e("SK077.no_xyz", "<{element}> of a {kind} joint has no <xyz>; {fallback} is used", "", "throws an exception"),
            _e("SK077.zero", "the axis is zero; {fallback} is used", "", "keeps it: the joint cannot move"),
            _w("SK077.length", "the axis has length {found}; it is normalised", "write a unit vector", "{consequence}"),
        ),
    ),
    Topic(
        "SK078",
        "Axis order",
        "An euler joint turns about x, y, z or about z, y, x.",
        (
            _w("SK078.missing", "the euler joint has no <axis_order>; xyz is used", "", "throws an exception"),
            _e("SK078.unknown", "unknown axis order '{token}'; xyz is used", "{suggestion}", "does the same, and logs an error"),
        ),
    ),
    Topic(
        "SK079",
        "Plane of a planar joint",
        "The planes are xy, yz, zx, and arbitrary with two axes that span it.",
        (
            _w("SK079.missing", "the {kind} joint has no <plane>; xy is used", "", "does the same with a warning"),
            _w("SK079.no_type", "<plane> has no type; xy is used", "", "does the same, and logs an error"),
            _e("SK079.unknown", "unknown plane '{token}'; xy is used", "{suggestion}", "does the same, and logs an error"),
            _e("SK079.axis", "an arbitrary plane needs <{element}> with <xyz>; {fallback} is used", "", "crashes, or throws an exception"),
            _e("SK079.parallel", "the two axes of the plane are parallel; the joint is left out", "", "accepts it: the joint moves along one line"),
        ),
    ),
    Topic(
        "SK080",
        "Number of initial values",
        "`init_pos` and `init_vel` have one number for each degree of freedom.",
        (_e("SK080", "<{element}> has {found} numbers; a {kind} joint has {expected} degrees of freedom", "", "reads memory it should not, or takes the first"),),
    ),
    Topic(
        "SK081",
        "Initial position outside the limits",
        "The value is kept.",
        (_w("SK081", "initial position {found} of '{dof}' is outside its limits {lower} to {upper}", "", "accepts it without a word"),),
    ),
    Topic(
        "SK082",
        "Limits the wrong way round",
        "The lower limit exceeds the upper one; both are dropped (reading `dart`: kept).",
        (_e("SK082", "lower limit {lower} exceeds upper limit {upper}; there is no limit", "", "stores them without a word"),),
    ),
    Topic(
        "SK083",
        "Negative damping, friction or stiffness",
        "These are not negative; 0 is used.",
        (_e("SK083", "{element} is {found}; 0 is used", "", "does the same, and logs an error"),),
    ),
    Topic(
        "SK084",
        "Index of a degree of freedom",
        "`local_index` counts from 0 and may be left out only when the joint has one degree of freedom. A `dof` "
        "with a wrong index is ignored.",
        (
            _e("SK084.missing", "a {kind} joint has {count} degrees of freedom; this <dof> has no local_index", 'write local_index="0" to "{last}"', "ignores it, and logs an error"),
            _e("SK084.range", "local_index {found} is not one of 0 to {last}", "", "ignores it, or writes to a wrong place in memory"),
        ),
    ),
    Topic(
        "SK085",
        "dof and axis disagree",
        "A value in `dof` wins over the same value in `axis`, `init_pos` or `init_vel`.",
        (_w("SK085", "{element} of '{dof}': {value} here, {other} in <{place}>; this one is used", "", "does the same without a word"),),
    ),
    Topic(
        "SK086",
        "dof twice",
        "A later `dof` wins over an earlier one for the same degree of freedom.",
        (_w("SK086", "a second <dof> for degree of freedom {index}; what it states wins", "", "does the same without a word"),),
    ),
    Topic(
        "SK087",
        "Old place of damping",
        "`damping` moved from `axis` into `axis/dynamics`, which wins.",
        (_w("SK087", "<damping> directly in an axis is the old place", "move it into <dynamics>", "reads it with a warning"),),
    ),
    Topic(
        "SK088",
        "Names that are not SKEL, in dynamics and limit",
        "Misspellings of the old wiki are understood. `stiffness` and `spring_damping`, which occur in models "
        "tuned without them, are not applied.",
        (
            _w("SK088.sprint", "<{element}> is a misspelling", "write 'spring_…'", "ignores it"),
            _w("SK088.stiffness", "<stiffness> is not SKEL, and not applied", "did you mean 'spring_stiffness'?", "ignores it"),
            _w("SK088.spring_damping", "<spring_damping> is not SKEL, and not applied", "did you mean 'damping'?", "ignores it"),
            _w("SK088.effort", "<effort> in <limit> is taken as a force limit", "write it in <dof>", "ignores it"),
            _w("SK088.velocity", "<velocity> in <limit> is taken as a velocity limit", "write it in <dof>", "ignores it"),
        ),
    ),
    Topic(
        "SK089",
        "Limits are not enforced by DART",
        "DART stores position limits and enforces them only when a program switches them on for a joint. In "
        "reading `written` limits are limits, in reading `dart` they are stored and have no effect.",
        (_i("SK089", "'{joint}' has position limits", "", "does not enforce them unless told to"),),
    ),
    Topic(
        "SK090",
        "Joint DART cannot build",
        "DART parses screw and translational2d joints but never builds them.",
        (_w("SK090", "a {kind} joint", "", "cannot build it: the load stops there, and often crashes"),),
    ),
    Topic(
        "SK091",
        "Velocity of a free joint",
        "Since DART 6.17 a free joint's velocity is in the axes of its parent, before in those of its child.",
        (_i("SK091", "the initial velocity means something else in DART up to 6.16", "load(..., free_velocity_axes='child') reads it so"),),
    ),
    Topic(
        "SK092",
        "Spring on a ball or free joint",
        "The spring acts on each coordinate of the rotation vector by itself, not along the shortest turn.",
        (_i("SK092", "a spring on a {kind} joint acts on its raw coordinates"),),
    ),
    Topic(
        "SK093",
        "Soft body in a rigid-only operation",
        "The rigid core is used and the skin left out.",
        (_w("SK093", "body '{body}' has a soft skin, which is left out"),),
    ),
    Topic(
        "SK094",
        "Euler joint at its singularity",
        "With the second angle at ±π/2 the first and the third turn about the same axis.",
        (_w("SK094", "the euler joint starts at its singularity: second angle {found}", "", "accepts it without a word"),),
    ),
)

CATALOGUE = Catalogue("DART 6", (*_DOCUMENT, *_VALUES, *_BODIES, *_SHAPES, *_JOINTS))
