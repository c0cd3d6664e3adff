"""How bodies are grouped into models, for formats that do not say: one row for each model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exoskel.scene.json_codec import encode_value
from exoskel.scene.world import Model

Row = dict[str, Any]


def is_native(model: Model) -> bool:
    """Whether a model was found by its joints, and is called after its first body: no row says so."""
    return model.given == frozenset({"bodies"})


def row_of(model: Model, name: str, place: int, bodies: Sequence[str]) -> Row:
    """What is carried about a model: its place among the models, and its bodies by their names in the file."""
    row: Row = {"name": name, "at": place, "bodies": list(bodies)}
    if model.static:
        row["static"] = True
    if not model.pose.is_identity:
        row["pose"] = encode_value(model.pose)
    return row
