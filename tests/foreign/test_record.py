"""Other readers have judged the very bytes that we write, and what they found is on record.

The judges themselves are asked by `make test-foreign`; here only MuJoCo, which is installed anyway.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from tests.foreign import record
from tests.foreign.asking import JUDGES, Bench
from tests.foreign.cases import NUMBER, Case, cases, digest
from tests.foreign.claims import Claim, claim
from tests.foreign.limits import LIMITS
from tests.foreign.verdicts import BOUNDS, QUANTITIES, verdict

RECORD = record.load()
OURS = [case for case in cases() if case.is_ours]
WRITTEN = [(case, format) for case in OURS for format in case.formats]


@pytest.mark.parametrize(("case", "format"), WRITTEN, ids=lambda value: getattr(value, "name", value))
def test_what_we_write_has_been_judged(case: Case, format: str) -> None:
    judged = RECORD["scenes"].get(case.name, {}).get(format, {}).get("sha256")
    assert case.digest(format) == judged, "run `make test-foreign` to have the new output judged"


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


def test_nothing_else_is_on_record() -> None:
    recorded = {(name, format) for name, formats in RECORD["scenes"].items() for format in formats}
    assert {pair for pair in recorded if not pair[0].startswith("corpus/")} == {(c.name, f) for c, f in WRITTEN}


@pytest.mark.parametrize("name", RECORD["scenes"])
def test_every_judge_agrees(name: str) -> None:
    whys = {(limit.judge, limit.format, limit.why): limit.spares for limit in LIMITS}
    for format, row in RECORD["scenes"][name].items():
        met = row.get("limits", {})
        asked = next((case.judges for case in OURS if case.name == name), ())
        for judge in (one for one in JUDGES if (one.name in asked if asked else format in one.formats)):
            spared = {quantity for why in met.get(judge.name, []) for quantity in whys[judge.name, format, why]}
            found = row["errors"].get(judge.name, [None] * len(QUANTITIES))
            for quantity, error in zip(RECORD["errors"], found, strict=True):
                if error is not None:
                    assert 0.0 <= error <= BOUNDS[format][quantity], (format, judge, quantity)
                else:
                    untold = quantity == "dofs" or quantity not in judge.tells
                    assert quantity in spared or untold, (format, judge, quantity)


# --- the judging itself -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mujoco() -> Iterator[Bench]:
    bench = Bench(next(judge for judge in JUDGES if judge.name == "mujoco"), sys.executable)
    yield bench
    bench.close()


def claimed(name: str, format: str, folder: Path) -> Claim:
    case = next(case for case in OURS if case.name == name)
    (written,) = case.write(format)
    file = folder / written.name
    file.write_text(written.text, encoding="utf-8")
    return claim(file, format, written.mechanism())


RIGS = [case.name for case in OURS if case.name.startswith("rigs/")]


@pytest.mark.parametrize("format", ["mjcf", "urdf"])
@pytest.mark.parametrize("name", RIGS)
def test_mujoco_agrees_on_every_kind_of_joint(name: str, format: str, mujoco: Bench, tmp_path: Path) -> None:
    one = claimed(name, format, tmp_path)
    found = verdict(one, mujoco.ask(one.request()))
    assert (found.failed, found.faults(BOUNDS[format])) == ("", [])
    assert found.errors.keys() >= {"mass", "com", "inertia", "pose", "mass_matrix"}


CHANGES = {
    "mass": (r'<mass value="2"/>', r'<mass value="2.00000001"/>'),
    "com": (r'(<inertial>\s*<origin xyz=")\S+', r"\g<1>0.123"),
    "inertia": (r'iyz="[^"]*"', r'iyz="0.0123"'),
    "pose": (r'(rpy=")\S+', r"\g<1>0.123"),
}


@pytest.mark.parametrize("quantity", CHANGES)
def test_what_is_wrong_is_found(quantity: str, mujoco: Bench, tmp_path: Path) -> None:
    one = claimed("rigs/revolute", "urdf", tmp_path)
    text = one.file.read_text(encoding="utf-8")
    changed, count = re.subn(*CHANGES[quantity], text, count=1)
    assert count == 1
    one.file.write_text(changed, encoding="utf-8")
    found = verdict(one, mujoco.ask(one.request()))
    bounds = BOUNDS["urdf"]
    assert found.errors[quantity] > bounds[quantity]
    # Where the whole stands does not change how heavy it is.
    assert (found.errors["mass_matrix"] > bounds["mass_matrix"]) == (quantity != "pose")


def test_a_body_too_many_is_found(mujoco: Bench, tmp_path: Path) -> None:
    one = claimed("rigs/weld", "urdf", tmp_path)
    text = one.file.read_text(encoding="utf-8")
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    link = f'<link name="extra">{inertial}</link>'
    joint = '<joint name="extra" type="fixed"><parent link="world"/><child link="extra"/></joint>'
    one.file.write_text(text.replace("</robot>", f"{link}{joint}</robot>"), encoding="utf-8")
    assert "none of ours: extra" in verdict(one, mujoco.ask(one.request())).failed


def test_a_judge_that_crashes_is_asked_again(mujoco: Bench, tmp_path: Path) -> None:
    one = claimed("rigs/weld", "mjcf", tmp_path)
    mujoco._process.kill()
    mujoco._process.wait()
    assert "crashes" in mujoco.ask(one.request())["failed"]
    assert not verdict(one, mujoco.ask(one.request())).failed
