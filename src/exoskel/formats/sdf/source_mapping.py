"""What each element of SDFormat feeds in the scene."""

from __future__ import annotations

from exoskel.fates import Fate, Verdict, idle
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.formats.sdf.vocabulary import MOMENT, SDF
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World
from exoskel.source.document import Document
from exoskel.source.scene_fields import FLATTENED, STRUCTURE, SceneField, SceneFieldTable, dof_field, unused

_VERSION = unused("the version of the format; the output states its own")
_LABEL = unused("a label that nothing refers to")
_SILENT = unused("how it looks, is drawn or is solved: no part of a scene")


def _drives(part: str) -> SceneField:
    return SceneField("drives", parts=(part,))


_MEETING = SceneField("self_collision", owner="world")

_ROWS: dict[type[Item] | None, dict[str, SceneField | str]] = {
    None: {"": STRUCTURE, "@version": _VERSION, "model/**": FLATTENED, "frame/**": FLATTENED, "include/**": FLATTENED},
    World: {
        "": STRUCTURE,
        "@name": "name",
        "@namespace": _LABEL,
        "gravity": "gravity",
        "physics": STRUCTURE,
        "physics/@name": _LABEL,
        "physics/@type": _LABEL,
        "physics/@default": STRUCTURE,
        "physics/max_step_size": "time_step",
        "physics/gravity": "gravity",
        "physics/dart": STRUCTURE,
        "physics/dart/collision_detector": "collision_detector",
        "physics/ode": STRUCTURE,
        "physics/ode/constraints": STRUCTURE,
        "physics/ode/constraints/erp": "erp",
        "physics/ode/constraints/cfm": "cfm",
        "frame/**": FLATTENED,
        "include/**": FLATTENED,
    },
    Model: {
        "": STRUCTURE,
        "@name": "name",
        "@namespace": _LABEL,
        "@canonical_link": FLATTENED,
        "@placement_frame": FLATTENED,
        "pose/**": "pose",
        "static": "static",
        "self_collide": _MEETING,
        "frame/**": FLATTENED,
        "include/**": FLATTENED,
        "model/**": FLATTENED,
        "model/self_collide": _MEETING,
    },
    Body: {
        "": STRUCTURE,
        "@name": "name",
        "pose/**": "pose",
        "gravity": "gravity",
        "self_collide": _MEETING,
        "inertial/**": "inertia",
        "inertial/@auto": "inertia",
        "inertial/density": "inertia",
        "inertial/mass": SceneField("inertia", parts=("mass",)),
        **{
            f"inertial/inertia/{entry}": SceneField(
                "inertia", parts=("moment" if entry[1] == entry[2] else "products",)
            )
            for entry in MOMENT
        },
    },
    Shape: {
        "": STRUCTURE,
        "@name": "name",
        "pose/**": "pose",
        "density": SceneField("inertia", owner="body"),
        "geometry": STRUCTURE,
        "geometry/**": "geometry",
        "geometry/plane/size": unused("how much of a plane is drawn"),
        "geometry/mesh/@optimization": _SILENT,
        "material": STRUCTURE,
        "material/diffuse": "color",
        "transparency": "color",
        "surface": STRUCTURE,
        "surface/friction": STRUCTURE,
        "surface/friction/ode": STRUCTURE,
        "surface/friction/ode/mu": "friction",
        "surface/friction/ode/mu2": unused("a scene has one friction for both directions"),
        "surface/bounce": STRUCTURE,
        "surface/bounce/restitution_coefficient": "restitution",
        "surface/contact": STRUCTURE,
        "surface/contact/collide_bitmask": "collidable",
    },
    Joint: {
        "": STRUCTURE,
        "@name": "name",
        "@type": "kind",
        "parent": "parent",
        "child": "child",
        "pose/**": "pose",
        "screw_thread_pitch": "pitch",
        "thread_pitch": "pitch",
        "physics": STRUCTURE,
        "physics/ode": STRUCTURE,
        **{f"physics/ode/{name}": _drives(name) for name in ("fudge_factor", "cfm", "bounce", "max_force", "velocity")},
        "physics/ode/limit": STRUCTURE,
        "physics/ode/limit/erp": _drives("stop_erp"),
        "physics/ode/limit/cfm": _drives("stop_cfm"),
        "physics/ode/suspension": STRUCTURE,
        "physics/ode/suspension/erp": _drives("suspension_erp"),
        "physics/ode/suspension/cfm": _drives("suspension_cfm"),
    },
}
for _axis in ("axis", "axis2"):
    _ROWS[Joint] |= {
        _axis: STRUCTURE,
        f"{_axis}/xyz/**": "axes",
        f"{_axis}/use_parent_model_frame": "axes",
        f"{_axis}/dynamics": STRUCTURE,
        f"{_axis}/dynamics/damping": dof_field("damping"),
        f"{_axis}/dynamics/friction": dof_field("friction"),
        f"{_axis}/dynamics/spring_reference": dof_field("rest"),
        f"{_axis}/dynamics/spring_stiffness": dof_field("stiffness"),
        f"{_axis}/limit": STRUCTURE,
        f"{_axis}/limit/lower": dof_field("position_limits"),
        f"{_axis}/limit/upper": dof_field("position_limits"),
        f"{_axis}/limit/effort": dof_field("force_limits"),
        f"{_axis}/limit/velocity": dof_field("velocity_limits"),
        f"{_axis}/mimic/**": "mimic",
    }

_ITEMS: dict[str, type[Item]] = {
    "world": World,
    "model": Model,
    "link": Body,
    "visual": Shape,
    "collision": Shape,
    "joint": Joint,
}


_READ_BY_HAND = ("pose", "xyz")
"""Opaque to the vocabulary, as they have both a value and attributes."""


def _add_silent() -> None:
    """Elements that the vocabulary knows and nobody reads."""
    for path, element in SDF.rows():
        steps = path.split("/")
        homes = [place for place, step in enumerate(steps[:-1]) if step in _ITEMS]
        if element.opaque and not element.remark and homes and element.name not in _READ_BY_HAND:
            below = "/".join(steps[homes[-1] + 1 :])
            _ROWS[_ITEMS[steps[homes[-1]]]].setdefault(f"{below}/**", _SILENT)


_add_silent()

_REFERENCES = ("relative_to", "expressed_in", "attached_to", "placement_frame", "frame")
_AXES = {"fixed": 0, "ball": 0, "revolute": 1, "prismatic": 1, "continuous": 1, "screw": 1}


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find what has no effect because of what the document states elsewhere."""
    outline = document.outline
    found: dict[NodeKey, Verdict] = {}
    called = _called(document)
    for node, tag in enumerate(outline.tags):
        parent = outline.parents[node]
        above = outline.tags[parent] if parent >= 0 else ""
        if tag == "frame" and document.attribute_text(node, "name") not in called:
            found[node, ""] = Verdict(Fate.DROPPED, "nothing refers to it")
        elif tag in ("axis", "axis2") and above == "joint":
            kind = document.attribute_text(parent, "type")
            if _AXES.get(kind, 2) < (1 if tag == "axis" else 2):
                found[node, ""] = idle(f"a {kind} joint has no <{tag}>")
        elif tag in _STATED and above == "inertial" and _is_automatic(document, outline.parents[parent]):
            found[node, ""] = idle("mass properties are worked out from the collisions")
        elif tag == "density" and not _is_automatic(
            document, parent if above == "collision" else outline.parents[parent]
        ):
            found[node, ""] = idle("mass properties are stated, not worked out")
        elif tag in ("screw_thread_pitch", "thread_pitch") and document.attribute_text(parent, "type") != "screw":
            found[node, ""] = idle("only a screw has a pitch")
    return found


_STATED = ("inertia", "pose")


def _is_automatic(document: Document, below: int) -> bool:
    """Whether the masses of the link that an element is, or is in, are worked out from its collisions."""
    outline = document.outline
    link = next((node for node in reversed(outline.ancestry(below)) if outline.tags[node] == "link"), -1)
    inside = range(link + 1, outline.ends[link]) if link >= 0 else ()
    inertial = [n for n in inside if outline.parents[n] == link and outline.tags[n] == "inertial"]
    return any(document.attribute_text(n, "auto").strip() in ("true", "1") for n in inertial)


def _called(document: Document) -> set[str]:
    """All frames that something refers to, by the last part of their names."""
    called: set[str] = set()
    for node, tag in enumerate(document.outline.tags):
        given = document.scan.attributes(node)
        called |= {document.attribute_text(node, name) for name in _REFERENCES if name in given}
        if tag in ("parent", "child", "placement_frame"):
            called.add(document.value_text(node).strip())
    return called | {name.rpartition("::")[2] for name in called}


SOURCE_MAPPING = SourceMapping(
    SceneFieldTable(_ROWS),
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
