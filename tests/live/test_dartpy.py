"""Scenes as worlds of dartpy, compared with what DART's own parser reads."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from tests.support.places import SAMPLES

NOT_IN_SKEL = ("screw", "translational2d")
"""Joints that DART has, but its parser does not read."""


def skeletons(world: Any) -> list[Any]:
    return [world.getSkeleton(index) for index in range(world.getNumSkeletons())]


def poses(world: Any) -> np.ndarray:
    nodes = [one.getBodyNode(index) for one in skeletons(world) for index in range(one.getNumBodyNodes())]
    return np.array([node.getWorldTransform().matrix() for node in nodes])


def read_by_dart(file: Path, scene: exoskel.Scene) -> Any:
    import dartpy

    world = dartpy.utils.SkelParser.readWorld(str(file))
    for skeleton, model in zip(skeletons(world), scene.world.models, strict=True):
        for joint in (skeleton.getJoint(index) for index in range(skeleton.getNumJoints())):
            joint.setLimitEnforcement(model.joint(joint.getName()).limits_enforced)
    return world


def dart_files() -> list[Path]:
    files = sorted((SAMPLES / "skel").glob("*.skel"))
    return [file for file in files if not any(f'type="{kind}"' in file.read_text() for kind in NOT_IN_SKEL)]


@pytest.mark.parametrize("file", dart_files(), ids=lambda file: file.stem)
def test_the_world_is_and_moves_like_the_one_that_dart_reads(file: Path) -> None:
    pytest.importorskip("dartpy")
    scene = exoskel.load(file)
    made = exoskel.to_dartpy(scene)
    wanted = read_by_dart(file, scene)
    np.testing.assert_allclose(poses(made.world), poses(wanted), atol=1e-12)
    soft = {model.name for model in scene.world.models if any(body.soft for body in model.bodies)}
    for mine, theirs in zip(skeletons(made.world), skeletons(wanted), strict=True):
        if mine.getName() not in soft:
            np.testing.assert_allclose(mine.getMassMatrix(), theirs.getMassMatrix(), atol=1e-10)
    for _ in range(100):
        made.world.step()
        wanted.step()
    rigid = [mine.getName() not in soft for mine in skeletons(made.world) for _ in range(mine.getNumBodyNodes())]
    np.testing.assert_allclose(poses(made.world)[rigid], poses(wanted)[rigid], atol=1e-9)


@pytest.mark.parametrize(
    "name", ["skel/gantry.skel", "skel/screw_press.skel", "xode/rope_bridge.xode", "xode/trimesh_terrain.xode"]
)
def test_bodies_are_found_by_path_where_the_scene_has_them(name: str) -> None:
    pytest.importorskip("dartpy")
    world = exoskel.load(SAMPLES / name).world
    made = exoskel.to_dartpy(world)
    paths = [f"{model.name}/{body.name}" for model in world.models for body in model.bodies]
    found = [made.body(path).getWorldTransform().matrix() for path in paths]
    np.testing.assert_allclose(found, exoskel.Kinematics(world.models).poses(), atol=1e-12)
    assert {joint.name for model in world.models for joint in model.joints if not joint.loop} == {
        made.joint(path).getName() for path in made.names["joint"]
    }


def test_a_ball_that_closes_a_loop_stays_closed() -> None:
    pytest.importorskip("dartpy")
    world = exoskel.World("loop")
    model = world.add_model("swing")
    hinge = {"joint": "revolute", "axis": (0, 1, 0), "mass": 1.0}
    left = model.add_body("left", at=(0, 0, 0), joint_at=(0, 0, 1), **hinge)
    bar = model.add_body("bar", parent=left, at=(0.5, 0, 0), joint_at=(-0.5, 0, 0), **hinge)
    right = model.add_body("right", at=(1, 0, 0), joint_at=(0, 0, 1), **hinge)
    model.add_joint("pin", "ball", child=right, parent=bar)
    model.joint("left_joint").velocities = (1.0,)
    model.joint("bar_joint").velocities = (-1.0,)
    model.joint("right_joint").velocities = (1.0,)
    made = exoskel.to_dartpy(world)
    start = made.body("swing/left").getWorldTransform().matrix()
    for _ in range(200):
        made.world.step()
    ends = [
        made.body(f"swing/{name}").getWorldTransform().multiply(np.array(point))
        for name, point in (("bar", (0.5, 0, 0)), ("right", (0, 0, 0)))
    ]
    assert np.abs(made.body("swing/left").getWorldTransform().matrix() - start).max() > 0.1
    assert np.linalg.norm(ends[0] - ends[1]) < 5e-3
    assert not made.losses


def test_bodies_of_an_exempt_group_do_not_collide() -> None:
    pytest.importorskip("dartpy")
    heights = {}
    for groups in ([], [("slab", "ball")]):
        world = exoskel.World("w", collision_exempt_groups=groups)
        world.add_model("slab", static=True).add_body("slab", shapes=[exoskel.Box((2, 2, 0.2))], joint="weld")
        world.add_model("ball").add_body("ball", at=(0, 0, 0.3), shapes=[exoskel.Sphere(0.2)])
        made = exoskel.to_dartpy(world)
        for _ in range(300):
            made.world.step()
        heights[bool(groups)] = float(made.body("ball/ball").getWorldTransform().translation()[2])
    assert heights[False] > 0.25
    assert heights[True] < 0.0


def test_what_dartpy_lacks_is_a_loss() -> None:
    pytest.importorskip("dartpy")
    losses = exoskel.to_dartpy(exoskel.load("dart://sample/skel/soft_bodies.skel")).losses
    assert any("soft bodies are not supported" in loss for loss in losses)


@pytest.mark.parametrize(
    ("function", "package", "extra"),
    [
        (exoskel.to_dartpy, "dartpy", "dart"),
        (exoskel.to_newton, "newton", "newton"),
        (exoskel.to_pinocchio, "pinocchio", "pinocchio"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(
    function: Any, package: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(exoskel.ExoskelError, match=rf"is not installed: pip install 'exoskel\[{extra}\]'"):
        function(exoskel.load("dart://sample/skel/pendulum.skel"))


@pytest.mark.parametrize("function", [exoskel.to_dartpy, exoskel.to_newton, exoskel.to_pinocchio])
def test_scenes_with_several_worlds_are_refused(function: Any) -> None:
    world = exoskel.load("dart://sample/skel/cart_pole.skel").world
    with pytest.raises(exoskel.ExoskelError, match=r"2 worlds; pass one of them, such as scene.worlds\[0\]"):
        function(exoskel.Scene([world, exoskel.World("other")]))
