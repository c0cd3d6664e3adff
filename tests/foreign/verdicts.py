"""A claim and a judge's answer, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from tests.foreign.claims import Array, Claim, Inertial, Start

QUANTITIES = ("mass", "com", "inertia", "pose", "mass_matrix", "dofs", "start")
"""What is compared.

Masses are relative to the body's, moments to its largest, entries of mass matrices to the roots of their diagonals.
Lengths are in m, relative where they are beyond 1 m, and so are the limits and the damping of joints (`dofs`).
Poses are those at random configurations; those at the initial state, and velocities there, are the `start`.
"""
_DOUBLE, _SINGLE = dict.fromkeys(QUANTITIES, 1e-9), dict.fromkeys(QUANTITIES, 1e-6)
BOUNDS = {"mjcf": _DOUBLE, "urdf": _DOUBLE, "sdf": _DOUBLE, "usd": _SINGLE}
"""How far a judge may be from the scene, by format: USD has physics in single precision."""

Errors = dict[str, float]


class Verdict(Struct, frozen=True):
    """The largest errors; or why there are none: the judge does not load the file, or has found something else in it."""

    errors: Errors
    failed: str = ""
    said: str = ""

    def faults(self, bounds: Errors) -> list[str]:
        """What is out of bounds."""
        return [f"{name} off by {error:.1e}" for name, error in self.errors.items() if not error <= bounds[name]]


def verdict(claim: Claim, answer: Mapping[str, Any]) -> Verdict:
    said = answer.get("said", "")
    if "failed" in answer:
        return Verdict({}, answer["failed"], said)
    try:
        return Verdict(_errors(claim, answer), said=said)
    except LookupError as error:
        return Verdict({}, str(error.args[0]), said)


def worst(verdicts: list[Verdict]) -> Errors:
    """The largest errors of several."""
    named = {name for one in verdicts for name in one.errors}
    return {name: max(v.errors.get(name, 0.0) for v in verdicts) for name in QUANTITIES if name in named}


_ANSWERS = {"mass": "bodies", "com": "bodies", "inertia": "bodies", "pose": "poses"}
"""Where quantities are in an answer, if not under their own names."""


def _errors(claim: Claim, answer: Mapping[str, Any]) -> Errors:
    told = [name for name in QUANTITIES if _ANSWERS.get(name, name) in answer]
    found = {name: 0.0 for name in told if name != "dofs" or claim.dofs}

    def note(name: str, error: float) -> None:
        found[name] = max(found[name], error if np.isfinite(error) else np.inf)

    seen: set[str] = set()
    for entry in answer["bodies"]:
        members = [name for name in entry["bodies"] if name in claim.bodies]
        strangers = [name for name in entry["bodies"] if name not in claim.bodies and name != "world"]
        if strangers and entry["mass"]:
            raise LookupError(f"it finds bodies that are none of ours: {', '.join(strangers)}")
        seen |= set(members)
        mine = _together(claim, members, entry["frame"])
        if mine is not None:
            note("mass", abs(entry["mass"] - mine.mass) / (mine.mass or 1.0))
            if mine.mass:
                length = max(1.0, float(np.abs(mine.com).max()))
                note("com", float(np.abs(np.array(entry["com"]) - mine.com).max()) / length)
                size = float(np.abs(mine.moment).max()) or 1.0
                note("inertia", float(np.abs(np.array(entry["moment"]) - mine.moment).max()) / size)
    missing = claim.bodies.keys() - seen - claim.scenery
    if missing:
        raise LookupError(f"it does not find {', '.join(sorted(missing))}")
    for configuration, poses in zip(claim.configurations, answer["poses"], strict=True) if "pose" in found else ():
        for name in configuration.poses.keys() - (claim.scenery - poses.keys()):
            note("pose", _pose_error(configuration.poses[name], poses[name]))
    if "mass_matrix" in found:
        note("mass_matrix", _mass_matrix_error(claim, answer["mass_matrix"]))
    for joint, dof in claim.dofs.items() if "dofs" in found else ():
        low, high, damping = answer["dofs"][joint]
        note("dofs", _gap(dof.damping, damping))
        if dof.limits is not None:
            note("dofs", max(_gap(dof.limits[0], low), _gap(dof.limits[1], high)))
    if "start" in found and claim.start is not None:
        note("start", _start_error(claim.start, claim.scenery, answer["start"]))
    return found


def _pose_error(mine: Array, theirs: Any) -> float:
    length = max(1.0, float(np.abs(mine[:3, 3]).max()))
    off = np.abs(np.array(theirs) - mine[:3])
    return max(float(off[:, :3].max()), float(off[:, 3].max()) / length)


def _start_error(mine: Start, scenery: frozenset[str], theirs: Mapping[str, Any]) -> float:
    """Velocities are compared where the judge has them."""
    errors = [0.0]
    for name in mine.poses.keys() - (scenery - theirs.keys()):
        errors.append(_pose_error(mine.poses[name], theirs[name]["pose"]))
        motion = mine.motions.get(name)
        if motion is not None and "motion" in theirs[name]:
            size = max(1.0, float(np.abs(motion).max()))
            errors.append(float(np.abs(np.array(theirs[name]["motion"]) - motion).max()) / size)
    return max(errors)


def _gap(mine: float, theirs: float) -> float:
    return abs(mine - theirs) / max(1.0, abs(mine))


def _together(claim: Claim, members: list[str], frame: str) -> Inertial | None:
    """Bodies that are welded to each other as one, seen from one of them; None where nothing is claimed of one."""
    own = [claim.bodies[name] for name in members]
    if not own or any(one is None for one in own):
        return None
    if members == [frame]:
        return own[0]
    poses = claim.configurations[0].poses
    base = spatial.inverse(poses[frame]) if frame in poses else np.eye(4)
    mass, first, turned = 0.0, np.zeros(3), []
    for name, one in zip(members, own, strict=True):
        assert one is not None
        place = base @ poses[name]
        com = place[:3, :3] @ one.com + place[:3, 3]
        turned.append((one.mass, com, spatial.rotate_moment(place[:3, :3], one.moment)))
        mass, first = mass + one.mass, first + one.mass * com
    centre = first / mass if mass else first
    moment = sum((m + w * spatial.point_moment(c - centre) for w, c, m in turned), np.zeros((3, 3)))
    return Inertial(mass, centre, moment)


def _mass_matrix_error(claim: Claim, theirs: Mapping[str, Any]) -> float:
    mine = claim.mass_matrix
    if mine is None or not len(mine.matrix):
        return 0.0
    rows = {tuple(name): number for number, name in enumerate(theirs["names"])}
    missing = [name for name, row in zip(mine.names, mine.velocities, strict=True) if row.any() and name not in rows]
    if missing:
        raise LookupError(f"it has no coordinates {missing}")
    velocities = np.zeros((len(rows), mine.velocities.shape[1]))
    for name, row in zip(mine.names, mine.velocities, strict=True):
        if name in rows:
            velocities[rows[name]] = row
    gap = np.abs(velocities.T @ np.array(theirs["matrix"]) @ velocities - mine.matrix)
    return float((gap / _scale(mine.matrix)).max())


def _scale(matrix: Array) -> Array:
    """The roots of products of diagonal entries, no entry being larger; 1 for what has no mass."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    size[size == 0.0] = 1.0
    return np.outer(size, size)
