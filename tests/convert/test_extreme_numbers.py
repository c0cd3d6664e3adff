"""Numbers that are too large or too small for an exact conversion are named, with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.cli.main import main
from exoskel.conversion.driver import ExtremeNumberError, report_extreme_numbers
from tests.fuzz.extreme_numbers import places

SKEL = """<skel version="1.0"><world name="w"><physics>
<time_step>{step}</time_step></physics><skeleton name="s"><body name="b">
<transformation>{position} 0 0 0 0 0</transformation>
<inertia><mass>{mass}</mass></inertia></body><body name="c"/></skeleton></world></skel>"""


def document(*, step: str = "0.001", position: str = "0", mass: str = "1") -> bytes:
    return SKEL.format(step=step, position=position, mass=mass).encode()


CASES = {
    "a tiny mass": (document(mass="1e-150"), "usd", 4, "1e-150 is too small for <mass> in a conversion to USD"),
    "a denormal time step": (
        document(step="5e-324"),
        "mjcf",
        2,
        "5e-324 is too small for <time_step> in a conversion to MJCF",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_an_extreme_number_is_named_with_its_line(name: str) -> None:
    data, to, line, message = CASES[name]
    with pytest.raises(ExtremeNumberError, match=r"nothing was written") as refusal:
        exoskel.convert(data, to=to)
    first = refusal.value.diagnostics[0]
    assert (first.line, first.message, first.code) == (line, message, "FM304")


@pytest.mark.parametrize("size", ["1e60", "1e95", "1e155", "1e200", "1e300", "1e308"])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_position_beyond_single_precision_is_named_however_large_it_is(size: str) -> None:
    data = document(position=size).replace(
        b"</skeleton>",
        b'<joint name="j" type="revolute"><parent>world</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint></skeleton>',
    )
    with pytest.raises(ExtremeNumberError) as refusal:
        exoskel.convert(data, to="usd")
    (first, *_) = refusal.value.diagnostics
    assert first.message == f"{size} is too large for <transformation> in a conversion to USD"


def test_the_most_extreme_numbers_are_named_first() -> None:
    scene = exoskel.load(document(position="1e150", mass="1e-12", step="1e-200"))
    found = [(one.line, one.message) for one in report_extreme_numbers(scene, "XODE")]
    assert found == [
        (2, "1e-200 is too small for <time_step> in a conversion to XODE"),
        (3, "1e150 is too large for <transformation> in a conversion to XODE"),
        (4, "1e-12 is too small for <mass> in a conversion to XODE"),
    ]
    (infinite,) = report_extreme_numbers(exoskel.load(document(mass="inf")), "XODE")
    assert infinite.message == "inf is not finite: <mass> cannot be converted to XODE"


def test_the_command_line_prints_the_diagnostic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.skel").write_bytes(document(mass="1e-150"))
    assert main(["convert", str(tmp_path / "a.skel"), str(tmp_path / "a.usda")]) == 1
    assert "a.skel:4:" in (printed := capsys.readouterr().err) and "[FM304]" in printed
    assert not (tmp_path / "a.usda").exists()


@pytest.mark.parametrize("number", ["1e95", "1e308", "-1e308"])
def test_a_position_beyond_single_precision_is_converted_to_usd_or_named(number: str) -> None:
    try:
        report = exoskel.convert(document(position=number), to="usd")
    except ExtremeNumberError as refusal:
        assert refusal.diagnostics[0].line == 3
    else:
        assert report.certificate.passed


def test_extreme_numbers_that_do_no_harm_are_converted() -> None:
    for to in ("skel", "sdf", "mjcf", "urdf"):
        assert exoskel.convert(document(mass="1e-12"), to=to).certificate.passed


def test_the_fuzzer_has_all_numeric_fields_of_the_tables() -> None:
    for format, least in {"skel": 140, "xode": 190, "urdf": 40, "sdf": 80, "mjcf": 150}.items():
        assert len(places(format)) >= least
