"""The controls beside the view.

Every user action is passed to `submit` as a task, so that one thread handles them in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import floor, log10
from typing import TYPE_CHECKING, Any, Protocol

from exoskel.diagnostics import Diagnostic, printable
from exoskel.engines.registry import ENGINES
from exoskel.scene.world import World
from exoskel.view import html_text
from exoskel.view.browser_scene import LAYERS
from exoskel.view.camera import PRESETS
from exoskel.view.render_scene import MissingMesh
from exoskel.view.scene_placement import camera_names
from exoskel.view.sliders import CommandSliders, JointSliders, round_step

if TYPE_CHECKING:
    from viser import ViserServer

Job = Callable[[], None]
NOTHING = "(none)"
_TIME_STEP, _TIME_STEPS = 0.001, 1000
"""The step of the time slider in s, and the fewest steps that it has."""
_NO_MOTION = 1.0
"""The end of the time slider before anything has moved, s."""
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")
_TITLES = {
    "visual": "Visual shapes",
    "collision": "Collision shapes",
    "ground": "Ground",
    "frames": "Body frames",
    "axes": "Joint axes",
    "constraints": "Loops and constraints",
    "mass": "Mass and inertia",
    "contacts": "Contacts and forces",
    "labels": "Names",
}


_RECORDING = (
    "<div class='exoskel-buttons'><button data-exoskel='picture'>Save picture</button>"
    "<button data-exoskel='record'>Record video</button></div>"
)
VIEW_KEYS = {"default": "0"} | {
    name: str(number + 1) for number, name in enumerate(name for name in PRESETS if name != "default")
}
_KEYS_HELP = (
    "<div style='font-size:0.8em;padding:0 1em 0.5em;opacity:0.7'>Keys: space plays, arrows step, R resets, F follows, "
    "1–6 look from front, back, left, right, top, bottom, 0 shows everything.</div>"
)


class Actions(Protocol):
    """The actions that the panel triggers."""

    def toggle(self) -> None: ...
    def step(self) -> None: ...
    def step_back(self) -> None: ...
    def search(self, text: str) -> None: ...
    def set_follow(self, on: bool) -> None: ...
    def toggle_follow(self) -> None: ...
    def set_camera(self, number: int) -> None: ...
    def set_keyframe(self, number: int) -> None: ...
    def reset(self) -> None: ...
    def seek(self, time: float) -> None: ...
    def set_speed(self, speed: float) -> None: ...
    def set_whole_core(self, on: bool) -> None: ...
    def set_engine(self, engine: str) -> None: ...
    def set_gravity(self, on: bool) -> None: ...
    def set_layer(self, name: str, on: bool) -> None: ...
    def set_dark(self, dark: bool) -> None: ...
    def set_view(self, preset: str, client: int | None = None) -> None: ...
    def pose(self, dof: int, value: float) -> None: ...
    def set_command(self, dof: int, value: float) -> None: ...
    def set_control(self, actuator: str, value: float) -> None: ...
    def set_measuring(self, on: bool) -> None: ...
    def set_last_version(self, on: bool) -> None: ...


class Panel:
    """The controls.  `actions` handles user input; the methods of this class update what the panel shows."""

    def __init__(
        self, server: ViserServer, actions: Actions, submit: Callable[[Job], None], *, engine: str, dark: bool
    ):
        self.gui: Any = server.gui
        self.actions, self.submit = actions, submit
        self._cameras: dict[str, int] = {}
        self._keyframes: dict[str, int] = {}
        self._error_box: Any = None
        self.gui.main_panel.dock_right()
        self.gui.main_panel.set_width(350)
        self.tabs = tabs = self.gui.add_tab_group()
        with tabs.add_tab("Motion"):
            self._add_motion(engine)
        with tabs.add_tab("Scene"):
            self._search = self._input(self.gui.add_text("Search", ""), self.actions.search)
            self._tree = self.gui.add_html("")
            self._follow = self._input(
                self.gui.add_checkbox("Follow", False, hint="Move the camera with the selected body (F)"),
                self.actions.set_follow,
            )
            self._about = self.gui.add_html(html_text.nothing_selected())
            self.commands = CommandSliders(self.gui, self._input, self.actions.set_command, self.actions.set_control)
        with tabs.add_tab("Display"):
            self._add_layers(dark)
        with tabs.add_tab("Problems"):
            self._problems = self.gui.add_html("")
        self._add_commands()

    # --- building -------------------------------------------------------------------------------------

    def _add_motion(self, engine: str) -> None:
        gui = self.gui
        buttons = gui.add_button_group("", ("Play / pause", "Step", "Reset"))
        act = {"Play / pause": self.actions.toggle, "Step": self.actions.step, "Reset": self.actions.reset}
        buttons.on_click(self._callback(lambda event: self.submit(act[event.target.value])))
        self._state = gui.add_html("")
        self._time = self._input(gui.add_slider("Time (s)", 0.0, _NO_MOTION, _TIME_STEP, 0.0), self.actions.seek)
        self._speed = self._input(
            gui.add_dropdown("Speed", SPEEDS, initial_value="1"), lambda text: self.actions.set_speed(float(text))
        )
        self._input(
            gui.add_checkbox("Whole core", False, hint="Simulate a large scene faster; otherwise it takes half a core"),
            self.actions.set_whole_core,
        )
        found = [name for name, one in ENGINES.items() if one.version is not None or name == engine]
        self._input(gui.add_dropdown("Engine", found, initial_value=engine), self.actions.set_engine)
        self._gravity = self._input(gui.add_checkbox("Gravity", True), self.actions.set_gravity)
        self._keyframe = self._input(
            gui.add_dropdown("Keyframe", (NOTHING,), hint="Go to a state of the file"),
            lambda name: self.actions.set_keyframe(self._keyframes.get(name, -1)),
        )
        self._joints = gui.add_folder("Joints")
        self._sliders = JointSliders(gui, self._joints, self._input, self.actions.pose)

    def _add_layers(self, dark: bool) -> None:
        gui = self.gui
        for name, on in LAYERS.items():
            self._input(gui.add_checkbox(_TITLES[name], on), partial(self.actions.set_layer, name))
            if name == "contacts":
                self._forces = gui.add_html("")
        self._last_version = self._input(
            gui.add_checkbox("Last version", False, hint="The scene before the file was saved, as a ghost"),
            self.actions.set_last_version,
        )
        self._input(
            gui.add_checkbox("Measure", False, hint="Click two points: their distance is shown"),
            self.actions.set_measuring,
        )
        self._measured = gui.add_html("")
        self._input(gui.add_checkbox("Dark theme", dark), self.actions.set_dark)
        views = gui.add_button_group("View", tuple(PRESETS))
        views.on_click(self._callback(lambda event: self._set_view(event.target.value, event.client_id)))
        self._camera = self._input(
            gui.add_dropdown("Camera", (NOTHING,), hint="A camera of the file"),
            lambda name: self.actions.set_camera(self._cameras.get(name, -1)),
        )
        gui.add_html(_RECORDING)
        gui.add_html(_KEYS_HELP)

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

    def _add_commands(self) -> None:
        """Add keys; they are also commands of the page's palette (Ctrl-K)."""
        actions = self.actions
        jobs: list[tuple[str, str, Callable[[int | None], None]]] = [
            ("Play or pause", "space", lambda _: actions.toggle()),
            ("Step forward", "arrowright", lambda _: actions.step()),
            ("Step back", "arrowleft", lambda _: actions.step_back()),
            ("Reset", "R", lambda _: actions.reset()),
            ("Follow the selected body", "F", lambda _: actions.toggle_follow()),
        ]
        jobs += [(f"View: {name}", key, partial(actions.set_view, name)) for name, key in VIEW_KEYS.items()]
        for label, key, act in jobs:
            command = self.gui.add_command(label, hotkey=key)
            command.on_trigger(self._callback(partial(self._trigger, act)))

    def _trigger(self, act: Callable[[int | None], None], event: Any) -> None:
        self.submit(lambda: act(event.client_id))

    # --- a new scene ----------------------------------------------------------------------------------

    def fill(self, world: World, size: float) -> None:
        """List the joints, cameras and keyframes of a world; `size` is the size of the scene in m."""
        cameras = [printable(name) for name in camera_names(list(world.cameras))]
        self._cameras = _fill_choice(self._camera, cameras)
        keyframes = [printable(one.name) or f"keyframe {number + 1}" for number, one in enumerate(world.keyframes)]
        self._keyframes = _fill_choice(self._keyframe, keyframes)
        self._sliders.fill(world, size)
        self._joints.visible = bool(self._sliders.sliders)

    # --- updates --------------------------------------------------------------------------------------

    def show_time(self, time: float, last: float, playing: bool, positions: Sequence[float], pace: float) -> None:
        state = f"{time:.2f} s, {'playing' if playing else 'paused'}" + (
            f" at {pace:.2g} times real time" if playing and pace else ""
        )
        self.show_state(state, time)
        self.set_span(last)
        self._time.value = min(max(time, 0.0), float(self._time.max))
        self._sliders.show(positions)

    def show_state(self, state: str, time: float = 0.0) -> None:
        """Show one line about the state of the player, and its time in s."""
        style = "padding:0 0.9em 0.4em;font-size:0.9em;font-variant-numeric:tabular-nums"
        self._state.content = (
            f"<div id='exoskel-state' data-time='{time:.6f}' style='{style}'>{html_text.safe(state)}</div>"
        )

    def set_span(self, last: float) -> None:
        """Set the end of the time slider, s: the last time of the motion, if anything has moved yet."""
        step = min(round_step(last / _TIME_STEPS), _TIME_STEP) if last > 0.0 else _TIME_STEP
        self._time.disabled = last <= 0.0
        self._time.max = last if last > 0.0 else _NO_MOTION
        self._time.step, self._time.precision = step, max(0, -floor(log10(step)))

    @property
    def search_text(self) -> str:
        return str(self._search.value)

    def show_about(self, about: str) -> None:
        """Show HTML about the selected item."""
        self._about.content = about

    def show_tree(self, tree: str) -> None:
        """Show the tree of the scene, HTML."""
        self._tree.content = tree

    def show_tools(self, forces: str, measured: str) -> None:
        """Show HTML about contact forces and about what was measured."""
        self._forces.content, self._measured.content = forces, measured

    def show_follow(self, on: bool) -> None:
        self._follow.value = on

    def show_camera(self, number: int) -> None:
        """Show which camera of the file is used; -1 for none."""
        self._camera.value = next((name for name, one in self._cameras.items() if one == number), NOTHING)

    def clear_keyframe(self) -> None:
        self._keyframe.value = NOTHING

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


def _fill_choice(handle: Any, names: Sequence[str]) -> dict[str, int]:
    """Offer names in a dropdown, which is hidden without names; returns their numbers."""
    numbers: dict[str, int] = {}
    for number, name in enumerate(names):
        numbers[name if name not in numbers else f"{name} ({number + 1})"] = number
    handle.options = (NOTHING, *numbers)
    handle.value = NOTHING
    handle.visible = bool(numbers)
    return numbers
