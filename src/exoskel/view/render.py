"""Images and videos of scenes without a display or a browser.

MuJoCo renders them where the system has EGL or OSMesa; elsewhere the software renderer does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Literal, Protocol

import numpy as np
from msgspec import Struct, structs

from exoskel.diagnostics import ExoskelError
from exoskel.formats.load import source_files
from exoskel.scene.pose import vector_from_array
from exoskel.scene.world import SceneLike, World, as_scene
from exoskel.simulate.simulation import run
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.atomic_write import new_files_made_from
from exoskel.view.camera import PRESETS, Camera, look_at
from exoskel.view.gl_renderer import GlRenderer, NoRendererError
from exoskel.view.lighting import DARK, LIGHT
from exoskel.view.render_scene import RenderScene, compact_poses
from exoskel.view.scene_placement import placement_for
from exoskel.view.skins import PoseRows
from exoskel.view.software_renderer import Image, SoftwareRenderer
from exoskel.view.video import GIF_RATE, RATES, check_image_file, is_gif, is_video, write_image, write_video

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
    `exoskel.view.camera.PRESETS` or a Camera.  `renderer` is `mujoco`, which needs EGL or OSMesa, `software`, or
    `auto`: the first of them that works.  `progress` is called with the number of rendered frames and the total.
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
    render_scene, poses, fitted_camera = _move_to_origin(
        render_scene, poses, _choose_camera(render_scene, camera, width / height)
    )
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


def frame_renderer(world: World, size: tuple[int, int]) -> Callable[[PoseRows], Image]:
    """A function that renders a world at given poses in software; the camera follows the moving bodies."""
    render_scene = RenderScene(world)
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


def _choose_camera(render_scene: RenderScene, camera: str | Camera, aspect: float) -> Camera:
    if isinstance(camera, Camera):
        return camera
    if camera not in PRESETS:
        raise ExoskelError(f"unknown camera {camera!r}; choose one of {', '.join(PRESETS)}")
    return look_at(render_scene.corners(), render_scene.up, preset=camera, aspect=aspect, both_sides=True)


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
