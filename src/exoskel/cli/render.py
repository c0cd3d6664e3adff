"""`exoskel render`: render an image or a video of a scene, without a display."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag, ReadFlags, between, not_negative, read_scene
from exoskel.cli.simulation_flags import EngineName, WorldName, select_world
from exoskel.diagnostics import ExoskelError, printable
from exoskel.view.video import RATES

if TYPE_CHECKING:
    from exoskel.view.render import Progress, RenderResult

Size = Annotated[str | None, Parameter(help="Width and height in pixels, such as 1280x720.")]


def render(
    file: Annotated[str, Parameter(help="File to render; `-` is standard input.")],
    /,
    *,
    out: Annotated[str, Parameter(help="Image (.png, .jpg, .webp) or video (.mp4, .gif) to write.")],
    time: Annotated[
        float | None,
        Parameter(
            help="Video: duration in s (default 5). Image: simulated time in s (default 0).", validator=not_negative
        ),
    ] = None,
    size: Size = None,
    camera: Annotated[
        Literal["default", "front", "back", "left", "right", "top", "bottom"], Parameter(help="Viewpoint.")
    ] = "default",
    rate: Annotated[float, Parameter(help="Video frames per second.", validator=between(*RATES))] = 30.0,
    motion: Annotated[str | None, Parameter(help="Render this .npz motion instead of simulating.")] = None,
    engine: Annotated[EngineName, Parameter(help="Physics engine; see `exoskel engines`.")] = "mujoco",
    world: WorldName = None,
    dark: Annotated[Flag, Parameter(help="Use a dark background.")] = False,
    renderer: Annotated[
        Literal["auto", "mujoco", "software"],
        Parameter(help="Renderer: MuJoCo (needs EGL or OSMesa), software, or MuJoCo if it works (auto)."),
    ] = "auto",
    flags: ReadFlags | None = None,
) -> int:
    """Render a scene or its motion, without a display or a browser.

    Exit code 0: rendered. 2: it could not run.
    """
    from exoskel.simulate.trajectory import Trajectory
    from exoskel.view.render import render as draw
    from exoskel.view.video import check_image_file

    check_image_file(out)
    pixels = parse_size(size)
    scene = select_world(read_scene(file, flags), world)
    recorded = Trajectory.load(motion) if motion is not None else None
    with drawing_progress() as progress:
        drawn = draw(
            scene,
            out,
            motion=recorded,
            time=time,
            size=pixels,
            camera=camera,
            rate=rate,
            dark=dark,
            engine=engine,
            renderer=renderer,
            progress=progress,
        )
    print_notes(drawn)
    print(printable(out))
    return 0


def print_notes(drawn: RenderResult) -> None:
    """Report if the software renderer replaced MuJoCo, or if the result differs from the request."""
    if drawn.reason:
        terminal.print_message(f"using the software renderer; MuJoCo cannot render here: {printable(drawn.reason)}")
    if drawn.note:
        terminal.print_message(drawn.note)


def parse_size(size: str | None) -> tuple[int, int] | None:
    """Parse `1280x720` as width and height in pixels."""
    if size is None:
        return None
    found = re.fullmatch(r"(\d{1,5})[x×](\d{1,5})", size.strip())
    if not found:
        raise ExoskelError(f"invalid --size {size!r}: expected WIDTHxHEIGHT, such as 1280x720")
    return int(found[1]), int(found[2])


@contextmanager
def drawing_progress() -> Iterator[Progress | None]:
    """Show a progress bar on a terminal; yield None in a pipe."""
    import sys

    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("rendering"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=terminal.console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
