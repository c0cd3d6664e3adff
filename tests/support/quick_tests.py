"""Selects the tests of `make test`: a few cases of every test function, except for slow ones; and parts of the others.

`slow_tests.txt` lists the slow functions with their seconds per case.  `make slow-tests` records it from a run of all tests.
"""

from __future__ import annotations

import sys
import zlib
from argparse import ArgumentTypeError
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

SLOW_TESTS = Path(__file__).parent.parent / "slow_tests.txt"
CASES = 2
"""Of a function with more cases, the first, the last and those between at equal distances."""
SLOW = 0.6
"""Seconds per case from which a function is slow, on the machine that recorded them."""
TOO_SLOW = 7.0
"""Seconds per case from which a function is left out even if the other functions of its file are slower."""
SLOW_FIXTURES = frozenset({"browser"})
"""Tests with these are slow: whichever comes first waits for a page."""
HEADER = "# Test functions that `make test` leaves to `make test-all`, with seconds per case. Recorded by `make slow-tests`.\n"


def select_quick(items: Sequence[pytest.Item], slow: Mapping[str, float]) -> list[pytest.Item]:
    """The tests to run, in their order.

    A file whose tests are all slow keeps its fastest function, unless that is too slow, too, as for pages in a browser.
    """
    functions: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        functions[function_name(item.nodeid)].append(item)
    files: dict[str, list[str]] = defaultdict(list)
    for name in functions:
        files[name.partition("::")[0]].append(name)
    chosen: set[pytest.Item] = set()
    for names in files.values():
        waiting = {
            name for name in names if SLOW_FIXTURES.intersection(getattr(functions[name][0], "fixturenames", ()))
        }
        fast = [name for name in names if name not in slow and name not in waiting]
        if fast:
            chosen.update(one for name in fast for one in spread(functions[name], CASES))
        elif others := [name for name in names if name not in waiting and slow[name] < TOO_SLOW]:
            chosen.update(functions[min(others, key=lambda name: slow[name])][:1])
    return [item for item in items if item in chosen]


def spread(items: Sequence[pytest.Item], count: int) -> list[pytest.Item]:
    """At most `count` of the items, at equal distances, with the first and the last."""
    if len(items) <= count:
        return list(items)
    return [items[round(i * (len(items) - 1) / (count - 1))] for i in range(count)]


def select_part(items: Sequence[pytest.Item], number: int, count: int) -> list[pytest.Item]:
    """Part `number` of `count`, counted from 1.  All cases of a function are in the same part, on every machine."""
    return [item for item in items if zlib.crc32(function_name(item.nodeid).encode()) % count == number - 1]


def read_part(text: str) -> tuple[int, int]:
    """The number and the count in a text such as 2/3."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise ArgumentTypeError(f"{text!r} is not a part: use a number and a count, such as 2/3")
    return int(number), int(count)


def function_name(node: str) -> str:
    """The name of a test without its case."""
    return node.partition("[")[0]


def read_slow_tests(path: Path = SLOW_TESTS) -> dict[str, float]:
    """Seconds per case, by the name of the function."""
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]
    return {name: float(seconds) for seconds, name in lines}


def slow_tests(*reports: Path) -> dict[str, float]:
    """The slow functions in JUnit reports, with seconds per case."""
    times: dict[str, list[float]] = defaultdict(list)
    for case in (one for report in reports for one in ElementTree.parse(report).iter("testcase")):
        if case.find("skipped") is None:
            name = f"{_file_and_class(case.get('classname', ''))}::{function_name(case.get('name', ''))}"
            times[name].append(float(case.get("time", "0")))
    means = {name: sum(found) / len(found) for name, found in times.items()}
    return {name: mean for name, mean in sorted(means.items()) if mean >= SLOW}


def _file_and_class(dotted: str) -> str:
    """The file and, if there is one, the class in a name such as `tests.view.test_textures.TestInTheBrowser`."""
    parts = dotted.split(".")
    classes = [part for part in parts if part[:1].isupper()]
    return "::".join(["/".join(parts[: len(parts) - len(classes)]) + ".py", *classes])


def format_slow_tests(slow: Iterable[tuple[str, float]]) -> str:
    return HEADER + "".join(f"{seconds:6.1f} {name}\n" for name, seconds in slow)


if __name__ == "__main__":
    SLOW_TESTS.write_text(format_slow_tests(slow_tests(*map(Path, sys.argv[1:])).items()), encoding="utf-8")
