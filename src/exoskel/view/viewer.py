"""The viewer: a scene on a page, played, reloaded when its file is saved, and asked about.

One thread does everything, in order: what the page asks for, then the next picture.
"""

from __future__ import annotations

import queue
import threading
import time as clock
from collections.abc import Callable
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import Diagnostic, ExoskelError, printable
from exoskel.engines.preflight import TITLES
from exoskel.scene.pose import Vector
from exoskel.scene.world import Scene, World
from exoskel.simulate.trajectory import Trajectory
from exoskel.spatial import Array
from exoskel.view import html_text
from exoskel.view.browser_scene import CONTACTS, BrowserScene, aim, seen_by, turn
from exoskel.view.camera import Camera, look_at
from exoskel.view.comparison import GhostScene
from exoskel.view.draw_batches import DrawBatches
from exoskel.view.file_watch import EVERY, FileWatch, files_of
from exoskel.view.page import DEFAULT_PORT, Page
from exoskel.view.panel import Panel, Task
from exoskel.view.player import Player
from exoskel.view.reload_check import BrokenFileError, errors_of, is_broken, is_worse
from exoskel.view.scene_placement import ScenePlacement, layout_of

PICTURES_A_SECOND = 30
_PANEL_EVERY = 0.1
"""Seconds between two updates of the numbers in the panel."""
_PARTING = 5.0
"""Seconds that the thread gets to finish."""
NO_TROUBLE = ("", "")
Loader = Callable[[], Scene]


class Viewer:
    """Shows a scene on a page of its own until it is closed.

    `load` reads the scene, and reads it again whenever one of its files is saved.  `recorded` is a motion of it to
    show instead of simulating.  `world` names one of several worlds.  `rival` is what to hold it against: an engine,
    or the name of another scene and how to read it.
    """

    def __init__(
        self,
        load: Loader,
        *,
        port: int = DEFAULT_PORT,
        engine: str = "mujoco",
        dark: bool = False,
        watch: bool = True,
        world: str | None = None,
        recorded: Trajectory | None = None,
        rival: tuple[str, Loader | None] | None = None,
    ) -> None:
        self._load, self._world_name, self._recorded = load, world, recorded
        self.scene = load()
        self.world = self._world_of(self.scene)
        self.page = Page(port, title="exoskel", dark=dark)
        self._tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._next_look = self._next_panel = 0.0
        self._is_told = False
        self._pace, self._was_empty = 0.0, False
        self.selected = -1
        self._up: Vector | None = None
        self.layout = ScenePlacement()
        self._dark = dark
        self._act_trouble = self._file_trouble = NO_TROUBLE
        self.panel = Panel(self.page.server, self, self.ask, engine=engine, dark=dark)
        self.player = Player(self.world, engine, recorded=recorded)
        self.rival: GhostScene | None = None
        self._rival_loader: Loader | None = None
        self._rival_scene: Scene | None = None
        if rival is not None:
            self._add_rival(*rival)
        self._raise_stage()
        self._watch = FileWatch(self._files() if watch else ())
        self._tell_errors()
        self.page.server.on_client_connect(self._greet)

    # --- scenes ---------------------------------------------------------------------------------------

    def _world_of(self, scene: Scene) -> World:
        if self._world_name is None:
            return scene.worlds[0] if scene.worlds else scene.world  # which says what is wrong
        found = [one for one in scene.worlds if one.name == self._world_name]
        if not found:
            known = ", ".join(repr(printable(one.name)) for one in scene.worlds)
            raise ExoskelError(f"there is no world {self._world_name!r}; there are {known or 'none'}")
        return found[0]

    def _raise_stage(self) -> None:
        """Put the scene on the page."""
        server = self.page.server
        self.stage = DrawBatches(self.world)
        self._lay_out()
        self._aim()
        if self.stage.up != self._up:  # telling it anew would take everybody's camera back to the first one
            self._up = self.stage.up
            server.scene.set_up_direction(self._up)
        self.scenery = BrowserScene(server, self.stage, layout=self.layout, dark=self._dark)
        self.scenery.on_pick(lambda number: self.ask(lambda: self.select(number)))
        self.scenery.on_drag(lambda *how: self.ask(lambda: self._drag(*how)))
        self.panel.fill(self.world, self.stage.names, self.stage.size)
        self.panel.set_span(self.player.span[1])
        self.panel.show_problems(self.scene.diagnostics, self.stage.gaps)
        if self.rival is not None:
            self.rival.begin(self.stage, self.layout)
        if self._was_empty:
            self.look("default")  # whoever looked at nothing has no view to keep
        self._was_empty = self.stage.is_empty
        self._show()

    def _lay_out(self) -> None:
        """Choose where on the page everything lies; those who look keep what they see of the world."""
        corners = [self.stage.corners()]
        if self.rival is not None:
            corners += [self.rival.corners(self.stage, beside=beside) for beside in (False, True)]
        everything, before = np.concatenate(corners), self.layout
        if before.suits(everything):
            return
        self.layout = layout_of(everything)
        for client in self.page.server.get_clients().values():
            turn(client, self.layout.camera_on_page(seen_by(client, before)))

    def _aim(self) -> None:
        """Have those who open the page from now on see everything."""
        aim(self.page.server, self.layout.camera_on_page(self._camera()))

    def _camera(self, preset: str = "default", aspect: float = 1.0) -> Camera:
        corners = self.stage.corners()
        if self.rival is not None:
            corners = np.concatenate([corners, self.rival.corners(self.stage)])
        return look_at(corners, self.stage.up, preset=preset, aspect=aspect)

    def _add_rival(self, name: str, load: Loader | None) -> None:
        self._rival_loader = load
        world = self._rival_world(self.world)
        engine = name if load is None else self.player.engine
        with self.panel.tabs.add_tab("Compare"):
            self.rival = GhostScene(
                self.page.server, world, engine, TITLES.get(name, name), lambda: self.ask(self._stand_beside)
            )

    def _rival_world(self, ours: World) -> World:
        """What is held against our world: the same one in another engine, or that of another file as it is now."""
        if self._rival_loader is None:
            return ours
        scene = self._rival_loader()
        world = self._world_of(scene)
        if self.rival is not None and is_broken(scene):
            raise BrokenFileError("the file it is held against is broken", scene.diagnostics)
        self._rival_scene = scene
        return world

    def _stand_beside(self) -> None:
        """Side by side or not: in both cases everybody sees both."""
        if self.rival is not None:
            self.rival.place()
            self._aim()
            self.look("default")

    def _files(self) -> list[str]:
        return [*files_of(self.scene), *(files_of(self._rival_scene) if self._rival_scene is not None else ())]

    def reload(self) -> None:
        """Read the file again; if it is broken now, what was sound stays, with the errors over it."""
        try:
            scene = self._load()
            world = self._world_of(scene)
            theirs = self._rival_world(world)
            player = Player(world, self.player.engine, recorded=self._recorded)
        except ExoskelError as error:
            findings: list[Diagnostic] = getattr(error, "diagnostics", [])
            self._keep_last(findings or _findings(locals().get("scene")), str(error))
            return
        if is_worse(scene, world, self.scene, self.world):
            self._keep_last(scene.diagnostics, "")
            return
        if self.rival is not None:
            self.rival.take(theirs)
        self._replace(scene, world, player)

    def _keep_last(self, findings: list[Diagnostic], reason: str) -> None:
        text = html_text.problems(findings) if findings else f"<br>{html_text.safe(reason)}"
        self._file_trouble = ("The file is broken; the last good scene stays", text)
        self._tell_trouble()
        self.panel.show_problems(findings, self.stage.gaps)

    def _tell_errors(self) -> None:
        """The errors of the file that is on show stand over it."""
        errors = errors_of(self.scene)
        self._file_trouble = (
            ("The file has errors; what could be read is shown", html_text.problems(errors)) if errors else NO_TROUBLE
        )
        self._tell_trouble()

    def _tell_gone(self, files: list[str]) -> None:
        """A file that was deleted is told of; when it is there again, it is read again."""
        trouble = ("A file is gone; what was read of it stays", "".join(f"<br>{html_text.safe(one)}" for one in files))
        if files and self._file_trouble != trouble:
            self._file_trouble = trouble
            self._tell_trouble()

    def _tell_trouble(self) -> None:
        self.panel.show_trouble(*(one for one in (self._act_trouble, self._file_trouble) if one != NO_TROUBLE))

    def _forget_trouble(self) -> None:
        """What somebody asked for in vain is over; what is wrong with the file stays until it is sound."""
        self._act_trouble = NO_TROUBLE
        self._tell_trouble()

    def _replace(self, scene: Scene, world: World, player: Player) -> None:
        """Camera, selection and layers stay as they are."""
        chosen = self.stage.names[self.selected] if self.selected >= 0 else None
        layers, was_playing, old = self.scenery.layers, self.player.is_playing, self.scenery
        player.speed, player.gravity = self.player.speed, self.player.gravity
        self.player.close()
        self.scene, self.world, self.player = scene, world, player
        with self.page.server.atomic():
            old.remove()
            self._raise_stage()
            for name, on in layers.items():
                if name in self.scenery.layers and on != self.scenery.layers[name]:
                    self.scenery.set_layer(name, on)
        self._act_trouble = NO_TROUBLE
        self._tell_errors()
        self._watch.follow(self._files())
        self.select(self.stage.names.index(chosen) if chosen in self.stage.names else -1)
        if was_playing:
            self.player.play()

    # --- the loop -------------------------------------------------------------------------------------

    def ask(self, task: Task) -> None:
        """Have something done by the thread that does everything."""
        self._tasks.put(task)

    def run(self) -> None:
        """Go on until `close` is called."""
        before = clock.perf_counter()
        while not self._ended.is_set():
            now = clock.perf_counter()
            self._tick(now, now - before)
            before = now
            self._ended.wait(max(0.0, now + 1.0 / PICTURES_A_SECOND - clock.perf_counter()))

    def start(self) -> None:
        """Go on in the background."""
        self._thread = threading.Thread(target=self.run, daemon=True, name="exoskel-viewer")
        self._thread.start()

    def close(self) -> None:
        """End it; what is going on is finished first."""
        self._ended.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_PARTING)
        self.player.close()
        if self.rival is not None:
            self.rival.close()
        self.page.close()

    def _tick(self, now: float, elapsed: float) -> None:
        while not self._tasks.empty():
            self._do(self._tasks.get())
        if now >= self._next_look:
            self._next_look = now + EVERY
            if self._watch.changed():
                self._do(self.reload)
            self._tell_gone(self._watch.gone())
        self._do(lambda: self._play(now, elapsed))

    def _do(self, task: Task) -> None:
        """No mistake ends the viewer: it is shown on the page instead."""
        try:
            task()
        except ExoskelError as error:
            self._say(str(error))
        except Exception as error:
            self._say(f"internal error, a defect of exoskel: {type(error).__name__}: {error}")

    def _say(self, message: str) -> None:
        self.player.pause()
        self._act_trouble = ("That did not work", f"<br>{html_text.safe(printable(message))}")
        self._tell_trouble()

    def _play(self, now: float, elapsed: float) -> None:
        before, was_playing = self.player.time, self.player.is_playing
        if self.player.tick(elapsed):
            self._pace = 0.8 * self._pace + 0.2 * (self.player.time - before) / max(elapsed, 1e-6)
            self._show()
        if self.player.trouble:
            self._say(self.player.trouble)
            self.player.trouble = ""
        if self.player.is_playing != was_playing:
            self._is_told = False
        # What is asked for comes first: numbers from before it would move a slider back that somebody drags.
        if now >= self._next_panel and not self._is_told and self._tasks.empty():
            self._next_panel = now + _PANEL_EVERY
            self._show_numbers()

    def _show(self) -> None:
        contacts = self.player.contacts if self.scenery.layers[CONTACTS] else []
        self.scenery.show(self.player.poses, contacts)
        if self.rival is not None:
            self.rival.follow(self.player.time, self.player.poses)
        self._is_told = False

    def _show_numbers(self) -> None:
        player = self.player
        self._is_told = True
        self.panel.show_time(player.time, player.span[1], player.is_playing, player.positions.tolist(), self._pace)
        if self.selected >= 0:
            self.panel.show_choice(self.selected, self._about(self.selected))
        if self.rival is not None:
            self.rival.show_numbers(player.poses)

    def _about(self, number: int) -> str:
        model, body = next(
            (model, body) for model in self.world.models for body in model.bodies if body is self.stage.bodies[number]
        )
        return html_text.about_body(self.scene, model, body, self.player.poses[number])

    def _greet(self, client: Any) -> None:
        """A tall window needs a camera further away."""
        if client.camera.aspect < 1.0:
            turn(client, self.layout.camera_on_page(self._camera(aspect=client.camera.aspect)))

    # --- what the panel asks for ----------------------------------------------------------------------

    def toggle(self) -> None:
        self._forget_trouble()
        self._is_told = False
        if self.player.is_playing:
            self.player.pause()
        else:
            self._pace = 0.0
            self._announce_engine()
            self.player.play()

    def step(self) -> None:
        self.player.pause()
        self._announce_engine()
        self.player.step()
        self._show()

    def reset(self) -> None:
        self.player.reset()
        if self.rival is not None:
            self.rival.reset()
        self._forget_trouble()
        self._show()

    def seek(self, time: float) -> None:
        self.player.pause()
        self.player.seek(time)
        self._show()

    def set_speed(self, speed: float) -> None:
        self.player.speed = speed

    def use(self, engine: str) -> None:
        self.player.use(engine)
        self._is_told = False

    def _announce_engine(self) -> None:
        """Building a large world takes an engine seconds, in which nothing else happens."""
        if self.player.needs_engine:
            self.panel.show_state(f"starting {TITLES.get(self.player.engine, self.player.engine)} …")
            self._is_told = False

    def set_gravity(self, on: bool) -> None:
        self.player.set_gravity(on)
        if self.rival is not None:
            self.rival.player.set_gravity(on)

    def set_layer(self, name: str, on: bool) -> None:
        self.scenery.set_layer(name, on)
        self._show()
        if name == CONTACTS and on and not self.player.can_simulate:
            raise ExoskelError("a recorded motion holds no contacts: only one that is simulated here has them")

    def set_dark(self, dark: bool) -> None:
        self._dark = dark
        self.page.set_dark(dark)
        self.scenery.set_dark(dark)

    def look(self, preset: str, client: int | None = None) -> None:
        """Turn the camera of one who asked, or of everybody."""
        for number, one in self.page.server.get_clients().items():
            if client in (None, number):
                turn(one, self.layout.camera_on_page(self._camera(preset, one.camera.aspect)))

    def select(self, number: int) -> None:
        self.selected = number
        self.scenery.select(number)
        self.panel.show_choice(number, self._about(number) if number >= 0 else html_text.nothing_chosen())

    def pose(self, dof: int, value: float) -> None:
        self.player.pose(dof, value)
        if self.rival is not None:
            self.rival.pose(dof, value)
        self._show()

    def _drag(self, phase: str, body: int, held: Array, pointer: Array) -> None:
        """Pull at a body where it is held; the point is kept in its frame while it moves."""
        if phase == "end":
            self.player.release()
            return
        if not self.player.can_simulate:
            raise ExoskelError("a recorded motion goes its way: only one that is simulated here can be pulled")
        if not self.player.is_playing:
            raise ExoskelError("pulling needs time to pass: press Play first")
        if phase == "start" or self.player.hand is None:
            pose = self.player.poses[body].astype(np.float64)
            turned = spatial.quaternion_matrix(pose[3:])
            self._grip = (held - pose[:3]) @ turned
        self.player.pull(body, self._grip, pointer)


def _findings(scene: Scene | None) -> list[Diagnostic]:
    return [] if scene is None else scene.diagnostics
