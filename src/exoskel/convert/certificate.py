"""Certificates: the written bytes are read back and compared with the scene they were written from."""

from __future__ import annotations

import numpy as np

from exoskel.convert.comparison import Row, check, largest, worst_rows
from exoskel.convert.embedded_certificate import compare as compare_embedded
from exoskel.convert.passes import JointLowering
from exoskel.convert.physics_certificate import compare as compare_physics
from exoskel.convert.report import Certificate
from exoskel.formats.interface import Format
from exoskel.formats.write import Written
from exoskel.scene.fields import relative_difference, transform_differences
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.pose import pose_matrices
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World


def certify(scene: Scene, written: Written, target: Format, lowering: JointLowering | None = None) -> Certificate:
    """Compare a scene with its output, in the way that the format allows.

    `lowering` is the pass that made `scene`; the scene before it is compared as well.
    """
    is_picture, precision = target.capabilities().is_picture, target.capabilities().precision
    if is_picture:
        rows = _compare_pictures(scene, written)
    elif target.embeds_data:
        rows = compare_embedded(scene, written, target)
    else:
        rows = compare_physics(scene, written, target)
    checks = [check(name, error, precision) for name, error in rows]
    if lowering is not None and not is_picture:
        checks += lowering.checks_of_output(written) if target.embeds_data else lowering.checks()
    return Certificate.of(checks)


def _compare_pictures(scene: Scene, written: Written) -> list[Row]:
    """Compare a scene with a picture of it: poses in the initial state, and the data stored as extras."""
    pairs = zip(scene.worlds, written.native.worlds, strict=True)
    return worst_rows(row for mine, theirs in pairs for row in _compare_picture(mine, theirs, written))


def _compare_picture(mine: World, theirs: World, written: Written) -> list[Row]:
    bodies, others = list(mine.bodies()), list(theirs.bodies())
    if len(bodies) != len(others):
        return [("bodies", np.inf)]
    inexact = {id(loss.item) for loss in written.output.losses}
    exact = [i for i, body in enumerate(bodies) if id(body) not in inexact]
    poses = Kinematics(mine.models).poses(), Kinematics(theirs.models).poses()
    masses = ([side[i].mass for i in exact] for side in (bodies, others))
    inertias = (moments([side[i] for i in exact]).tolist() for side in (bodies, others))
    settings = ((world.gravity, world.time_step) for world in (mine, theirs))
    return [
        ("bodies", 0.0),
        ("poses in the initial state", largest(transform_differences(*poses))),
        ("poses of shapes", _shape_pose_difference(mine, theirs, written)),
        ("masses in extras", relative_difference(*masses)),
        ("moments of inertia in extras", relative_difference(*inertias)),
        ("gravity and time step", relative_difference(*settings)),
    ]


def _shape_pose_difference(mine: World, theirs: World, written: Written) -> float:
    """How far shapes are from their poses in their bodies; infinite where some are missing."""
    worst = 0.0
    for body, other in zip(mine.bodies(), theirs.bodies(), strict=True):
        own = [shape for shape in body.shapes if id(shape) in written.elements]
        found = other.visuals
        if body.soft is not None and len(found) == len(own) + 1:
            found = found[:-1]  # the skin
        if len(own) != len(found):
            return np.inf
        if own:
            poses = pose_matrices([s.pose for s in own]), pose_matrices([s.pose for s in found])
            worst = max(worst, largest(transform_differences(*poses)))
    return worst
