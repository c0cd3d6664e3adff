"""Trouble around a command: full disks, missing folders, signals, processes that are stopped, odd settings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import exoskel
from exoskel.cli.main import main
from exoskel.engines.engine_process import EngineProcess
from exoskel.formats.file_search import scene_files
from exoskel.source.atomic_write import WriteError, check_writable, make_folder, write_atomically
from tests.support.xml import one_body


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scene.skel"
    path.write_text(one_body())
    return path


def _command(*arguments: str | Path, script: str = '"$@"', **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the command in a shell script, in which `"$@"` is the command with its arguments."""
    command = [sys.executable, "-c", "from exoskel.cli.main import run; run()", *map(str, arguments)]
    return subprocess.run(
        ["bash", "-c", script, "bash", *command], capture_output=True, text=True, check=False, timeout=300, **options
    )


# --- standard output -----------------------------------------------------------------------------------


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is always full")
@pytest.mark.parametrize(
    "arguments",
    ["check", "check --json", "check --sarif", "info", "info --json", "fmt --check", "fmt --diff", "run --time 0.01",
     "diff", "samples", "schema skel", "describe joint", "explain SK024", "engines", "--help", "--version"],
)  # fmt: skip
def test_standard_output_on_a_full_disk_is_an_error(file: Path, arguments: str) -> None:
    command, *options = arguments.split()
    files = {"diff": [file, file]}.get(command, [file] if command in ("check", "info", "fmt", "run") else [])
    done = _command(command, *files, *options, script='"$@" > /dev/full')
    assert done.returncode == 2
    assert done.stderr == "exoskel: cannot write to standard output: no space left on device\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("arguments", [["check", "missing.skel"], ["check"], ["unknown"], ["run", "missing.skel"]])
def test_standard_error_on_a_full_disk_does_not_change_the_exit_code(
    arguments: list[str], unbuffered: str, tmp_path: Path
) -> None:
    surroundings = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = _command(*arguments, script='"$@" 2> /dev/full', cwd=tmp_path, env=surroundings)
    assert done.returncode == 2


# --- folders -------------------------------------------------------------------------------------------


OUTPUTS = {
    "convert": ("convert", "{file}", "{out}/scene.sdf"),
    "convert a folder": ("convert", "{folder}", "{out}", "--to", "sdf"),
    "samples": ("samples", "--copy", "{out}"),
    "trajectory": ("run", "{file}", "--time", "0.01", "--out", "{out}/motion.npz"),
    "plot": ("run", "{file}", "--time", "0.01", "--plot", "{out}/motion.png"),
    "rollout": ("rollout", "{file}", "--worlds", "2", "--time", "0.01", "--out", "{out}/"),
    "image": ("render", "{file}", "--out", "{out}/scene.png"),
    "page": ("view", "{file}", "--export", "{out}/scene.html"),
    "schema": ("schema", "skel", "--out", "{out}/skel.xsd"),
}


@pytest.mark.parametrize("below", ["", "/below"])
@pytest.mark.parametrize("name", OUTPUTS)
def test_a_file_where_a_folder_is_needed_is_an_error(
    file: Path, name: str, below: str, capsys: pytest.CaptureFixture[str]
) -> None:
    obstacle = file.parent / "obstacle"
    obstacle.touch()
    out = f"{obstacle}{below}"
    assert main([part.format(file=file, folder=file.parent, out=out) for part in OUTPUTS[name]]) in (1, 2)
    shown = "".join(capsys.readouterr())
    assert f"{str(obstacle)!r} is not a folder" in shown.replace("\n", " ")
    assert "Errno" not in shown


def test_a_missing_folder_is_named_as_the_reason(tmp_path: Path) -> None:
    for check in (check_writable, lambda path: write_atomically(path, b"")):
        with pytest.raises(WriteError, match="the folder does not exist"):
            check(tmp_path / "none" / "file")
    with pytest.raises(WriteError, match="it is a folder"):
        check_writable(tmp_path)
    make_folder(tmp_path / "none")
    make_folder(tmp_path / "none")
    check_writable(tmp_path / "none" / "file")


def test_a_folder_that_vanishes_is_left_out_of_a_conversion(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vanishing = file.parent / "vanishing"
    vanishing.mkdir()
    own = os.scandir

    def scandir(path: Any) -> Any:
        if Path(path) == vanishing:
            vanishing.rmdir()
        return own(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert scene_files(file.parent) == [file]
    assert not vanishing.exists()


DELETED = 'mkdir deleted; cd deleted; rmdir ../deleted; "$@"'


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "scene.skel"),
        ("fmt", "scene.skel"),
        ("check", "-"),
        ("convert", "{file}", "out.sdf"),
        ("convert", "{folder}", "out", "--to", "sdf"),
        ("convert", ".", "{folder}/out", "--to", "sdf"),
        ("run", "{file}", "--time", "0.01", "--out", "motion.npz"),
        ("render", "{file}", "--out", "scene.png"),
        ("view", "{file}", "--export", "scene.html"),
        ("schema", "skel", "--out", "skel.xsd"),
        ("samples", "--copy", "here"),
    ],
    ids=" ".join,
)
def test_a_deleted_working_folder_is_an_error(file: Path, arguments: tuple[str, ...]) -> None:
    filled = [one.format(file=file, folder=file.parent) for one in arguments]
    done = _command(*filled, script=DELETED, cwd=file.parent, stdin=subprocess.DEVNULL)
    assert done.returncode in (1, 2)
    assert "the working folder no longer exists" in done.stdout + done.stderr
    assert "internal error" not in done.stderr and "Errno" not in done.stdout + done.stderr


def test_absolute_paths_need_no_working_folder(file: Path) -> None:
    for arguments in (("check", file), ("convert", file, file.with_suffix(".sdf"))):
        assert _command(*arguments, script=DELETED, cwd=file.parent).returncode == 0


# --- processes -----------------------------------------------------------------------------------------


PARENT = """
import sys, time
from exoskel.source.child_process import ChildProcess
child = ChildProcess("exoskel.engines.ode.worker")
print(child._process.pid, flush=True)
sys.stdin.read()
"""


def _ends(process: int, seconds: float) -> bool:
    """Whether a process ends in some time; a process that has ended may wait for its new parent."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except FileNotFoundError:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="the system does not list processes there")
def test_a_stopped_child_ends_with_its_parent() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    os.kill(child, signal.SIGSTOP)
    try:
        assert not _ends(child, 0.5), "it is stopped"
        parent.kill()
        parent.communicate()
        assert _ends(child, 60.0)
    finally:
        if not _ends(child, 0.0):
            os.kill(child, signal.SIGKILL)


SECONDS, BYTES = "EXOSKEL_ENGINE_SECONDS", "EXOSKEL_ENGINE_BYTES"
INVALID = ("inf", "nan", "-1", "0", "many", "1e400")


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        (SECONDS, "1e10"),
        (BYTES, "1e20"),
        (BYTES, "5"),
        (BYTES, "4.9e8"),
        *((one, text) for one in (SECONDS, BYTES) for text in INVALID),
    ],
)
def test_a_limit_in_the_environment_is_checked(monkeypatch: pytest.MonkeyPatch, variable: str, text: str) -> None:
    monkeypatch.setenv(variable, text)
    least = "1" if variable == SECONDS else r"5e\+08"  # engines cannot start with less memory
    with pytest.raises(exoskel.ExoskelError, match=f"invalid {variable} '{text}': expected a number from {least} to"):
        EngineProcess("ODE", "exoskel.engines.ode.worker")


@pytest.mark.parametrize("text", ["", " ", "3600", "1e9"])
def test_a_valid_limit_in_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(SECONDS, text)
    EngineProcess("ODE", "exoskel.engines.ode.worker").close()
