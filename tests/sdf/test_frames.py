"""Poses relative to named frames."""

from __future__ import annotations

from math import cos, pi, sin
from pathlib import Path

import numpy as np
import pytest

from exoskel import Kinematics, Scene, spatial
from tests.sdf.documents import CHILD, DOCUMENTS
from tests.sdf.support import link, load_model, load_text, load_world


def load(name: str, folder: Path) -> Scene:
    (folder / "child.sdf").write_text(CHILD)
    scene = load_text(DOCUMENTS[name], folder)
    assert not [str(d) for d in scene.diagnostics if d.key != "SD064.old"]
    return scene


def place(scene: Scene, model: str, body: str) -> np.ndarray:
    models = scene.world.models
    names = [(m.name, b.name) for m in models for b in m.bodies]
    return Kinematics(models).poses()[names.index((model, body))]


def at(x: float, y: float, z: float, roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0) -> np.ndarray:
    turn = spatial.axis_rotation("z", yaw) @ spatial.axis_rotation("y", pitch) @ spatial.axis_rotation("x", roll)
    return spatial.transform(turn, (x, y, z))


MODEL = at(1, 2, 3, 0.1, 0.2, 0.3)
FRAME = at(0, 0, 1, 0, 0.2, 0)
GRIP = at(0, 0, 1) @ at(0, 0, 1, yaw=0.5) @ at(0, 1, 0, 0.3)

PLACES = [
    ("links relative to links", "m", "b", MODEL @ FRAME @ at(0, 1, 0, 0.4)),
    ("links relative to links", "m", "a", MODEL @ FRAME @ at(0, 1, 0, 0.4) @ at(1, 0, 0, yaw=0.7)),
    ("a chain of attached frames", "m", "b", at(1, 0, 0) @ at(0, 0, 3, 1) @ at(0, 2, 0, yaw=1) @ at(0, 0, 1)),
    ("degrees and quaternions", "m", "a", at(1, 2, 3, pi / 2, pi / 6, -pi / 4)),
    ("degrees and quaternions", "m", "b", spatial.transform([[0, 0, 1], [1, 0, 0], [0, 1, 0]], (0, 0, 1))),
    ("models nested twice", "m", "n::b", at(0, 0, 1, yaw=0.2) @ at(1, 0, 0, 0.3) @ at(0, 1, 0)),
    ("models nested twice", "m", "n::o::c", at(0, 0, 1, yaw=0.2) @ at(1, 0, 0, 0.3) @ at(0, 0, 2, 0, 0.4)),
    ("a pose relative to a nested link", "m", "a", at(1, 0, 0, yaw=0.5) @ at(0, 1, 0, 0.5) @ at(0, 0, 1)),
    (
        "a placement frame", "m", "a",
        at(1, 2, 3, yaw=1) @ np.linalg.inv(at(0, 1, 0, 0, 0.3)),
    ),
    ("models relative to frames of the world", "n", "a", at(1, 1, 1, yaw=0.5) @ at(1, 0, 0) @ at(0, 0, 1, 0.5)),
    ("an include", "child", "tip", at(9, 9, 9) @ at(0, 0, 1) @ at(0, 0, 1, yaw=0.5)),
    ("an include", "second", "base", at(1, 0, 0, yaw=1) @ at(0, 0, 1)),
    (
        "an include", "third", "base",
        at(1, 0, 0, yaw=1) @ at(1, 0, 0, yaw=1) @ np.linalg.inv(GRIP) @ at(0, 0, 1),
    ),
    ("an include in a model", "m", "n::base", at(0, 0, 1) @ at(0, 1, 0, yaw=0.5) @ at(0, 0, 1)),
    ("a merged include", "m", "base", at(0, 0, 1) @ at(0, 1, 0, yaw=0.5) @ at(0, 0, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "model", "body", "expected"), PLACES, ids=[f"{p[0]}: {p[2]}" for p in PLACES])
def test_links_have_the_poses_of_their_frames(
    name: str, model: str, body: str, expected: np.ndarray, tmp_path: Path
) -> None:
    assert np.abs(place(load(name, tmp_path), model, body) - expected).max() < 1e-12


def test_a_pose_in_the_default_frame_is_preserved_exactly() -> None:
    read = load_model(link("a", "<pose>0.1 0.2 0.3 0.4 0.5 0.6</pose>"))
    pose = read.body("a").pose
    assert (pose.position, pose.rotation.angles, pose.rotation.order) == ((0.1, 0.2, 0.3), (0.6, 0.5, 0.4), "zyx")
    read.assert_clean()


def test_an_axis_in_another_frame_is_rotated_to_the_joint_frame(tmp_path: Path) -> None:
    scene = load("axes of the model in 1.6", tmp_path)
    axis = scene.world.models[0].joint("j").axes[0]
    assert np.abs(np.subtract(axis, (0.0, sin(0.5), cos(0.5)))).max() < 1e-12


def test_before_1_5_axes_are_in_the_model_frame() -> None:
    turned = link("b", "<pose>0 0 0 0.5 0 0</pose>")
    joint = "<joint name='j' type='revolute'><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>"
    read = load_model(link("a") + turned + joint, version="1.4")
    read.expect("SD005.other")
    assert np.abs(np.subtract(read.joint().axes[0], (0.0, sin(0.5), cos(0.5)))).max() < 1e-12


def test_a_shape_pose_can_be_relative_to_another_frame() -> None:
    shape = '<visual name="v"><pose relative_to="a">0 0 1 0 0 0</pose><geometry><sphere><radius>1</radius></sphere></geometry></visual>'
    read = load_model(link("a", "<pose>1 0 0 0 0 0</pose>") + link("b", "<pose>0 2 0 0 0 0</pose>" + shape))
    assert read.body("b").visuals[0].pose.position == (1.0, -2.0, 1.0)
    read.assert_clean()


def test_a_long_chain_of_frames_is_read() -> None:
    count = 3000
    links = [link("l0")] + [link(f"l{i}", f'<pose relative_to="l{i - 1}">0 0 1 0 0 0</pose>') for i in range(1, count)]
    read = load_model("".join(reversed(links)))
    assert read.body(f"l{count - 1}").pose.position == (0.0, 0.0, count - 1.0)


def test_all_links_have_finite_poses_in_a_cycle_of_frames() -> None:
    read = load_model(
        link("a", '<pose relative_to="b">1 0 0 0 0 0</pose>') + link("b", '<pose relative_to="a">0 1 0 0 0 0</pose>')
    )
    read.expect("SD050.circle")
    assert len(read.model.bodies) == 2
    assert all(np.isfinite(body.pose.position).all() for body in read.model.bodies)


def test_models_are_found_by_folder_and_package(tmp_path: Path) -> None:
    folder = tmp_path / "models" / "arm"
    folder.mkdir(parents=True)
    (folder / "arm-1_6.sdf").write_text(CHILD)
    (folder / "model.config").write_text(
        "<model><name>arm</name><sdf version='1.4'>old.sdf</sdf><sdf version='1.6'>arm-1_6.sdf</sdf></model>"
    )
    text = "<include><uri>model://arm</uri></include>"
    for options in ({"packages": [tmp_path / "models"]}, {"base": tmp_path / "models"}, {"base": folder}):
        read = load_world(text, **options)
        assert [body.name for body in read.model.bodies] == ["base", "tip"]
        read.assert_clean()
    assert len(read.scene.documents) == 2
    assert read.scene.where(read.body("tip")) is not None


def test_an_include_can_make_a_model_static(tmp_path: Path) -> None:
    (tmp_path / "child.sdf").write_text(CHILD)
    read = load_world("<include><uri>child.sdf</uri><static>true</static></include>", base=tmp_path)
    assert read.model.static


def test_duplicate_names_of_a_merged_model_are_renamed(tmp_path: Path) -> None:
    (tmp_path / "child.sdf").write_text(CHILD)
    merged = '<include merge="true"><uri>child.sdf</uri></include>'
    read = load_model(link("base") + merged, base=tmp_path)
    read.expect("SD030.repeated")
    assert sorted(body.name for body in read.model.bodies) == ["base", "base(1)", "tip"]
    read.assert_clean()
