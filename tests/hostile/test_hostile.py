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

GuardedReader = Callable[[str, Path], dict[str, Any]]


@pytest.fixture(scope="module")
def guarded_read() -> Iterator[GuardedReader]:
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
        result: dict[str, Any] = json.loads(answers.readline())
        return result

    yield ask
    server.stdin.close()
    server.wait()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_get_a_diagnostic(name: str, guarded_read: GuardedReader, tmp_path: Path) -> None:
    row = HOSTILE[name]
    folder = tmp_path / "in"
    path = make(name, folder)
    before = sorted(folder.iterdir())
    result = guarded_read(name, path)
    assert "died" not in result and "raised" not in result, result
    assert sorted(folder.iterdir()) == before, "nothing is written"
    assert result["seconds"] < row.seconds
    if row.refused:
        assert row.refused in result["refused"].lower()
        return
    assert set(row.expect) <= set(result["keys"]), result
    assert bool(result["worlds"]) is row.loads, result
    assert result["controls"] == [] and not result["leaks"] and not result["internal"]
