"""Others judge what we write: Pixar's own parser of UsdPhysics, and Newton.

Newton is asked where it is installed, or where EXOSKEL_NEWTON names a Python that has it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel import Kinematics, Scene, World, spatial
from exoskel.scene.joint import Joint
from exoskel.scene.motion import twists
from exoskel.scene.summary import moments
from tests.support.scenes import all_files, name_of
from tests.usd.support import close, lowered, paths, save, stage_of, written

pytest.importorskip("pxr", reason="usd-core is not installed")

SINGLE = 1e-6
NEWTON = os.environ.get("EXOSKEL_NEWTON") or (sys.executable if importlib.util.find_spec("newton") is not None else "")
FILES = [file for file in all_files() if len(exoskel.load(file).worlds) == 1]


def transform(xyz_xyzw: Any) -> np.ndarray:
    """A pose as Newton has it."""
    x, y, z, w = xyz_xyzw[3:]
    return spatial.transform(spatial.quaternion_matrix([w, x, y, z]), xyz_xyzw[:3])


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_the_parser_of_usdphysics_sees_the_same_things(file: Path) -> None:
    from pxr import UsdPhysics

    world = exoskel.load(file).world
    layer, _ = written(Scene([world]))
    stage = stage_of(layer)
    found = UsdPhysics.UsdPhysicsLoadStageFromPrimRange(stage, ["/"])
    kinds = UsdPhysics.ObjectType
    seen = {kind: dict(zip(map(str, where), described, strict=True)) for kind, (where, described) in found.items()}
    assert all(one.isValid for group in seen.values() for one in group.values())
    simple = lowered(world)
    moving = [body for model in simple.models if not model.static for body in model.bodies]
    assert len(seen.get(kinds.RigidBody, {})) == len(moving)
    where = paths(layer)
    poses = dict(zip(map(id, world.bodies()), Kinematics(world.models).poses(), strict=True))
    for body in (body for model in world.models if not model.static for body in model.bodies):
        one = seen[kinds.RigidBody][where[id(body)]]
        assert close(poses[id(body)][:3, 3], np.array(one.position), SINGLE)
        assert len(one.collisions) == sum(id(shape) in where for shape in body.collisions)
    articulated = [model for model in world.models if "PhysicsArticulationRootAPI" in _apis(stage, where[id(model)])]
    assert len(seen.get(kinds.Articulation, {})) == len(articulated)


def _apis(stage: Any, path: str) -> list[str]:
    return list(stage.GetPrimAtPath(path).GetAppliedSchemas())


# --- Newton -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, World, dict[int, str], dict[str, Any]]]:
    """All files at once: starting Newton takes longer than reading them."""
    folder = tmp_path_factory.mktemp("newton")
    cases = []
    for number, file in enumerate(FILES):
        world = exoskel.load(file).world
        made = folder / f"{number}.usda"
        cases.append((file, world, paths(save(Scene([world]), made)), made))
    lines = "".join(json.dumps({"file": str(made)}) + "\n" for *_, made in cases)
    worker = Path(__file__).parent / "newton_worker.py"
    done = subprocess.run([NEWTON, str(worker)], input=lines, capture_output=True, text=True, timeout=900, check=False)
    told = [json.loads(line[1:]) for line in done.stdout.splitlines() if line.startswith("@")]
    assert len(told) == len(cases), done.stderr[-500:]
    return [(file, world, where, answer) for (file, world, where, _), answer in zip(cases, told, strict=True)]


def is_sound(tensor: np.ndarray, mass: float) -> bool:
    """Newton puts right what belongs to no real thing."""
    low, middle, high = np.linalg.eigvalsh(tensor)
    return mass > 0.0 and low > 1e-6 * high and low + middle > (1.0 + 1e-6) * high


def motions(world: World) -> dict[int, list[float]]:
    """Velocity of the centre of mass, and angular velocity, of each body, by id."""
    kinematics = Kinematics(world.models)
    stated = {id(b): (b.state.linear_velocity, b.state.angular_velocity) for b in world.bodies() if b.state}
    found = twists(world.models, kinematics, stated)
    out = {}
    for body, pose in zip(world.bodies(), kinematics.poses(), strict=True):
        speed, spin = map(np.array, found.get(id(body), ((0.0,) * 3, (0.0,) * 3)))
        out[id(body)] = [*(speed + np.cross(spin, pose[:3, :3] @ body.com)), *spin]
    return out


_TYPES = {
    "weld": ("FIXED", 0),
    "revolute": ("REVOLUTE", 1),
    "prismatic": ("PRISMATIC", 1),
    "ball": ("BALL", 3),
    "universal": ("D6", 2),
    "euler": ("D6", 3),
    "planar": ("D6", 3),
    "translational": ("D6", 3),
    "translational2d": ("D6", 2),
}
_UNSTATED = ("ball", "planar", "translational", "translational2d", "free", "screw")
"""Joints whose positions Newton has no words for: it starts them at zero in its own kinematics."""


@pytest.mark.skipif(not NEWTON, reason="Newton is not installed")
def test_newton_sees_the_same_bodies(answers: Any) -> None:
    for file, world, where, answer in answers:
        assert "failed" not in answer, (file, answer)
        moving = [body for model in world.models if not model.static for body in model.bodies]
        added = len([b for m in lowered(world).models if not m.static for b in m.bodies]) - len(moving)
        assert len(answer["bodies"]) == len(moving) + added, file
        poses = dict(zip(map(id, world.bodies()), Kinematics(world.models).poses(), strict=True))
        moved = motions(world)
        tensors = dict(zip(map(id, moving), spatial.moment_matrix(moments(moving)), strict=True))
        for body in moving:
            theirs = answer["bodies"][where[id(body)]]
            assert close(moved[id(body)], theirs["motion"], SINGLE), (file, body.name)
            assert close(poses[id(body)], transform(theirs["pose"]), SINGLE), (file, body.name)
            if is_sound(tensors[id(body)], body.mass):
                assert close(body.mass, theirs["mass"], SINGLE)
                assert close(body.com, theirs["com"], SINGLE)
                assert close(tensors[id(body)], theirs["moment"], SINGLE), (file, body.name)


def _is_elsewhere(joint: Joint) -> bool:
    """Whether Newton's own kinematics cannot start where the scene does.

    A generic joint of the world whose frame is the world's it takes to be at zero where its body stands.
    """
    unstated = joint.kind in (*_UNSTATED, "hinge2") or (joint.parent is None and joint.kind in ("universal", "euler"))
    return (unstated and any(joint.positions)) or joint.loop or joint.mimic is not None


@pytest.mark.skipif(not NEWTON, reason="Newton is not installed")
def test_newton_has_the_same_joints_and_kinematics(answers: Any) -> None:
    followed = 0
    for file, world, where, answer in answers:
        joints: list[Joint] = [joint for joint in world.joints() if id(joint) in where and joint.kind in _TYPES]
        for joint in joints:
            theirs = answer["joints"][where[id(joint)]]
            assert (theirs["type"], theirs["dofs"]) == _TYPES[joint.kind], (file, joint)
        for model in (model for model in world.models if not model.static):
            if any(_is_elsewhere(joint) for joint in model.joints):
                continue
            poses = Kinematics([model]).poses()
            for body, pose in zip(model.bodies, poses, strict=True):
                assert close(pose, transform(answer["poses"][where[id(body)]]), 10 * SINGLE), (file, body.name)
                followed += 1
    assert followed > 100
