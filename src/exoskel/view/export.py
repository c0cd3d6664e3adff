"""Self-contained HTML pages of a scene and its motion, and showing them in notebooks and browsers."""

from __future__ import annotations

import atexit
import json
import os
import re
import webbrowser
from collections.abc import Sequence
from math import degrees, tan
from pathlib import Path

from exoskel.diagnostics import ExoskelError
from exoskel.formats.load import source_files
from exoskel.scene.world import Scene, SceneLike, as_scene, as_world
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.atomic_write import check_writable, write_atomically
from exoskel.spatial import Array
from exoskel.view.browser_scene import BrowserScene, set_initial_camera
from exoskel.view.camera import FIELD_OF_VIEW, FILL, look_at
from exoskel.view.html_text import safe
from exoskel.view.page import DEFAULT_PORT, Page
from exoskel.view.render import poses_to_draw
from exoskel.view.render_scene import RenderScene
from exoskel.view.surfaces import PoseRows
from exoskel.view.viewer import Viewer

RATE = 30
"""Frames per second of an exported motion."""
_PAUSE = 1.0
"""Seconds of pause before the motion repeats."""


_PAGE_SCRIPT = """<script>
const adapt = () => {
  const page = window.__viserMutable, camera = page?.camera, scene = page?.scene, controls = page?.cameraControl;
  const isReady = camera && scene && controls && Math.abs(camera.fov - FIELD_OF_VIEW) < 0.1;
  if (!isReady) return setTimeout(adapt, 20);
  scene.onBeforeRender = () => {
    scene.environment = null;
    scene.traverse((one) => { if (one.isDirectionalLight && [1, 0.4].includes(one.intensity)) one.visible = false; });
  };
  const corners = CORNERS, slope = SLOPE;
  const position = controls.getPosition(camera.position.clone()), target = controls.getTarget(camera.position.clone());
  camera.updateMatrixWorld();
  const axes = [0, 1, 2].map((i) => camera.position.clone().setFromMatrixColumn(camera.matrixWorld, i));
  let hasMoved = false, before = 1;
  for (const kind of ["controlstart", "control"]) controls.addEventListener(kind, () => (hasMoved = true));
  const reach = (axis, slope, sign) => Math.max(...corners.map((one) => sign * one[axis] + slope * one[2]));
  const frame = () => {
    const shape = Math.min(1, camera.aspect);
    if (hasMoved || shape === before) return;
    before = shape;
    const [x, y] = [slope * shape, slope].map((one, axis) => [one, reach(axis, one, 1), reach(axis, one, -1)]);
    const sideways = [x, y].map(([, ahead, behind]) => (ahead - behind) / 2);
    const back = Math.max(...[x, y].map(([one, ahead, behind]) => (ahead + behind) / (2 * one)));
    const move = axes[0].clone().multiplyScalar(sideways[0]).addScaledVector(axes[1], sideways[1]);
    const [eye, middle] = [position, target].map((one) => one.clone().add(move));
    controls.setLookAt(...eye.addScaledVector(axes[2], back).toArray(), ...middle.toArray(), false);
  };
  frame();
  new ResizeObserver(() => requestAnimationFrame(frame)).observe(page.canvas);
};
adapt();
</script>"""
"""Hides viser's own lights, which it restores for a moment when a recording repeats, and frames the scene in narrow
windows as `look_at` does, until the user moves the camera.  Corners are relative to the camera: right, up, back."""


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
        page.server.scene.set_up_direction(render_scene.up)
        browser_scene = BrowserScene(page.server, render_scene, dark=dark)
        camera = browser_scene.placement.camera_on_page(look_at(render_scene.corners(), render_scene.up))
        set_initial_camera(page.server, camera)
        html = _record_motion(browser_scene, poses, dark)
    finally:
        page.close()
    corners = camera.coordinates(browser_scene.placement.on_page(render_scene.corners())) * [1.0, 1.0, -1.0]
    head = f"<title>{safe(world.name)}</title>" + _script(corners)
    return re.sub(r"<title>.*?</title>", lambda _: head, html, count=1)


def _script(corners: Array) -> str:
    values = {
        "FIELD_OF_VIEW": f"{degrees(FIELD_OF_VIEW):g}",
        "CORNERS": json.dumps(corners.round(6).tolist()),
        "SLOPE": f"{FILL * tan(FIELD_OF_VIEW / 2):g}",
    }
    text = _PAGE_SCRIPT
    for name, value in values.items():
        text = text.replace(name, value)
    return text


def _record_motion(browser_scene: BrowserScene, poses: Sequence[PoseRows], dark: bool) -> str:
    """The HTML of a scene and its motion, which repeats."""
    recorder = browser_scene.server.get_scene_serializer()
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
