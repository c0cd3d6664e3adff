"""No file causes a crash, a hang, unbounded memory use, access to other files, or terminal control sequences."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.corpus import HOSTILE, make
from tests.support.places import PROJECT

Judge = Callable[[str, Path], dict[str, Any]]


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """A function that reads a file in its own process with limits, and returns the result."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.hostile.fork_server"],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None and server.stdout is not None
    questions, answers = server.stdin, server.stdout

    def ask(name: str, path: Path) -> dict[str, Any]:
        row = HOSTILE[name]
        request = {"path": str(path), "format": row.format, "options": row.options, "secret": row.secret}
        questions.write(json.dumps({**request, "seconds": row.seconds, "memory": row.memory}) + "\n")
        questions.flush()
        told: dict[str, Any] = json.loads(answers.readline())
        return told

    yield ask
    server.stdin.close()
    server.wait()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_a_diagnostic(name: str, judge: Judge, tmp_path: Path) -> None:
    row = HOSTILE[name]
    folder = tmp_path / "in"
    path = make(name, folder)
    before = sorted(folder.iterdir())
    told = judge(name, path)
    assert "died" not in told and "raised" not in told, told
    assert sorted(folder.iterdir()) == before, "nothing is written"
    assert told["seconds"] < row.seconds
    if row.refused:
        assert row.refused in told["refused"].lower()
        return
    assert set(row.expect) <= set(told["keys"]), told
    assert bool(told["worlds"]) is row.loads, told
    assert told["controls"] == [] and not told["leaks"] and not told["internal"]
