"""The rows that group bodies into models, for formats without elements for models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exoskel.scene.json_codec import encode_value
from exoskel.scene.world import Model

Row = dict[str, Any]
"""One model as it is embedded."""


def has_native_grouping(model: Model) -> bool:
    """Whether a model is defined by its joints and named after its first body, so that it needs no row."""
    return model.given == frozenset({"bodies"})


def grouping_row(model: Model, name: str, index: int, bodies: Sequence[str]) -> Row:
    """The row of a model: its index among the models, and its bodies by their names in the file."""
    row: Row = {"name": name, "at": index, "bodies": list(bodies)}
    if model.static:
        row["static"] = True
    if not model.pose.is_identity:
        row["pose"] = encode_value(model.pose)
    return row
