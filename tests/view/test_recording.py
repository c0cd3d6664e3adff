"""The Rerun importer: opens scenes, and quickly rejects other files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from exoskel.cli.rerun_importer import NOT_SUPPORTED, main
from tests.support.places import SAMPLES

START = "import sys; from exoskel.cli.rerun_importer import main; sys.exit(main(sys.argv[1:]))"


def imported(*arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", START, *map(str, arguments)], capture_output=True, check=False)


def test_other_files_are_rejected(tmp_path: Path) -> None:
    other = tmp_path / "picture.png"
    other.write_bytes(b"x")
    assert main([str(other)]) == NOT_SUPPORTED
    assert main([str(tmp_path / "nowhere.skel")]) == NOT_SUPPORTED


def test_rejecting_other_files_imports_nothing_heavy() -> None:
    script = (
        "import sys; from exoskel.cli.rerun_importer import main; main(['a.txt']);"
        "print(sorted({'numpy', 'mujoco', 'rerun', 'lxml'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "mujoco" not in done.stdout and "rerun" not in done.stdout


def test_a_scene_becomes_a_recording_with_its_motion(tmp_path: Path) -> None:
    rerun = pytest.importorskip("rerun")
    done = imported(SAMPLES / "skel" / "pendulum.skel", "--application-id", "test", "--entity-path-prefix", "robots")
    assert done.returncode == 0, done.stderr
    assert done.stdout[:4] == b"RRF2"
    file = tmp_path / "a.rrd"
    file.write_bytes(done.stdout)
    printed = subprocess.run(
        [sys.executable, "-m", "rerun", "rrd", "print", "-v", str(file)], capture_output=True, text=True, check=False
    ).stdout
    assert "/robots/exoskel/visual/" in printed and "InstancePoses3D" in printed and rerun.Mesh3D.__name__ in printed


def test_a_broken_file_is_an_error(tmp_path: Path) -> None:
    pytest.importorskip("rerun")
    bad = tmp_path / "bad.skel"
    bad.write_text("<skel", encoding="utf-8")
    done = imported(bad)
    assert done.returncode == 1
    assert b"no world" in done.stderr and b"Traceback" not in done.stderr
