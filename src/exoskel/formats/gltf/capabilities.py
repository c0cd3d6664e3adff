"""What a glTF file can express: the appearance of the initial state, and metadata."""

from __future__ import annotations

from exoskel.fates import Fate, Verdict
from exoskel.formats.gltf.compose import compose
from exoskel.formats.gltf.mapping import SHAPES
from exoskel.formats.interface import WriterCapabilities
from exoskel.scene.body import Body
from exoskel.scene.joint import TRAITS, Joint
from exoskel.scene.shape import Shape
from exoskel.scene.world import Model, World

_METADATA = Verdict(Fate.KEPT, "as `extras` of its node")
_EXACT = Verdict(Fate.EXACT)

CAPABILITIES = WriterCapabilities(
    native_joints=frozenset(TRAITS),  # joints are not written, so none has to be lowered
    compose=compose,
    precision=1e-6,
    has_initial_state=True,
    is_picture=True,
    field_fates={
        (World, "name"): _EXACT,
        (World, "gravity"): _METADATA,
        (World, "time_step"): _METADATA,
        (Model, "name"): _EXACT,
        (Model, "pose"): Verdict(Fate.LOWERED, "in the poses of its bodies"),
        (Model, "static"): _METADATA,
        (Body, "name"): _EXACT,
        (Body, "pose"): Verdict(Fate.LOWERED, "as the pose in the initial state"),
        (Body, "inertia"): _METADATA,
        (Body, "gravity"): _METADATA,
        (Body, "soft"): Verdict(Fate.APPROXIMATED, "rigid, in its shape at rest"),
        **dict.fromkeys([(Joint, field) for field in ("", "name", "kind", "parent", "child")], _METADATA),
        (Shape, "collidable"): Verdict(Fate.DROPPED, "glTF has no contacts", harmless=True),
    },
    shape_fates={kind: Verdict(row.fate, row.why) for kind, row in SHAPES.items()},
    hidden_shape_reason="other shapes of its body are drawn instead",
)
