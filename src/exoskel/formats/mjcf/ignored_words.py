"""What the MJCF readers of Newton and Isaac Sim ignore, or refuse, of a document that is copied for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import NodeKey
from exoskel.formats.mjcf.codes import CATALOGUE
from exoskel.formats.mjcf.reader_losses import ASSUMED_GRAVITY, EQUALITIES_OF_ONE_JOINT, EQUALITIES_OF_TENDONS
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.source.document import Document
from exoskel.source.output_context import Target

_PROGRAMS: dict[Target, str] = {"newton": "Newton", "isaac": "Isaac Sim", "dart": "DART"}
_ATTRIBUTES: dict[Target, dict[tuple[str, str], str]] = {
    "newton": {
        ("option", "gravity"): "gravity, and uses -9.81 m/s² along z",
        ("compiler", "settotalmass"): "the total mass that is set: bodies have those of their shapes",
    },
    "isaac": {},
    "dart": {},
}
"""Attributes that are ignored, with words for them."""
_ELEMENTS: dict[Target, dict[str, str]] = {
    "newton": {"keyframe": "keyframes", "sensor": "sensors", "camera": "cameras", "light": "lights", "skin": "skins"},
    "isaac": {
        "keyframe": "keyframes",
        "sensor": "sensors",
        "camera": "cameras",
        "light": "lights",
        "skin": "skins",
        "pair": "contact pairs",
        "flex": "deformable bodies",
        "flexcomp": "deformable bodies",
    },
    "dart": {
        "keyframe": "keyframes",
        "sensor": "sensors",
        "camera": "cameras",
        "light": "lights",
        "skin": "skins",
        "contact": "contact pairs",
        "tendon": "tendons",
        "actuator": "actuators",
        "equality": "equality constraints, but for welds of bodies",
        "texture": "textures",
        "material": "materials of shapes",
    },
}
"""Elements that are ignored with all that they contain."""
_READABLE_MESHES = frozenset({".obj", ".stl"})
_UNKNOWN_GEOMS = frozenset({"ellipsoid", "hfield", "sdf"})
_MACROS = frozenset({"replicate", "composite", "attach"})
"""Elements that MuJoCo expands to bodies, and of which Newton reads nothing."""


def ignored_words(document: Document, target: Target) -> Iterator[tuple[NodeKey, Verdict]]:
    """The elements and attributes that a program ignores, with their fates."""
    program = _PROGRAMS.get(target)
    if program is None:
        return
    attributes, elements = _ATTRIBUTES[target], _ELEMENTS[target]
    outline = document.outline
    solver = Verdict(Fate.APPROXIMATED, CATALOGUE["MJ508.solver"].text.format(program=program) + " (MJ508)")
    for node, tag in enumerate(outline.tags):
        stated = document.attributes(node)
        found = next(
            (elements[outline.tags[one]] for one in outline.ancestry(node) if outline.tags[one] in elements), ""
        )
        if not found and target == "isaac" and tag in _PARTLY_READ:
            given = {name: document.attribute_text(node, name) for name in stated}
            found = _unread_by_isaac(outline.tags[outline.parents[node]], tag, given)
        if found:
            yield from (((node, name), _ignored(program, found)) for name in ("", *stated))
            continue
        for name in stated:
            if tag == "option" and name == "timestep":
                yield (node, name), solver
            elif (tag, name) in attributes and not _is_assumed(document.attribute_text(node, name)):
                yield (node, name), _ignored(program, attributes[tag, name])


def ignored_element(element: MjcfElement, section: str, target: Target) -> Verdict | None:
    """The fate of an element of a section that a program ignores; None if it reads it."""
    program = _PROGRAMS.get(target)
    if program is None:
        return None
    given = {name: str(value) for name, value in element.attributes.items()}
    found = _ELEMENTS[target].get(section) or _ELEMENTS[target].get(element.tag)
    if not found and target == "isaac":
        found = _unread_by_isaac(section, element.tag, given)
    return _ignored(program, found) if found else None


_PARTLY_READ = frozenset({"tendon", "joint", "texture", "layer"})
"""Elements of which Isaac Sim ignores some."""


def _unread_by_isaac(section: str, tag: str, given: Mapping[str, str]) -> str:
    """Words for an element of a section if Isaac Sim ignores it; empty if it reads it."""
    if section == "equality":
        if tag == "tendon":
            return EQUALITIES_OF_TENDONS
        return EQUALITIES_OF_ONE_JOINT if tag == "joint" and not given.get("joint2") else ""
    if tag == "layer":
        return "layers of materials" if given.get("role", "rgb") != "rgb" else ""
    if tag != "texture":
        return ""
    if given.get("builtin", "none") != "none":
        return "generated textures"
    return "" if given.get("type", "cube") == "2d" else "textures that are not 2d"


def _is_assumed(gravity: str) -> bool:
    """Whether a gravity is the one that programs use."""
    try:
        return tuple(map(float, gravity.split())) == ASSUMED_GRAVITY
    except ValueError:
        return False


def _ignored(program: str, what: str) -> Verdict:
    return Verdict(Fate.APPROXIMATED, CATALOGUE["MJ513"].text.format(program=program, what=what) + " (MJ513)")


def needs_new_document(document: Document, target: Target) -> bool:
    """Whether a program refuses or ignores what a new document states in another form: meshes, shapes or bodies."""
    tags = document.outline.tags
    if target in ("portable", "mujoco4") and "composite" in tags:  # MuJoCo 4 refuses it
        return True
    if target == "newton":
        return not _MACROS.isdisjoint(tags) or any(_is_box_between_points(document, node) for node in range(len(tags)))
    return target == "isaac" and any(_is_unreadable(document, node) for node, tag in enumerate(tags) if tag in _SHAPES)


_SHAPES = frozenset({"mesh", "geom"})


def _is_box_between_points(document: Document, node: int) -> bool:
    """Whether an element is a box or an ellipsoid between two points, which Newton reads at its default pose."""
    if document.outline.tags[node] != "geom" or not document.attribute_text(node, "fromto"):
        return False
    return document.attribute_text(node, "type").strip() in ("box", "ellipsoid")


def _is_unreadable(document: Document, node: int) -> bool:
    """Whether Isaac Sim refuses a mesh or ignores a geom."""
    if document.outline.tags[node] == "geom":
        return document.attribute_text(node, "type").strip() in _UNKNOWN_GEOMS
    file = document.attribute_text(node, "file")
    if not file:
        return not {"vertex", "builtin"}.isdisjoint(document.attributes(node))
    return PurePosixPath(file).suffix.lower() not in _READABLE_MESHES
