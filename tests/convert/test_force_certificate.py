"""Certificates of MJCF compare what springs, dampers, friction and motors do, not only their coefficients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.fates import Fate
from exoskel.formats.mjcf.file_writer import FileWriter
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.joint import TRAITS, UNLIMITED, Interval
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
    return force_row(report).max_error


def force_row(report: exoskel.Report) -> exoskel.Check:
    (row,) = [check for check in report.certificate.checks if check.name.startswith(ROW)]
    return row


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


AXES = {
    "revolute": "<axis><xyz>0.6 0.8 0</xyz></axis>",
    "prismatic": "<axis><xyz>0.6 0.8 0</xyz></axis>",
    "screw": "<axis><xyz>0.6 0.8 0</xyz><pitch>0.3</pitch></axis>",
    "universal": "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>",
    "hinge2": "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>",
    "euler": "<axis_order>xyz</axis_order>",
    "planar": '<plane type="zx"/>',
    "translational2d": '<plane type="zx"/>',
    "translational": "",
    "ball": "",
    "free": "",
}
COUNTS = {kind: len(TRAITS[kind].motion) for kind in AXES}


def resisting(kind: str, actuator: str = "force") -> exoskel.Scene:
    """A joint of that kind, with another spring, damper, friction and motor for each coordinate, above a hinge."""
    dofs = "".join(
        f'<dof local_index="{i}"><damping>{0.5 + i}</damping><spring_stiffness>{3 + i}</spring_stiffness>'
        f"<spring_rest_position>{0.2 + 0.1 * i:g}</spring_rest_position>"
        f'<friction>{0.1 * (i + 1):g}</friction><force lower="-{2 + i}" upper="{4 + i}"/></dof>'
        for i in range(COUNTS[kind])
    )
    text = f"""<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step></physics><skeleton name="s">
<body name="a"><transformation>0 0 0 1 0 0</transformation></body>
<body name="b"><transformation>0 0 1 0 0 0</transformation></body>
<joint type="{"universal" if kind == "hinge2" else kind}" name="j" actuator="{actuator}">
<parent>world</parent><child>a</child>
<transformation>0.1 0.2 0.3 0.4 0.5 0.6</transformation>{AXES[kind]}{dofs}</joint>
<joint type="revolute" name="k"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis></joint>
</skeleton></world></skel>"""
    scene = exoskel.load(text.encode())
    scene.world.models[0].joints[0].kind = kind  # type: ignore[assignment]  # SKEL has no hinge2
    return scene


def test_forces_of_every_joint_kind_with_coordinates_of_its_own_are_tested() -> None:
    assert AXES.keys() == {kind for kind, traits in TRAITS.items() if traits.motion} - {"amotor"}


COMPARED = [(kind, actuator) for actuator in ("force", "servo") for kind in AXES]


@pytest.mark.parametrize("actuator", ["force", "servo"])
@pytest.mark.parametrize("kind", AXES)
def test_forces_of_each_joint_kind_are_compared(kind: str, actuator: str) -> None:
    """A ball or free joint is compared with what the document approximates."""
    report = exoskel.convert(resisting(kind, actuator), to="mjcf")
    assert report.certificate.passed
    assert force_row(report).name == ROW


@pytest.mark.parametrize("attribute", ["damping", "stiffness", "frictionloss"])
@pytest.mark.parametrize(("kind", "actuator"), COMPARED)
def test_a_value_on_a_wrong_axis_fails_for_each_joint_kind(
    monkeypatch: pytest.MonkeyPatch, kind: str, actuator: str, attribute: str
) -> None:
    """The values of two MuJoCo joints are exchanged; those of the only one of a kind with the next body's."""
    planted(monkeypatch, exchange(attribute))
    assert not force_row(exoskel.convert(resisting(kind, actuator), to="mjcf")).passed


def first_with(elements: Sequence[MjcfElement], attribute: str) -> dict[str, Any]:
    return next(element.attributes for element in elements if attribute in element.attributes)


def scale(attribute: str, factor: float) -> Callable[[MjcfElement], None]:
    """Multiply the first value of an attribute of joints."""

    def change(root: MjcfElement) -> None:
        attributes = first_with(joints(root), attribute)
        attributes[attribute] = float(np.ravel(attributes[attribute])[0]) * factor

    return change


@pytest.mark.parametrize("attribute", ["damping", "stiffness", "frictionloss"])
@pytest.mark.parametrize("kind", AXES)
def test_a_wrong_value_fails_for_each_joint_kind(monkeypatch: pytest.MonkeyPatch, kind: str, attribute: str) -> None:
    planted(monkeypatch, scale(attribute, 1.01))
    assert not force_row(exoskel.convert(resisting(kind), to="mjcf")).passed


@pytest.mark.parametrize("kind", [kind for kind in AXES if kind not in ("ball", "free")])
def test_a_wrong_rest_position_fails_for_each_joint_kind(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    planted(monkeypatch, scale("springref", 1.01))
    assert not force_row(exoskel.convert(resisting(kind), to="mjcf")).passed


@pytest.mark.parametrize(("attribute", "value"), [("gear", (1.01,)), ("gear", (-1.0,)), ("forcerange", (-2.0, 3.9))])
@pytest.mark.parametrize("kind", [kind for kind in AXES if kind not in ("ball", "free")])
def test_a_wrong_motor_fails_for_each_joint_kind(
    monkeypatch: pytest.MonkeyPatch, kind: str, attribute: str, value: tuple[float, ...]
) -> None:
    def change(root: MjcfElement) -> None:
        attributes = root.child("actuator").children[0].attributes
        attributes["ctrlrange" if attribute == "forcerange" and "ctrlrange" in attributes else attribute] = value

    planted(monkeypatch, change)
    assert not force_row(exoskel.convert(resisting(kind), to="mjcf")).passed


@pytest.mark.parametrize("limit", [1e9, 1e12, 1e307])
def test_very_large_force_limits_agree(limit: float) -> None:
    scene = resisting("revolute")
    scene.world.models[0].joints[0].dofs[0].force_limits = (-limit, limit)
    assert force_row(exoskel.convert(scene, to="mjcf")).passed


@pytest.mark.parametrize("turn", [lambda axis: tuple(-v for v in axis), lambda axis: (axis[2], axis[0], axis[1])])
@pytest.mark.parametrize("kind", [kind for kind in AXES if kind != "ball"])
def test_a_wrong_axis_fails_for_each_joint_kind(
    monkeypatch: pytest.MonkeyPatch, kind: str, turn: Callable[[Any], Any]
) -> None:
    """Springs act about the axes of the document: one that points elsewhere moves and pushes differently."""

    def change(root: MjcfElement) -> None:
        attributes = first_with(joints(root), "axis")
        attributes["axis"] = turn(attributes["axis"])

    planted(monkeypatch, change)
    assert not exoskel.convert(resisting(kind), to="mjcf").certificate.passed


@pytest.mark.parametrize("limits", [UNLIMITED, (-2.0, 5.0)])
def test_servos_are_compared(monkeypatch: pytest.MonkeyPatch, limits: Interval) -> None:
    scene = resisting("universal", "servo")
    scene.world.models[0].joints[0].dofs[1].force_limits = limits
    assert exoskel.convert(scene, to="mjcf").certificate.passed

    def change(root: MjcfElement) -> None:
        first, second = (tendon.children[0].attributes for tendon in root.child("tendon").children[:2])
        first["joint"], second["joint"] = second["joint"], first["joint"]

    planted(monkeypatch, change)
    report = exoskel.convert(scene, to="mjcf")
    assert force_row(report).passed is False


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


@pytest.mark.parametrize(
    ("frame", "exact"), [("0 0 0 0 0 0", True), ("0 0 0 1.5707963267948966 0 0", True), ("0 0 0 1 0 0", False)]
)
def test_equal_friction_about_rotated_axes_of_a_ball_is_approximated(frame: str, exact: bool) -> None:
    dofs = "".join(f'<dof local_index="{i}"><friction>1</friction></dof>' for i in range(3))
    text = FLOATING.format(angle=0, dofs=f"<transformation>{frame}</transformation>{dofs}")
    report = exoskel.convert(text.replace('type="free"', 'type="ball"'), to="mjcf")
    approximated = [item for item in report.items if item.fate is Fate.APPROXIMATED and "dof" in item.path]
    assert bool(approximated) is not exact
    assert report.certificate.passed


@pytest.mark.parametrize("kind", CLASSES)
def test_forces_of_random_worlds_agree_where_they_are_called_exact(kind: str) -> None:
    for world in random_worlds(kind, 8):
        assert exoskel.convert(world.text, to="mjcf").certificate.passed, world.name


def test_an_angular_motor_is_left_out() -> None:
    """It acts on a joint of the tree, whose own forces are compared."""
    report = exoskel.convert("dart://sample/xode/amotor_gimbal.xode", to="mjcf")
    assert force_row(report).name == f"{ROW}, without 1 joint that cannot be compared"
    assert report.certificate.passed
