"""The scene field that each element of URDF sets."""

from __future__ import annotations

from exoskel.fates import Verdict, idle
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model
from exoskel.source.document import Document
from exoskel.source.scene_fields import STRUCTURE, SceneField, SceneFieldTable, dof_field, unused

_VERSION = unused("the version of the format; the output states its own")
_NOTHING = unused("no meaning in URDF")


_ROWS: dict[type[Item] | None, dict[str, SceneField | str]] = {
    None: {"": STRUCTURE, "@version": _VERSION},
    Model: {
        "": STRUCTURE,
        "@name": "name",
        "@version": _VERSION,
        "material/**": SceneField("color", owner="shapes"),
        # A link named `world` without mass and shapes, and its children.
        "link": STRUCTURE,
        "link/@name": STRUCTURE,
    },
    Body: {
        "": STRUCTURE,
        "@name": "name",
        "@type": _NOTHING,
        "inertial/**": "inertia",
        "inertial/mass/**": SceneField("inertia", parts=("mass",)),
        **{f"inertial/inertia/@{entry}": SceneField("inertia", parts=("moment",)) for entry in ("ixx", "iyy", "izz")},
        **{f"inertial/inertia/@{entry}": SceneField("inertia", parts=("products",)) for entry in ("ixy", "ixz", "iyz")},
        "inertial/origin/@xyz": SceneField("inertia", parts=("com",)),
    },
    Shape: {
        "": STRUCTURE,
        "@name": "name",
        "origin/**": "pose",
        "geometry": STRUCTURE,
        "geometry/**": "geometry",
        "material/**": "color",
    },
    Joint: {
        "": STRUCTURE,
        "@name": "name",
        "@type": "kind",
        "origin/**": SceneField("pose", owner="child"),
        "parent/**": "parent",
        "child/**": "child",
        "axis/**": "axes",
        "limit": STRUCTURE,
        "limit/@lower": dof_field("position_limits"),
        "limit/@upper": dof_field("position_limits"),
        "limit/@velocity": dof_field("velocity_limits"),
        "limit/@effort": dof_field("force_limits"),
        "dynamics": STRUCTURE,
        "dynamics/@damping": dof_field("damping"),
        "dynamics/@friction": dof_field("friction"),
        "mimic/**": "mimic",
    },
}


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
                found[node, ""] = idle(f"a {kind} joint has no <{tag}>")
            elif kind == "continuous" and tag == "limit":
                found |= {
                    (node, name): idle("a continuous joint has no position limits") for name in ("lower", "upper")
                }
    for node, tag in enumerate(outline.tags):
        is_shared = tag == "material" and outline.parents[node] == 0
        if is_shared and document.attribute_text(node, "name") not in named:
            found[node, ""] = idle("no visual uses it")
    return found


SOURCE_MAPPING = SourceMapping(
    SceneFieldTable(_ROWS),
    DiagnosticEffects(
        ignored=("UR003", "UR101", "UR102", "UR103", "UR104", "UR107", "UR108", "UR301.material", "UR503"),
        used=("UR301", "UR305", "UR402", "UR405", "UR406", "UR407", "UR502"),
        lossless=("UR106", "UR402", "UR405"),
    ),
    find_unused,
)
