"""Elements for other programs survive from URDF to URDF and from SDF to SDF."""

from __future__ import annotations

from pathlib import Path

from lxml import etree

import exoskel
from exoskel.fates import Fate

URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><mass value="1"/>
    <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/><safety_controller k_velocity="1"/></joint>
  <transmission name="t1"><!-- simple --><type>transmission_interface/SimpleTransmission</type>
    <joint name="shoulder"><hardwareInterface>EffortJointInterface</hardwareInterface></joint>
    <actuator name="m1"><mechanicalReduction>50</mechanicalReduction></actuator></transmission>
  <ros2_control name="sys" type="system"><hardware><plugin>mock_components/GenericSystem</plugin></hardware>
    <joint name="shoulder"><command_interface name="position"/></joint></ros2_control>
  <gazebo reference="upper"><material>Gazebo/Red</material></gazebo>
  <sensor name="s"><parent link="upper"/><camera/></sensor>
</robot>"""
SDF = """<sdf version="1.9"><world name="w">
  <plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
  <light type="directional" name="sun"><direction>-.5 .1 -.9</direction></light>
  <model name="m"><link name="a"><inertial><mass>1</mass></inertial>
    <sensor name="imu" type="imu"><update_rate>100</update_rate></sensor></link>
    <link name="b"/>
    <joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 1 0</xyz></axis>
      <sensor name="ft" type="force_torque"/></joint>
    <plugin filename="jc" name="gz::sim::systems::JointController"><joint_name>j</joint_name></plugin>
  </model></world></sdf>"""


def _canonical(element: etree._Element) -> str:
    """The element without white space between elements."""
    for one in element.iter():
        one.text, one.tail = (one.text or "").strip(), ""
    return etree.tostring(element, method="c14n").decode()


def _convert(folder: Path, text: str, name: str) -> tuple[exoskel.Report, etree._Element, etree._Element]:
    source, target = folder / f"in.{name}", folder / f"out.{name}"
    source.write_text(text)
    report = exoskel.convert(source, target)
    return report, etree.fromstring(source.read_bytes()), etree.fromstring(target.read_bytes())


def test_urdf_keeps_transmissions_and_extensions(tmp_path: Path) -> None:
    report, before, after = _convert(tmp_path, URDF, "urdf")
    assert report.certificate.passed
    for path in ("transmission", "ros2_control", "gazebo", "sensor", "joint[@name='shoulder']/safety_controller"):
        (mine,), (theirs,) = before.xpath(path), after.xpath(path)
        assert _canonical(theirs) == _canonical(mine)
    assert {item.fate for item in report.items if item.loss} == set()
    assert sum(item.fate is Fate.KEPT for item in report.items) > 20


def test_sdf_keeps_plugins_sensors_and_lights(tmp_path: Path) -> None:
    report, before, after = _convert(tmp_path, SDF, "sdf")
    assert report.certificate.passed
    for path in ("world/plugin", "world/light", "//link/sensor", "//joint/sensor", "//model/plugin"):
        (mine,), (theirs,) = before.xpath(path), after.xpath(path)
        assert _canonical(theirs) == _canonical(mine)


def test_references_follow_names_and_vanish_with_links(tmp_path: Path) -> None:
    source = tmp_path / "in.urdf"
    source.write_text(URDF)
    scene = exoskel.load(source)
    scene.world.rename("arm/shoulder", "hinge")
    again = etree.fromstring(exoskel.convert(scene, to="urdf").data)
    assert again.xpath("transmission/joint/@name") == ["hinge"]
    assert again.xpath("ros2_control/joint/@name") == ["hinge"]
    scene.world.remove("arm/upper")
    again = etree.fromstring(exoskel.convert(scene, to="urdf").data)
    assert again.xpath("transmission | ros2_control | gazebo | sensor") == []


def test_other_formats_get_none_of_them(tmp_path: Path) -> None:
    source = tmp_path / "in.urdf"
    source.write_text(URDF)
    assert b"transmission" not in exoskel.convert(source, to="sdf").data
