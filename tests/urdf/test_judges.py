"""Foreign readers judge what we write: MuJoCo, DART and Pinocchio see the same masses at the same places.

Pinocchio is asked where it is installed, or where EXOSKEL_PINOCCHIO names a Python that has it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exoskel import Joint, Kinematics, Model, Scene, spatial
from exoskel.scene.summary import moments
from tests.urdf.support import FILES, in_urdf, random_positions, read_text, sample, written
from tests.urdf.test_round_trip import JOINTS, rig

TOLERANCE = 1e-9
ROUNDS = 3
WORKERS = Path(__file__).parent
PINOCCHIO = os.environ.get("EXOSKEL_PINOCCHIO") or (
    sys.executable if importlib.util.find_spec("pinocchio") is not None else ""
)

Case = tuple[Path, Model, list[np.ndarray]]
"""A file, the robot in it as we read it, and some configurations."""


def prepare(scene: Scene, folder: Path) -> list[Case]:
    """All models of a scene as files; meshes are referred to as they are."""
    made: list[Case] = []
    rng = np.random.default_rng(7)
    for number, model in enumerate(scene.world.models):
        file = folder / f"robot_{number}.urdf"
        text = written(scene, model.name, folder)
        file.write_text(text, encoding="utf-8")
        robot = read_text(text, folder=folder).world.models[0]
        made.append((file, robot, [in_urdf(model, random_positions(model, rng)) for _ in range(ROUNDS)]))
    return made


def rigs(folder: Path) -> list[Case]:
    made: list[Case] = []
    for case in JOINTS:
        own = folder / case
        own.mkdir()
        made += prepare(rig(case), own)
    return made


SOURCES = [*FILES, "rigs"]


@pytest.fixture(params=SOURCES, ids=[s if isinstance(s, str) else s.stem for s in SOURCES])
def robots(request: pytest.FixtureRequest, tmp_path: Path) -> list[Case]:
    return rigs(tmp_path) if request.param == "rigs" else prepare(sample(request.param), tmp_path)


def close(one: Any, other: Any) -> bool:
    return bool(np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE))


def by_joint(robot: Model, q: np.ndarray) -> dict[str, tuple[Joint, np.ndarray]]:
    cuts = np.cumsum([joint.dof_count for joint in robot.joints])[:-1]
    return {joint.name: (joint, own) for joint, own in zip(robot.joints, np.split(q, cuts), strict=True)}


def floating(joint: Joint, q: np.ndarray) -> np.ndarray:
    """Where a floating joint of the world puts its link."""
    motion = spatial.transform(spatial.exp(q[:3]), q[3:])
    placed: np.ndarray = joint.child.pose.matrix() @ motion
    return placed


# --- MuJoCo -------------------------------------------------------------------------------------------


def test_mujoco_sees_the_same(robots: list[Case]) -> None:
    import mujoco

    for file, robot, configurations in robots:
        spec = mujoco.MjSpec.from_file(str(file))
        spec.compiler.fusestatic = False
        spec.compiler.discardvisual = False
        spec.strippath = False
        model = spec.compile()
        data = mujoco.MjData(model)
        numbers = [model.body(body.name).id for body in robot.bodies]
        assert close(model.body_mass[numbers], [body.mass for body in robot.bodies])
        for q in configurations:
            set_mujoco(model, data, robot, q)
            mujoco.mj_kinematics(model, data)
            poses = spatial.transform(data.xmat[numbers].reshape(-1, 3, 3), data.xpos[numbers])
            assert close(poses, Kinematics([robot]).poses(q)), file.name
        check_mujoco_inertia(model, robot, numbers)


def check_mujoco_inertia(model: Any, robot: Model, numbers: Sequence[int]) -> None:
    own = spatial.moment_matrix(moments(robot.bodies))
    for number, body, tensor in zip(numbers, robot.bodies, own, strict=True):
        turn = spatial.quaternion_matrix(model.body_iquat[number])
        theirs = spatial.rotate_moment(turn, np.diag(model.body_inertia[number]))
        assert close(model.body_ipos[number], body.com)
        assert close(theirs, tensor), body.name


def set_mujoco(model: Any, data: Any, robot: Model, q: np.ndarray) -> None:
    for name, (joint, own) in by_joint(robot, q).items():
        if joint.kind == "weld":
            continue
        at = model.joint(name).qposadr[0]
        if joint.kind == "free":
            data.qpos[at : at + 7] = spatial.pose7(floating(joint, own))
        else:
            data.qpos[at] = own[0]


# --- DART and Pinocchio, each in a process of its own -------------------------------------------------


def ask(python: str, worker: str, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(
        [python, str(WORKERS / worker)], input=lines, capture_output=True, text=True, timeout=120, check=False
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(requests), f"it ends with {done.returncode}: {done.stderr[-500:]}"
    return answers


def judge(robot: Model, configurations: list[np.ndarray], answer: dict[str, Any]) -> None:
    assert "failed" not in answer, answer
    tensors = spatial.moment_matrix(moments(robot.bodies))
    for body, tensor in zip(robot.bodies, tensors, strict=True):
        theirs = answer["bodies"][body.name]
        assert close(body.mass, theirs["mass"])
        assert close(body.com, theirs["com"]) or body.mass == 0.0
        assert close(tensor, theirs["moment"]), body.name
    for q, poses in zip(configurations, answer["poses"], strict=True):
        own = Kinematics([robot]).poses(q)
        assert close([poses[body.name] for body in robot.bodies], own)


@pytest.mark.skipif(importlib.util.find_spec("dartpy") is None, reason="dartpy is not installed")
def test_dart_sees_the_same(robots: list[Case]) -> None:
    requests = [
        {
            "file": str(file),
            "positions": [dict(zip(robot.dof_names, q.tolist(), strict=True)) for q in configurations],
        }
        for file, robot, configurations in robots
        if robot.bodies
    ]
    for (_, robot, configurations), answer in zip(robots, ask(sys.executable, "dart_worker.py", requests), strict=True):
        judge(robot, configurations, answer)
        for joint in robot.joints:
            if joint.kind in ("revolute", "prismatic"):
                low, high, damping = answer["dofs"][joint.name]
                stated = np.nan_to_num(joint.dofs[0].position_limits, posinf=1e30, neginf=-1e30)
                unlimited = joint.kind == "revolute" and not np.isfinite(joint.dofs[0].position_limits).any()
                assert unlimited or close((low, high), stated)
                assert close(damping, joint.dofs[0].damping)


@pytest.mark.skipif(not PINOCCHIO, reason="Pinocchio is not installed")
def test_pinocchio_sees_the_same(robots: list[Case]) -> None:
    requests = [
        {"file": str(file), "positions": [pinocchio_positions(robot, q) for q in configurations]}
        for file, robot, configurations in robots
    ]
    for (_, robot, configurations), answer in zip(robots, ask(PINOCCHIO, "pinocchio_worker.py", requests), strict=True):
        assert "failed" not in answer, answer
        for q, poses in zip(configurations, answer["poses"], strict=True):
            assert close([poses[body.name] for body in robot.bodies], Kinematics([robot]).poses(q))
        # Pinocchio adds what is welded on to the body that carries it.
        carrying = {id(joint.parent) for joint in robot.joints if joint.kind == "weld"}
        for joint in robot.joints:
            if joint.kind != "weld" and id(joint.child) not in carrying:
                theirs = answer["joints"][joint.name]
                assert close(joint.child.mass, theirs["mass"])
                assert close(joint.child.com, theirs["com"])
                assert close(spatial.moment_matrix(joint.child.moment), theirs["moment"]), joint.name


def pinocchio_positions(robot: Model, q: np.ndarray) -> dict[str, Any]:
    """Numbers; of floating joints the motion, without where it starts from."""
    return {
        name: spatial.transform(spatial.exp(own[:3]), own[3:]).tolist() if joint.kind == "free" else own[0]
        for name, (joint, own) in by_joint(robot, q).items()
        if joint.kind != "weld"
    }
