"""The `ros2_control` element of a URDF file keeps its hardware and sensors when joints or motors of it change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from lxml import etree
from msgspec import structs

import exoskel

_INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>'
_LIMIT = '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="10" velocity="3"/>'
DOCUMENT = f"""<robot name="arm">
  <link name="base">{_INERTIAL}</link><link name="l1">{_INERTIAL}</link><link name="l2">{_INERTIAL}</link>
  <joint name="j1" type="revolute"><parent link="base"/><child link="l1"/>{_LIMIT}</joint>
  <joint name="j2" type="revolute"><parent link="l1"/><child link="l2"/>{_LIMIT}</joint>
  <ros2_control name="sys" type="system">
    <hardware><plugin>my_robot/Hardware</plugin><param name="port">/dev/ttyS0</param></hardware>
    <joint name="j1"><command_interface name="position"><param name="min">-1</param></command_interface>
      <state_interface name="position"/></joint>
    <joint name="j2"><command_interface name="effort"><param name="min">-2</param><param name="max">2</param>
      <param name="gain">7</param></command_interface><state_interface name="velocity"/></joint>
    <sensor name="force"><param name="frame_id">l2</param></sensor>
    <sensor name="imu"><param name="frame_id">l1</param></sensor>
    <gpio name="lamp"><command_interface name="on"/></gpio>
  </ros2_control>
</robot>"""


def _range(scene: exoskel.Scene) -> None:
    scene.world.actuators[0] = structs.replace(scene.world.actuators[0], control_range=(-3.0, 3.0))


def _remove(scene: exoskel.Scene) -> None:
    scene.world.actuators.clear()


def _add(scene: exoskel.Scene) -> None:
    scene.world.add_actuator("j1", joint="arm/j1", control_range=(-5, 5))


@pytest.fixture
def scene(tmp_path: Path) -> exoskel.Scene:
    (tmp_path / "arm.urdf").write_text(DOCUMENT)
    return exoskel.load(tmp_path / "arm.urdf")


@pytest.mark.parametrize(
    ("edit", "commands"),
    [
        (_range, {("j1", "position"): {"min": "-1"}, ("j2", "effort"): {"min": "-3", "max": "3", "gain": "7"}}),
        (_remove, {("j1", "position"): {"min": "-1"}}),
        (
            _add,
            {
                ("j1", "position"): {"min": "-1"},
                ("j1", "effort"): {"min": "-5", "max": "5"},
                ("j2", "effort"): {"min": "-2", "max": "2", "gain": "7"},
            },
        ),
    ],
)
def test_edited_motors_keep_hardware_and_other_interfaces(
    scene: exoskel.Scene, edit: Callable[[exoskel.Scene], None], commands: dict[tuple[str, str], dict[str, str]]
) -> None:
    edit(scene)
    report = exoskel.convert(scene, None, to="urdf")
    assert report.certificate.passed
    (control,) = etree.fromstring(report.data).findall("ros2_control")
    assert control.xpath("string(hardware/plugin)") == "my_robot/Hardware"
    assert control.xpath("sensor/@name | gpio/@name") == ["force", "imu", "lamp"]
    assert control.xpath("joint[@name='j2']/state_interface/@name") == ["velocity"]
    assert {
        (joint.get("name"), one.get("name")): {param.get("name"): param.text for param in one}
        for joint in control.findall("joint")
        for one in joint.findall("command_interface")
    } == commands


def test_removed_joints_leave_the_rest(scene: exoskel.Scene) -> None:
    scene.world.remove("arm/l2")
    report = exoskel.convert(scene, None, to="urdf")
    assert report.certificate.passed
    (control,) = etree.fromstring(report.data).findall("ros2_control")
    assert control.xpath("string(hardware/plugin)") == "my_robot/Hardware"
    assert control.xpath("joint/@name | sensor/@name | gpio/@name") == ["j1", "imu", "lamp"]
    lost = {item.path for item in report.losses if not item.attribute}
    assert {"ros2_control[sys]/joint[j2]", "ros2_control[sys]/sensor[force]"} <= lost
    assert not [path for path in lost if "hardware" in path or "joint[j1]" in path]


def test_without_joints_the_element_is_removed(scene: exoskel.Scene) -> None:
    scene.world.remove("arm/l1", subtree=True)
    assert b"ros2_control" not in exoskel.convert(scene, None, to="urdf").data
