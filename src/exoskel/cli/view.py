"""`exoskel view`: look at a scene in the browser."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag, ReadFlags, read
from exoskel.cli.simulation_flags import Engine, WorldName, choose
from exoskel.diagnostics import ExoskelError, printable
from exoskel.engines.registry import ENGINES
from exoskel.scene.world import Scene

if TYPE_CHECKING:
    from exoskel.simulate.trajectory import Trajectory


def view(
    file: Annotated[str, Parameter(help="The file.")],
    /,
    *,
    engine: Annotated[Engine, Parameter(help="What runs it; see `exoskel engines`.")] = "mujoco",
    world: WorldName = None,
    motion: Annotated[str | None, Parameter(help="Show this .npz motion instead of simulating.")] = None,
    port: Annotated[int, Parameter(help="Port to serve the page at; the next free one if it is taken.")] = 8080,
    dark: Annotated[Flag, Parameter(help="Begin with a dark page.")] = False,
    compare: Annotated[
        str | None, Parameter(help="Hold it against another engine (mujoco, dart, ode), or another file.")
    ] = None,
    export: Annotated[
        str | None, Parameter(help="Write one self-contained .html page instead of serving, with its motion.")
    ] = None,
    time: Annotated[float, Parameter(help="How long the motion of an exported page is, in s; 0 for none.")] = 5.0,
    no_browser: Annotated[Flag, Parameter(help="Only print the address.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Show a scene on a local page: look, play, pose, inspect; saving the file updates it.

    Exit code 0: it was closed with Ctrl-C. 2: it could not run.
    """
    from exoskel.simulate.trajectory import Trajectory
    from exoskel.view.viewer import Viewer

    recorded = Trajectory.load(motion) if motion is not None else None
    if export is not None:
        return _export(choose(read(file, flags), world), export, recorded, time, engine, dark)
    with terminal.working("reading"):
        viewer = Viewer(
            lambda: read(file, flags),
            port=port,
            engine=engine,
            dark=dark,
            world=world,
            recorded=recorded,
            rival=_rival(compare, flags),
        )
    try:
        _tell(viewer.page.url, viewer.page.port, open_it=not no_browser)
        viewer.run()
    except KeyboardInterrupt:
        pass
    finally:
        viewer.close()
    return 0


def _rival(name: str | None, flags: ReadFlags | None) -> tuple[str, Callable[[], Scene] | None] | None:
    if name is None:
        return None
    if name not in ENGINES:
        return name, lambda: read(name, flags)
    if ENGINES[name].version is None:
        raise ExoskelError(f"{name} is not installed: {ENGINES[name].install}")
    return name, None


def _export(scene: Scene, path: str, motion: Trajectory | None, time: float, engine: str, dark: bool) -> int:
    from exoskel.simulate.run import run
    from exoskel.view.export import check_page
    from exoskel.view.export import export as write

    check_page(path)
    if not (isfinite(time) and time >= 0.0):
        raise ExoskelError(f"a duration has to be finite and not negative, not {time}")
    with terminal.working("writing the page"):
        if motion is None and time > 0.0 and scene.world.dof_count:
            motion = run(scene, time, engine=engine)
        write(scene, path, motion=motion, dark=dark)
    print(printable(path))
    return 0


def _tell(url: str, port: int, *, open_it: bool) -> None:
    import sys
    import webbrowser

    print(f"{url}  (Ctrl-C ends it)")
    print(f"from another machine: ssh -L {port}:localhost:{port} THIS_MACHINE, then http://localhost:{port}")
    sys.stdout.flush()
    if open_it:
        webbrowser.open(url)
