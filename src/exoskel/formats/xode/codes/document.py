"""Diagnostics X101 to X517: the document, its structure, values, links and transforms."""

from __future__ import annotations

from exoskel.diagnostics import LIMIT_HINT, Topic, message_with_severities

TOPICS = (
    Topic(
        "X101",
        "Not well-formed XML",
        "The file is not XML, is another kind of file, or exceeds the limits. Nothing is loaded from it.",
        message_with_severities("X101", "E/E", "not well-formed XML: {reason}", "{hint}"),
        message_with_severities("X101.limit", "E/E", "{reason}", LIMIT_HINT),
        message_with_severities("X101.kind", "E/E", "not an XODE file: {reason}", "{hint}"),
    ),
    Topic(
        "X102",
        "Root is not xode",
        "The root element of an XODE document is `xode`.",
        message_with_severities("X102", "E/E", "the root element is <{root}>, not <xode>"),
        message_with_severities(
            "X102.format", "E/E", "the root element is <{root}>: this is {format}, not XODE", "{hint}"
        ),
    ),
    Topic(
        "X103",
        "Missing version",
        "The specification requires a version; 1.0r22 is assumed. PyODE writes documents without a version.",
        message_with_severities("X103", "E/W", "<xode> has no version", 'add version="1.0r22"', "ignores the version"),
    ),
    Topic(
        "X104",
        "Unknown version",
        "Versions look like 1.0r22. All 1.0 versions are read alike.",
        message_with_severities("X104", "E/W", "version '{version}' is not of the form 1.0r22", 'use version="1.0r22"'),
    ),
    Topic(
        "X105",
        "Document type declaration",
        "Entities are never expanded: they can exhaust the memory or read other files.",
        message_with_severities(
            "X105.entity",
            "E/E",
            "the document declares entities, which are refused for security",
            "replace each entity with its text",
        ),
        message_with_severities("X105.doctype", "E/W", "the document type declaration has no effect", "remove it"),
    ),
    Topic(
        "X106",
        "Namespace",
        "XODE elements have no namespace. The namespace is ignored.",
        message_with_severities("X106", "E/W", "<{element}> is in the namespace '{namespace}'", "remove the namespace"),
    ),
    Topic(
        "X107",
        "Nothing to load",
        "A document without a world is empty.",
        message_with_severities("X107", "W/W", "<xode> contains no <world>; there is nothing to load"),
    ),
    Topic(
        "X201",
        "Misplaced element",
        "XODE does not allow the element here. It is ignored with everything in it.",
        message_with_severities("X201", "E/E", "<{element}> is not allowed in <{parent}>", "allowed here: {allowed}"),
    ),
    Topic(
        "X202",
        "Unknown element",
        "The element is not part of XODE. It is ignored with everything in it, and preserved when the file is saved. "
        "Inside a joint, a mass or a transform, it is an error because it makes the meaning unclear.",
        message_with_severities(
            "X202", "E/W", "unknown element <{element}> in <{parent}>", "{suggestion}", "stops reading there"
        ),
        message_with_severities(
            "X202.inside", "E/E", "unknown element <{element}> in <{parent}>", "{suggestion}", "stops reading there"
        ),
        message_with_severities(
            "X202.prefixed", "E/W", "<{element}> in <{parent}> is not part of XODE; it is preserved as an extension"
        ),
    ),
    Topic(
        "X203",
        "Missing element",
        "The element requires this child.",
        message_with_severities("X203", "E/E", "<{parent}> has no <{element}>"),
        message_with_severities(
            "X203.shape", "E/E", "the {parent} has no shape; it is ignored", "use one of: {allowed}"
        ),
        message_with_severities("X203.type", "E/E", "the joint has no type; it is ignored", "use one of: {allowed}"),
        message_with_severities(
            "X203.rotation", "E/W", "<rotation> is empty", "add <quaternion>, <axisangle> or <euler>"
        ),
        message_with_severities(
            "X203.few", "E/E", "<{parent}> needs at least {needed} <{element}> elements, but has {found}"
        ),
    ),
    Topic(
        "X204",
        "Duplicate element",
        "Where only one element is allowed, the first is used. If a body has several masses, the last is used. A "
        "second shape or joint type is an error.",
        message_with_severities("X204", "E/W", "duplicate <{element}>; the first, on line {line}, is used"),
        message_with_severities(
            "X204.mass",
            "E/W",
            "duplicate <mass>; the last is used, not the one on line {line}",
            "nest the masses to add them",
            "also uses the last",
        ),
        message_with_severities(
            "X204.replaced",
            "E/W",
            "duplicate <{element}> in one <mass>; it replaces the first, on line {line}",
            "nest the masses to add them",
        ),
        message_with_severities(
            "X204.again", "E/W", "duplicate <{element}> in one <mass>; it is applied after the first, on line {line}"
        ),
        message_with_severities(
            "X204.shape", "E/E", "second shape, <{element}>; the first, on line {line}, is used", "add a <geom> for it"
        ),
        message_with_severities(
            "X204.type", "E/E", "second joint type, <{element}>; the first, on line {line}, is used"
        ),
    ),
    Topic(
        "X205",
        "Order inside a mass",
        "A `mass` contains a struct or shape, then a transform, then an adjust, then nested masses. Each acts"
        " on the elements before it. They are applied in the order written.",
        message_with_severities(
            "X205",
            "E/W",
            "<{element}> comes after <{before}>",
            "use the order: shape or struct, transform, adjust, mass",
        ),
    ),
    Topic(
        "X206",
        "Unknown attribute",
        "The attribute is not part of XODE. It has no effect, and is preserved when the file is saved.",
        message_with_severities("X206", "E/W", "unknown attribute '{name}' on <{element}>", "{suggestion}"),
        message_with_severities(
            "X206.prefixed", "-/-", "attribute '{name}' on <{element}> is not part of XODE and has no effect"
        ),
    ),
    Topic(
        "X207",
        "Stray text",
        "XODE has no text outside `ext`. The text has no effect, and is preserved when the file is saved.",
        message_with_severities("X207", "E/W", "text '{text}' in <{element}> has no effect"),
    ),
    Topic(
        "X208",
        "Duplicate name",
        "Names are unique in the whole document. Links refer only to bodies, so a geom may share the name of a body.",
        message_with_severities("X208", "E/W", "duplicate name '{name}': {kind} on line {line} already has it"),
    ),
    Topic(
        "X209",
        "Empty name",
        "An empty name counts as absent.",
        message_with_severities("X209", "E/W", "the name is empty"),
    ),
    Topic(
        "X210",
        "Element allowed only by some readers",
        "The element has no effect here.",
        message_with_severities("X210", "E/W", "only some readers allow <{element}> here"),
    ),
    Topic(
        "X301",
        "Missing attribute",
        "The element requires this attribute.",
        message_with_severities("X301", "E/E", "<{element}> has no '{attribute_name}'"),
    ),
    Topic(
        "X302",
        "Not a number",
        "A number consists of decimal digits with an optional sign, point and exponent.",
        message_with_severities("X302", "E/E", "{name}: '{value}' is not a number"),
    ),
    Topic(
        "X303",
        "Number is not finite",
        "Infinities are valid only as stops and as the force of a motor.",
        message_with_severities("X303", "E/E", "{name}: '{value}' is not a finite number"),
        message_with_severities("X303.overflow", "E/E", "{what} overflows; {instead}"),
    ),
    Topic(
        "X304",
        "Not an integer",
        "An integer is expected. A value such as 1.0 is accepted.",
        message_with_severities("X304", "E/E", "{name}: '{value}' is not an integer"),
        message_with_severities("X304.float", "E/W", "{name}: '{value}' is not written as an integer", "use {whole}"),
    ),
    Topic(
        "X305",
        "Not a boolean",
        "A boolean is `true` or `false`, in lower case.",
        message_with_severities("X305", "E/E", "{name}: '{value}' is not a boolean"),
        message_with_severities(
            "X305.spelling",
            "E/W",
            "{name}: '{value}' is read as {word}",
            "use {word}",
            "accepts only lower-case true and false",
        ),
    ),
    Topic(
        "X306",
        "Out of range",
        "Sizes, radii, lengths, scales, densities and masses must be positive.",
        message_with_severities("X306", "E/E", "{name} is {value}, but must be positive"),
    ),
    Topic(
        "X307",
        "Invalid choice",
        "The attribute allows only a few values.",
        message_with_severities("X307", "E/E", "{name}: '{value}' is not one of {choices}"),
        message_with_severities("X307.gravity", "E/W", "gravitymode: '{value}' is read as {meant}", "use 0 or 1"),
    ),
    Topic(
        "X401",
        "Unknown body",
        "A link refers to a body of the document. A joint with an invalid link is ignored.",
        message_with_severities("X401", "E/E", "unknown body '{name}'", "{suggestion}", "stops reading there"),
    ),
    Topic(
        "X402",
        "Link to something else",
        "A link refers to a body.",
        message_with_severities("X402", "E/E", "'{name}' is {kind}, not a body"),
    ),
    Topic(
        "X403",
        "Ambiguous link",
        "Two bodies have this name.",
        message_with_severities("X403", "E/E", "several bodies are named '{name}': lines {lines}"),
    ),
    Topic(
        "X404",
        "Link to itself",
        "A joint connects two different bodies, or a body and the environment.",
        message_with_severities("X404.same", "E/E", "the joint connects body '{name}' to itself"),
        message_with_severities("X404.environment", "E/E", "the joint has no link and is not inside a body"),
    ),
    Topic(
        "X405",
        "Link across worlds",
        "Bodies of different worlds cannot be connected.",
        message_with_severities("X405", "E/E", "'{first}' is in world {world1}, '{second}' in world {world2}"),
        message_with_severities("X405.joint", "E/E", "'{name}' is in world {world}, the joint in world {own}"),
    ),
    Topic(
        "X501",
        "Mixed transform styles",
        "A transform is either a matrix, or a position, rotation and scale. A transform that has both is ignored.",
        message_with_severities("X501", "E/E", "the transform mixes a matrix with {other}"),
    ),
    Topic(
        "X502",
        "Unusual matrix",
        "A matrix has its translation in the last column (in PyODE: in the last row), and 1 in its corner.",
        message_with_severities(
            "X502", "E/E", "the matrix has a translation in both its last row and its last column: {entries}"
        ),
        message_with_severities("X502.corner", "E/W", "m33 is {value}; 1 is used"),
    ),
    Topic(
        "X503",
        "Matrix is not a rotation",
        "The upper left block must be a rotation times a scale.",
        message_with_severities("X503", "E/E", "the matrix is not a scaled rotation: it deviates by {deviation}"),
    ),
    Topic(
        "X504",
        "Translation in the last row",
        "PyODE reads matrices this way; all other readers expect the translation in the last column.",
        message_with_severities(
            "X504", "W/W", "the translation is in the last row of the matrix; PyODE's layout is assumed"
        ),
    ),
    Topic(
        "X505",
        "Several rotations",
        "Of several rotations, the first in the order axisangle, quaternion, euler is used.",
        message_with_severities("X505", "E/W", "several rotations; <{used}> is used"),
    ),
    Topic(
        "X506",
        "Rotation outside the rotation element",
        "Odejava's writer omits the `rotation` element.",
        message_with_severities("X506", "E/W", "<{element}> is outside <rotation>", "move it into <rotation>"),
    ),
    Topic(
        "X507",
        "Zero axis or quaternion",
        "The axis and the quaternion of a rotation must not be zero.",
        message_with_severities("X507", "E/E", "the {element} is zero"),
        message_with_severities("X507.angle", "E/W", "the axis and the angle are zero; there is no rotation"),
    ),
    Topic(
        "X508",
        "Quaternion not unit",
        "The quaternion is normalised.",
        message_with_severities("X508", "W/W", "the quaternion has length {norm}; it is normalised"),
    ),
    Topic(
        "X509",
        "Scale",
        "Readers interpret scale differently. Here it scales offsets inside the element, but not shapes and masses.",
        message_with_severities("X509", "W/W", "scale {value}: offsets inside are scaled, sizes and masses are not"),
        message_with_severities(
            "X509.element", "W/W", "scale is written as an element", 'use scale="{value}" on <transform>'
        ),
    ),
    Topic(
        "X510",
        "Unequal scale",
        "Only a uniform scale is supported.",
        message_with_severities("X510", "E/E", "the scale is not the same in x, y and z"),
    ),
    Topic(
        "X511",
        "matrix instead of matrix4f",
        "Odejava calls the element `matrix`.",
        message_with_severities("X511", "E/W", "<matrix> is Odejava's name for <matrix4f>", "use <matrix4f>"),
    ),
    Topic(
        "X512",
        "Absolute transform inside a body",
        "The offset of the geom is computed from the initial pose of the body.",
        message_with_severities(
            "X512",
            "W/W",
            "the transform inside a body is absolute; the offset from the body is {offset}",
            "",
            "computes it incorrectly",
        ),
    ),
    Topic(
        "X513",
        "Two scales",
        "The attribute and the element, or the attributes of the element, give different scales.",
        message_with_severities("X513", "E/E", "scale is {given} as an attribute, but {element} as an element"),
        message_with_severities("X513.element", "E/E", "scale is given as {given}, but also as {axes} in x, y and z"),
    ),
    Topic(
        "X514",
        "Reflection",
        "A reflection is not a valid transform.",
        message_with_severities("X514", "E/E", "the matrix is a reflection: its determinant is {determinant}"),
    ),
    Topic(
        "X515",
        "PyODE composes the transforms differently",
        "PyODE composes nested rotations and translations incorrectly; files written for it may rely on that.",
        message_with_severities(
            "X515", "-/W", "a rotation and a translation are nested here", "", "places it differently"
        ),
    ),
    Topic(
        "X516",
        "Transform of a joint",
        "The transform moves the joint's anchor. Most readers ignore it.",
        message_with_severities(
            "X516", "W/W", "the joint has a <transform>; its anchor is relative to it", "", "stops reading there"
        ),
    ),
    Topic(
        "X517",
        "Ambiguous direction of Euler angles",
        "The specification rotates counter-clockwise, PyODE clockwise. The file does not show which is meant;"
        " the direction of the specification is used.",
        message_with_severities(
            "X517",
            "W/W",
            "PyODE applies {count} by Euler angles in the opposite direction; the first is here",
            "choose the dialect: --dialect spec or --dialect pyode (dialect=)",
        ),
    ),
)
