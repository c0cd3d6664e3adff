"""Compare the answer of an external reader with the expected values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from tests.external.expectation import Array, Expectation, Inertial, InitialState

QUANTITIES = ("mass", "com", "inertia", "pose", "mass_matrix", "dofs", "start")
"""What is compared.

Masses are relative to the body's, moments to its largest, entries of mass matrices to the roots of their diagonals.
Lengths are in m, relative where they are beyond 1 m, and so are the limits and the damping of joints (`dofs`).
Poses are those at random configurations; those at the initial state, and velocities there, are the `start`.
"""
_DOUBLE, _SINGLE = dict.fromkeys(QUANTITIES, 1e-9), dict.fromkeys(QUANTITIES, 1e-6)
BOUNDS = {"mjcf": _DOUBLE, "urdf": _DOUBLE, "sdf": _DOUBLE, "usd": _SINGLE}
"""The largest allowed difference from the scene, by format: USD stores physics in single precision."""

Errors = dict[str, float]


class Comparison(Struct, frozen=True):
    """The largest errors, or why there are none: the reader rejects the file, or finds other bodies in it."""

    errors: Errors
    failed: str = ""
    said: str = ""
    items: dict[str, Errors] = {}
    """The errors of each quantity by the names of bodies; those of `dofs` by joints and fields, such as `hip/damping`."""

    def faults(self, bounds: Errors) -> list[str]:
        """The quantities that exceed their bounds."""
        return [f"{name} off by {error:.1e}" for name, error in self.errors.items() if not error <= bounds[name]]


def compare(expected: Expectation, answer: Mapping[str, Any]) -> Comparison:
    said = answer.get("said", "")
    if "failed" in answer:
        return Comparison({}, answer["failed"], said)
    try:
        items = _errors(expected, answer)
    except LookupError as error:
        return Comparison({}, str(error.args[0]), said)
    return Comparison({name: max(found.values(), default=0.0) for name, found in items.items()}, "", said, items)


def worst(comparisons: list[Comparison]) -> Errors:
    """The largest errors of several comparisons."""
    named = {name for one in comparisons for name in one.errors}
    return {name: max(c.errors.get(name, 0.0) for c in comparisons) for name in QUANTITIES if name in named}


_ANSWERS = {"mass": "bodies", "com": "bodies", "inertia": "bodies", "pose": "poses"}
"""The keys of quantities in an answer, if they differ from their names."""


def _errors(expected: Expectation, answer: Mapping[str, Any]) -> dict[str, Errors]:
    present = [name for name in QUANTITIES if _ANSWERS.get(name, name) in answer]
    found: dict[str, Errors] = {name: {} for name in present if name != "dofs" or expected.dofs}

    def note(name: str, item: str, error: float) -> None:
        found[name][item] = max(found[name].get(item, 0.0), error if np.isfinite(error) else np.inf)

    seen: set[str] = set()
    for entry in answer["bodies"]:
        members = [name for name in entry["bodies"] if name in expected.bodies]
        unknown = [name for name in entry["bodies"] if name not in expected.bodies and name != "world"]
        if unknown and entry["mass"]:
            raise LookupError(f"it finds bodies that are not in the scene: {', '.join(unknown)}")
        seen |= set(members)
        mine = _together(expected, members, entry["frame"])
        if mine is not None:
            note("mass", entry["frame"], abs(entry["mass"] - mine.mass) / (mine.mass or 1.0))
            if mine.mass:
                length = max(1.0, float(np.abs(mine.com).max()))
                note("com", entry["frame"], float(np.abs(np.array(entry["com"]) - mine.com).max()) / length)
                size = float(np.abs(mine.moment).max()) or 1.0
                note("inertia", entry["frame"], float(np.abs(np.array(entry["moment"]) - mine.moment).max()) / size)
    missing = expected.bodies.keys() - seen - expected.scenery
    if missing:
        raise LookupError(f"it does not find {', '.join(sorted(missing))}")
    for configuration, poses in zip(expected.configurations, answer["poses"], strict=True) if "pose" in found else ():
        for name in configuration.poses.keys() - (expected.scenery - poses.keys()):
            note("pose", name, _pose_error(configuration.poses[name], poses[name]))
    if "mass_matrix" in found:
        note("mass_matrix", "", _mass_matrix_error(expected, answer["mass_matrix"]))
    for joint, dof in expected.dofs.items() if "dofs" in found else ():
        low, high, damping = answer["dofs"][joint]
        note("dofs", f"{joint}/damping", _gap(dof.damping, damping))
        if dof.limits is not None:
            note("dofs", f"{joint}/position_limits", max(_gap(dof.limits[0], low), _gap(dof.limits[1], high)))
        for field, value in dof.dynamics.items() if "dynamics" in answer else ():
            note("dofs", f"{joint}/{field}", _gap(value, answer["dynamics"].get(joint, {}).get(field, 0.0)))
    if "start" in found and expected.start is not None:
        note("start", "", _start_error(expected.start, expected.scenery, answer["start"]))
    return found


def _pose_error(mine: Array, theirs: Any) -> float:
    length = max(1.0, float(np.abs(mine[:3, 3]).max()))
    off = np.abs(np.array(theirs) - mine[:3])
    return max(float(off[:, :3].max()), float(off[:, 3].max()) / length)


def _start_error(mine: InitialState, scenery: frozenset[str], theirs: Mapping[str, Any]) -> float:
    """Velocities are compared if the reader reports them."""
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


def _together(expected: Expectation, members: list[str], frame: str) -> Inertial | None:
    """Bodies welded together as one, in the frame of one of them; None if one has no expected mass properties."""
    own = [expected.bodies[name] for name in members]
    if not own or any(one is None for one in own):
        return None
    if members == [frame]:
        return own[0]
    poses = expected.configurations[0].poses
    base = spatial.inverse(poses[frame]) if frame in poses else np.eye(4)
    mass, first, rotated = 0.0, np.zeros(3), []
    for name, one in zip(members, own, strict=True):
        assert one is not None
        place = base @ poses[name]
        com = place[:3, :3] @ one.com + place[:3, 3]
        rotated.append((one.mass, com, spatial.rotate_moment(place[:3, :3], one.moment)))
        mass, first = mass + one.mass, first + one.mass * com
    centre = first / mass if mass else first
    moment = sum((m + w * spatial.point_moment(c - centre) for w, c, m in rotated), np.zeros((3, 3)))
    return Inertial(mass, centre, moment)


def _mass_matrix_error(expected: Expectation, theirs: Mapping[str, Any]) -> float:
    mine = expected.mass_matrix
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
    """The roots of products of diagonal entries, which bound the entries; 1 where there is no mass."""
    size = np.sqrt(np.abs(np.diag(matrix)))
    size[size == 0.0] = 1.0
    return np.outer(size, size)
