"""Sensors of a world: they round-trip, measure as in MuJoCo, and are reported where there are none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
from msgspec.structs import replace

import exoskel
from exoskel import SceneSensor
from exoskel.scene.edit_tracking import no_edits
from exoskel.scene.sensor import value_count
from tests.support.edits import edited

SENSORS = """
<jointpos name="angle" joint="r" noise="0.1"/><jointvel joint="s" cutoff="0.1"/><jointactuatorfrc joint="s"/>
<jointlimitpos joint="r"/><jointlimitvel joint="r"/><jointlimitfrc joint="r"/><framepos objtype="camera" objname="eye"/>
<accelerometer name="acc" site="sa"/><gyro name="gyro" site="sa"/><velocimeter site="sa"/><magnetometer site="sa"/>
<touch name="t" site="sa"/><force site="sb"/><torque site="sb"/><rangefinder site="top"/>
<tendonpos tendon="f"/><tendonvel name="tv" tendon="f"/><tendonactuatorfrc tendon="f"/><tendonlimitpos tendon="f"/>
<tendonlimitvel tendon="f"/><tendonlimitfrc tendon="f"/>
<actuatorpos actuator="m"/><actuatorvel actuator="m"/><actuatorfrc actuator="p"/><user name="own" dim="2"/>
<framepos name="fp" objtype="xbody" objname="b" reftype="site" refname="sa"/><framequat objtype="xbody" objname="b"/>
<framexaxis objtype="site" objname="sb"/><frameyaxis objtype="site" objname="sb"/><framezaxis objtype="xbody" objname="a"/>
<framelinvel objtype="site" objname="sb" reftype="xbody" refname="a"/><frameangvel objtype="xbody" objname="b"/>
<framelinacc objtype="body" objname="b"/><frameangacc objtype="xbody" objname="b"/>
<subtreecom name="com" body="a"/><subtreelinvel body="b"/><subtreeangmom body="a"/><clock name="clock"/>"""


def document(sensors: str = SENSORS, joint: str = "") -> str:
    return f"""<mujoco><option timestep="0.002" integrator="discrete"/><worldbody><camera name="eye" pos="0 1 2"/>
    <site name="top" pos="0.3 0 1" euler="180 0 0"/>
    <body name="a"><joint name="r" axis="0 1 0" range="-100 100" {joint}/><geom size=".1" pos=".3 0 0"/>
      <site name="sa" type="box" pos=".3 0 .1" euler="10 20 30" size=".2 .1 .3"/>
      <body name="b" pos=".6 0 0" euler="5 6 7"><joint name="s" type="slide" axis="1 0 0"/>
        <geom size=".1 .05 .02" type="box" euler="40 0 0"/><site name="sb" pos="0 0 .1" quat="1 2 3 4"/></body></body>
    </worldbody><tendon><fixed name="f" stiffness="30" range="-3 3"><joint joint="r" coef="0.5"/></fixed></tendon>
    <actuator><motor name="m" tendon="f" gear="3"/><position name="p" joint="s" kp="10"/></actuator>
    <sensor>{sensors}</sensor></mujoco>"""


def measured(text: str, positions: Any, velocities: Any) -> list[np.ndarray]:
    """The values of all sensors, in order, in a state of a document."""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[0] = positions, velocities, 0.7
    mujoco.mj_forward(model, data)
    return [np.array(data.sensordata[at : at + n]) for at, n in zip(model.sensor_adr, model.sensor_dim, strict=True)]


def test_sensors_are_the_same_in_mjcf_and_in_a_simulation() -> None:
    text = document()
    scene = exoskel.load(text)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert not [item for item in report.items if "/sensor[" in item.path and item.loss]
    assert exoskel.load(report.data).world.sensors == scene.world.sensors
    state = ([0.4, 0.1], [0.5, -0.3])
    before, after = measured(text, *state), measured(report.data.decode(), *state)
    for mine, theirs in zip(after, before, strict=True):  # in the same order
        assert mine == pytest.approx(theirs, rel=1e-7, abs=1e-7)
    model = mujoco.MjModel.from_xml_string(text)
    simulation = exoskel.Simulation(scene)
    simulation.positions, simulation.velocities = state
    simulation.controls["m"] = 0.7
    values = simulation.sensors
    assert [len(values[one.name]) for one in scene.world.sensors] == [
        value_count(one.kind) for one in scene.world.sensors
    ]
    for number, theirs in enumerate(before):
        name = model.sensor(number).name
        if name and name in values:
            assert values[name] == pytest.approx(theirs, rel=1e-6, abs=1e-6), name
    assert simulation.sensors["angle"] == pytest.approx([0.4])
    simulation.step(3)
    assert simulation.sensors["clock"] == pytest.approx([0.006])


def test_other_sensors_are_preserved_and_reported() -> None:
    scene = exoskel.load(document())
    assert [one.code for one in scene.diagnostics if one.code == "MJ201"] == ["MJ201"] * 2
    assert [one.name for one in scene.world.sensors if one.kind == "clock"] == ["clock"]
    scene.world.sensors.remove(scene.world.sensor("gyro"))
    scene.world.add_sensor("more", "gyro", "a/b/sb")
    model = mujoco.MjModel.from_xml_string(exoskel.convert(scene, None, to="mjcf").data.decode())
    names = [model.sensor(number).name for number in range(model.nsensor)]
    assert names[0] == "angle" and names[-1] == "more" and "gyro" not in names
    assert names.index("own") < names.index("fp")


def test_positions_of_joints_that_are_not_zero_are_left_out() -> None:
    scene = exoskel.load(document('<jointpos joint="r"/><jointvel joint="r"/>', 'ref="10"'))
    assert [one.kind for one in scene.world.sensors] == ["jointvel"]


def test_sensors_of_principal_axes_are_dropped() -> None:
    text = document('<framequat name="q" objtype="body" objname="b"/><framepos objtype="body" objname="b"/>')
    report = exoskel.convert(edited(text), None, to="mjcf")
    lost = [item for item in report.items if item.path.endswith("framequat[@name='q']")]
    assert [(item.fate, "MJ201" in item.why) for item in lost] == [("dropped", True)]
    assert mujoco.MjModel.from_xml_string(report.data.decode()).nsensor == 1


def test_sensors_of_removed_limits_are_left_out() -> None:
    scene = exoskel.load(document('<jointlimitpos name="stop" joint="r"/><clock/>'))
    scene.world.find("joint:r", exoskel.Joint)[0].dofs[0].position_limits = (-np.inf, np.inf)
    assert "limits of a/r" in exoskel.check(scene)[-1].message
    data = exoskel.convert(scene, None, to="mjcf").data
    assert mujoco.MjModel.from_xml_string(data.decode()).nsensor == 1
    assert "stop" not in exoskel.Simulation(scene).sensors


@pytest.mark.parametrize(
    ("sensor", "servo"), [('<tendonlimitpos name="stop" tendon="f"/>', "0"), ("", "1")], ids=["sensor", "actuator"]
)
def test_limits_that_other_elements_need_are_removed_in_a_new_document(sensor: str, servo: str) -> None:
    text = document(sensor).replace('kp="10"', f'kp="10" inheritrange="{servo}"')
    scene = exoskel.load(text.replace('type="slide"', 'type="slide" range="-1 1"'))
    scene.world.find("joint:s", exoskel.Joint)[0].dofs[0].position_limits = (-np.inf, np.inf)
    scene.world.tendons[0] = replace(scene.world.tendons[0], limits=(-np.inf, np.inf))
    model = mujoco.MjModel.from_xml_string((exoskel.convert(scene, None, to="mjcf").data or b"").decode())
    assert model.nsensor == 0
    assert not model.jnt_limited[1]
    assert not model.tendon_limited.any()


def arm() -> exoskel.World:
    world = exoskel.World("w")
    model = world.add_model("arm")
    upper = model.add_body("upper", joint="revolute", axis=(0, 1, 0), moment=(1, 1, 1, 0, 0, 0))
    upper.markers.append(exoskel.Marker("imu", (0.1, 0.0, 0.2)))
    world.add_tendon("t", joints={"upper_joint": 2.0})
    world.add_actuator("m", "upper_joint")
    world.add_sensor("angle", "jointpos", "arm/upper_joint")
    world.add_sensor("gyro", "gyro", "arm/upper/imu")
    world.add_sensor("length", "tendonpos", "t")
    world.add_sensor("pull", "actuatorfrc", "m")
    world.add_sensor("place", "framepos", "arm/upper", target_kind="body")
    return world


def test_sensors_are_built_renamed_merged_and_removed(tmp_path: Path) -> None:
    world = arm()
    merged = exoskel.merge(world, world).world
    assert exoskel.check(merged) == []
    assert [one.target for one in merged.sensors[5:]] == [
        *("arm(1)/upper_joint", "arm(1)/upper/imu", "t(1)", "m(1)", "arm(1)/upper")
    ]
    world.rename("body:upper", "humerus")
    world.rename("joint:upper_joint", "shoulder")
    assert [one.target for one in world.sensors] == ["arm/shoulder", "arm/humerus/imu", "t", "m", "arm/humerus"]
    for name in ("arm.xml", "arm.skel", "arm.xode"):
        assert exoskel.convert(world, tmp_path / name).certificate.passed
        scene = exoskel.load(tmp_path / name)
        assert scene.world.sensors == world.sensors
        scene.world.sensors.pop()
        exoskel.save(scene)
        assert len(exoskel.load(tmp_path / name).world.sensors) == 4
    world.tendons.clear()
    assert [one.message for one in exoskel.check(world)] == [
        "sensor 'length' refers to 't', which is not in the world; it is ignored"
    ]
    world.remove("arm")
    assert world.sensors == []


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (("s", "gyro", "arm/upper/nothing"), "which is not in world"),
        (("angle", "gyro", "arm/upper/imu"), "already has a sensor"),
        (("s", "weight", "arm/upper"), "must be touch"),
        (("s", "jointpos"), "must belong to a joint"),
    ],
)
def test_invalid_sensors_are_refused(values: Any, message: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=message):
        arm().add_sensor(*values)


def test_invalid_references_are_refused() -> None:
    with pytest.raises(exoskel.ExoskelError, match="must not have a reference"):
        SceneSensor("s", "gyro", "site", "a/b/c", reference_kind="body", reference="a/b")


def test_other_formats_report_sensors() -> None:
    text = document('<gyro name="g" site="sa"/>')
    for format in ("urdf", "usd"):
        report = exoskel.convert(text, None, to=format)
        found = [item for item in report.items if item.path.endswith("gyro[@name='g']")]
        assert [(item.fate, item.loss) for item in found] == [("dropped", True)]


def test_contents_list_actuators_tendons_and_sensors() -> None:
    (world,) = exoskel.summarize(arm())["worlds"]
    assert world["actuators"] == [{"name": "m", "type": "motor", "target": "arm/upper_joint"}]
    assert world["tendons"] == [{"name": "t", "type": "fixed"}]
    assert world["sensors"][1] == {"name": "gyro", "type": "gyro", "target": "arm/upper/imu"}


def test_steps_do_not_compute_sensors() -> None:
    """Reading them changes nothing else."""
    one, other = exoskel.Simulation(arm()), exoskel.Simulation(arm())
    for _ in range(5):
        assert one.sensors["angle"] == pytest.approx(np.array(one.positions))
        one.step(2)
        other.step(2)
    assert np.array_equal(one.state, other.state)
    assert not one.engine.data.sensordata.any()  # type: ignore[attr-defined]


@pytest.mark.parametrize("format", ["mjcf", "sdf", "urdf", "skel", "usd"])
def test_references_to_nothing_are_reported_and_ignored_by_conversions(format: str, tmp_path: Path) -> None:
    world = exoskel.World("w")
    model = world.add_model("m")
    model.add_body("b", joint="revolute", axis=(1.0, 0.0, 0.0), joint_name="j", mass=1.0)
    world.add_sensor("angle", "jointpos", "m/j")
    world.add_actuator("motor", "m/j")
    with no_edits():  # which references do not follow
        model.name = "other"
    report = exoskel.convert(world, None, to=format)
    told = sorted(one.message for one in report.diagnostics if one.code == "SC116")
    assert told == [
        "actuator 'motor' refers to 'm/j', which is not in the world; it is ignored",
        "sensor 'angle' refers to 'm/j', which is not in the world; it is ignored",
    ]
    assert len(world.sensors) == len(world.actuators) == 1
    exoskel.save(world, tmp_path / f"out.{'skel' if format == 'skel' else 'xode'}")
