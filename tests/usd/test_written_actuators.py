"""Actuators and tendons of scenes in written USD files: they come back with the same numbers."""

from __future__ import annotations

import re
from math import inf
from pathlib import Path
from typing import Any

import mujoco
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

import exoskel
from exoskel import Activation, Actuator, Scene, Tendon, TendonJoint, TendonPoint, World
from exoskel.scene.actuator import comparable_actuators
from exoskel.scene.body import Marker
from exoskel.scene.fields import relative_difference
from exoskel.scene.lowering.joint_passes import lower_joints
from exoskel.scene.shape import Cylinder, Shape, Sphere
from exoskel.scene.tendon import comparable_tendons

pytest.importorskip("pxr", reason="usd-core is not installed")

JOINTS = {"hinge": 1, "slide": 1, "cross": 2, "skew": 2, "three": 3, "plane": 3, "turn": 1}
"""The joints of `mechanism`, with the numbers of their coordinates."""
SITES = ("m/b1/s", "m/b2/s", "m/b3/s")
SHAPES = ("m/b1/collision0", "m/b2/collision1", "m/b3/visual0")


def mechanism() -> World:
    """A chain of joints of several kinds, with sites and round shapes."""
    world = World("w")
    model = world.add_model("m")
    model.add_body("b0", mass=1.0, joint="weld", joint_name="base")
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "hinge": ("revolute", {"axes": ((0.0, 1.0, 0.0),)}),
        "slide": ("prismatic", {"axes": ((0.6, 0.0, 0.8),)}),
        "cross": ("universal", {"axes": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0))}),
        "skew": ("universal", {"axes": ((1.0, 0.0, 0.0), (0.6, 0.8, 0.0))}),
        "three": ("euler", {"order": "zyx"}),
        "plane": ("planar", {}),
        "turn": ("revolute", {"axes": ((0.0, 0.0, -1.0),)}),
    }
    for number, (name, (kind, options)) in enumerate(kinds.items(), 1):
        body = model.add_body(f"b{number}", mass=1.0, parent=f"b{number - 1}", joint=kind, joint_name=name, **options)
        body.markers.append(Marker("s", (0.1, 0.0, 0.2 * number)))
        body.collisions += [Shape(geometry=Sphere(0.1)), Shape(geometry=Cylinder(0.1, 0.2))]
        body.visuals.append(Shape(geometry=Sphere(0.05)))
    return world


numbers = st.floats(-100.0, 100.0).map(lambda value: round(value, 3))
positive = st.floats(0.01, 100.0).map(lambda value: round(value, 3))
ranges = st.one_of(
    st.just((-inf, inf)), st.tuples(numbers, positive).map(lambda pair: (pair[0], round(pair[0] + pair[1], 3)))
)
coordinates = st.sampled_from([(f"m/{name}", number) for name, count in JOINTS.items() for number in range(count)])


@st.composite
def activations(draw: st.DrawFn) -> Activation | None:
    kind = draw(st.sampled_from([None, "filter", "exact_filter", "integrator"]))
    if kind is None:
        return None
    constant = 1.0 if kind == "integrator" else draw(positive)
    return Activation(kind, constant, draw(ranges), draw(numbers), early=draw(st.booleans()))


@st.composite
def actuators(draw: st.DrawFn, name: str, tendons: list[str]) -> Actuator:
    kind = draw(st.sampled_from(["motor", "position", "velocity", "general"]))
    values: dict[str, Any] = {}
    if kind == "position":
        values["damping"] = draw(st.one_of(st.just(0.0), positive))
    if kind == "general":
        values["bias"] = draw(st.tuples(numbers, numbers, numbers))
    if tendons and draw(st.booleans()):
        values["tendon"] = draw(st.sampled_from(tendons))
    else:
        values["joint"], values["coordinate"] = draw(coordinates)
    return Actuator(
        name,
        kind=kind,
        gear=draw(numbers.filter(bool)),
        gain=draw(st.one_of(st.just(1.0), numbers)),
        control_range=draw(ranges),
        force_range=draw(ranges),
        control=draw(st.one_of(st.just(0.0), numbers)),
        activation=draw(activations()),
        **values,
    )


@st.composite
def tendons(draw: st.DrawFn, name: str) -> Tendon:
    values: dict[str, Any] = {}
    if draw(st.booleans()):
        driven = draw(st.lists(coordinates, min_size=1, max_size=4))
        values["joints"] = tuple(TendonJoint(path, draw(numbers), number) for path, number in driven)
    else:
        sites = st.sampled_from(SITES)
        wrapped = st.builds(TendonPoint, shape=st.sampled_from(SHAPES), side_site=st.one_of(st.just(""), sites))
        between = st.lists(st.one_of(wrapped, st.builds(TendonPoint, divisor=positive)), max_size=3)
        first, second = (TendonPoint(site=draw(sites)) for _ in range(2))
        values["path"] = (first, *draw(between), second)
    rest = draw(st.one_of(st.none(), st.just((-1.0, -1.0)), st.tuples(numbers, positive)))
    return Tendon(
        name,
        stiffness=draw(st.one_of(st.just(0.0), positive)),
        damping=draw(st.one_of(st.just(0.0), positive)),
        friction=draw(st.one_of(st.just(0.0), positive)),
        armature=draw(st.one_of(st.just(0.0), positive)),
        rest_length=rest if rest is None or rest[0] <= rest[1] else rest[::-1],
        limits=draw(ranges),
        force_limits=draw(ranges),
        **values,
    )


def assert_same(before: World, after: World) -> None:
    """Actuators and tendons are the same, but for numbers that are rounded to 13 digits."""
    rows = [comparable_actuators(one.actuators, one.models) for one in (before, after)]
    assert relative_difference(*rows) <= 1e-12
    strings = [comparable_tendons(one.tendons, one.models) for one in (before, after)]
    assert relative_difference(*strings) <= 1e-12
    assert [(one.name, one.kind) for one in after.actuators] == [(one.name, one.kind) for one in before.actuators]


@settings(max_examples=6, deadline=None)
@given(st.data())
def test_actuators_and_tendons_come_back(data: st.DataObject) -> None:
    world = mechanism()
    names = [f"t{number}" for number in range(data.draw(st.integers(0, 2)))]
    world.tendons += [data.draw(tendons(name)) for name in names]
    drives = [f"t{number}" for number in range(data.draw(st.integers(0, 3)))]  # they may have the names of tendons
    world.actuators += [data.draw(actuators(name, names)) for name in drives]
    report = exoskel.convert(Scene([world]), None, to="usd")
    assert report.certificate.passed, [str(c) for c in report.certificate.checks if not c.passed]
    simple = lower_joints(world, frozenset({"universal"}), only=lambda joint: joint.name == "skew").world
    again = exoskel.load(report.data)
    assert not again.diagnostics
    assert_same(simple, again.world)
    copied = exoskel.convert(Scene([again.world]), None, to="usd")
    assert_same(again.world, exoskel.load(copied.data).world)


VALUES: dict[str, Any] = {
    "gear": 3.0,
    "gain": 5.0,
    "bias": (1.0, 2.0, 3.0),
    "control_range": (-2.0, 3.0),
    "force_range": (-4.0, 5.0),
    "control": 0.5,
    "joint": "m/turn",
    "activation": Activation("filter", 0.5),
}


@pytest.mark.parametrize("field", VALUES)
def test_every_value_of_an_actuator_is_in_the_file(field: str) -> None:
    world = mechanism()
    plain = Actuator("a", "m/hinge", kind="general", gain=2.0)
    found = []
    for one in (plain, structs.replace(plain, **{field: VALUES[field]})):
        world.actuators[:] = [one]
        report = exoskel.convert(Scene([world]), None, to="usd")
        assert report.certificate.passed
        assert list(exoskel.load(report.data).world.actuators) == [one]
        found.append(report.data)
    assert found[0] != found[1]


def test_files_for_isaac_have_drives_instead() -> None:
    world = mechanism()
    world.add_tendon("rope", joints={"m/hinge": 1.0})
    world.add_actuator("servo", "m/hinge", kind="position", gain=20.0, damping=2.0, control=0.5)
    world.add_actuator("pull", tendon="rope")
    report = exoskel.convert(Scene([world]), None, to="usd", target="isaac")
    assert report.certificate.passed, [str(c) for c in report.certificate.checks if not c.passed]
    text = report.data.decode()
    assert "Mjc" not in text.replace("MjcSceneAPI", "")
    again = exoskel.load(report.data).world
    dof = again.models[0].joint("hinge").dofs[0]
    assert (dof.stiffness, dof.damping, dof.rest) == pytest.approx((20.0, 2.0, 0.5))
    assert not again.actuators and not again.tendons


def test_springs_of_driven_joints_are_no_drives() -> None:
    """Newton takes a servo for the drive of its joint, and would lose the damper that the drive stated."""
    world = mechanism()
    for name in ("hinge", "slide", "turn"):
        dof = world.models[0].joint(name).dofs[0]
        dof.stiffness, dof.rest, dof.damping = 3.0, 0.25, 0.7
    world.add_actuator("servo", "m/hinge", kind="position", gain=20.0)
    world.add_actuator("slider", "m/slide", kind="velocity", gain=20.0)
    world.add_actuator("motor", "m/turn")
    report = exoskel.convert(Scene([world]), None, to="usd")
    assert report.certificate.passed, [str(c) for c in report.certificate.checks if not c.passed]
    text = report.data.decode()
    assert text.count('"PhysicsDriveAPI:') == 1
    assert text.count("mjc:stiffness = 3") == text.count("mjc:damping = 0.7") == 2
    again = exoskel.load(report.data).world
    for name in ("hinge", "slide", "turn"):
        dof = again.models[0].joint(name).dofs[0]
        assert (dof.stiffness, dof.rest, dof.damping) == pytest.approx((3.0, 0.25, 0.7), rel=1e-6)


MJCF = """<mujoco><worldbody><body name="a"><joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/>
<joint name="z" axis="0 0 1"/><geom size=".1"/><body name="b" pos="0 0 -1"><joint name="p" axis="1 0 0" damping="2"
stiffness="3" springref="10"/><geom size=".1"/><site name="s1"/><geom name="wrap" type="cylinder" size=".05 .1"/></body>
</body><body name="c" pos="1 0 0"><joint name="sx" type="slide" axis="1 0 0"/><site name="s2"/><geom size=".1"/>
<site name="side" pos="0 0 1"/></body></worldbody><tendon>
<fixed name="fix" armature="0.1" stiffness="4" springlength="-2 -1"><joint joint="y" coef="2"/>
<joint joint="sx" coef="-1"/></fixed>
<spatial name="string" stiffness="3" damping="1" range="0 3" frictionloss="0.5"><site site="s1"/>
<geom geom="wrap" sidesite="side"/><site site="s2"/><pulley divisor="2"/><site site="s2"/><site site="side"/></spatial>
</tendon><actuator><motor name="m" joint="y" gear="30"/><position name="pz" joint="z" kp="5"/>
<motor name="fix" tendon="fix" gear="2"/>
<position name="pp" joint="p" kp="7" kv="1" ctrlrange="-1 1" forcerange="-3 4"/><velocity joint="sx" kv="3"/><intvelocity joint="sx" kp="3" actrange="-2 2" name="iv"/><general name="g" joint="sx"
dyntype="filterexact" dynprm="0.3" gainprm="4" biastype="affine" biasprm="1 2 -3" actrange="-1 1" actearly="true"/>
</actuator></mujoco>"""
_ARRAYS = (
    *("actuator_gainprm", "actuator_biasprm", "actuator_dynprm", "actuator_dyntype", "actuator_gear"),
    *(
        "actuator_ctrlrange",
        "actuator_ctrllimited",
        "actuator_forcerange",
        "actuator_forcelimited",
        "actuator_actrange",
    ),
    *("actuator_actlimited", "actuator_actearly", "tendon_stiffness", "tendon_damping", "tendon_lengthspring"),
    *("tendon_range", "tendon_limited", "tendon_frictionloss", "tendon_armature", "wrap_type", "wrap_prm"),
)


def test_mujoco_compiles_the_same_numbers_after_usd(tmp_path: Path) -> None:
    assert exoskel.convert(MJCF, tmp_path / "scene.usda").certificate.passed
    assert exoskel.convert(tmp_path / "scene.usda", tmp_path / "again.xml").certificate.passed
    before = mujoco.MjModel.from_xml_string(MJCF)
    after = mujoco.MjModel.from_xml_path(str(tmp_path / "again.xml"))
    for name in _ARRAYS:
        assert getattr(after, name) == pytest.approx(getattr(before, name), rel=1e-6, abs=1e-9), name


def test_joints_with_several_axes_are_reported() -> None:
    report = exoskel.convert(exoskel.load(MJCF), None, to="usd")
    reasons = {item.path: str(item.fate) for item in report.items if "US219" in item.why}
    assert {path.split("[@name='")[1].split("'")[0] for path in reasons if "/actuator[" in path} == {"m", "pz"}
    assert set(reasons.values()) == {"approximated"}
    exact = {str(item.fate) for item in report.items if "[@name='pp']" in item.path}
    assert exact == {"exact"}


def test_initial_controls_are_reported() -> None:
    text = MJCF.replace("</mujoco>", '<keyframe><key ctrl="0 0 0 0.5 0 0 0"/></keyframe></mujoco>')
    report = exoskel.convert(exoskel.load(text), None, to="usd")
    reasons = {item.path: str(item.fate) for item in report.items if "US218" in item.why}
    assert reasons == {"/mujoco/keyframe[1]/key[1]/@ctrl": "approximated"}
    assert exoskel.load(report.data).world.actuator("pp").control == 0.5


@pytest.mark.parametrize("format", ["usd", "mjcf"])
def test_a_rest_length_of_minus_one_is_not_automatic(format: str) -> None:
    world = mechanism()
    joints = (TendonJoint("m/hinge"),)
    world.tendons.append(Tendon("rope", joints, stiffness=3.0, rest_length=(-1.0, -1.0)))
    again = exoskel.load(exoskel.convert(Scene([world]), None, to=format).data)
    assert again.world.tendons[0].rest_length == pytest.approx((-1.0, -1.0))


def test_actuators_follow_joints_that_become_chains() -> None:
    world = World("w")
    model = world.add_model("m")
    model.add_body("a", mass=1.0, joint="screw", joint_name="j", axes=((0.0, 0.0, 1.0),), pitch=0.5)
    model.add_body(
        "b", mass=1.0, parent="a", joint="universal", joint_name="k", axes=((1.0, 0.0, 0.0), (0.6, 0.8, 0.0))
    )
    world.add_actuator("screw", "m/j")
    for number in range(2):
        world.add_actuator(f"axis{number}", "m/k", coordinate=number)
    world.tendons.append(Tendon("t", (TendonJoint("m/k", 2.0, 1), TendonJoint("m/j", 3.0))))
    report = exoskel.convert(Scene([world]), None, to="usd")
    assert report.certificate.passed, [str(c) for c in report.certificate.checks if not c.passed]
    again = exoskel.load(report.data).world
    children = {f"m/{joint.name}": joint.child.name for joint in again.models[0].joints}
    assert [children[one.joint] for one in again.actuators] == ["a", "k~1", "b"]
    assert [(children[one.joint], one.coefficient) for one in again.tendons[0].joints] == [("b", 2.0), ("a", 3.0)]
    assert {joint.kind for joint in again.models[0].joints if joint.child.name in ("a", "k~1", "b")} == {"revolute"}


def test_worlds_have_their_own_actuators() -> None:
    worlds = [mechanism() for _ in range(2)]
    for number, world in enumerate(worlds):
        world.name = f"w{number}"
        world.add_actuator("motor", "m/hinge", gear=float(number + 2))
    report = exoskel.convert(Scene(worlds), None, to="usd")
    assert report.certificate.passed, [str(c) for c in report.certificate.checks if not c.passed]
    assert [[one.gear for one in world.actuators] for world in exoskel.load(report.data).worlds] == [[2.0], [3.0]]


def test_the_file_is_valid(tmp_path: Path) -> None:
    from pxr import Usd

    exoskel.convert(MJCF, tmp_path / "scene.usdc")
    stage = Usd.Stage.Open(str(tmp_path / "scene.usdc"))
    prims = [prim for prim in stage.Traverse() if prim.GetTypeName() == "MjcActuator"]
    assert len(prims) == 7
    assert all(stage.GetPrimAtPath(prim.GetRelationship("mjc:target").GetTargets()[0]) for prim in prims)
    gains = [len(prim.GetAttribute("mjc:gainPrm").Get()) for prim in prims]
    assert gains == [10] * 7  # Newton refuses others


@pytest.mark.parametrize("name", ["ant", "half_cheetah", "humanoid", "pusher", "swimmer", "walker2d"])
def test_models_of_gymnasium_keep_their_actuators(name: str) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    scene = exoskel.load(Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / f"{name}.xml")
    report = exoskel.convert(scene, None, to="usd")
    assert report.certificate.passed, [str(c) for c in report.certificate.checks if not c.passed]
    assert scene.world.actuators
    assert_same(scene.world, exoskel.load(report.data).world)


@pytest.mark.parametrize("options", [{"to": "sdf"}, {"to": "usd", "target": "isaac"}], ids=["sdf", "isaac"])
def test_each_actuator_of_a_usd_file_has_the_fate_of_its_own(options: dict[str, Any]) -> None:
    text = """<mujoco><worldbody><body name="b"><joint name="j"/><geom size=".1"/></body></worldbody>
    <tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>
    <actuator><motor name="a" tendon="t"/><position name="p" joint="j" kp="3"/></actuator></mujoco>"""
    report = exoskel.convert(exoskel.convert(text, None, to="usd").data, None, **options)
    found = {item.path: item for item in report.items}
    pulled, servo = found["/world/Actuators/a"], found["/world/Actuators/p"]
    assert (pulled.fate.value, servo.fate.value) == ("dropped", "approximated")
    assert "it drives a tendon" in pulled.why and "spring" not in pulled.why
    assert "as a spring and damper" in servo.why and "tendon" not in servo.why


TWO_OF_EACH = """<mujoco><worldbody><body name="b"><joint name="j"/><geom size=".1"/><site name="s"/>
<body name="c" pos="0 0 1"><joint name="k" type="ball"/><geom size=".1"/><site name="s2"/></body></body></worldbody>
<tendon><fixed name="t" stiffness="3"><joint joint="j" coef="1"/></fixed>
<spatial name="p" damping="2"><site site="s"/><site site="s2"/></spatial></tendon>
<actuator><motor name="a" joint="j"/><general name="f" joint="j" dyntype="filter" dynprm="0.1"/></actuator>
<keyframe><key name="one" time="1" ctrl="1 2" act="0.5"/><key name="two" ctrl="2 3" act="0.25"/></keyframe></mujoco>"""


def test_each_tendon_has_the_fate_of_its_own() -> None:
    report = exoskel.convert(TWO_OF_EACH, None, to="usd", target="isaac")
    found = {item.path: item for item in report.items}
    for path in ("fixed[@name='t']", "fixed[@name='t']/joint[1]", "fixed[@name='t']/@stiffness"):
        assert "'t' is not written" in found[f"/mujoco/tendon[1]/{path}"].why
        assert "'p'" not in found[f"/mujoco/tendon[1]/{path}"].why
    assert "'p' is not written" in found["/mujoco/tendon[1]/spatial[@name='p']/site[1]"].why


@pytest.mark.parametrize("source", ["mjcf", "usd"])
def test_a_tendon_is_exact_although_another_is_lost(source: str) -> None:
    made = exoskel.load(exoskel.convert(TWO_OF_EACH, None, to="usd").data if source == "usd" else TWO_OF_EACH)
    (body,) = [one for one in made.world.bodies() if one.name == "b"]
    body.markers.clear()  # where the spatial tendon begins
    report = exoskel.convert(made, None, to="usd")
    found = {re.split(r"[/']", item.path.rstrip("']"))[-1]: item.fate.value for item in report.items}
    assert (found["t"], found["p"]) == ("exact", "dropped")


def test_initial_activations_have_the_fate_of_what_is_read_back() -> None:
    report = exoskel.convert(TWO_OF_EACH, None, to="usd")
    found = {item.path.rpartition("key[@name=")[2]: item.fate.value for item in report.items if "key[" in item.path}
    assert (found["'one']/@ctrl"], found["'one']/@act"]) == ("approximated", "approximated")  # only Exoskel reads them
    assert (found["'two']"], found["'two']/@ctrl"], found["'two']/@act"]) == ("dropped", "dropped", "dropped")
    again = exoskel.load(report.data).world
    activation = again.actuator("f").activation
    assert (again.actuator("a").control, activation and activation.initial) == (1.0, 0.5)


@pytest.mark.parametrize("source", ["mjcf", "usd"])
def test_an_affine_gain_without_factors_is_constant(source: str) -> None:
    text = TWO_OF_EACH.replace('<general name="f"', '<general name="f" gaintype="affine" gainprm="2 0 0"')
    if source == "usd":
        written = exoskel.convert(TWO_OF_EACH, None, to="usd").data.decode()
        shown = "uniform double[] mjc:gainPrm = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]"
        before, name, rest = written.partition('def MjcActuator "f"')
        assert shown in rest
        affine = 'uniform token mjc:gainType = "affine"\n            ' + shown.replace("[1,", "[2,")
        text = before + name + rest.replace(shown, affine, 1)
    scene = exoskel.load(text)
    assert scene.world.actuator("f").gain == 2.0
    report = exoskel.convert(scene, None, to="sdf")
    assert "FM305" in next(item for item in report.items if item.path.endswith(("'f']", "/f"))).why
    unread = exoskel.load(text.replace("2 0 0", "2 1 0").replace("[2, 0", "[2, 1"))
    assert [one.name for one in unread.world.actuators] == ["a"]


@pytest.mark.parametrize("source", ["mjcf", "usd"])
def test_an_actuator_is_exact_although_another_is_lost(source: str) -> None:
    text = TWO_OF_EACH.replace("</actuator>", '<motor name="pull" tendon="t"/></actuator>').replace('"2 3"', '"2 3 0"')
    text = text.replace('"1 2"', '"0 0 0"')
    scene = exoskel.load(exoskel.convert(text, None, to="usd").data if source == "usd" else text)
    del scene.world.tendons[0]
    report = exoskel.convert(scene, None, to="usd")
    found = {re.split(r"[/']", item.path.rstrip("']"))[-1]: item for item in report.items if "ctuator" in item.path}
    assert (found["a"].fate.value, found["pull"].fate.value) == ("exact", "dropped")
    assert "pull" not in found["f"].why
