"""The viewer: plays a scene on a web page and reloads it when its file is saved.

One thread does all the work: first the tasks submitted by the page, then the next frame.
"""

from __future__ import annotations

import queue
import threading
import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np

from exoskel.diagnostics import Diagnostic, ExoskelError, Severity, printable
from exoskel.engines.registry import engine_title
from exoskel.scene.pose import Vector
from exoskel.scene.world import Scene, World
from exoskel.simulate.trajectory import Trajectory
from exoskel.spatial import Array
from exoskel.view import html_text
from exoskel.view.browser_scene import CONTACTS, BrowserScene, client_camera, set_client_camera
from exoskel.view.camera import Camera, look_at
from exoskel.view.comparison import GhostScene
from exoskel.view.framing import Framing
from exoskel.view.live_plot import PLOT_PANEL, LivePlot, Quantity
from exoskel.view.live_reload import (
    INTERVAL,
    BrokenFileError,
    FileWatch,
    is_regression,
    scene_errors,
    scene_title,
    watched_files,
)
from exoskel.view.page import DEFAULT_PORT, FOLLOW_FRAME, LOOPBACK, Page, PageScript
from exoskel.view.panel import Job, Panel
from exoskel.view.player import HALF_CORE, WHOLE_CORE, Player
from exoskel.view.render_scene import RenderScene
from exoskel.view.scene_placement import ScenePlacement, placed_camera, placement_for, preset_along
from exoskel.view.scene_tools import LastVersion, Measurement, PullTool, legend
from exoskel.view.selection import ItemKind, ItemSelection, TreeItem, parse_item

FRAMES_PER_SECOND = 30
_PANEL_INTERVAL = 0.1
"""Seconds between two updates of the numbers on the panel."""
_CLOSE_TIMEOUT = 5.0
"""Seconds to wait for the thread to finish."""
NO_ERROR = ("", "")
"""A title and HTML, both empty."""
Loader = Callable[[], Scene]


class Viewer:
    """Shows a scene on a page until it is closed.

    `load` reads the scene, and is called again whenever one of its files is saved.  `recorded` is a motion to play
    instead of simulating.  `world` selects one of several worlds.  `comparison` is shown as a ghost: the name of an
    engine and None, or the name of another scene and a function that loads it.  `host` and `with_token` are those of
    `Page`.
    """

    def __init__(
        self,
        load: Loader,
        *,
        port: int = DEFAULT_PORT,
        host: str = LOOPBACK,
        with_token: bool = False,
        engine: str = "mujoco",
        dark: bool = False,
        watch: bool = True,
        world: str | None = None,
        recorded: Trajectory | None = None,
        comparison: tuple[str, Loader | None] | None = None,
    ) -> None:
        self._load, self._world_name, self._recorded = load, world, recorded
        self.scene = load()
        self.world = self._world_of(self.scene)
        title = scene_title(self.scene, self.world)
        self.page = Page(port, title=title, dark=dark, host=host, with_token=with_token)
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._next_file_check = self._next_panel = self._real_time_factor = 0.0
        self._panel_is_current = self._was_empty = False
        self.following = False
        self._follow_frame: Any = None
        self._camera_number = -1
        """The number of the camera of the file that all clients use; -1 for none."""
        self._up: Vector | None = None
        self.placement = ScenePlacement()
        self._dark = dark
        self._action_error = self._file_error = NO_ERROR
        self._page_actions: dict[str, Callable[[int, str], None]] = {
            "select": lambda _, value: self.select_item(parse_item(value)),
            "fold": lambda _, value: self._fold(parse_item(value)),
            "axis": self._look_along,
            "csv": self._save_csv,
            "panels": self._set_visible_panels,
        }
        self.page_script = PageScript(self.page.server, self._receive, title)
        self.framing = Framing(self.page.server, self._page_camera, self.submit)
        self.pull = PullTool(self.page.server)
        self.last_version = LastVersion(self.page.server)
        self.measurement = Measurement(self.page.server, lambda *ray: self.submit(lambda: self._measure(*ray)))
        self.panel = Panel(self.page.server, self, self.submit, engine=engine, dark=dark)
        with self.panel.tabs.add_tab("Plot"):
            self.plot = LivePlot(self.page.server.gui, lambda one: self.submit(lambda: self._set_quantity(one)))
        self._pages_with_plot: set[int] = set()
        self.player = Player(self.world, engine, recorded=recorded)
        self.ghost: GhostScene | None = None
        self._comparison_loader: Loader | None = None
        self._comparison_scene: Scene | None = None
        if comparison is not None:
            self._add_ghost(*comparison)
        self._add_scene()
        self._watch = FileWatch(self._files() if watch else ())
        self._update_file_errors()
        self.page.collapse_panel_if_narrow()

    # --- scenes ---------------------------------------------------------------------------------------

    def _world_of(self, scene: Scene) -> World:
        if self._world_name is None:
            return scene.worlds[0] if scene.worlds else scene.world  # raises an error with the reason
        found = [one for one in scene.worlds if one.name == self._world_name]
        if not found:
            known = ", ".join(repr(printable(one.name)) for one in scene.worlds)
            raise ExoskelError(
                f"unknown world {self._world_name!r}; "
                + (f"choose one of {known}" if known else "the file has no worlds")
            )
        return found[0]

    def _add_scene(self) -> None:
        """Put the scene on the page."""
        server = self.page.server
        self.render_scene = RenderScene(self.world)
        if self._recorded is not None:
            self.render_scene.include_motion(self._recorded)
        before = self.placement
        self._update_placement()
        self.framing.begin(has_moved=self.placement != before)
        if self.render_scene.up != self._up:  # setting it again would reset every client's camera
            self._up = self.render_scene.up
            server.scene.set_up_direction(self._up)
        self.browser_scene = BrowserScene(server, self.render_scene, placement=self.placement, dark=self._dark)
        self.browser_scene.on_pick(lambda number: self.submit(lambda: self._pick(number)))
        self.browser_scene.on_drag(lambda *how: self.submit(lambda: self.pull.drag(self.player, *how)))
        self.measurement.begin(self.render_scene, self.placement)
        self.last_version.place(self.placement)
        self.panel.fill(self.world, self.render_scene.size)
        self.selection = ItemSelection(self.scene, self.world, self.render_scene)
        self.selection.tree.search = self.panel.search_text
        self._camera_number = -1
        self.panel.set_span(self.player.span[1])
        self.panel.show_problems(self.scene.diagnostics, self.render_scene.missing_meshes)
        if self.ghost is not None:
            self.ghost.begin(self.render_scene, self.placement)
        if self._was_empty:
            self.set_view("default")  # the clients had nothing to look at, so they have no view to preserve
        self._was_empty = self.render_scene.is_empty
        self.select_item(None)
        self._show()

    def _update_placement(self) -> None:
        """Choose where the scene lies on the page; clients keep their view of the world."""
        corners = [self.render_scene.corners()]
        if self.ghost is not None:
            corners += [self.ghost.corners(self.render_scene, beside=beside) for beside in (False, True)]
        everything, before = np.concatenate(corners), self.placement
        if before.fits(everything):
            return
        self.placement = placement_for(everything)
        for client in self.page.server.get_clients().values():
            set_client_camera(client, self.placement.camera_on_page(client_camera(client, before)))

    def _page_camera(self, preset: str, aspect: float) -> Camera:
        """A camera on the page that shows everything in a window with this aspect ratio."""
        corners = self.render_scene.corners()
        if self.ghost is not None:
            corners = np.concatenate([corners, self.ghost.corners(self.render_scene)])
        camera = look_at(corners, self.render_scene.up, preset=preset, aspect=aspect, both_sides=aspect < 1.0)
        return self.placement.camera_on_page(camera)

    def _add_ghost(self, name: str, load: Loader | None) -> None:
        self._comparison_loader = load
        world = self._comparison_world(self.world)
        engine = name if load is None else self.player.engine
        with self.panel.tabs.add_tab("Compare"):
            self.ghost = GhostScene(
                self.page.server, world, engine, engine_title(name), lambda: self.submit(self._update_side_by_side)
            )

    def _comparison_world(self, ours: World) -> World:
        """The world to compare with: the same one for another engine, or the current world of the other file."""
        if self._comparison_loader is None:
            return ours
        scene = self._comparison_loader()
        world = self._world_of(scene)
        if self.ghost is not None and scene_errors(scene):
            raise BrokenFileError("the file to compare with has errors", scene.diagnostics)
        self._comparison_scene = scene
        return world

    def _update_side_by_side(self) -> None:
        """Move the ghost and show both scenes to all clients."""
        if self.ghost is not None:
            self.ghost.place()
            self.framing.begin(has_moved=False)
            self.set_view("default")

    def _files(self) -> list[str]:
        return [
            *watched_files(self.scene),
            *(watched_files(self._comparison_scene) if self._comparison_scene is not None else ()),
        ]

    def reload(self) -> None:
        """Read the file again; if it is broken, keep the last good scene and show the errors over it."""
        try:
            scene = self._load()
            world = self._world_of(scene)
            ghost_world = self._comparison_world(world)
            player = Player(world, self.player.engine, recorded=self._recorded)
        except ExoskelError as error:
            known = error.diagnostics or getattr(locals().get("scene"), "diagnostics", ())
            self._keep_last_scene(list(known), str(error))
            return
        if is_regression(scene, world, self.scene, self.world):
            self._keep_last_scene(scene.diagnostics, "")
            return
        if self.ghost is not None:
            self.ghost.set_world(ghost_world)
        self._replace(scene, world, player)

    def _keep_last_scene(self, diagnostics: list[Diagnostic], reason: str) -> None:
        serious = [one for one in diagnostics if one.severity is not Severity.INFO]
        text = html_text.problems(serious) if serious else f"<br>{html_text.safe(reason)}"
        self._file_error = ("The file is broken. Showing the last valid scene.", text)
        self._show_errors()
        self.panel.show_problems(diagnostics, self.render_scene.missing_meshes)

    def _update_file_errors(self) -> None:
        """Show the errors of the current file over the scene."""
        errors = scene_errors(self.scene)
        self._file_error = (
            ("The file has errors. Showing the valid parts.", html_text.problems(errors)) if errors else NO_ERROR
        )
        self._show_errors()

    def _report_deleted(self, files: list[str]) -> None:
        """Report deleted files; a file that reappears is read again."""
        paths = "".join(f"<br>{html_text.safe(one)}" for one in files)
        error = ("A file was deleted. Showing the last version.", paths)
        if files and self._file_error != error:
            self._file_error = error
            self._show_errors()

    def _show_errors(self) -> None:
        errors = [one for one in (self._action_error, self._file_error) if one != NO_ERROR]
        self.page.mark_errors(bool(errors))
        self.panel.show_errors(*errors)

    def _clear_action_error(self) -> None:
        """Remove the error of the last action; errors of the file stay until it is valid."""
        self._action_error = NO_ERROR
        self._show_errors()

    def _replace(self, scene: Scene, world: World, player: Player) -> None:
        """Replace the scene; camera, selection and layers are preserved."""
        chosen = self.selection.names
        layers, was_playing, old = self.browser_scene.layers, self.player.is_playing, self.browser_scene
        player.speed, player.gravity, player.core_share = self.player.speed, self.player.gravity, self.player.core_share
        self.player.close()
        self.scene, self.world, self.player = scene, world, player
        self.last_version.keep(self.render_scene)
        with self.page.server.atomic():
            old.remove()
            self._add_scene()
            for name, on in layers.items():
                if name in self.browser_scene.layers and on != self.browser_scene.layers[name]:
                    self.browser_scene.set_layer(name, on)
        self._action_error = NO_ERROR
        self._update_file_errors()
        self._watch.watch(self._files())
        self.select_item(self.selection.find(chosen))
        if was_playing:
            self.player.play()

    # --- the loop -------------------------------------------------------------------------------------

    def submit(self, job: Job) -> None:
        """Queue a job for the viewer's thread."""
        self._jobs.put(job)

    def run(self) -> None:
        """Run until `close` is called."""
        before = clock.perf_counter()
        while not self._ended.is_set():
            now = clock.perf_counter()
            self._tick(now, now - before)
            before = now
            self._ended.wait(max(0.0, now + 1.0 / FRAMES_PER_SECOND - clock.perf_counter()))

    def start(self) -> None:
        """Run in a background thread."""
        self._thread = threading.Thread(target=self.run, daemon=True, name="exoskel-viewer")
        self._thread.start()

    def close(self) -> None:
        """Stop the viewer after the current job."""
        self._ended.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_CLOSE_TIMEOUT)
        self.player.close()
        if self.ghost is not None:
            self.ghost.close()
        self.page.close()

    def _tick(self, now: float, elapsed: float) -> None:
        while not self._jobs.empty():
            self._do(self._jobs.get())
        if now >= self._next_file_check:
            self._next_file_check = now + INTERVAL
            if self._watch.changed():
                self._do(self.reload)
            self._report_deleted(self._watch.deleted())
        self._do(lambda: self._play(now, elapsed))

    def _do(self, job: Job) -> None:
        """Run a job; an exception is shown on the page and does not stop the viewer."""
        try:
            job()
        except ExoskelError as error:
            self._report_error(str(error))
        except Exception as error:
            self._report_error(f"internal error (a bug in Exoskel): {type(error).__name__}: {error}")

    def _report_error(self, message: str) -> None:
        self.player.pause()
        self._action_error = ("Error", f"<br>{html_text.safe(printable(message))}")
        self._show_errors()

    def _play(self, now: float, elapsed: float) -> None:
        before, was_playing = self.player.time, self.player.is_playing
        changed = self.player.tick(elapsed)
        factor = (self.player.time - before) / max(elapsed, 1e-6)
        self._real_time_factor += 0.2 * (factor - self._real_time_factor)
        if changed:
            self._show()
        if self.player.error:
            self._report_error(self.player.error)
            self.player.error = ""
        if self.player.is_playing != was_playing:
            self._panel_is_current = False
        # Tasks come first: outdated numbers would move back a slider that the user is dragging.
        if now >= self._next_panel and not self._panel_is_current and self._jobs.empty():
            self._next_panel = now + _PANEL_INTERVAL
            self._show_numbers()

    def _show(self) -> None:
        contacts = self.player.contacts if self.browser_scene.layers[CONTACTS] else []
        self.browser_scene.show(self.player.poses, contacts)
        if self.ghost is not None:
            self.ghost.follow(self.player.time, self.player.poses)
        self.pull.show(self.player, self.placement)
        self.measurement.show(self.player.poses)
        self._move_cameras()
        self.plot.measure(self.selection, self.player)
        self._panel_is_current = False

    def _show_numbers(self) -> None:
        player = self.player
        self._panel_is_current = True
        self.panel.show_time(
            player.time, player.span[1], player.is_playing, player.positions.tolist(), self._real_time_factor
        )
        if self.selection.item is not None:
            self.panel.show_about(self._about())
        forces = self.browser_scene.forces.legend if self.browser_scene.layers[CONTACTS] else ""
        self.panel.show_tools(legend(forces), self.measurement.html(player.poses))
        if self.ghost is not None:
            self.ghost.show_numbers(player.poses)
        self.plot.show(self.selection, player)

    # --- actions of the panel -------------------------------------------------------------------------

    def toggle(self) -> None:
        self._clear_action_error()
        self._panel_is_current = False
        if self.player.is_playing:
            self.player.pause()
        else:
            self._real_time_factor = 0.0
            self._announce_engine()
            self.player.play()

    def step(self) -> None:
        self.player.pause()
        self._announce_engine()
        self.player.step()
        self._show()

    def step_back(self) -> None:
        self.player.pause()
        self.player.step_back()
        self._show()

    def reset(self) -> None:
        self.player.reset()
        self.plot.clear()
        self.panel.commands.reset()
        self.panel.clear_keyframe()
        if self.ghost is not None:
            self.ghost.reset()
        self._clear_action_error()
        self._show()

    def seek(self, time: float) -> None:
        self.player.pause()
        self.player.seek(time)
        self._show()

    def set_speed(self, speed: float) -> None:
        self.player.speed = speed

    def set_whole_core(self, on: bool) -> None:
        self.player.core_share = WHOLE_CORE if on else HALF_CORE

    def set_engine(self, engine: str) -> None:
        self.player.set_engine(engine)
        self._panel_is_current = False

    def _announce_engine(self) -> None:
        """Show that an engine is starting: a large world takes seconds, and nothing else happens meanwhile."""
        if self.player.needs_engine:
            self.panel.show_state(f"starting {engine_title(self.player.engine)} …")
            self._panel_is_current = False

    def set_gravity(self, on: bool) -> None:
        self.player.set_gravity(on)
        if self.ghost is not None:
            self.ghost.player.set_gravity(on)

    def set_layer(self, name: str, on: bool) -> None:
        self.browser_scene.set_layer(name, on)
        self._show()
        if name == CONTACTS and on and not self.player.can_simulate:
            raise ExoskelError("a recorded motion has no contacts; they are available only while simulating")

    def set_dark(self, dark: bool) -> None:
        self._dark = dark
        self.page.set_dark(dark)
        self.browser_scene.set_dark(dark)

    def set_view(self, preset: str, client: int | None = None) -> None:
        """Apply a camera preset to one client, or to all."""
        self._camera_number = -1
        self.panel.show_camera(-1)
        self.framing.frame(preset, client)

    @property
    def selected(self) -> int:
        """The number of the highlighted body; -1 for none."""
        return self.selection.body

    def _about(self) -> str:
        """HTML about the selected item."""
        return self.selection.about(self.player.poses, self.player.positions)

    def set_measuring(self, on: bool) -> None:
        self.measurement.set_on(on)
        self._panel_is_current = False

    def _measure(self, *ray: Array) -> None:
        self.measurement.click(self.player.poses, *ray)
        self._panel_is_current = False

    def set_last_version(self, on: bool) -> None:
        self.last_version.set_visible(on, self.placement)

    def _pick(self, number: int) -> None:
        if not self.measurement.is_on:  # then clicks are points
            self.select(number)

    def select(self, number: int) -> None:
        """Select a body; -1 for none."""
        self.select_item(TreeItem(ItemKind.BODY, number) if number >= 0 else None)

    def select_item(self, item: TreeItem | None) -> None:
        """Select a model, body or joint, in the tree and in the scene; a joint stands for its child body there."""
        self.selection.select(item)
        self.browser_scene.select(self.selected)
        self.panel.show_tree(self.selection.tree.html())
        self.panel.show_about(self._about())
        self.panel.commands.show(self.selection, self.player)
        self.set_follow(self.following and self.selected >= 0)
        self._panel_is_current = False

    def search(self, text: str) -> None:
        """Show the rows of the tree that contain a text."""
        self.selection.tree.search = text
        self.panel.show_tree(self.selection.tree.html())

    def _fold(self, item: TreeItem | None) -> None:
        if item is not None:
            self.selection.tree.toggle(item)
            self.panel.show_tree(self.selection.tree.html())

    def _receive(self, client: int, action: str, value: str) -> None:
        """Queue an action of the page script; unknown ones are ignored."""
        if action in self._page_actions:
            self.submit(lambda: self._page_actions[action](client, value))

    # --- plot -----------------------------------------------------------------------------------------

    def _set_visible_panels(self, client: int, panels: str) -> None:
        """Draw the plot only while a page shows it."""
        pages = self._pages_with_plot & set(self.page.server.get_clients())
        self._pages_with_plot = pages | {client} if PLOT_PANEL in panels.split() else pages - {client}
        self.plot.is_visible = bool(self._pages_with_plot)
        self._panel_is_current = False

    def _set_quantity(self, quantity: Quantity) -> None:
        self.plot.set_quantity(quantity)
        self._panel_is_current = False

    def _save_csv(self, client: int, _: str) -> None:
        """Send the plotted lines to a page as a file."""
        content, page = self.plot.csv(), self.page.server.get_clients().get(client)
        if page is not None:
            page.send_file_download("exoskel-plot.csv", content, save_immediately=True)

    # --- cameras --------------------------------------------------------------------------------------

    def _look_along(self, client: int, axis: str) -> None:
        """Look at the scene from an axis of the world, such as +x."""
        preset = preset_along(axis, self.render_scene.up)
        if preset:
            self.set_view(preset, client)

    def toggle_follow(self) -> None:
        """Follow the selected body, or stop; without a selected body, show everything."""
        if self.selected < 0:
            self.set_view("default")
        else:
            self.set_follow(not self.following)

    def set_follow(self, on: bool) -> None:
        """Move the cameras with the selected body: the page script follows a frame at its position."""
        self.following = on and self.selected >= 0
        if self.following and self._follow_frame is None:
            self._follow_frame = self.page.server.scene.add_frame(FOLLOW_FRAME, show_axes=False)
        if not self.following and self._follow_frame is not None:
            self._follow_frame.remove()
            self._follow_frame = None
        self.panel.show_follow(self.following)
        self._move_cameras()
        if on and not self.following:
            raise ExoskelError("no body is selected; select the body to follow first")

    def set_camera(self, number: int) -> None:
        """Use a camera of the file; -1 for a free camera."""
        self._camera_number = number if 0 <= number < len(self.world.cameras) else -1
        self._move_cameras()

    def _move_cameras(self) -> None:
        """Move the cameras that follow a body or belong to one."""
        if self._follow_frame is not None:
            self._follow_frame.position = self.placement.on_page(self.player.poses[self.selected, :3])
        if self._camera_number >= 0:
            camera = placed_camera(self.world.cameras[self._camera_number], self.render_scene, self.player.poses)
            for client in self.page.server.get_clients().values():
                set_client_camera(client, self.placement.camera_on_page(camera))

    def set_keyframe(self, number: int) -> None:
        """Go to a keyframe of the file."""
        if not 0 <= number < len(self.world.keyframes):
            return
        if not self.player.can_simulate:
            raise ExoskelError("a recorded motion has no keyframes; they are available only while simulating")
        self.player.set_keyframe(self.world.keyframes[number])
        self.panel.commands.clear()
        self.panel.commands.show(self.selection, self.player)
        self._show()

    def pose(self, dof: int, value: float) -> None:
        self.player.pose(dof, value)
        if self.ghost is not None:
            self.ghost.pose(dof, value)
        self._show()

    def set_command(self, dof: int, value: float) -> None:
        self.player.set_command(dof, value)

    def set_control(self, actuator: str, value: float) -> None:
        self.player.set_control(actuator, value)
