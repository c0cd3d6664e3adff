"""`exoskel run`: simulate a scene."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.interrupts import stopping
from exoskel.cli.read_flags import ReadFlags, read
from exoskel.cli.simulation_flags import Friction, Gravity, Limits, Step, WorldName, choose, prepare, show
from exoskel.diagnostics import has_errors, printable
from exoskel.engines.preflight import TITLES, preflight
from exoskel.scene.world import Scene

if TYPE_CHECKING:
    from exoskel.simulate.trajectory import Trajectory

ANIMATION, FRAMES = ".glb", 60.0
"""A motion to be played, and its pictures a second."""


def run(
    file: Annotated[str, Parameter(help="The file; `-` is standard input.")],
    /,
    *,
    time: Annotated[float, Parameter(help="How long to simulate, in s.")] = 5.0,
    engine: Annotated[
        Literal["mujoco", "dart", "ode"], Parameter(help="What runs it; see `exoskel engines`.")
    ] = "mujoco",
    step: Step = None,
    integrator: Annotated[
        Literal["discrete", "euler", "rk4", "implicit", "implicitfast"] | None,
        Parameter(help="MuJoCo's: `discrete` is DART's scheme and the default; `rk4` for accuracy."),
    ] = None,
    world: WorldName = None,
    gravity: Gravity = (),
    friction: Friction = None,
    limits: Limits = "file",
    start: Annotated[str | None, Parameter(help="Go on from the last sample of this .npz motion.")] = None,
    out: Annotated[
        str | None, Parameter(help="Write the motion to this file: .npz, .csv, .parquet; or .glb, to be played.")
    ] = None,
    plot: Annotated[str | None, Parameter(help="Draw the motion into this picture: .png, .svg or .pdf.")] = None,
    video: Annotated[str | None, Parameter(help="Draw the motion into this video: .mp4 or .gif.")] = None,
    flags: ReadFlags | None = None,
) -> int:
    """Simulate a scene, and tell how it went.

    Exit code 0: it ran. 1: the file has errors, or the motion exploded. 2: it could not run. 130 and 143: it was
    interrupted by Ctrl-C or SIGTERM, and what was simulated so far is kept.
    """
    scene = choose(read(file, flags), world)
    switched = prepare(scene, gravity, limits)
    _check_outputs(out, plot, video)
    found = preflight(scene, engine, limits=switched)
    show(found)
    from exoskel.simulate.run import DivergedError
    from exoskel.simulate.run import run as simulate
    from exoskel.simulate.trajectory import Trajectory

    failed = False
    try:
        with (
            stopping() as stop,
            terminal.progress("simulating", "{task.completed:.2f} of {task.total:g} s", time) as progress,
        ):
            trajectory = simulate(
                scene,
                time,
                engine=engine,
                step=step,
                integrator=integrator,
                limits=switched,
                friction=friction,
                start=Trajectory.load(start) if start is not None else None,
                progress=progress,
            )
    except DivergedError as problem:
        terminal.complain(str(problem))
        trajectory, failed = problem.trajectory, True
        out = out or _replay_file(scene)
        terminal.complain(f"what was sound is kept in {printable(out)}; --start {printable(out)} goes on from its end")
    trajectory.meta["gravity"] = list(scene.world.gravity)
    _keep(scene, trajectory, out, plot)
    if video is not None:
        _draw(scene, trajectory, video)
    _tell(scene, trajectory)
    if trajectory.meta["summary"]["interrupted"]:
        return stop.code
    return int(failed or has_errors(scene.diagnostics))


def _check_outputs(out: str | None, plot: str | None, video: str | None) -> None:
    """What could not be written is told before the run, not after it."""
    from exoskel.simulate.trajectory import ENDINGS, check_target

    if out is not None:
        check_target(out, (*ENDINGS, ANIMATION))
    if plot is not None:
        from exoskel.view.plots import check_picture

        check_picture(plot)
    if video is not None:
        from exoskel.view.video import MOVING, check_file

        check_file(video, MOVING)


def _draw(scene: Scene, trajectory: Trajectory, video: str) -> None:
    from exoskel.cli.render import drawing, tell
    from exoskel.view.render import render

    with drawing() as progress:
        drawn = render(scene, video, motion=trajectory, progress=progress)
    tell(drawn)


def _replay_file(scene: Scene) -> str:
    name = PurePath(scene.source.name if scene.source else "scene").stem
    return f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.diverged.npz"


def _keep(scene: Scene, trajectory: Trajectory, out: str | None, plot: str | None) -> None:
    if out is not None and PurePath(out).suffix.lower() == ANIMATION:
        from exoskel.simulate.animation import animate

        animate(scene, trajectory, out, rate=FRAMES)
    elif out is not None:
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
        f"at most {terminal.counted(told['most_contacts'], 'contact')} at once",
    ]
    if told["constraint_error"] > 0.0:
        lines.append(f"screws, loops and other constraints held to {told['constraint_error']:.2g} m or rad")
    if told["interrupted"]:
        lines.append("[yellow]interrupted[/]: what was simulated so far is kept")
    console = terminal.console()
    for line in lines:
        console.print(line)
