"""Pictures of a motion: coordinates, heights, energy, and phase."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.engines.preflight import TITLES
from exoskel.simulate.compare import Comparison
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.atomic_write import WriteError, open_atomically
from exoskel.spatial import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_LINES = 10
_TURN = 2.5
"""Radians between two samples that are no motion."""
_LEAST_SHOWN = 1e-17
"""What is equal stands here on a logarithmic axis."""
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
    """Draw a motion into a picture file (.png, .svg, .pdf).

    Four panels: positions of the liveliest degrees of freedom, heights of the liveliest bodies, energies, and a
    phase plot.  `up` is the axis that heights are measured along (0, 1, 2), by default the one that falls.
    """
    if not len(trajectory):
        raise ExoskelError("there is nothing to draw: the trajectory is empty")
    world, engine = trajectory.meta.get("world", ""), trajectory.meta.get("engine", "an engine")
    figure, panels = _page(f"{world}: {trajectory.time[-1]:.3g} s on {TITLES.get(engine, engine)}")
    _positions(panels[0, 0], trajectory)
    _heights(panels[0, 1], trajectory, _up(trajectory) if up is None else up)
    _energies(panels[1, 0], trajectory)
    _phase(panels[1, 1], trajectory)
    _save(figure, path)


def plot_comparison(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Draw how far engines are apart into a picture file (.png, .svg, .pdf).

    Four panels: distance and rotation between bodies over time, energies, and the liveliest coordinate in each.
    """
    tracks, gaps = comparison.tracks, comparison.gaps
    figure, panels = _page(
        f"{comparison.world}: " + ", ".join(TITLES.get(track.engine, track.engine) for track in tracks)
    )
    for axes, name, unit in ((panels[0, 0], "distance", "m"), (panels[0, 1], "rotation", "rad")):
        for number, gap in enumerate(gaps):
            values = np.maximum(getattr(gap, name), _LEAST_SHOWN)[1:]  # all begin alike
            label = f"{gap.engines[1]} from {gap.engines[0]}"
            axes.semilogy(tracks[0].time[1:], values, label=label, color=_COLOURS[number + 1], linewidth=1.3)
        _label(axes, f"largest {name} between bodies", f"{name} ({unit})")
    for number, track in enumerate(tracks):
        total = track.energy.sum(axis=1)
        panels[1, 0].plot(track.time, total - total[0], label=track.engine, color=_COLOURS[number], linewidth=1.3)
    _label(panels[1, 0], "change of energy", "energy (J)")
    chosen = _liveliest(tracks[0].positions, 1)
    for number, track in enumerate(tracks if chosen else ()):
        values = _parted(track.positions)[:, chosen[0]]
        panels[1, 1].plot(track.time, values, label=track.engine, color=_COLOURS[number], linewidth=1.3)
    _label(panels[1, 1], "the liveliest coordinate", "position (rad or m)")
    _save(figure, path)


def _page(title: str) -> tuple[Any, Any]:
    """A figure with four panels."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        raise ExoskelError("pictures need matplotlib: pip install matplotlib") from None
    figure = Figure(figsize=(11, 7.5), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=12)
    return figure, figure.subplots(2, 2)


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise if a picture could not be written there: for asking before a long run."""
    target = Path(path)
    if target.suffix.lower() not in (".png", ".svg", ".pdf"):
        ending = target.suffix or "a file without an ending"
        raise ExoskelError(f"a picture cannot be drawn as {ending!r}: .png, .svg or .pdf")
    if not target.absolute().parent.is_dir():
        raise ExoskelError(f"there is no folder {os.fspath(target.parent)!r} to draw the picture to")
    if importlib.util.find_spec("matplotlib") is None:
        raise ExoskelError("pictures need matplotlib: pip install matplotlib")


def _save(figure: Any, path: str | os.PathLike[str]) -> None:
    try:
        with open_atomically(Path(path)) as file:
            figure.savefig(file, format=Path(path).suffix[1:].lower() or None, dpi=120)
    except WriteError:
        raise
    except (ValueError, OSError) as error:
        raise ExoskelError(f"the picture cannot be written: {error}") from None


def _label(axes: Axes, title: str, unit: str) -> None:
    axes.set_title(title)
    axes.set_xlabel("time (s)")
    axes.set_ylabel(unit)
    axes.grid(alpha=0.25)
    if axes.lines:
        axes.legend(fontsize=8)


def _liveliest(values: Array, most: int = _MOST_LINES) -> list[int]:
    """The columns that change most, in their order."""
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
    chosen = _liveliest(one.positions)
    _draw(axes, one.time, _parted(one.positions), one.dof_names, chosen)
    axes.set_title(_title("joint positions", len(chosen), len(one.dof_names)))
    axes.set_ylabel("position (rad or m)")


def _heights(axes: Axes, one: Trajectory, up: int) -> None:
    heights = one.body_poses[:, :, up]
    chosen = _liveliest(heights)
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
    axes.set_title("energy (potential counted from the start)")
    axes.set_xlabel("time (s)")
    axes.set_ylabel("energy (J)")


def _phase(axes: Axes, one: Trajectory) -> None:
    chosen = _liveliest(one.positions, 4)
    positions = _parted(one.positions)
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


def _parted(positions: Array) -> Array:
    """Positions with a gap where a rotation vector jumps by a turn, which is no motion and gets no line."""
    out = positions.copy()
    jumps = np.abs(np.diff(out, axis=0)) > _TURN
    out[1:][jumps] = np.nan
    return out


def _title(what: str, shown: int, total: int) -> str:
    return what if shown == total else f"{what}: the {shown} liveliest of {total}"


def _up(one: Trajectory) -> int:
    """The axis along which gravity pulls, as told by the run; z where it does not say."""
    gravity = one.meta.get("gravity", (0.0, 0.0, -9.81))
    strongest = int(np.argmax(np.abs(gravity)))
    return strongest if any(gravity) else 2
