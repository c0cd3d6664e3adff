"""The controls beside the picture.

Everything that somebody does is handed to `ask` as a task, so that one thread does it all, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import floor, isfinite, log10
from typing import TYPE_CHECKING, Any, Protocol

from exoskel.diagnostics import Diagnostic, printable
from exoskel.engines.registry import ENGINES
from exoskel.scene.joint import Dof
from exoskel.scene.world import World
from exoskel.view import html_text
from exoskel.view.browser_scene import LAYERS
from exoskel.view.camera import PRESETS
from exoskel.view.draw_batches import BatchGap

if TYPE_CHECKING:
    from viser import ViserServer

Task = Callable[[], None]
NOTHING = "(nothing)"
MOST_SLIDERS = 60
MOST_NAMES = 3000
_HALF_TURN = 3.14
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
_TITLES = {
    "visual": "Visual shapes",
    "collision": "Collision shapes",
    "ground": "Ground",
    "frames": "Body frames",
    "axes": "Joint axes",
    "mass": "Mass and inertia",
    "contacts": "Contacts and forces",
    "labels": "Names",
}


class Actions(Protocol):
    """What the panel can ask for."""

    def toggle(self) -> None: ...
    def step(self) -> None: ...
    def reset(self) -> None: ...
    def seek(self, time: float) -> None: ...
    def set_speed(self, speed: float) -> None: ...
    def use(self, engine: str) -> None: ...
    def set_gravity(self, on: bool) -> None: ...
    def set_layer(self, name: str, on: bool) -> None: ...
    def set_dark(self, dark: bool) -> None: ...
    def look(self, preset: str, client: int | None = None) -> None: ...
    def select(self, number: int) -> None: ...
    def pose(self, dof: int, value: float) -> None: ...


class Panel:
    """The controls.  `actions` does what they ask for; the methods here bring them up to date."""

    def __init__(self, server: ViserServer, actions: Actions, ask: Callable[[Task], None], *, engine: str, dark: bool):
        self.gui: Any = server.gui
        self.actions, self.ask = actions, ask
        self._names: list[str] = []
        self._sliders: list[tuple[int, Any]] = []
        self._trouble: Any = None
        self.gui.main_panel.dock_right()
        self.gui.main_panel.set_width(350)
        self.tabs = tabs = self.gui.add_tab_group()
        with tabs.add_tab("Motion"):
            self._add_motion(engine)
        with tabs.add_tab("Scene"):
            self._chosen = self._input(self.gui.add_dropdown("Body", (NOTHING,), hint="Also by a click"), self._choose)
            self._about = self.gui.add_html(html_text.nothing_chosen())
            with self.gui.add_folder("Tree"):
                self._tree = self.gui.add_html("")
        with tabs.add_tab("Show"):
            self._add_layers(dark)
        with tabs.add_tab("Problems"):
            self._problems = self.gui.add_html("")

    # --- building -------------------------------------------------------------------------------------

    def _add_motion(self, engine: str) -> None:
        gui = self.gui
        buttons = gui.add_button_group("", ("Play / pause", "Step", "Reset"))
        act = {"Play / pause": self.actions.toggle, "Step": self.actions.step, "Reset": self.actions.reset}
        buttons.on_click(self._told(lambda event: self.ask(act[event.target.value])))
        self._state = gui.add_html("")
        self._time = self._input(gui.add_slider("Time (s)", 0.0, 1.0, 0.001, 0.0), self.actions.seek)
        self._speed = self._input(
            gui.add_dropdown("Speed", SPEEDS, initial_value="1"), lambda text: self.actions.set_speed(float(text))
        )
        found = [name for name, one in ENGINES.items() if one.version is not None or name == engine]
        self._engine = self._input(gui.add_dropdown("Engine", found, initial_value=engine), self.actions.use)
        self._gravity = self._input(gui.add_checkbox("Gravity", True), self.actions.set_gravity)
        self._joints = gui.add_folder("Joints")

    def _add_layers(self, dark: bool) -> None:
        gui = self.gui
        for name, on in LAYERS.items():
            self._input(gui.add_checkbox(_TITLES[name], on), partial(self.actions.set_layer, name))
        self._input(gui.add_checkbox("Dark", dark), self.actions.set_dark)
        views = gui.add_button_group("Camera", tuple(PRESETS))
        views.on_click(self._told(lambda event: self._look(event.target.value, event.client_id)))

    def _look(self, preset: str, client: int | None) -> None:
        self.ask(lambda: self.actions.look(preset, client))

    def _input(self, handle: Any, act: Callable[[Any], None]) -> Any:
        """Have an input's changes done, unless they come from here."""

        def changed(event: Any) -> None:
            if event.client_id is not None:
                value = event.target.value
                self.ask(lambda: act(value))

        handle.on_update(self._told(changed))
        return handle

    def _told(self, act: Callable[[Any], None]) -> Callable[[Any], Any]:
        """Asynchronous, so that what is done first is asked for first."""

        async def told(event: Any) -> None:
            act(event)

        return told

    def _choose(self, name: str) -> None:
        self.actions.select(self._names.index(name) if name in self._names else -1)

    # --- a new scene ----------------------------------------------------------------------------------

    def fill(self, world: World, names: Sequence[tuple[str, str]], size: float) -> None:
        """Take a world's bodies and joints up; `size` is that of the scene, m."""
        self._names = [printable(f"{model} / {body}") for model, body in names[:MOST_NAMES]]
        self._chosen.options = (NOTHING, *dict.fromkeys(self._names))
        self._chosen.value = NOTHING
        self._tree.content = html_text.tree_of(world)
        self._add_sliders(world, size)

    def _add_sliders(self, world: World, size: float) -> None:
        for _, slider in self._sliders:
            slider.remove()
        self._sliders = []
        dofs = [
            (joint.kind == "free", name, letter, dof)
            for model in world.models
            for joint in model.joints
            if not joint.loop
            for name, letter, dof in zip(joint.dof_names, joint.motion, joint.dofs, strict=True)
        ]
        # What floats freely comes last: one looks for the hinges of a robot first.
        order = sorted(range(len(dofs)), key=lambda number: dofs[number][0])[:MOST_SLIDERS]
        with self._joints:
            for number in order:
                _, name, letter, dof = dofs[number]
                low, high = _range(dof, _HALF_TURN if letter == "r" else _rounded(size))
                slider = self.gui.add_slider(
                    printable(name), low, high, max((high - low) / 500, 1e-9), min(max(dof.position, low), high)
                )
                self._input(slider, partial(self.actions.pose, number))
                self._sliders.append((number, slider))

    # --- keeping up -----------------------------------------------------------------------------------

    def show_time(self, time: float, last: float, playing: bool, positions: Sequence[float], pace: float) -> None:
        told = f"{time:.2f} s, {'playing' if playing else 'paused'}" + (
            f" at {pace:.2g} times real time" if playing and pace else ""
        )
        self.show_state(told, time)
        if last > self._time.max:
            self._time.max = max(2.0 * self._time.max, last)
        self._time.value = min(max(time, 0.0), float(self._time.max))
        for number, slider in self._sliders:
            slider.value = min(max(float(positions[number]), slider.min), slider.max)

    def show_state(self, told: str, time: float = 0.0) -> None:
        """One line about what is going on, at a time in s."""
        style = "padding:0 1em;font-variant-numeric:tabular-nums"
        self._state.content = (
            f"<div id='exoskel-state' data-time='{time:.6f}' style='{style}'>{html_text.safe(told)}</div>"
        )

    def set_span(self, last: float) -> None:
        """The end of the time there is to scrub over, s."""
        self._time.max = max(last, 1.0)

    def show_choice(self, number: int, about: str) -> None:
        self._chosen.value = self._names[number] if 0 <= number < len(self._names) else NOTHING
        self._about.content = about

    def show_problems(self, diagnostics: Sequence[Diagnostic], gaps: Sequence[BatchGap]) -> None:
        self._problems.content = html_text.problems(diagnostics, gaps)

    def show_trouble(self, *troubles: tuple[str, str]) -> None:
        """A box over the picture, with titles and HTML; without any, it is taken away."""
        if not troubles:
            if self._trouble is not None:
                self._trouble[0].remove()
                self._trouble = None
            return
        content = html_text.trouble(*troubles)
        if self._trouble is not None:
            self._trouble[1].content = content
            return
        box = self.gui.add_panel()
        with box.add_tab("Problems"):
            inside = self.gui.add_html(content)
        box.float(x=15, y=15, width=420)
        self._trouble = (box, inside)

    def show_engine(self, engine: str) -> None:
        self._engine.value = engine


def _rounded(length: float) -> float:
    """A length to two digits, which the page writes at the end of a slider."""
    return round(length, 1 - floor(log10(length)))


def _range(dof: Dof, reach: float) -> tuple[float, float]:
    """What a slider goes over: the limits, or `reach` to both sides where there is none."""
    low, high = dof.position_limits
    low = low if isfinite(low) else min(-reach, dof.position - reach if isfinite(dof.position) else -reach)
    high = high if isfinite(high) else max(reach, dof.position + reach if isfinite(dof.position) else reach)
    return (low, high) if high > low else (low, low + 1e-6)
