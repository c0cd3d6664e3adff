"""ODE as an oracle, through PyODE in a system Python that has it."""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exoskel import Joint, Kinematics, Model, Scene, spatial
from tests.support.geometry import spatial_inertia

WORKER = Path(__file__).with_name("pyode_worker.py")
PYTHONS = ("/usr/bin/python3", "python3")
POSE_TOLERANCE = 1e-9
MASS_TOLERANCE = 1e-12
"""Relative."""


@functools.cache
def python() -> str:
    """A Python that has PyODE and its XODE reader, or an empty string."""
    for candidate in PYTHONS:
        found = shutil.which(candidate)
        if (
            found
            and subprocess.run([found, "-c", "import ode, xode"], capture_output=True, check=False).returncode == 0
        ):
            return found
    return ""


def ask(requests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The answers to some requests; a crash of ODE is an answer too."""
    answers: list[dict[str, Any]] = []
    while len(answers) < len(requests):
        lines = "".join(json.dumps(request) + "\n" for request in requests[len(answers) :])
        done = subprocess.run(
            [python(), str(WORKER)], input=lines, capture_output=True, text=True, check=False, timeout=120
        )
        answers += [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode:
            answers.append({"failed": f"crashes with signal {-done.returncode}"})
    return answers


# --- how PyODE's reader reads a file ------------------------------------------------------------------


def differences(scene: Scene, answer: dict[str, Any]) -> list[str]:
    """All differences between a scene read in dialect pyode and PyODE's own results."""
    found: list[str] = []
    bodies = {body.name: body for world in scene.worlds for body in world.bodies()}
    for theirs in answer["bodies"]:
        body = bodies.get(theirs["name"])
        if body is None:
            found.append(f"no body {theirs['name']}")
            continue
        pose = body.pose.matrix()
        found += _off(f"{body.name}.position", pose[:3, 3], theirs["position"], POSE_TOLERANCE)
        found += _off(f"{body.name}.rotation", pose[:3, :3].ravel(), theirs["rotation"], POSE_TOLERANCE)
        found += mass_differences(body.name, spatial_inertia(body), theirs)
    ours = sorted(
        (j for w in scene.worlds for j in w.joints() if not j.implicit and j.node != j.child.node),
        key=lambda joint: joint.node,
    )
    for joint, theirs in zip(ours, answer["joints"], strict=True):
        found += _joint_differences(joint, theirs)
    return found


def mass_differences(name: str, inertia: np.ndarray, theirs: dict[str, Any]) -> list[str]:
    """A spatial inertia about the body origin against ODE's mass, relative to its size."""
    total = inertia[3, 3]
    centre = np.array([inertia[2, 4], inertia[0, 5], inertia[1, 3]]) / total
    found = _off(f"{name}.mass", total, theirs["mass"], MASS_TOLERANCE * total)
    found += _off(f"{name}.centre", centre, theirs["centre"], MASS_TOLERANCE * max(1.0, np.abs(centre).max()))
    size = np.abs(inertia[:3, :3]).max()
    return found + _off(f"{name}.inertia", inertia[:3, :3], theirs["inertia"], MASS_TOLERANCE * size)


def _joint_differences(joint: Joint, theirs: dict[str, Any]) -> list[str]:
    name = joint.name
    found: list[str] = []
    ends = {joint.child.name, joint.parent.name if joint.parent else None}
    if ends != set(theirs["bodies"]):
        found.append(f"{name} ties {ends}, not {theirs['bodies']}")
    frame = joint.child.pose.matrix() @ joint.pose.matrix()
    if "anchor" in theirs:
        found += _off(f"{name}.anchor", frame[:3, 3], theirs["anchor"], POSE_TOLERANCE)
    sign = 1.0 if joint.child.name == theirs["bodies"][0] else -1.0
    for axis, method in zip(
        joint.axes, ("getAxis1", "getAxis2") if len(joint.axes) > 1 else ("getAxis",), strict=False
    ):
        if method in theirs:
            found += _off(
                f"{name}.{method}", sign * (frame[:3, :3] @ spatial.unit(axis)), theirs[method], POSE_TOLERANCE
            )
    return found


def _off(what: str, ours: Any, theirs: Any, tolerance: float) -> list[str]:
    worst = float(np.abs(np.asarray(ours, dtype=float) - np.asarray(theirs, dtype=float)).max())
    return [f"{what}: off by {worst:.2e}"] if not worst <= tolerance else []


# --- what ODE measures on a joint ---------------------------------------------------------------------


def probe_of(
    model: Model, name: str, kind: str, ends: tuple[int, int], anchor: Any, axes: Any, q: Sequence[float]
) -> dict[str, Any]:
    """A request that moves the bodies of a model by our own kinematics and has ODE measure the joint.

    `ends` are the joint's two bodies by their place in the model (-1: the environment).
    """
    kinematics = Kinematics([model])
    joint = model.joint(name)
    first = int(kinematics.first_dof[[j.name for j in model.joints if not j.loop].index(name)])
    start = kinematics.poses()
    positions = kinematics.initial.copy()
    positions[first : first + joint.dof_count] = q
    step = 1e-6
    forward, backward = (kinematics.initial.copy() for _ in range(2))
    forward[first : first + joint.dof_count] = step * np.asarray(q)
    backward[first : first + joint.dof_count] = -step * np.asarray(q)
    ahead, behind = kinematics.poses(forward), kinematics.poses(backward)
    twists = []
    for one, two, now in zip(ahead, behind, start, strict=True):
        spin = spatial.log(one[:3, :3] @ two[:3, :3].T) / (2 * step)
        twists.append((spin.tolist(), ((one[:3, 3] - two[:3, 3]) / (2 * step)).tolist()))
        assert now is not None
    return {
        "kind": kind,
        "ends": list(ends),
        "anchor": anchor,
        "axes": axes,
        "start": [_pose(pose) for pose in start],
        "moved": [_pose(pose) for pose in kinematics.poses(positions)],
        "twists": twists,
    }


def _pose(matrix: np.ndarray) -> dict[str, Any]:
    return {"position": matrix[:3, 3].tolist(), "rotation": matrix[:3, :3].ravel().tolist()}
