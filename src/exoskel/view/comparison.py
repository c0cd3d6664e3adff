"""A second motion to hold the first against: another engine, or another scene, as a ghost or side by side."""

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
from exoskel.view.draw_batches import DrawBatches, Rows
from exoskel.view.player import Player
from exoskel.view.scene_placement import ScenePlacement

if TYPE_CHECKING:
    from viser import ViserServer

_MOST_PLOTTED = 2000
_NAME = "rival"


class GhostScene:
    """Follows a player's time in a motion of its own.

    `label` is what it is called; `distances` are the largest between bodies of the same name, m, by time.
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
        self._told = self._gui.add_html("")
        self._plot = self._gui.add_uplot(
            data=self._drawn(),
            series=({"label": "time (s)"}, {"label": "distance (m)", "stroke": "#c8452f", "width": 1.5}),
            scales={"x": {"time": False}},
            title="largest distance between bodies (m)",
            aspect=1.4,
        )
        self._frame = server.scene.add_frame(f"/exoskel/{_NAME}", show_axes=False)
        self._beside.on_update(lambda _: moved())
        self.scenery: BrowserScene | None = None
        self.stage, self.player = DrawBatches(world), Player(world, engine)

    def take(self, world: World) -> None:
        """Follow in this world from now on; `begin` puts it on the page."""
        self.player.close()
        gravity, self.stage, self.player = self.player.gravity, DrawBatches(world), Player(world, self.engine)
        self.player.gravity = gravity

    def begin(self, ours: DrawBatches, layout: ScenePlacement) -> None:
        """Stand on the page, against a stage."""
        if self.scenery is not None:
            self.scenery.remove()
        self.ours, self._layout = ours, layout
        self.player.reset()
        self.scenery = BrowserScene(self._server, self.stage, name=_NAME, ghost=True, layout=layout)
        theirs = {name: number for number, name in enumerate(self.stage.names)}
        pairs = [(number, theirs[name]) for number, name in enumerate(ours.names) if name in theirs]
        self._pairs = np.array(pairs, dtype=np.intp).reshape(-1, 2)
        self._forget()
        self.place()

    def place(self) -> None:
        """Stand where it should, which is side by side or in the same place."""
        self._frame.position = self._layout.scale * self.offset(self.ours)

    def offset(self, ours: DrawBatches, *, beside: bool | None = None) -> Array:
        """How far it is moved, m: side by side stands to the left, as far as the scene is wide."""
        if not (self._beside.value if beside is None else beside):
            return np.zeros(3)
        _, left, _ = frame_of(ours.up)
        wide: Array = left * (1.2 * float(abs((ours.high - ours.low) @ left)) + 0.05 * ours.size)
        return wide

    def corners(self, ours: DrawBatches, *, beside: bool | None = None) -> Array:
        """The corners of the box around it where it stands."""
        return self.stage.corners() + self.offset(ours, beside=beside)

    def follow(self, time: float, poses: Rows) -> None:
        """Go to a time, and measure how far bodies are apart there."""
        try:
            self.player.advance_to(time)
        except ExoskelError as error:
            self._told.content = html_text.trouble((f"{self.label} cannot follow", f"<br>{html_text.safe(str(error))}"))
            return
        self._show()
        gap = self.gap(poses)
        if not self.times or time > self.times[-1]:
            self.times.append(time)
            self.distances.append(gap)
            if len(self.times) > _MOST_PLOTTED:
                del self.times[::2], self.distances[::2]

    def _show(self) -> None:
        if self.scenery is not None:
            self.scenery.show(self.player.poses)

    def gap(self, poses: Rows) -> float:
        """The largest distance between bodies of the same name now, m."""
        ours, theirs = self._pairs.T
        apart = np.linalg.norm(poses[ours, :3] - self.player.poses[theirs, :3], axis=1)
        return float(apart.max(initial=0.0))

    def reset(self) -> None:
        self.player.reset()
        self._forget()
        self._show()

    def pose(self, dof: int, value: float) -> None:
        """Set a coordinate here too, where there is one."""
        if dof < len(self.player.positions):
            self.player.pose(dof, value)
            self._forget()
            self._show()

    def show_numbers(self, poses: Rows) -> None:
        self._told.content = (
            f"<div id='exoskel-distance' style='padding:0 1em' data-distance='{self.gap(poses):.9g}'>"
            f"{self.gap(poses):.3g} m apart; the ghost is {html_text.safe(self.label)}</div>"
        )
        self._plot.data = self._drawn()

    def _drawn(self) -> tuple[Array, Array]:
        if len(self.times) < 2:  # nothing moved yet: a line at the distance they stand at
            begin, apart = (self.times or [0.0])[0], (self.distances or [0.0])[0]
            return np.array([begin, begin + 1.0]), np.array([apart, apart])
        return np.array(self.times), np.array(self.distances)

    def _forget(self) -> None:
        self.times, self.distances = [], []

    def close(self) -> None:
        self.player.close()
