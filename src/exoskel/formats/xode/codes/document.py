"""X101 to X405: what there is to say about the document, its structure, its values and its links."""

from __future__ import annotations

from exoskel.diagnostics import Topic, message_with_severities

TOPICS = (
    Topic(
        "X101",
        "Not well-formed XML",
        "The file cannot be read as XML, is some other kind of file, or is larger than the limits allow. "
        "Nothing is loaded from it.",
        (
            message_with_severities("X101", "E/E", "not well-formed XML: {reason}", "{hint}"),
            message_with_severities(
                "X101.limit", "E/E", "{reason}", "raise the limit if you trust the file: load(..., limits=Limits(...))"
            ),
            message_with_severities("X101.kind", "E/E", "this is no XODE file: {reason}", "{hint}"),
        ),
    ),
    Topic(
        "X102",
        "Root is not xode",
        "The root element of an XODE document is `xode`.",
        (
            message_with_severities("X102", "E/E", "the root element is <{root}>, not <xode>"),
            message_with_severities(
                "X102.format", "E/E", "the root element is <{root}>: this is {format}, not XODE", "{hint}"
            ),
        ),
    ),
    Topic(
        "X103",
        "Version missing",
        "The specification demands a version. PyODE's own documents have none; 1.0r22 is assumed.",
        (
            message_with_severities(
                "X103", "E/W", "<xode> has no version", 'write version="1.0r22"', "never looks at the version"
            ),
        ),
    ),
    Topic(
        "X104",
        "Unknown version",
        "Versions look like 1.0r22. All of 1.0 is read alike.",
        (
            message_with_severities(
                "X104", "E/W", "version '{version}' is not of the form 1.0r22", 'write version="1.0r22"'
            ),
        ),
    ),
    Topic(
        "X105",
        "Document type declaration",
        "Entities are never expanded, because files that declare them can fill the memory or read other files.",
        (
            message_with_severities(
                "X105.entity",
                "E/E",
                "the document declares entities, which are refused for safety",
                "write the text itself",
            ),
            message_with_severities("X105.doctype", "E/W", "a document type declaration has no effect", "remove it"),
        ),
    ),
    Topic(
        "X106",
        "Namespace",
        "XODE elements are in no namespace. They are read as if they were.",
        (
            message_with_severities(
                "X106", "E/W", "<{element}> is in the namespace '{namespace}'", "remove the namespace"
            ),
        ),
    ),
    Topic(
        "X107",
        "Nothing to load",
        "A document without a world holds nothing.",
        (message_with_severities("X107", "W/W", "<xode> holds no <world>: there is nothing to load"),),
    ),
    Topic(
        "X201",
        "Element in the wrong place",
        "The element is XODE, but not here. It is skipped with all that is in it.",
        (
            message_with_severities(
                "X201", "E/E", "<{element}> does not belong in <{parent}>", "it may hold: {allowed}"
            ),
        ),
    ),
    Topic(
        "X202",
        "Unknown element",
        "The element is not XODE. It is skipped with all that is in it, and kept when the file is saved. Inside a "
        "joint, a mass or a transform it leaves the meaning open.",
        (
            message_with_severities(
                "X202", "E/W", "unknown element <{element}> in <{parent}>", "{suggestion}", "stops reading there"
            ),
            message_with_severities(
                "X202.inside", "E/E", "unknown element <{element}> in <{parent}>", "{suggestion}", "stops reading there"
            ),
            message_with_severities(
                "X202.prefixed", "E/W", "<{element}> in <{parent}> is not XODE; kept as an extension"
            ),
        ),
    ),
    Topic(
        "X203",
        "Required child missing",
        "The element cannot do without this child.",
        (
            message_with_severities("X203", "E/E", "<{parent}> has no <{element}>"),
            message_with_severities(
                "X203.shape", "E/E", "the {parent} has no shape; it is left out", "the shapes are {allowed}"
            ),
            message_with_severities(
                "X203.type", "E/E", "the joint has no type; it is left out", "the types are {allowed}"
            ),
            message_with_severities(
                "X203.rotation", "E/W", "<rotation> is empty", "it holds a quaternion, an axisangle or an euler"
            ),
            message_with_severities("X203.few", "E/E", "<{parent}> has {found} <{element}>; {needed} are needed"),
        ),
    ),
    Topic(
        "X204",
        "Repeated element",
        "Of an element that may stand only once, the first is used; of two masses of a body the last. A second "
        "shape or joint type is an error.",
        (
            message_with_severities("X204", "E/W", "a second <{element}>; the first one, on line {line}, is used"),
            message_with_severities(
                "X204.mass",
                "E/W",
                "a second <mass> of the body, after line {line}; the last one is used",
                "nest them to add them",
                "uses the last one too",
            ),
            message_with_severities(
                "X204.replaced",
                "E/W",
                "a second <{element}> in one <mass>; it replaces the first, on line {line}",
                "nest masses to add them",
            ),
            message_with_severities(
                "X204.again", "E/W", "a second <{element}> in one <mass>; it is applied after the first, on line {line}"
            ),
            message_with_severities(
                "X204.shape",
                "E/E",
                "a second shape, <{element}>; the first one, on line {line}, is used",
                "give it a <geom> of its own",
            ),
            message_with_severities(
                "X204.type", "E/E", "a second joint type, <{element}>; the first one, on line {line}, is used"
            ),
        ),
    ),
    Topic(
        "X205",
        "Order inside a mass",
        "Inside `mass` stand a struct or shape, then a transform, then an adjust, then nested masses: each acts on "
        "what stands before it. The order written is the order applied.",
        (
            message_with_severities(
                "X205",
                "E/W",
                "<{element}> stands after <{before}>",
                "the order is shape or struct, transform, adjust, mass",
            ),
        ),
    ),
    Topic(
        "X206",
        "Unknown attribute",
        "The attribute is not XODE. It has no effect, and is kept when the file is saved.",
        (
            message_with_severities("X206", "E/W", "unknown attribute '{name}' on <{element}>", "{suggestion}"),
            message_with_severities(
                "X206.prefixed", "-/-", "attribute '{name}' on <{element}> is not XODE, and has no effect"
            ),
        ),
    ),
    Topic(
        "X207",
        "Text between elements",
        "XODE has no text outside of `ext`. It has no effect, and is kept when the file is saved.",
        (message_with_severities("X207", "E/W", "text '{text}' in <{element}> has no effect"),),
    ),
    Topic(
        "X208",
        "Duplicate name",
        "Names are unique in the whole document. Links look only at bodies, so a geom may share a body's name.",
        (message_with_severities("X208", "E/W", "'{name}' is the name of {kind} on line {line} already"),),
    ),
    Topic(
        "X209",
        "Empty name",
        "An empty name counts as none.",
        (message_with_severities("X209", "E/W", "the name is empty"),),
    ),
    Topic(
        "X210",
        "Only some readers allow this",
        "The element has no effect there.",
        (message_with_severities("X210", "E/W", "<{element}> stands where only some readers allow it"),),
    ),
    Topic(
        "X301",
        "Attribute missing",
        "The element cannot do without this attribute.",
        (message_with_severities("X301", "E/E", "<{element}> has no {attribute_name}"),),
    ),
    Topic(
        "X302",
        "Not a number",
        "A number is decimal digits with an optional sign, point and exponent.",
        (message_with_severities("X302", "E/E", "{name} is '{value}', which is not a number"),),
    ),
    Topic(
        "X303",
        "Number is not finite",
        "Infinities only make sense as stops and as the force of a motor.",
        (
            message_with_severities("X303", "E/E", "{name} is '{value}', which is not a finite number"),
            message_with_severities("X303.overflow", "E/E", "{what} is beyond what numbers hold; {instead}"),
        ),
    ),
    Topic(
        "X304",
        "Not an integer",
        "A whole number belongs here; one written as 1.0 is understood.",
        (
            message_with_severities("X304", "E/E", "{name} is '{value}', which is not a whole number"),
            message_with_severities(
                "X304.float", "E/W", "{name} is '{value}'; a whole number belongs here", "write {whole}"
            ),
        ),
    ),
    Topic(
        "X305",
        "Not a boolean",
        "A boolean is `true` or `false`, in lower case.",
        (
            message_with_severities("X305", "E/E", "{name} is '{value}', which is neither true nor false"),
            message_with_severities(
                "X305.spelling", "E/W", "{name} is '{value}'", "write {word}", "takes only lower-case true and false"
            ),
        ),
    ),
    Topic(
        "X306",
        "Out of range",
        "Sizes, radii, lengths, scales, densities and masses are positive.",
        (message_with_severities("X306", "E/E", "{name} is {value}; it has to be greater than 0"),),
    ),
    Topic(
        "X307",
        "Not one of the choices",
        "The attribute has a few values only.",
        (
            message_with_severities("X307", "E/E", "{name} is '{value}'; the choices are {choices}"),
            message_with_severities("X307.gravity", "E/W", "gravitymode is '{value}'; read as {meant}", "write 0 or 1"),
        ),
    ),
    Topic(
        "X401",
        "Unknown body",
        "A link names a body of the document. A joint with a wrong link is left out.",
        (message_with_severities("X401", "E/E", "there is no body '{name}'", "{suggestion}", "stops reading there"),),
    ),
    Topic(
        "X402",
        "Link to something else",
        "A link names a body.",
        (message_with_severities("X402", "E/E", "'{name}' is {kind}, not a body"),),
    ),
    Topic(
        "X403",
        "Ambiguous link",
        "Two bodies share the name.",
        (message_with_severities("X403", "E/E", "'{name}' is the name of several bodies, on lines {lines}"),),
    ),
    Topic(
        "X404",
        "Link to itself",
        "A joint ties two different things.",
        (
            message_with_severities("X404.same", "E/E", "both sides of the joint are body '{name}'"),
            message_with_severities(
                "X404.environment", "E/E", "the joint links nothing: it names no body and stands in none"
            ),
        ),
    ),
    Topic(
        "X405",
        "Link across worlds",
        "Bodies of different worlds do not meet.",
        (
            message_with_severities("X405", "E/E", "'{first}' is in world {world1}, '{second}' in world {world2}"),
            message_with_severities("X405.joint", "E/E", "'{name}' is in world {world}, the joint in world {own}"),
        ),
    ),
)
