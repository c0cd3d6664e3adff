"""What URDF elements and diagnostics mean for a conversion."""

from __future__ import annotations

from exoskel.fates import Verdict, no_effect
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.formats.urdf.vocabulary import URDF, VERSION
from exoskel.scene.model import Model
from exoskel.source.document import Document
from exoskel.source.vocabulary import STRUCTURE, SceneField, SceneFieldTable

_WORLD_LINK: dict[str, SceneField | str] = {"link": STRUCTURE, "link/@name": STRUCTURE}
"""A link named `world` without mass and shapes is not a body."""


def _scene_fields() -> SceneFieldTable:
    rows = URDF.scene_fields()
    return SceneFieldTable({**rows, None: {"": STRUCTURE, "@version": VERSION}, Model: {**rows[Model], **_WORLD_LINK}})


_WITHOUT_AXIS = ("fixed", "floating")


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find what has no effect because of what the document states elsewhere."""
    outline = document.outline
    found: dict[NodeKey, Verdict] = {}
    named: set[str] = set()
    for node, tag in enumerate(outline.tags):
        above = outline.tags[outline.parents[node]] if outline.parents[node] >= 0 else ""
        if tag == "material" and above == "visual":
            named.add(document.attribute_text(node, "name"))
        elif above == "joint" and tag in ("axis", "limit", "dynamics"):
            kind = document.attribute_text(outline.parents[node], "type")
            if kind in _WITHOUT_AXIS or (kind == "planar" and tag != "axis"):
                found[node, ""] = no_effect(f"a {kind} joint has no <{tag}>")
            elif kind == "continuous" and tag == "limit":
                found |= {
                    (node, name): no_effect("a continuous joint has no position limits") for name in ("lower", "upper")
                }
    for node, tag in enumerate(outline.tags):
        is_shared = tag == "material" and outline.parents[node] == 0
        if is_shared and document.attribute_text(node, "name") not in named:
            found[node, ""] = no_effect("no visual uses it")
    return found


SOURCE_MAPPING = SourceMapping(
    _scene_fields(),
    DiagnosticEffects(
        ignored=("UR003", "UR101", "UR102", "UR103", "UR104", "UR107", "UR108", "UR301.material", "UR503"),
        used=("UR301", "UR305", "UR402", "UR405", "UR406", "UR407", "UR502"),
        lossless=("UR106", "UR402", "UR405"),
    ),
    find_unused,
)
