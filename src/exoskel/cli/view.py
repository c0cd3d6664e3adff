"""`exoskel view`: look at a scene in the browser."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from exoskel.cli import output
from exoskel.cli.reading import Flag, ReadFlags, read
from exoskel.cli.simulating import Engine, WorldName


def view(
    file: Annotated[str, Parameter(help="The file.")],
    /,
    *,
    engine: Annotated[Engine, Parameter(help="What runs it; see `exoskel engines`.")] = "mujoco",
    world: WorldName = None,
    motion: Annotated[str | None, Parameter(help="Show this .npz motion instead of simulating.")] = None,
    port: Annotated[int, Parameter(help="Port to serve the page at; the next free one if it is taken.")] = 8080,
    dark: Annotated[Flag, Parameter(help="Begin with a dark page.")] = False,
    no_browser: Annotated[Flag, Parameter(help="Only print the address.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Show a scene on a local page: look, play, pose, inspect; saving the file updates it.

    Exit code 0: it was closed with Ctrl-C. 2: it could not run.
    """
    from exoskel.simulate.trajectory import Trajectory
    from exoskel.view.viewer import Viewer

    recorded = Trajectory.load(motion) if motion is not None else None
    with output.working("reading"):
        viewer = Viewer(lambda: read(file, flags), port=port, engine=engine, dark=dark, world=world, recorded=recorded)
    try:
        _tell(viewer.page.url, viewer.page.port, open_it=not no_browser)
        viewer.run()
    except KeyboardInterrupt:
        pass
    finally:
        viewer.close()
    return 0


def _tell(url: str, port: int, *, open_it: bool) -> None:
    import sys
    import webbrowser

    print(f"{url}  (Ctrl-C ends it)")
    print(f"from another machine: ssh -L {port}:localhost:{port} THIS_MACHINE, then http://localhost:{port}")
    sys.stdout.flush()
    if open_it:
        webbrowser.open(url)
