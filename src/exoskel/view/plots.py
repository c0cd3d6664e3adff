"""Plots of motions and comparisons: coordinates, heights, energy, phase, distances."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.engines.registry import engine_title
from exoskel.simulate.compare import Comparison
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.atomic_write import WriteError, check_writable, open_atomically
from exoskel.spatial import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NEEDS_MATPLOTLIB = "matplotlib is not installed; install it with `pip install 'exoskel[plot]'`"
_MAX_LINES = 10
_JUMP = 2.5
"""A difference in radians between two samples that is a jump of the coordinate, not motion."""
_LOG_FLOOR = 1e-17
"""The value of a zero difference on a logarithmic axis."""
_COLOURS = (
    "#3b78a8",
    "#c8452f",
    "#5b9a68",
    "#e3b23c",
    "#7d5ba6",
    "#4db6ac",
    "#8d6e63",
    "#d16ba5",
    "#7a8288",
    "#1b4965",
)


def plot(trajectory: Trajectory, path: str | os.PathLike[str], *, up: int | None = None) -> None:
    """Plot a motion to a .png, .svg or .pdf file.

    Four panels: positions of the degrees of freedom that move most, heights of the bodies that move most, energies,
    and a phase plot.  `up` is the axis of the heights (0, 1, 2), by default the axis of gravity.
    """
    if not len(trajectory):
        raise ExoskelError("cannot plot the trajectory: it is empty")
    world, engine = trajectory.meta.get("world", ""), trajectory.meta.get("engine", "an engine")
    figure, panels = _new_figure(f"{world}: {trajectory.time[-1]:.3g} s on {engine_title(engine)}")
    _positions(panels[0, 0], trajectory)
    _heights(panels[0, 1], trajectory, _up(trajectory) if up is None else up)
    _energies(panels[1, 0], trajectory)
    _phase(panels[1, 1], trajectory)
    _save(figure, path)


def plot_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Plot the differences between engines to a .png, .svg or .pdf file.

    Four panels: distance and rotation between bodies over time, energies, and the coordinate that moves most.
    """
    tracks, gaps = comparison.tracks, comparison.gaps
    figure, panels = _new_figure(f"{comparison.world}: " + ", ".join(engine_title(track.engine) for track in tracks))
    for axes, name, unit in ((panels[0, 0], "distance", "m"), (panels[0, 1], "rotation", "rad")):
        for number, gap in enumerate(gaps):
            values = np.maximum(getattr(gap, name), _LOG_FLOOR)[1:]  # all start at the same state
            label = f"{gap.engines[1]} vs {gap.engines[0]}"
            axes.semilogy(tracks[0].time[1:], values, label=label, color=_COLOURS[number + 1], linewidth=1.3)
        _label(axes, f"largest {name} between bodies", f"{name} ({unit})")
    for number, track in enumerate(tracks):
        total = track.energy.sum(axis=1)
        panels[1, 0].plot(track.time, total - total[0], label=track.engine, color=_COLOURS[number], linewidth=1.3)
    _label(panels[1, 0], "energy change", "energy (J)")
    chosen = _most_active(tracks[0].positions, 1)
    for number, track in enumerate(tracks if chosen else ()):
        values = _break_jumps(track.positions)[:, chosen[0]]
        panels[1, 1].plot(track.time, values, label=track.engine, color=_COLOURS[number], linewidth=1.3)
    _label(panels[1, 1], "coordinate that moves most", "position (rad or m)")
    _save(figure, path)


def _new_figure(title: str) -> tuple[Any, Any]:
    """A figure with four panels."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ExoskelError(_NEEDS_MATPLOTLIB) from None
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=12)
    return figure, figure.subplots(2, 2)


def check_plot_file(path: str | os.PathLike[str]) -> None:
    """Raise an error if a plot cannot be written to `path`; for checks before a long run."""
    target = Path(path)
    if target.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise ExoskelError(f"cannot write {os.fspath(target)!r}: the extension must be .png, .svg or .pdf")
    check_writable(target)
    if importlib.util.find_spec("matplotlib") is None:
        raise ExoskelError(_NEEDS_MATPLOTLIB)


def _save(figure: Any, path: str | os.PathLike[str]) -> None:
    try:
        with open_atomically(Path(path)) as file:
            figure.savefig(file, format=Path(path).suffix[1:].lower() or None, dpi=120)
    except WriteError:
        raise
    except (ValueError, OSError) as error:
        raise ExoskelError(f"cannot write the plot: {error}") from None


def _label(axes: Axes, title: str, unit: str) -> None:
    axes.set_title(title)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(unit)
    axes.grid(alpha=0.25)
    if axes.lines:
        axes.legend(fontsize=8)


def _most_active(values: Array, most: int = _MAX_LINES) -> list[int]:
    """The columns that change most, in ascending order."""
    if values.shape[1] == 0:
        return []
    spread = values.max(axis=0) - values.min(axis=0)
    order = [column for column in np.argsort(-spread, kind="stable").tolist() if spread[column] > 1e-9]
    return sorted(order[:most])


def _draw(axes: Axes, time: Array, values: Array, names: list[str], chosen: list[int]) -> None:
    for number, column in enumerate(chosen):
        axes.plot(time, values[:, column], label=names[column], color=_COLOURS[number % len(_COLOURS)], linewidth=1.3)
    axes.grid(alpha=0.25)
    axes.set_xlabel("time (s)")
    if chosen:
        axes.legend(fontsize=7, ncols=2, framealpha=0.7)


def _positions(axes: Axes, one: Trajectory) -> None:
    chosen = _most_active(one.positions)
    _draw(axes, one.time, _break_jumps(one.positions), one.dof_names, chosen)
    axes.set_title(_title("joint positions", len(chosen), len(one.dof_names)))
    axes.set_ylabel("position (rad or m)")


def _heights(axes: Axes, one: Trajectory, up: int) -> None:
    heights = one.body_poses[:, :, up]
    chosen = _most_active(heights)
    _draw(axes, one.time, heights, one.body_names, chosen)
    axes.set_title(_title("body heights", len(chosen), len(one.body_names)))
    axes.set_ylabel(f"{'xyz'[up]} (m)")


def _energies(axes: Axes, one: Trajectory) -> None:
    kinetic, potential = one.energy.T
    for number, (name, values) in enumerate(
        (("kinetic", kinetic), ("potential", potential - potential[0]), ("total", kinetic + potential - potential[0]))
    ):
        axes.plot(one.time, values, label=name, color=_COLOURS[number], linewidth=1.5)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8)
    axes.set_title("energy (potential relative to the initial state)")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("energy (J)")


def _phase(axes: Axes, one: Trajectory) -> None:
    chosen = _most_active(one.positions, 4)
    positions = _break_jumps(one.positions)
    for number, column in enumerate(chosen):
        axes.plot(
            positions[:, column],
            one.velocities[:, column],
            label=one.dof_names[column],
            color=_COLOURS[number],
            linewidth=1.0,
        )
    axes.grid(alpha=0.25)
    axes.set_title("phase")
    axes.set_xlabel("position (rad or m)")
    axes.set_ylabel("velocity (rad/s or m/s)")
    if chosen:
        axes.legend(fontsize=7)


def _break_jumps(positions: Array) -> Array:
    """Positions with a gap where a rotation vector jumps by a full turn, so that no line is drawn there."""
    out = positions.copy()
    jumps = np.abs(np.diff(out, axis=0)) > _JUMP
    out[1:][jumps] = np.nan
    return out


def _title(label: str, count: int, total: int) -> str:
    return label if count == total else f"{label} ({count} of {total} that move most)"


def _up(one: Trajectory) -> int:
    """The axis of gravity as recorded by the run; z if nothing was recorded."""
    gravity = one.meta.get("gravity", (0.0, 0.0, -9.81))
    strongest = int(np.argmax(np.abs(gravity)))
    return strongest if any(gravity) else 2
