"""DART as an oracle, in a child process, because it crashes and hangs on invalid input."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from exoskel import Kinematics, Scene

WORKER = Path(__file__).with_name("dart_worker.py")
TOLERANCE = 1e-9


def available() -> bool:
    return importlib.util.find_spec("dartpy") is not None


def ask(file: Path, configurations: int = 20, seed: int = 0, timeout: float = 60) -> dict[str, Any]:
    """How DART reads a file, or `{"failed": reason}`; crashes and hangs are reasons too."""
    request = json.dumps({"file": str(file), "configurations": configurations, "seed": seed}) + "\n"
    try:
        done = subprocess.run(
            [sys.executable, str(WORKER)], input=request, capture_output=True, text=True, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return {"failed": "hangs"}
    if not done.stdout.strip():
        return {"failed": f"crashes with signal {-done.returncode}" if done.returncode < 0 else "gives no answer"}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def answers(requests: Sequence[str], timeout: float = 600) -> list[dict[str, Any]]:
    """The answers to several requests (see dart_worker.py), from one process."""
    done = subprocess.run(
        [sys.executable, str(WORKER)],
        input="".join(request + "\n" for request in requests),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(requests), f"DART ended with {done.returncode} at request {len(found)}"
    return found


def differences(scene: Scene, dart: dict[str, Any]) -> list[str]:
    """All differences between a scene read as `dart` and DART's own results."""
    world = scene.world
    found = _unequal("gravity", world.gravity, dart["gravity"]) + _unequal("step", world.time_step, dart["time_step"])
    if [m.name for m in world.models] != [m["name"] for m in dart["models"]]:
        return [*found, "the models differ"]
    for model, theirs in zip(world.models, dart["models"], strict=True):
        found += [f"{model.name}: {text}" for text in _model_differences(model, theirs)]
    return found


def _model_differences(model: Any, theirs: dict[str, Any]) -> list[str]:
    found: list[str] = []
    if model.static is not theirs["static"]:
        found.append("static")
    for kind in ("bodies", "joints"):
        ours_names = [item.name for item in getattr(model, kind)]
        if ours_names != [item["name"] for item in theirs[kind]]:
            return [*found, f"{kind}: {ours_names}"]
    for body, other in zip(model.bodies, theirs["bodies"], strict=True):
        found += _unequal(f"{body.name}.mass", body.mass, other["mass"])
        found += _unequal(f"{body.name}.com", body.com, other["com"])
        found += _unequal(f"{body.name}.moment", body.moment, other["inertia"])
        if body.gravity is not other["gravity"]:
            found.append(f"{body.name}.gravity")
    for joint, other in zip(model.joints, theirs["joints"], strict=True):
        found += _joint_differences(joint, other)
    return found + _pose_differences(model, theirs)


def _joint_differences(joint: Any, other: dict[str, Any]) -> list[str]:
    found: list[str] = []
    if (joint.parent.name if joint.parent else None, joint.child.name) != (other["parent"], other["child"]):
        found.append(f"{joint.name}: ends")
    if (joint.dof_count, joint.dof_names) != (other["dofs"], other["dof_names"]):
        found.append(f"{joint.name}: {joint.dof_names} against {other['dof_names']}")
        return found
    found += _unequal(f"{joint.name}.positions", joint.positions, other["positions"])
    found += _unequal(f"{joint.name}.velocities", joint.velocities, other["velocities"])
    for field in ("damping", "friction", "stiffness", "rest"):
        found += _unequal(f"{joint.name}.{field}", [getattr(d, field) for d in joint.dofs], other[field])
    limits = [[v if np.isfinite(v) else None for v in d.position_limits] for d in joint.dofs]
    if limits != other["limits"]:
        found.append(f"{joint.name}: limits {limits} against {other['limits']}")
    return found


def _pose_differences(model: Any, theirs: dict[str, Any]) -> list[str]:
    if not model.bodies:
        return []
    kinematics = Kinematics([model])
    found = _unequal("initial poses", kinematics.poses()[:, :3].reshape(-1, 12), theirs["initial_poses"])
    for configuration in theirs["configurations"]:
        poses = kinematics.poses(configuration["positions"])[:, :3].reshape(-1, 12)
        found += _unequal("poses", poses, configuration["poses"])
    return found


def _unequal(what: str, ours: Any, theirs: Any) -> list[str]:
    ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    if ours.shape != theirs.shape:
        return [f"{what}: shapes {ours.shape} and {theirs.shape}"]
    worst = float(np.abs(ours - theirs).max()) if ours.size else 0.0
    return [f"{what}: off by {worst:.2e}"] if not worst <= TOLERANCE else []
