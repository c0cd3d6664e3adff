"""The controls and outputs of MuJoCo's actuators: in MuJoCo 4, an actuator has any number of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel.spatial import Indices


def actuator_count(model: Any) -> int:
    """The number of actuators; in MuJoCo 4, `nu` is that of controls."""
    return len(model.actuator_trntype)


def control_counts(model: Any) -> Indices:
    """How many controls each actuator has: one before MuJoCo 4."""
    if hasattr(model, "actuator_ctrlnum"):
        return np.asarray(model.actuator_ctrlnum, dtype=np.intp)
    return np.ones(actuator_count(model), dtype=np.intp)


def control_slices(model: Any) -> list[slice]:
    """The places of the controls of each actuator."""
    ends = np.cumsum(counts := control_counts(model)).tolist()
    return [slice(end - count, end) for end, count in zip(ends, counts.tolist(), strict=True)]


def first_controls(model: Any) -> Indices:
    """The place of the first control of each actuator; that of the next ones for an actuator without controls."""
    return np.array([one.start for one in control_slices(model)], dtype=np.intp)


def first_outputs(model: Any) -> Indices:
    """The place of the first output of each actuator: gears, lengths and forces belong to outputs."""
    if not hasattr(model, "actuator_outnum"):
        return np.arange(actuator_count(model))
    counts = np.asarray(model.actuator_outnum, dtype=np.intp)
    return np.cumsum(counts) - counts


def are_numbered_alike(model: Any) -> bool:
    """Whether each actuator has one control and one output, so that all three have the same numbers."""
    one_output = not hasattr(model, "actuator_outnum") or bool((np.asarray(model.actuator_outnum) == 1).all())
    return one_output and bool((control_counts(model) == 1).all())
