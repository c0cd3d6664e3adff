"""Pictures and videos of scenes without a display or a browser.

MuJoCo draws them where the system has EGL or OSMesa; elsewhere we do, with nothing but the processor.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Literal, Protocol

import numpy as np
from msgspec import Struct, structs

from exoskel.diagnostics import ExoskelError
from exoskel.scene.world import Scene, World
from exoskel.simulate.run import run
from exoskel.simulate.trajectory import Trajectory
from exoskel.view.camera import PRESETS, Camera, corners_of, look_at, vector
from exoskel.view.draw_batches import VISUAL, DrawBatches, Rows, compact
from exoskel.view.gl_renderer import GlPainter, NoRendererError
from exoskel.view.lighting import DARK, LIGHT
from exoskel.view.scene_placement import layout_of
from exoskel.view.software_renderer import Image, Painter
from exoskel.view.video import GIF_RATE, check_file, is_gif, is_video, write_picture, write_video

PICTURE_SIZE = (1280, 720)
VIDEO_SIZE = (960, 540)
RATE = 30
"""Pictures a second of a video."""
_SMALLEST, _LARGEST = 16, 8192
_LOOKED_AT = 24
"""At how many moments of a motion the camera makes sure that it sees everything."""
_FURTHEST = 4.0
"""What flies off further than so many sizes of the scene is left to fly off."""
Progress = Callable[[int, int], None]
Renderer = Literal["auto", "mujoco", "software"]


class Drawn(Struct, frozen=True):
    """What drew a picture, `mujoco` or `software`, and why MuJoCo did not if it was asked first.

    `note` tells what is otherwise than it was asked for.
    """

    renderer: str
    reason: str = ""
    note: str = ""


class Artist(Protocol):
    """What draws the same stage from the same camera again and again."""

    def draw(self, poses: Rows) -> Image: ...


def render(
    scene: Scene | World,
    path: str | os.PathLike[str],
    *,
    motion: Trajectory | None = None,
    time: float | None = None,
    size: tuple[int, int] | None = None,
    camera: str | Camera = "default",
    rate: float = RATE,
    dark: bool = False,
    engine: str = "mujoco",
    renderer: Renderer = "auto",
    progress: Progress | None = None,
) -> Drawn:
    """Draw a scene into `.png`, `.jpg` or `.webp`, or its motion into `.mp4` or `.gif`.

    A picture shows the initial state, or that after `time` s; a video shows `motion`, or `time` s (default 5) of a
    simulation in `engine`, at `rate` pictures a second.  `size` is width and height in pixels; `camera` one of
    `exoskel.view.camera.PRESETS` or a camera.  `renderer` is `mujoco`, which needs EGL or OSMesa, `software`, which
    needs nothing, or `auto`: the first of them that works.  `progress` is told how many pictures of how many are drawn.
    """
    check_file(path)
    rate, note = _shown_rate(path, rate)
    world = scene.world if isinstance(scene, Scene) else scene
    if motion is None and (is_video(path) or time):
        motion = run(scene, 5.0 if time is None else time, engine=engine, every=1.0 / rate)
    stage = DrawBatches(world)
    poses = moments(stage, motion, is_moving=is_video(path), rate=rate)
    width, height = _checked(size or (VIDEO_SIZE if is_video(path) else PICTURE_SIZE))
    if is_video(path):
        width, height = width + width % 2, height + height % 2  # videos have colours for two by two pixels
    stage, poses, aimed = _near(stage, poses, _aimed(stage, camera, poses, width / height))
    look = DARK if dark else LIGHT

    def draw(artist: Artist) -> None:
        if is_video(path):
            write_video(path, _drawn(artist, poses, progress), rate)
        else:
            write_picture(path, artist.draw(poses[-1]))

    drawn = _draw_with(
        renderer,
        draw,
        lambda: GlPainter(stage, aimed, width, height, look=look),
        lambda: Painter(stage, aimed, width, height, look=look),
    )
    return structs.replace(drawn, note=note)


def _shown_rate(path: str | os.PathLike[str], rate: float) -> tuple[float, str]:
    """How many pictures a second a file can hold of those that are wanted, and a note if these are fewer."""
    if is_gif(path) and rate > GIF_RATE:
        return GIF_RATE, f"a .gif shows at most {GIF_RATE:g} pictures a second, not {rate:g}: it was drawn with these"
    return rate, ""


def _draw_with(
    renderer: str, draw: Callable[[Artist], None], gl: Callable[[], GlPainter], software: Callable[[], Painter]
) -> Drawn:
    """Have MuJoCo draw, and do so ourselves if it cannot and need not; a driver may fail in the middle as well."""
    reason = ""
    if renderer != "software":
        try:
            with closing(gl()) as painter:
                draw(painter)
            return Drawn("mujoco")
        except NoRendererError as error:
            reason = str(error)
            if renderer == "mujoco":
                raise ExoskelError(f"MuJoCo cannot draw here: {reason}; the software renderer can") from None
    draw(software())
    return Drawn("software", reason)


def picture(
    world: World, *, size: tuple[int, int] = PICTURE_SIZE, camera: str = "default", dark: bool = False
) -> Image:
    """The initial state of a world, `(height, width, 3)`, drawn by the processor."""
    stage = DrawBatches(world)
    poses = [compact(stage.initial)]
    width, height = _checked(size)
    stage, poses, aimed = _near(stage, poses, _aimed(stage, camera, poses, width / height))
    return Painter(stage, aimed, width, height, look=DARK if dark else LIGHT).draw(poses[0])


def painter(world: World, size: tuple[int, int]) -> Callable[[Rows], Image]:
    """What draws a world again and again, at poses of its bodies, by the processor; what moves stays in the middle."""
    stage = DrawBatches(world)
    start = compact(stage.initial)
    width, height = _checked(size)
    artist = Painter(stage, _aimed(stage, "default", [start], width / height), width, height, look=LIGHT)
    moving = ~stage.is_static
    level = np.array(stage.up) == 0.0
    middle = start[moving, :3].mean(axis=0) if moving.any() else np.zeros(3)

    def draw(poses: Rows) -> Image:
        now = compact(poses)
        gone = now[moving, :3].mean(axis=0) - middle if moving.any() else middle
        return artist.draw(np.concatenate([now[:, :3] - level * gone, now[:, 3:]], axis=1).astype(now.dtype))

    return draw


def _checked(size: tuple[int, int]) -> tuple[int, int]:
    if not all(_SMALLEST <= side <= _LARGEST for side in size):
        raise ExoskelError(f"a picture has {_SMALLEST} to {_LARGEST} pixels a side, not {size[0]} by {size[1]}")
    return size


def moments(stage: DrawBatches, motion: Trajectory | None, *, is_moving: bool, rate: float) -> list[Rows]:
    """The poses to be drawn: all of a motion, `rate` a second if it is to move, else the initial ones."""
    if motion is None:
        return [compact(stage.initial)]
    if not len(motion):
        raise ExoskelError("there is nothing to draw: the trajectory is empty")
    if motion.body_poses.shape[1] != len(stage.bodies):
        held = motion.body_poses.shape[1]
        raise ExoskelError(f"the motion is of another scene: it has {held} bodies, the scene {len(stage.bodies)}")
    chosen = motion.resample(1.0 / rate) if is_moving else motion
    return list(compact(chosen.body_poses))


def _aimed(stage: DrawBatches, camera: str | Camera, poses: Sequence[Rows], aspect: float) -> Camera:
    if isinstance(camera, Camera):
        return camera
    if camera not in PRESETS:
        raise ExoskelError(f"there is no camera {camera!r}; there are {', '.join(PRESETS)}")
    low, high = reach(stage, poses)
    return look_at(corners_of(low, high), stage.up, preset=camera, aspect=aspect, both_sides=True)


def _near(stage: DrawBatches, poses: list[Rows], camera: Camera) -> tuple[DrawBatches, list[Rows], Camera]:
    """The same with the scene near the origin: single precision, which is drawn in, tears what is far away."""
    origin = np.array(layout_of(stage.corners()).origin)
    if not origin.any():
        return stage, poses, camera
    position, target = (vector(np.array(point) - origin) for point in (camera.position, camera.target))
    moved = [np.concatenate([pose[:, :3] - origin, pose[:, 3:]], axis=1).astype(np.float32) for pose in poses]
    return stage.moved(origin), moved, structs.replace(camera, position=position, target=target)


def reach(stage: DrawBatches, poses: Sequence[Rows]) -> tuple[Any, Any]:
    """The corners of the box around a scene and where it moves to, as far as that is near."""
    room = _FURTHEST * stage.size
    low, high = stage.low.copy(), stage.high.copy()
    middle = (low + high) / 2
    for number in np.unique(np.linspace(0, len(poses) - 1, _LOOKED_AT).astype(int)):
        for batch in stage.of_role(VISUAL):
            moving = ~stage.is_static[batch.bodies]
            boxes = batch.boxes(poses[number])[moving].reshape(-1, 3)
            near = boxes[(np.abs(boxes - middle) < room).all(axis=1)]
            if len(near):
                low, high = np.minimum(low, near.min(axis=0)), np.maximum(high, near.max(axis=0))
    return low, high


def _drawn(painter: Artist, poses: Sequence[Rows], progress: Progress | None) -> Iterator[Image]:
    """The pictures in their order, drawn by several threads; only a few are ahead of the one that is wanted."""
    workers = min(8, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers) as pool:
        waiting = [pool.submit(painter.draw, one) for one in poses[: 2 * workers]]
        for number in range(len(poses)):
            image = waiting.pop(0).result()
            ahead = number + 2 * workers
            if ahead < len(poses):
                waiting.append(pool.submit(painter.draw, poses[ahead]))
            if progress is not None:
                progress(number + 1, len(poses))
            yield image
