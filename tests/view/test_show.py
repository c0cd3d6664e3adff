"""Showing from Python, and holding one motion against another."""

from __future__ import annotations

import socket
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
    showing = exoskel.show(load_text(BALL), port=0, browser=False)
    try:
        assert urllib.request.urlopen(showing.url, timeout=10).status == 200
        assert showing.url in repr(showing)
    finally:
        showing.close()


def test_a_world_made_by_a_program_is_shown() -> None:
    made = exoskel.World()
    made.add_model("m").add_body("b", shapes=[exoskel.Box((1.0, 1.0, 1.0))])
    exoskel.show(made, port=0, browser=False).close()


def test_a_motion_knows_its_scene_until_it_comes_from_a_file(tmp_path: Path) -> None:
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
    showing = exoskel.show(load_text(BALL))
    assert showing.url == ""
    html = showing._repr_html_()
    assert html.startswith("<iframe srcdoc=") and html.endswith("</iframe>")
    assert "__VISER_EMBED_DATA__" in html


def test_the_title_of_a_page_is_no_markup(tmp_path: Path) -> None:
    scene = load_text(BALL)
    scene.world.name = "</title><script>alert(1)</script>"
    export(scene, tmp_path / "a.html")
    assert "<script>alert" not in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "message"), [("a.txt", "cannot be written as"), ("nowhere/a.html", "no folder")])
def test_a_page_that_cannot_be_written_is_told(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(ExoskelError, match=message):
        export(load_text(BALL), tmp_path / name)


def test_two_motions_of_the_same_world_stay_together(show: Show) -> None:
    viewer, _ = show(BALL, rival=("mujoco", None))
    viewer.ask(viewer.toggle)
    _wait(lambda: viewer.player.time > 0.3 and len(viewer.rival.times) > 3)
    viewer.ask(viewer.toggle)
    _wait(lambda: not viewer.player.is_playing)
    assert viewer.rival.player.time == pytest.approx(viewer.player.time, abs=2e-3)
    assert max(viewer.rival.distances) < 0.02


def test_two_scenes_are_as_far_apart_as_they_are(show: Show) -> None:
    other = world(falling("ball", "0 0.5 3", RED), pinned("more", "1 1 1", RED))
    viewer, _ = show(BALL, rival=("other.skel", lambda: load_text(other)))
    assert viewer.rival.gap(viewer.player.poses) == pytest.approx(0.5)
    viewer.ask(lambda: setattr(viewer.rival._beside, "value", True))
    _wait(lambda: np.any(viewer.rival._frame.position))


def test_an_engine_that_cannot_follow_is_a_message_and_the_viewer_goes_on(show: Show) -> None:
    viewer, _ = show(BALL, rival=("nonsense", None))
    viewer.ask(viewer.toggle)
    _wait(lambda: viewer.player.time > 0.1)
    assert "nonsense" in viewer.rival._told.content


def test_someone_who_vanishes_in_the_middle_of_a_message_does_no_harm(show: Show) -> None:
    viewer, _ = show(BALL)
    origin = f"http://127.0.0.1:{viewer.page.port}"
    protocol: Any = [f"viser-v{viser.__version__}"]
    viewer.ask(viewer.toggle)
    for _ in range(3):
        client = connect(origin.replace("http", "ws"), origin=origin, subprotocols=protocol)  # type: ignore[arg-type]
        client.recv(timeout=10)
        client.socket.shutdown(socket.SHUT_RDWR)  # without a word of farewell
        before = viewer.player.time
        _wait(lambda before=before: viewer.player.time > before)  # type: ignore[misc]
    with connect(origin.replace("http", "ws"), origin=origin, subprotocols=protocol) as other:  # type: ignore[arg-type]
        assert other.recv(timeout=10)
    assert viewer.player.is_playing and not told(viewer)


def test_what_a_recorded_motion_cannot_do_is_told(show: Show) -> None:
    motion = exoskel.run(load_text(BALL), 0.1)
    viewer, _ = show(BALL, recorded=motion)
    viewer.ask(lambda: viewer.set_layer("contacts", True))
    _wait(lambda: "holds no contacts" in told(viewer))
    viewer.ask(lambda: viewer._drag("start", 0, np.zeros(3), np.ones(3)))
    _wait(lambda: "can be pulled" in told(viewer))


def test_pulling_while_nothing_moves_is_told(show: Show) -> None:
    viewer, _ = show(BALL)
    viewer.ask(lambda: viewer._drag("start", 0, np.zeros(3), np.ones(3)))
    _wait(lambda: "press Play" in told(viewer))


def told(viewer: Any) -> str:
    """What the box over the picture says."""
    return "" if viewer.panel._trouble is None else str(viewer.panel._trouble[1].content)


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
        assert html is not None and html.startswith("<iframe")
    motion.scene = None
    assert motion._repr_html_() is None
