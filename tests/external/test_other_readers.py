"""The record of further readers has a verdict of each of them on the very files that the others read."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.external import other_readers, record
from tests.external.cases import cases, digest
from tests.external.expectation import expect
from tests.external.reader_process import OTHER_GROUPS, ExternalReader, ReaderProcess, file_kind
from tests.external.runner import ComparisonJob
from tests.external.target_files import ReportedLosses, TargetDocument
from tests.support.places import PROJECT, TESTS

RECORD = other_readers.load()
COMPARED = record.load()["scenes"]
OURS = [case for case in cases() if case.is_ours and case.write_for is not None]


def test_every_reader_has_a_version_and_a_result_for_every_scene() -> None:
    assert RECORD["readers"].keys() == other_readers.READERS.keys()
    assert RECORD["scenes"].keys() == {name for name in COMPARED if not name.startswith("documents/")}
    kinds = {kind for reader in other_readers.READERS.values() for kind in reader.kinds}
    for name, formats in RECORD["scenes"].items():
        assert formats.keys() == kinds
        for kind in kinds:
            expected = {reader.name for reader in other_readers.READERS.values() if kind in reader.kinds}
            assert formats[kind]["readers"].keys() == expected, (name, kind)


@pytest.mark.parametrize("name", [case.name for case in OURS])
def test_the_record_has_the_files_for_each_program(name: str) -> None:
    case = next(case for case in OURS if case.name == name)
    for reader in other_readers.READERS.values():
        for format in reader.target_formats if reader.target else ():
            assert case.write_for is not None
            found = digest([one.written for one in case.write_for(format, reader.target)])
            recorded = RECORD["scenes"][name][file_kind(format, reader.target)]["sha256"]
            assert found == recorded, f"run `make test-external` to compare the new {format} for {reader.target}"


@pytest.mark.parametrize("name", RECORD["scenes"])
def test_no_fate_is_exact_that_a_program_contradicts(name: str) -> None:
    for kind, row in RECORD["scenes"][name].items():
        for reader, found in row["readers"].items() if " for " in kind else ():
            assert isinstance(found, list) or not found.startswith(other_readers.DIFFERENT), (kind, reader, found)


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


# --- differences that a conversion reports --------------------------------------------------------------


def target_document(name: str, format: str, target: Any) -> TargetDocument:
    case = next(case for case in OURS if case.name == name)
    assert case.write_for is not None
    (found,) = case.write_for(format, target)
    return found


def judged(
    made: TargetDocument, change: tuple[str, str], losses: ReportedLosses, folder: Path
) -> other_readers.Verdict:
    """The verdict of MuJoCo on a changed file."""
    file = folder / made.written.name
    expected = expect(file, "mjcf", made.written.mechanism())
    changed, count = re.subn(*change, made.written.text, count=1)
    assert count == 1
    file.write_text(changed, encoding="utf-8")
    process = ReaderProcess(ExternalReader("mujoco", "MuJoCo", "mujoco", ("mjcf",)), sys.executable)
    job = ComparisonJob("scene", "mjcf", "", (), [(expected, frozenset())], "mujoco4", [losses])
    found = other_readers.verdict(process, job)
    process.close()
    return found


@pytest.mark.parametrize(
    ("quantity", "change"),
    [
        ("mass", (r'mass="2"', 'mass="2.1"')),
        ("inertia", (r'fullinertia="1 ', 'fullinertia="1.05 ')),
        ("pose", (r'(<body name="body 2" pos=")', r"\g<1>1")),
        ("dofs", (r'(<joint name="body 1_joint")', r'\g<1> damping="0.1"')),
    ],
)
def test_only_reported_differences_are_accepted(quantity: str, change: tuple[str, str], tmp_path: Path) -> None:
    made = target_document("rigs/revolute", "mjcf", "mujoco4")
    assert not any(made.losses.names.values())
    found = judged(made, change, made.losses, tmp_path)
    assert isinstance(found, str) and found.startswith(f"different: {quantity} of ")
    names = dict.fromkeys(made.losses.names, frozenset({"body 0", "body 1", "body 2", "body 1_joint/damping"}))
    assert judged(made, change, ReportedLosses(names), tmp_path).startswith("different, reported: ")


def test_only_reported_refusals_are_counted_as_such(tmp_path: Path) -> None:
    made = target_document("rigs/revolute", "mjcf", "mujoco4")
    change = (r"<mujoco ", "<nothing ")
    assert str(judged(made, change, made.losses, tmp_path)).startswith("refused: ")
    refused = ReportedLosses(made.losses.names, "MuJoCo refuses the file")
    assert str(judged(made, change, refused, tmp_path)).startswith("refused, reported: ")


def test_what_dart_ignores_is_known_from_the_fates() -> None:
    made = target_document("samples/skel/walker.skel", "mjcf", "dart")
    assert made.losses.explain("inertia", "pelvis") and made.losses.explain("mass_matrix", "")
    assert not made.losses.explain("mass", "pelvis") and not made.losses.explain("pose", "pelvis")
    assert "refuses the file" in target_document("samples/skel/domino.skel", "mjcf", "dart").losses.refusal
    assert not target_document("samples/skel/domino.skel", "mjcf", "mujoco3").losses.refusal
