"""The numbered examples run and print the expected output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import PROJECT

SCRIPTS = sorted((PROJECT / "examples").glob("[0-9]*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_example_runs(script: Path, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() and not done.stderr


def test_examples_are_numbered_without_gaps() -> None:
    assert [int(script.stem[:2]) for script in SCRIPTS] == list(range(1, len(SCRIPTS) + 1))
