"""`exoskel view`: view a scene in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag, ReadFlags, between, not_negative, read_scene
from exoskel.cli.simulation_flags import EngineName, WorldName, select_world
from exoskel.diagnostics import ExoskelError, printable
from exoskel.engines.registry import ENGINES
from exoskel.scene.world import Scene

if TYPE_CHECKING:
    from exoskel.simulate.trajectory import Trajectory


def view(
    file: Annotated[str, Parameter(help="File to view.")],
    /,
    *,
    engine: Annotated[EngineName, Parameter(help="Physics engine; see `exoskel engines`.")] = "mujoco",
    world: WorldName = None,
    motion: Annotated[str | None, Parameter(help="Play this .npz motion instead of simulating.")] = None,
    port: Annotated[
        int, Parameter(help="Port of the page; if it is in use, the next free one.", validator=between(0, 65535))
    ] = 8080,
    dark: Annotated[Flag, Parameter(help="Start with the dark theme.")] = False,
    compare: Annotated[
        str | None, Parameter(help="Compare with another engine (mujoco, dart, ode) or another file.")
    ] = None,
    export: Annotated[
        str | None, Parameter(help="Write a self-contained .html page with the motion instead of serving one.")
    ] = None,
    time: Annotated[
        float, Parameter(help="Duration of the exported motion in s; 0 for no motion.", validator=not_negative)
    ] = 5.0,
    no_browser: Annotated[Flag, Parameter(help="Print the address without opening a browser.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """View a scene on a local web page: play, pose and inspect it. The page updates when you save the file.

    Exit code 0: it was closed with Ctrl-C. 2: it could not run.
    """
    from exoskel.simulate.trajectory import Trajectory
    from exoskel.view.viewer import Viewer

    recorded = Trajectory.load(motion) if motion is not None else None
    if export is not None:
        return _export(select_world(read_scene(file, flags), world), export, recorded, time, engine, dark)
    with terminal.spinner("loading"):
        viewer = Viewer(
            lambda: read_scene(file, flags),
            port=port,
            engine=engine,
            dark=dark,
            world=world,
            recorded=recorded,
            comparison=_comparison(compare, flags),
        )
    try:
        _print_address(viewer.page.url, viewer.page.port, open_browser=not no_browser)
        viewer.run()
    except KeyboardInterrupt:
        pass
    finally:
        viewer.close()
    return 0


def _comparison(name: str | None, flags: ReadFlags | None) -> tuple[str, Callable[[], Scene] | None] | None:
    if name is None:
        return None
    if name not in ENGINES:
        return name, lambda: read_scene(name, flags)
    if ENGINES[name].version is None:
        raise ExoskelError(f"{name} is not installed: {ENGINES[name].install}")
    return name, None


def _export(scene: Scene, path: str, motion: Trajectory | None, time: float, engine: str, dark: bool) -> int:
    from exoskel.simulate.run import run
    from exoskel.view.export import check_page
    from exoskel.view.export import export as write

    check_page(path)
    with terminal.spinner("writing the page"):
        if motion is None and time > 0.0 and scene.world.dof_count:
            motion = run(scene, time, engine=engine)
        write(scene, path, motion=motion, dark=dark)
    print(printable(path))
    return 0


def _print_address(url: str, port: int, *, open_browser: bool) -> None:
    import sys
    import webbrowser

    print(f"{url}  (press Ctrl-C to stop)")
    print(f"from another machine: run ssh -L {port}:localhost:{port} THIS_MACHINE, then open http://localhost:{port}")
    sys.stdout.flush()
    if open_browser:
        webbrowser.open(url)
