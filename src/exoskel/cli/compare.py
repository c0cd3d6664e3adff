"""`exoskel compare`: the same world in several engines."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag, ReadFlags, read
from exoskel.cli.simulation_flags import Friction, Gravity, Limits, Step, WorldName, choose, prepare, show
from exoskel.diagnostics import has_errors
from exoskel.engines.preflight import preflight


def compare(
    file: Annotated[str, Parameter(help="The file; `-` is standard input.")],
    /,
    *,
    engines: Annotated[
        str, Parameter(help="Which ones, separated by commas: mujoco, warp, dart, ode.")
    ] = "mujoco,dart",
    time: Annotated[float, Parameter(help="How long to simulate, in s.")] = 1.0,
    step: Step = None,
    world: WorldName = None,
    gravity: Gravity = (),
    friction: Friction = None,
    limits: Limits = "file",
    plot: Annotated[str | None, Parameter(help="Draw the differences into this picture: .png, .svg or .pdf.")] = None,
    json: Annotated[Flag, Parameter(help="Print the figures as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Simulate a scene in several engines, and tell how far they are apart.

    Exit code 0: all of them ran. 1: they did, but the file has errors. 2: one could not.
    """
    scene = choose(read(file, flags), world)
    switched = prepare(scene, gravity, limits)
    from exoskel.simulate.compare import compare as side_by_side

    chosen = tuple(name.strip() for name in engines.split(","))
    if plot is not None:
        from exoskel.view.plots import check_picture

        check_picture(plot)
    for name in chosen:
        show(preflight(scene, name, limits=switched))
    with terminal.working("simulating"):
        found = side_by_side(scene, time, engines=chosen, step=step, limits=switched, friction=friction)
    if plot is not None:
        from exoskel.view.plots import plot_comparison

        plot_comparison(found, plot)
    failed = has_errors(scene.diagnostics)
    if json:
        terminal.write_json(found.as_dict())
        return int(failed)
    from rich.table import Table

    table = Table("engine", "wall time", "energy at the end", "most contacts", box=None, pad_edge=False)
    for track in found.tracks:
        table.add_row(
            track.engine, f"{track.seconds:.3g} s", f"{track.energy[-1].sum():.6g} J", str(max(track.contacts))
        )
    console = terminal.console()
    console.print(table)
    for gap in found.gaps:
        first, second = gap.engines
        console.print(
            f"{first} and {second}: bodies up to {gap.position_max:.2g} m apart (rms {gap.position_rms:.2g} m), "
            f"{gap.rotation_max:.2g} rad (rms {gap.rotation_rms:.2g}), coordinates {gap.coordinate_max:.2g}; "
            f"{first} at {gap.throughput_ratio:.3g} times the speed of {second}"
        )
    return int(failed)
