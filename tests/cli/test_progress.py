"""Long work shows progress on a terminal, and nothing in a pipe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from exoskel.cli import terminal
from tests.support.terminals import Terminal
from tests.support.xml import one_body

SLOW = """
import time
import exoskel.cli.{module} as module
from exoskel.cli.main import run
original = module.{name}
def slow(*arguments, **options):
    time.sleep({seconds})
    return original(*arguments, **options)
module.{name} = slow
run()
"""
CASES = [
    ("flags", "load", ("check", "arm.skel"), "loading arm.skel"),
    ("flags", "load", ("info", "arm.skel"), "loading arm.skel"),
    ("diff", "diff_scenes", ("diff", "arm.skel", "arm.skel"), "comparing"),
    ("fmt", "format_file", ("fmt", "arm.skel"), "formatting arm.skel"),
    ("info", "summarize", ("info", "arm.skel"), "measuring"),
    ("run", "preflight", ("run", "arm.skel", "--time", "0.01"), "preparing"),
    ("rollout", "preflight", ("rollout", "arm.skel", "--worlds", "2", "--steps", "2"), "preparing"),
    ("run", "preflight", ("compare", "arm.skel", "--engines", "mujoco,mujoco", "--time", "0.01"), "preparing"),
    ("convert", "convert_scene", ("convert", "arm.skel", "arm.sdf"), "converting arm.skel"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "arm.skel").write_text(one_body())
    return tmp_path


def slow_command(module: str, name: str, arguments: tuple[str, ...], seconds: float) -> list[str]:
    return [sys.executable, "-c", SLOW.format(module=module, name=name, seconds=seconds), *arguments]


def on_terminal(command: list[str], folder: Path) -> str:
    """What a command that succeeds writes to standard error, which is a terminal."""
    terminal = Terminal(command, folder=folder, errors_only=True)
    shown = terminal.finish()
    assert terminal.process.returncode == 0, shown
    return shown


@pytest.mark.parametrize(("module", "name", "arguments", "shown"), CASES)
def test_slow_work_is_shown_on_a_terminal(
    folder: Path, module: str, name: str, arguments: tuple[str, ...], shown: str
) -> None:
    assert shown in on_terminal(slow_command(module, name, arguments, 2.5), folder)


def test_rendering_is_shown_before_the_first_frame(folder: Path) -> None:
    arguments = ("render", "arm.skel", "--out", "arm.png", "--size", "64x48", "--renderer", "software")
    assert "rendering" in on_terminal([sys.executable, "-m", "exoskel", *arguments], folder)


@pytest.mark.parametrize("arguments", [("check", "arm.skel"), ("info", "arm.skel"), ("fmt", "arm.skel")])
def test_quick_work_shows_nothing(folder: Path, arguments: tuple[str, ...]) -> None:
    """The spinner starts after a second; here it could start only after an hour."""
    script = "import exoskel.cli.terminal as t; t.NOTICEABLE = 3600; from exoskel.cli.main import run; run()"
    assert on_terminal([sys.executable, "-c", script, *arguments], folder) == ""


def test_nothing_is_shown_in_a_pipe(folder: Path) -> None:
    command = slow_command("flags", "load", ("check", "arm.skel"), 2.5)
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    assert (done.stderr, "loading" in done.stdout) == ("", False)


def test_a_check_of_many_files_shows_a_bar_and_no_spinner_inside(folder: Path) -> None:
    for number in range(25):
        (folder / f"arm{number}.skel").write_text(one_body())
    shown = on_terminal([sys.executable, "-m", "exoskel", "check", "."], folder)
    assert "checking" in shown and "/26" in shown and "loading" not in shown


def test_only_one_thing_is_shown_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with terminal._taken_display() as first, terminal._taken_display() as second:
        assert (first, second) == (True, False)
    with terminal._taken_display() as again:
        assert again


LATE = """
import exoskel.simulate.batch.rollout as batch
from exoskel.cli import rollout
original = batch.rollout
def simulate(scene, backend, compiling, **options):
    compiling(3, 7)
    return original(scene, **options)
batch.rollout = simulate
from exoskel.formats.load import load
rollout._run(load("arm.skel"), {"steps": 4, "worlds": 2, "backend": "gpu"})
"""


def test_the_compilation_of_kernels_is_shown_before_the_simulation(folder: Path) -> None:
    shown = on_terminal([sys.executable, "-c", LATE], folder)
    assert "compiling kernels, 3 of 7 modules" in shown
    assert shown.index("compiling kernels") < shown.rindex("simulating")
