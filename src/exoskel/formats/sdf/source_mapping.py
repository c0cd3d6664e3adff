"""What the elements of SDFormat mean for the fates of a conversion."""

from __future__ import annotations

from exoskel.fates import Fate, Verdict, no_effect
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.formats.sdf.cameras_and_lights import LIGHT, OTHER_CAMERAS
from exoskel.formats.sdf.sensors import SENSOR
from exoskel.formats.sdf.shape_elements import TEXTURE_ELEMENT, WORKFLOWS
from exoskel.formats.sdf.unread_parts import find_other_physics, find_unread, may_carry
from exoskel.formats.sdf.values import is_zero
from exoskel.formats.sdf.vocabulary import CAMERAS, LIGHTS, MODEL_ELEMENT, SDF, SELF_COLLISION, SENSORS
from exoskel.scene.body import Body, Marker
from exoskel.scene.model import Model
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.vocabulary import FLATTENED, STRUCTURE, FieldRows, SceneField, SceneFieldTable, unused

_OUTSIDE_WORLDS: dict[str, SceneField | str] = dict.fromkeys(("model/**", "frame/**", "include/**"), FLATTENED)
_UNUSED_OF_MODELS = {
    f"model/{name}/**": rule.field
    for name, rule in MODEL_ELEMENT.children.items()
    if isinstance(rule.field, SceneField) and rule.field.unused
}
_NESTED_MODELS: dict[str, SceneField | str] = {
    "model/**": FLATTENED,
    "model/self_collide": SELF_COLLISION,
    **_UNUSED_OF_MODELS,
}
"""A model in a model is no item of the scene: its links and joints belong to the outer model."""
_NOT_IN_SCENES = unused("settings of sensors for other programs: not part of a scene")
_SENSOR_ROWS: dict[str, SceneField | str] = {
    **dict.fromkeys(("@type", "imu/**", "force_torque/**", "magnetometer/**", "contact/**"), SENSORS),
    **dict.fromkeys(("ray/**", "lidar/**"), SENSORS),
    **dict.fromkeys(("imu/topic", "contact/topic"), _NOT_IN_SCENES),
    **dict.fromkeys(("always_on", "visualize", "topic", "enable_metrics"), _NOT_IN_SCENES),
    "update_rate": unused("a scene has no update rates", affects_motion=True),
    "plugin/**": unused("plugins are not part of a scene", affects_motion=True),
    "": STRUCTURE,
    "@name": "name",
    "pose/**": "offset",
}
"""A sensor that is in the scene has a marker."""
_NO_LENSES = SceneField("cameras", unused="a camera of a scene has no such setting", affects_motion=True)
_NO_SUCH_LIGHTS = SceneField("lights", unused="a light of a scene has no such setting", affects_motion=True)
_CAMERA_ROWS: dict[str, SceneField | str] = {
    "sensor/**": CAMERAS,
    **{f"sensor/{path}": row for path, row in _SENSOR_ROWS.items() if isinstance(row, SceneField) and row.unused},
    "sensor/camera/**": _NO_LENSES,
    **dict.fromkeys(("sensor/camera", "sensor/camera/@name"), STRUCTURE),
    **dict.fromkeys(("sensor/camera/horizontal_fov", "sensor/camera/pose/**", "sensor/camera/image"), CAMERAS),
    **dict.fromkeys(("sensor/camera/image/width", "sensor/camera/image/height"), CAMERAS),
    **dict.fromkeys(("sensor/camera/lens", "sensor/camera/lens/intrinsics"), CAMERAS),
    "sensor/camera/lens/intrinsics/fy": CAMERAS,
    **dict.fromkeys(("sensor/camera/save/**", "sensor/camera/optical_frame_id"), _NOT_IN_SCENES),
}
_LIGHT_ROWS: dict[str, SceneField | str] = {
    "light/**": LIGHTS,
    **dict.fromkeys(("light/attenuation/range", "light/spot/inner_angle", "light/spot/falloff"), _NO_SUCH_LIGHTS),
    "light/visualize": _NOT_IN_SCENES,
}
_MATERIAL_ROWS: dict[str, SceneField | str] = {
    **dict.fromkeys(("material/pbr", "material/pbr/metal"), STRUCTURE),
    "material/pbr/specular": STRUCTURE,
    "material/pbr/**": SceneField(
        "color", unused="a scene has no textures but those of colours, and no specular materials", affects_motion=True
    ),
    **{f"material/pbr/metal/{name}": SceneField("material", (name,)) for name in ("roughness", "metalness")},
    **{f"material/pbr/{flow}/{TEXTURE_ELEMENT}": SceneField("material", ("texture",)) for flow in WORKFLOWS},
}
_WORLD_CAMERAS: dict[str, SceneField | str] = {"model/**": CAMERAS}
"""A model of a world that is no item of the scene has the cameras of the world."""
_NO_CAMERA_TYPE = Verdict(Fate.DROPPED, "a camera of a scene has a perspective view of colours")


def _scene_fields() -> SceneFieldTable:
    rows = SDF.scene_fields()
    outside, nested = {**rows[None], **_OUTSIDE_WORLDS}, {**rows[Model], **_NESTED_MODELS}
    bodies, worlds = {**rows[Body], **_CAMERA_ROWS, **_LIGHT_ROWS}, {**rows[World], **_LIGHT_ROWS, **_WORLD_CAMERAS}
    items: FieldRows = {Model: nested, Marker: _SENSOR_ROWS, Body: bodies, World: worlds}
    return SceneFieldTable({**rows, **items, None: outside, Shape: {**rows[Shape], **_MATERIAL_ROWS}})


_REFERENCES = ("relative_to", "expressed_in", "attached_to", "placement_frame", "frame")
_AXES = {"fixed": 0, "ball": 0, "revolute": 1, "prismatic": 1, "continuous": 1, "screw": 1}


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find what has no effect because of what the document states elsewhere."""
    outline = document.outline
    found: dict[NodeKey, Verdict] = {}
    referenced = _referenced_frames(document)
    found |= dict.fromkeys(((node, "") for node in find_other_physics(document)), _OTHER_PHYSICS)
    for node, tag in enumerate(outline.tags):
        parent = outline.parents[node]
        above = outline.tags[parent] if parent >= 0 else ""
        if tag == "frame" and above != "force_torque" and document.attribute_text(node, "name") not in referenced:
            found[node, ""] = Verdict(Fate.DROPPED, "nothing refers to it")
        elif tag in ("axis", "axis2") and above == "joint":
            kind = document.attribute_text(parent, "type")
            if _AXES.get(kind, 2) < (1 if tag == "axis" else 2):
                found[node, ""] = no_effect(f"a {kind} joint has no <{tag}>")
        elif tag == SENSOR and document.attribute_text(node, "type").strip() in OTHER_CAMERAS:
            found[node, "type"] = _NO_CAMERA_TYPE
        elif tag in _STATED and above == "inertial" and _is_automatic(document, outline.parents[parent]):
            found[node, ""] = no_effect("mass properties are computed from the collision shapes")
        elif tag == "density" and not _is_automatic(
            document, parent if above == "collision" else outline.parents[parent]
        ):
            found[node, ""] = no_effect("mass properties are stated, not computed")
        elif tag.startswith("gearbox_") and document.attribute_text(parent, "type").strip() != "gearbox":
            found[node, ""] = no_effect("only a gearbox has this element")
        elif (tag in _UNSUPPORTED_MOTION or above in _UNSUPPORTED_MOTION) and _is_off(document, node):
            found[node, ""] = no_effect("zero and false are the defaults")
        elif tag in ("screw_thread_pitch", "thread_pitch") and document.attribute_text(parent, "type") != "screw":
            found[node, ""] = no_effect("only a screw has a pitch")
    return found


_OTHER_PHYSICS = Verdict(Fate.DROPPED, "the world uses other physics settings: the default ones, or else the first")


_UNSUPPORTED_MOTION = ("wind", "velocity_decay", "enable_wind", "kinematic")


def _is_off(document: Document, node: int) -> bool:
    """Whether all values of an element are zero or false."""
    outline = document.outline
    leaves = [one for one in range(node, outline.ends[node]) if one + 1 == outline.ends[one]]
    return all(is_zero(value) or value.strip() == "false" for value in map(document.value_text, leaves))


_STATED = ("inertia", "pose")


def _is_automatic(document: Document, below: int) -> bool:
    """Whether the mass properties of an element's link are computed from its collision shapes."""
    outline = document.outline
    link = next((node for node in reversed(outline.ancestry(below)) if outline.tags[node] == "link"), -1)
    inside = range(link + 1, outline.ends[link]) if link >= 0 else ()
    inertial = [n for n in inside if outline.parents[n] == link and outline.tags[n] == "inertial"]
    return any(document.attribute_text(n, "auto").strip() in ("true", "1") for n in inertial)


def _referenced_frames(document: Document) -> set[str]:
    """The names of all frames that are referenced, with and without their scopes."""
    referenced: set[str] = set()
    for node, tag in enumerate(document.outline.tags):
        given = document.scan.attributes(node)
        referenced |= {document.attribute_text(node, name) for name in _REFERENCES if name in given}
        if tag in ("parent", "child", "placement_frame"):
            referenced.add(document.value_text(node).strip())
    return referenced | {name.rpartition("::")[2] for name in referenced}


_SETTINGS = {
    "world": ("wind", "audio", "atmosphere", "gui", "scene", "magnetic_field", "spherical_coordinates", LIGHT),
    "link": (LIGHT,),
    "model": ("allow_auto_disable", "enable_wind"),
    "collision": ("laser_retro", "max_contacts"),
    "visual": ("cast_shadows", "laser_retro", "meta", "visibility_flags"),
    "material": (
        *("ambient", "specular", "emissive", "shininess", "pbr", "script", "shader"),
        *("lighting", "render_order", "double_sided"),
    ),
}
"""Settings of rendering and of other programs, by the elements around them."""


_FIELDS = _scene_fields()
SOURCE_MAPPING = SourceMapping(
    _FIELDS,
    DiagnosticEffects(
        preserved=("SD012",),
        ignored=(
            "SD004",
            "SD010",
            "SD011",
            "SD012",
            "SD013",
            "SD014",
            "SD061",
            "SD064.both",
            "SD070.added",
            "SD080",
            "SD081.submesh",
            "SD082",
            "SD085",
        ),
        used=(
            "SD012.sensor",
            "SD012.camera",
            "SD030",
            "SD050",
            "SD070",
            "SD081.missing",
            "SD081.unreadable",
            "SD080.several",
        ),
        lossless=("SD005", "SD006", "SD015", "SD030", "SD031", "SD060", "SD070.moment", "SD081"),
    ),
    find_unused,
    transparent=frozenset({"model"}),  # a model in a model of a model is read like one in a model
    settings={around: frozenset(names) for around, names in _SETTINGS.items()},
    find_unread=lambda document: find_unread(document, _FIELDS),
    may_carry=may_carry,
)
