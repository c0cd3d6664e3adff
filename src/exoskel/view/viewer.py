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
from exoskel.diagnostics import Diagnostic, ExoskelError, Severity, printable
from exoskel.engines.preflight import TITLES
from exoskel.scene.pose import Vector
from exoskel.scene.world import Scene, World
from exoskel.simulate.trajectory import Trajectory
from exoskel.spatial import Array
from exoskel.view import words
from exoskel.view.camera import look_at
from exoskel.view.page import DEFAULT_PORT, Page
from exoskel.view.panel import Panel, Task
from exoskel.view.player import Player
from exoskel.view.reload import EVERY, Watch, files_of
from exoskel.view.rival import Rival
from exoskel.view.scenery import CONTACTS, Scenery, aim, scale_of, turn
from exoskel.view.stage import Stage

PICTURES_A_SECOND = 30
_PANEL_EVERY = 0.1
"""Seconds between two updates of the numbers in the panel."""
_PARTING = 5.0
"""Seconds that the thread gets to finish."""
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
        self._watch = Watch(files_of(self.scene) if watch else ())
        self._next_look = self._next_panel = 0.0
        self._told = (-1.0, False)
        self._pace = 0.0
        self.selected = -1
        self._up: Vector | None = None
        self._scale, self._dark = 0.0, dark
        self.panel = Panel(self.page.server, self, self.ask, engine=engine, dark=dark)
        self.player = Player(self.world, engine, recorded=recorded)
        self.rival: Rival | None = None
        self._raise_stage()
        if rival is not None:
            self._add_rival(*rival)
        aim(self.page.server, look_at(self.stage.corners(), self.stage.up), self._scale)
        self.page.server.on_client_connect(self._greet)

    # --- scenes ---------------------------------------------------------------------------------------

    def _world_of(self, scene: Scene) -> World:
        found = [one for one in scene.worlds if self._world_name in (None, one.name)]
        return found[0] if found else scene.world  # which says what is wrong

    def _raise_stage(self) -> None:
        """Put the scene on the page."""
        server = self.page.server
        self.stage = Stage(self.world)
        if self.stage.up != self._up:  # telling it anew would take everybody's camera back to the first one
            self._up = self.stage.up
            server.scene.set_up_direction(self._up)
        self._scale = self._scale or scale_of(self.stage)  # stays, since cameras do
        self.scenery = Scenery(server, self.stage, scale=self._scale, dark=self._dark)
        self.scenery.on_pick(lambda number: self.ask(lambda: self.select(number)))
        self.scenery.on_drag(lambda *how: self.ask(lambda: self._drag(*how)))
        self.panel.fill(self.world, self.stage.names, self.stage.size)
        self.panel.set_span(self.player.span[1])
        self.panel.show_problems(self.scene.diagnostics, self.stage.gaps)
        self._show()

    def _add_rival(self, name: str, load: Loader | None) -> None:
        world = self.world if load is None else self._world_of(load())
        engine = name if load is None else self.player.engine
        self._rival_loader = load
        with self.panel.tabs.add_tab("Compare"):
            self.rival = Rival(self.page.server, world, engine, TITLES.get(name, name), self.stage, self._scale)

    def reload(self) -> None:
        """Read the file again; if it is broken now, what was sound stays, with the errors over it."""
        try:
            scene = self._load()
            world = self._world_of(scene)
            player = Player(world, self.player.engine, recorded=self._recorded)
        except ExoskelError as error:
            findings: list[Diagnostic] = getattr(error, "diagnostics", [])
            self._keep_last(findings or _findings(locals().get("scene")), str(error))
            return
        if _is_broken(scene) and not _is_broken(self.scene):
            self._keep_last(scene.diagnostics, "")
            return
        self._replace(scene, world, player)

    def _keep_last(self, findings: list[Diagnostic], reason: str) -> None:
        text = words.problems(findings) if findings else f"<br>{words.safe(reason)}"
        self.panel.show_trouble("The file is broken; the last good scene stays", text)
        self.panel.show_problems(findings, self.stage.gaps)

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
        if self.rival is not None:
            self.rival.replace(world if self._rival_loader is None else self.rival.player.world, self.stage)
        self.panel.show_trouble("", "")
        self._watch.follow(files_of(scene))
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
        self.panel.show_trouble("That did not work", f"<br>{words.safe(printable(message))}")

    def _play(self, now: float, elapsed: float) -> None:
        before = self.player.time
        if self.player.tick(elapsed):
            self._pace = 0.8 * self._pace + 0.2 * (self.player.time - before) / max(elapsed, 1e-6)
            self._show()
        if self.player.trouble:
            self._say(self.player.trouble)
            self.player.trouble = ""
        if now >= self._next_panel and self._told != (self.player.time, self.player.is_playing):
            self._next_panel = now + _PANEL_EVERY
            self._show_numbers()

    def _show(self) -> None:
        contacts = self.player.contacts if self.scenery.layers[CONTACTS] else []
        self.scenery.show(self.player.poses, contacts)
        if self.rival is not None:
            self.rival.follow(self.player.time, self.player.poses)

    def _show_numbers(self) -> None:
        player = self.player
        self._told = (player.time, player.is_playing)
        self.panel.show_time(player.time, player.span[1], player.is_playing, player.positions.tolist(), self._pace)
        if self.selected >= 0:
            self.panel.show_choice(self.selected, self._about(self.selected))
        if self.rival is not None:
            self.rival.show_numbers(player.poses)

    def _about(self, number: int) -> str:
        model, body = next(
            (model, body) for model in self.world.models for body in model.bodies if body is self.stage.bodies[number]
        )
        return words.about_body(self.scene, model, body, self.player.poses[number])

    def _greet(self, client: Any) -> None:
        """A tall window needs a camera further away."""
        if client.camera.aspect < 1.0:
            turn(client, look_at(self.stage.corners(), self.stage.up, aspect=client.camera.aspect), self._scale)

    # --- what the panel asks for ----------------------------------------------------------------------

    def toggle(self) -> None:
        self.panel.show_trouble("", "")
        if self.player.is_playing:
            self.player.pause()
        else:
            self._pace = 0.0
            self.player.play()

    def step(self) -> None:
        self.player.pause()
        self.player.step()
        self._show()

    def reset(self) -> None:
        self.player.reset()
        if self.rival is not None:
            self.rival.reset()
        self.panel.show_trouble("", "")
        self._show()

    def seek(self, time: float) -> None:
        self.player.pause()
        self.player.seek(time)
        self._show()

    def set_speed(self, speed: float) -> None:
        self.player.speed = speed

    def use(self, engine: str) -> None:
        self.player.use(engine)

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

    def look(self, preset: str) -> None:
        for client in self.page.server.get_clients().values():
            corners = self.stage.corners()
            camera = look_at(corners, self.stage.up, preset=preset, aspect=client.camera.aspect)
            turn(client, camera, self._scale)

    def select(self, number: int) -> None:
        self.selected = number
        self.scenery.select(number)
        self.panel.show_choice(number, self._about(number) if number >= 0 else words.nothing_chosen())

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


def _is_broken(scene: Scene) -> bool:
    return any(one.severity is Severity.ERROR for one in scene.diagnostics)


def _findings(scene: Scene | None) -> list[Diagnostic]:
    return [] if scene is None else scene.diagnostics
