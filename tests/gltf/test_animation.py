"""Motions as animations: keyframes are the poses, and interpolation takes the shorter arc."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import Box, Pose, Scene, World
from exoskel.diagnostics import ExoskelError
from exoskel.formats.gltf.animation import Motion
from exoskel.formats.gltf.write import write
from exoskel.source.output_context import OutputContext
from exoskel.spatial import euler_matrix, pose7, transform
from exoskel.view.render import animate
from tests.gltf.reader import Glb, rotation
from tests.support.places import SAMPLES


def boxes(count: int) -> World:
    world = World()
    for i in range(count):
        world.add_model(f"m{i}").add_body("box", pose=Pose((float(i), 0.0, 0.0)), shapes=[Box((1, 1, 1))])
    return world


def rotating_boxes(frames: int, bodies: int) -> tuple[np.ndarray, np.ndarray]:
    """Times, and poses that rotate several full turns."""
    rng = np.random.default_rng(1)
    times = np.linspace(0.0, 2.0, frames)
    speed = rng.uniform(-20, 20, (bodies, 3))
    turns = euler_matrix(times[:, None, None] * speed)
    return times, transform(turns, times[:, None, None] * rng.uniform(-5, 5, (bodies, 3)))


def animated(world: World, motion: Motion) -> tuple[Glb, list[str]]:
    output = OutputContext()
    data = write(Scene(worlds=[world]), output, motion=motion)
    return Glb(data), [loss.reason for loss in output.losses]


def keys(glb: Glb, times: np.ndarray) -> np.ndarray:
    """The pose of every body at every time, from its keyframes or its node."""
    still, channels = glb.body_poses(), glb.channels()
    out = np.tile(still, (len(times), 1, 1, 1))
    for number, node in enumerate(glb.bodies()):
        for path in ("translation", "rotation"):
            if (node, path) not in channels:
                continue
            at, values = channels[node, path]
            np.testing.assert_allclose(at, times, rtol=1e-7, atol=1e-7)
            for frame, value in enumerate(values):
                if path == "translation":
                    out[frame, number, :3, 3] = value
                else:
                    out[frame, number, :3, :3] = rotation(value)
    return out


@pytest.mark.parametrize("form", ["matrices", "rows"])
def test_keyframes_are_the_poses(form: str) -> None:
    times, poses = rotating_boxes(60, 4)
    glb, losses = animated(boxes(4), Motion(times, poses if form == "matrices" else pose7(poses)))
    np.testing.assert_allclose(keys(glb, times), poses, rtol=0, atol=1e-6)
    assert not losses


def test_consecutive_quaternions_have_the_same_sign() -> None:
    times, poses = rotating_boxes(200, 6)
    glb, _ = animated(boxes(6), Motion(times, poses))
    turned = [values for (_, path), (_, values) in glb.channels().items() if path == "rotation"]
    assert len(turned) == 6
    for values in turned:
        assert (np.sum(values[1:] * values[:-1], axis=1) > 0.0).all()
        np.testing.assert_allclose(np.linalg.norm(values, axis=1), 1.0, rtol=0, atol=1e-6)
    assert any((values[:, 3] < 0.0).any() for values in turned), "the motion rotates far enough to show it"


def test_a_body_that_does_not_move_has_no_keyframes() -> None:
    world = boxes(3)
    times = np.array([0.0, 1.0])
    poses = np.tile(exoskel.Kinematics(world.models).poses(), (2, 1, 1, 1))
    poses[1, 1, :3, 3] += 1.0
    glb, _ = animated(world, Motion(times, poses))
    assert set(glb.channels()) == {(glb.bodies()[1], "translation")}
    still, _ = animated(world, Motion(times, np.tile(poses[0], (2, 1, 1, 1))))
    assert "animations" not in still.document


def test_a_still_body_has_its_pose_of_the_motion() -> None:
    world = boxes(1)
    poses = np.tile(np.eye(4), (2, 1, 1, 1))
    poses[:, 0, :3, 3] = [5.0, 6.0, 7.0]
    glb, _ = animated(world, Motion([0.0, 1.0], poses))
    np.testing.assert_allclose(keys(glb, np.array([0.0, 1.0])), poses, rtol=0, atol=1e-6)


def test_all_bodies_share_their_keyframe_times() -> None:
    times, poses = rotating_boxes(10, 5)
    glb, _ = animated(boxes(5), Motion(times, poses))
    (animation,) = glb.document["animations"]
    assert len({sampler["input"] for sampler in animation["samplers"]}) == 1
    assert len(animation["samplers"]) == 10


def test_frames_with_equal_times_in_single_precision_are_skipped_and_reported() -> None:
    times = 100_000.0 + np.arange(10) * 1e-3
    poses = np.tile(np.eye(4), (10, 1, 1, 1))
    poses[:, 0, 0, 3] = np.arange(10)
    glb, losses = animated(boxes(1), Motion(times, poses))
    ((at, values),) = glb.channels().values()
    assert (np.diff(at) > 0.0).all()
    assert len(at) == len(values) < 10
    assert losses == [
        f"{10 - len(at)} frames are skipped: in single precision their times equal those before them (GL206)"
    ]


@pytest.mark.parametrize(
    ("times", "shape", "reason"),
    [
        ([0.0, 1.0], (2, 3, 7), "the motion has 3 bodies, but the world has 2"),
        ([0.0, 1.0], (3, 2, 7), "poses must have the shape"),
        ([0.0, 1.0], (2, 2, 6), "poses must have the shape"),
        ([], (0, 2, 7), "poses must have the shape"),
        ([1.0, 0.0], (2, 2, 7), "frame 1 does not"),
        ([0.0, 0.0], (2, 2, 7), "frame 1 does not"),
        ([-1.0, 0.0], (2, 2, 7), "the first is -1 s"),
        ([0.0, np.nan], (2, 2, 7), "finite numbers"),
    ],
)
def test_a_motion_of_wrong_shape_is_rejected(times: list[float], shape: tuple[int, ...], reason: str) -> None:
    with pytest.raises(ExoskelError, match=reason):
        animated(boxes(2), Motion(times, np.ones(shape)))


def test_a_motion_out_of_range_is_rejected() -> None:
    poses = np.tile(np.eye(4), (2, 1, 1, 1))
    poses[1, 0, 0, 3] = 1e39
    with pytest.raises(ExoskelError, match="GL102"):
        animated(boxes(1), Motion([0.0, 1.0], poses))


def test_a_motion_needs_a_single_world() -> None:
    times, poses = rotating_boxes(2, 1)
    with pytest.raises(ExoskelError, match="the scene has 2"):
        write(Scene(worlds=[boxes(1), boxes(1)]), OutputContext(), motion=Motion(times, poses))


# --- trajectories -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def falling() -> tuple[Scene, exoskel.Trajectory]:
    scene = exoskel.load(SAMPLES / "skel" / "chain.skel")
    return scene, exoskel.run(scene, 0.5)


def test_a_trajectory_is_animated(falling: tuple[Scene, exoskel.Trajectory], tmp_path: Path) -> None:
    scene, trajectory = falling
    animate(scene, trajectory, tmp_path / "run.glb")
    glb = Glb((tmp_path / "run.glb").read_bytes())
    wanted = trajectory.body_poses
    found = pose7(keys(glb, trajectory.time))
    np.testing.assert_allclose(found[..., :3], wanted[..., :3], rtol=0, atol=1e-6)
    assert np.abs(np.sum(found[..., 3:] * wanted[..., 3:], axis=-1)).min() > 1.0 - 1e-6
    assert len(glb.channels())


def test_a_trajectory_is_resampled(falling: tuple[Scene, exoskel.Trajectory], tmp_path: Path) -> None:
    scene, trajectory = falling
    animate(scene.world, trajectory, tmp_path / "run.glb", rate=20.0)
    (times, _), *_ = Glb((tmp_path / "run.glb").read_bytes()).channels().values()
    np.testing.assert_allclose(times, np.arange(11) / 20.0, rtol=0, atol=1e-6)


def test_a_trajectory_of_another_scene_is_rejected(falling: tuple[Scene, exoskel.Trajectory], tmp_path: Path) -> None:
    scene, trajectory = falling
    names = [pair[1] for pair in trajectory.meta["bodies"]]
    with pytest.raises(ExoskelError, match="GL103"):
        animate(boxes(2), trajectory, tmp_path / "run.glb")
    other = boxes(len(names))
    with pytest.raises(ExoskelError, match="the motion belongs to another scene"):
        animate(other, trajectory, tmp_path / "run.glb")
    with pytest.raises(ExoskelError, match=r"use .glb"):
        animate(scene, trajectory, tmp_path / "run.gltf")
    with pytest.raises(ExoskelError, match="positive"):
        animate(scene, trajectory, tmp_path / "run.glb", rate=0.0)
    assert not list(tmp_path.iterdir())
