"""What each element of XODE feeds in the scene."""

from __future__ import annotations

from exoskel.fates import Verdict, idle
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.formats.xode.vocabulary import DRIVE_ATTRIBUTES, JOINT_TYPES, SHAPES
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.numbers import parse_decimal
from exoskel.source.scene_fields import STRUCTURE, SceneField, SceneFieldTable, unused

_VERSION = unused("the version of the format; the output states its own")
_LABEL = unused("a label that nothing refers to")
_LAST = unused("the last entry of a matrix is 1 whatever it says")
_TRANSFORM: dict[str, SceneField | str] = {
    "transform/**": "pose",
    "transform/matrix4f/@m33": _LAST,
    "transform/matrix/@m33": _LAST,
}

_ROWS: dict[type[Item] | None, dict[str, SceneField | str]] = {
    None: {"": STRUCTURE, "@version": _VERSION, "@name": _LABEL, **_TRANSFORM},
    World: {
        "": STRUCTURE,
        "@name": "name",
        **_TRANSFORM,
        "ext/gravity/**": "gravity",
        "ext/CFM/**": "cfm",
        "ext/ERP/**": "erp",
        "ext/timestep/**": "time_step",
    },
    Body: {
        "": STRUCTURE,
        "@name": "name",
        "@enabled": SceneField("state", parts=("enabled",)),
        "@gravitymode": "gravity",
        "torque/**": SceneField("state", parts=("torque",)),
        "force/**": SceneField("state", parts=("force",)),
        "linearVel/**": SceneField("state", parts=("linear_velocity",)),
        "angularVel/**": SceneField("state", parts=("angular_velocity",)),
        **{
            f"{tag}/@{name}": SceneField("state", parts=(f"{field}/{number}",))
            for tag, field in (("linearVel", "linear_velocity"), ("angularVel", "angular_velocity"))
            for number, name in enumerate("xyz")
        },
        "finiteRotation/**": SceneField("state", parts=("finite_rotation",)),
        "mass/**": "inertia",
        "mass/transform/position/**": SceneField("inertia", parts=("com",)),
        **_TRANSFORM,
    },
    Shape: {"": STRUCTURE, "@name": "name", **_TRANSFORM, **{f"{shape}/**": "geometry" for shape in SHAPES}},
    Joint: {"": STRUCTURE, "@name": "name", **_TRANSFORM, "link1/**": "child", "link2/**": "parent"},
}
_ROWS[Shape] |= {"capsule/**": "geometry"}
for _kind in JOINT_TYPES:
    _ROWS[Joint] |= {f"{_kind}": "kind", f"{_kind}/anchor/**": "pose", f"{_kind}/axis": STRUCTURE}
    _ROWS[Joint] |= {f"{_kind}/axis/@{name}": "axes" for name in ("x", "y", "z", "absolute")}
    _ROWS[Joint] |= {
        f"{_kind}/axis/@{name}": SceneField("drives", parts=(field,)) for name, (field, _) in DRIVE_ATTRIBUTES.items()
    }
    _ROWS[Joint] |= {f"{_kind}/axis/@LoStop": SceneField("drives", parts=("low_stop",))}
for _holder in (None, World, Body, Shape):
    # Groups and spaces inside of something are flattened: they move what is in them.
    for _group in ("space", "group", "jointgroup"):
        _ROWS[_holder] |= {_group: STRUCTURE, f"{_group}/@name": _LABEL}
        _ROWS[_holder] |= {f"{_group}/{path}": feed for path, feed in _TRANSFORM.items()}


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find attributes without effect because of what the document states elsewhere."""
    found: dict[NodeKey, Verdict] = {}
    for node, tag in enumerate(document.outline.tags):
        if tag in ("matrix4f", "matrix"):
            spans = document.scan.attributes(node)
            row = [
                document.text[spans[name].start : spans[name].end] for name in ("m30", "m31", "m32") if name in spans
            ]
            if any(parse_decimal(entry.decode("ascii", "replace").strip()) for entry in row):
                found |= {
                    (node, name): idle("the translation stands in the last row") for name in ("m03", "m13", "m23")
                }
        elif tag == "adjust" and "total" in document.scan.attributes(node):
            found |= {
                (solid, name): idle("the mass is adjusted") for solid in _adjusted(document, node) for name in _AMOUNT
            }
    return found


_AMOUNT = ("density", "total")


def _adjusted(document: Document, adjust: int) -> list[int]:
    """The solid whose own density or total an `adjust` overrules: the only thing in the mass it is about."""
    outline = document.outline
    mass = outline.parents[adjust]
    inside = [n for n in range(mass + 1, outline.ends[mass]) if outline.parents[n] == mass]
    heavy = [n for n in inside if outline.tags[n] in ("mass", "mass_shape", "mass_struct")]
    return heavy if len(heavy) == 1 and outline.tags[heavy[0]] == "mass_shape" else []


SOURCE_MAPPING = SourceMapping(
    SceneFieldTable(_ROWS),
    DiagnosticEffects(
        ignored=("X202", "X203", "X204", "X206", "X207", "X209", "X803", "X807", "X810", "X910"),
        used=("X204.mass",),
        lossless=(
            "X10",
            "X204",
            "X205",
            "X208",
            "X210",
            "X30",
            "X50",
            "X51",
            "X604",
            "X607",
            "X608",
            "X610",
            "X70",
            "X80",
            "X81",
            "X902",
            "X903",
        ),
    ),
    find_unused,
    transparent=frozenset({"space", "group", "jointgroup"}),
)
