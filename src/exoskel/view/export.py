"""A scene and its motion as one page that needs nothing else: no server, no network."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from exoskel.diagnostics import ExoskelError
from exoskel.scene.world import Scene, World
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.atomic_write import write_atomically
from exoskel.view.browser_scene import BrowserScene, aim
from exoskel.view.camera import corners_of, look_at
from exoskel.view.draw_batches import DrawBatches, Rows
from exoskel.view.html_text import safe
from exoskel.view.page import Page
from exoskel.view.render import moments, reach

RATE = 30
"""Pictures a second of an exported motion."""
_PAUSE = 1.0
"""Seconds that a motion stands still before it begins anew."""


def check_page(path: str | os.PathLike[str]) -> None:
    """Raise if a page could not be written there."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        ending = target.suffix or "a file without an ending"
        raise ExoskelError(f"a page cannot be written as {ending!r}: .html")
    if not target.absolute().parent.is_dir():
        raise ExoskelError(f"there is no folder {os.fspath(target.parent)!r} to write the page to")
    if target.is_dir():
        raise ExoskelError(f"{os.fspath(target)!r} is a folder, not a file to write to")


def export(
    scene: Scene | World, path: str | os.PathLike[str], *, motion: Trajectory | None = None, dark: bool = False
) -> None:
    """Write a scene as a single self-contained page, with a motion to be played if one is given."""
    check_page(path)
    try:
        write_atomically(Path(path), page_of(scene, motion=motion, dark=dark).encode())
    except OSError as error:
        raise ExoskelError(f"the page cannot be written: {error}") from None


def page_of(scene: Scene | World, *, motion: Trajectory | None = None, dark: bool = False) -> str:
    """The page as text."""
    world = scene.world if isinstance(scene, Scene) else scene
    stage = DrawBatches(world)
    poses = moments(stage, motion, is_moving=motion is not None, rate=RATE)
    page = Page(0, dark=dark)
    try:
        html = _recorded(page, stage, poses, dark)
    finally:
        page.close()
    return re.sub(r"<title>.*?</title>", lambda _: f"<title>{safe(world.name)}</title>", html, count=1)


def _recorded(page: Page, stage: DrawBatches, poses: Sequence[Rows], dark: bool) -> str:
    server = page.server
    server.scene.set_up_direction(stage.up)
    # A recording that begins anew puts viser's own lights back first: others would flicker.
    scenery = BrowserScene(server, stage, lights=False, dark=dark)
    first = look_at(corners_of(*reach(stage, poses)), stage.up)
    aim(server, scenery.layout.camera_on_page(first))
    recorder = server.get_scene_serializer()
    for pose in poses if len(poses) > 1 else ():
        scenery.show(pose)
        recorder.insert_sleep(1.0 / RATE)
    if len(poses) > 1:
        recorder.insert_sleep(_PAUSE)
    return str(recorder.as_html(dark_mode=dark))


def frame(html: str, height: int = 480) -> str:
    """A page inside another one, such as a notebook."""
    from html import escape

    style = "border:1px solid #ddd;border-radius:4px;display:block"
    return f'<iframe srcdoc="{escape(html, quote=True)}" width="100%" height="{height}" style="{style}"></iframe>'
