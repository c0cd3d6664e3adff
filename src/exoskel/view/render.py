"""Images, videos and animations of scenes without a display or a browser.

MuJoCo renders them where the system has EGL or OSMesa; elsewhere the software renderer does.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Literal, Protocol

import numpy as np
from msgspec import Struct, structs

from exoskel.diagnostics import ExoskelError, printable
from exoskel.formats.gltf.animation import Motion
from exoskel.formats.gltf.codes import catalogue_error
from exoskel.formats.gltf.write import Shown
from exoskel.formats.gltf.write import write as write_gltf
from exoskel.formats.load import source_files
from exoskel.scene.cameras_and_keyframes import SceneCamera
from exoskel.scene.item import Item
from exoskel.scene.pose import vector_from_array
from exoskel.scene.world import Scene, SceneLike, World, as_scene, as_world
from exoskel.simulate.simulation import run
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.atomic_write import (
    WriteError,
    check_writable,
    new_files_made_from,
    open_atomically,
    write_atomically,
)
from exoskel.source.output_context import OutputContext
from exoskel.source.surface import PLANE_HALF_SIZE
from exoskel.view.camera import PRESETS, Camera, look_at
from exoskel.view.gl_renderer import GlRenderer, NoRendererError
from exoskel.view.lighting import DARK, LIGHT
from exoskel.view.render_scene import RenderScene, compact_poses
from exoskel.view.scene_placement import camera_names, placed_camera, placement_for
from exoskel.view.software_renderer import Image, SoftwareRenderer
from exoskel.view.surfaces import PoseRows

IMAGE_SIZE = (1280, 720)
VIDEO_SIZE = (960, 540)
RATE = 30
"""Frames per second of a video."""
_MIN_SIDE, _MAX_SIDE = 16, 8192
FrameProgress = Callable[[int, int], None]
RendererName = Literal["auto", "mujoco", "software"]


class RenderResult(Struct, frozen=True):
    """The renderer that was used, `mujoco` or `software`, and the `reason` if MuJoCo could not be used.

    `note` describes how the result differs from the request, if it does.
    """

    renderer: str
    reason: str = ""
    note: str = ""


class Renderer(Protocol):
    """Renders one scene from one camera, frame by frame."""

    def draw(self, poses: PoseRows) -> Image: ...


def render(
    scene: SceneLike,
    path: str | os.PathLike[str],
    *,
    motion: Trajectory | None = None,
    time: float | None = None,
    size: tuple[int, int] | None = None,
    camera: str | Camera = "default",
    rate: float = RATE,
    dark: bool = False,
    engine: str = "mujoco",
    renderer: RendererName = "auto",
    progress: FrameProgress | None = None,
) -> RenderResult:
    """Render a scene to `.png`, `.jpg` or `.webp`, or its motion to `.mp4` or `.gif`.

    An image shows the initial state, or the state after `time` s.  A video shows `motion`, or `time` s (default 5) of
    a simulation with `engine`, at `rate` frames per second.  `size` is width and height in pixels; `camera` is one of
    `exoskel.view.camera.PRESETS`, the name of a camera of the file that does not move in a video, or a Camera.
    `renderer` is `mujoco`, which needs EGL or OSMesa, `software`, or `auto`: the first of them that works.  `progress`
    is called with the number of rendered frames and the total.
    """
    check_image_file(path)
    rate, note = _limit_rate(path, rate)
    scene = as_scene(scene)
    if motion is None and (is_video(path) or time):
        motion = run(scene, 5.0 if time is None else time, engine=engine, every=1.0 / rate)
        if motion.meta["summary"]["interrupted"]:
            raise KeyboardInterrupt  # `run` returns what it has; a video of that was not asked for
    render_scene = RenderScene(scene.world)
    _check_copies(render_scene)
    poses = poses_to_draw(render_scene, motion, is_moving=is_video(path), rate=rate)
    if motion is not None:
        render_scene.include_motion(motion)
    width, height = _check_size(size or (VIDEO_SIZE if is_video(path) else IMAGE_SIZE))
    if is_video(path):
        width, height = (
            width + width % 2,
            height + height % 2,
        )  # video codecs store colours for blocks of two by two pixels
    shown = poses if is_video(path) else poses[-1:]
    fitted_camera = _choose_camera(render_scene, camera, width / height, shown)
    render_scene, poses, fitted_camera = _move_to_origin(render_scene, poses, fitted_camera)
    lighting = DARK if dark else LIGHT

    def draw(frame_source: Renderer) -> None:
        if is_video(path):
            write_video(path, _render_frames(frame_source, poses, progress), rate)
        else:
            write_image(path, frame_source.draw(poses[-1]))

    with new_files_made_from(source_files(scene)):
        drawn = _draw_with(
            renderer,
            draw,
            lambda: GlRenderer(render_scene, fitted_camera, width, height, lighting=lighting),
            lambda: SoftwareRenderer(render_scene, fitted_camera, width, height, lighting=lighting),
        )
    return structs.replace(drawn, note=note)


def _limit_rate(path: str | os.PathLike[str], rate: float) -> tuple[float, str]:
    """The frame rate that a file supports, and a note if it is lower than requested."""
    if not RATES[0] <= rate <= RATES[1]:
        raise ExoskelError(f"the frame rate must be {RATES[0]} to {RATES[1]} frames per second, not {rate}")
    if is_gif(path) and rate > GIF_RATE:
        return GIF_RATE, f"rendered at {GIF_RATE:g} frames per second, the maximum of .gif files, instead of {rate:g}"
    return rate, ""


def _draw_with(
    renderer: str,
    draw: Callable[[Renderer], None],
    gl: Callable[[], GlRenderer],
    software: Callable[[], SoftwareRenderer],
) -> RenderResult:
    """Render with MuJoCo, or with the software renderer if MuJoCo fails, which may also happen after some frames."""
    reason = ""
    if renderer != "software":
        try:
            with closing(gl()) as gl_renderer:
                draw(gl_renderer)
            return RenderResult("mujoco")
        except NoRendererError as error:
            reason = str(error)
            if renderer == "mujoco":
                raise ExoskelError(f"MuJoCo cannot render here: {reason}; use the software renderer") from None
    draw(software())
    return RenderResult("software", reason)


def frame_renderer(world: World, size: tuple[int, int], camera: int | None = None) -> Callable[[PoseRows], Image]:
    """A function that renders a world at given poses in software.

    The picture is that of a camera of the world, by its number, or follows the moving bodies.
    """
    render_scene = RenderScene(world)
    if camera is not None:
        return _camera_frames(render_scene, _check_size(size), world.cameras[camera])
    start = compact_poses(render_scene.initial)
    width, height = _check_size(size)
    software = SoftwareRenderer(
        render_scene, _choose_camera(render_scene, "default", width / height), width, height, lighting=LIGHT
    )
    moving = np.flatnonzero(~render_scene.is_static)
    level = np.array(render_scene.up) == 0.0
    middle = start[moving, :3].mean(axis=0) if len(moving) else np.zeros(3)

    def draw(poses: PoseRows) -> Image:
        now = compact_poses(render_scene.skins.frames(poses))
        shift = now[moving, :3].mean(axis=0) - middle if len(moving) else middle
        return software.draw(np.concatenate([now[:, :3] - level * shift, now[:, 3:]], axis=1).astype(now.dtype))

    return draw


def _camera_frames(
    render_scene: RenderScene, size: tuple[int, int], camera: SceneCamera
) -> Callable[[PoseRows], Image]:
    """A function that renders a scene at given poses with a camera, which may move with a body."""
    renderers: dict[Camera, SoftwareRenderer] = {}

    def draw(poses: PoseRows) -> Image:
        now = compact_poses(render_scene.skins.frames(poses))
        placed = placed_camera(camera, render_scene, now)
        if placed not in renderers:
            renderers.clear()
            renderers[placed] = SoftwareRenderer(render_scene, placed, *size, lighting=LIGHT)
        return renderers[placed].draw(now)

    return draw


_MOST_COPIES, _MANY_TRIANGLES = 3_000_000, 5_000
"""Triangles of meshes with many of them that are drawn again; their first copies are not limited."""


def _check_copies(render_scene: RenderScene) -> None:
    """Raise ExoskelError if a mesh is repeated so often that its triangles would need too much memory."""
    sizes = [(len(batch.surface.triangles), len(batch.scales) - 1) for batch in render_scene.batches]
    count = sum(triangles * copies for triangles, copies in sizes if triangles > _MANY_TRIANGLES)
    if count > _MOST_COPIES:
        raise ExoskelError(f"repeated meshes have {count} triangles; the limit is {_MOST_COPIES}")


def _check_size(size: tuple[int, int]) -> tuple[int, int]:
    if not all(_MIN_SIDE <= side <= _MAX_SIDE for side in size):
        raise ExoskelError(
            f"invalid image size {size[0]}x{size[1]}: width and height must be {_MIN_SIDE} to {_MAX_SIDE} pixels"
        )
    return size


def poses_to_draw(
    render_scene: RenderScene, motion: Trajectory | None, *, is_moving: bool, rate: float
) -> list[PoseRows]:
    """The frames to render: those of a motion, resampled to `rate` per second if it moves, or the initial one."""
    if motion is None:
        return [compact_poses(render_scene.initial)]
    if not len(motion):
        raise ExoskelError("cannot render the trajectory: it is empty")
    if motion.body_poses.shape[1] != len(render_scene.bodies):
        count = motion.body_poses.shape[1]
        raise ExoskelError(
            f"the motion belongs to another scene: it has {count} bodies, the scene {len(render_scene.bodies)}"
        )
    chosen = motion.resample(1.0 / rate) if is_moving else motion
    return list(compact_poses(render_scene.skins.frames(chosen.body_poses, chosen.soft_points)))


def _choose_camera(
    render_scene: RenderScene, camera: str | Camera, aspect: float, poses: Sequence[PoseRows] = ()
) -> Camera:
    """A camera by its name, for the `poses` of all frames; those of the file come first, except for the default."""
    if isinstance(camera, Camera):
        return camera
    names = camera_names(list(render_scene.world.cameras))
    if camera != "default" and camera in names:
        return _scene_camera(render_scene, camera, names.index(camera), poses)
    if camera not in PRESETS:
        known = ", ".join(map(printable, dict.fromkeys((*PRESETS, *names))))
        raise ExoskelError(f"unknown camera {printable(camera)!r}; choose one of {known}")
    return look_at(render_scene.corners(), render_scene.up, preset=camera, aspect=aspect, both_sides=True)


def _scene_camera(render_scene: RenderScene, name: str, number: int, poses: Sequence[PoseRows]) -> Camera:
    """A camera of the file."""
    camera = render_scene.world.cameras[number]
    placed = [placed_camera(camera, render_scene, one) for one in poses]
    if any(one != placed[0] for one in placed):
        raise ExoskelError(f"camera {printable(name)!r} moves with a body; a video needs a camera that stays")
    return placed[0]


def _move_to_origin(
    render_scene: RenderScene, poses: list[PoseRows], camera: Camera
) -> tuple[RenderScene, list[PoseRows], Camera]:
    """Move scene, poses and camera near the origin: single precision distorts geometry far from it."""
    origin = np.array(placement_for(render_scene.corners()).origin)
    if not origin.any():
        return render_scene, poses, camera
    position, target = (vector_from_array(np.array(point) - origin) for point in (camera.position, camera.target))
    moved = [np.concatenate([pose[:, :3] - origin, pose[:, 3:]], axis=1).astype(np.float32) for pose in poses]
    return render_scene.moved(origin), moved, structs.replace(camera, position=position, target=target)


def _render_frames(renderer: Renderer, poses: Sequence[PoseRows], progress: FrameProgress | None) -> Iterator[Image]:
    """The frames in order, rendered by several threads; only a few are rendered ahead."""
    workers = min(8, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(renderer.draw, one) for one in poses[: 2 * workers]]
        for number in range(len(poses)):
            image = waiting.pop(0).result()
            ahead = number + 2 * workers
            if ahead < len(poses):
                waiting.append(pool.submit(renderer.draw, poses[ahead]))
            if progress is not None:
                progress(number + 1, len(poses))
            yield image


# --- files of images and videos ---------------------------------------------------------------------------

IMAGE_EXTENSIONS = (".png", ".jpg", ".jpeg", ".webp")
VIDEO_EXTENSIONS = (".mp4", ".gif")
RATES = (0.01, 1000.0)
"""The lowest and the highest number of frames per second."""
GIF_RATE = 50.0
"""The highest frame rate of .gif files: browsers slow down frames shorter than two hundredths of a second."""
_NEEDS_FFMPEG = "imageio-ffmpeg is not installed; for .mp4 run `pip install 'exoskel[view]'`, or write a .gif instead"


def is_video(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() in VIDEO_EXTENSIONS


def is_gif(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() == ".gif"


def check_image_file(
    path: str | os.PathLike[str], extensions: tuple[str, ...] = IMAGE_EXTENSIONS + VIDEO_EXTENSIONS
) -> None:
    """Raise an error if an image or video cannot be written to `path`; for checks before a long run."""
    target = Path(path)
    if target.suffix.lower() not in extensions:
        known = f"{', '.join(extensions[:-1])} or {extensions[-1]}"
        raise ExoskelError(f"cannot write {os.fspath(target)!r}: the extension must be {known}")
    check_writable(target)
    if target.suffix.lower() == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise ExoskelError(_NEEDS_FFMPEG)


def write_image(path: str | os.PathLike[str], image: Image) -> None:
    """Write an image in the format of its extension."""
    from PIL import Image as Pillow

    kind = Pillow.registered_extensions().get(Path(path).suffix.lower())
    try:
        with open_atomically(Path(path)) as file:
            Pillow.fromarray(image).save(file, format=kind)
    except WriteError:
        raise
    except (OSError, ValueError) as error:
        raise ExoskelError(f"cannot write the image: {error}") from None


def write_video(path: str | os.PathLike[str], images: Iterable[Image], rate: float) -> None:
    """Write frames of one size as `.mp4` or `.gif`, at `rate` frames per second."""
    try:
        with open_atomically(Path(path)) as file:
            (_write_gif if is_gif(path) else _write_mp4)(file, images, rate)
    except WriteError:
        raise
    except OSError as error:
        raise ExoskelError(f"cannot write the video: {error}") from None


def _write_gif(file: BinaryIO, images: Iterable[Image], rate: float) -> None:
    from PIL import Image as Pillow

    pictures = list(images)
    if not pictures:
        raise ExoskelError("cannot write a video without frames")
    # All frames share one palette, taken from a few of them; with one palette each, still parts would flicker.
    some = np.concatenate([pictures[i] for i in np.unique(np.linspace(0, len(pictures) - 1, 6).astype(int))])
    colors = Pillow.fromarray(some).quantize(255)
    frames = [Pillow.fromarray(image).quantize(palette=colors) for image in pictures]
    frames[0].save(
        file,
        format="GIF",
        save_all=True,
        append_images=frames[1:],
        duration=_durations(len(frames), rate),
        loop=0,
        optimize=False,
    )


def _durations(count: int, rate: float) -> list[int]:
    """The duration of each frame in ms: whole hundredths of a second whose sum matches the frame rate."""
    ends = np.round(np.arange(count + 1) * (100.0 / rate)).astype(int)
    times: list[int] = (10 * np.diff(ends)).tolist()
    return times


def _write_mp4(file: BinaryIO, images: Iterable[Image], rate: float) -> None:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise ExoskelError(_NEEDS_FFMPEG) from None
    frames = iter(images)
    first = next(frames, None)
    if first is None:
        raise ExoskelError("cannot write a video without frames")
    height, width = first.shape[:2]
    # fmt: off
    command = [
        imageio_ffmpeg.get_ffmpeg_exe(), "-y", "-loglevel", "error",
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{rate:.12g}", "-i", "-",
        "-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-preset", "medium", "-movflags", "+faststart",
        "-f", "mp4", f"file:{file.name}",
    ]
    # fmt: on
    with TemporaryFile() as errors:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors) as ffmpeg:
            assert ffmpeg.stdin is not None
            with suppress(BrokenPipeError):  # ffmpeg prints the reason
                for image in chain([first], frames):
                    ffmpeg.stdin.write(np.ascontiguousarray(image).tobytes())
                ffmpeg.stdin.close()
        if ffmpeg.returncode:
            errors.seek(0)
            lines = errors.read().decode("utf-8", "replace").strip().splitlines()
            # The first line has the cause, after the name of an ffmpeg component in brackets.
            raise OSError(lines[0].rpartition("] ")[2] if lines else f"ffmpeg ended with exit code {ffmpeg.returncode}")


# --- animations: binary glTF, which browsers, Blender and game engines play -----------------------------

_GLTF_EXTENSION = ".glb"


def animate(
    world: SceneLike,
    trajectory: Trajectory,
    path: str | os.PathLike[str],
    *,
    rate: float | None = None,
    shown: Shown = "visual",
    reach: float = PLANE_HALF_SIZE,
) -> list[tuple[Item, str]]:
    """Write a world and its motion as a `.glb` file; returns what glTF does not support, with reasons.

    `rate` is the number of frames per second, by default all samples of the motion.  `shown` selects the shapes that
    are written; planes are squares of half size `reach`, in m.
    """
    target = Path(path)
    if target.suffix.lower() != _GLTF_EXTENSION:
        raise ExoskelError(
            f"cannot save an animation as {target.suffix or 'a file without an extension'!r}; use {_GLTF_EXTENSION}"
        )
    only = as_world(world)
    _check_bodies(only, trajectory)
    frames = trajectory if rate is None else trajectory.resample(1.0 / _positive(rate))
    output = OutputContext(target.parent)
    motion = Motion(frames.time, frames.body_poses)
    write_atomically(target, write_gltf(Scene(worlds=[only]), output, shown=shown, reach=reach, motion=motion))
    return [(loss.item, loss.reason) for loss in output.losses]


def _positive(rate: float) -> float:
    if not rate > 0.0:
        raise ExoskelError(f"the number of frames per second must be positive, not {rate}")
    return rate


def _check_bodies(world: World, trajectory: Trajectory) -> None:
    wanted = [[model.name, body.name] for model in world.models for body in model.bodies]
    if len(wanted) != len(trajectory.body_names):
        raise catalogue_error("GL103", found=len(trajectory.body_names), wanted=len(wanted))
    found = trajectory.meta.get("bodies", wanted)
    for mine, theirs in zip(wanted, found, strict=True):
        if list(theirs) != mine:
            raise catalogue_error("GL103.names", found="/".join(theirs), wanted="/".join(mine))
