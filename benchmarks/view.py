"""What a picture costs the viewer's server, as batched meshes and beside one node for each body; reloading; drawing."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.hand_built import boxes
from benchmarks.harness import Run, compare
from benchmarks.scenes import free_boxes
from benchmarks.table import Row, Table
from exoskel.samples import samples

if TYPE_CHECKING:
    from exoskel.view.render import Renderer
    from exoskel.view.surfaces import PoseRows

_PICTURES = 20
_SOON = 500.0
"""Milliseconds that a reload may take of the second in which the page shall show it."""
_INTERACTIVE = 1000.0 / 30
"""Milliseconds a picture may take at 30 a second; moving things should take a small part of it."""

_BODIES = 2_000
_FIRST_PICTURE, _IDLE, _PLAYING = 2.0, 0.01, 0.5
"""What the server may take: s of processor time for the first picture, with all imports, and fractions of a core."""


def measure(table: Table, quick: bool = False) -> None:
    if importlib.util.find_spec("viser") is None:
        table.note("viser is not installed: the viewer was not measured.")
        return
    for count in (1_000, 3_000):
        _move(table, count, 3 if quick else 9)
    walker = next(sample for sample in samples() if sample.name == "walker")
    _reload(table, "walker", walker.path.read_bytes())
    _reload(table, "1,000 boxes", free_boxes(1_000))
    _draw(table)
    _serve(table, walker.path.read_bytes(), free_boxes(_BODIES))


def _move(table: Table, count: int, pairs: int) -> None:
    from exoskel.view.browser_scene import BrowserScene
    from exoskel.view.page import Page
    from exoskel.view.render_scene import RenderScene

    page = Page(0)
    try:
        render_scene = RenderScene(boxes(count))
        browser_scene = BrowserScene(page.server, render_scene)
        nodes = [
            page.server.scene.add_box(f"/apart/{i}", dimensions=(0.2, 0.2, 0.2), visible=False) for i in range(count)
        ]
        poses = render_scene.initial.astype(np.float32)

        def apart() -> None:
            with page.server.atomic():
                for node, pose in zip(nodes, poses, strict=True):
                    node.position, node.wxyz = pose[:3], pose[3:]

        found = compare(_pictures(lambda: browser_scene.show(poses), poses), _pictures(apart, poses), pairs)
    finally:
        page.close()
    table.add(Row.of(f"moving {count:,} boxes in the viewer, over one node for each", found, bar=10.0))
    cost = float(np.median(found.ours)) * 1000
    table.add(Row.value(f"moving {count:,} boxes in the viewer, a picture", cost, "ms", 0.25 * _INTERACTIVE))


def _pictures(show, poses) -> Run:  # type: ignore[no-untyped-def]
    """Seconds for one picture, with everything somewhere else each time: what does not change is not sent."""

    def run() -> float:
        begin = time.perf_counter()
        for _ in range(_PICTURES):
            poses[:, 2] += 1e-3
            show()
        return (time.perf_counter() - begin) / _PICTURES

    return run


def _reload(table: Table, name: str, data: bytes) -> None:
    """From noticing a save, which takes up to 0.1 s, to the last message for the page."""
    from exoskel.formats.load import load
    from exoskel.view.viewer import Viewer

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scene.skel"
        file.write_bytes(data)
        viewer = Viewer(lambda: load(file), port=0)
        try:
            seconds = []
            for _ in range(7):
                begin = time.perf_counter()
                viewer.reload()
                seconds.append(time.perf_counter() - begin)
        finally:
            viewer.close()
    cost = float(np.median(seconds)) * 1000
    table.add(Row.value(f"reloading {name} in the viewer", cost, "ms", _SOON))


def _draw(table: Table) -> None:
    import exoskel
    from exoskel.view.camera import look_at
    from exoskel.view.gl_renderer import GlRenderer, NoRendererError
    from exoskel.view.render_scene import RenderScene
    from exoskel.view.software_renderer import SoftwareRenderer

    render_scene = RenderScene(exoskel.load("dart://sample/skel/walker.skel").world)
    poses = render_scene.initial.astype(np.float32)
    camera = look_at(render_scene.corners(), render_scene.up, aspect=16 / 9)
    painter = SoftwareRenderer(render_scene, camera, 960, 540)
    seconds = []
    for _ in range(5):
        begin = time.process_time()  # of one processor, whatever else the machine does
        painter.draw(poses)
        seconds.append(time.process_time() - begin)
    table.add(Row.value("drawing walker at 960 by 540 without a GPU, a picture", float(np.median(seconds)), "s", 1.0))
    try:
        other = GlRenderer(render_scene, camera, 960, 540)
    except NoRendererError as error:
        table.note(f"MuJoCo cannot draw here ({error}): only the software renderer was measured.")
        return
    with closing(other):
        found = compare(_drawing(other, poses), _drawing(painter, poses), 5)
    table.add(Row.of("drawing walker at 960 by 540 with MuJoCo, over the software renderer", found, bar=None))


def _drawing(artist: Renderer, poses: PoseRows) -> Run:
    def run() -> float:
        begin = time.perf_counter()
        artist.draw(poses)
        return time.perf_counter() - begin

    return run


_SERVER = """
import sys, time
import exoskel
from exoskel.view.viewer import Viewer

scene = exoskel.load(sys.argv[1])
motion = exoskel.run(scene, 0.6, every=1 / 300) if sys.argv[2] == "play" else None
viewer = Viewer(lambda: scene, port=0, watch=motion is None, recorded=motion)
viewer.start()
print(viewer.page.url, flush=True)
for line in sys.stdin:
    if line.strip() == "play":
        viewer.set_speed(0.1 if motion is not None else 1.0)
        viewer.submit(viewer.toggle)
    print(time.process_time(), flush=True)
viewer.close()
"""
"""A viewer of a file; it answers each line with its processor time."""


def _serve(table: Table, small: bytes, large: bytes) -> None:
    """The processor time of a server with one client, in a process of its own."""
    with _Server(small, "idle") as server:
        first = server.processor_time()
        time.sleep(5.0)
        idle = (server.processor_time() - first) / 5.0
    with _Server(large, "play") as server:
        begin = server.processor_time("play")
        time.sleep(5.0)
        playing = (server.processor_time() - begin) / 5.0
    with _Server(large, "simulate") as server:
        server.processor_time("play")
        time.sleep(5.0)  # starting the engine is not playing
        begin = server.processor_time()
        time.sleep(5.0)
        simulating = (server.processor_time() - begin) / 5.0
    table.add(Row.value("first picture of walker in the viewer, processor time", first, "s", _FIRST_PICTURE))
    table.add(Row.value("the viewer while nothing moves, of a core", idle, "", _IDLE))
    table.add(Row.value(f"the viewer playing a motion of {_BODIES:,} bodies, of a core", playing, "", _PLAYING))
    table.add(Row.value(f"the viewer simulating {_BODIES:,} free boxes, of a core", simulating, "", _PLAYING))


class _Server:
    """A server in a child process, and a client that reads all messages."""

    def __init__(self, data: bytes, what: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        file = Path(self._folder.name) / "scene.skel"
        file.write_bytes(data)
        self._process: Any = subprocess.Popen(
            [sys.executable, "-c", _SERVER, str(file), what], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> _Server:
        import viser
        from websockets.sync.client import connect

        url = self._process.stdout.readline().strip()
        origin = url.split("/?")[0]
        protocols: Any = [f"viser-v{viser.__version__}"]
        self._socket = connect(url.replace("http", "ws"), origin=origin, subprotocols=protocols, max_size=None)
        threading.Thread(target=lambda: [None for _ in self._socket], daemon=True).start()
        time.sleep(3.0)
        return self

    def processor_time(self, command: str = "time") -> float:
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def __exit__(self, *_: object) -> None:
        self._socket.close()
        self._process.stdin.close()
        self._process.wait(30)
        self._folder.cleanup()
