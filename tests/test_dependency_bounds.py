"""The lower bounds of dependencies are those that `make oldest` tests."""

from __future__ import annotations

import re
import tomllib

from tests.support.places import PROJECT


def _release(text: str) -> list[int]:
    parts = [int(part) for part in text.split(".")]
    return parts + [0] * (3 - len(parts))


def test_the_oldest_tested_versions_are_the_lower_bounds() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    tried = ("lsp", "arrow", "ode", "plot", "usd", "view", "gym", "numba")
    wanted = [*project["dependencies"], *(one for extra in tried for one in extras[extra])]
    bounds = dict(re.fullmatch(r"([\w.-]+)>=([\d.]+).*", one).groups() for one in wanted)  # type: ignore[union-attr]
    lines = (PROJECT / "tools" / "oldest.txt").read_text()
    pins = dict(re.findall(r'^([\w.-]+)==([\d.]+)(?:; platform_machine != "aarch64")?$', lines, re.MULTILINE))
    assert set(bounds) - {"lsprotocol"} <= set(pins)
    for name, pin in pins.items():
        assert _release(pin) == _release(bounds[name]), name


def test_development_bounds_are_not_newer_than_the_allowed_versions() -> None:
    """Otherwise `make oldest` would test another version than the one that users may have."""
    extras = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    dev = {name: one for one in extras["dev"] for name in re.findall(r"^[\w.-]+", one)}
    for extra, wanted in extras.items():
        for one in wanted:
            name = re.findall(r"^[\w.-]+", one)[0]
            assert extra == "dev" or dev.get(name, one) == one, extra
