"""`exoskel.show`, notebooks, exported pages, and comparison in the viewer."""

from __future__ import annotations

import socket
import subprocess
import sys
import types
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("viser", reason="viser is not installed")

import viser
from websockets.sync.client import connect

import exoskel
from exoskel.diagnostics import ExoskelError
from exoskel.view.export import export
from tests.support.findings import load_text
from tests.view.conftest import Show
from tests.view.documents import RED, falling, pinned, world

BALL = world(falling("ball", "0 0 3", RED))


def test_a_scene_is_served_in_the_background() -> None:
    handle = exoskel.show(load_text(BALL), port=0, browser=False)
    try:
        assert urllib.request.urlopen(handle.url, timeout=10).status == 200
        assert handle.url in repr(handle)
    finally:
        handle.close()


def test_a_world_built_in_python_is_shown() -> None:
    made = exoskel.World()
    made.add_model("m").add_body("b", shapes=[exoskel.Box((1.0, 1.0, 1.0))])
    exoskel.show(made, port=0, browser=False).close()


def test_a_motion_from_a_file_needs_its_scene(tmp_path: Path) -> None:
    scene = load_text(BALL)
    motion = exoskel.run(scene, 0.1)
    exoskel.show(motion, port=0, browser=False).close()
    motion.save(tmp_path / "a.npz")
    read = exoskel.Trajectory.load(tmp_path / "a.npz")
    with pytest.raises(ExoskelError, match=r"show\(motion, scene\)"):
        exoskel.show(read, port=0, browser=False)
    exoskel.show(read, scene, port=0, browser=False).close()


def test_a_notebook_gets_a_page_that_needs_no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    class Shell:
        kernel = object()

    notebook = types.ModuleType("IPython")
    notebook.get_ipython = Shell  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    handle = exoskel.show(load_text(BALL))
    assert handle.url == ""
    html = handle._repr_html_()
    assert html.startswith("<iframe srcdoc=") and html.endswith("</iframe>")
    assert "__VISER_EMBED_DATA__" in html


def test_the_title_of_a_page_is_escaped(tmp_path: Path) -> None:
    scene = load_text(BALL)
    scene.world.name = "</title><script>alert(1)</script>"
    export(scene, tmp_path / "a.html")
    assert "<script>alert" not in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "message"), [("a.txt", "the extension must be"), ("nowhere/a.html", "the folder does not exist")]
)
def test_an_invalid_page_file_is_an_error(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ExoskelError, match=message):
        export(load_text(BALL), tmp_path / name)


def test_the_same_world_has_no_distance_to_its_ghost(show: Show) -> None:
    viewer, _ = show(BALL, comparison=("mujoco", None))
    viewer.submit(viewer.toggle)
    _wait(lambda: viewer.player.time > 0.3 and len(viewer.ghost.times) > 3)
    viewer.submit(viewer.toggle)
    _wait(lambda: not viewer.player.is_playing)
    assert viewer.ghost.player.time == pytest.approx(viewer.player.time, abs=2e-3)
    assert max(viewer.ghost.distances) < 0.02


def test_the_distance_between_two_scenes_is_measured(show: Show) -> None:
    other = world(falling("ball", "0 0.5 3", RED), pinned("more", "1 1 1", RED))
    viewer, _ = show(BALL, comparison=("other.skel", lambda: load_text(other)))
    assert viewer.ghost.gap(viewer.player.poses) == pytest.approx(0.5)
    viewer.submit(lambda: setattr(viewer.ghost._beside, "value", True))
    _wait(lambda: np.any(viewer.ghost._frame.position))


def test_an_engine_that_fails_in_the_comparison_does_not_stop_the_viewer(show: Show) -> None:
    viewer, _ = show(BALL, comparison=("nonsense", None))
    viewer.submit(viewer.toggle)
    _wait(lambda: viewer.player.time > 0.1)
    assert "nonsense" in viewer.ghost._text.content


def test_a_client_that_disconnects_during_a_message_is_handled(show: Show) -> None:
    viewer, _ = show(BALL)
    origin = f"http://127.0.0.1:{viewer.page.port}"
    protocol: Any = [f"viser-v{viser.__version__}"]
    viewer.submit(viewer.toggle)
    for _ in range(3):
        client = connect(origin.replace("http", "ws"), origin=origin, subprotocols=protocol)  # type: ignore[arg-type]
        client.recv(timeout=10)
        client.socket.shutdown(socket.SHUT_RDWR)  # without a closing handshake
        before = viewer.player.time
        _wait(lambda before=before: viewer.player.time > before)  # type: ignore[misc]
    with connect(origin.replace("http", "ws"), origin=origin, subprotocols=protocol) as other:  # type: ignore[arg-type]
        assert other.recv(timeout=10)
    assert viewer.player.is_playing and not error_text(viewer)


def test_actions_that_need_a_simulation_are_errors_for_a_recorded_motion(show: Show) -> None:
    motion = exoskel.run(load_text(BALL), 0.1)
    viewer, _ = show(BALL, recorded=motion)
    viewer.submit(lambda: viewer.set_layer("contacts", True))
    _wait(lambda: "has no contacts" in error_text(viewer))
    viewer.submit(lambda: viewer.pull.drag(viewer.player, "start", 0, np.zeros(3), np.ones(3)))
    _wait(lambda: "cannot be pulled" in error_text(viewer))


def test_pulling_while_paused_is_an_error(show: Show) -> None:
    viewer, _ = show(BALL)
    viewer.submit(lambda: viewer.pull.drag(viewer.player, "start", 0, np.zeros(3), np.ones(3)))
    _wait(lambda: "press Play" in error_text(viewer))


def error_text(viewer: Any) -> str:
    """The text of the box over the view."""
    return "" if viewer.panel._error_box is None else str(viewer.panel._error_box[1].content)


def _wait(holds) -> None:  # type: ignore[no-untyped-def]
    import time

    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_scenes_and_motions_display_themselves_in_a_notebook() -> None:
    scene = exoskel.load("dart://sample/skel/pendulum.skel")
    motion = exoskel.run(scene, 0.05)
    for shown in (scene, motion):
        html = shown._repr_html_()
        assert html.startswith("<iframe")
        assert "<table>" in html
    motion.scene = None
    assert motion._repr_html_().startswith("<table>")


def test_showing_and_exporting_print_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """viser prints its address and "Server stopped"."""
    scene = load_text(BALL)
    exoskel.show(scene, port=0, browser=False).close()
    export(scene, tmp_path / "a.html")
    assert scene._repr_html_()
    assert tuple(capfd.readouterr()) == ("", "")


def test_a_viewer_that_is_not_closed_prints_nothing_at_the_end() -> None:
    program = "import exoskel\nexoskel.show(exoskel.load('dart://sample/skel/pendulum.skel'), port=0, browser=False)\n"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert (ended.stdout, ended.stderr) == ("", "")


CELLS = (
    "import exoskel\nscene = exoskel.load('dart://sample/skel/pendulum.skel')\nscene",
    "exoskel.show(scene)",
    "motion = exoskel.run(scene, 0.05)\nexoskel.show(motion)",
    "from exoskel.view.viewer import Viewer\nviewer = Viewer(lambda: scene, port=0)\nviewer.start()\nviewer.close()",
)


def test_a_real_notebook_shows_pages_and_prints_nothing() -> None:
    client, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in CELLS])
    client.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    kinds = [[output.output_type for output in cell.outputs] for cell in notebook.cells]
    assert kinds == [["execute_result"]] * 3 + [[]]
    for cell in notebook.cells[:3]:
        assert cell.outputs[0].data["text/html"].startswith("<iframe")
