"""`exoskel run`: simulate a scene."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from exoskel.cli import output
from exoskel.cli.reading import ReadFlags, read
from exoskel.diagnostics import Diagnostic, ExoskelError, Severity, printable
from exoskel.engines.codes import CATALOGUE
from exoskel.engines.preflight import TITLES, NotRunnable, preflight
from exoskel.scene.joint import UNLIMITED
from exoskel.scene.world import Scene, World

if TYPE_CHECKING:
    from exoskel.simulate.run import Progress
    from exoskel.simulate.trajectory import Trajectory

Engine = Literal["mujoco", "dart", "ode"]
_MOST_SHOWN = 5
_EARTH = {"earth-y": (0.0, -9.81, 0.0), "earth-z": (0.0, 0.0, -9.81)}


def run(
    file: Annotated[str, Parameter(help="The file; `-` is standard input.")],
    /,
    *,
    time: Annotated[float, Parameter(help="How long to simulate, in s.")] = 5.0,
    engine: Annotated[
        Literal["mujoco", "dart", "ode"], Parameter(help="What runs it; see `exoskel engines`.")
    ] = "mujoco",
    step: Annotated[float | None, Parameter(help="Time step in s, instead of the file's.")] = None,
    integrator: Annotated[
        Literal["discrete", "euler", "rk4", "implicit", "implicitfast"] | None,
        Parameter(help="MuJoCo's: `discrete` is DART's scheme and the default; `rk4` for accuracy."),
    ] = None,
    gravity: Annotated[
        tuple[str, ...],
        Parameter(
            help="Gravity in m/s²: three numbers, or earth-y or earth-z.", consume_multiple=True, show_default=False
        ),
    ] = (),
    friction: Annotated[float | None, Parameter(help="Friction coefficient of all contacts; 1 if not given.")] = None,
    limits: Annotated[
        Literal["file", "on", "off"], Parameter(help="Position limits of joints: as the file is read, on, or off.")
    ] = "file",
    start: Annotated[str | None, Parameter(help="Go on from the last sample of this .npz motion.")] = None,
    out: Annotated[str | None, Parameter(help="Write the motion to this file: .npz, .csv or .parquet.")] = None,
    plot: Annotated[str | None, Parameter(help="Draw the motion into this picture: .png, .svg or .pdf.")] = None,
    flags: ReadFlags | None = None,
) -> int:
    """Simulate a scene, and tell how it went.

    Exit code 0: it ran. 1: the file has errors, or the motion exploded. 2: it could not run.
    """
    scene = read(file, flags)
    world = scene.world
    _set_gravity(world, gravity)
    if limits == "file":
        _tell_limits(scene)
    from exoskel.simulate.run import Diverged
    from exoskel.simulate.run import run as simulate
    from exoskel.simulate.trajectory import Trajectory

    failed = False
    try:
        with _bar(time) as progress:
            trajectory = simulate(
                scene,
                time,
                engine=engine,
                step=step,
                integrator=integrator,
                limits=None if limits == "file" else limits == "on",
                friction=friction,
                start=Trajectory.load(start) if start is not None else None,
                progress=progress,
            )
    except NotRunnable as problem:
        _show(problem.diagnostics)
        raise
    except Diverged as problem:
        output.complain(str(problem))
        trajectory, failed = problem.trajectory, True
        out = out or _replay_file(scene)
        output.complain(f"what was sound is kept in {printable(out)}; --start {printable(out)} goes on from its end")
    trajectory.meta["gravity"] = list(world.gravity)
    _show(preflight(scene, engine))
    _keep(trajectory, out, plot)
    _tell(scene, trajectory)
    return int(failed or any(d.severity is Severity.ERROR for d in scene.diagnostics))


def _show(findings: list[Diagnostic]) -> None:
    """What the engine does otherwise than the file says, on standard error; infos are for `exoskel.preflight`."""
    told = [d for d in findings if d.severity is not Severity.INFO]
    console = output.console(stderr=True)
    for one in told[:_MOST_SHOWN]:
        console.print(output.render(one, CATALOGUE.engine), soft_wrap=True)
    if len(told) > _MOST_SHOWN:
        output.complain(f"and {output.counted(len(told) - _MOST_SHOWN, 'more such note')}")


def _replay_file(scene: Scene) -> str:
    name = PurePath(scene.source.name if scene.source else "scene").stem
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.diverged.npz"


def _tell_limits(scene: Scene) -> None:
    """Where the two readings of a file lead to different motion, one line says so."""
    if scene.reading.format != "skel" or scene.reading.semantics != "written":
        return
    if any(dof.position_limits != UNLIMITED for joint in scene.world.joints() for dof in joint._dofs or ()):
        output.complain("joint limits hold; DART leaves them off after reading SKEL, as --limits off does here")


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
    engine = TITLES[trajectory.meta["engine"]]
    drift = told["energy_last"] - told["energy_first"]
    lines = [
        f"[bold]{name}[/]: {told['simulated']:.4g} s simulated in {told['wall']:.3g} s on {engine}"
        + (f", [green]{factor:.3g} times real time[/]" if factor else ""),
        f"energy {told['energy_first']:.6g} J → {told['energy_last']:.6g} J ({drift:+.3g} J); "
        f"at most {output.counted(told['most_contacts'], 'contact')} at once",
    ]
    if told["constraint_error"] > 0.0:
        lines.append(f"screws, loops and other constraints held to {told['constraint_error']:.2g} m or rad")
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
