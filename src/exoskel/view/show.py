"""Viewing scenes and motions from Python, in notebooks and elsewhere."""

from __future__ import annotations

import webbrowser

from exoskel.diagnostics import ExoskelError
from exoskel.scene.world import Scene, World
from exoskel.simulate.trajectory import Trajectory
from exoskel.view.export import html_page, iframe
from exoskel.view.page import DEFAULT_PORT
from exoskel.view.viewer import Viewer


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
            self._viewer.close()

    def _repr_html_(self) -> str:
        return iframe(html_page(self._scene, motion=self._motion, dark=self._dark))

    def __repr__(self) -> str:
        return f"ViewerHandle({self.url or 'in a notebook'})"


def show(
    what: Scene | World | Trajectory,
    scene: Scene | World | None = None,
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
    if browser:
        webbrowser.open(viewer.page.url)
    return ViewerHandle(shown_scene, motion, viewer, dark)


def notebook_html(what: Scene | World | Trajectory) -> str:
    """The HTML of a scene or motion for a notebook: a page that needs no server."""
    scene, motion = _scene_and_motion(what, None)
    return iframe(html_page(scene, motion=motion))


def _scene_and_motion(what: Scene | World | Trajectory, scene: Scene | World | None) -> tuple[Scene, Trajectory | None]:
    """The scene to show, and its motion if there is one."""
    motion = what if isinstance(what, Trajectory) else None
    shown = scene if isinstance(what, Trajectory) else what
    if shown is None and motion is not None:
        shown = motion.scene
    if shown is None:
        raise ExoskelError("a motion loaded from a file needs its scene: use show(motion, scene)")
    return shown if isinstance(shown, Scene) else Scene(worlds=[shown]), motion


def _in_notebook() -> bool:
    """Whether this runs in a notebook rather than a terminal."""
    import sys

    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")
