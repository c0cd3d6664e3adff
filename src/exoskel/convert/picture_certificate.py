"""The proof of a picture: everything stands where the scene has it at the start, and what is kept beside it is true."""

from __future__ import annotations

import numpy as np

from exoskel.convert.certificate import check
from exoskel.convert.report import Certificate
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.fields import relative_difference, transform_differences
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import pose_matrices
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World
from exoskel.spatial import Array


def certify(scene: Scene, written: Written, target: Format) -> Certificate:
    """Hold a scene against its picture."""
    precision = target.capabilities().precision
    rows: dict[str, float] = {}
    for mine, theirs in zip(scene.worlds, written.native.worlds, strict=True):
        for name, error in _rows(mine, theirs, written):
            rows[name] = max(rows.get(name, 0.0), error)
    return Certificate.of([check(name, error, precision) for name, error in rows.items()])


def _rows(mine: World, theirs: World, written: Written) -> list[tuple[str, float]]:
    bodies, others = list(mine.bodies()), list(theirs.bodies())
    if len(bodies) != len(others):
        return [("bodies", np.inf)]
    told = {id(loss.item) for loss in written.output.losses}
    weighed = [i for i, body in enumerate(bodies) if id(body) not in told]
    starts = Kinematics(mine.models).poses(), Kinematics(theirs.models).poses()
    return [
        ("bodies", 0.0),
        ("poses at the start", _most(transform_differences(*starts))),
        ("places of shapes", _places(mine, theirs, written)),
        (
            "masses beside the picture",
            relative_difference([bodies[i].mass for i in weighed], [others[i].mass for i in weighed]),
        ),
        (
            "moments beside the picture",
            relative_difference(*(moments([b[i] for i in weighed]).tolist() for b in (bodies, others))),
        ),
        (
            "gravity and time step",
            relative_difference((mine.gravity, mine.time_step), (theirs.gravity, theirs.time_step)),
        ),
    ]


def _places(mine: World, theirs: World, written: Written) -> float:
    """How far shapes are from where they belong in their bodies; infinite where some are missing."""
    worst = 0.0
    for body, other in zip(mine.bodies(), theirs.bodies(), strict=True):
        own = [shape for shape in body.shapes if id(shape) in written.elements]
        found = other.visuals
        if body.soft is not None and len(found) == len(own) + 1:
            found = found[:-1]  # the skin
        if len(own) != len(found):
            return np.inf
        if own:
            pairs = pose_matrices([s.pose for s in own]), pose_matrices([s.pose for s in found])
            worst = max(worst, _most(transform_differences(*pairs)))
    return worst


def _most(errors: Array) -> float:
    return float(np.max(errors)) if len(errors) else 0.0
