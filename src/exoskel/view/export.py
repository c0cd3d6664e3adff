"""Export of a scene and its motion as one self-contained HTML page: no server, no network."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from exoskel.diagnostics import ExoskelError
from exoskel.scene.world import Scene, World
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.atomic_write import write_atomically
from exoskel.view.browser_scene import BrowserScene, set_initial_camera
from exoskel.view.camera import corners_of, look_at
from exoskel.view.html_text import safe
from exoskel.view.page import Page
from exoskel.view.render import motion_bounds, poses_to_draw
from exoskel.view.render_scene import PoseRows, RenderScene

RATE = 30
"""Frames per second of an exported motion."""
_PAUSE = 1.0
"""Seconds of pause before the motion repeats."""


def check_page(path: str | os.PathLike[str]) -> None:
    """Raise an error if a page cannot be written to `path`."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ExoskelError(f"cannot write a page to {os.fspath(target)!r}: the extension must be .html")
    if not target.absolute().parent.is_dir():
        raise ExoskelError(f"cannot write {os.fspath(target)!r}: the folder does not exist")
    if target.is_dir():
        raise ExoskelError(f"cannot write {os.fspath(target)!r}: it is a folder")


def export(
    scene: Scene | World, path: str | os.PathLike[str], *, motion: Trajectory | None = None, dark: bool = False
) -> None:
    """Write a scene, and optionally a motion, as a single self-contained HTML page."""
    check_page(path)
    try:
        write_atomically(Path(path), html_page(scene, motion=motion, dark=dark).encode())
    except OSError as error:
        raise ExoskelError(f"cannot write the page: {error}") from None


def html_page(scene: Scene | World, *, motion: Trajectory | None = None, dark: bool = False) -> str:
    """The HTML of the page."""
    world = scene.world if isinstance(scene, Scene) else scene
    render_scene = RenderScene(world)
    poses = poses_to_draw(render_scene, motion, is_moving=motion is not None, rate=RATE)
    page = Page(0, dark=dark)
    try:
        html = _record_page(page, render_scene, poses, dark)
    finally:
        page.close()
    return re.sub(r"<title>.*?</title>", lambda _: f"<title>{safe(world.name)}</title>", html, count=1)


def _record_page(page: Page, render_scene: RenderScene, poses: Sequence[PoseRows], dark: bool) -> str:
    server = page.server
    server.scene.set_up_direction(render_scene.up)
    # viser restores its own lights whenever a recording repeats; other lights would flicker.
    browser_scene = BrowserScene(server, render_scene, lights=False, dark=dark)
    first = look_at(corners_of(*motion_bounds(render_scene, poses)), render_scene.up)
    set_initial_camera(server, browser_scene.placement.camera_on_page(first))
    recorder = server.get_scene_serializer()
    for pose in poses if len(poses) > 1 else ():
        browser_scene.show(pose)
        recorder.insert_sleep(1.0 / RATE)
    if len(poses) > 1:
        recorder.insert_sleep(_PAUSE)
    return str(recorder.as_html(dark_mode=dark))


def iframe(html: str, height: int = 480) -> str:
    """Embed a page in another one, such as a notebook."""
    from html import escape

    style = "border:1px solid #ddd;border-radius:4px;display:block"
    return f'<iframe srcdoc="{escape(html, quote=True)}" width="100%" height="{height}" style="{style}"></iframe>'
