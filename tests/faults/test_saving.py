"""Failures during a save: the old file is intact or the new one is complete."""

from __future__ import annotations

import errno
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.cli.main import main
from exoskel.source import atomic_write
from exoskel.source.atomic_write import WriteError, write_atomically
from tests.support.xml import one_body

KILLS = 1000
OLD, NEW = b"old " * 50_000, b"newer " * 60_000


def test_a_save_killed_at_any_point_leaves_a_whole_file(tmp_path: Path) -> None:
    """A forked process is killed after a random time, up to that of some saves."""
    path = tmp_path / "scene.skel"
    path.write_bytes(OLD)
    begin = time.perf_counter()
    write_atomically(path, OLD)
    whole = time.perf_counter() - begin
    rng = random.Random(1)
    seen = {OLD: 0, NEW: 0}
    for number in range(KILLS):
        child = os.fork()
        if child == 0:
            write_atomically(path, NEW)
            write_atomically(path, OLD)
            os._exit(0)
        # Every other delay has a random magnitude: the measured time of one save may be far from that of the others.
        time.sleep(whole * (rng.uniform(0.0, 3.0) if number % 2 else 10.0 ** rng.uniform(-2.0, 1.0)))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found = path.read_bytes()
        assert found in seen, f"{len(found)} bytes that are neither the old file nor the new one"
        seen[found] += 1
        for left in tmp_path.glob(".scene.skel.*.tmp"):  # a killed process cannot remove its temporary file
            left.unlink()
    assert min(seen.values()) > 0, "some processes were killed before the replacement and some after it"
    assert [one.name for one in tmp_path.iterdir()] == ["scene.skel"]


def _raises(error: int) -> Callable[..., Any]:
    def fail(*arguments: object, **options: object) -> Any:
        raise OSError(error, os.strerror(error))

    return fail


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EDQUOT])
def test_a_failing_system_call_preserves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: int
) -> None:
    path = tmp_path / "scene.skel"
    path.write_bytes(OLD)
    monkeypatch.setattr(atomic_write.os, call, _raises(error))
    with pytest.raises(WriteError, match="cannot write"):
        write_atomically(path, NEW)
    assert path.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [path], "no partial file is left"


LIMITED = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from exoskel.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_full_disk_preserves_the_old_file(tmp_path: Path) -> None:
    """Simulated by a limit on the size of files: writing fails in the middle of a file."""
    big = tmp_path / "scene.skel"
    big.write_text(one_body("<!-- " + "x" * 5000 + " -->\n<transfromation>0 0 1 0 0 0</transfromation>"))
    before = big.read_bytes()
    for arguments in (
        ["check", "--fix", str(big)],
        ["fmt", str(big)],
        ["convert", str(big), str(tmp_path / "out.xode")],
        ["run", str(big), "--time", "0.5", "--out", str(tmp_path / "out.npz")],
        ["run", str(big), "--time", "0.5", "--out", str(tmp_path / "out.csv")],
        ["run", str(big), "--time", "0.5", "--plot", str(tmp_path / "out.png")],
        ["run", str(big), "--time", "0.1", "--video", str(tmp_path / "out.mp4")],
        ["render", str(big), "--renderer", "software", "--out", str(tmp_path / "out.jpg")],
        ["schema", "skel", "--out", str(tmp_path / "out.xsd")],
    ):
        done = subprocess.run(
            [sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 2, (arguments, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
        assert big.read_bytes() == before
        assert list(tmp_path.iterdir()) == [big], "no partial file is left"


def test_a_trajectory_replaces_another_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.npz"
    exoskel.run(exoskel.load(one_body().encode()).world, duration=0.01).save(path)
    before = path.read_bytes()
    fails = _raises(errno.ENOSPC)
    monkeypatch.setattr(np.lib.format, "write_array", lambda file, *_, **__: file.write(b"half") and fails())
    with pytest.raises(exoskel.ExoskelError, match="cannot write"):
        exoskel.run(exoskel.load(one_body().encode()).world, duration=0.02).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_read_only_folder_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that not even root can write to."""
    out = Path("/proc/exoskel.xode")
    source = tmp_path / "scene.skel"
    source.write_text(one_body())
    assert main(["convert", str(source), str(out)]) == 2
    assert "internal error" not in capsys.readouterr().err


def test_links_and_permissions_are_respected(tmp_path: Path) -> None:
    real, link = tmp_path / "real.skel", tmp_path / "link.skel"
    real.write_bytes(OLD)
    real.chmod(0o640)
    link.symlink_to(real.name)
    write_atomically(link, NEW)
    assert link.is_symlink() and real.read_bytes() == NEW
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes with names")
def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    """Root could replace `/dev/null` by a scene, and all programs would read that scene from it."""
    pipe = tmp_path / "pipe.skel"
    os.mkfifo(pipe)
    link = tmp_path / "link.skel"
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(WriteError, match="it is a device, a pipe or a socket, not a file"):
            write_atomically(path, NEW)
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    assert sorted(tmp_path.iterdir()) == [link, pipe], "no partial file is left"


@pytest.mark.parametrize("name", ["a\0.skel", "\ud800.skel", "a" * 300 + ".skel"])
def test_an_invalid_file_name_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(WriteError, match="cannot write"):
        write_atomically(tmp_path / name, NEW)
    assert list(tmp_path.iterdir()) == []


def test_the_owner_of_a_file_is_preserved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "scene.skel"
    path.write_bytes(OLD)
    given: list[tuple[int, int]] = []
    monkeypatch.setattr(atomic_write.os, "chown", lambda _, owner, group: given.append((owner, group)), raising=False)
    write_atomically(path, NEW)
    assert given == [(path.stat().st_uid, path.stat().st_gid)]
    monkeypatch.setattr(atomic_write.os, "chown", _raises(errno.EPERM), raising=False)
    write_atomically(path, OLD)
    assert path.read_bytes() == OLD, "most users cannot change the owner of a file"
