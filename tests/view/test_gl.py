"""Images rendered by MuJoCo: they match the software renderer, and missing OpenGL is not a crash."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

import exoskel
from exoskel.diagnostics import ExoskelError
from exoskel.scene.shape import Ball, Geometry, kind_of
from exoskel.source import child_process
from exoskel.source.surface import SEGMENTS
from exoskel.view import gl_renderer
from exoskel.view.camera import look_at
from exoskel.view.gl_renderer import GlRenderer, NoRendererError, systems
from exoskel.view.lighting import DARK, LIGHT, Lighting
from exoskel.view.render import render
from exoskel.view.render_scene import RenderScene
from exoskel.view.software_renderer import SoftwareRenderer
from tests.support.findings import load_text
from tests.support.places import SAMPLES
from tests.view.documents import BLUE, GREEN, RED, falling, pinned, world
from tests.view.test_render import reddish

WIDTH, HEIGHT = 320, 200
Pictures = tuple[NDArray[np.uint8], NDArray[np.uint8]]
FALLING = world(falling("ball", "0 0 2", RED), pinned("floor", "0 0 -0.25", GREEN))


def both(render_scene: RenderScene, preset: str = "default", lighting: Lighting = LIGHT) -> Pictures:
    """The image from MuJoCo and the one from the software renderer."""
    camera = look_at(render_scene.corners(), render_scene.up, preset=preset, aspect=WIDTH / HEIGHT)
    try:
        theirs = GlRenderer(render_scene, camera, WIDTH, HEIGHT, lighting=lighting)
    except NoRendererError as error:
        pytest.skip(f"MuJoCo cannot render here: {error}")
    poses = render_scene.initial.astype(np.float32)
    try:
        return theirs.draw(poses), SoftwareRenderer(render_scene, camera, WIDTH, HEIGHT, lighting=lighting).draw(poses)
    finally:
        theirs.close()


def overlap(one: NDArray[np.bool_], two: NDArray[np.bool_]) -> float:
    return float((one & two).sum() / max((one | two).sum(), 1))


@pytest.mark.parametrize(
    ("place", "size", "gravity"),
    [("0 0 1.5", "0.5 0.5 3", "0 0 -9.81"), ("0 1.5 0", "0.5 3 0.5", "0 -9.81 0")],
    ids=["z up", "y up"],
)
def test_a_column_matches_the_software_renderer_in_place_colour_and_shadow(place: str, size: str, gravity: str) -> None:
    theirs, ours = both(RenderScene(load_text(world(falling("column", place, RED, size), gravity=gravity)).world))
    one, two = reddish(theirs), reddish(ours)
    rows, columns = np.nonzero(one)
    assert overlap(one, two) > 0.95
    assert 0.5 <= np.ptp(rows) / HEIGHT <= 0.9 and np.ptp(rows) > 2 * np.ptp(columns)
    assert np.abs(theirs[one & two].mean(axis=0) - ours[one & two].mean(axis=0)).max() < 20
    foot = theirs[rows.max() - 6, :].astype(int).sum(axis=-1)
    assert foot[columns.max() + 4 : columns.max() + 14].min() < 0.8 * foot[: columns.min() - 20].mean()


def test_the_default_grey_of_mujoco_is_rendered_grey() -> None:
    """It was rendered white, in the colour of the material."""
    scene = load_text(world(falling("column", "0 0 1.5", "0.5 0.5 0.5", "0.5 0.5 3")))
    theirs, ours = (image[HEIGHT // 2, WIDTH // 2].astype(int) for image in both(RenderScene(scene.world)))
    assert np.abs(theirs - ours).max() < 20


@pytest.mark.parametrize(
    ("name", "lighting"),
    [
        ("skel/geometry_zoo.skel", DARK),
        ("skel/joint_zoo.skel", LIGHT),
        ("skel/soft_bodies.skel", LIGHT),
        ("xode/trimesh_terrain.xode", LIGHT),
        ("xode/epicycles.xode", DARK),
        ("xode/weightless.xode", LIGHT),
    ],
)
def test_samples_match_the_software_renderer(name: str, lighting: Lighting) -> None:
    theirs, ours = both(RenderScene(exoskel.load(SAMPLES / name).world), lighting=lighting)
    apart = np.abs(theirs.astype(int) - ours).max(axis=-1)
    assert apart.mean() < 12
    assert (apart > 60).mean() < 0.04  # edges and grid lines


EVERY_GEOMETRY = [
    exoskel.Box((0.5, 0.6, 0.7)),
    exoskel.Sphere(0.4),
    exoskel.Ellipsoid((0.4, 0.6, 0.9)),
    exoskel.Cylinder(0.3, 0.8),
    exoskel.Capsule(0.3, 0.6),
    exoskel.Cone(0.4, 0.8),
    exoskel.Pyramid(0.6, 0.5, 0.8),
    exoskel.MultiSphere((Ball(0.3, (0.0, 0.0, 0.0)), Ball(0.2, (0.5, 0.0, 0.2)))),
    exoskel.TriMesh(np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0.0]]), np.array([[0, 1, 2]])),
    exoskel.TriMesh(
        np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    ),
    exoskel.Ray(1.0),
    exoskel.Plane((0.0, 0.6, 0.8), 0.2),
]


@pytest.mark.parametrize("geometry", EVERY_GEOMETRY, ids=kind_of)
def test_every_geometry_matches_the_software_renderer(geometry: Geometry) -> None:
    made = exoskel.World()
    body = made.add_model("m").add_body("b", pose=exoskel.Pose((0.3, 0.2, 1.0)), shapes=[geometry])
    body.shapes[0].color = (0.9, 0.1, 0.1, 1.0)
    made.add_model("other").add_body("other", shapes=[exoskel.Box((0.4, 0.4, 0.4))])
    theirs, ours = both(RenderScene(made))
    assert np.abs(theirs.astype(int) - ours).max(axis=-1).mean() < 12
    if not isinstance(geometry, exoskel.Plane):  # planes are transparent
        assert reddish(ours).sum() > 20
        assert overlap(reddish(theirs), reddish(ours)) > (0.7 if isinstance(geometry, exoskel.Ray) else 0.9)


def test_distant_and_tiny_scenes_look_like_normal_ones() -> None:
    def part(place: str, size: str) -> RenderScene:
        return RenderScene(load_text(world(pinned("part", place, RED).replace("0.5 0.5 0.5", size))).world)

    near, far, tiny = (
        both(part(*how))[0] for how in (("0 0 1", "1 1 1"), ("5000 -3000 1", "1 1 1"), ("0 0 1e-4", "2e-4 2e-4 2e-4"))
    )
    for other in (far, tiny):
        assert overlap(reddish(near), reddish(other)) > 0.97


def test_images_and_videos_of_any_size_are_written(tmp_path: Path) -> None:
    scene = load_text(FALLING)
    both(RenderScene(scene.world))  # skips the test if MuJoCo cannot render
    drawn = render(scene, tmp_path / "a.png", size=(1000, 700), renderer="mujoco")
    assert drawn.renderer == "mujoco" and not drawn.reason
    assert Image.open(tmp_path / "a.png").size == (1000, 700)
    drawn = render(scene, tmp_path / "a.gif", size=(160, 100), time=0.5, rate=10)
    assert drawn.renderer == "mujoco"
    gif = Image.open(tmp_path / "a.gif")
    assert gif.n_frames == 6  # type: ignore[attr-defined]
    heights = []
    for number in (0, 5):
        gif.seek(number)
        heights.append(np.nonzero(reddish(np.asarray(gif.convert("RGB"))))[0].mean())
    assert heights[1] > heights[0], "it has fallen"


def test_an_empty_world_is_rendered() -> None:
    theirs, _ = both(RenderScene(exoskel.World()))
    assert theirs.shape == (HEIGHT, WIDTH, 3)


# --- without OpenGL -----------------------------------------------------------------------------------

CRASHES = "import os; os.abort()"
HANGS = "import time; time.sleep(600)"
ENDS_LATER = """
import os, sys
from exoskel.view.gl_renderer import IMAGE, send
import pickle
pickle.load(sys.stdin.buffer)
send(sys.stdout.buffer, IMAGE, b"")
pickle.load(sys.stdin.buffer)
send(sys.stdout.buffer, IMAGE, bytes(64 * 48 * 3))
os.abort()
"""


@pytest.mark.parametrize(
    ("worker", "reason"), [(CRASHES, "crashed"), (HANGS, "within"), (ENDS_LATER, "crashed")], ids=["at once", "hang", "later"]
)  # fmt: skip
def test_a_failing_driver_falls_back_to_software(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, worker: str, reason: str
) -> None:
    monkeypatch.setattr(child_process, "worker_command", lambda _: [sys.executable, "-c", worker])
    monkeypatch.setattr(gl_renderer, "_FRAME_TIMEOUT", 2.0 if worker is HANGS else 60.0)
    drawn = render(load_text(FALLING), tmp_path / "a.gif", size=(64, 48), time=0.2, rate=10)
    assert drawn.renderer == "software" and reason in drawn.reason
    assert Image.open(tmp_path / "a.gif").n_frames == 3  # type: ignore[attr-defined]
    with pytest.raises(ExoskelError, match="MuJoCo cannot render here"):
        render(load_text(FALLING), tmp_path / "b.gif", size=(64, 48), time=0.2, rate=10, renderer="mujoco")


@pytest.fixture
def without_opengl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide EGL and OSMesa from child processes."""
    missing = tmp_path / "OpenGL"
    missing.mkdir()
    (missing / "__init__.py").write_text("raise AttributeError('no library')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.delenv("MUJOCO_GL", raising=False)


@pytest.mark.usefixtures("without_opengl")
def test_a_missing_library_is_reported_without_a_traceback(tmp_path: Path) -> None:
    drawn = render(load_text(world(pinned("part", "0 0 0.25", BLUE))), tmp_path / "a.png", size=(64, 48))
    assert drawn.renderer == "software"
    assert drawn.reason == "EGL: not available on this system; OSMESA: not available on this system"


@pytest.mark.usefixtures("without_opengl")
def test_a_simulation_needs_no_opengl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    script = "import exoskel; print(len(exoskel.run(exoskel.load('dart://sample/skel/pendulum.skel'), 0.01)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1


def test_the_software_renderer_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(subprocess, "Popen", never)
    drawn = render(load_text(FALLING), tmp_path / "a.png", size=(64, 48), renderer="software")
    assert (drawn.renderer, drawn.reason) == ("software", "")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have one way to draw")
@pytest.mark.parametrize(
    ("named", "tried"),
    [("", ["egl", "osmesa"]), ("egl", ["egl"]), ("OSMesa", ["osmesa"]), ("glfw", ["egl", "osmesa"]), ("off", [])],
)
def test_the_environment_selects_the_opengl_systems(named: str, tried: list[str]) -> None:
    assert systems({"MUJOCO_GL": named}) == tried


def test_the_image_that_checks_the_driver_is_not_rendered_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    requests: list[bytes] = []
    request = gl_renderer._Worker.request

    def counted(worker: gl_renderer._Worker, message: bytes) -> bytes:
        requests.append(message)
        return request(worker, message)

    monkeypatch.setattr(gl_renderer._Worker, "request", counted)
    try:
        render(load_text(FALLING), tmp_path / "a.png", size=(64, 48), renderer="mujoco")
    except ExoskelError as error:
        pytest.skip(f"MuJoCo cannot render here: {error}")
    assert len(requests) == 2  # the job and one image


def test_round_shapes_have_fewer_slices_in_scenes_of_many() -> None:
    job = {"batches": [], "skins": [], "rest": np.zeros((0, 7)), "frame": np.eye(3), "middle": np.zeros(3), "size": 1.0}
    job |= {"ground": 0.0, "camera": look_at(np.zeros((1, 3)), (0.0, 0.0, 1.0), preset="default", aspect=1.0)}
    slices = [
        gl_renderer.compile_model(gl_renderer.RenderJob(**job, lighting=LIGHT, width=8, height=8, segments=segments))
        for segments in (SEGMENTS, SEGMENTS // 2, SEGMENTS // 4)
    ]
    assert [model.vis.quality.numslices for model in slices] == [64, 16, 12]


@pytest.mark.parametrize(("count", "supersampling", "shadows"), [(30, 2, 4096), (200, 1, 1024)])
def test_images_that_shapes_cover_very_often_are_coarser(
    count: int, supersampling: int, shadows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = "".join(f"<body name='b{n}'><geom size='{1 + n / 1000}'/></body>" for n in range(count))
    scene = exoskel.load(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>".encode())
    jobs: list[gl_renderer.RenderJob] = []

    def start(job: bytes, _poses: bytes) -> None:
        jobs.append(pickle.loads(job))
        raise NoRendererError("stopped")

    monkeypatch.setattr(gl_renderer, "_start_worker", start)
    with pytest.raises(ExoskelError, match="stopped"):
        render(scene, "unused.png", size=(640, 480), renderer="mujoco")
    (job,) = jobs
    assert job.supersampling == supersampling
    assert gl_renderer.compile_model(job).vis.quality.shadowsize == shadows
