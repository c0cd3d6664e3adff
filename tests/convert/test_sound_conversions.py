"""Sound scenes are not refused: tolerances are what the source and the target can hold, and a value without effect may go."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

import exoskel
from exoskel.fates import Fate
from exoskel.formats.interface import Semantics
from tests.motion.random_worlds import CLASSES as SKEL_CLASSES
from tests.motion.random_worlds import RandomWorld, random_world
from tests.motion.random_xode import CLASSES as XODE_CLASSES
from tests.motion.random_xode import random_xode
from tests.support.places import sample_files

LONG_COLOR = "0.792156862745098 0.819607843137255 0.933333333333333"
SKEL = """<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>
<skeleton name="s"><body name="b"><inertia><mass>1</mass></inertia><visualization_shape><geometry><box>
<size>.1 .2 .3</size></box></geometry><color>{color}</color></visualization_shape></body>
<joint type="{joint}" name="j"><parent>world</parent><child>b</child>{axis}</joint></skeleton></world></skel>"""
URDF = f"""<robot name="r"><link name="a"><visual><geometry><box size="1 1 1"/></geometry>
<material name="m"><color rgba="{LONG_COLOR} 1"/></material></visual></link></robot>"""
FORMATS = ("skel", "xode", "mjcf", "urdf", "sdf", "usd", "gltf")


def failures(report: exoskel.Report) -> list[str]:
    return [check.name for check in report.certificate.checks if not check.passed]


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("text", [SKEL.format(color=LONG_COLOR, joint="free", axis=""), URDF], ids=["skel", "urdf"])
def test_colours_with_many_digits_are_converted(text: str, to: str) -> None:
    assert not failures(exoskel.convert(text, to=to))


def test_the_tolerance_of_colours_in_mjcf_is_single_precision() -> None:
    checks = {c.name: c for c in exoskel.convert(URDF, to="mjcf").certificate.checks}
    assert checks["colours"].tolerance == 1e-6 and checks["shapes"].tolerance == 1e-9
    assert 0.0 < (checks["colours"].max_error or 0.0) < 1e-7


@pytest.mark.parametrize("to", FORMATS)
def test_a_rest_position_without_stiffness_is_no_obstacle_and_no_loss(to: str) -> None:
    rest = "<dynamics><damping>1</damping><spring_rest_position>0.5</spring_rest_position></dynamics>"
    text = SKEL.format(color="1 0 0", joint="revolute", axis=f"<axis><xyz>0 0 1</xyz>{rest}</axis>")
    report = exoskel.convert(text, to=to)
    assert not failures(report)
    (row,) = [item for item in report.items if item.path.endswith("spring_rest_position")]
    assert row.fate in (Fate.EXACT, Fate.KEPT) or not row.loss


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("semantics", get_args(Semantics))
@pytest.mark.parametrize("file", [f for f in sample_files() if "<mesh>" in f.read_text()], ids=lambda f: f.stem)
def test_scenes_with_meshes_are_converted_in_both_readings(file: Path, semantics: Semantics, to: str) -> None:
    assert not failures(exoskel.convert(file, to=to, semantics=semantics))


@pytest.mark.parametrize("target", ["portable", "pyode"])
def test_limits_that_dart_does_not_enforce_are_no_stops_in_xode(target: str) -> None:
    sample = "dart://sample/skel/robot_arm.skel"
    report = exoskel.convert(exoskel.load(sample, semantics="dart"), None, to="xode", target=target, approximate=True)
    assert report.certificate.passed
    assert b"Stop=" not in report.data
    back = exoskel.load(report.data).world
    limits = {(j.name, *dof.position_limits) for j in back.joints() for dof in j.dofs if dof.position_limits[0] > -10}
    assert (not limits) if target == "pyode" else limits
    assert b"LowStop=" in exoskel.convert(sample, None, to="xode", target=target, approximate=True).data


ANGULAR_MOTOR = """<xode><transform><rotation><euler x="0.1" y="0.2" z="0.3"/></rotation></transform><world><space>
<body name="a"/><body name="b"/><joint><link1 body="a"/>{link}<amotor/></joint></space></world></xode>"""


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("link", ["", '<link2 body="b"/>'], ids=["to the world", "between two bodies"])
def test_angular_motors_on_floating_bodies_are_converted_in_any_frame(link: str, to: str) -> None:
    report = exoskel.convert(ANGULAR_MOTOR.format(link=link), to=to, model="a" if to == "urdf" else None)
    assert report.certificate is None or [check for check in report.certificate.checks if not check.passed] == []


UNUSED_VERTEX = """<xode version="1.0r22"><world name="w"><space name="s"><geom name="g"><trimesh><vertices>
<v x="0" y="0" z="0"/><v x="1" y="0" z="0"/><v x="0" y="1.5" z="0"/><v x="0" y="0" z="1"/></vertices>
<triangles><t ia="1" ib="2" ic="4"/></triangles></trimesh></geom></space></world></xode>"""
MOTOR_IN_A_RING = """<xode version="1.0r22"><world name="w"><space name="s"><body name="c"/><body name="b"/>
<joint name="m"><link1 body="b"/><amotor/></joint>
<joint name="u"><link2 body="c"/><universal><axis x="0" y="1" z="0"/><axis x="1" y="0" z="0"/></universal></joint>
<joint name="f"><link1 body="b"/><link2 body="c"/><fixed/></joint></space></world></xode>"""


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("text", [UNUSED_VERTEX, MOTOR_IN_A_RING], ids=["unused vertex", "motor in a ring"])
def test_scenes_that_were_found_at_random_are_converted(text: str, to: str) -> None:
    assert not failures(exoskel.convert(text, to=to))


LARGE = """<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>{mass}</mass></inertia></body>
<joint type="prismatic" name="j" actuator="{actuator}"><parent>world</parent><child>b</child><axis><xyz>1 0 0</xyz>{axis}
</axis>{dof}</joint></skeleton></world></skel>"""
SLIDER = {"mass": "1", "actuator": "force", "axis": "", "dof": ""}
LIMITS = "<limit><lower>{}</lower><upper>{}</upper></limit>"
RANGE = '<dof local_index="0"><{} lower="{}" upper="{}"/></dof>'
LARGE_NUMBERS = {
    "mass": {"mass": "1e60"},
    "damping": {"axis": "<dynamics><damping>1e50</damping></dynamics>"},
    "friction": {"axis": "<dynamics><friction>1e50</friction></dynamics>"},
    "both limits": {"axis": LIMITS.format("-1e12", "1e12")},
    "upper limit": {"axis": LIMITS.format("-1", "1e17")},
    "force limits": {"dof": RANGE.format("force", "-1e50", "1e50")},
    "forces of a servo": {"dof": RANGE.format("force", "-1e50", "1e50"), "actuator": "servo"},
    "velocity limits": {"dof": RANGE.format("velocity", "-1e50", "1")},
    "initial velocity": {"dof": "<init_vel>1e60</init_vel>"},
}


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("values", LARGE_NUMBERS.values(), ids=LARGE_NUMBERS)
def test_numbers_out_of_the_range_of_a_format_are_losses_or_exact(values: dict[str, str], to: str) -> None:
    assert not failures(exoskel.convert(LARGE.format(**SLIDER | values), to=to))


def test_a_number_out_of_single_precision_is_approximated_in_usd() -> None:
    report = exoskel.convert(LARGE.format(**SLIDER | LARGE_NUMBERS["mass"]), to="usd")
    (found,) = [item for item in report.losses if item.path.endswith("mass")]
    assert found.fate is Fate.APPROXIMATED and "1e+60 is out of the range of single precision" in found.why


RANDOM_WORLDS = [
    *(random_world(kind, seed) for kind in SKEL_CLASSES for seed in (1000, 1006, 1011)),
    *(random_xode(kind, seed) for kind in XODE_CLASSES for seed in (1000, 1007)),
    random_world("free", 1017),
]


@pytest.mark.parametrize("world", RANDOM_WORLDS, ids=lambda world: world.name)
def test_random_worlds_are_converted_to_every_format_and_back(world: RandomWorld, tmp_path: Path) -> None:
    own = "skel" if world.text.startswith("<skel") else "xode"
    source = tmp_path / f"source.{own}"
    source.write_text(world.text)
    for to in FORMATS:
        folder = tmp_path / to
        folder.mkdir()
        output = folder if to == "urdf" else folder / f"x.{EXTENSIONS.get(to, to)}"  # URDF: a file for each model
        report = exoskel.convert(source, output, to=to)
        assert report.saved and not failures(report), to
        for file in _documents(folder, to) if to not in ("gltf", own) else ():
            back = exoskel.convert(file, tmp_path / f"back.{own}", overwrite=True)
            assert back.saved and not failures(back), to


EXTENSIONS = {"mjcf": "xml", "usd": "usda", "gltf": "glb"}


def _documents(folder: Path, to: str) -> list[Path]:
    return sorted(folder.glob(f"*.{EXTENSIONS.get(to, to)}"))
