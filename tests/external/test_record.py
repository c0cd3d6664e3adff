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

import exoskel
from tests.external import reader_process, record
from tests.external.cases import NUMBER, Case, cases, digest
from tests.external.comparison import BOUNDS, QUANTITIES, compare
from tests.external.documents import FORMATS
from tests.external.expectation import Expectation, expect
from tests.external.limits import LIMITS
from tests.external.reader_process import READERS, ExternalReader, ReaderProcess
from tests.external.runner import ComparisonJob, Outcome
from tests.support.places import SAMPLES

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

    other = [structs.replace(one, plain=NUMBER.sub(noisy, one.plain)) for one in written]
    assert [one.plain for one in other] != [one.plain for one in written]
    assert digest(other) == digest(written)


COMMENTED = ["samples/skel/cart_pole.skel", "samples/xode/hinge2_car.xode", "samples/skel/geometry_zoo.skel"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", COMMENTED)
def test_readers_get_the_very_bytes_that_conversions_write(name: str, format: str) -> None:
    written = next(case for case in OURS if case.name == name).write(format)
    scene = exoskel.load(SAMPLES / name.removeprefix("samples/"))
    models = [model.name for model in scene.world.models] if format == "urdf" else [None]
    files = [exoskel.convert(scene, to=format, model=model).data.decode() for model in models]
    assert [one.text for one in written] == files
    assert any(one.text != one.plain for one in written) == (format != "usd")


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


# --- other processors and older readers -----------------------------------------------------------------

VERSIONS = {"drake": "1.58.0", "dart": "6.20.3"}
JOB = ComparisonJob("scene", "sdf", "1", ("drake",), [])


def recorded(error: float, versions: dict[str, str], before: record.Record, sha256: str = "1") -> record.Record:
    outcomes = {("scene", "sdf", "drake"): Outcome({"mass": error}, [], [])}
    return record.updated([structs.replace(JOB, sha256=sha256)], outcomes, versions, "today", before)


def test_errors_of_another_processor_are_not_recorded_again() -> None:
    before = recorded(9e-13, VERSIONS, {"scenes": {}})
    assert before["scenes"]["scene"]["sdf"]["errors"]["drake"][0] == 1e-12
    assert recorded(1.1e-12, VERSIONS, before) is before
    assert recorded(2e-13, VERSIONS, before) is before
    assert recorded(2e-11, VERSIONS, before)["scenes"]["scene"]["sdf"]["errors"]["drake"][0] == 1e-10


def test_an_older_reader_is_recorded_only_with_other_results() -> None:
    before = recorded(1e-13, VERSIONS, {"scenes": {}})
    older, newer = {**VERSIONS, "drake": "1.51.1"}, {**VERSIONS, "drake": "1.58.1"}
    assert recorded(1e-13, older, before) is before
    assert recorded(1e-13, newer, before)["readers"] == newer
    assert recorded(1e-13, older, before, sha256="2")["readers"] == older


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


READER = """import sys, time
print('{"version": "1"}', flush=True)
for line in sys.stdin:
    WORK
    print("{}", flush=True)
"""


@pytest.mark.parametrize(("work", "answer"), [("time.sleep(1)", {}), ("while True: pass", {"failed": "hangs"})])
def test_only_processor_time_makes_a_reader_hang(
    work: str, answer: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "own_reader.py").write_text(READER.replace("WORK", work), encoding="utf-8")
    monkeypatch.setattr(reader_process, "FOLDER", tmp_path)
    monkeypatch.setattr(reader_process, "TIMEOUT", 0.4)
    process = ReaderProcess(ExternalReader("own", "Own", "own", ("mjcf",)), sys.executable)
    assert process.ask({}) == answer
    process.close()


def test_a_reader_restarts_after_a_crash(mujoco: ReaderProcess, tmp_path: Path) -> None:
    one = claimed("rigs/weld", "mjcf", tmp_path)
    mujoco._process.kill()
    mujoco._process.wait()
    assert "crashes" in mujoco.ask(one.request())["failed"]
    assert not compare(one, mujoco.ask(one.request())).failed
