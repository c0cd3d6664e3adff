"""`exoskel view` and `exoskel render`: view a scene in the browser, or render an image or a video of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

from exoskel.cli import terminal
from exoskel.cli.flags import EngineName, ReadFlags, WorldName, read_motion, read_scene, select_world
from exoskel.cli.parameters import Argument, between, not_negative
from exoskel.diagnostics import ExoskelError, printable
from exoskel.engines.registry import ENGINES
from exoskel.scene.world import Scene
from exoskel.view.render import RATES

if TYPE_CHECKING:
    from exoskel.simulate.trajectory import Trajectory
    from exoskel.view.page import Page
    from exoskel.view.render import RenderResult


def view(
    file: Annotated[str, Argument(help="File to view.")],
    /,
    *,
    engine: Annotated[EngineName, Argument(help="Physics engine; see `exoskel engines`.")] = "mujoco",
    world: WorldName = None,
    motion: Annotated[str | None, Argument(help="Play this .npz motion instead of simulating.")] = None,
    port: Annotated[
        int, Argument(help="Port of the page; if it is in use, the next free one.", validator=between(0, 65535))
    ] = 8080,
    host: Annotated[
        str, Argument(help="Address to listen on, such as 0.0.0.0; other machines need the address with its token.")
    ] = "127.0.0.1",
    token: Annotated[bool, Argument(help="Require a token in the address, even on this machine only.")] = False,
    dark: Annotated[bool, Argument(help="Start with the dark theme.")] = False,
    compare: Annotated[
        str | None, Argument(help="Compare with another engine (mujoco, dart, ode) or another file.")
    ] = None,
    export: Annotated[
        str | None, Argument(help="Write a self-contained .html page with the motion instead of serving one.")
    ] = None,
    time: Annotated[
        float, Argument(help="Duration of the exported motion in s; 0 for no motion.", validator=not_negative)
    ] = 5.0,
    no_browser: Annotated[bool, Argument(help="Print the address without opening a browser.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """View a scene on a local web page: play, pose and inspect it. The page updates when you save the file.

    Exit code 0: it was closed with Ctrl-C. 2: it could not run.
    """
    from exoskel.view.viewer import Viewer

    if export is not None and compare is not None:
        raise ExoskelError("--compare cannot be combined with --export: an exported page shows one motion")
    recorded = read_motion(motion) if motion is not None else None
    if export is not None:
        return _export(select_world(read_scene(file, flags), world), export, recorded, time, engine, dark)
    with terminal.spinner("loading"):
        viewer = Viewer(
            lambda: read_scene(file, flags),
            port=port,
            host=host,
            with_token=token,
            engine=engine,
            dark=dark,
            world=world,
            recorded=recorded,
            comparison=_comparison(compare, flags),
        )
    try:
        _print_address(viewer.page, open_browser=not no_browser)
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
    from exoskel.simulate.simulation import run
    from exoskel.view.export import check_page
    from exoskel.view.export import export as write

    check_page(path)
    with terminal.spinner("writing the page"):
        if motion is None and time > 0.0 and scene.world.dof_count:
            motion = run(scene, time, engine=engine)
            if motion.meta["summary"]["interrupted"]:
                raise KeyboardInterrupt
        write(scene, path, motion=motion, dark=dark)
    print(printable(path))
    return 0


def _print_address(page: Page, *, open_browser: bool) -> None:
    import sys
    import webbrowser

    print(f"{page.url}  (press Ctrl-C to stop)")
    if page.is_local:
        port, path = page.port, f"/?token={page.token}" if page.token else ""
        print(
            f"from another machine: run ssh -L {port}:localhost:{port} THIS_MACHINE, "
            f"then open http://localhost:{port}{path}"
        )
    else:
        print("the connection is not encrypted: use it only in a network that you trust")
    sys.stdout.flush()
    if open_browser:
        webbrowser.open(page.url)


Size = Annotated[str | None, Argument(help="Width and height in pixels, such as 1280x720.")]


def render(
    file: Annotated[str, Argument(help="File to render; `-` is standard input.")],
    /,
    *,
    out: Annotated[str, Argument(help="Image (.png, .jpg, .webp) or video (.mp4, .gif) to write.")],
    time: Annotated[
        float | None,
        Argument(
            help="Video: duration in s (default 5). Image: simulated time in s (default 0).", validator=not_negative
        ),
    ] = None,
    size: Size = None,
    camera: Annotated[
        str, Argument(help="default, front, back, left, right, top, bottom, or the name of a camera of the file.")
    ] = "default",
    rate: Annotated[float, Argument(help="Video frames per second.", validator=between(*RATES))] = 30.0,
    motion: Annotated[str | None, Argument(help="Render this .npz motion instead of simulating.")] = None,
    engine: Annotated[EngineName, Argument(help="Physics engine; see `exoskel engines`.")] = "mujoco",
    world: WorldName = None,
    dark: Annotated[bool, Argument(help="Use a dark background.")] = False,
    renderer: Annotated[
        Literal["auto", "mujoco", "software"],
        Argument(help="Renderer: MuJoCo (needs EGL or OSMesa), software, or MuJoCo if it works (auto)."),
    ] = "auto",
    flags: ReadFlags | None = None,
) -> int:
    """Render a scene or its motion, without a display or a browser.

    Exit code 0: rendered. 2: it could not run.
    """
    from exoskel.view.render import check_image_file
    from exoskel.view.render import render as draw

    check_image_file(out)
    pixels = parse_size(size)
    scene = select_world(read_scene(file, flags), world)
    recorded = read_motion(motion) if motion is not None else None
    with terminal.frame_progress_bar("rendering") as progress:
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
