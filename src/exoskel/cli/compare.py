"""`exoskel compare`: simulate the same world with several engines."""

from __future__ import annotations

from typing import Annotated

from exoskel.cli import terminal
from exoskel.cli.parameters import Argument, positive
from exoskel.cli.read_flags import ReadFlags, read_scene
from exoskel.cli.simulation_flags import (
    Friction,
    Gravity,
    LimitMode,
    TimeStep,
    WorldName,
    prepare_world,
    print_warnings,
    select_world,
)
from exoskel.diagnostics import has_errors
from exoskel.engines.preflight import preflight


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
