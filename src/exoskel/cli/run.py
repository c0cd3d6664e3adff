"""`exoskel run`: simulate a scene."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from exoskel.cli import output
from exoskel.cli.reading import ReadFlags, read
from exoskel.diagnostics import ExoskelError, Severity, printable
from exoskel.scene.world import Scene, World

if TYPE_CHECKING:
    from exoskel.simulate.run import Progress
    from exoskel.simulate.trajectory import Trajectory

_EARTH = {"earth-y": (0.0, -9.81, 0.0), "earth-z": (0.0, 0.0, -9.81)}


def run(
    file: Annotated[str, Parameter(help="The file; `-` is standard input.")],
    /,
    *,
    time: Annotated[float, Parameter(help="How long to simulate, in s.")] = 5.0,
    step: Annotated[float | None, Parameter(help="Time step in s, instead of the file's.")] = None,
    integrator: Annotated[
        Literal["discrete", "euler", "rk4", "implicit", "implicitfast"],
        Parameter(help="`discrete` is DART's scheme; `rk4` for accuracy."),
    ] = "discrete",
    gravity: Annotated[
        tuple[str, ...],
        Parameter(
            help="Gravity in m/s²: three numbers, or earth-y or earth-z.", consume_multiple=True, show_default=False
        ),
    ] = (),
    limits: Annotated[
        Literal["file", "on", "off"], Parameter(help="Position limits of joints: as the file is read, on, or off.")
    ] = "file",
    out: Annotated[str | None, Parameter(help="Write the motion to this file: .npz, .csv or .parquet.")] = None,
    plot: Annotated[str | None, Parameter(help="Draw the motion into this picture: .png, .svg or .pdf.")] = None,
    flags: ReadFlags | None = None,
) -> int:
    """Simulate a scene on MuJoCo, and tell how it went.

    Exit code 0: it ran. 1: the file has errors, or the motion exploded. 2: it could not run.
    """
    scene = read(file, flags)
    world = scene.world
    _set_gravity(world, gravity)
    from exoskel.simulate.run import Diverged
    from exoskel.simulate.run import run as simulate

    switched = None if limits == "file" else limits == "on"
    failed = False
    try:
        with _bar(time) as progress:
            trajectory = simulate(world, time, step=step, integrator=integrator, limits=switched, progress=progress)
    except Diverged as problem:
        output.complain(str(problem))
        trajectory, failed = problem.trajectory, True
    trajectory.meta["gravity"] = list(world.gravity)
    _keep(trajectory, out, plot)
    _tell(scene, trajectory)
    return int(failed or any(d.severity is Severity.ERROR for d in scene.diagnostics))


def _set_gravity(world: World, words: tuple[str, ...]) -> None:
    if not words:
        if world.provenance("gravity") == "default" and not any(world.gravity):
            output.complain("the file states no gravity, so nothing falls; --gravity earth-z or earth-y sets it")
        return
    if len(words) == 1 and words[0] in _EARTH:
        world.gravity = _EARTH[words[0]]
        return
    try:
        x, y, z = (float(word) for word in words)
    except ValueError:
        raise ExoskelError("--gravity takes three numbers, earth-y or earth-z") from None
    world.gravity = (x, y, z)


def _keep(trajectory: Trajectory, out: str | None, plot: str | None) -> None:
    if out is not None:
        trajectory.save(out)
    if plot is not None:
        from exoskel.view.plots import plot as draw

        draw(trajectory, plot)


def _tell(scene: Scene, trajectory: Trajectory) -> None:
    from rich.markup import escape

    told = trajectory.meta["summary"]
    name = escape(printable(scene.source.name if scene.source else "scene"))
    factor = told["simulated"] / told["wall"] if told["wall"] else 0.0
    drift = told["energy_last"] - told["energy_first"]
    lines = [
        f"[bold]{name}[/]: {told['simulated']:.4g} s simulated in {told['wall']:.3g} s on MuJoCo"
        + (f", [green]{factor:.3g} times real time[/]" if factor else ""),
        f"energy {told['energy_first']:.6g} J → {told['energy_last']:.6g} J ({drift:+.3g} J); "
        f"at most {output.counted(told['most_contacts'], 'contact')} at once",
    ]
    if told["interrupted"]:
        lines.append("[yellow]interrupted[/]: what was simulated so far is kept")
    console = output.console()
    for line in lines:
        console.print(line)


@contextmanager
def _bar(duration: float) -> Iterator[Progress | None]:
    """A bar with simulated and wall time on a terminal; nothing in a pipe."""
    import sys

    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("simulating"), BarColumn(), TextColumn("{task.completed:.2f} of {task.total:g} s"))
    with Progress(*columns, TimeElapsedColumn(), console=output.console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=duration)
        yield lambda time: bar.update(task, completed=time)
