"""Images and videos from the software renderer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from math import pi
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import exoskel
from exoskel import Scene, World
from exoskel.diagnostics import ExoskelError
from exoskel.source.atomic_write import WriteError
from exoskel.view.camera import look_at
from exoskel.view.rasterizer import TooManyPixelsError, rasterize
from exoskel.view.render import render, write_video
from exoskel.view.render_scene import RenderScene
from exoskel.view.software_renderer import SoftwareRenderer
from tests.support.findings import load_text
from tests.support.places import sample_files, xode_sample_files
from tests.view.documents import BLUE, GREEN, RED, falling, pinned, world

SIZE = (320, 200)


def render_image(scene: Scene | World, *, size: tuple[int, int] = SIZE, camera: str = "default") -> NDArray[np.uint8]:
    """An image of the initial state, `(height, width, 3)`, from the software renderer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "image.png"
        render(scene, path, size=size, camera=camera, renderer="software")
        return np.asarray(Image.open(path))


def reddish(image: NDArray[np.uint8], channel: int = 0) -> NDArray[np.bool_]:
    seen = image.astype(int)
    others = [i for i in range(3) if i != channel]
    return np.asarray(seen[..., channel] > 1.5 * seen[..., others].max(axis=-1) + 15)


def quad(left: float, top: float, right: float, bottom: float, nearness: float) -> NDArray[np.float32]:
    return np.array(
        [[left, top, nearness], [right, top, nearness], [right, bottom, nearness], [left, bottom, nearness]], np.float32
    )


TWO = np.array([[0, 1, 2], [0, 2, 3]])


def test_two_triangles_fill_a_square_exactly() -> None:
    drawn = rasterize(quad(10.2, 5.3, 90.7, 60.9, 1.0), TWO, 100, 80)
    mask = (drawn.triangle >= 0).reshape(80, 100)
    wanted = np.zeros_like(mask)
    wanted[5:61, 10:91] = True  # pixels whose centres lie inside
    assert (mask == wanted).all()


@pytest.mark.parametrize("order", [1, -1])
def test_a_nearer_triangle_hides_one_behind_it(order: int) -> None:
    points = np.concatenate([quad(0, 0, 40, 40, 0.5), quad(20, 20, 60, 60, 0.7)][::order])
    drawn = rasterize(points, np.concatenate([TWO, TWO + 4]), 64, 64)
    near = drawn.nearness.reshape(64, 64)
    assert near[10, 10] == pytest.approx(0.5) and near[30, 30] == pytest.approx(0.7) and near[62, 62] == 0.0


def test_triangles_outside_the_image_or_not_finite_are_ignored() -> None:
    points = np.concatenate([quad(-500, -500, 1000, 1000, 1.0), quad(-9, -9, -5, -5, 2.0), quad(0, 0, np.nan, 5, 3.0)])
    drawn = rasterize(points, np.concatenate([TWO, TWO + 4, TWO + 8]), 50, 40)
    assert np.allclose(drawn.nearness, 1.0)


def test_large_triangles_that_overlap_too_often_are_an_error() -> None:
    points = quad(0.0, 0.0, 1000.0, 1000.0, 1.0)
    with pytest.raises(TooManyPixelsError, match="overlap too often: they cover more than 150025600 pixels"):
        rasterize(points, np.tile(TWO, (200, 1)), 1000, 1000)
    assert (rasterize(points, np.tile(TWO, (10, 1)), 1000, 1000).triangle >= 0).all()


def test_a_large_mesh_that_is_repeated_too_often_is_an_error(tmp_path: Path) -> None:
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n"
    (tmp_path / "p.obj").write_text(corners + "f " + "1 2 3 4 " * 20_000 + "\n", encoding="utf-8")
    shape = '<visual><geometry><mesh filename="p.obj"/></geometry></visual>'
    (tmp_path / "r.urdf").write_text(f'<robot name="r"><link name="a">{shape * 50}</link></robot>', encoding="utf-8")
    with pytest.raises(ExoskelError, match="repeated meshes have 3919902 triangles; the limit is 3000000"):
        render(exoskel.load(tmp_path / "r.urdf"), tmp_path / "r.png", renderer="software")


def test_a_sphere_has_a_round_outline() -> None:
    scene = exoskel.World(gravity=(0.0, 0.0, 0.0))
    scene.add_model("m").add_body("b", shapes=[exoskel.Sphere(1.0)])
    scene.models[0].bodies[0].visuals[0].color = (1.0, 0.0, 0.0, 1.0)
    render_scene = RenderScene(scene)
    camera = look_at(render_scene.corners(), render_scene.up, preset="front")
    image = SoftwareRenderer(render_scene, camera, 400, 400).draw(render_scene.initial)
    distance = float(np.linalg.norm(np.array(camera.position) - np.array(camera.target)))
    radius = np.tan(np.arcsin(1.0 / distance)) / np.tan(camera.field_of_view / 2) * 200
    assert reddish(image).sum() == pytest.approx(pi * radius**2, rel=0.02)


@pytest.mark.parametrize(
    ("place", "size", "gravity"),
    [("0 0 1.5", "0.5 0.5 3", "0 0 -9.81"), ("0 1.5 0", "0.5 3 0.5", "0 -9.81 0")],
    ids=["z up", "y up"],
)
def test_a_column_stands_on_the_ground_and_casts_a_shadow(place: str, size: str, gravity: str) -> None:
    image = render_image(load_text(world(falling("column", place, RED, size), gravity=gravity)).world, size=SIZE)
    rows, columns = np.nonzero(reddish(image))
    assert 0.5 <= np.ptp(rows) / SIZE[1] <= 0.9 and np.ptp(rows) > 2 * np.ptp(columns)
    assert rows.min() > 0 and rows.max() < SIZE[1] - 1
    # The sun shines from the left behind the camera, so the shadow is to the right of the foot.
    foot = image[rows.max() - 6, :].astype(int).sum(axis=-1)
    assert foot[columns.max() + 4 : columns.max() + 14].min() < 0.75 * foot[: columns.min() - 20].mean()


def test_the_nearer_of_two_boxes_is_visible() -> None:
    both = load_text(world(pinned("near", "1 0 0.25", RED), pinned("far", "-1 0 0.25", GREEN)))
    assert reddish(render_image(both.world, size=SIZE, camera="front")).sum() > 300
    assert reddish(render_image(both.world, size=SIZE, camera="front"), 1).sum() < 30
    assert reddish(render_image(both.world, size=SIZE, camera="back"), 1).sum() > 300


@pytest.mark.parametrize("file", [*sample_files(), *xode_sample_files()], ids=lambda file: file.name)
def test_every_sample_fills_the_image_and_is_not_cut_off(file: Path) -> None:
    render_scene = RenderScene(exoskel.load(file).world)
    width, height = 240, 160
    camera = look_at(render_scene.corners(), render_scene.up, aspect=width / height)
    painter = SoftwareRenderer(render_scene, camera, width, height, supersampling=1)
    seen = camera.project(render_scene.corners(), width / height)
    assert np.abs(seen[:, :2]).max() < 1.0
    spread = np.ptp(seen[:, :2] * [width / height, 1.0], axis=0) / 2
    assert 0.5 <= spread.max() <= 0.9
    image = painter.draw(render_scene.initial)
    empty = painter.draw(render_scene.initial + np.array([1e4, 1e4, 1e4, 0, 0, 0, 0]))
    changed = (np.abs(image.astype(int) - empty).max(axis=-1) > 40).mean()  # transparent walls change less
    assert 0.01 < changed < 0.9


def test_rendering_is_deterministic() -> None:
    scene = load_text(world(pinned("part", "0 0 0.25", BLUE))).world
    assert (render_image(scene, size=SIZE) == render_image(scene, size=SIZE)).all()


def test_images_and_videos_are_written(tmp_path: Path) -> None:
    scene = load_text(world(falling("ball", "0 0 2", RED), pinned("floor", "0 0 -0.25", GREEN)))
    render(scene, tmp_path / "a.png", size=SIZE)
    render(scene, tmp_path / "later.png", size=SIZE, time=0.4)
    first, later = (np.asarray(Image.open(tmp_path / name)) for name in ("a.png", "later.png"))
    assert first.shape == (200, 320, 3)
    assert np.nonzero(reddish(later))[0].mean() > np.nonzero(reddish(first))[0].mean(), "it has fallen"
    render(scene, tmp_path / "a.gif", size=(160, 100), time=0.5, rate=10)
    gif = Image.open(tmp_path / "a.gif")
    assert (gif.n_frames, gif.size) == (6, (160, 100))  # type: ignore[attr-defined]


def test_a_video_plays_as_long_as_the_motion(tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    scene = load_text(world(falling("ball", "0 0 2", RED)))
    calls: list[tuple[int, int]] = []
    render(scene, tmp_path / "a.mp4", size=(161, 101), time=0.5, rate=20, progress=lambda *done: calls.append(done))
    reader = ffmpeg.read_frames(str(tmp_path / "a.mp4"))
    facts = next(reader)
    assert facts["size"] == (162, 102) and facts["fps"] == 20.0
    assert len(list(reader)) == 11
    assert calls[-1] == (11, 11)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a.bmp2", "the extension must be"),
        ("nowhere/a.png", "the folder does not exist"),
        ("a", "the extension must be"),
    ],
)
def test_an_invalid_output_file_is_an_error(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ExoskelError, match=message):
        render(load_text(world(pinned("part", "0 0 0", RED))), tmp_path / name)


def test_a_motion_of_another_scene_is_rejected(tmp_path: Path) -> None:
    motion = exoskel.run(load_text(world(falling("ball", "0 0 2", RED))), 0.05)
    with pytest.raises(ExoskelError, match="another scene"):
        render(load_text(world()), tmp_path / "a.gif", motion=motion)


@pytest.mark.parametrize("x", [60.0, 1e5, 1e7])
def test_a_distant_scene_looks_like_a_near_one(x: float) -> None:
    near, far = (
        render_image(
            load_text(world(falling("a", f"{place} 0 1", RED), falling("b", f"{place + 1} 0 1", BLUE))).world, size=SIZE
        )
        for place in (0.0, x)
    )
    assert np.abs(near.astype(int) - far.astype(int)).mean() < 1.0


@pytest.mark.parametrize("rate", [24.0, 30.0, 60.0])
def test_a_gif_lasts_as_long_as_the_motion(tmp_path: Path, rate: float) -> None:
    file = tmp_path / "a.gif"
    drawn = render(
        load_text(world(falling("a", "0 0 5", RED))), file, time=1.0, rate=rate, size=(32, 32), renderer="software"
    )
    shown = min(rate, 50.0)
    with Image.open(file) as image:
        total = 0
        for number in range(image.n_frames):  # type: ignore[attr-defined]
            image.seek(number)
            total += image.info["duration"]
    assert total == pytest.approx(1000 * (shown + 1) / shown, abs=5)
    assert ("rendered at 50" in drawn.note) == (rate > 50)


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_a_failed_video_leaves_the_old_file(tmp_path: Path, name: str) -> None:
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg is not installed")

    def pictures() -> Iterator[NDArray[np.uint8]]:
        yield np.zeros((32, 32, 3), dtype=np.uint8)
        raise OSError(0, "the camera failed")

    file = tmp_path / name
    file.write_bytes(b"old")
    with pytest.raises(WriteError, match=r"cannot write .*: the camera failed"):
        write_video(file, pictures(), 30.0)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file], "no half video is left"


@pytest.mark.parametrize("name", ["a.mp4", "a.gif", "a.png"])
def test_a_folder_as_output_is_an_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(ExoskelError, match="it is a folder"):
        render(load_text(world(falling("a", "0 0 5", RED))), tmp_path / name, size=(32, 32))


CAMERAS = """<mujoco><worldbody><camera name="plan" pos="0 0 3"/>
  <body name="ball" pos="0 0 1"><freejoint/><geom size=".1" rgba="1 0 0 1"/><camera name="eye" pos="0 0 1"/></body>
</worldbody></mujoco>"""


def test_a_camera_of_the_file_comes_before_a_view_of_the_same_name(tmp_path: Path) -> None:
    files = []
    for name in ("top", "plan"):
        scene = exoskel.load(CAMERAS.replace('"plan"', f'"{name}"'))
        exoskel.render(scene, tmp_path / f"{name}.png", camera=name, size=(64, 64), renderer="software")
        files.append((tmp_path / f"{name}.png").read_bytes())
    assert files[0] == files[1]
    with pytest.raises(ExoskelError, match=r"right, top, bottom, plan, eye$"):
        exoskel.render(scene, tmp_path / "none.png", camera="none")


def test_a_camera_of_the_file_is_used(tmp_path: Path) -> None:
    scene = exoskel.load(CAMERAS)
    exoskel.render(scene, tmp_path / "a.png", camera="plan", size=(64, 64), renderer="software")
    seen = np.asarray(Image.open(tmp_path / "a.png"), dtype=int)
    red = np.argwhere(seen[..., 0] - seen[..., 1] > 80)
    assert len(red) and red.mean(axis=0) == pytest.approx([31.5, 31.5], abs=1.5)  # it looks straight down
    exoskel.render(scene, tmp_path / "b.png", camera="eye", time=0.2, size=(64, 64), renderer="software")


def test_unknown_and_moving_cameras_are_refused(tmp_path: Path) -> None:
    scene = exoskel.load(CAMERAS)
    with pytest.raises(ExoskelError, match=r"unknown camera 'side'; choose one of default, .*, plan, eye"):
        exoskel.render(scene, tmp_path / "a.png", camera="side", size=(64, 64))
    with pytest.raises(ExoskelError, match="camera 'eye' moves with a body"):
        exoskel.render(scene, tmp_path / "a.gif", camera="eye", time=0.1, size=(64, 64))
