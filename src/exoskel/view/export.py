"""Self-contained HTML pages of a scene and its motion, and showing them in notebooks and browsers."""

from __future__ import annotations

import atexit
import os
import re
import webbrowser
from collections.abc import Sequence
from math import degrees
from pathlib import Path

from exoskel.diagnostics import ExoskelError
from exoskel.formats.load import source_files
from exoskel.scene.world import Scene, SceneLike, as_scene, as_world
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.atomic_write import check_writable, write_atomically
from exoskel.view.browser_scene import BrowserScene, set_initial_camera
from exoskel.view.camera import FIELD_OF_VIEW, look_at
from exoskel.view.html_text import safe
from exoskel.view.page import DEFAULT_PORT, Page
from exoskel.view.render import poses_to_draw
from exoskel.view.render_scene import RenderScene
from exoskel.view.skins import PoseRows
from exoskel.view.viewer import Viewer

RATE = 30
"""Frames per second of an exported motion."""
_PAUSE = 1.0
"""Seconds of pause before the motion repeats."""


_PAGE_SCRIPT = """<script>
const adapt = () => {
  const page = window.__viserMutable, camera = page?.camera, scene = page?.scene;
  const isReady = camera && scene && page.cameraControl && Math.abs(camera.fov - FIELD_OF_VIEW) < 0.1;
  if (!isReady) return setTimeout(adapt, 20);
  scene.onBeforeRender = () => {
    scene.environment = null;
    scene.traverse((one) => { if (one.isDirectionalLight && [1, 0.4].includes(one.intensity)) one.visible = false; });
  };
  if (camera.aspect < 1) page.cameraControl.dollyTo(page.cameraControl.distance / camera.aspect, false);
};
adapt();
</script>"""
"""Hides viser's own lights, which it restores for a moment when a recording repeats, and adapts to narrow windows."""


def check_page(path: str | os.PathLike[str]) -> None:
    """Raise an error if a page cannot be written to `path`."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise ExoskelError(f"cannot write a page to {os.fspath(target)!r}: the extension must be .html")
    check_writable(target)


def export(
    scene: SceneLike, path: str | os.PathLike[str], *, motion: Trajectory | None = None, dark: bool = False
) -> None:
    """Write a scene, and optionally a motion, as a single self-contained HTML page."""
    check_page(path)
    try:
        page = html_page(scene, motion=motion, dark=dark).encode()
        write_atomically(Path(path), page, sources=source_files(as_scene(scene)))
    except OSError as error:
        raise ExoskelError(f"cannot write the page: {error}") from None


def html_page(scene: SceneLike, *, motion: Trajectory | None = None, dark: bool = False) -> str:
    """The HTML of the page."""
    world = as_world(scene)
    render_scene = RenderScene(world)
    poses = poses_to_draw(render_scene, motion, is_moving=motion is not None, rate=RATE)
    if motion is not None:
        render_scene.include_motion(motion)
    page = Page(0, dark=dark)
    try:
        html = _record_page(page, render_scene, poses, dark)
    finally:
        page.close()
    head = f"<title>{safe(world.name)}</title>" + _PAGE_SCRIPT.replace("FIELD_OF_VIEW", f"{degrees(FIELD_OF_VIEW):g}")
    return re.sub(r"<title>.*?</title>", lambda _: head, html, count=1)


def _record_page(page: Page, render_scene: RenderScene, poses: Sequence[PoseRows], dark: bool) -> str:
    server = page.server
    server.scene.set_up_direction(render_scene.up)
    browser_scene = BrowserScene(server, render_scene, dark=dark)
    first = look_at(render_scene.corners(), render_scene.up)
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


# --- pages ---------------------------------------------------------------------------------------------


class ViewerHandle:
    """The result of `show`.  A notebook displays it; elsewhere the page is at `url` until it is closed."""

    def __init__(self, scene: Scene, motion: Trajectory | None, viewer: Viewer | None, dark: bool) -> None:
        self._scene, self._motion, self._viewer, self._dark = scene, motion, viewer, dark

    @property
    def url(self) -> str:
        """The address of the page; empty in a notebook, which contains the page itself."""
        return self._viewer.page.url if self._viewer else ""

    def close(self) -> None:
        if self._viewer is not None:
            atexit.unregister(self._viewer.close)
            self._viewer.close()

    def _repr_html_(self) -> str:
        return iframe(html_page(self._scene, motion=self._motion, dark=self._dark))

    def __repr__(self) -> str:
        return f"ViewerHandle({self.url or 'in a notebook'})"


def show(
    what: SceneLike | Trajectory,
    scene: SceneLike | None = None,
    *,
    engine: str = "mujoco",
    port: int = DEFAULT_PORT,
    dark: bool = False,
    browser: bool = True,
) -> ViewerHandle:
    """Show a scene or a motion.

    In a notebook the result displays itself as a page that needs no server.  Elsewhere a viewer serves the page at
    `port` in the background and, if `browser` is true, opens it.  A motion loaded from a file needs its `scene`.
    """
    shown_scene, motion = _scene_and_motion(what, scene)
    if _in_notebook():
        return ViewerHandle(shown_scene, motion, None, dark)
    viewer = Viewer(lambda: shown_scene, port=port, engine=engine, dark=dark, watch=False, recorded=motion)
    viewer.start()
    atexit.register(viewer.close)
    if browser:
        webbrowser.open(viewer.page.url)
    return ViewerHandle(shown_scene, motion, viewer, dark)


def notebook_html(what: SceneLike | Trajectory) -> str:
    """The HTML of a scene or motion for a notebook: a page that needs no server."""
    scene, motion = _scene_and_motion(what, None)
    return iframe(html_page(scene, motion=motion))


def _scene_and_motion(what: SceneLike | Trajectory, scene: SceneLike | None) -> tuple[Scene, Trajectory | None]:
    """The scene to show, and its motion if there is one."""
    motion = what if isinstance(what, Trajectory) else None
    shown = scene if isinstance(what, Trajectory) else what
    if shown is None and motion is not None:
        shown = motion.scene
    if shown is None:
        raise ExoskelError("a motion loaded from a file needs its scene: use show(motion, scene)")
    return as_scene(shown), motion


def _in_notebook() -> bool:
    """Whether this runs in a notebook rather than a terminal."""
    import sys

    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")
