"""What each element of MJCF feeds in the scene.

MuJoCo compiles the document, so that much is said in one place and used in many: defaults, assets, the keyframe and
actuators feed all items that may use them.
"""

from __future__ import annotations

from exoskel.fates import Fate, Verdict, idle
from exoskel.formats.mjcf.reading.unread import UNREAD
from exoskel.scene.body import Body, Marker
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.feeds import STRUCTURE, Feed, Feeds

_LABEL = Feed(idle="a label that nothing refers to")
_SHOWN = Feed(idle="how it is shown: no part of a scene")
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

_ROWS: dict[type[Item] | None, dict[str, str | Feed]] = {
    None: {"": STRUCTURE, "**": _FLAT},
    World: {
        "": STRUCTURE,
        "@model": "name",
        "compiler/**": _FLAT,
        "option": STRUCTURE,
        "option/@gravity": "gravity",
        "option/@timestep": "time_step",
        "option/flag/**": _FLAT,
        "option/**": Feed(idle="how an engine solves it: no part of a scene"),
        **{f"option/{path}": feed for path, feed in _unread("option").items()},
        "size/**": Feed(idle="how much memory an engine takes"),
        "visual/**": _SHOWN,
        "statistic/**": _SHOWN,
        "worldbody": STRUCTURE,
        "worldbody/geom/**": _FLAT,
        "asset": STRUCTURE,
        "asset/mesh/**": Feed("geometry", of="shapes"),
        "asset/mesh/@name": STRUCTURE,
        "asset/hfield/**": Feed("geometry", of="shapes"),
        "asset/material": STRUCTURE,
        "asset/material/@name": STRUCTURE,
        "asset/material/@rgba": Feed("color", of="shapes"),
        "asset/material/**": _SHOWN,
        "contact": STRUCTURE,
        "contact/exclude/**": Feed("passing", of="world"),
        "equality": STRUCTURE,
        "equality/joint/**": Feed("mimic", of="joints"),
        "equality/**": _FLAT,
        "tendon": STRUCTURE,
        "tendon/**": _FLAT,
        "actuator": STRUCTURE,
        "actuator/**": Feed("dofs", parts=("force_limits", "stiffness", "rest", "damping"), of="joints"),
        "actuator/motor/**": Feed("dofs", parts=("force_limits",), of="joints"),
        "actuator/velocity/**": Feed("dofs", parts=("force_limits", "damping"), of="joints"),
        "keyframe": STRUCTURE,
        "keyframe/key": STRUCTURE,
        "keyframe/key/@name": _LABEL,
        "keyframe/key/@time": _LABEL,
        "keyframe/key/@qpos": _dofs("position", of="joints"),
        "keyframe/key/@qvel": _dofs("velocity", of="joints"),
        "keyframe/key/**": _FLAT,
        "default": STRUCTURE,
        "default/**": _FLAT,
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
        "@solref": Feed(idle="how an engine solves it: no part of a scene"),
        "@solimp": Feed(idle="how an engine solves it: no part of a scene"),
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

FEEDS = Feeds(_ROWS)
TRANSPARENT: frozenset[str] = frozenset()
"""Elements that only group what is inside."""
STANDS_FOR: frozenset[str] = frozenset({"joint", "freejoint"})
"""Elements in a body that are, with others, the joint that holds it."""


def unused(document: Document) -> dict[tuple[int, str], Verdict]:
    """What is not looked at because of what stands elsewhere."""
    outline = document.outline
    found: dict[tuple[int, str], Verdict] = {}
    given = {name for node in range(len(outline.tags)) for name in _named(document, node)}
    seen_key = False
    colours = _used_colours(document)
    for node, tag in enumerate(outline.tags):
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


NO_EFFECT = ("MJ103", "MJ201", "MJ202", "MJ203", "MJ307", "MJ402", "MJ403")
"""Findings, errors aside, about something that is not used."""

STILL_USED = ("MJ105", "MJ107", "MJ307.hfield")
"""Findings about something that is used all the same, in part."""

READ_IN_FULL = ("MJ106.warning",)
"""Warnings by which nothing is lost: what they are about is read as it is meant."""

SPEAKS_OF: dict[str, tuple[str, ...]] = {}
"""The attributes of its element that a finding is about, where these are several."""
