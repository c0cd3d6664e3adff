"""Sliders for the coordinates of a world, one folder per model, and for what drives the selected joint."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, floor, isfinite, log10
from typing import Any, Protocol

from msgspec import Struct

from exoskel.diagnostics import printable
from exoskel.scene.actuator import Actuator, ActuatorKind
from exoskel.scene.joint import Dof, Joint, JointActuator
from exoskel.scene.world import World
from exoskel.view.selection import ItemSelection

MAX_SLIDERS = 60
_MAX_OPEN = 24
"""Folders are open until they show this many sliders."""
_PI = 3.14
_STEPS = 400
"""About how many steps a range has."""
_MAX_VALUE = 1e12
"""Ranges end here: the page cannot show longer numbers."""
UNNAMED = "(unnamed)"
Input = Callable[[Any, Callable[[Any], None]], Any]
"""Calls a function with the new value of an input that the user changes, and returns the input."""


class SliderRange(Struct, frozen=True):
    """The range of a slider, rounded outwards to its step; `low` and `high` are multiples of `step`."""

    low: float
    high: float
    step: float

    def shown(self, value: float) -> float:
        """A value within the range."""
        return min(max(value, self.low), self.high)

    def rounded(self, value: float) -> float:
        """A value within the range, rounded to the step."""
        return self.shown(_rounded(value, self.step, round))


def slider_range(low: float, high: float) -> SliderRange:
    """The range from `low` to `high` with a step of 1, 2 or 5 times a power of ten, so that all numbers are short."""
    low, high = max(low, -_MAX_VALUE), min(high, _MAX_VALUE)
    if not high > low:
        low, high = low - 1e-6, low + 1e-6
    step = round_step((high - low) / _STEPS)
    return SliderRange(_rounded(low, step, floor), _rounded(high, step, ceil), step)


def round_step(size: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is at most `size`."""
    power = 10.0 ** floor(log10(size))
    return _short(next(factor for factor in (5, 2, 1) if factor * power <= size * (1 + 1e-9)) * power)


def _rounded(value: float, step: float, way: Callable[[float], float]) -> float:
    """A multiple of the step; values that are one already stay."""
    count = value / step
    return _short((round(count) if abs(count - round(count)) < 1e-6 else way(count)) * step)


def _short(value: float) -> float:
    """Without the last digits, in which multiples of a power of ten differ from their decimal form."""
    return float(f"{value:.12g}")


class _ModelDof(Struct, frozen=True):
    """A coordinate: its number in the state, its name, whether it is an angle, and whether its joint is free."""

    number: int
    name: str
    dof: Dof
    is_angle: bool
    is_free: bool


class JointSlider(Struct, frozen=True, eq=False):
    """The slider of a coordinate: its number in the state, its limits, and the range that is shown."""

    number: int
    limits: tuple[float, float]
    shown: SliderRange
    handle: Any


class JointSliders:
    """A slider for each coordinate, in the folders of the models."""

    def __init__(self, gui: Any, parent: Any, add_input: Input, pose: Callable[[int, float], None]) -> None:
        self._gui, self._parent, self._add_input, self._pose = gui, parent, add_input, pose
        self._folders: list[Any] = []
        self.sliders: list[JointSlider] = []

    def fill(self, world: World, size: float) -> None:
        """Show the coordinates of a world; `size` is the size of the scene in m."""
        for folder in self._folders:
            folder.remove()
        self._folders, self.sliders = [], []
        models = [(model.name, dofs) for model, dofs in zip(world.models, _dofs_of(world), strict=True) if dofs]
        # Models that only have free joints come last: users look for the hinges of a robot first.
        models.sort(key=lambda one: all(dof.is_free for dof in one[1]))
        for name, dofs in models:
            room = MAX_SLIDERS - len(self.sliders)
            if room <= 0:
                break
            self._add_folder(printable(name) or UNNAMED, sorted(dofs, key=lambda one: one.is_free)[:room], size)

    def _add_folder(self, name: str, dofs: Sequence[_ModelDof], size: float) -> None:
        is_open = not self._folders or len(self.sliders) + len(dofs) <= _MAX_OPEN
        with self._parent:
            folder = self._gui.add_folder(name, expand_by_default=is_open)
        self._folders.append(folder)
        with folder:
            for one in dofs:
                self._add_slider(one, size)

    def _add_slider(self, one: _ModelDof, size: float) -> None:
        low, high = _limits(one.dof, _PI if one.is_angle else size)
        shown = slider_range(low, high)
        handle = self._gui.add_slider(
            printable(one.name), shown.low, shown.high, shown.step, shown.rounded(one.dof.position)
        )
        slider = JointSlider(one.number, (low, high), shown, handle)
        self._add_input(handle, partial(self.pose, slider))
        self.sliders.append(slider)

    def pose(self, slider: JointSlider, value: float) -> None:
        """Set a coordinate within its limits; the range of a slider is rounded outwards."""
        low, high = slider.limits
        self._pose(slider.number, min(max(value, low), high))

    def show(self, positions: Sequence[float]) -> None:
        """Move the sliders to the positions of all coordinates."""
        for slider in self.sliders:
            slider.handle.value = slider.shown.shown(float(positions[slider.number]))


def _dofs_of(world: World) -> list[list[_ModelDof]]:
    """The coordinates of each model."""
    found: list[list[_ModelDof]] = []
    number = 0
    for model in world.models:
        found.append([])
        for joint in model.joints:
            if joint.loop:
                continue
            for name, letter, dof in zip(joint.dof_names, joint.motion, joint.dofs, strict=True):
                found[-1].append(_ModelDof(number, name, dof, letter == "r", joint.kind == "free"))
                number += 1
    return found


def _limits(dof: Dof, reach: float) -> tuple[float, float]:
    """The limits of a coordinate, or `reach` to both sides of its position where it has none."""
    low, high = dof.position_limits
    middle = dof.position if isfinite(dof.position) else 0.0
    low = low if isfinite(low) else min(-reach, middle - reach)
    high = high if isfinite(high) else max(reach, middle + reach)
    return (low, high) if high > low else (low, low + 1e-6)


_QUANTITIES: dict[JointActuator, tuple[str, float]] = {
    "force": ("force", 100.0),
    "servo": ("velocity", 10.0),
    "velocity": ("velocity", 10.0),
    "acceleration": ("acceleration", 100.0),
}
"""What a command of an actuator sets, and the end of the slider if the joint has no limit; others take no commands."""
_CONTROL_ENDS: dict[ActuatorKind, float] = {"motor": 100.0, "position": _PI, "velocity": 10.0, "general": 1.0}
"""The end of the slider of an actuator whose control has no range."""


class DrivenPlayer(Protocol):
    """The commands of coordinates and the controls of actuators that act at present."""

    def command(self, dof: int) -> float: ...
    def control(self, actuator: Actuator) -> float: ...


class CommandSliders:
    """Sliders for one joint at a time: the controls of its actuators, and commands of coordinates without one."""

    def __init__(
        self,
        gui: Any,
        add_input: Input,
        set_command: Callable[[int, float], None],
        set_control: Callable[[str, float], None],
    ) -> None:
        self._gui, self._add_input = gui, add_input
        self._set_command, self._set_control = set_command, set_control
        self._folder = gui.add_folder("Command", visible=False)
        self._joint: Joint | None = None
        self._initial: list[float] = []
        """What the sliders show after a reset."""
        self.sliders: list[Any] = []

    def show(self, selection: ItemSelection, player: DrivenPlayer) -> None:
        """Show the sliders of the selected joint, or of the parent joint of the selected body."""
        joint = selection.joint
        if joint is self._joint:
            return
        self.clear()
        self._joint = joint
        if joint is None or joint.loop or joint.kind in ("free", "weld"):
            return
        actuators = selection.actuators_of(joint)
        for one in actuators:
            self._add_control(one, player.control(one))
        driven = {one.coordinate for one in actuators}
        for place, number in enumerate(selection.dofs_of(joint) if joint.actuator in _QUANTITIES else ()):
            if place not in driven:
                self._add_command(joint, place, number, player.command(number))
        self._folder.visible = bool(self.sliders)

    def _add_control(self, one: Actuator, value: float) -> None:
        low, high = one.control_range
        end = max(_CONTROL_ENDS[one.kind], abs(value))
        shown = slider_range(low if isfinite(low) else -end, high if isfinite(high) else end)
        self._add(
            f"{printable(one.name)} ({one.kind})", shown, value, one.control, partial(self._set_control, one.name)
        )

    def _add_command(self, joint: Joint, place: int, number: int, value: float) -> None:
        dof, is_angle = joint.dofs[place], joint.motion[place] == "r"
        quantity, reach = _QUANTITIES[joint.actuator]
        low, high = dof.force_limits if quantity == "force" else (-reach, reach)
        shown = slider_range(low if isfinite(low) else -reach, high if isfinite(high) else reach)
        unit = {"force": ("N", "N·m"), "velocity": ("m/s", "rad/s"), "acceleration": ("m/s²", "rad/s²")}[quantity]
        label = f"{printable(joint.dof_names[place])} {quantity} ({unit[is_angle]})"
        self._add(label, shown, value, 0.0, partial(self._set_command, number))

    def _add(
        self, label: str, shown: SliderRange, value: float, initial: float, set_value: Callable[[float], None]
    ) -> None:
        with self._folder:
            slider = self._gui.add_slider(label, shown.low, shown.high, shown.step, shown.rounded(value))
        self._add_input(slider, set_value)
        self.sliders.append(slider)
        self._initial.append(shown.rounded(initial))

    def reset(self) -> None:
        """Show the initial commands and controls."""
        for slider, value in zip(self.sliders, self._initial, strict=True):
            slider.value = value

    def clear(self) -> None:
        for slider in self.sliders:
            slider.remove()
        self.sliders, self._initial, self._joint = [], [], None
        self._folder.visible = False
