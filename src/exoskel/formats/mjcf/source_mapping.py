"""What MJCF elements and diagnostics mean for a conversion.

There is no vocabulary of MJCF, so the table of scene fields stands alone.  MuJoCo compiles the document: defaults,
assets, the keyframe and actuators set fields of all items that may use them.
"""

from __future__ import annotations

from typing import get_args

from msgspec import structs

from exoskel.fates import Fate, Verdict, no_effect
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.formats.mjcf.dependent_elements import find_dependents
from exoskel.formats.mjcf.flags import CONSTRAINTS, MEANINGS
from exoskel.formats.mjcf.reader.preprocessor import IGNORED_ATTRIBUTES
from exoskel.formats.mjcf.reader.textures import image_reference, is_color_layer, texture_name
from exoskel.scene.body import Body, Marker
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.sensor import SensorKind
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.vocabulary import FLATTENED, STRUCTURE, SceneField, SceneFieldTable, dof_field, unused

_LABEL = unused("a label that nothing refers to")
_SHOWN = unused("appearance: not part of a scene")
_ENGINE = unused("solver settings: not part of a scene")
_ROTATION_ATTRIBUTES = ("quat", "euler", "axisangle", "xyaxes", "zaxis")


def _ignored_attributes(tag: str) -> dict[str, SceneField | str]:
    """Attributes without a counterpart in the scene."""
    return {
        f"@{name}": unused("not part of a scene", affects_motion=physical)
        for name, physical in IGNORED_ATTRIBUTES[tag].items()
    }


_JOINT: dict[str, SceneField | str] = {
    "@name": "name",
    "@type": "kind",
    "@pos": "pose",
    "@axis": "axes",
    "@damping": dof_field("damping"),
    "@stiffness": dof_field("stiffness"),
    "@frictionloss": dof_field("friction"),
    "@springref": dof_field("rest"),
    "@range": dof_field("position_limits"),
    "@limited": dof_field("position_limits"),
    "@actuatorfrcrange": dof_field("force_limits"),
    "@actuatorfrclimited": dof_field("force_limits"),
    "@ref": dof_field("position", "rest", "position_limits"),
    "@armature": dof_field("armature"),
    "@springyield": unused("not part of a scene", affects_motion=True),
    "@class": STRUCTURE,
    **_ignored_attributes("joint"),
}
_GEOM: dict[str, SceneField | str] = {
    "@name": "name",
    **dict.fromkeys(("@type", "@size", "@fromto", "@mesh", "@hfield", "@fitscale"), "geometry"),
    **dict.fromkeys(("@pos", *(f"@{name}" for name in _ROTATION_ATTRIBUTES)), "pose"),
    "@rgba": "color",
    "@material": "color",
    "@friction": "friction",
    "@condim": _ENGINE,
    "@contype": "collidable",
    "@conaffinity": "collidable",
    "@mass": SceneField("inertia", owner="body"),
    "@density": SceneField("inertia", owner="body"),
    "@shellinertia": SceneField("inertia", owner="body"),
    "@group": _SHOWN,
    "@castshadow": _SHOWN,
    "@class": STRUCTURE,
    "@user": _LABEL,
    **_ignored_attributes("geom"),
}


def _shared(rows: dict[str, SceneField | str], owner: str, above: str) -> dict[str, SceneField | str]:
    """Rows of a default class, which set the fields of all items of a kind."""
    made: dict[str, SceneField | str] = {}
    for path, row in rows.items():
        field = row if isinstance(row, SceneField) else SceneField(row)
        others = "bodies" if field.owner == "body" else owner
        made[f"{above}/{path}"] = field if not field.name else structs.replace(field, owner=others)
    return made


_FRAME: dict[str, SceneField | str] = {
    f"{tag}/**": FLATTENED for tag in ("frame", "replicate", "composite", "include", "attach")
}

_ACTUATORS = ("motor", "position", "velocity", "general", "damper", "intvelocity", "cylinder")


_ACTUATOR_ATTRIBUTES = {
    "damping": SceneField(elsewhere="in the damping of the joint"),
    "armature": SceneField(elsewhere="in the armature of the joint"),
    "group": unused("groups of actuators: not part of a scene"),
    "lengthrange": unused("only muscles use it"),
    "user": _LABEL,
}
"""The attributes of actuators that are not in the actuators of a scene."""


def _actuators(owner: str) -> dict[str, SceneField]:
    """Actuators of joints, or defaults for them."""
    made: dict[str, SceneField] = {}
    for tag in _ACTUATORS:
        made |= {f"{tag}/@{name}": row for name, row in _ACTUATOR_ATTRIBUTES.items()}
        made[f"{tag}/**"] = SceneField("actuators", owner=owner)
    return made


_TENDONS: dict[str, SceneField] = {
    **{
        f"{tag}/@{name}": _SHOWN if name in ("width", "rgba", "material", "group") else _LABEL
        for tag in ("fixed", "spatial")
        for name in ("width", "rgba", "material", "group", "user")
    },
    **{
        f"{tag}/@{name}": _ENGINE
        for tag in ("fixed", "spatial")
        for name in ("solreflimit", "solimplimit", "solreffriction", "solimpfriction", "margin")
    },
    **{f"{tag}/**": SceneField("tendons", owner="world") for tag in ("fixed", "spatial")},
}
_TEXTURE = SceneField("material", ("texture",), owner="shapes")
_ASSETS: dict[str, SceneField | str] = {
    "mesh/**": SceneField("geometry", owner="shapes"),
    "mesh/@name": STRUCTURE,
    "texture/**": _SHOWN,
    "texture": _TEXTURE,
    "texture/@file": _TEXTURE,
    "texture/@name": STRUCTURE,
    "material": STRUCTURE,
    "material/@name": STRUCTURE,
    "material/@rgba": SceneField("color", owner="shapes"),
    "material/@metallic": SceneField("material", ("metalness",), owner="shapes"),
    "material/@roughness": SceneField("material", ("roughness",), owner="shapes"),
    "material/@texture": _TEXTURE,
    "material/@texrepeat": _TEXTURE,
    "material/layer": _TEXTURE,
    "material/layer/@texture": _TEXTURE,
    "material/layer/@role": STRUCTURE,
    "material/**": _SHOWN,
}
_VIEWS: dict[str, SceneField | str] = {
    "camera/**": SceneField("cameras", owner="world"),
    **{f"camera/@{name}": _SHOWN for name in ("ipd", "user", "output", "principal", "principalpixel")},
    **{
        f"camera/@{name}": SceneField(elsewhere="in the angle of view")
        for name in ("sensorsize", "focal", "focalpixel")
    },
    "light/**": SceneField("lights", owner="world"),
    **{f"light/@{name}": _SHOWN for name in ("texture", "bulbradius", "intensity", "range", "softness")},
}
"""Cameras and lights, in the world, in a body or in defaults."""
ROWS: dict[type[Item] | None, dict[str, SceneField | str]] = {
    None: {"": STRUCTURE},
    World: {
        "": STRUCTURE,
        "@model": "name",
        "compiler/**": FLATTENED,
        "option": STRUCTURE,
        "option/@gravity": "gravity",
        "option/@timestep": "time_step",
        "option/flag": STRUCTURE,
        **{
            f"option/flag/@{name}": SceneField(elsewhere="in the fields that it enables or disables")
            for name in (*MEANINGS, "filterparent")
        },
        "option/**": _ENGINE,
        **{f"option/{path}": row for path, row in _ignored_attributes("option").items()},
        "size/**": unused("memory settings of the engine"),
        "custom": STRUCTURE,
        "custom/**": SceneField(elsewhere="in the names of models, bodies and joints, and in soft skins"),
        "visual/**": _SHOWN,
        **{f"worldbody/{path}": row for path, row in _VIEWS.items()},
        "statistic/**": _SHOWN,
        "worldbody": STRUCTURE,
        "worldbody/geom/**": FLATTENED,
        "asset": STRUCTURE,
        **{f"asset/{path}": row for path, row in _ASSETS.items()},
        "asset/hfield/**": SceneField("geometry", owner="shapes"),
        "contact": STRUCTURE,
        "contact/exclude/**": SceneField("collision_exempt_groups", owner="world"),
        "equality": STRUCTURE,
        "equality/joint/**": SceneField("mimic", owner="joints"),
        **{f"equality/joint/@{name}": SceneField("solver", owner="joints") for name in ("solref", "solimp")},
        "equality/**": FLATTENED,
        "tendon": STRUCTURE,
        **{f"tendon/{path}": row for path, row in _TENDONS.items()},
        "tendon/**": unused("a scene has no such tendons", affects_motion=True),
        "sensor": STRUCTURE,
        **{f"sensor/{kind}/**": SceneField("sensors", owner="world") for kind in get_args(SensorKind)},
        "sensor/**": unused("a scene has no such sensors"),
        "actuator": STRUCTURE,
        **{f"actuator/{path}": row for path, row in _actuators("actuator").items()},
        "actuator/**": unused("a scene has no such actuators", affects_motion=True),
        "keyframe": STRUCTURE,
        "keyframe/key": SceneField(later="keyframes"),
        "keyframe/key/@name": "keyframes",
        "keyframe/key/@time": "keyframes",
        "keyframe/key/@qpos": SceneField("dofs", ("position",), "joints", later="keyframes"),
        "keyframe/key/@qvel": SceneField("dofs", ("velocity",), "joints", later="keyframes"),
        "keyframe/key/@ctrl": SceneField("actuators", ("@controls",), later="keyframes"),
        "keyframe/key/@act": SceneField("actuators", ("@activations",), later="keyframes"),
        "keyframe/key/**": unused("a scene has no such state", affects_motion=True),
        "default": STRUCTURE,
        "default/**": unused("defaults of unsupported elements"),
        **_FRAME,
        **{f"worldbody/{path}": row for path, row in _FRAME.items()},
    },
    Body: {
        "": STRUCTURE,
        "@name": "name",
        **dict.fromkeys(("@pos", *(f"@{name}" for name in _ROTATION_ATTRIBUTES)), "pose"),
        "@gravcomp": "gravity",
        "@childclass": STRUCTURE,
        "@user": _LABEL,
        **dict.fromkeys(("@sleep", "@simple"), _ENGINE),
        "@fuse": SceneField(elsewhere="in the bodies that it combines"),
        "@mocap": unused("a mocap body is static in a scene", affects_motion=True),
        "inertial/**": "inertia",
        "inertial/@mass": SceneField("inertia", parts=("mass",)),
        "inertial/@pos": SceneField("inertia", parts=("com",)),
        "geom": STRUCTURE,
        **{
            f"geom/{path}": row if isinstance(row, SceneField) and row.unused else FLATTENED
            for path, row in _GEOM.items()
        },
        **_VIEWS,
        **_FRAME,
    },
    Shape: {"": STRUCTURE, **_GEOM},
    Marker: {
        "": STRUCTURE,
        "@name": "name",
        "@pos": "offset",
        "@fromto": "offset",
        **{f"@{name}": "quaternion" for name in _ROTATION_ATTRIBUTES},
        "@type": "kind",
        "@mesh": unused("a scene has no sites with meshes: it becomes a box", affects_motion=False),
        "@size": "size",
        "@rgba": "color",
        "@class": STRUCTURE,
        "@group": _SHOWN,
        "@material": _SHOWN,
        "@user": _LABEL,
    },
    Joint: {
        "": STRUCTURE,
        **_JOINT,
        "@body1": "child",
        "@body2": "parent",
        "@anchor": "pose",
        **dict.fromkeys(("@solref", "@solimp", "@torquescale"), "solver"),
        "@relpose": "pose",
        "@active": STRUCTURE,
        **dict.fromkeys(("@site", "@refsite", "@gear", "@biasprm", "@forcerange", "@forcelimited"), "drives"),
        **dict.fromkeys(("@gainprm", "@biastype"), STRUCTURE),
    },
}
for _depth in range(4):  # classes within classes
    _above = "/".join(["default"] * (_depth + 1))
    ROWS[World] |= {_above: STRUCTURE, f"{_above}/@class": STRUCTURE}
    ROWS[World] |= _shared(_JOINT, "joints", f"{_above}/joint") | _shared(_GEOM, "shapes", f"{_above}/geom")
    ROWS[World] |= {f"{_above}/joint": STRUCTURE, f"{_above}/geom": STRUCTURE}
    ROWS[World] |= {f"{_above}/{path}": row for path, row in _actuators("world").items()}
    ROWS[World] |= {f"{_above}/tendon/**": SceneField("tendons", owner="world")}
    ROWS[World] |= {f"{_above}/equality/**": SceneField("solver", owner="joints")}
    ROWS[World] |= {f"{_above}/{path}": row for path, row in _ASSETS.items()}
    ROWS[World] |= {f"{_above}/{path}": row for path, row in _VIEWS.items()}
    ROWS[World] |= {f"{_above}/site/**": SceneField(elsewhere="in the sites that use it")}


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find what has no effect because of what the document states elsewhere."""
    outline = document.outline
    found: dict[NodeKey, Verdict] = {}
    given = {name for node in range(len(outline.tags)) for name in _classes_of(document, node)}
    colours = _used_colours(document)
    off = _disabled_flags(document)
    for node, tag in enumerate(outline.tags):
        for flag in off & _DISABLED_BY_FLAG.get(tag, {}).keys():
            found |= {
                (node, name): no_effect(f"disabled by the flag '{flag}'") for name in _DISABLED_BY_FLAG[tag][flag]
            }
        if tag == "geom" and document.attribute_text(node, "type") == "plane":
            found[node, "size"] = no_effect("size of the drawn part of a plane")
        elif tag == "material" and document.attribute_text(node, "name") not in colours:
            found[node, "rgba"] = no_effect("no geom uses its colour")
        elif tag == "default" and outline.tags[outline.parents[node]] == "default":
            name = document.attribute_text(node, "class")
            if name not in given:
                found[node, ""] = no_effect("no element uses this class")
    return found | _unread_textures(document) | _unused_dynamics(document)


_WITH_ACTIVATION = frozenset({"intvelocity", "cylinder", "muscle", "dcmotor"})


def _unused_dynamics(document: Document) -> dict[NodeKey, Verdict]:
    """The parameters of activations in documents whose actuators have no activations."""
    outline, scan = document.outline, document.scan
    nodes = [node for node, tag in enumerate(outline.tags) if tag in _ACTUATORS]
    stated = {(node, name) for node in nodes for name in scan.attributes(node)}
    own = {key for key in stated if key[1] in ("dynprm", "actearly", "actrange", "actlimited")}
    if not own or not _WITH_ACTIVATION.isdisjoint(outline.tags):
        return {}
    if any(
        name == "timeconst" or (name == "dyntype" and document.attribute_text(node, name) != "none")
        for node, name in stated
    ):
        return {}
    return dict.fromkeys(own, no_effect("no actuator has an activation"))


def _unread_textures(document: Document) -> dict[NodeKey, Verdict]:
    """The textures that are no images on shapes, and what materials state of them."""
    tags, parents, found = document.outline.tags, document.outline.parents, dict[NodeKey, Verdict]()
    nodes = [node for node, tag in enumerate(tags) if tag in ("texture", "material", "layer")]
    given = {
        node: {name: document.attribute_text(node, name) for name in document.scan.attributes(node)} for node in nodes
    }
    images = {texture_name(given[node]) for node in nodes if tags[node] == "texture" and image_reference(given[node])}
    painted = {document.attribute_text(node, "material") for node, tag in enumerate(tags) if tag == "geom"}
    layered = {parents[node] for node in nodes if tags[node] == "layer"}
    used: set[str] = set()
    for node in nodes:
        own = given[node]
        is_layer = tags[node] == "layer"
        material = given.get(parents[node], {}) if is_layer else own
        is_read = own.get("texture", "") in images and material.get("name", "") in painted
        if tags[node] == "texture":
            continue
        if is_read and (is_color_layer(own) if is_layer else node not in layered):
            used.add(own["texture"])
        elif is_layer:
            found[node, ""] = _NOT_READ
        else:
            names = ("texture",) if node in layered else ("texture", "texrepeat")
            found |= {(node, name): _NOT_READ for name in names if name in own}
        if own.get("texuniform") == "true" and "texrepeat" in own:
            found[node, "texrepeat"] = _PER_LENGTH
    unused = [node for node in nodes if tags[node] == "texture" and texture_name(given[node]) not in used]
    return found | {(node, ""): _NOT_READ for node in unused}


_NOT_READ = Verdict(Fate.DROPPED, "appearance: not part of a scene", harmless=True)
_PER_LENGTH = Verdict(Fate.DROPPED, "a texture of a scene does not repeat by length")


_DISABLED_BY_FLAG: dict[str, dict[str, tuple[str, ...]]] = {
    "joint": {
        "limit": ("range", "limited"),
        "damper": ("damping",),
        "spring": ("stiffness", "springref"),
        "frictionloss": ("frictionloss",),
    },
    "geom": {"contact": ("contype", "conaffinity", "condim", "friction")},
    "contact": {"contact": ("",)},
    "actuator": {"actuation": ("",)},
    "equality": {"equality": ("",)},
}
"""What each flag disables: attributes of elements, or whole elements (empty name)."""


def _disabled_flags(document: Document) -> set[str]:
    found: set[str] = set()
    for node in (node for node, tag in enumerate(document.outline.tags) if tag == "flag"):
        for name in document.scan.attributes(node):
            if document.attribute_text(node, name) == "disable":
                found |= {name, *(CONSTRAINTS if name == "constraint" else ())}
    return found


def _used_colours(document: Document) -> set[str]:
    """The materials of geoms without their own colour."""
    tags = document.outline.tags
    geoms = [node for node, tag in enumerate(tags) if tag == "geom"]
    parents = document.outline.parents
    if any(tags[parents[node]] == "default" and "rgba" in document.scan.attributes(node) for node in geoms):
        return set()
    return {document.attribute_text(n, "material") for n in geoms if "rgba" not in document.scan.attributes(n)}


def _classes_of(document: Document, node: int) -> list[str]:
    """The default classes that an element refers to."""
    if document.outline.tags[node] == "default":
        return []
    return [text for name in ("class", "childclass") if (text := document.attribute_text(node, name))]


SOURCE_MAPPING = SourceMapping(
    SceneFieldTable(ROWS),
    DiagnosticEffects(
        ignored=(
            *("MJ103", "MJ201", "MJ202", "MJ203", "MJ307", "MJ311", "MJ311.mocap"),
            *("MJ402", "MJ403", "MJ404", "MJ108.filterparent", "MJ106.missing"),
        ),
        used=("MJ105", "MJ107", "MJ109", "MJ307.hfield", "MJ311.few"),
        lossless=("MJ106.warning",),
        attributes={
            "MJ308": ("contype", "conaffinity"),
            "MJ309": ("condim", "friction"),
        },
        all_similar=("MJ308", "MJ309"),
    ),
    find_unused,
    joint_elements=frozenset({"joint", "freejoint"}),
    includes=frozenset({"include"}),
    find_dependents=find_dependents,
)
