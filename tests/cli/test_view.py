"""`exoskel view`: its address, its errors, and how it ends."""

from __future__ import annotations

import importlib.metadata
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.cli.conftest import Command

pytest.importorskip("viser", reason="viser is not installed")


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent as a signal")
def test_it_prints_its_address_serves_and_ends_with_ctrl_c() -> None:
    # A test started in the background of a shell inherits that Ctrl-C is ignored.
    start = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
        "from exoskel.cli.main import main; sys.exit(main())"
    )
    arguments = ["view", "dart://sample/skel/pendulum.skel", "--no-browser", "--port", "0"]
    command = [sys.executable, "-c", start, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first, second = process.stdout.readline(), process.stdout.readline()
            found = re.match(r"(http://127\.0\.0\.1:(\d+))  \(press Ctrl-C to stop\)", first)
            assert found, first
            assert f"ssh -L {found[2]}:localhost:{found[2]}" in second
            assert urllib.request.urlopen(found[1], timeout=10).status == 200
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize("content", ["<skel", ""])
def test_a_file_without_a_world_cannot_be_shown(exoskel_command: Command, tmp_path: Path, content: str) -> None:
    file = tmp_path / "bad.skel"
    file.write_text(content, encoding="utf-8")
    ran = exoskel_command("view", file, "--no-browser", "--port", "0")
    assert ran.code == 2
    assert ran.err.startswith("exoskel: the scene has no world")
    assert "Traceback" not in ran.err


def test_a_missing_file_is_an_error(exoskel_command: Command) -> None:
    ran = exoskel_command("view", "nowhere.skel", "--no-browser")
    assert ran.code == 2 and "nowhere.skel" in ran.err


@pytest.mark.parametrize("port", ["99999", "-5"])
def test_an_invalid_port_is_an_error(exoskel_command: Command, port: str) -> None:
    ran = exoskel_command("view", "dart://sample/skel/pendulum.skel", "--no-browser", f"--port={port}")
    assert (ran.code, ran.out) == (2, "") and "0 to 65535" in ran.err and "Traceback" not in ran.err


def test_an_unknown_world_is_an_error(exoskel_command: Command) -> None:
    ran = exoskel_command(
        "view", "dart://sample/skel/pendulum.skel", "--no-browser", "--port", "0", "--world", "nosuch"
    )
    assert ran.code == 2 and "unknown world 'nosuch'" in ran.err


@pytest.mark.parametrize("time", ["nan", "-3", "inf"])
def test_an_invalid_duration_is_not_exported(exoskel_command: Command, tmp_path: Path, time: str) -> None:
    page = tmp_path / "a.html"
    ran = exoskel_command("view", "dart://sample/skel/pendulum.skel", "--export", page, f"--time={time}")
    assert ran.code == 2 and "finite and not negative" in ran.err and not page.exists()


def test_an_engine_that_is_not_installed_is_not_taken_for_a_file(
    exoskel_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_installed(package: str) -> str:
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "version", not_installed)
    arguments = ("view", "dart://sample/skel/pendulum.skel", "--no-browser", "--port", "0", "--compare", "warp")
    ran = exoskel_command(*arguments)
    assert ran.code == 2 and "warp is not installed: pip install 'exoskel[gpu]'" in ran.err
