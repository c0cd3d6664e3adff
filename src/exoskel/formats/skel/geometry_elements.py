"""The geometry elements of the SKEL vocabulary: of rigid shapes and of soft bodies."""

from __future__ import annotations

from exoskel.formats.skel.values import COLOR, COUNT, FILE_NAME, FRAGMENTS, REAL, VECTOR
from exoskel.source.vocabulary import STRUCTURE, Element, ValueType, leaf

GEOMETRIES = (
    "sphere",
    "box",
    "ellipsoid",
    "cylinder",
    "capsule",
    "cone",
    "pyramid",
    "plane",
    "multi_sphere",
    "mesh",
)
"""In DART's order of priority: of several geometries in one shape, DART uses the first of these."""

SOFT_GEOMETRIES = ("sphere", "box", "ellipsoid", "cylinder")


def _size(meaning: str) -> Element:
    return leaf("size", VECTOR, meaning, card="1", unit="m")


def _radius(meaning: str = "Radius.") -> Element:
    return leaf("radius", REAL, meaning, card="1", unit="m")


def _height(meaning: str) -> Element:
    return leaf("height", REAL, meaning, card="1", unit="m")


def _documented(name: str, kind: ValueType, meaning: str, default: str) -> Element:
    """A dimension with a default in DART's old wiki, which DART never implemented."""
    return leaf(
        name,
        kind,
        meaning,
        card="1",
        unit="m",
        default=default,
        missing=f"SK020.{name}",
        refused="SK020",
        reader_note="DART 6 throws an exception if it is missing.",
    )


def _documented_size(meaning: str) -> Element:
    return _documented("size", VECTOR, meaning, "1 1 1")


def _length() -> Element:
    return Element(
        "length",
        "?",
        "Obsolete name of `height` from DART's old wiki; read if there is no `height`.",
        kind=REAL,
        unit="m",
        occurrence_code="SK069",
        alias_of="height",
        reader_note="DART 6 ignores `length` and throws an exception because `height` is missing.",
    )


def _unused_tessellation(*names: str) -> list[Element]:
    meaning = "Tessellation; used only in a `soft_shape`."
    kinds = {"frags": FRAGMENTS}
    return [leaf(n, kinds.get(n, COUNT), meaning, occurrence_code="SK013.tessellation") for n in names]


_ROUND_CUT = ("num_slices", "num_stacks")

SHAPE_GEOMETRY = Element(
    "geometry",
    "1",
    "Geometry of the shape: exactly one child.",
    Element("sphere", "?", "A sphere.", _radius(), *_unused_tessellation(*_ROUND_CUT)),
    Element("box", "?", "A box.", _documented_size("Edge lengths along x, y, z."), *_unused_tessellation("frags")),
    Element(
        "ellipsoid",
        "?",
        "An ellipsoid.",
        _documented_size("Full diameters along x, y, z."),
        *_unused_tessellation(*_ROUND_CUT),
    ),
    Element(
        "cylinder",
        "?",
        "A cylinder along z, centred at the origin.",
        _documented("radius", REAL, "Radius.", "0.5"),
        _documented("height", REAL, "Length along z.", "1"),
        _length(),
        *_unused_tessellation(*_ROUND_CUT, "num_rings"),
    ),
    Element(
        "capsule",
        "?",
        "A capsule along z, centred at the origin.",
        _radius(),
        _height("Length of the cylindrical part, without the two caps."),
        _length(),
        reader_note="DART 6 replaces a collision capsule with a small sphere "
        "unless the detector is dart, bullet or ode.",
    ),
    Element("cone", "?", "A cone along z: base at -height/2, apex at +height/2.", _radius(), _height("Height.")),
    Element(
        "pyramid",
        "?",
        "A pyramid along z: rectangular base at -height/2, apex at +height/2.",
        leaf("base_width", REAL, "Extent of the base along x.", card="1", unit="m"),
        leaf("base_depth", REAL, "Extent of the base along y.", card="1", unit="m"),
        _height("Height."),
    ),
    Element(
        "plane",
        "?",
        "A half-space, solid where normal · x < offset.",
        leaf("normal", VECTOR, "Outward normal; normalised on reading.", card="1"),
        leaf("offset", REAL, "Distance of the plane from the origin, along the normal.", unit="m", default="0"),
        leaf(
            "point",
            VECTOR,
            "A point on the plane, instead of `offset`; deprecated.",
            unit="m",
            occurrence_code="SK065.point",
        ),
    ),
    Element(
        "multi_sphere",
        "?",
        "The convex hull of several spheres.",
        Element(
            "sphere",
            "+",
            "One of the spheres.",
            _radius(),
            leaf("position", VECTOR, "Centre of the sphere.", card="1", unit="m"),
        ),
    ),
    Element(
        "mesh",
        "?",
        "A triangle mesh from a file.",
        leaf("file_name", FILE_NAME, "Path of the file, relative to this document, or a URI.", card="1"),
        leaf(
            "scale",
            VECTOR,
            "Scale factors of the vertex coordinates; a negative factor mirrors.",
            card="1",
            default="1 1 1",
            missing="SK020.scale",
            reader_note="DART 6 throws an exception if it is missing.",
        ),
    ),
    leaf(
        "color",
        COLOR,
        "Misplaced: belongs next to `geometry`; used if the shape has no colour.",
        occurrence_code="SK013.geometry_color",
        reader_note="DART 6 ignores a colour inside `geometry`.",
        field="color",
    ),
    one_of=GEOMETRIES,
    missing="SK060.none",
    unknown_child_code="SK060.unknown",
    field=STRUCTURE,
    content="geometry",
    states=("geometry",),
)

_SOFT_CUT = (
    leaf("num_slices", COUNT, "Number of slices around the axis.", card="1"),
    leaf("num_stacks", COUNT, "Number of stacks along the axis.", card="1"),
)

SOFT_GEOMETRY = Element(
    "geometry",
    "1",
    "Geometry of the skin: exactly one child.",
    Element("sphere", "?", "A sphere.", _radius(), *_SOFT_CUT),
    Element(
        "box",
        "?",
        "A box.",
        _size("Edge lengths along x, y, z."),
        leaf(
            "frags",
            FRAGMENTS,
            "Number of vertices along each edge, including both ends; at least 3.  DART requires it.",
            default="3 3 3",
            reader_note="DART 6 throws an exception if it is missing.",
        ),
    ),
    Element("ellipsoid", "?", "An ellipsoid.", _size("Full diameters along x, y, z."), *_SOFT_CUT),
    Element(
        "cylinder",
        "?",
        "A cylinder along z.",
        _radius(),
        _height("Length along z."),
        _length(),
        *_SOFT_CUT,
        leaf("num_rings", COUNT, "Number of rings on each end face.", card="1"),
    ),
    one_of=SOFT_GEOMETRIES,
    missing="SK060.none",
    unknown_child_code="SK060.soft",
    states=("geometry",),
)
