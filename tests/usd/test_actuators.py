"""Actuators and fixed tendons of MuJoCo's and Newton's schemas."""

from __future__ import annotations

from math import inf, radians
from pathlib import Path

import mujoco
import numpy as np
import pytest
from msgspec import structs

import exoskel
from exoskel.scene.actuator import Activation, Actuator
from exoskel.scene.tendon import TendonJoint
from exoskel.source.output_context import Target
from tests.usd.test_mujoco_joints import body, joint, keys, load

pytest.importorskip("pxr", reason="usd-core is not installed")

ARM = body("a") + joint("turn", "a", "double mjc:ref = 10") + body("b") + joint("slide", "b", kind="Prismatic")
ACTUATOR = """
def MjcActuator "drive"
{{
    rel mjc:target = </{target}>
    {values}
}}
"""
NEWTON = """
def NewtonActuator "drive" (prepend apiSchemas = [{apis}])
{{
    rel newton:targets = </turn>
    {values}
}}
"""
POSITION = """uniform double[] mjc:gainPrm = [20, 0, 0]
    uniform token mjc:biasType = "affine"
    uniform double[] mjc:biasPrm = [0, -20, -2]"""
RANGES = """uniform double mjc:ctrlRange:min = -1
    uniform double mjc:ctrlRange:max = 2
    uniform double mjc:forceRange:max = 7"""


def mujoco_actuator(values: str, folder: Path, target: str = "slide", metre: float = 1.0) -> Actuator:
    scene = load(ARM + ACTUATOR.format(target=target, values=values), folder, metre=metre)
    (found,) = scene.world.actuators
    return found


def newton_actuator(values: str, folder: Path, *apis: str) -> exoskel.Scene:
    names = ", ".join(f'"{name}"' for name in apis)
    return load(ARM + NEWTON.format(apis=names, values=values), folder)


def test_a_motor_has_its_gear_and_ranges(tmp_path: Path) -> None:
    found = mujoco_actuator(f"uniform double[] mjc:gear = [50, 0, 0, 0, 0, 0]\n    {RANGES}", tmp_path, "turn")
    assert (found.name, found.joint, found.kind, found.gear, found.gain) == ("drive", "a/turn", "motor", 50.0, 1.0)
    assert (found.control_range, found.force_range) == ((-1.0, 2.0), (0.0, 7.0))


@pytest.mark.parametrize(("stated", "limits"), [("true", (0.0, 0.0)), ("false", (-inf, inf)), ("auto", (-inf, inf))])
def test_ranges_are_limits_as_in_mujoco(stated: str, limits: tuple[float, float], tmp_path: Path) -> None:
    assert mujoco_actuator(f'uniform token mjc:ctrlLimited = "{stated}"', tmp_path).control_range == limits


def test_servos_have_their_gains(tmp_path: Path) -> None:
    found = mujoco_actuator(POSITION, tmp_path)
    assert (found.kind, found.gain, found.damping) == ("position", 20.0, 2.0)
    velocity = POSITION.replace("[0, -20, -2]", "[0, 0, -20]")
    assert mujoco_actuator(velocity, tmp_path).kind == "velocity"
    general = mujoco_actuator(POSITION.replace("[0, -20, -2]", "[1, -3, -2]"), tmp_path)
    assert (general.kind, general.gain, general.bias) == ("general", 20.0, (1.0, -3.0, -2.0))


def test_a_servo_measures_from_the_reference_of_its_joint(tmp_path: Path) -> None:
    found = mujoco_actuator(POSITION, tmp_path, "turn")
    assert (found.kind, found.bias) == ("general", pytest.approx((-20 * radians(10), -20.0, -2.0)))


def test_a_servo_follows_the_units_of_the_stage(tmp_path: Path) -> None:
    found = mujoco_actuator(f"{POSITION}\n    {RANGES}", tmp_path, metre=0.01)
    assert (found.kind, found.gain, found.damping) == ("position", 20.0, 2.0)
    assert (found.control_range, found.force_range) == ((-0.01, 0.02), (0.0, 0.07))


@pytest.mark.parametrize(
    ("kind", "activation"),
    [
        ("filter", Activation("filter", 0.25, (-0.01, 0.02), early=True)),
        ("filterexact", Activation("exact_filter", 0.25, (-0.01, 0.02), early=True)),
        ("integrator", Activation("integrator", range=(-0.01, 0.02), early=True)),
    ],
)
def test_activations_follow_the_units_of_the_stage(kind: str, activation: Activation, tmp_path: Path) -> None:
    values = f"""{POSITION}
    uniform token mjc:dynType = "{kind}"
    uniform double[] mjc:dynPrm = [0.25]
    uniform bool mjc:actEarly = 1
    uniform double mjc:actRange:min = -1
    uniform double mjc:actRange:max = 2"""
    found = mujoco_actuator(values, tmp_path, metre=0.01)
    assert (found.kind, found.activation) == ("position", activation)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ('uniform token mjc:dynType = "muscle"', "neither filtered nor integrated"),
        ('uniform token mjc:gainType = "muscle"', "not constant"),
        ('uniform token mjc:biasType = "muscle"', "not linear"),
        ("uniform double[] mjc:gear = [1, 2, 0, 0, 0, 0]", "several axes"),
    ],
)
def test_other_actuators_are_reported(values: str, reason: str, tmp_path: Path) -> None:
    scene = load(ARM + ACTUATOR.format(target="turn", values=values), tmp_path)
    assert not scene.world.actuators
    (found,) = (one for one in scene.diagnostics if one.key == "US113.actuator")
    assert reason in found.message


@pytest.mark.parametrize("target", ["nothing", "a"])
def test_actuators_without_a_joint_are_reported(target: str, tmp_path: Path) -> None:
    scene = load(ARM + ACTUATOR.format(target=target, values=""), tmp_path)
    assert "US113.actuator" in keys(scene)


def test_pd_control_of_newton(tmp_path: Path) -> None:
    values = "float newton:kp = 20\n    float newton:kd = 2\n    float newton:maxEffort = 5"
    scene = newton_actuator(values, tmp_path, "NewtonPDControlAPI", "NewtonMaxEffortClampingAPI")
    (found,) = scene.world.actuators
    assert (found.joint, found.gain, found.force_range) == ("a/turn", 20.0, (-5.0, 5.0))
    assert found.feedback == pytest.approx((-20 * radians(10), -20.0, -2.0))
    (found,) = newton_actuator("float newton:kd = 3", tmp_path, "NewtonPDControlAPI").world.actuators
    assert (found.kind, found.gain) == ("velocity", 3.0)


def test_a_delay_is_reported(tmp_path: Path) -> None:
    scene = newton_actuator("float newton:kp = 20", tmp_path, "NewtonPDControlAPI", "NewtonActuatorDelayAPI")
    assert len(scene.world.actuators) == 1
    assert "US113.delay" in keys(scene)


@pytest.mark.parametrize(
    ("apis", "values"),
    [
        (("NewtonPDControlAPI", "NewtonDCMotorClampingAPI"), ""),
        (("NewtonNeuralControlAPI",), ""),
        (("NewtonPIDControlAPI",), "float newton:ki = 1"),
    ],
)
def test_other_control_of_newton_is_reported(apis: tuple[str, ...], values: str, tmp_path: Path) -> None:
    scene = newton_actuator(values, tmp_path, *apis)
    assert not scene.world.actuators
    assert "US113.actuator" in keys(scene)


# --- tendons ----------------------------------------------------------------------------------------------

TENDON = """
def MjcTendon "cable"
{{
    uniform token mjc:type = "{kind}"
    rel mjc:path = [</slide>, </turn>]
    uniform int[] mjc:path:indices = [1, 0]
    uniform double[] mjc:path:coef = [2, 0.5]
    uniform double mjc:stiffness = 3
    uniform double[] mjc:springlength = [1, 1.5]
    uniform double mjc:range:min = -1
    uniform double mjc:range:max = 4
}}
"""


def test_a_fixed_tendon_and_its_actuator(tmp_path: Path) -> None:
    text = ARM + TENDON.format(kind="fixed") + ACTUATOR.format(target="cable", values=POSITION)
    world = load(text, tmp_path).world
    (tendon,), (actuator,) = world.tendons, world.actuators
    offset = 2 * radians(10)
    assert tendon.joints == (TendonJoint("a/turn", 2.0), TendonJoint("b/slide", 0.5))
    assert tendon.rest_length == pytest.approx((1 - offset, 1.5 - offset))
    assert tendon.limits == pytest.approx((-1 - offset, 4 - offset))
    assert (actuator.tendon, actuator.joint) == ("cable", "")
    assert actuator.feedback[0] == pytest.approx(-20 * offset)


def test_spatial_tendons_are_reported(tmp_path: Path) -> None:
    scene = load(ARM + TENDON.format(kind="spatial"), tmp_path)
    assert not scene.world.tendons
    assert "US113.actuator" in keys(scene)


def test_actuators_are_converted(tmp_path: Path) -> None:
    load(ARM + ACTUATOR.format(target="slide", values=f"{POSITION}\n    {RANGES}"), tmp_path)
    report = exoskel.convert(tmp_path / "scene.usda", tmp_path / "out.xml")
    assert report.certificate.passed
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert np.allclose(model.actuator_gainprm[0, 0], 20)
    assert np.allclose(model.actuator_biasprm[0, :3], (0, -20, -2))
    fates = {one.path: one.fate for one in report.items}
    assert fates["/drive/@mjc:gainPrm"] in ("exact", "lowered")


@pytest.mark.parametrize("values", [POSITION + "\n    " + RANGES, RANGES])
def test_a_copy_has_the_actuators_of_its_source(values: str, tmp_path: Path) -> None:
    """Actuators are force limits and springs only in new documents."""
    scene = load(ARM + ACTUATOR.format(target="turn", values=values), tmp_path)
    report = exoskel.convert(scene, None, to="usd")
    assert report.certificate.passed and not report.losses
    assert exoskel.load(report.data).world.actuators == scene.world.actuators


@pytest.mark.parametrize(("values", "is_spring"), [(POSITION, True), (RANGES, False)])
@pytest.mark.parametrize("target", ["portable", "isaac"])
def test_an_actuator_of_an_edited_file_acts_once(values: str, is_spring: bool, target: Target, tmp_path: Path) -> None:
    """As a prim, or as a spring for programs that know only UsdPhysics."""
    scene = load(ARM + ACTUATOR.format(target="turn", values=values), tmp_path)
    next(scene.world.bodies()).mass = 7.0
    report = exoskel.convert(scene, None, to="usd", target=target)
    assert report.certificate.passed
    text = report.data.decode()
    is_for_isaac = target == "isaac"
    assert ("drive:angular:physics:stiffness" in text) == (is_spring and is_for_isaac)
    assert text.count("def MjcActuator") == (0 if is_for_isaac else 1)
    fates = {str(one.fate) for one in report.items if one.path == "/drive"}
    assert fates == ({"approximated" if is_spring else "lowered"} if is_for_isaac else {"exact"})
    again = exoskel.load(report.data).world.actuators
    stated = [] if is_for_isaac else scene.world.actuators
    assert [structs.replace(one, bias=(0, 0, 0)) for one in again] == [
        structs.replace(one, bias=(0, 0, 0)) for one in stated
    ]
    assert [one.bias for one in again] == [pytest.approx(one.bias) for one in stated]


def test_other_properties_of_actuators_are_kept(tmp_path: Path) -> None:
    scene = load(ARM + ACTUATOR.format(target="turn", values="uniform int mjc:group = 4"), tmp_path)
    next(scene.world.bodies()).mass = 7.0
    report = exoskel.convert(scene, None, to="usd")
    assert report.certificate.passed
    assert "uniform int mjc:group = 4" in report.data.decode()
    assert {str(one.fate) for one in report.items if one.path == "/drive/@mjc:group"} == {"kept"}
    assert len(exoskel.load(report.data).world.actuators) == 1


def test_an_actuator_that_is_not_read_is_kept_and_reported_again(tmp_path: Path) -> None:
    values = 'uniform token mjc:gainType = "muscle"'
    scene = load(ARM + ACTUATOR.format(target="turn", values=values), tmp_path)
    next(scene.world.bodies()).mass = 7.0
    report = exoskel.convert(scene, None, to="usd")
    assert report.certificate.passed
    again = exoskel.load(report.data)
    assert not again.world.actuators
    assert [one.key for one in again.diagnostics] == ["US113.actuator"]
