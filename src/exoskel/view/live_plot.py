"""The live plot of the selected joint or body.  It is drawn only while a page shows it."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel.diagnostics import ExoskelError, printable
from exoskel.spatial import Array
from exoskel.view import html_text
from exoskel.view.player import Player
from exoskel.view.selection import PLACED, ItemKind, ItemSelection

PLOT_PANEL = "plot"
"""The name of the panel; the page script reports whether a page shows it."""
MAX_POINTS = 600
_COLORS = ("#d64545", "#4c9a4c", "#3b78a8", "#c98a1b", "#7d5ba6", "#4db6ac")
_XYZ = ("x", "y", "z")
_EMPTY = np.array([0.0, 1.0])


class Quantity(StrEnum):
    """What is plotted."""

    POSITION = "position"
    VELOCITY = "velocity"
    REACTION = "joint force"
    CONTACT = "contact force"
    COUNT = "contacts"


_MEASURED = (Quantity.REACTION, Quantity.CONTACT, Quantity.COUNT)
"""What engines know only of the present: it is measured while the motion plays."""
_RATES = {"rad": "rad/s", "m": "m/s"}


class PlottedLines(Struct, frozen=True, eq=False):
    """The lines of a plot: a title, their names, times in s, and values `(times, lines)`."""

    title: str
    names: tuple[str, ...]
    times: Array
    values: Array

    def csv(self) -> bytes:
        """The lines as a table with a column for each."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(["time", *(printable(name) for name in self.names)])
        table.writerows([time, *row] for time, row in zip(self.times.tolist(), self.values.tolist(), strict=True))
        return text.getvalue().encode()


class LivePlot:
    """Controls of the plot, and the samples of forces, which are measured only while a page shows the plot."""

    def __init__(self, gui: Any, changed: Callable[[Quantity], None]) -> None:
        self.is_visible = False
        self.quantity = Quantity.POSITION
        self.lines: PlottedLines | None = None
        self._key: tuple[str, ...] = ()
        self._samples: list[tuple[float, tuple[float, ...]]] = []
        self._names: tuple[str, ...] = ()
        self._text = gui.add_html(_heading(""))
        choice = gui.add_dropdown("Quantity", tuple(one.value for one in Quantity))

        async def chosen(event: Any) -> None:
            if event.client_id is not None:
                changed(Quantity(event.target.value))

        choice.on_update(chosen)
        self._plot = gui.add_uplot(
            data=(_EMPTY, np.zeros(2)),
            series=_series(("",)),
            scales={"x": {"time": False}},
            aspect=1.3,
            padding=(10, 24, 0, 0),  # the uppermost number is complete
        )
        gui.add_html(
            "<div class='exoskel-buttons'><button data-exoskel='csv'>Save CSV</button>"
            "<button data-exoskel='plot'>Save plot</button></div>"
        )

    def set_quantity(self, quantity: Quantity) -> None:
        self.quantity = quantity
        self.clear()

    def clear(self) -> None:
        """Forget the measured forces: another item, quantity or motion is shown."""
        self._samples = []

    def measure(self, selection: ItemSelection, player: Player) -> None:
        """Measure a force or count contacts of the current frame, if that is plotted."""
        if not self.is_visible or self.quantity not in _MEASURED:
            return
        joint, body = selection.joint, selection.chosen_body
        value: tuple[float, ...] | None
        if self.quantity is Quantity.REACTION:
            value = player.joint_force(joint) if joint is not None else None
        elif self.quantity is Quantity.COUNT:
            count = player.contact_count(selection.body) if body is not None else None
            value = None if count is None else (count,)
        else:
            value = player.contact_force(body) if body is not None else None
        if value is not None and (not self._samples or player.time > self._samples[-1][0]):
            self._samples.append((player.time, value))
            if len(self._samples) > 2 * MAX_POINTS:
                del self._samples[:-MAX_POINTS]

    def show(self, selection: ItemSelection, player: Player) -> None:
        """Draw the lines of the selected item, if a page shows the plot."""
        if not self.is_visible:
            return
        key = (*selection.names, self.quantity.value)
        if key != self._key:
            self._key = key
            self.clear()
            self.measure(selection, player)
        self.lines = self._lines_of(selection, player)
        names = self.lines.names if self.lines is not None else ("",)
        if names != self._names:
            self._names = names
            self._plot.series = _series(names)
        title = self.lines.title if self.lines is not None else "Select a body or a joint in the tab Scene."
        self._text.content = _heading(title)
        if self.lines is None or len(self.lines.times) < 2:
            self._plot.data = (_EMPTY, *(np.zeros(2) for _ in names))
        else:
            self._plot.data = (self.lines.times, *np.ascontiguousarray(self.lines.values.T))

    def _lines_of(self, selection: ItemSelection, player: Player) -> PlottedLines | None:
        if selection.item is None or selection.item.kind not in PLACED:
            return None
        is_joint = selection.item.kind is ItemKind.JOINT
        title = f"{' / '.join(selection.names[1:])}: {self.quantity.value}"
        if self.quantity in _MEASURED:
            names: tuple[str, ...] = ("contacts",) if self.quantity is Quantity.COUNT else _XYZ
            title += "" if self.quantity is Quantity.COUNT else " (N)"
            values = np.array([value for _, value in self._samples]).reshape(-1, len(names))
            return PlottedLines(title, names, np.array([time for time, _ in self._samples]), values)
        frames = player.frames[:: max(1, len(player.frames) // MAX_POINTS)]
        times = np.array([frame.time for frame in frames])
        joint = selection.joint if is_joint else None
        if joint is not None:
            dofs = selection.dofs_of(joint)
            values = np.array([frame.positions[dofs.start : dofs.stop] for frame in frames]).reshape(len(times), -1)
            names, units = tuple(joint.dof_names), tuple("rad" if one == "r" else "m" for one in joint.motion)
        else:
            values = np.array([frame.poses[selection.body, :3] for frame in frames], dtype=np.float64)
            names, units = _XYZ, ("m",) * 3
        if not values.shape[1]:
            return None
        if self.quantity is Quantity.VELOCITY:
            values, units = _rates(times, values), tuple(_RATES[one] for one in units)
        if len(set(units)) > 1:  # the lines of a joint that turns and slides have different units
            names = tuple(f"{name} ({unit})" for name, unit in zip(names, units, strict=True))
        return PlottedLines(f"{title} ({', '.join(dict.fromkeys(units))})", names, times, values)

    def csv(self) -> bytes:
        """The plotted lines as a table."""
        if self.lines is None:
            raise ExoskelError("nothing is plotted; select a body or a joint first")
        return self.lines.csv()


def _rates(times: Array, values: Array) -> Array:
    """The rates of change between frames."""
    if len(times) < 2 or not (np.diff(times) > 0.0).all():
        return np.zeros_like(values)
    rates: Array = np.gradient(values, times, axis=0)
    return rates


def _series(names: tuple[str, ...]) -> tuple[dict[str, Any], ...]:
    lines = [
        {"label": printable(name), "stroke": _COLORS[number % len(_COLORS)], "width": 1.5}
        for number, name in enumerate(names)
    ]
    return ({"label": "time (s)"}, *lines)


def _heading(title: str) -> str:
    return (
        f"<div data-exoskel-panel='{PLOT_PANEL}' id='exoskel-plot' style='font-size:0.85em;padding:0 1em 0.4em'>"
        f"{html_text.safe(title)}</div>"
    )
