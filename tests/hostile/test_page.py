"""The page on reliability states what the corpus expects, and what DART did."""

from __future__ import annotations

import json
import re

from tests.hostile.corpus import HOSTILE
from tests.support.places import GOLDEN, PROJECT

PAGE = (PROJECT / "docs" / "reliability.md").read_text(encoding="utf-8")
TABLE = (PROJECT / "docs" / "reference" / "hostile-files.md").read_text(encoding="utf-8")
DART = json.loads((GOLDEN / "hostile_dart.json").read_text(encoding="utf-8"))


def test_every_hostile_file_is_in_the_table() -> None:
    rows = {line.split("|")[1].strip(): line for line in TABLE.splitlines() if line.startswith("| ")}
    for name, row in HOSTILE.items():
        line = rows[name]
        assert all(f"`{key}`" in line for key in row.expect), name
        if row.format == "skel":
            assert line.split("|")[3].strip() == DART[name], name


def test_the_numbers_on_the_page_are_those_of_the_corpus() -> None:
    assert f"{len(HOSTILE)} files" in TABLE
    stated = re.findall(r"more than (\d+) \[?hostile files", PAGE + (PROJECT / "README.md").read_text(encoding="utf-8"))
    assert len(stated) == 2 and all(int(number) < len(HOSTILE) for number in stated)
    answers = list(DART.values())
    throws = sum(answer.startswith("throws") for answer in answers)
    faults = answers.count("crashes: segmentation fault")
    hangs = answers.count("hangs")
    assert (
        f"{hangs} make DART hang, {faults} make it crash, and {throws} raise an exception without a line number" in PAGE
    )
