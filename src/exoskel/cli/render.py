"""`exoskel render`: a picture or a video of a scene, without a display."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag, ReadFlags, read
from exoskel.cli.simulation_flags import Engine, WorldName, choose
from exoskel.diagnostics import ExoskelError, printable

if TYPE_CHECKING:
    from exoskel.view.render import Drawn, Progress

Size = Annotated[str | None, Parameter(help="Width and height in pixels, as in 1280x720.")]


def render(
    file: Annotated[str, Parameter(help="The file; `-` is standard input.")],
    /,
    *,
    out: Annotated[str, Parameter(help="Where to draw: .png, .jpg, .webp, or a video as .mp4 or .gif.")],
    time: Annotated[
        float | None, Parameter(help="How long a video is, in s (5), or how far into the motion a picture is taken.")
    ] = None,
    size: Size = None,
    camera: Annotated[
        Literal["default", "front", "back", "left", "right", "top", "bottom"], Parameter(help="Where to look from.")
    ] = "default",
    rate: Annotated[float, Parameter(help="Pictures a second of a video.")] = 30.0,
    motion: Annotated[str | None, Parameter(help="Draw this .npz motion instead of simulating.")] = None,
    engine: Annotated[Engine, Parameter(help="What runs it; see `exoskel engines`.")] = "mujoco",
    world: WorldName = None,
    dark: Annotated[Flag, Parameter(help="On dark ground.")] = False,
    renderer: Annotated[
        Literal["auto", "mujoco", "software"],
        Parameter(help="What draws: MuJoCo, which needs EGL or OSMesa, or software alone; auto takes what works."),
    ] = "auto",
    flags: ReadFlags | None = None,
) -> int:
    """Draw a scene, or its motion, without a display or a browser.

    Exit code 0: it was drawn. 2: it could not be.
    """
    from exoskel.simulate.trajectory import Trajectory
    from exoskel.view.render import render as draw
    from exoskel.view.video import check_file

    check_file(out)
    pixels = pixels_of(size)
    if not (rate > 0.0 and rate <= 1000.0):
        raise ExoskelError(f"a video has up to 1000 pictures a second, not {rate:g}")
    scene = choose(read(file, flags), world)
    recorded = Trajectory.load(motion) if motion is not None else None
    with drawing() as progress:
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
    tell(drawn)
    print(printable(out))
    return 0


def tell(drawn: Drawn) -> None:
    """Say so if MuJoCo was to draw and could not, or if something is otherwise than it was asked for."""
    if drawn.reason:
        terminal.complain(f"drawn in software, since MuJoCo cannot draw here: {printable(drawn.reason)}")
    if drawn.note:
        terminal.complain(drawn.note)


def pixels_of(size: str | None) -> tuple[int, int] | None:
    """Width and height."""
    if size is None:
        return None
    found = re.fullmatch(r"(\d{1,5})[x×](\d{1,5})", size.strip())
    if not found:
        raise ExoskelError(f"a size is written like 1280x720, not {size!r}")
    return int(found[1]), int(found[2])


@contextmanager
def drawing() -> Iterator[Progress | None]:
    """A bar on a terminal; nothing in a pipe."""
    import sys

    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("drawing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Bar(*columns, console=terminal.console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
