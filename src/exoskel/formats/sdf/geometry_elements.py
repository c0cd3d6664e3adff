"""Rows of the vocabulary of SDFormat that describe shapes, and helpers for rows.

Elements with both a value and attributes (`pose`, `xyz`) are declared opaque: the reader parses their text itself.
"""

from __future__ import annotations

from exoskel.formats.sdf.values import (
    BOOLEAN,
    COLOR,
    MASK,
    NAME,
    PAIR,
    REAL,
    REFERENCE,
    ROTATION_FORMAT,
    TEXT,
    URI,
    VECTOR,
)
from exoskel.scene.shape import Shape
from exoskel.source.vocabulary import (
    STRUCTURE,
    Attribute,
    Element,
    SceneField,
    leaf,
    unused,
)

GEOMETRIES = ("box", "sphere", "cylinder", "capsule", "ellipsoid", "cone", "plane", "mesh", "polyline")
"""The supported geometries; of several in one `geometry` the first of these is used."""

UNSUPPORTED_GEOMETRIES = ("empty", "heightmap", "image")
FieldReference = SceneField | str | None
_NOT_READ = unused("appearance or solver settings: not part of a scene")

_IGNORED = "SD012"


def ignored_elements(*names: str) -> list[Element]:
    """Known elements that are not part of a scene."""
    meaning = "Not part of a scene."
    return [
        Element(name, "*", meaning, attributes=_attributes(name), opaque=True, occurrence_code=_IGNORED)
        for name in names
    ]


def setting_elements(*names: str) -> list[Element]:
    """Appearance and solver settings, which are ignored without a diagnostic."""
    meaning = "Appearance or solver setting; not read."
    return [Element(name, "*", meaning, attributes=_attributes(name), opaque=True, field=_NOT_READ) for name in names]


_ATTRIBUTES = {
    **dict.fromkeys(("light", "sensor", "particle_emitter"), ("name", "type")),
    **dict.fromkeys(("actor", "battery", "gripper", "model_state", "population", "projector", "road"), ("name",)),
    "atmosphere": ("type",),
    "gui": ("fullscreen",),
    "plugin": ("filename", "name"),
    "shader": ("type",),
    "state": ("world_name",),
}
"""The attributes of elements that are not read."""


def _attributes(element: str) -> list[Attribute]:
    return [Attribute(name, TEXT, "Not read.", field=_NOT_READ) for name in _ATTRIBUTES.get(element, ())]


def name_attribute(of: str, field: str | None = "name") -> Attribute:
    return Attribute("name", NAME, f"Name of the {of}.", required=True, field=field)


def pose_element(meaning: str, field: FieldReference = "pose") -> Element:
    return Element(
        "pose",
        "?",
        meaning,
        attributes=(
            Attribute("relative_to", REFERENCE, "Frame that the pose is relative to; since 1.7."),
            Attribute("frame", REFERENCE, "Name of `relative_to` in 1.5 and 1.6.", in_schema=False),
            Attribute("degrees", BOOLEAN, "Whether angles are in degrees; since 1.9.", default="false"),
            Attribute(
                "rotation_format", ROTATION_FORMAT, "Representation of the rotation; since 1.9.", default="euler_rpy"
            ),
        ),
        default="0 0 0 0 0 0",
        unit="m, rad",
        opaque=True,
        field=field,
    )


def real_element(
    name: str, meaning: str, default: str = "", unit: str = "", card: str = "?", field: FieldReference = None
) -> Element:
    return leaf(name, REAL, meaning, card=card, default=default, unit=unit, field=field)


# --- geometry ---------------------------------------------------------------------------------------

_RADIUS = real_element("radius", "Radius.", unit="m", card="1")


def _round(name: str, meaning: str, length: str) -> Element:
    return Element(name, "?", meaning, _RADIUS, real_element("length", length, unit="m", card="1"))


_GEOMETRY = Element(
    "geometry",
    "?",
    "Geometry of the shape: one child.",
    Element("box", "?", "A box.", leaf("size", VECTOR, "Edge lengths along x, y, z.", card="1", unit="m")),
    Element("sphere", "?", "A sphere.", _RADIUS),
    _round("cylinder", "A cylinder along z, centred.", "Length along z."),
    _round("capsule", "A capsule along z, centred; since 1.8.", "Length of the cylindrical part."),
    Element(
        "ellipsoid",
        "?",
        "An ellipsoid; since 1.8.",
        leaf("radii", VECTOR, "Semi-axes along x, y, z.", card="1", unit="m"),
    ),
    _round("cone", "A cone along z, apex up, centred at half its height; since 1.11.", "Height."),
    Element(
        "plane",
        "?",
        "A plane through the origin of the shape; solid below it.",
        leaf("normal", VECTOR, "Outward normal.", default="0 0 1"),
        leaf(
            "size",
            PAIR,
            "Drawn size; as a collider the plane is infinite.",
            default="1 1",
            unit="m",
            field=unused("size of the drawn part of a plane"),
        ),
    ),
    Element(
        "mesh",
        "?",
        "A triangle mesh in a file.",
        leaf("uri", URI, "The file.", card="1"),
        leaf("scale", VECTOR, "Scale factors along the axes.", default="1 1 1"),
        Element("submesh", "?", "A part of the file.", opaque=True, occurrence_code="SD081.submesh"),
        *setting_elements("convex_decomposition"),
        attributes=(Attribute("optimization", TEXT, "Mesh simplification; no effect.", field=_NOT_READ),),
    ),
    Element(
        "polyline",
        "*",
        "A polygon in the xy plane, extruded along z; of several, those inside of others are holes.",
        leaf("point", PAIR, "Corner.", card="*", unit="m"),
        real_element("height", "Height, from z = 0.", unit="m", card="1"),
    ),
    *(
        Element(name, "*", "A geometry that a scene does not support.", opaque=True, field=_NOT_READ)
        for name in UNSUPPORTED_GEOMETRIES
    ),
    field=STRUCTURE,
    content="geometry",
    states=("geometry",),
)


def _soft(part: str) -> SceneField:
    return SceneField("soft", parts=(part,))


def _counts(*names: str) -> list[Element]:
    meaning = "Number of {} of the skin."
    cut = _soft("tessellation")
    return [real_element(f"num_{name}", meaning.format(name), card="1", field=cut) for name in names]


SOFT_GEOMETRIES = ("sphere", "box", "ellipsoid", "cylinder")
SOFT_ELEMENT = Element(
    "soft_shape",
    "?",
    "A deformable skin of point masses around the link. Only DART reads it; its files may have it.",
    real_element(
        "total_mass", "Mass of the skin, besides that of the link.", unit="kg", card="1", field=_soft("total_mass")
    ),
    pose_element("Pose of the skin in the link; used only for a box.", _soft("pose")),
    Element(
        "geometry",
        "1",
        "Shape of the skin: one child.",
        Element("sphere", "?", "A sphere.", _RADIUS, *_counts("slices", "stacks")),
        Element(
            "box",
            "?",
            "A box.",
            leaf("size", VECTOR, "Edge lengths along x, y, z.", card="1", unit="m"),
            leaf("frags", VECTOR, "Number of points along the edges.", default="3 3 3", field=_soft("tessellation")),
        ),
        Element(
            "ellipsoid",
            "?",
            "An ellipsoid.",
            leaf("size", VECTOR, "Diameters along x, y, z.", card="1", unit="m"),
            *_counts("slices", "stacks"),
        ),
        Element(
            "cylinder",
            "?",
            "A cylinder along z, centred.",
            _RADIUS,
            real_element("height", "Length along z.", unit="m", card="1"),
            *_counts("slices", "stacks", "rings"),
        ),
        field=_soft("geometry"),
    ),
    real_element(
        "kv", "Stiffness that pulls each point to its rest position.", "1", "N/m", field=_soft("vertex_stiffness")
    ),
    real_element("ke", "Stiffness of the edges between points.", "1", "N/m", field=_soft("edge_stiffness")),
    real_element("damp", "Damping of the points.", "0.01", "N·s/m", field=_soft("damping")),
    field="soft",
)

_SURFACE = Element(
    "surface",
    "?",
    "Surface properties.",
    Element(
        "contact",
        "?",
        "Contact properties.",
        leaf("collide_bitmask", MASK, "0: the shape does not collide.", default="0xffff", field="collidable"),
        *(
            Element(name, "?", "Contact softness.", opaque=True, occurrence_code="SD082")
            for name in ("ode", "bullet", "poissons_ratio", "elastic_modulus")
        ),
        *setting_elements("category_bitmask", "collide_without_contact", "collide_without_contact_bitmask"),
    ),
    Element(
        "friction",
        "?",
        "Friction.",
        Element(
            "ode",
            "?",
            "Coulomb friction.",
            real_element("mu", "Friction coefficient.", default="1", field="friction"),
            real_element(
                "mu2",
                "Friction coefficient in the second direction; a scene has one for both.",
                default="1",
                field=unused("a scene has one friction for both directions"),
            ),
            *setting_elements("fdir1", "slip1", "slip2"),
        ),
        *(
            Element(name, "?", "Another kind of friction.", opaque=True, occurrence_code="SD082")
            for name in ("torsional", "bullet")
        ),
    ),
    Element(
        "bounce",
        "?",
        "Restitution.",
        real_element(
            "restitution_coefficient", "Coefficient of restitution, 0 to 1.", default="0", field="restitution"
        ),
        *setting_elements("threshold"),
    ),
    Element("soft_contact", "?", "Surface property of a soft contact.", opaque=True, occurrence_code="SD082"),
)

COLLISION_ELEMENT = Element(
    "collision",
    "*",
    "A collision shape.",
    pose_element("Pose in the link."),
    _GEOMETRY,
    _SURFACE,
    real_element(
        "density",
        "Density for automatic mass properties; since 1.11.",
        default="1000",
        unit="kg/m³",
        field=SceneField("inertia", owner="body"),
    ),
    *setting_elements("laser_retro", "max_contacts", "auto_inertia_params"),
    attributes=(name_attribute("collision"),),
    item=Shape,
    states=("collisions",),
)

VISUAL_ELEMENT = Element(
    "visual",
    "*",
    "A visual shape.",
    pose_element("Pose in the link."),
    _GEOMETRY,
    Element(
        "material",
        "?",
        "Appearance.",
        leaf("diffuse", COLOR, "Colour.", field="color"),
        *setting_elements("ambient", "specular", "emissive", "script", "shader", "lighting"),
        Element("pbr", "*", "Roughness, metalness and texture; no other maps.", opaque=True, field=STRUCTURE),
        *setting_elements("render_order", "double_sided", "shininess"),
    ),
    real_element("transparency", "Transparency: 0 opaque, 1 invisible.", default="0", field="color"),
    *setting_elements("cast_shadows", "laser_retro", "meta", "visibility_flags"),
    *ignored_elements("plugin"),
    attributes=(name_attribute("visual"),),
    item=Shape,
    states=("visuals",),
)  # fmt: skip
