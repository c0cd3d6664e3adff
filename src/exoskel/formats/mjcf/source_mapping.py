"""What each element of MJCF feeds in the scene.

MuJoCo compiles the document, so that much is said in one place and used in many: defaults, assets, the keyframe and
actuators feed all items that may use them.
"""

from __future__ import annotations

from exoskel.fates import Fate, Verdict, idle
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.formats.mjcf.reading.option_flags import CONSTRAINTS, MEANINGS
from exoskel.formats.mjcf.reading.unsupported import UNREAD
from exoskel.scene.body import Body, Marker
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.scene_fields import STRUCTURE, Feed, Feeds

_LABEL = Feed(idle="a label that nothing refers to")
_SHOWN = Feed(idle="how it is shown: no part of a scene")
_ENGINE = Feed(idle="how an engine solves it: no part of a scene")
_FLAT = "flattened"
"""No field: what is inside, or what refers to it, has it."""
_TURNS = ("quat", "euler", "axisangle", "xyaxes", "zaxis")


def _dofs(*parts: str, of: str = "") -> Feed:
    return Feed("dofs", parts=parts, of=of)


def _unread(tag: str) -> dict[str, str | Feed]:
    """Attributes that a scene has no place for."""
    return {
        f"@{name}": Feed(idle="left out: a scene has no place for it", physical=physical)
        for name, physical in UNREAD[tag].items()
    }


_JOINT: dict[str, str | Feed] = {
    "@name": "name",
    "@type": "kind",
    "@pos": "pose",
    "@axis": "axes",
    "@damping": _dofs("damping"),
    "@stiffness": _dofs("stiffness"),
    "@frictionloss": _dofs("friction"),
    "@springref": _dofs("rest"),
    "@range": _dofs("position_limits"),
    "@limited": _dofs("position_limits"),
    "@actuatorfrcrange": _dofs("force_limits"),
    "@actuatorfrclimited": _dofs("force_limits"),
    "@ref": _dofs("position", "rest", "position_limits"),
    "@armature": Feed(idle="a scene has no inertia that belongs to a joint alone"),
    "@class": STRUCTURE,
    **_unread("joint"),
}
_GEOM: dict[str, str | Feed] = {
    "@name": "name",
    **dict.fromkeys(("@type", "@size", "@fromto", "@mesh", "@hfield", "@fitscale"), "geometry"),
    **dict.fromkeys(("@pos", *(f"@{turn}" for turn in _TURNS)), "pose"),
    "@rgba": "color",
    "@material": "color",
    "@friction": "friction",
    "@condim": _ENGINE,
    "@contype": "collidable",
    "@conaffinity": "collidable",
    "@mass": Feed("inertia", of="body"),
    "@density": Feed("inertia", of="body"),
    "@shellinertia": Feed("inertia", of="body"),
    "@group": _SHOWN,
    "@class": STRUCTURE,
    "@user": _LABEL,
    **_unread("geom"),
}


def _shared(rows: dict[str, str | Feed], of: str, above: str) -> dict[str, str | Feed]:
    """Rows of a default class: what they say is said of all items of their kind."""
    made: dict[str, str | Feed] = {}
    for path, row in rows.items():
        feed = row if isinstance(row, Feed) else Feed(row)
        way = "bodies" if feed.of == "body" else of
        made[f"{above}/{path}"] = feed if feed.idle or not feed.field else Feed(feed.field, parts=feed.parts, of=way)
    return made


_FRAME: dict[str, str | Feed] = {f"{tag}/**": _FLAT for tag in ("frame", "replicate", "composite", "include", "attach")}

_SPRUNG = ("stiffness", "rest", "damping")
_NAMELESS = Feed(idle="a scene has no names for what drives a joint")


def _actuators(of: str) -> dict[str, Feed]:
    """Elements that drive joints, or state defaults for those that do."""
    pushed = {
        **dict.fromkeys(("position", "damper", "intvelocity"), _SPRUNG),
        "general": ("force_limits", *_SPRUNG),
        "motor": ("force_limits",),
        "velocity": ("damping",),
    }
    return {f"{tag}/**": _dofs(*parts, of=of) for tag, parts in pushed.items()} | {
        f"{tag}/@name": _NAMELESS for tag in pushed
    }


_ASSETS: dict[str, str | Feed] = {
    "mesh/**": Feed("geometry", of="shapes"),
    "mesh/@name": STRUCTURE,
    "material": STRUCTURE,
    "material/@name": STRUCTURE,
    "material/@rgba": Feed("color", of="shapes"),
    "material/**": _SHOWN,
}
_ROWS: dict[type[Item] | None, dict[str, str | Feed]] = {
    None: {"": STRUCTURE, "**": _FLAT},
    World: {
        "": STRUCTURE,
        "@model": "name",
        "compiler/**": _FLAT,
        "option": STRUCTURE,
        "option/@gravity": "gravity",
        "option/@timestep": "time_step",
        "option/flag": STRUCTURE,
        **{f"option/flag/@{name}": Feed(words="in what it switches on or off") for name in (*MEANINGS, "filterparent")},
        "option/**": _ENGINE,
        **{f"option/{path}": feed for path, feed in _unread("option").items()},
        "size/**": Feed(idle="how much memory an engine takes"),
        "visual/**": _SHOWN,
        "statistic/**": _SHOWN,
        "worldbody": STRUCTURE,
        "worldbody/geom/**": _FLAT,
        "asset": STRUCTURE,
        **{f"asset/{path}": feed for path, feed in _ASSETS.items()},
        "asset/hfield/**": Feed("geometry", of="shapes"),
        "contact": STRUCTURE,
        "contact/exclude/**": Feed("collision_exempt_groups", of="world"),
        "equality": STRUCTURE,
        "equality/joint/**": Feed("mimic", of="joints"),
        "equality/**": _FLAT,
        "tendon": STRUCTURE,
        "tendon/**": Feed(idle="a scene has no tendons", physical=True),
        "actuator": STRUCTURE,
        **{f"actuator/{path}": feed for path, feed in _actuators("driven").items()},
        "actuator/**": Feed(idle="a scene has no such actuators", physical=True),
        "keyframe": STRUCTURE,
        "keyframe/key": STRUCTURE,
        "keyframe/key/@name": _LABEL,
        "keyframe/key/@time": _LABEL,
        "keyframe/key/@qpos": _dofs("position", of="joints"),
        "keyframe/key/@qvel": _dofs("velocity", of="joints"),
        "keyframe/key/@ctrl": Feed(words="in what actuators do at the start"),
        "keyframe/key/**": Feed(idle="a scene has no such state", physical=True),
        "default": STRUCTURE,
        "default/**": Feed(idle="for elements that are left out"),
        **_FRAME,
        **{f"worldbody/{path}": feed for path, feed in _FRAME.items()},
    },
    Body: {
        "": STRUCTURE,
        "@name": "name",
        **dict.fromkeys(("@pos", *(f"@{turn}" for turn in _TURNS)), "pose"),
        "@gravcomp": "gravity",
        "@childclass": STRUCTURE,
        "@user": _LABEL,
        "@sleep": _LABEL,
        "@mocap": Feed(idle="what is moved from outside stands still here", physical=True),
        "inertial/**": "inertia",
        "inertial/@mass": Feed("inertia", parts=("mass",)),
        "inertial/@pos": Feed("inertia", parts=("com",)),
        "geom": STRUCTURE,
        **{f"geom/{path}": feed if isinstance(feed, Feed) and feed.idle else _FLAT for path, feed in _GEOM.items()},
        **_FRAME,
    },
    Shape: {"": STRUCTURE, **_GEOM},
    Marker: {
        "": STRUCTURE,
        "@name": "name",
        "@pos": "offset",
        "@fromto": "offset",
        "@class": STRUCTURE,
        "@group": _SHOWN,
        "@material": _SHOWN,
        **_unread("site"),
    },
    Joint: {
        "": STRUCTURE,
        **_JOINT,
        "@body1": "child",
        "@body2": "parent",
        "@anchor": "pose",
        "@solref": _ENGINE,
        "@solimp": _ENGINE,
        "@relpose": "pose",
        "@active": STRUCTURE,
        **dict.fromkeys(("@site", "@refsite", "@gear", "@biasprm", "@forcerange", "@forcelimited"), "drives"),
        **dict.fromkeys(("@gainprm", "@biastype"), STRUCTURE),
    },
}
for _depth in range(4):  # classes within classes
    _above = "/".join(["default"] * (_depth + 1))
    _ROWS[World] |= {_above: STRUCTURE, f"{_above}/@class": STRUCTURE}
    _ROWS[World] |= _shared(_JOINT, "joints", f"{_above}/joint") | _shared(_GEOM, "shapes", f"{_above}/geom")
    _ROWS[World] |= {f"{_above}/joint": STRUCTURE, f"{_above}/geom": STRUCTURE}
    _ROWS[World] |= {f"{_above}/{path}": feed for path, feed in _actuators("joints").items()}
    _ROWS[World] |= {f"{_above}/{path}": feed for path, feed in _ASSETS.items()}
    _ROWS[World] |= {f"{_above}/site/**": Feed(words="in the sites that have it")}


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find what has no effect because of what the document states elsewhere."""
    outline = document.outline
    found: dict[NodeKey, Verdict] = {}
    given = {name for node in range(len(outline.tags)) for name in _named(document, node)}
    seen_key = False
    colours = _used_colours(document)
    off = _switched_off(document)
    for node, tag in enumerate(outline.tags):
        for flag in off & _SWITCHED.get(tag, {}).keys():
            found |= {(node, name): idle(f"switched off by the flag '{flag}'") for name in _SWITCHED[tag][flag]}
        if tag == "key":
            if seen_key:
                found[node, ""] = Verdict(Fate.DROPPED, "the first keyframe is the initial state")
            seen_key = True
        elif tag == "geom" and document.attribute_text(node, "type") == "plane":
            found[node, "size"] = idle("how much of a plane is drawn")
        elif tag == "material" and document.attribute_text(node, "name") not in colours:
            found[node, "rgba"] = idle("no geom has its colour from it")
        elif tag == "default" and outline.tags[outline.parents[node]] == "default":
            name = document.attribute_text(node, "class")
            if name not in given:
                found[node, ""] = idle("nothing is of this class")
    return found


_SWITCHED: dict[str, dict[str, tuple[str, ...]]] = {
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
"""What flags switch off: attributes of elements, or whole ones."""


def _switched_off(document: Document) -> set[str]:
    found: set[str] = set()
    for node in (node for node, tag in enumerate(document.outline.tags) if tag == "flag"):
        for name in document.scan.attributes(node):
            if document.attribute_text(node, name) == "disable":
                found |= {name, *(CONSTRAINTS if name == "constraint" else ())}
    return found


def _used_colours(document: Document) -> set[str]:
    """The materials that geoms without a colour of their own have."""
    tags = document.outline.tags
    geoms = [node for node, tag in enumerate(tags) if tag == "geom"]
    parents = document.outline.parents
    if any(tags[parents[node]] == "default" and "rgba" in document.scan.attributes(node) for node in geoms):
        return set()
    return {document.attribute_text(n, "material") for n in geoms if "rgba" not in document.scan.attributes(n)}


def _named(document: Document, node: int) -> list[str]:
    """The classes that an element asks for."""
    if document.outline.tags[node] == "default":
        return []
    return [text for name in ("class", "childclass") if (text := document.attribute_text(node, name))]


SOURCE_MAPPING = SourceMapping(
    Feeds(_ROWS),
    DiagnosticEffects(
        ignored=("MJ103", "MJ201", "MJ202", "MJ203", "MJ307", "MJ401.bounds", "MJ402", "MJ403", "MJ108.filterparent"),
        used=("MJ105", "MJ107", "MJ307.hfield"),
        lossless=("MJ106.warning",),
        attributes={
            "MJ308": ("contype", "conaffinity"),
            "MJ309": ("condim", "friction"),
            "MJ401.bounds": ("ctrlrange", "ctrllimited", "forcerange", "forcelimited"),
        },
        all_similar=("MJ308", "MJ309"),
    ),
    find_unused,
    joint_elements=frozenset({"joint", "freejoint"}),
    includes=frozenset({"include"}),
)
