"""Sensors of SDF: those of kinds that a scene has are objects, and all are written to SDF again as they are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import exoskel

_NOISE = '<noise type="gaussian"><mean>0</mean><stddev>0.02</stddev></noise>'
_AXES = "".join(f"<{axis}>{_NOISE}</{axis}>" for axis in "xyz")
_UNEVEN = f"<x>{_NOISE}</x><y>{_NOISE.replace('0.02', '0.5')}</y><z>{_NOISE}</z>"
_INERTIAL = "<inertial><mass>2</mass></inertial>"
_BOX = "<geometry><box><size>0.2 0.4 0.6</size></box></geometry>"
WORLD = f"""<sdf version="1.9"><world name="default"><model name="arm">
  <link name="base">{_INERTIAL}<sensor name="eye" type="camera"><camera><horizontal_fov>1</horizontal_fov></camera>
    <topic>image</topic></sensor></link>
  <link name="upper"><pose>0 0 1 0 0 0</pose>{_INERTIAL}
    <collision name="skin"><pose>0 0 0.1 0 0 0.3</pose>{_BOX}</collision>
    <sensor name="imu" type="imu"><pose>0.1 0.2 0.3 0 0 0</pose><always_on>1</always_on><update_rate>100</update_rate>
      <topic>imu</topic><imu><linear_acceleration>{_AXES}</linear_acceleration><angular_velocity>{_UNEVEN}
      </angular_velocity></imu><plugin filename="libimu.so" name="driver"><rate>3</rate></plugin></sensor>
    <sensor name="compass" type="magnetometer"><magnetometer>{_AXES}</magnetometer></sensor>
    <sensor name="skin" type="contact"><contact><collision>skin</collision></contact></sensor>
    <sensor name="ahead" type="gpu_lidar"><pose>0 0 2 0 0 0</pose><lidar><scan><horizontal><samples>1</samples>
      <min_angle>0</min_angle><max_angle>0</max_angle></horizontal></scan><range><min>0.1</min><max>30</max></range>
      {_NOISE}</lidar></sensor>
    <sensor name="scan" type="gpu_lidar"><lidar><scan><horizontal><samples>640</samples><min_angle>-1</min_angle>
      <max_angle>1</max_angle></horizontal></scan><range><min>0.1</min><max>30</max></range></lidar></sensor>
    <sensor name="height" type="altimeter"/>
    <sensor name="position" type="navsat"><navsat><position_sensing><horizontal>{_NOISE}</horizontal></position_sensing>
      </navsat></sensor></link>
  <joint name="hinge" type="revolute"><parent>base</parent><child>upper</child><pose>0 0 -0.5 0.1 0.2 0.3</pose>
    <axis><xyz>0 1 0</xyz></axis><sensor name="wrist" type="force_torque"><pose>0 0 0.05 0 0 0.7</pose>
    <force_torque><frame>sensor</frame><measure_direction>parent_to_child</measure_direction></force_torque></sensor>
    </joint></model></world></sdf>"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    out = tmp_path / "arm.sdf"
    out.write_text(WORLD)
    return out


def found(world: exoskel.World) -> dict[str, tuple[str, str, float, float]]:
    return {one.name: (one.kind, one.target, one.noise, one.cutoff) for one in world.sensors}


def test_kinds_that_a_scene_has_are_objects(file: Path) -> None:
    scene = exoskel.load(file)
    assert found(scene.world) == {
        "imu_accelerometer": ("accelerometer", "arm/upper/imu", 0.02, 0.0),
        "imu_gyro": ("gyro", "arm/upper/imu", 0.0, 0.0),
        "imu_framequat": ("framequat", "arm/upper/imu", 0.0, 0.0),
        "compass": ("magnetometer", "arm/upper/compass", 0.02, 0.0),
        "skin": ("touch", "arm/upper/skin", 0.0, 0.0),
        "ahead": ("rangefinder", "arm/upper/ahead", 0.02, 30.0),
        "wrist_force": ("force", "arm/upper/wrist", 0.0, 0.0),
        "wrist_torque": ("torque", "arm/upper/wrist", 0.0, 0.0),
    }
    told = [one.message for one in scene.diagnostics]
    assert sum("<sensor> is not part of the scene" in one for one in told) == 3
    assert sum("is read as" in one for one in told) == 6
    assert sum("the noise of sensor 'imu'" in one for one in told) == 3


def test_all_are_written_to_sdf_as_they_are(file: Path) -> None:
    report = exoskel.convert(file, None, to="sdf")
    assert report.certificate.passed
    assert not report.losses
    text = report.data.decode()
    assert [text.count(f'<sensor name="{name}"') for name in ("eye", "imu", "compass", "skin", "ahead", "scan")] == [
        1
    ] * 6
    assert text.count('type="altimeter"') == text.count('type="navsat"') == text.count("<position_sensing>") == 1
    for kept in ("<update_rate>100<", "<topic>imu<", 'filename="libimu.so"', "<samples>640<", "<horizontal_fov>1<"):
        assert text.count(kept) == 1, kept
    assert found(exoskel.load(report.data).world) == found(exoskel.load(file).world)


def test_they_are_in_mjcf_and_measure_the_same(file: Path) -> None:
    report = exoskel.convert(file, None, to="mjcf")
    assert report.certificate.passed
    scene = exoskel.load(report.data)
    assert found(scene.world) == found(exoskel.load(file).world)
    fates = {one.path.rpartition("/")[2]: (str(one.fate), one.loss) for one in report.items}
    for name in ("sensor[imu]", "sensor[wrist]", "magnetometer", "force_torque", "contact"):
        assert fates[name] == ("exact", False), name
    for name in ("update_rate", "plugin[driver]", "sensor[scan]", "sensor[height]", "sensor[position]"):
        assert fates[name] == ("dropped", True), name
    assert fates["topic"] == ("dropped", False)


def test_sensors_of_mjcf_come_back_from_sdf() -> None:
    text = """<mujoco><worldbody><body name="a"><joint name="r" axis="0 1 0"/><geom size=".1" pos=".3 0 0"/>
      <site name="s" pos=".3 0 .1" euler="10 20 30"/><site name="t" pos=".3 0 0" size=".1"/>
      <site name="far" pos=".1 0 0" euler="0 90 0"/></body></worldbody><sensor>
      <accelerometer name="acc" site="s" noise="0.1"/><gyro name="rate" site="s"/><framequat objtype="site" objname="s"/>
      <magnetometer site="s" noise="0.3"/><touch site="t"/><force site="s"/><torque site="s"/>
      <rangefinder name="range" site="far" cutoff="7"/><jointpos name="angle" joint="r"/>
      <touch name="other" site="far"/></sensor></mujoco>"""
    scene = exoskel.load(text)
    report = exoskel.convert(scene, None, to="sdf")
    assert report.certificate.passed
    lost = {one.path.split("/")[3] for one in report.items if one.loss and "/sensor" in one.path}
    assert lost == {"jointpos[@name='angle']", "touch[@name='other']"}
    back = exoskel.load(report.data)
    kinds = sorted(one.kind for one in back.world.sensors)
    assert kinds == sorted([
        *("accelerometer", "gyro", "framequat", "magnetometer", "touch", "force", "torque", "rangefinder"),
    ])  # fmt: skip
    assert _measured(scene, kinds) == pytest.approx(_measured(back, kinds), abs=1e-9)


def _measured(scene: exoskel.Scene, kinds: Sequence[str]) -> Any:
    """The values of all kinds of sensors in a state, one after another."""
    model = mujoco.MjModel.from_xml_string(exoskel.convert(scene, None, to="mjcf").data.decode())
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = 0.4, 0.7
    mujoco.mj_forward(model, data)
    values: dict[str, Any] = {}
    for at, one in enumerate(scene.world.sensors):
        first = model.sensor_adr[at]
        values.setdefault(one.kind, data.sensordata[first : first + model.sensor_dim[at]])
    return np.concatenate([values[kind] for kind in kinds])


def test_an_edited_sensor_keeps_its_other_settings_and_a_removed_one_is_not_written(file: Path) -> None:
    scene = exoskel.load(file)
    scene.world.sensors[:] = [one for one in scene.world.sensors if one.name not in ("compass", "imu_gyro")]
    text = exoskel.convert(scene, None, to="sdf").data.decode()
    assert 'name="compass"' not in text
    assert text.count('<sensor name="imu"') == 1
    assert text.count("<update_rate>100<") == 1
    assert "<samples>640<" in text


def test_the_default_direction_of_forces_is_reported(file: Path) -> None:
    file.write_text(WORLD.replace("<measure_direction>parent_to_child</measure_direction>", ""))
    report = exoskel.convert(file, None, to="mjcf")
    assert [one.why for one in report.items if one.loss and "SD085" in one.why]
    assert not exoskel.convert(file, None, to="sdf").losses


def test_lost_sensors_of_a_built_world_are_reported() -> None:
    world = exoskel.World("w")
    world.add_model("m").add_body("b", joint="revolute", axis=(1.0, 0.0, 0.0), joint_name="j", mass=1.0)
    world.add_sensor("angle", "jointpos", "m/j")
    assert [one for one in exoskel.convert(world, None, to="sdf").losses if "'jointpos'" in one.why]
