"""Sliders for the commands of the selected joint: forces, velocities or accelerations, by its actuator."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isfinite
from typing import Any

from exoskel.diagnostics import printable
from exoskel.scene.joint import Actuator, Dof, Joint
from exoskel.view.selection import ItemSelection
from exoskel.view.sliders import Input, slider_range

_QUANTITIES: dict[Actuator, tuple[str, float]] = {
    "force": ("force", 100.0),
    "servo": ("velocity", 10.0),
    "velocity": ("velocity", 10.0),
    "acceleration": ("acceleration", 100.0),
}
"""What a command of an actuator sets, and the end of the slider if the joint has no limit; others take no commands."""


class CommandSliders:
    """Sliders for one joint at a time; `set_command` sets the command of a coordinate."""

    def __init__(self, gui: Any, add_input: Input, set_command: Callable[[int, float], None]) -> None:
        self._gui, self._add_input, self._set_command = gui, add_input, set_command
        self._folder = gui.add_folder("Command", visible=False)
        self._joint: Joint | None = None
        self.sliders: list[Any] = []

    def show(self, selection: ItemSelection, command: Callable[[int], float]) -> None:
        """Show the commands of the selected joint, or of the parent joint of the selected body.

        `command` returns the present command of a coordinate.
        """
        joint = selection.joint
        if joint is self._joint:
            return
        self.clear()
        self._joint = joint
        if joint is None or joint.loop or joint.actuator not in _QUANTITIES or joint.kind in ("free", "weld"):
            return
        self._folder.visible = True
        for number, name, letter, dof in zip(
            selection.dofs_of(joint), joint.dof_names, joint.motion, joint.dofs, strict=True
        ):
            self._add(number, name, joint.actuator, dof, command(number), is_angle=letter == "r")

    def _add(self, number: int, name: str, actuator: Actuator, dof: Dof, value: float, *, is_angle: bool) -> None:
        quantity, reach = _QUANTITIES[actuator]
        low, high = dof.force_limits if quantity == "force" else (-reach, reach)
        shown = slider_range(low if isfinite(low) else -reach, high if isfinite(high) else reach)
        unit = {"force": ("N", "N·m"), "velocity": ("m/s", "rad/s"), "acceleration": ("m/s²", "rad/s²")}[quantity]
        with self._folder:
            slider = self._gui.add_slider(
                f"{printable(name)} {quantity} ({unit[is_angle]})",
                shown.low,
                shown.high,
                shown.step,
                shown.rounded(value),
            )
        self._add_input(slider, partial(self._set_command, number))
        self.sliders.append(slider)

    def reset(self) -> None:
        """Show that no command is set."""
        for slider in self.sliders:
            slider.value = 0.0

    def clear(self) -> None:
        for slider in self.sliders:
            slider.remove()
        self.sliders, self._joint = [], None
        self._folder.visible = False
