"""Fixtures and rules for all tests."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support.findings import Read, Reads, load_text

STRICT_SKIPS = "EXOSKEL_STRICT_SKIPS"
ALLOWED_SKIPS = Path(__file__).parent / "allowed_skips.txt"

EXAMPLES = "EXOSKEL_EXAMPLES"
"""Set to a number, it has tests with hypothesis look for that many new examples; else they try the same every time."""

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None, max_examples=int(os.environ.get(EXAMPLES) or 1), print_blob=True)
settings.load_profile("exploring" if os.environ.get(EXAMPLES) else "repeatable")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "checklist(reference, items): items of a conformance checklist shown here")


@pytest.fixture
def reads() -> Iterator[Reads]:
    """Loads documents; at the end every diagnostic of each must have been expected."""
    loaded: list[Read] = []

    def load(source: str | bytes, **options: Any) -> Read:
        read = Read(load_text(source, **options))
        loaded.append(read)
        return read

    yield load
    for read in loaded:
        read.assert_clean()


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    unlisted = _unlisted_skips(terminalreporter)
    if unlisted and os.environ.get(STRICT_SKIPS):
        terminalreporter.section("tests skipped that allowed_skips.txt does not list", red=True)
        for node in unlisted:
            terminalreporter.line(node)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and os.environ.get(STRICT_SKIPS) and _unlisted_skips(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _unlisted_skips(reporter: Any) -> list[str]:
    allowed = [
        line.strip()
        for line in ALLOWED_SKIPS.read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    ]
    skipped = {report.nodeid for report in reporter.stats.get("skipped", [])}
    return sorted(node for node in skipped if not any(fnmatch.fnmatch(node, pattern) for pattern in allowed))
