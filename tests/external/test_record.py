"""The record of external readers is up to date with the documents we write.

`make test-external` runs all readers; these tests run only MuJoCo, which is always installed.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from tests.external import record
from tests.external.cases import NUMBER, Case, cases, digest
from tests.external.comparison import BOUNDS, QUANTITIES, compare
from tests.external.expectation import Expectation, expect
from tests.external.limits import LIMITS
from tests.external.reader_process import READERS, ReaderProcess

RECORD = record.load()
OURS = [case for case in cases() if case.is_ours]
WRITTEN = [(case, format) for case in OURS for format in case.formats]


@pytest.mark.parametrize(("case", "format"), WRITTEN, ids=lambda value: getattr(value, "name", value))
def test_the_record_has_the_digest_of_every_document(case: Case, format: str) -> None:
    recorded = RECORD["scenes"].get(case.name, {}).get(format, {}).get("sha256")
    assert case.digest(format) == recorded, "run `make test-external` to compare the new output"


@pytest.mark.parametrize("format", ["urdf", "sdf"])
@pytest.mark.parametrize("name", ["samples/xode/pyode_dialect.xode", "samples/skel/walker.skel", "rigs/ball"])
def test_digests_do_not_depend_on_the_last_bits_of_numbers(name: str, format: str) -> None:
    written = next(case for case in OURS if case.name == name).write(format)
    draw = random.Random(1)

    def noisy(number: re.Match[str]) -> str:
        value = float(number[0])
        return number[0] if value.is_integer() else repr(value + draw.choice((-4e-16, 4e-16)) * max(1.0, abs(value)))

    other = [structs.replace(one, text=NUMBER.sub(noisy, one.text)) for one in written]
    assert [one.text for one in other] != [one.text for one in written]
    assert digest(other) == digest(written)


def test_the_record_has_no_other_documents() -> None:
    recorded = {(name, format) for name, formats in RECORD["scenes"].items() for format in formats}
    assert {pair for pair in recorded if not pair[0].startswith("corpus/")} == {(c.name, f) for c, f in WRITTEN}


@pytest.mark.parametrize("name", RECORD["scenes"])
def test_every_reader_agrees(name: str) -> None:
    whys = {(limit.reader, limit.format, limit.why): limit.skips for limit in LIMITS}
    for format, row in RECORD["scenes"][name].items():
        met = row.get("limits", {})
        asked = next((case.readers for case in OURS if case.name == name), ())
        for reader in (one for one in READERS if (one.name in asked if asked else format in one.formats)):
            skipped = {quantity for why in met.get(reader.name, []) for quantity in whys[reader.name, format, why]}
            found = row["errors"].get(reader.name, [None] * len(QUANTITIES))
            for quantity, error in zip(RECORD["errors"], found, strict=True):
                if error is not None:
                    assert 0.0 <= error <= BOUNDS[format][quantity], (format, reader, quantity)
                else:
                    missing = quantity == "dofs" or quantity not in reader.quantities
                    assert quantity in skipped or missing, (format, reader, quantity)


# --- the comparison itself ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mujoco() -> Iterator[ReaderProcess]:
    process = ReaderProcess(next(reader for reader in READERS if reader.name == "mujoco"), sys.executable)
    yield process
    process.close()


def claimed(name: str, format: str, folder: Path) -> Expectation:
    case = next(case for case in OURS if case.name == name)
    (written,) = case.write(format)
    file = folder / written.name
    file.write_text(written.text, encoding="utf-8")
    return expect(file, format, written.mechanism())


RIGS = [case.name for case in OURS if case.name.startswith("rigs/")]


@pytest.mark.parametrize("format", ["mjcf", "urdf"])
@pytest.mark.parametrize("name", RIGS)
def test_mujoco_agrees_on_every_kind_of_joint(name: str, format: str, mujoco: ReaderProcess, tmp_path: Path) -> None:
    one = claimed(name, format, tmp_path)
    found = compare(one, mujoco.ask(one.request()))
    assert (found.failed, found.faults(BOUNDS[format])) == ("", [])
    assert found.errors.keys() >= {"mass", "com", "inertia", "pose", "mass_matrix"}


CHANGES = {
    "mass": (r'<mass value="2"/>', r'<mass value="2.00000001"/>'),
    "com": (r'(<inertial>\s*<origin xyz=")\S+', r"\g<1>0.123"),
    "inertia": (r'iyz="[^"]*"', r'iyz="0.0123"'),
    "pose": (r'(rpy=")\S+', r"\g<1>0.123"),
}


@pytest.mark.parametrize("quantity", CHANGES)
def test_a_changed_value_is_found(quantity: str, mujoco: ReaderProcess, tmp_path: Path) -> None:
    one = claimed("rigs/revolute", "urdf", tmp_path)
    text = one.file.read_text(encoding="utf-8")
    changed, count = re.subn(*CHANGES[quantity], text, count=1)
    assert count == 1
    one.file.write_text(changed, encoding="utf-8")
    found = compare(one, mujoco.ask(one.request()))
    bounds = BOUNDS["urdf"]
    assert found.errors[quantity] > bounds[quantity]
    # The pose of the whole does not change its mass matrix.
    assert (found.errors["mass_matrix"] > bounds["mass_matrix"]) == (quantity != "pose")


def test_an_extra_body_is_found(mujoco: ReaderProcess, tmp_path: Path) -> None:
    one = claimed("rigs/weld", "urdf", tmp_path)
    text = one.file.read_text(encoding="utf-8")
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    link = f'<link name="extra">{inertial}</link>'
    joint = '<joint name="extra" type="fixed"><parent link="world"/><child link="extra"/></joint>'
    one.file.write_text(text.replace("</robot>", f"{link}{joint}</robot>"), encoding="utf-8")
    assert "not in the scene: extra" in compare(one, mujoco.ask(one.request())).failed


def test_a_reader_restarts_after_a_crash(mujoco: ReaderProcess, tmp_path: Path) -> None:
    one = claimed("rigs/weld", "mjcf", tmp_path)
    mujoco._process.kill()
    mujoco._process.wait()
    assert "crashes" in mujoco.ask(one.request())["failed"]
    assert not compare(one, mujoco.ask(one.request())).failed
