"""A C locale with a decimal comma does not change how numbers are read and written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

COMMA = "de_DE.UTF-8"


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A folder with a generated locale, since few systems have one with a decimal comma installed."""
    made = tmp_path / "locales"
    made.mkdir()
    tool = shutil.which("localedef")
    if tool is not None:
        source = COMMA.partition(".")[0]
        subprocess.run([tool, "-i", source, "-f", "UTF-8", str(made / COMMA)], capture_output=True, check=False)
    if not (made / COMMA / "LC_NUMERIC").exists():
        pytest.skip(f"no locale {COMMA} can be made here (Debian: package locales)")
    return made


def run_worker(folder: Path, **environment: str) -> dict[str, Any]:
    folder.mkdir()
    plain = {key: value for key, value in os.environ.items() if not key.startswith(("LC_", "LANG"))}
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.locale_worker", str(folder)],
        env={**plain, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return found


def test_a_decimal_comma_changes_nothing(tmp_path: Path, places: Path) -> None:
    plain = run_worker(tmp_path / "plain", LC_ALL="C.UTF-8")
    comma = run_worker(tmp_path / "comma", LC_ALL=COMMA, LOCPATH=str(places))
    assert (plain.pop("point"), comma.pop("point")) == (".", ",")
    assert comma.keys() == plain.keys()
    for what, value in plain.items():
        assert comma[what] == value, what
