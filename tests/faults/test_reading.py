"""Files that change or vanish while they are read, and engines that crash."""

from __future__ import annotations

import os
import signal
import threading
from functools import partial
from pathlib import Path
from stat import S_IFREG
from typing import Any

import pytest

import exoskel
from exoskel.engines import engine_process
from exoskel.engines.registry import ENGINES
from exoskel.source import file_access
from tests.support.xml import one_body


def test_a_file_may_change_while_it_is_read(tmp_path: Path) -> None:
    """Each load reads some version of the file, and nothing raises."""
    path = tmp_path / "scene.skel"
    sound = one_body("<!-- " + "x" * 100_000 + " -->").encode()
    path.write_bytes(sound)
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            with path.open("r+b") as file:
                file.truncate(len(sound) // 2)
                file.truncate(len(sound) * 2)
                file.seek(0)
                file.write(sound)
                file.truncate(len(sound))

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        for _ in range(200):
            scene = exoskel.load(path)
            assert scene.worlds or scene.diagnostics
            assert all(str(finding) for finding in scene.diagnostics)
    finally:
        stop.set()
        thread.join()
    path.write_bytes(sound)
    assert exoskel.load(path).diagnostics == []


def test_a_file_may_shrink_or_grow_between_size_check_and_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "scene.skel"
    path.write_bytes(b"x" * 1000)

    class Size:
        def __init__(self, size: int) -> None:
            self.st_size = size
            self.st_mode = S_IFREG

    real, own = os.fstat, path.stat().st_ino

    def fstat(descriptor: int, size: int) -> Any:
        found = real(descriptor)
        return Size(size) if found.st_ino == own else found  # finalizers of other objects use it, too

    for size in (0, 10, 1000, 10**9):
        monkeypatch.setattr(file_access.os, "fstat", partial(fstat, size=size))
        assert file_access.read_referenced(path, 5000) == b"x" * 1000
        assert len(file_access.read_referenced(path, 999)) == 1000


def test_a_mesh_file_may_vanish(tmp_path: Path) -> None:
    (tmp_path / "a.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    text = one_body(
        "<visualization_shape><geometry><mesh><file_name>a.obj</file_name><scale>1 1 1</scale></mesh></geometry>"
        "</visualization_shape>"
    )
    (tmp_path / "scene.skel").write_text(text)
    scene = exoskel.load(tmp_path / "scene.skel")
    (tmp_path / "a.obj").unlink()
    assert exoskel.load(tmp_path / "scene.skel").diagnostics[0].code == "SK063"
    exoskel.run(scene.world, duration=0.01)


class Echo:
    """A worker that answers, hangs or crashes on request."""

    SOURCE = """
import os, signal, sys, time
sys.path.insert(0, {src!r})
from exoskel.engines.engine_process import serve
def answer(request):
    if request.get("die"):
        os.kill(os.getpid(), signal.SIGSEGV)
    if request.get("hang"):
        time.sleep(1000)
    return {{"pid": os.getpid()}}
serve(answer)
"""


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> engine_process.EngineProcess:
    (tmp_path / "echo_worker.py").write_text(Echo.SOURCE.format(src=str(Path(exoskel.__file__).parents[1])))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return engine_process.EngineProcess("Echo", "echo_worker")


def test_an_engine_that_is_killed_is_an_error(worker: engine_process.EngineProcess) -> None:
    pid = worker.ask({})["pid"]
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(exoskel.ExoskelError, match="Echo failed: it crashed"):
        worker.ask({})
    with pytest.raises(exoskel.ExoskelError):
        worker.ask({})


def test_an_engine_that_crashes_is_an_error(worker: engine_process.EngineProcess) -> None:
    with pytest.raises(exoskel.ExoskelError, match="it crashed"):
        worker.ask({"die": True})


def test_an_engine_that_hangs_is_an_error(
    worker: engine_process.EngineProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(engine_process.SECONDS_VARIABLE, "1")
    with pytest.raises(exoskel.ExoskelError, match="no answer within 1 s"):
        worker.ask({"hang": True})


@pytest.mark.parametrize("engine", ["dart", "ode"])
def test_an_engine_killed_during_a_run_raises_with_the_samples_so_far(engine: str) -> None:
    """The error has the samples so far, as after a divergence."""
    if ENGINES[engine].version is None:
        pytest.skip(f"{engine} is not installed")

    def kill(simulation: exoskel.Simulation) -> None:
        if simulation.time > 0.05:
            os.kill(simulation.engine._child._child._process.pid, signal.SIGKILL)  # type: ignore[attr-defined]

    with pytest.raises(exoskel.DivergedError, match="it crashed") as caught:
        exoskel.run(exoskel.load("dart://sample/skel/pendulum.skel"), 1.0, engine=engine, controller=kill)
    trajectory = caught.value.trajectory
    assert 0.02 < trajectory.time[-1] < 0.2 and len(trajectory) > 1
