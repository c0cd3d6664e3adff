"""What SDFormat elements and diagnostics mean for a conversion."""

from __future__ import annotations

from exoskel.fates import Fate, Verdict, no_effect
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.formats.sdf.vocabulary import SDF, SELF_COLLISION
from exoskel.scene.model import Model
from exoskel.source.document import Document
from exoskel.source.vocabulary import FLATTENED, SceneField, SceneFieldTable

_OUTSIDE_WORLDS: dict[str, SceneField | str] = dict.fromkeys(("model/**", "frame/**", "include/**"), FLATTENED)
_NESTED_MODELS: dict[str, SceneField | str] = {"model/**": FLATTENED, "model/self_collide": SELF_COLLISION}
"""A model in a model is no item of the scene: its links and joints belong to the outer model."""
_GEARBOX = Verdict(Fate.LOWERED, "as a joint that mimics another")


def _scene_fields() -> SceneFieldTable:
    rows = SDF.scene_fields()
    return SceneFieldTable({**rows, None: {**rows[None], **_OUTSIDE_WORLDS}, Model: {**rows[Model], **_NESTED_MODELS}})


_REFERENCES = ("relative_to", "expressed_in", "attached_to", "placement_frame", "frame")
_AXES = {"fixed": 0, "ball": 0, "revolute": 1, "prismatic": 1, "continuous": 1, "screw": 1}


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find what has no effect because of what the document states elsewhere."""
    outline = document.outline
    found: dict[NodeKey, Verdict] = {}
    referenced = _referenced_frames(document)
    for node, tag in enumerate(outline.tags):
        parent = outline.parents[node]
        above = outline.tags[parent] if parent >= 0 else ""
        if tag == "frame" and document.attribute_text(node, "name") not in referenced:
            found[node, ""] = Verdict(Fate.DROPPED, "nothing refers to it")
        elif tag in ("axis", "axis2") and above == "joint":
            kind = document.attribute_text(parent, "type")
            if _AXES.get(kind, 2) < (1 if tag == "axis" else 2):
                found[node, ""] = no_effect(f"a {kind} joint has no <{tag}>")
        elif tag in _STATED and above == "inertial" and _is_automatic(document, outline.parents[parent]):
            found[node, ""] = no_effect("mass properties are computed from the collision shapes")
        elif tag == "density" and not _is_automatic(
            document, parent if above == "collision" else outline.parents[parent]
        ):
            found[node, ""] = no_effect("mass properties are stated, not computed")
        elif tag == "joint" and document.attribute_text(node, "type").strip() == "gearbox":
            found[node, ""] = _GEARBOX
        elif tag.startswith("gearbox_") and document.attribute_text(parent, "type").strip() != "gearbox":
            found[node, ""] = no_effect("only a gearbox has one")
        elif tag in ("screw_thread_pitch", "thread_pitch") and document.attribute_text(parent, "type") != "screw":
            found[node, ""] = no_effect("only a screw has a pitch")
    return found


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


SOURCE_MAPPING = SourceMapping(
    _scene_fields(),
    DiagnosticEffects(
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
        ),
        used=("SD030", "SD050", "SD070", "SD081.missing", "SD081.unreadable", "SD080.several"),
        lossless=("SD005", "SD006", "SD015", "SD030", "SD031", "SD060", "SD070.moment", "SD081"),
    ),
    find_unused,
)
