"""What XODE elements and diagnostics mean for a conversion."""

from __future__ import annotations

from exoskel.fates import Verdict, no_effect
from exoskel.formats.interface import DiagnosticEffects, NodeKey, SourceMapping
from exoskel.formats.xode.vocabulary import GROUPS, XODE
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.embedded_format import EXTENSION
from exoskel.source.numbers import parse_decimal
from exoskel.source.vocabulary import SceneField, SceneFieldTable

_WORLD_EXTENSIONS: dict[str, SceneField | str] = {
    f"{EXTENSION.tag}/{tag}/**": field for tag, field in EXTENSION.world_parameters.items()
}
"""Parameters of a world that PyODE reads from an extension, which is opaque to the vocabulary."""


def _scene_fields() -> SceneFieldTable:
    rows = XODE.scene_fields(GROUPS)
    return SceneFieldTable({**rows, World: {**rows[World], **_WORLD_EXTENSIONS}})


def find_unused(document: Document) -> dict[NodeKey, Verdict]:
    """Find attributes without effect because of what the document states elsewhere."""
    verdicts: dict[NodeKey, Verdict] = {}
    for node, tag in enumerate(document.outline.tags):
        if tag in ("matrix4f", "matrix"):
            spans = document.scan.attributes(node)
            row = [
                document.text[spans[name].start : spans[name].end] for name in ("m30", "m31", "m32") if name in spans
            ]
            if any(parse_decimal(entry.decode("ascii", "replace").strip()) for entry in row):
                verdicts |= {
                    (node, name): no_effect("the translation is in the last row") for name in ("m03", "m13", "m23")
                }
        elif tag == "adjust" and "total" in document.scan.attributes(node):
            verdicts |= {
                (solid, name): no_effect("the mass is adjusted")
                for solid in _adjusted(document, node)
                for name in _AMOUNT
            }
    return verdicts


_AMOUNT = ("density", "total")


def _adjusted(document: Document, adjust: int) -> list[int]:
    """The mass shape whose density or total an `adjust` overrides: the only one in the mass."""
    outline = document.outline
    mass = outline.parents[adjust]
    inside = [n for n in range(mass + 1, outline.ends[mass]) if outline.parents[n] == mass]
    parts = [n for n in inside if outline.tags[n] in ("mass", "mass_shape", "mass_struct")]
    return parts if len(parts) == 1 and outline.tags[parts[0]] == "mass_shape" else []


SOURCE_MAPPING = SourceMapping(
    _scene_fields(),
    DiagnosticEffects(
        ignored=("X202", "X203", "X204", "X206", "X207", "X209", "X803", "X807", "X810", "X910"),
        used=("X204.mass", "X810.kept"),
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
    transparent=GROUPS,
)
