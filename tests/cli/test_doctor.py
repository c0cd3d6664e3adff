"""`exoskel doctor`: what is installed, what works, and the lines that install the rest."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path

import pytest

from exoskel.cli import installation
from tests.cli.conftest import Command


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Trials that succeed at once; returns their commands."""
    tried: list[list[str]] = []
    monkeypatch.setattr(installation, "_try", lambda command: tried.append(command) or "")
    return tried


def test_everything_is_listed(exoskel_command: Command, quick: list[list[str]]) -> None:
    ran = exoskel_command("doctor")
    assert (ran.code, ran.err) == (0, "")
    for name in (
        "exoskel",
        "python",
        "numpy",
        "lxml",
        "viser",
        "mujoco",
        "warp",
        "dart",
        "ode",
        "GPU",
        "EGL",
        "browser",
    ):
        assert name in ran.out
    rows = json.loads(exoskel_command("doctor", "--json").out)
    assert {row["group"] for row in rows} >= {"system", "required", "extra view", "engines", "hardware"}


def test_missing_extras_have_the_line_that_installs_them(
    exoskel_command: Command, quick: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name in ("viser", "mujoco-warp"):
            raise metadata.PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr("importlib.metadata.version", version)
    ran = exoskel_command("doctor")
    assert ran.code == 0, "extras are optional"
    assert "for viser: pip install 'exoskel[view]'\n" in ran.out
    assert "pip install 'exoskel[gpu]'\n" in ran.out


def test_an_engine_that_does_not_work_is_reported(exoskel_command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        installation, "_try", lambda command: "libode.so: cannot open" if "'ode'" in command[-1] else ""
    )
    ran = exoskel_command("doctor")
    assert ran.code == 1
    assert "libode.so: cannot open" in ran.out and "for ode: pip install 'exoskel[ode]'" in ran.out


def test_trials_run_in_processes_of_their_own(tmp_path: Path) -> None:
    import sys

    assert installation._try([sys.executable, "-c", "pass"]) == ""
    assert installation._try([sys.executable, "-c", "import os; os.abort()"]).startswith("it crashed")
    assert installation._try([sys.executable, "-c", "raise SystemExit('exoskel: no such thing')"]) == "no such thing"
    assert "No such file" in installation._try([str(tmp_path / "none")])


def test_mujoco_is_tried_for_one_step() -> None:
    found = {part.name: part for part in installation._engines()}
    assert (found["mujoco"].status, "one step works" in found["mujoco"].detail) == ("ok", True)


@pytest.fixture
def other_openusd(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment with usd-exchange instead of usd-core: both have the module `pxr`."""
    found = metadata.version

    def version(name: str) -> str:
        if name == "usd-core":
            raise metadata.PackageNotFoundError(name)
        return found(name)

    monkeypatch.setattr("importlib.metadata.version", version)
    monkeypatch.setattr("importlib.metadata.packages_distributions", lambda: {"pxr": ["usd-exchange"]})


def part(name: str) -> installation.InstalledPart:
    """The row of a package, which has the same content in all of its extras."""
    found = [one for one in installation._packages() if one.name == name]
    assert len({(one.status, one.detail, one.install) for one in found}) == 1
    return found[0]


def test_another_package_with_the_same_module_is_not_replaced(other_openusd: None) -> None:
    found = part("usd-core")
    assert (found.status, found.install) == ("ok", "")
    assert found.detail.endswith(", pxr of usd-exchange")


def test_another_package_that_is_too_old_or_broken_is_reported(
    other_openusd: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "_MODULE_VERSIONS", {"pxr": "print('25.5')"})
    found = part("usd-core")
    assert (found.status, found.install) == ("failed", "")
    assert found.detail == "pxr of usd-exchange is 25.5; 26.8 or later is needed"
    monkeypatch.setattr(installation, "_MODULE_VERSIONS", {"pxr": "raise SystemExit('broken')"})
    assert part("usd-core").detail == "pxr of usd-exchange: broken"
