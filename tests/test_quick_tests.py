"""`make test` runs a few cases of every test; `make test-all` runs the rest."""

from __future__ import annotations

import re
import subprocess
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import PROJECT
from tests.support.quick_tests import (
    format_slow_tests,
    read_part,
    read_slow_tests,
    select_part,
    select_quick,
    slow_tests,
)


class Item:
    def __init__(self, node: str, *fixtures: str) -> None:
        self.nodeid, self.fixturenames = node, fixtures


def quick(*nodes: str, slow: dict[str, float] | None = None) -> list[str]:
    items: Any = [Item(node) for node in nodes]
    return [item.nodeid for item in select_quick(items, slow or {})]


def test_two_cases_of_a_function_are_quick() -> None:
    cases = [f"a.py::test_x[{i}]" for i in range(9)]
    assert quick(*cases, "a.py::test_y") == [cases[0], cases[8], "a.py::test_y"]


def test_slow_functions_are_not_quick() -> None:
    assert quick("a.py::test_x[1]", "a.py::test_y", slow={"a.py::test_x": 3.0}) == ["a.py::test_y"]


def test_a_file_with_slow_functions_only_keeps_a_case_of_the_fastest() -> None:
    slow = {"a.py::test_x": 3.0, "a.py::test_y": 2.0}
    assert quick("a.py::test_x", "a.py::test_y[0]", "a.py::test_y[1]", slow=slow) == ["a.py::test_y[0]"]


def test_a_file_with_very_slow_functions_only_is_left_to_the_rest() -> None:
    assert quick("a.py::test_x", "a.py::test_y", slow={"a.py::test_x": 30.0, "a.py::test_y": 12.0}) == []


def test_pages_in_a_browser_are_left_to_the_rest() -> None:
    items: Any = [Item("a.py::test_x", "browser"), Item("a.py::test_y"), Item("b.py::test_z", "page", "browser")]
    assert [item.nodeid for item in select_quick(items, {})] == ["a.py::test_y"]


def test_parts_are_disjoint_and_keep_the_cases_of_a_function_together() -> None:
    nodes = [f"a.py::test_{i}[{case}]" for i in range(60) for case in "xy"]
    items: Any = [Item(node) for node in nodes]
    parts = [{item.nodeid for item in select_part(items, number, 3)} for number in (1, 2, 3)]
    assert sum(map(len, parts)) == len(nodes)
    assert set.union(*parts) == set(nodes)
    assert all(len(part) > 20 for part in parts)
    assert all((f"a.py::test_{i}[x]" in part) == (f"a.py::test_{i}[y]" in part) for part in parts for i in range(60))


def test_a_part_is_a_number_and_a_count() -> None:
    assert read_part("2/3") == (2, 3)
    for wrong in ("2", "0/3", "4/3", "a/3", ""):
        with pytest.raises(ArgumentTypeError, match="is not a part"):
            read_part(wrong)


def test_slow_functions_are_recorded_by_their_seconds_per_case(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    cases = [("test_x[a]", 2.0), ("test_x[b]", 1.0), ("test_y", 0.1)]
    rows = "".join(f'<testcase classname="tests.a.test_b" name="{name}" time="{time}"/>' for name, time in cases)
    rows += '<testcase classname="tests.a.test_b.TestClass" name="test_z" time="4.0"/>'
    report.write_text(f"<testsuites><testsuite>{rows}</testsuite></testsuites>", encoding="utf-8")
    found = slow_tests(report)
    assert found == {"tests/a/test_b.py::TestClass::test_z": 4.0, "tests/a/test_b.py::test_x": 1.5}
    recorded = tmp_path / "slow.txt"
    recorded.write_text(format_slow_tests(found.items()), encoding="utf-8")
    assert read_slow_tests(recorded) == found


def test_recorded_functions_exist() -> None:
    for name in read_slow_tests():
        file, _, function = name.partition("::")
        assert f"def {function.rpartition('::')[2]}(" in (PROJECT / file).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("part", ["--quick", "--rest"])
def test_snapshots_of_the_other_part_do_not_fail_a_run(part: str) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", part, "-o", "testpaths=tests/xode/test_messages.py"]
    run = subprocess.run(command, check=False, cwd=PROJECT, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout[-2000:]


def test_every_snapshot_belongs_to_a_test() -> None:
    snapshots = sorted(PROJECT.glob("tests/**/__snapshots__/*.ambr"))
    assert snapshots
    for path in snapshots:
        tests = (path.parent.parent / f"{path.stem}.py").read_text(encoding="utf-8")
        for name in re.findall(r"^# name: (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert f"def {name}(" in tests, f"{path.name}: {name}"
