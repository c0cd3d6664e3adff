"""What MJCF elements and diagnostics mean for a conversion."""

from __future__ import annotations

from exoskel.fates import Fate, Verdict, no_effect
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.formats.mjcf.reading.option_flags import CONSTRAINTS
from exoskel.formats.mjcf.scene_fields import ROWS
from exoskel.source.document import Document
from exoskel.source.vocabulary import SceneFieldTable


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find what has no effect because of what the document states elsewhere."""
    outline = document.outline
    found: dict[NodeKey, Verdict] = {}
    given = {name for node in range(len(outline.tags)) for name in _classes_of(document, node)}
    seen_key = False
    colours = _used_colours(document)
    off = _disabled_flags(document)
    for node, tag in enumerate(outline.tags):
        for flag in off & _DISABLED_BY_FLAG.get(tag, {}).keys():
            found |= {
                (node, name): no_effect(f"disabled by the flag '{flag}'") for name in _DISABLED_BY_FLAG[tag][flag]
            }
        if tag == "key":
            if seen_key:
                found[node, ""] = Verdict(Fate.DROPPED, "the first keyframe is the initial state")
            seen_key = True
        elif tag == "geom" and document.attribute_text(node, "type") == "plane":
            found[node, "size"] = no_effect("size of the drawn part of a plane")
        elif tag == "material" and document.attribute_text(node, "name") not in colours:
            found[node, "rgba"] = no_effect("no geom uses its colour")
        elif tag == "default" and outline.tags[outline.parents[node]] == "default":
            name = document.attribute_text(node, "class")
            if name not in given:
                found[node, ""] = no_effect("no element uses this class")
    return found


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
