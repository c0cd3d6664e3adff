"""Certificates of MJCF compare what springs, dampers, friction and motors do, not only their coefficients."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import exoskel
from exoskel.fates import Fate
from exoskel.formats.mjcf.file_writer import FileWriter
from exoskel.formats.mjcf.tree import MjcfElement
from tests.motion.random_worlds import CLASSES, random_worlds

ROW = "generalised forces at random states"
ROBOT = """<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>
<skeleton name="s"><body name="a"/><body name="b"><transformation>0 0 1 0 0 0</transformation></body>
<joint type="{kind}" name="j"><parent>world</parent><child>a</child>
<dof local_index="0"><damping>0.5</damping><spring_stiffness>3</spring_stiffness></dof>
<dof local_index="1"><friction>0.2</friction></dof></joint>
<joint type="revolute" name="k"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis>
<dof local_index="0"><force lower="-2" upper="2"/></dof></joint></skeleton></world></skel>"""
FLOATING = """<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step><gravity>0 0 0</gravity></physics>
<skeleton name="s"><body name="b"><transformation>0 0 0 {angle} 0 0</transformation></body>
<joint type="free" name="j"><parent>world</parent><child>b</child>{dofs}</joint></skeleton></world></skel>"""


def error(report: exoskel.Report) -> float | None:
    (row,) = [check for check in report.certificate.checks if check.name == ROW]
    return row.max_error


def planted(monkeypatch: pytest.MonkeyPatch, change: Callable[[MjcfElement], None]) -> None:
    """Change every document before it is written."""
    original = FileWriter.document

    def document(self: FileWriter) -> MjcfElement:
        root = original(self)
        change(root)
        return root

    monkeypatch.setattr(FileWriter, "document", document)


def joints(root: MjcfElement) -> list[MjcfElement]:
    return [element for element in root.child("worldbody").iter() if element.tag == "joint"]


@pytest.mark.parametrize("kind", ["translational", "planar"])
def test_forces_of_an_exact_conversion_agree(kind: str) -> None:
    report = exoskel.convert(ROBOT.format(kind=kind), to="mjcf")
    assert report.certificate.passed
    assert error(report) == pytest.approx(0.0, abs=1e-12)


def exchange(*names: str) -> Callable[[MjcfElement], None]:
    """Exchange attributes of the first two joints."""

    def change(root: MjcfElement) -> None:
        first, second = (joint.attributes for joint in joints(root)[:2])
        for name in names:
            one, other = first.pop(name, None), second.pop(name, None)
            first |= {} if other is None else {name: other}
            second |= {} if one is None else {name: one}

    return change


@pytest.mark.parametrize("attribute", ["damping", "stiffness", "frictionloss", "axis"])
def test_a_spring_or_damper_on_a_wrong_axis_fails(monkeypatch: pytest.MonkeyPatch, attribute: str) -> None:
    planted(monkeypatch, exchange(attribute))
    assert not exoskel.convert(ROBOT.format(kind="translational"), to="mjcf").certificate.passed


@pytest.mark.parametrize("attribute", ["damping", "stiffness", "axis"])
@pytest.mark.parametrize(
    "lost",
    ['<velocity lower="-1" upper="1"/>', '<force initial="1"/>', '<acceleration initial="1" lower="-1" upper="1"/>'],
)
def test_a_wrong_axis_fails_also_where_limits_or_initial_forces_are_lost(
    monkeypatch: pytest.MonkeyPatch, attribute: str, lost: str
) -> None:
    robot = ROBOT.format(kind="translational").replace(
        '<dof local_index="1">', f'<dof local_index="0">{lost}</dof><dof local_index="1">'
    )
    planted(monkeypatch, exchange(attribute))
    assert not exoskel.convert(robot, to="mjcf").certificate.passed


def test_a_motor_with_a_wrong_gear_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def change(root: MjcfElement) -> None:
        root.child("actuator").children[0].attributes["gear"] = (-1.0,)

    planted(monkeypatch, change)
    assert not exoskel.convert(ROBOT.format(kind="translational"), to="mjcf").certificate.passed


@pytest.mark.parametrize(
    ("angle", "dofs", "exact"),
    [
        (0, '<dof local_index="5"><damping>1.8</damping></dof>', True),
        (1, '<dof local_index="5"><damping>1.8</damping></dof>', False),
        (1, "".join(f'<dof local_index="{i}"><damping>1.8</damping></dof>' for i in (3, 4, 5)), True),
        (0, '<dof local_index="3"><spring_stiffness>5</spring_stiffness></dof>', True),
        (1, '<dof local_index="3"><spring_stiffness>5</spring_stiffness></dof>', False),
        (0, "".join(f'<dof local_index="{i}"><friction>1</friction></dof>' for i in range(3)), False),
    ],
)
def test_what_acts_along_other_axes_than_in_the_scene_is_approximated(angle: float, dofs: str, exact: bool) -> None:
    report = exoskel.convert(FLOATING.format(angle=angle, dofs=dofs), to="mjcf")
    approximated = [item for item in report.items if item.fate is Fate.APPROXIMATED and "dof" in item.path]
    assert bool(approximated) is not exact
    assert report.certificate.passed


@pytest.mark.parametrize("kind", CLASSES)
def test_forces_of_random_worlds_agree_where_they_are_called_exact(kind: str) -> None:
    for world in random_worlds(kind, 8):
        assert exoskel.convert(world.text, to="mjcf").certificate.passed, world.name
