"""Fixtures and rules for all tests."""

from __future__ import annotations

import fnmatch
import os
import signal
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support.findings import Read, Reads, load_text
from tests.support.quick_tests import read_part, read_slow_tests, select_part, select_quick

STRICT_SKIPS = "EXOSKEL_STRICT_SKIPS"
ALLOWED_SKIPS = Path(__file__).parent / "allowed_skips.txt"

EXAMPLES = "EXOSKEL_EXAMPLES"
"""Set to a number, it has tests with hypothesis look for that many new examples; else they try the same every time."""

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None, max_examples=int(os.environ.get(EXAMPLES) or 1), print_blob=True)
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=15)
for variable in ("AMENT_PREFIX_PATH", "ROS_PACKAGE_PATH", "GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH"):
    os.environ.pop(variable, None)  # messages list them
settings.load_profile("exploring" if os.environ.get(EXAMPLES) else "repeatable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run a few cases of every test that is not slow")
    parser.addoption("--rest", action="store_true", help="run the tests that --quick does not")
    parser.addoption("--part", type=read_part, default=(1, 1), help="of the tests to run, one part, such as 2/3")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell; tests send it to children
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("quick"):
        settings.load_profile("quick")
    if config.getoption("quick") or config.getoption("rest"):  # the other part of the tests uses the other snapshots
        config.option.warn_unused_snapshots = config.option.disable_unused_snapshots = True
    config.addinivalue_line("markers", "checklist(reference, items): items of a conformance checklist shown here")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    quick, rest = config.getoption("quick"), config.getoption("rest")
    if quick or rest:
        chosen = set(select_quick(items, read_slow_tests()))
        config.hook.pytest_deselected(items=[item for item in items if (item in chosen) != quick])
        items[:] = [item for item in items if (item in chosen) == quick]
    number, count = config.getoption("part")
    if count > 1:
        chosen = set(select_part(items, number, count))
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = [item for item in items if item in chosen]


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


OLD_MUJOCO = "needs MuJoCo 4.0 or newer"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """With MuJoCo 3, skip the tests that step many worlds at once: it has no `mujoco.batch`."""
    report: Any = yield
    if report.failed and version("mujoco").startswith("3.") and OLD_MUJOCO in report.longreprtext:
        report.outcome, report.longrepr = "skipped", (str(item.path), None, OLD_MUJOCO)
    return report


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
