"""Tendons of a world: they round-trip, act as in MuJoCo, and are reported where there are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec import structs

import exoskel
from exoskel import Tendon, TendonJoint, TendonPoint
from exoskel.scene.fields import comparable_value, relative_difference

numbers = st.floats(0.1, 5.0).map(lambda value: round(value, 3))
SPATIAL = """<site site="top"/><geom geom="drum" sidesite="side"/><site site="mid"/><pulley divisor="2"/>
<site site="mid"/><site site="tip"/>"""
FIXED = '<joint joint="r" coef="0.5"/><joint joint="s" coef="-2"/><joint joint="u_2" coef="1.5"/>'


def document(tendons: str, rest: str = "", keyframe: str = "") -> str:
    """Three bodies with four coordinates and sites, and tendons."""
    return f"""<mujoco><option timestep="0.002" integrator="discrete"><flag contact="disable"/></option>
    <default><default class="soft"><tendon stiffness="7" width="0.02" solreflimit="0.05 1"/></default></default>
    <worldbody><site name="top" pos="0 .3 1"/>
    <body name="a"><joint name="r" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
      <geom name="drum" type="cylinder" size=".06 .1" pos=".2 0 .2" contype="0" conaffinity="0" mass="0"/>
      <site name="side" pos=".2 0 .3"/><site name="mid" pos=".4 0 .05"/>
      <body name="b" pos=".6 0 0"><joint name="s" type="slide" axis="1 0 0" ref="0.2" stiffness="40"/><geom size=".1"/>
        <body name="c" pos=".5 0 0"><joint name="u_1" axis="1 0 0"/><joint name="u_2" axis="0 1 0" damping=".3"/>
        <site name="tip" pos=".1 .1 .1"/><geom size=".1" pos=".1 .2 0"/></body></body></body></worldbody>
    <tendon>{tendons}</tendon>{rest}{keyframe}</mujoco>"""


@st.composite
def elements(draw: st.DrawFn) -> str:
    """A tendon element of MJCF."""
    kind = draw(st.sampled_from(["fixed", "spatial"]))
    known = ["stiffness", "damping", "frictionloss", *(["armature"] if kind == "fixed" else [])]
    names = draw(st.lists(st.sampled_from(known), unique=True))
    values = " ".join(f'{name}="{draw(numbers)}"' for name in names)
    low, high = sorted((draw(numbers), draw(numbers)))
    if draw(st.booleans()):
        values += f' springlength="{low} {high}"'
    if draw(st.booleans()):
        values += f' range="{-low} {high + 0.1}"'
    if draw(st.booleans()):
        values += ' class="soft"'
    return f"<{kind} {values}>{FIXED if kind == 'fixed' else SPATIAL}</{kind}>"


def final_state(data: bytes | str, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """The displacements and tendon lengths, relative to the reference pose, that MuJoCo computes from a document."""
    model = mujoco.MjModel.from_xml_string(data if isinstance(data, str) else data.decode())
    state = mujoco.MjData(model)
    mujoco.mj_forward(model, state)
    first = state.ten_length.copy()
    mujoco.mj_step(model, state, steps)
    mujoco.mj_forward(model, state)
    return state.qpos - model.qpos0, state.ten_length - first


@settings(max_examples=8, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.lists(elements(), min_size=1, max_size=3))
def test_random_tendons_round_trip_and_act_as_in_mujoco(parts: list[str]) -> None:
    text = document("".join(parts))
    scene = exoskel.load(text)
    assert len(scene.world.tendons) == len(parts)
    report = exoskel.convert(text, None, to="mjcf")
    assert report.certificate.passed
    assert not [item for item in report.items if "/tendon[" in item.path and item.loss]
    again = exoskel.load(report.data).world
    assert relative_difference(*(comparable_value(one, "tendons") for one in (scene.world, again))) < 1e-9
    written = report.data
    for before, after in zip(final_state(text, 1), final_state(written, 1), strict=True):
        assert after == pytest.approx(before, rel=1e-7, abs=1e-9)
    simulation = exoskel.Simulation(scene)
    if "frictionloss" not in text and "range" not in text:
        simulation.step(30)
        assert simulation.positions == pytest.approx(final_state(text, 30)[0], rel=1e-8, abs=1e-8)


def test_numbers_and_paths_are_read() -> None:
    text = document(
        f'<fixed name="f" stiffness="3" springlength="0.1 0.2" range="-1 2">{FIXED}</fixed>'
        f'<spatial name="s" frictionloss="2" actuatorfrcrange="-4 5">{SPATIAL}</spatial>'
    )
    fixed, spatial = exoskel.load(text).world.tendons
    assert fixed.joints == (
        TendonJoint("a/r", 0.5),
        TendonJoint("a/s", -2.0),
        TendonJoint("a/c_joint", 1.5, 1) if fixed.joints[2].joint == "a/c_joint" else fixed.joints[2],
    )
    assert fixed.rest_length == pytest.approx((0.5, 0.6))  # the slide is at 0.2 in the reference pose
    assert fixed.limits == pytest.approx((-0.6, 2.4))
    assert [(one.site, one.shape, one.side_site, one.divisor) for one in spatial.path] == [
        ("world/world/top", "", "", 0.0),
        ("", "a/a/drum", "a/a/side", 0.0),
        ("a/a/mid", "", "", 0.0),
        ("", "", "", 2.0),
        ("a/a/mid", "", "", 0.0),
        ("a/c/tip", "", "", 0.0),
    ]
    assert (spatial.friction, spatial.force_limits) == (2.0, (-4.0, 5.0))


def test_solver_settings_and_appearance_are_preserved() -> None:
    text = document(f'<spatial name="s" class="soft" rgba="1 0 0 1" margin="0.01" user="3">{SPATIAL}</spatial>')
    scene = exoskel.load(text)
    scene.world.tendons[0] = structs.replace(scene.world.tendons[0], damping=2.0)
    model = mujoco.MjModel.from_xml_string(exoskel.convert(scene, None, to="mjcf").data.decode())
    assert model.tendon_solref_lim[0] == pytest.approx([0.05, 1.0])
    assert (model.tendon_width[0], model.tendon_margin[0]) == pytest.approx((0.02, 0.01))
    assert model.tendon_rgba[0].tolist() == [1.0, 0.0, 0.0, 1.0]
    assert (model.tendon_stiffness[0], model.tendon_damping[0], model.tendon_user[0, 0]) == (7.0, 2.0, 3.0)


def test_actuators_drive_tendons() -> None:
    rest = """<actuator><position name="pull" tendon="s" kp="60" gear="2"/><motor tendon="f" ctrlrange="-3 3"/>
    </actuator><sensor><tendonpos name="length" tendon="s"/></sensor>"""
    tendons = f'<fixed name="f">{FIXED}</fixed><spatial name="s" damping="1">{SPATIAL}</spatial>'
    text = document(tendons, rest, '<keyframe><key ctrl="0.9 2"/></keyframe>')
    scene = exoskel.load(text)
    assert [(one.name, one.tendon, one.joint, one.control) for one in scene.world.actuators] == [
        ("pull", "s", "", 0.9),
        ("f", "f", "", 2.0),
    ]
    simulation = exoskel.Simulation(scene)
    assert dict(simulation.controls) == {"pull": 0.9, "f": 2.0}
    simulation.step(40)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_step(model, data, 40)
    assert simulation.positions == pytest.approx(data.qpos - model.qpos0, rel=1e-8, abs=1e-9)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    again = exoskel.load(report.data).world
    assert [(one.name, one.tendon, one.kind) for one in again.actuators] == [
        (one.name, one.tendon, one.kind) for one in scene.world.actuators
    ]
    lost = [item for item in exoskel.convert(scene, None, to="sdf").items if "/actuator[" in item.path]
    assert {item.fate for item in lost if item.loss} == {"dropped"}
    assert any("only MJCF and USD files have tendons" in item.why for item in lost)


def arm() -> exoskel.World:
    """Two links with a marker each, and a sphere."""
    world = exoskel.World("w")
    model = world.add_model("arm")
    upper = model.add_body("upper", joint="revolute", axis=(0, 1, 0), moment=(1, 1, 1, 0, 0, 0))
    lower = model.add_body("lower", parent="upper", joint="revolute", axis=(0, 1, 0), moment=(1, 1, 1, 0, 0, 0))
    lower.pose = exoskel.Pose((0.5, 0.0, 0.0))
    upper.markers.append(exoskel.Marker("start", (0.1, 0.0, 0.2)))
    lower.markers.append(exoskel.Marker("end", (0.1, 0.0, 0.2)))
    upper.collisions.append(exoskel.Shape(exoskel.Sphere(0.05), exoskel.Pose((0.3, 0.0, 0.1)), name="knob"))
    return world


def string(world: exoskel.World, **values: Any) -> Tendon:
    path = ["arm/upper/start", TendonPoint(shape="arm/upper/knob"), "arm/lower/end"]
    return world.add_tendon("string", path=path, **values)


def test_tendons_are_built_renamed_merged_and_removed(tmp_path: Path) -> None:
    world = arm()
    pair = world.add_tendon("pair", joints={"upper_joint": 1.0, "lower_joint": -1.0}, stiffness=20.0, limits=(-1, 1))
    string(world, stiffness=5.0)
    world.add_actuator("pull", tendon="string")
    assert world.tendon("pair") is pair
    assert [one.joint for one in pair.joints] == ["arm/upper_joint", "arm/lower_joint"]
    merged = exoskel.merge(world, world).world
    assert [one.name for one in merged.tendons] == ["pair", "string", "pair(1)", "string(1)"]
    assert merged.tendons[3].path[0].site == "arm(1)/upper/start"
    assert [one.tendon for one in merged.actuators] == ["string", "string(1)"]
    assert exoskel.check(merged) == []
    world.rename("joint:lower_joint", "elbow")
    world.rename("body:upper", "humerus")
    world.rename("shape:knob", "ball")
    assert world.tendon("pair").joints[1].joint == "arm/elbow"
    assert world.tendon("string").path[:2] == (
        TendonPoint(site="arm/humerus/start"),
        TendonPoint(shape="arm/humerus/collision0"),
    )
    assert exoskel.check(world) == []
    exoskel.save(world, tmp_path / "arm.xml")
    again = exoskel.load(tmp_path / "arm.xml").world
    assert comparable_value(again, "tendons") == comparable_value(world, "tendons")
    world.remove("body:lower", subtree=True)
    assert (world.tendons, world.actuators) == ([], [])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "either joints or a path"),
        ({"joints": {"upper_joint": 1.0}, "stiffness": -1.0}, "negative stiffness"),
        ({"joints": {"upper_joint": float("nan")}}, "must be finite"),
        ({"joints": {"upper_joint": 1.0}, "limits": (2.0, 1.0)}, "lower limit must not exceed"),
        ({"path": ["arm/upper/start"]}, "two sites"),
        ({"path": ["arm/upper/start", "arm/upper/nothing"]}, "which is not in world"),
    ],
)
def test_invalid_tendons_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=message):
        arm().add_tendon("t", **values)


def test_references_are_checked() -> None:
    world = arm()
    world.tendons += [Tendon("t", (TendonJoint("arm/nothing"),)), Tendon("t", (TendonJoint("arm/upper_joint"),))]
    world.actuators.append(exoskel.Actuator("a", tendon="nothing"))
    assert sorted(d.code for d in exoskel.check(world)) == ["SC102", "SC116", "SC116"]
    with pytest.raises(exoskel.ExoskelError, match="a joint or a tendon"):
        world.add_actuator("b")
    with pytest.raises(exoskel.ExoskelError, match="a site, or a shape, or a positive divisor"):
        TendonPoint(site="a", divisor=2.0)


@pytest.mark.parametrize("format", ["skel", "xode"])
def test_tendons_are_embedded_and_edited_in_place(tmp_path: Path, format: str) -> None:
    world = arm()
    string(world, stiffness=5.0, limits=(0.1, 0.6), damping=0.3)
    world.add_actuator("pull", tendon="string")
    report = exoskel.convert(world, tmp_path / f"arm.{format}")
    assert report.certificate.passed
    scene = exoskel.load(tmp_path / f"arm.{format}")
    assert scene.world.tendons == world.tendons and scene.world.actuators == world.actuators
    scene.world.tendons[0] = structs.replace(scene.world.tendons[0], stiffness=8.0)
    exoskel.save(scene)
    assert exoskel.load(tmp_path / f"arm.{format}").world.tendon("string").stiffness == 8.0


def test_other_formats_and_engines_report_tendons() -> None:
    text = document(f'<fixed name="f" stiffness="3">{FIXED}</fixed>')
    for format in ("sdf", "urdf"):
        report = exoskel.convert(text, None, to=format)
        found = [item for item in report.items if item.path.endswith("tendon[1]/fixed[@name='f']")]
        assert [(item.fate, item.loss) for item in found] == [("dropped", True)]
    world = arm()
    string(world)
    world.add_actuator("pull", tendon="string")
    for engine in ("dart", "ode"):
        assert "EN022" in {one.code for one in exoskel.preflight(world, engine)}
    with pytest.raises(exoskel.ExoskelError, match="do not support tendons"):
        exoskel.Simulation(world).inverse_dynamics([0.0, 0.0])


def test_unsupported_tendons_are_preserved() -> None:
    text = document(
        f'<fixed name="f" stiffness="3 1">{FIXED.replace("s", "u_1", 1)}</fixed>'.replace('joint="s"', 'joint="u_1"')
    )
    scene = exoskel.load(text)
    assert scene.world.tendons == []
    assert [one.code for one in scene.diagnostics if one.code.startswith("MJ4")] == ["MJ404"]
    data = exoskel.convert(scene, None, to="mjcf").data
    assert b'stiffness="3 1"' in data
