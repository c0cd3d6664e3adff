"""Effort interfaces of `ros2_control` and of transmissions are motors of the scene."""

from __future__ import annotations

from math import inf
from pathlib import Path

import pytest
from lxml import etree

import exoskel
from exoskel import Actuator

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
LINKS = '<link name="base"/>' + "".join(f'<link name="{name}">{INERTIAL}</link>' for name in ("upper", "fore", "hand"))
JOINTS = """
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="10" velocity="3"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/><axis xyz="0 0 1"/></joint>
<joint name="wrist" type="prismatic"><parent link="fore"/><child link="hand"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="4" velocity="3"/></joint>
"""
CONTROL = """
<ros2_control name="arm" type="system">
  <hardware><plugin>gz_ros2_control/GazeboSimSystem</plugin></hardware>
  <joint name="shoulder">
    <command_interface name="effort"><param name="min">-5</param><param name="max">6</param></command_interface>
    <state_interface name="position"/>
  </joint>
  <joint name="elbow"><command_interface name="effort"/><state_interface name="velocity"/></joint>
  <joint name="wrist"><command_interface name="position"/></joint>
</ros2_control>
"""
TRANSMISSION = """
<transmission name="t_{joint}">
  <type>transmission_interface/SimpleTransmission</type>
  <joint name="{joint}"><hardwareInterface>hardware_interface/{interface}</hardwareInterface></joint>
  <actuator name="m_{joint}"><mechanicalReduction>50</mechanicalReduction></actuator>
</transmission>
"""


def robot(*parts: str) -> str:
    return f'<robot name="arm">{LINKS}{JOINTS}{"".join(parts)}</robot>'


def transmission(joint: str, interface: str = "EffortJointInterface") -> str:
    return TRANSMISSION.format(joint=joint, interface=interface)


def file_of(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "arm.urdf"
    file.write_text(text)
    return file


MOTORS = [
    Actuator("shoulder", "arm/shoulder", control_range=(-5, 6)),
    Actuator("elbow", "arm/elbow"),
]


def test_effort_interfaces_of_ros2_control_are_motors() -> None:
    scene = exoskel.load(robot(CONTROL).encode(), format="urdf")
    assert list(scene.world.actuators) == MOTORS
    assert [(d.code, d.message) for d in scene.diagnostics] == [
        ("UR109", "the effort interfaces of <ros2_control> are read as actuators (2); the rest is ignored"),
        ("UR110", "the position interface of joint 'wrist' has no gains; it is ignored"),
    ]


def test_effort_interfaces_of_transmissions_are_motors_with_the_range_of_the_joint() -> None:
    parts = [transmission("wrist"), transmission("elbow", "PositionJointInterface"), transmission("nowhere")]
    scene = exoskel.load(robot(*parts).encode(), format="urdf")
    assert list(scene.world.actuators) == [Actuator("wrist", "arm/wrist", control_range=(-4, 4))]
    assert [d.code for d in scene.diagnostics] == ["UR109", "UR107", "UR110", "UR107", "UR111"]


def test_transmissions_are_not_read_beside_ros2_control() -> None:
    scene = exoskel.load(robot(transmission("wrist"), CONTROL).encode(), format="urdf")
    assert list(scene.world.actuators) == MOTORS


@pytest.mark.parametrize("part", [CONTROL, transmission("wrist"), transmission("wrist") + CONTROL])
def test_the_elements_are_written_again(tmp_path: Path, part: str) -> None:
    file = file_of(tmp_path, robot(part))
    out = tmp_path / "out.urdf"
    report = exoskel.convert(file, out)
    assert not report.losses
    assert out.read_text().count("<ros2_control") == part.count("<ros2_control")
    assert out.read_text().count("<transmission ") == part.count("<transmission ")
    assert "mechanicalReduction" in out.read_text() or "GazeboSimSystem" in out.read_text()
    assert list(exoskel.load(out).world.actuators) == list(exoskel.load(file).world.actuators)


def test_a_renamed_joint_is_renamed_in_the_elements(tmp_path: Path) -> None:
    scene = exoskel.load(file_of(tmp_path, robot(CONTROL)))
    scene.world.rename("arm/elbow", "bend")
    exoskel.save(scene)
    text = (tmp_path / "arm.urdf").read_text()
    assert '<joint name="bend">' in text
    assert "GazeboSimSystem" in text
    again = exoskel.load(tmp_path / "arm.urdf")
    assert [one.joint for one in again.world.actuators] == ["arm/shoulder", "arm/bend"]


def test_edited_motors_replace_the_elements(tmp_path: Path) -> None:
    scene = exoskel.load(file_of(tmp_path, robot(CONTROL)))
    scene.world.add_actuator("lift", "wrist", control_range=(-1, 2))
    exoskel.save(scene)
    again = exoskel.load(tmp_path / "arm.urdf")
    ranges = {one.joint: one.control_range for one in again.world.actuators}
    assert ranges["arm/wrist"] == (-1, 2)
    assert len(ranges) == 3
    again.world.actuators.clear()
    exoskel.save(again)
    assert not exoskel.load(tmp_path / "arm.urdf").world.actuators


def test_motors_of_mjcf_become_effort_interfaces(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><body name="a"><joint name="j" type="hinge"/><geom size="1"/>
      <body name="b" pos="1 0 0"><joint name="k" type="slide"/><geom size="1"/></body></body></worldbody>
      <actuator><motor name="m" joint="j" gear="20" ctrllimited="true" ctrlrange="-1 1"/>
      <position name="p" joint="k" kp="5"/></actuator></mujoco>"""
    (tmp_path / "a.xml").write_text(text)
    report = exoskel.convert(tmp_path / "a.xml", tmp_path / "a.urdf")
    found = exoskel.load(tmp_path / "a.urdf").world.actuators
    assert [(one.kind, one.control_range) for one in found] == [("motor", (-20, 20))]
    motor = next(one for one in report.items if "motor[@name='m']" in one.path)
    assert motor.fate == "lowered"
    assert "as a motor whose control is the force on the joint" in motor.why
    servo = next(one for one in report.losses if "position[@name='p']" in one.path)
    assert "as a spring and damper" in servo.why


def test_motors_of_urdf_become_actuators_of_mjcf(tmp_path: Path) -> None:
    report = exoskel.convert(file_of(tmp_path, robot(CONTROL)), tmp_path / "arm.xml")
    assert report.certificate.passed
    found = exoskel.load(tmp_path / "arm.xml").world.actuators
    assert [(one.name, one.control_range) for one in found] == [(one.name, one.control_range) for one in MOTORS]


def test_elements_with_other_joints_are_written_again_without_removed_ones(tmp_path: Path) -> None:
    fixed = '<link name="tool"/><joint name="mount" type="fixed"><parent link="hand"/><child link="tool"/></joint>'
    others = '<joint name="mount"><state_interface name="position"/></joint><joint name="elsewhere"/></ros2_control>'
    file = file_of(tmp_path, robot(fixed, CONTROL.replace("</ros2_control>", others)))
    scene = exoskel.load(file)
    scene.world.rename("arm", "robot")
    exoskel.save(scene)
    assert "GazeboSimSystem" in file.read_text()
    scene = exoskel.load(file)
    scene.world.remove("robot/hand", subtree=True)
    exoskel.save(scene)
    assert "GazeboSimSystem" in file.read_text()
    assert 'joint name="mount"' not in file.read_text()
    assert [one.joint for one in exoskel.load(file).world.actuators] == ["robot/shoulder", "robot/elbow"]


INITIAL = CONTROL.replace(
    '<state_interface name="position"/>',
    '<state_interface name="position"><param name="initial_value">0.5</param><param name="min">-1</param>'
    '</state_interface><state_interface name="velocity"><param name="initial_value">-0.25</param></state_interface>',
)


def state(scene: exoskel.Scene) -> tuple[float, float]:
    dof = scene.world.models[0].joint("shoulder").dofs[0]
    return dof.position, dof.velocity


def test_initial_values_are_the_initial_state(tmp_path: Path) -> None:
    file = file_of(tmp_path, robot(INITIAL))
    scene = exoskel.load(file)
    assert state(scene) == (0.5, -0.25)
    report = exoskel.convert(file, None, to="mjcf")
    assert state(exoskel.load(report.data)) == (0.5, -0.25)
    lost = [one.path for one in report.losses if "state_interface" in one.path]
    assert lost == []
    again = exoskel.convert(file, None, to="urdf")
    assert again.data.decode().count('<param name="initial_value">0.5</param>') == 1
    assert "gz_ros2_control/GazeboSimSystem" in again.data.decode()


@pytest.mark.parametrize("value", [0.0, 0.75])
def test_an_edited_initial_state_replaces_the_initial_value(tmp_path: Path, value: float) -> None:
    scene = exoskel.load(file_of(tmp_path, robot(INITIAL)))
    scene.world.models[0].joint("shoulder").dofs[0].position = value
    data = exoskel.convert(scene, None, to="urdf").data
    assert state(exoskel.load(data)) == (value, -0.25)


def test_initial_values_without_motors_are_read_and_written(tmp_path: Path) -> None:
    text = INITIAL.replace('name="effort"', 'name="position"')
    scene = exoskel.load(file_of(tmp_path, robot(text)))
    assert state(scene) == (0.5, -0.25)
    assert not scene.world.actuators
    scene.world.models[0].joint("shoulder").dofs[0].position = 0.1
    data = exoskel.convert(scene, None, to="urdf").data
    assert state(exoskel.load(data)) == (0.1, -0.25)


def test_built_motors_state_initial_values() -> None:
    scene = exoskel.load(robot(CONTROL))
    scene.world.models[0].joint("elbow").dofs[0].position = 0.3
    world = exoskel.World("w")
    world.add(scene.world.models[0])
    world.add_actuator("motor", "arm/elbow")
    data = exoskel.convert(world, None, to="urdf").data.decode()
    assert '<param name="initial_value">0.3</param>' in data


def test_an_initial_state_and_a_motor_that_are_written_are_no_losses() -> None:
    text = """<mujoco><worldbody><body name="a"><joint name="j"/><geom size="1"/><body name="b" pos="1 0 0">
      <joint name="k"/><geom size="1"/></body></body></worldbody><actuator><motor name="m" joint="j"/></actuator>
      <keyframe><key name="initial" qpos="0.5 0.25" qvel="0.1 0"/></keyframe></mujoco>"""
    report = exoskel.convert(text, None, to="urdf")
    fates = {one.path.removeprefix("/mujoco/"): (str(one.fate), one.loss) for one in report.items}
    assert fates["actuator[1]/motor[@name='m']"] == ("lowered", False)
    assert fates["actuator[1]/motor[@name='m']/@name"] == ("dropped", False)
    assert fates["keyframe[1]/key[@name='initial']/@qpos"] == ("approximated", True), "the other joint has no motor"
    assert not fates["keyframe[1]/key[@name='initial']/@qvel"][1]
    driven = exoskel.convert(text.replace("0.5 0.25", "0.5 0"), None, to="urdf")
    assert not driven.losses
    joint = exoskel.load(driven.data).world.models[0].joint("j")
    assert (joint.positions, joint.velocities) == ((0.5,), (0.1,))


@pytest.mark.parametrize("joint", ["shoulder", "wrist", "elbow"])
@pytest.mark.parametrize("bounds", [(-inf, inf), (-inf, 2), (-1, inf), (-10, 10), (-20, 30)])
@pytest.mark.parametrize("parts", [(), (CONTROL,), (transmission("wrist"),)], ids=["none", "control", "transmission"])
def test_the_range_of_a_motor_is_independent_of_the_effort_limit(
    joint: str, bounds: tuple[float, float], parts: tuple[str, ...]
) -> None:
    scene = exoskel.load(robot(*parts).encode(), format="urdf")
    actuators = scene.world.actuators
    actuators[:] = [one for one in actuators if one.joint != f"arm/{joint}"]
    scene.world.add_actuator("edited", joint, control_range=bounds)
    report = exoskel.convert(scene, None, to="urdf")
    assert report.certificate.passed
    assert not report.losses
    again = exoskel.load(report.data, format="urdf").world.actuators
    assert {one.joint: one.control_range for one in again} == {one.joint: one.control_range for one in actuators}


GRIP = """
<ros2_control name="grip" type="actuator">
  <hardware><plugin>my/Grip</plugin><param name="port">/dev/grip</param></hardware>
  <joint name="wrist">
    <command_interface name="effort"><param name="min">-1.0</param><param name="max">2.50</param></command_interface>
    <state_interface name="position"><param name="initial_value">0.50</param></state_interface>
  </joint>
</ros2_control>
"""
SENSOR = """
<ros2_control name="imu" type="sensor">
  <hardware><plugin>my/Imu</plugin></hardware>
  <sensor name="imu"><state_interface name="orientation.x"/><param name="frame_id">hand</param></sensor>
</ros2_control>
"""


def control_elements(data: bytes) -> list[str]:
    """The elements as canonical XML without spaces between elements."""
    root = etree.fromstring(data, etree.XMLParser(remove_blank_text=True))
    return [etree.tostring(one, method="c14n").decode() for one in root.iterfind("ros2_control")]


THREE = robot(CONTROL, GRIP, SENSOR)


def test_an_edited_motor_changes_its_joint_in_one_of_several_elements() -> None:
    scene = exoskel.load(THREE.encode(), format="urdf")
    assert [one.joint for one in scene.world.actuators] == ["arm/shoulder", "arm/elbow", "arm/wrist"]
    scene.world.actuators[2] = Actuator("wrist", "arm/wrist", control_range=(-3, 2.5))
    report = exoskel.convert(scene, None, to="urdf")
    assert not report.losses
    assert control_elements(report.data) == control_elements(
        THREE.replace(">-1.0<", ">-3<").replace("2.50", "2.5").encode()
    )


def test_a_removed_motor_and_an_edited_state_change_their_joints_in_several_elements() -> None:
    scene = exoskel.load(THREE.encode(), format="urdf")
    scene.world.actuators.pop(1)
    scene.world.models[0].joint("wrist").positions = (0.75,)
    data = exoskel.convert(scene, None, to="urdf").data
    wanted = THREE.replace('<joint name="elbow"><command_interface name="effort"/>', '<joint name="elbow">')
    assert control_elements(data) == control_elements(wanted.replace("0.50", "0.75").encode())


def test_a_new_motor_is_added_to_the_element_of_a_system() -> None:
    first = CONTROL.replace('<joint name="elbow"><command_interface name="effort"/>', '<joint name="none">')
    text = robot(GRIP, SENSOR, first)
    scene = exoskel.load(text.encode(), format="urdf")
    scene.world.add_actuator("bend", "elbow", control_range=(-1, 1))
    report = exoskel.convert(scene, None, to="urdf")
    assert report.certificate.passed
    grip, sensor, system = control_elements(report.data)
    assert [grip, sensor] == control_elements(text.encode())[:2]
    assert 'joint name="elbow"' in system
    assert "GazeboSimSystem" in system
    ranges = {one.joint: one.control_range for one in exoskel.load(report.data).world.actuators}
    assert ranges == {"arm/wrist": (-1, 2.5), "arm/shoulder": (-5, 6), "arm/elbow": (-1, 1)}


def test_a_new_motor_beside_single_actuators_gets_an_element_of_its_own() -> None:
    text = robot(GRIP, SENSOR)
    scene = exoskel.load(text.encode(), format="urdf")
    scene.world.add_actuator("bend", "elbow")
    found = control_elements(exoskel.convert(scene, None, to="urdf").data)
    assert found[:2] == control_elements(text.encode())
    assert len(found) == 3
    assert "mock_components/GenericSystem" in found[2]


def test_motors_in_another_order_than_their_elements_are_written() -> None:
    scene = exoskel.load(THREE.encode(), format="urdf")
    scene.world.actuators.reverse()
    scene.world.actuators.pop()
    data = exoskel.convert(scene, None, to="urdf").data
    assert {one.joint for one in exoskel.load(data).world.actuators} == {"arm/elbow", "arm/wrist"}


def test_sensors_of_removed_links_are_removed_from_elements_without_joints() -> None:
    scene = exoskel.load(THREE.encode(), format="urdf")
    scene.world.remove("arm/hand")
    report = exoskel.convert(scene, None, to="urdf")
    control, sensor = control_elements(report.data)
    assert "GazeboSimSystem" in control
    assert "frame_id" not in sensor
    assert any("sensor" in one.path for one in report.losses)


STATE = '<state_interface name="position"><param name="initial_value">{value}</param></state_interface>'


@pytest.mark.parametrize("value", ["abc", "", "nan", "1 2"])
def test_an_initial_value_that_is_no_number_is_reported_and_kept(value: str) -> None:
    inside = (
        f'<ros2_control name="c" type="system"><joint name="elbow">{STATE.format(value=value)}</joint></ros2_control>'
    )
    text = robot(inside)
    scene = exoskel.load(text.encode(), format="urdf")
    assert [d.message for d in scene.diagnostics if d.code == "UR112"] == [
        f"'{value}' is not a finite number; the parameter 'initial_value' is ignored"
    ]
    assert exoskel.convert(text, to="mjcf").losses
    assert value.encode() in exoskel.convert(text, to="urdf").data


@pytest.mark.parametrize("element", [CONTROL.replace('"elbow"', '"elbwo"'), transmission("elbwo")])
def test_a_joint_that_the_robot_lacks_is_reported(element: str) -> None:
    scene = exoskel.load(robot(element).encode(), format="urdf")
    (found,) = (d for d in scene.diagnostics if d.code == "UR111")
    assert "unknown joint 'elbwo'" in found.message and "elbow" in found.hint
    lost = [one for one in exoskel.convert(robot(element), to="mjcf").losses if "elbwo" in one.path]
    assert lost


def test_motors_are_certified_without_their_activations() -> None:
    text = """<mujoco><worldbody><body name="b"><joint name="j"/><geom size=".1"/></body></worldbody>
    <actuator><general name="a" joint="j" dyntype="filter" dynprm="0.1"/></actuator></mujoco>"""
    report = exoskel.convert(text, None, to="urdf")
    assert report.certificate.passed
    assert [one.kind for one in exoskel.load(report.data).world.actuators] == ["motor"]
    losses = [item for item in report.losses if "its activation is not written" in item.why]
    assert {item.path.rpartition("/")[2]: item.fate.value for item in losses if "/@" in item.path} == {
        "@joint": "approximated",
        "@dyntype": "dropped",
        "@dynprm": "dropped",
    }
    assert [item.fate.value for item in losses if "/@" not in item.path] == ["approximated"]  # the motor is written
