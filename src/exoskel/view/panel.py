"""The controls beside the view.

Every user action is passed to `submit` as a task, so that one thread handles them in order.
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
from exoskel.view.render_scene import MissingMesh

if TYPE_CHECKING:
    from viser import ViserServer

Job = Callable[[], None]
NOTHING = "(none)"
MAX_SLIDERS = 60
MAX_NAMES = 3000
_PI = 3.14
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
    """The actions that the panel triggers."""

    def toggle(self) -> None: ...
    def step(self) -> None: ...
    def reset(self) -> None: ...
    def seek(self, time: float) -> None: ...
    def set_speed(self, speed: float) -> None: ...
    def set_engine(self, engine: str) -> None: ...
    def set_gravity(self, on: bool) -> None: ...
    def set_layer(self, name: str, on: bool) -> None: ...
    def set_dark(self, dark: bool) -> None: ...
    def set_view(self, preset: str, client: int | None = None) -> None: ...
    def select(self, number: int) -> None: ...
    def pose(self, dof: int, value: float) -> None: ...


class Panel:
    """The controls.  `actions` handles user input; the methods of this class update what the panel shows."""

    def __init__(
        self, server: ViserServer, actions: Actions, submit: Callable[[Job], None], *, engine: str, dark: bool
    ):
        self.gui: Any = server.gui
        self.actions, self.submit = actions, submit
        self._names: list[str] = []
        self._sliders: list[tuple[int, Any]] = []
        self._error_box: Any = None
        self.gui.main_panel.dock_right()
        self.gui.main_panel.set_width(350)
        self.tabs = tabs = self.gui.add_tab_group()
        with tabs.add_tab("Motion"):
            self._add_motion(engine)
        with tabs.add_tab("Scene"):
            self._chosen = self._input(self.gui.add_dropdown("Body", (NOTHING,), hint="Or click a body"), self._choose)
            self._about = self.gui.add_html(html_text.nothing_selected())
            with self.gui.add_folder("Tree"):
                self._tree = self.gui.add_html("")
        with tabs.add_tab("Display"):
            self._add_layers(dark)
        with tabs.add_tab("Problems"):
            self._problems = self.gui.add_html("")

    # --- building -------------------------------------------------------------------------------------

    def _add_motion(self, engine: str) -> None:
        gui = self.gui
        buttons = gui.add_button_group("", ("Play / pause", "Step", "Reset"))
        act = {"Play / pause": self.actions.toggle, "Step": self.actions.step, "Reset": self.actions.reset}
        buttons.on_click(self._callback(lambda event: self.submit(act[event.target.value])))
        self._state = gui.add_html("")
        self._time = self._input(gui.add_slider("Time (s)", 0.0, 1.0, 0.001, 0.0), self.actions.seek)
        self._speed = self._input(
            gui.add_dropdown("Speed", SPEEDS, initial_value="1"), lambda text: self.actions.set_speed(float(text))
        )
        found = [name for name, one in ENGINES.items() if one.version is not None or name == engine]
        self._input(gui.add_dropdown("Engine", found, initial_value=engine), self.actions.set_engine)
        self._gravity = self._input(gui.add_checkbox("Gravity", True), self.actions.set_gravity)
        self._joints = gui.add_folder("Joints")

    def _add_layers(self, dark: bool) -> None:
        gui = self.gui
        for name, on in LAYERS.items():
            self._input(gui.add_checkbox(_TITLES[name], on), partial(self.actions.set_layer, name))
        self._input(gui.add_checkbox("Dark theme", dark), self.actions.set_dark)
        views = gui.add_button_group("Camera", tuple(PRESETS))
        views.on_click(self._callback(lambda event: self._set_view(event.target.value, event.client_id)))

    def _set_view(self, preset: str, client: int | None) -> None:
        self.submit(lambda: self.actions.set_view(preset, client))

    def _input(self, handle: Any, act: Callable[[Any], None]) -> Any:
        """Call `act` with the new value when the user changes an input; changes from this side are ignored."""

        def changed(event: Any) -> None:
            if event.client_id is not None:
                value = event.target.value
                self.submit(lambda: act(value))

        handle.on_update(self._callback(changed))
        return handle

    def _callback(self, act: Callable[[Any], None]) -> Callable[[Any], Any]:
        """Wrap a handler as a coroutine: viser then runs them in the order of the events."""

        async def handle(event: Any) -> None:
            act(event)

        return handle

    def _choose(self, name: str) -> None:
        self.actions.select(self._names.index(name) if name in self._names else -1)

    # --- a new scene ----------------------------------------------------------------------------------

    def fill(self, world: World, names: Sequence[tuple[str, str]], size: float) -> None:
        """List the bodies and joints of a world; `size` is the size of the scene in m."""
        self._names = [printable(f"{model} / {body}") for model, body in names[:MAX_NAMES]]
        self._chosen.options = (NOTHING, *dict.fromkeys(self._names))
        self._chosen.value = NOTHING
        self._tree.content = html_text.tree(world)
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
        # Free joints come last: users look for the hinges of a robot first.
        order = sorted(range(len(dofs)), key=lambda number: dofs[number][0])[:MAX_SLIDERS]
        with self._joints:
            for number in order:
                _, name, letter, dof = dofs[number]
                low, high = _range(dof, _PI if letter == "r" else _rounded(size))
                slider = self.gui.add_slider(
                    printable(name), low, high, max((high - low) / 500, 1e-9), min(max(dof.position, low), high)
                )
                self._input(slider, partial(self.actions.pose, number))
                self._sliders.append((number, slider))

    # --- updates --------------------------------------------------------------------------------------

    def show_time(self, time: float, last: float, playing: bool, positions: Sequence[float], pace: float) -> None:
        state = f"{time:.2f} s, {'playing' if playing else 'paused'}" + (
            f" at {pace:.2g} times real time" if playing and pace else ""
        )
        self.show_state(state, time)
        if last > self._time.max:
            self._time.max = max(2.0 * self._time.max, last)
        self._time.value = min(max(time, 0.0), float(self._time.max))
        for number, slider in self._sliders:
            slider.value = min(max(float(positions[number]), slider.min), slider.max)

    def show_state(self, state: str, time: float = 0.0) -> None:
        """Show one line about the state of the player, and its time in s."""
        style = "padding:0 1em;font-variant-numeric:tabular-nums"
        self._state.content = (
            f"<div id='exoskel-state' data-time='{time:.6f}' style='{style}'>{html_text.safe(state)}</div>"
        )

    def set_span(self, last: float) -> None:
        """Set the end of the time slider, s."""
        self._time.max = max(last, 1.0)

    def show_choice(self, number: int, about: str) -> None:
        self._chosen.value = self._names[number] if 0 <= number < len(self._names) else NOTHING
        self._about.content = about

    def show_problems(self, diagnostics: Sequence[Diagnostic], missing_meshes: Sequence[MissingMesh]) -> None:
        self._problems.content = html_text.problems(diagnostics, missing_meshes)

    def show_errors(self, *errors: tuple[str, str]) -> None:
        """Show a box over the view with titles and HTML; without arguments, remove it."""
        if not errors:
            if self._error_box is not None:
                self._error_box[0].remove()
                self._error_box = None
            return
        content = html_text.error_box(*errors)
        if self._error_box is not None:
            self._error_box[1].content = content
            return
        box = self.gui.add_panel()
        with box.add_tab("Problems"):
            inside = self.gui.add_html(content)
        box.float(x=15, y=15, width=420)
        self._error_box = (box, inside)


def _rounded(length: float) -> float:
    """Round a length to two digits, for the label at the end of a slider."""
    return round(length, 1 - floor(log10(length)))


def _range(dof: Dof, reach: float) -> tuple[float, float]:
    """The range of a slider: the limits, or `reach` to both sides where there is no limit."""
    low, high = dof.position_limits
    low = low if isfinite(low) else min(-reach, dof.position - reach if isfinite(dof.position) else -reach)
    high = high if isfinite(high) else max(reach, dof.position + reach if isfinite(dof.position) else reach)
    return (low, high) if high > low else (low, low + 1e-6)
