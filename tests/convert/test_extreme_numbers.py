"""Numbers that are too large or too small for an exact conversion are named, with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

import exoskel
from exoskel.cli.main import main
from exoskel.conversion.extreme_numbers import ExtremeNumberError, report_extreme_numbers
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


@pytest.mark.parametrize(
    "limits",
    [
        "<axis><xyz>0 0 1</xyz><limit><lower>-inf</lower><upper>inf</upper></limit></axis>",
        '<axis><xyz>0 0 1</xyz></axis><dof local_index="0"><position lower="-inf" upper="inf"/></dof>',
    ],
)
def test_an_infinite_limit_is_not_named(limits: str) -> None:
    """Another number is the reason, here a tiny mass."""
    joint = f'<joint name="j" type="revolute"><parent>world</parent><child>b</child>{limits}</joint></skeleton>'
    data = document(mass="1e-150").replace(b"</skeleton>", joint.encode())
    with pytest.raises(ExtremeNumberError) as refusal:
        exoskel.convert(data, to="usd")
    assert [one.message for one in refusal.value.diagnostics] == [
        "1e-150 is too small for <mass> in a conversion to USD"
    ]


@pytest.mark.parametrize("more", [{"position": "1e17"}, {"step": "1e-250"}])
def test_only_numbers_that_prevent_the_conversion_are_named(more: dict[str, str]) -> None:
    """All extreme numbers were named, and the most extreme one first."""
    assert exoskel.convert(document(**more), to="usd").certificate.passed
    with pytest.raises(ExtremeNumberError) as refusal:
        exoskel.convert(document(mass="1e-150", **more), to="usd")
    assert [one.message for one in refusal.value.diagnostics] == [
        "1e-150 is too small for <mass> in a conversion to USD"
    ]


def test_numbers_that_prevent_the_conversion_together_are_all_named() -> None:
    data = document(mass="1e-150").replace(
        b'<body name="c"/>', b'<body name="c"><inertia><mass>1e-200</mass></inertia></body>'
    )
    with pytest.raises(ExtremeNumberError) as refusal:
        exoskel.convert(data, to="usd")
    assert sorted(one.message.split()[0] for one in refusal.value.diagnostics) == ["1e-150", "1e-200"]


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


def test_fingerprints_and_names_are_not_numbers() -> None:
    data = document(mass="1e-12").replace(b'name="c"', b'name="1e400"')
    data = data.replace(
        b"</skel>", b'<e:carry xmlns:e="urn:exoskel:carried" field="pose" was="02e11238">{}</e:carry></skel>'
    )
    found = [one.message for one in report_extreme_numbers(exoskel.load(data), "XODE")]
    assert found == ["1e-12 is too small for <mass> in a conversion to XODE"]


def arm(far: str, size: str, offset: str = "0 0 0") -> str:
    return f"""<skel version="1.0"><world name="w"><skeleton name="s"><body name="a">
    <transformation>{far} 1.1234567 -0.7654321 2.9182736</transformation><inertia><mass>0.7</mass><offset>{offset}</offset>
    </inertia><collision_shape><transformation>0 0 0 2.1 0.3 1.7</transformation><geometry><box><size>{size} {size} {size}
    </size></box></geometry></collision_shape></body><body name="b"><transformation>{far} 0.3 1.2 -2.2</transformation>
    <inertia><mass>0.3</mass></inertia></body>
    <joint name="i" type="revolute"><parent>world</parent><child>a</child><transformation>0.0123456 0.0654321 0.0333333 0.2
    0.1 0.7</transformation><axis><xyz>0.36 0.48 0.8</xyz></axis></joint>
    <joint name="j" type="revolute"><parent>a</parent><child>b</child><transformation>0.0765432 0.0111111 0.0987654 1.2
    0.4 -0.7</transformation><axis><xyz>0.8 0.36 0.48</xyz></axis></joint></skeleton></world></skel>"""


@pytest.mark.parametrize("to", ["skel", "xode", "mjcf", "urdf", "sdf", "usd", "gltf"])
@pytest.mark.parametrize("far", ["12345.6789 -98765.4321 3.21e4", "1234567.89 -987654.321 3.21e5"])
def test_scenes_far_from_the_origin_are_converted_with_all_digits(to: str, far: str) -> None:
    """13 digits of coordinates, or of angles far from the origin, are too few for the certificate."""
    assert exoskel.convert(arm(far, "0.1"), to=to).certificate.passed


@pytest.mark.parametrize("to", ["skel", "xode", "mjcf", "urdf", "sdf", "usd"])
def test_centres_of_mass_of_tiny_bodies_are_converted(to: str) -> None:
    """An offset of 0.3 nm is not a rounding error where the body has 1 µm."""
    assert exoskel.convert(arm("0.1 0.2 0.3", "1e-6", "8e-13 2.9e-10 6.7e-13"), to=to).certificate.passed


NOISE = """<robot name="r"><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
<link name="t"><inertial><mass value="0.746"/><origin xyz="-0.0054 0.00163 -0.0172"/>
<inertia ixx="2.71e-20" ixy="-1.69e-21" ixz="1.35e-20" iyy="5.42e-20" iyz="3.38e-21" izz="1.35e-20"/></inertial></link>
<joint name="j" type="fixed"><origin rpy="5.7e-66 0 0"/><parent link="a"/><child link="t"/></joint></robot>"""


@pytest.mark.parametrize("to", ["xode", "skel"])
def test_moments_that_are_rounding_errors_are_embedded(to: str) -> None:
    """Such as those of the robot iCub: about the origin of the body nothing of them is left."""
    report = exoskel.convert(NOISE, to=to)
    assert report.certificate.passed
    (body,) = [body for body in exoskel.load(report.data).world.bodies() if body.name == "t"]
    assert (body.mass, body.inertia.moment[0]) == (0.746, 2.71e-20)
