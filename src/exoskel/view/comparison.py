"""A second motion to compare with: another engine or another scene, as a ghost or side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.scene.world import World
from exoskel.spatial import Array
from exoskel.view import html_text
from exoskel.view.browser_scene import BrowserScene
from exoskel.view.camera import frame_of
from exoskel.view.player import Player
from exoskel.view.render_scene import RenderScene
from exoskel.view.scene_placement import ScenePlacement
from exoskel.view.surfaces import PoseRows

if TYPE_CHECKING:
    from viser import ViserServer

_MAX_PLOTTED = 2000
_NAME = "ghost"


class GhostScene:
    """Follows the time of the main player with its own motion.

    `label` is its name on the page; `distances` has the largest distance between bodies of the same name, m, for
    each of `times`.
    """

    def __init__(
        self, server: ViserServer, world: World, engine: str, label: str, moved: Callable[[], None] = lambda: None
    ) -> None:
        self.label, self.engine = label, engine
        self._server = server
        self._gui: Any = server.gui
        self.times: list[float] = []
        self.distances: list[float] = []
        self._beside = self._gui.add_checkbox("Side by side", False)
        self._text = self._gui.add_html("")
        self._plot = self._gui.add_uplot(
            data=self._plot_data(),
            series=({"label": "time (s)"}, {"label": "distance (m)", "stroke": "#c8452f", "width": 1.5}),
            scales={"x": {"time": False}},
            title="largest distance between bodies (m)",
            aspect=1.4,
        )
        self._frame = server.scene.add_frame(f"/exoskel/{_NAME}", show_axes=False)
        self._beside.on_update(lambda _: moved())
        self.browser_scene: BrowserScene | None = None
        self.render_scene, self.player = RenderScene(world), Player(world, engine)

    def set_world(self, world: World) -> None:
        """Use another world from now on; call `begin` to show it."""
        self.player.close()
        gravity, self.render_scene, self.player = self.player.gravity, RenderScene(world), Player(world, self.engine)
        self.player.gravity = gravity

    def begin(self, ours: RenderScene, placement: ScenePlacement) -> None:
        """Show the ghost on the page with the main scene."""
        if self.browser_scene is not None:
            self.browser_scene.remove()
        self.ours, self._layout = ours, placement
        self.player.reset()
        self.browser_scene = BrowserScene(self._server, self.render_scene, name=_NAME, ghost=True, placement=placement)
        theirs = {name: number for number, name in enumerate(self.render_scene.names)}
        pairs = [(number, theirs[name]) for number, name in enumerate(ours.names) if name in theirs]
        self._pairs = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        self._forget()
        self.place()

    def place(self) -> None:
        """Move the ghost beside the main scene or to the same place."""
        self._frame.position = self._layout.scale * self.offset(self.ours)

    def offset(self, ours: RenderScene, *, beside: bool | None = None) -> Array:
        """The offset of the ghost, m: side by side, it stands to the left by the width of the main scene."""
        if not (self._beside.value if beside is None else beside):
            return np.zeros(3)
        _, left, _ = frame_of(ours.up)
        wide: Array = left * (1.2 * float(abs((ours.high - ours.low) @ left)) + 0.05 * ours.size)
        return wide

    def corners(self, ours: RenderScene, *, beside: bool | None = None) -> Array:
        """The corners of its bounding box, with its offset."""
        return self.render_scene.corners() + self.offset(ours, beside=beside)

    def follow(self, time: float, poses: PoseRows) -> None:
        """Go to a time and measure the distance to the bodies of the main scene."""
        try:
            self.player.advance_to(time)
        except ExoskelError as error:
            message = (f"{self.label} cannot be simulated", f"<br>{html_text.safe(str(error))}")
            self._text.content = html_text.error_box(message)
            return
        self._show()
        gap = self.gap(poses)
        if not self.times or time > self.times[-1]:
            self.times.append(time)
            self.distances.append(gap)
            if len(self.times) > _MAX_PLOTTED:
                del self.times[::2], self.distances[::2]

    def _show(self) -> None:
        if self.browser_scene is not None:
            self.browser_scene.show(self.player.poses)

    def gap(self, poses: PoseRows) -> float:
        """The largest current distance between bodies of the same name, m."""
        ours, theirs = self._pairs.T
        apart = np.linalg.norm(poses[ours, :3] - self.player.poses[theirs, :3], axis=1)
        return float(apart.max(initial=0.0))

    def reset(self) -> None:
        self.player.reset()
        self._forget()
        self._show()

    def pose(self, dof: int, value: float) -> None:
        """Set a coordinate of the ghost too, if it has one with this number."""
        if dof < len(self.player.positions):
            self.player.pose(dof, value)
            self._forget()
            self._show()

    def show_numbers(self, poses: PoseRows) -> None:
        self._text.content = (
            "<div id='exoskel-distance' style='padding:0 0.9em 0.4em;font-size:0.9em' "
            f"data-distance='{self.gap(poses):.9g}'>"
            f"largest distance now: {self.gap(poses):.3g} m; the ghost is {html_text.safe(self.label)}</div>"
        )
        self._plot.data = self._plot_data()

    def _plot_data(self) -> tuple[Array, Array]:
        if len(self.times) < 2:  # nothing has moved yet: draw a line at the initial distance
            begin, apart = (self.times or [0.0])[0], (self.distances or [0.0])[0]
            return np.array([begin, begin + 1.0]), np.array([apart, apart])
        return np.array(self.times), np.array(self.distances)

    def _forget(self) -> None:
        self.times, self.distances = [], []

    def close(self) -> None:
        self.player.close()
