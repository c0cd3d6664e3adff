"""Looking at scenes and motions from Python, in notebooks and elsewhere."""

from __future__ import annotations

import webbrowser

from exoskel.diagnostics import ExoskelError
from exoskel.scene.world import Scene, World
from exoskel.simulate.trajectory import Trajectory
from exoskel.view.export import frame, page_of
from exoskel.view.page import DEFAULT_PORT
from exoskel.view.viewer import Viewer


class Showing:
    """What `show` gives back.  A notebook displays it; elsewhere it is a page at `url`, until it is closed."""

    def __init__(self, scene: Scene, motion: Trajectory | None, viewer: Viewer | None, dark: bool) -> None:
        self._scene, self._motion, self._viewer, self._dark = scene, motion, viewer, dark

    @property
    def url(self) -> str:
        """Where the page is; empty in a notebook, which holds it itself."""
        return self._viewer.page.url if self._viewer else ""

    def close(self) -> None:
        if self._viewer is not None:
            self._viewer.close()

    def _repr_html_(self) -> str:
        return frame(page_of(self._scene, motion=self._motion, dark=self._dark))

    def __repr__(self) -> str:
        return f"Showing({self.url or 'in a notebook'})"


def show(
    what: Scene | World | Trajectory,
    scene: Scene | World | None = None,
    *,
    engine: str = "mujoco",
    port: int = DEFAULT_PORT,
    dark: bool = False,
    browser: bool = True,
) -> Showing:
    """Show a scene, or a motion of one.

    In a notebook the result displays itself, as a page that needs no server.  Elsewhere a viewer begins to serve at
    `port` in the background, and the browser is opened unless told not to.  A motion that comes from a file has to be
    given its `scene`.
    """
    shown, motion = _told(what, scene)
    if _in_notebook():
        return Showing(shown, motion, None, dark)
    viewer = Viewer(lambda: shown, port=port, engine=engine, dark=dark, watch=False, recorded=motion)
    viewer.start()
    if browser:
        webbrowser.open(viewer.page.url)
    return Showing(shown, motion, viewer, dark)


def html_of(what: Scene | World | Trajectory) -> str:
    """A scene or motion as HTML for a notebook: a page that needs no server."""
    scene, motion = _told(what, None)
    return frame(page_of(scene, motion=motion))


def _told(what: Scene | World | Trajectory, scene: Scene | World | None) -> tuple[Scene, Trajectory | None]:
    """What is to be shown, and how it moves."""
    motion = what if isinstance(what, Trajectory) else None
    stage = scene if isinstance(what, Trajectory) else what
    if stage is None and motion is not None:
        stage = motion.scene
    if stage is None:
        raise ExoskelError("a motion from a file does not say what moves: show(motion, scene)")
    return stage if isinstance(stage, Scene) else Scene(worlds=[stage]), motion


def _in_notebook() -> bool:
    """Whether a notebook asks, rather than a terminal."""
    import sys

    if "IPython" not in sys.modules:
        return False
    shell = sys.modules["IPython"].get_ipython()
    return shell is not None and hasattr(shell, "kernel")
