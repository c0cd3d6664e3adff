"""A script that uses all of the interface passes the strict type checker, and runs."""

from __future__ import annotations

import subprocess
import sys

from tests.simulate import user_script
from tests.support.places import PROJECT


def test_a_user_script_passes_the_type_checker_in_strict_mode() -> None:
    command = [sys.executable, "-m", "mypy", "--strict", "tests/simulate/user_script.py"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_user_script_runs() -> None:
    assert len(user_script.main()) == 11
