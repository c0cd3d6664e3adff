"""What a picture costs the viewer's server, as batched meshes and beside one node for each body; reloading; drawing."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.harness import Run, compare
from benchmarks.scenes import free_boxes
from benchmarks.simulate import boxes
from benchmarks.table import Row, Table
from exoskel.samples import samples

if TYPE_CHECKING:
    from exoskel.view.render import Renderer
    from exoskel.view.render_scene import PoseRows

_PICTURES = 20
_SOON = 500.0
"""Milliseconds that a reload may take of the second in which the page shall show it."""
_INTERACTIVE = 1000.0 / 30
"""Milliseconds a picture may take at 30 a second; moving things should take a small part of it."""


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
