"""The record of further readers has a verdict of each of them on the very files that the others read."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import Any

import pytest

from tests.external import other_readers, record
from tests.external.reader_process import OTHER_GROUPS, ExternalReader, ReaderProcess
from tests.external.runner import ComparisonJob
from tests.support.places import PROJECT, TESTS

RECORD = other_readers.load()
COMPARED = record.load()["scenes"]


def test_every_reader_has_a_version_and_a_result_for_every_scene() -> None:
    assert RECORD["readers"].keys() == other_readers.READERS.keys()
    assert RECORD["scenes"].keys() == {name for name in COMPARED if not name.startswith("documents/")}
    for name, formats in RECORD["scenes"].items():
        for format in ("mjcf", "urdf", "sdf"):
            expected = {reader.name for reader in other_readers.READERS.values() if format in reader.formats}
            assert formats[format]["readers"].keys() == expected, (name, format)


@pytest.mark.parametrize(
    ("reader", "format", "fewest"),
    [
        ("mujoco3", "mjcf", 112),
        ("mujoco3", "urdf", 109),
        ("dm_control", "mjcf", 112),
        ("newton_mjcf", "mjcf", 109),
        ("yourdfpy", "urdf", 113),
        ("urchin", "urdf", 113),
        ("pinocchio_files", "mjcf", 36),
        ("dart_files", "sdf", 75),
    ],
)
def test_most_files_are_read_alike(reader: str, format: str, fewest: int) -> None:
    verdicts = [formats[format]["readers"][reader] for formats in RECORD["scenes"].values()]
    assert sum(isinstance(verdict, list) for verdict in verdicts) >= fewest


def test_each_group_has_its_requirements_and_its_environment() -> None:
    folder = TESTS / "external" / "requirements"
    names = {group.name for group in OTHER_GROUPS}
    assert {file.stem for file in folder.glob("*.txt")} == names
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    assert set(re.findall(r"^GROUPS := (.*)$", makefile, re.MULTILINE)[0].split()) == names
    for group in OTHER_GROUPS:
        text = (folder / f"{group.name}.txt").read_text(encoding="utf-8")
        assert all(re.search(rf"^{reader.package}\b", text, re.MULTILINE) for reader in group.readers)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_passes_the_environment_of_each_group() -> None:
    shown = subprocess.run(["make", "-n", "test-external"], cwd=PROJECT, capture_output=True, text=True, check=True)
    line = next(line for line in shown.stdout.splitlines() if "other_readers" in line)
    given = re.findall(r"--python (\S+)", line)
    assert given == [f"{group.name}=.venv-external-{group.name}/bin/python" for group in OTHER_GROUPS]


def test_a_refused_file_is_a_verdict() -> None:
    reader = ExternalReader("mujoco", "MuJoCo", "mujoco", ("mjcf",))
    process = ReaderProcess(reader, sys.executable)

    class Missing:
        file = PROJECT / "missing.xml"

        def request(self) -> dict[str, object]:
            return {"file": str(self.file), "format": "mjcf", "configurations": []}

    job = ComparisonJob("missing", "mjcf", "", ("mujoco",), [(Missing(), frozenset())])  # type: ignore[list-item]
    assert str(other_readers.verdict(process, job)).startswith("refused: ValueError")
    process.close()


def test_a_reader_that_is_older_than_the_recorded_one_is_not_recorded(capsys: pytest.CaptureFixture[str]) -> None:
    verdicts = {("scene", "sdf", "1"): {"dart_files": "refused", "urchin": [0.0]}}
    row = {"sha256": "1", "readers": {"dart_files": [0.0], "urchin": "refused"}}
    before = {"readers": {"dart_files": "6.20.3", "urchin": "0.0.9"}, "scenes": {"scene": {"sdf": row}}}
    after = other_readers.updated(before, verdicts, {"dart_files": "6.20.0", "urchin": "0.0.30"})
    assert after["readers"] == {"dart_files": "6.20.3", "urchin": "0.0.30"}
    assert after["scenes"]["scene"]["sdf"]["readers"] == {"dart_files": [0.0], "urchin": [0.0]}
    assert capsys.readouterr().out == "Not recorded: DART, unchanged files 6.20.0 is older than 6.20.3.\n"


def test_verdicts_of_another_processor_are_not_recorded_again() -> None:
    def updated(before: dict[str, Any], mujoco3: Any, urchin: Any) -> dict[str, Any]:
        verdicts = {("scene", "urdf", "1"): {"mujoco3": mujoco3, "urchin": urchin}}
        return other_readers.updated(before, verdicts, {"mujoco3": "3.3.7", "urchin": "0.0.30"})

    before = updated({"readers": {}, "scenes": {}}, "different: pose off by 4.6e+04", [1e-15, 1e-12])
    assert updated(before, "different: pose off by 4.5e+04", [1e-15, 1e-11]) == before
    after = updated(before, "different: mass off by 4.6e+04", [1e-15, 1e-10])["scenes"]["scene"]["urdf"]["readers"]
    assert after == {"mujoco3": "different: mass off by 4.6e+04", "urchin": [1e-15, 1e-10]}
