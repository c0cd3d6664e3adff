"""`exoskel run` and `exoskel compare`: simulate a scene with one engine, or with several."""

from __future__ import annotations

import itertools
import os
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Literal

from exoskel.cli import terminal
from exoskel.cli.flags import (
    Duration,
    EngineName,
    Friction,
    Gravity,
    LimitMode,
    ReadFlags,
    TimeStep,
    WorldName,
    prepare_world,
    print_warnings,
    read_motion,
    read_scene,
    select_world,
)
from exoskel.cli.parameters import Argument, positive
from exoskel.cli.terminal import StyledText, catch_stop_signals
from exoskel.diagnostics import has_errors, pluralize, printable
from exoskel.engines.preflight import preflight
from exoskel.engines.registry import engine_title
from exoskel.scene.world import Scene
from exoskel.source.convex_decomposition import decomposed

if TYPE_CHECKING:
    from exoskel.simulate.trajectory import Trajectory

ANIMATION, FRAMES = ".glb", 60.0
"""The extension of an animated glTF file, and its frames per second."""


def run(
    file: Annotated[str, Argument(help="File to simulate; `-` is standard input.")],
    /,
    *,
    time: Duration = 5.0,
    engine: Annotated[EngineName, Argument(help="Physics engine; see `exoskel engines`.")] = "mujoco",
    step: TimeStep = None,
    integrator: Annotated[
        Literal["discrete", "euler", "rk4", "implicit", "implicitfast"] | None,
        Argument(help="MuJoCo integrator: `discrete` (default) is DART's scheme; `rk4` is more accurate."),
    ] = None,
    world: WorldName = None,
    gravity: Gravity = (),
    friction: Friction = None,
    limits: LimitMode = "file",
    decompose: Annotated[bool, Argument(help="Replace concave meshes that collide with convex parts (CoACD).")] = False,
    start: Annotated[str | None, Argument(help="Continue from the last sample of this .npz motion.")] = None,
    out: Annotated[
        str | None,
        Argument(help="Write the motion to this file: .npz, .csv, .parquet, or .glb (an animation)."),
    ] = None,
    plot: Annotated[str | None, Argument(help="Plot the motion to this file: .png, .svg or .pdf.")] = None,
    video: Annotated[str | None, Argument(help="Render the motion to this video: .mp4 or .gif.")] = None,
    json: Annotated[bool, Argument(help="Print the summary as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Simulate a scene and print a summary.

    Exit code 0: it ran. 1: the file has errors, or the simulation diverged. 2: it could not run. 130, 143 and 129: it
    was interrupted by Ctrl-C, SIGTERM or SIGHUP; the samples recorded so far are saved.
    """
    scene = select_world(read_scene(file, flags), world)
    limits_enabled = prepare_world(scene, gravity, limits)
    _check_outputs(out, plot, video)
    with terminal.spinner("preparing", after=terminal.NOTICEABLE):
        simulated = decomposed(scene) if decompose else scene
        warnings = preflight(simulated, engine, limits=limits_enabled, integrator=integrator)
    print_warnings(warnings)
    from exoskel.simulate.measured_world import DivergedError
    from exoskel.simulate.simulation import run as simulate

    diverged: str | None = None
    try:
        with (
            catch_stop_signals() as stop,
            terminal.progress_bar("simulating", "{task.completed:.2f} of {task.total:g} s", time) as progress,
        ):
            trajectory = simulate(
                scene,
                time,
                engine=engine,
                step=step,
                integrator=integrator,
                limits=limits_enabled,
                friction=friction,
                decompose=decompose,
                start=read_motion(start) if start is not None else None,
                progress=progress,
                warn=False,
            )
    except DivergedError as problem:
        terminal.print_message(str(problem))
        trajectory, diverged = problem.trajectory, str(problem)
        out = out or replay_file(scene)
        terminal.print_message(
            f"the valid samples are saved in {printable(out)}; continue from the last one with --start {printable(out)}"
        )
    trajectory.meta["gravity"] = list(scene.world.gravity)
    with terminal.spinner("saving", after=terminal.NOTICEABLE):
        _save(scene, trajectory, out, plot)
    if video is not None:
        _render_video(scene, trajectory, video)
    if json:
        files = {"diverged": diverged, "out": out, "plot": plot, "video": video}
        terminal.write_json(_summary_dict(scene, trajectory) | files)
    else:
        _print_summary(scene, trajectory)
    if trajectory.meta["summary"]["interrupted"]:
        return stop.code
    return int(diverged is not None or has_errors(scene.diagnostics))


def _check_outputs(out: str | None, plot: str | None, video: str | None) -> None:
    """Check before the run that the output files can be written."""
    from exoskel.simulate.trajectory import EXTENSIONS, check_target

    if out is not None:
        check_target(out, (*EXTENSIONS, ANIMATION))
    if plot is not None:
        from exoskel.view.plots import check_plot_file

        check_plot_file(plot)
    if video is not None:
        from exoskel.view.render import VIDEO_EXTENSIONS, check_image_file

        check_image_file(video, VIDEO_EXTENSIONS)


def _render_video(scene: Scene, trajectory: Trajectory, video: str) -> None:
    from exoskel.cli.view import print_notes
    from exoskel.view.render import render

    with terminal.frame_progress_bar("rendering") as progress:
        drawn = render(scene, video, motion=trajectory, progress=progress)
    print_notes(drawn)


def replay_file(scene: Scene) -> str:
    """A file for the valid samples that does not exist yet."""
    name = PurePath(scene.source.name if scene.source else "scene").stem
    plain = f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.diverged"
    names = itertools.chain([f"{plain}.npz"], (f"{plain}_{number}.npz" for number in itertools.count(2)))
    return next(name for name in names if not os.path.lexists(name))


def _save(scene: Scene, trajectory: Trajectory, out: str | None, plot: str | None) -> None:
    if out is not None and PurePath(out).suffix.lower() == ANIMATION:
        from exoskel.view.render import animate

        animate(scene, trajectory, out, rate=FRAMES)
    elif out is not None:
        trajectory.save(out)
    if plot is not None:
        from exoskel.view.plots import plot as draw

        draw(trajectory, plot)


def _summary_dict(scene: Scene, trajectory: Trajectory) -> dict[str, object]:
    summary = trajectory.meta["summary"]
    names = ("energy_first", "energy_last", "most_contacts", "constraint_error", "interrupted")
    return {
        "file": scene.source.name if scene.source else "scene",
        "engine": trajectory.meta["engine"],
        "simulated": summary["simulated"],
        "wall": summary["wall"],
        "real_time_factor": summary["simulated"] / summary["wall"] if summary["wall"] else None,
        "samples": len(trajectory.time),
        **{name: summary[name] for name in names},
    }


def _print_summary(scene: Scene, trajectory: Trajectory) -> None:
    summary = trajectory.meta["summary"]
    factor = summary["simulated"] / summary["wall"] if summary["wall"] else 0.0
    engine = engine_title(trajectory.meta["engine"])
    drift = summary["energy_last"] - summary["energy_first"]
    text = StyledText(printable(scene.source.name if scene.source else "scene"), "bold")
    text.append(f": {summary['simulated']:.4g} s simulated in {summary['wall']:.3g} s on {engine}")
    if factor:
        text.append(" (")
        text.append(f"{factor:.3g} times real time", "green")
        text.append(")")
    text.append(
        f"\nenergy {summary['energy_first']:.6g} J → {summary['energy_last']:.6g} J ({drift:+.3g} J); "
        f"at most {pluralize(summary['most_contacts'], 'contact')}"
    )
    if summary["constraint_error"] > 0.0:
        text.append(f"\nlargest constraint error (loops, screws, ...): {summary['constraint_error']:.2g} m or rad")
    if summary["interrupted"]:
        text.append("\n")
        text.append("interrupted", "yellow")
        text.append(": the result contains the samples recorded so far")
    terminal.print_text(text)


def compare(
    file: Annotated[str, Argument(help="File to simulate; `-` is standard input.")],
    /,
    *,
    engines: Annotated[
        str, Argument(help="Engines to compare, separated by commas: mujoco, warp, dart, ode.")
    ] = "mujoco,dart",
    time: Annotated[float, Argument(help="Simulated time in s.", validator=positive)] = 1.0,
    step: TimeStep = None,
    world: WorldName = None,
    gravity: Gravity = (),
    friction: Friction = None,
    limits: LimitMode = "file",
    plot: Annotated[str | None, Argument(help="Plot the differences to this file: .png, .svg or .pdf.")] = None,
    json: Annotated[bool, Argument(help="Print the results as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Simulate a scene with several engines and report how far the results differ.

    Exit code 0: all engines ran. 1: they ran, but the file has errors. 2: an engine could not run.
    """
    scene = select_world(read_scene(file, flags), world)
    limits_enabled = prepare_world(scene, gravity, limits)
    from exoskel.simulate.compare import compare as compare_engines

    names = tuple(name.strip() for name in engines.split(","))
    if plot is not None:
        from exoskel.view.plots import check_plot_file

        check_plot_file(plot)
    for name in names:
        with terminal.spinner("preparing", after=terminal.NOTICEABLE):
            warnings = preflight(scene, name, limits=limits_enabled)
        print_warnings(warnings)
    with terminal.spinner("simulating"):
        comparison = compare_engines(
            scene, time, engines=names, step=step, limits=limits_enabled, friction=friction, warn=False
        )
    if plot is not None:
        from exoskel.view.plots import plot_comparison

        plot_comparison(comparison, plot)
    failed = has_errors(scene.diagnostics)
    if json:
        terminal.write_json(comparison.as_dict())
        return int(failed)
    from rich.table import Table

    table = Table("engine", "wall time", "final energy", "max contacts", box=None, pad_edge=False)
    for track in comparison.tracks:
        energy = f"{track.energy[-1].sum():.6g} J" + ("" if track.has_skin_energy else " without soft skins")
        table.add_row(track.engine, f"{track.seconds:.3g} s", energy, str(max(track.contacts)))
    console = terminal.console()
    console.print(table)
    for gap in comparison.gaps:
        first, second = gap.engines
        console.print(
            f"{first} vs {second}: positions differ by up to {gap.position_max:.2g} m (rms {gap.position_rms:.2g} m), "
            f"rotations by {gap.rotation_max:.2g} rad (rms {gap.rotation_rms:.2g} rad), "
            f"joint coordinates by {gap.coordinate_max:.2g}; "
            f"{first} runs at {gap.throughput_ratio:.3g} times the speed of {second}"
        )
    return int(failed)
