"""The command that shows a scene: it tells where, and ends when it is told to."""

from __future__ import annotations

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
    # Tests that run in the background of a shell hand down that Ctrl-C is to be ignored.
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
            found = re.match(r"(http://127\.0\.0\.1:(\d+))  \(Ctrl-C ends it\)", first)
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
    assert ran.err.startswith("exoskel: the scene holds no world")
    assert "Traceback" not in ran.err


def test_a_missing_file_is_a_message(exoskel_command: Command) -> None:
    ran = exoskel_command("view", "nowhere.skel", "--no-browser")
    assert ran.code == 2 and "nowhere.skel" in ran.err
