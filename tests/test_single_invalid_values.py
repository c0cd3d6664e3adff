"""One invalid value in an MJCF, SDF or URDF file is reported with its line, and the rest of the file is read.

In a document of each format, each value is replaced by each of some invalid ones, and each element is removed,
repeated, emptied and misspelt.  `--quick` takes a few of them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from msgspec import Struct

import exoskel
from exoskel import Scene
from tests.support.mujoco_version import needs_mujoco_4

_URDF = """<?xml version="1.0"?>
<robot name="r" version="1.0">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base">
    <inertial><origin xyz="0.1 0 0" rpy="0 0 0.1"/><mass value="2"/><inertia ixx="1" ixy="0.1" ixz="0.1" iyy="1" iyz="0.1" izz="1"/></inertial>
    <visual name="v"><origin xyz="0 0 1" rpy="0 0.1 0"/><geometry><box size="1 2 3"/></geometry><material name="red"/></visual>
    <collision name="c"><origin xyz="0 0 1" rpy="0 0.1 0"/><geometry><cylinder radius="0.5" length="2"/></geometry></collision>
    <collision name="d"><geometry><sphere radius="0.5"/></geometry></collision>
  </link>
  <link name="one">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
    <visual><geometry><mesh filename="tetra.obj" scale="1 1 2"/></geometry><material name="blue"><color rgba="0 0 1 1"/></material></visual>
    <collision><geometry><capsule radius="0.5" length="2"/></geometry></collision>
  </link>
  <link name="two">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <link name="three">
    <inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial>
  </link>
  <joint name="j1" type="revolute">
    <origin xyz="0 0 1" rpy="0 0 0.2"/><parent link="base"/><child link="one"/><axis xyz="0 1 0"/>
    <calibration rising="0.1" falling="0.2"/>
    <dynamics damping="0.1" friction="0.2"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
    <safety_controller soft_lower_limit="-0.9" soft_upper_limit="0.9" k_position="10" k_velocity="5"/>
  </joint>
  <joint name="j2" type="continuous">
    <parent link="one"/><child link="two"/><axis xyz="0 0 1"/>
    <limit effort="10" velocity="2"/><mimic joint="j1" multiplier="2" offset="0.1"/>
  </joint>
  <joint name="j3" type="prismatic">
    <parent link="two"/><child link="three"/><axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="2"/>
  </joint>
  <transmission name="t1">
    <type>transmission_interface/SimpleTransmission</type>
    <joint name="j1"><hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface></joint>
    <actuator name="m1"><hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface><mechanicalReduction>50</mechanicalReduction></actuator>
  </transmission>
  <ros2_control name="sys" type="system">
    <hardware><plugin>mock/Sys</plugin><param name="x">1</param></hardware>
    <joint name="j3"><command_interface name="effort"><param name="min">-5</param><param name="max">5</param></command_interface>
      <state_interface name="position"><param name="initial_value">0.5</param></state_interface></joint>
  </ros2_control>
</robot>
"""
_SDF = """<?xml version="1.0"?>
<sdf version="1.11">
  <world name="w">
    <gravity>0 0 -9.8</gravity>
    <magnetic_field>1 2 3</magnetic_field>
    <physics name="p" type="ode" default="true"><max_step_size>0.002</max_step_size><real_time_factor>1</real_time_factor>
      <ode><solver><type>quick</type><iters>50</iters><sor>1.3</sor></solver><constraints><cfm>0.1</cfm><erp>0.2</erp></constraints></ode></physics>
    <light name="sun" type="directional"><pose>0 0 10 0 0 0</pose><cast_shadows>true</cast_shadows><diffuse>1 1 1 1</diffuse><specular>0.5 0.5 0.5 1</specular><intensity>1</intensity>
      <attenuation><range>100</range><constant>0.5</constant><linear>0.1</linear><quadratic>0.01</quadratic></attenuation><direction>0 0 -1</direction></light>
    <light name="spot" type="spot"><diffuse>1 1 1 1</diffuse><spot><inner_angle>0.1</inner_angle><outer_angle>0.5</outer_angle><falloff>1</falloff></spot></light>
    <frame name="f" attached_to="m"><pose relative_to="m">1 0 0 0 0 0</pose></frame>
    <model name="m" canonical_link="a" placement_frame="a">
      <static>false</static>
      <self_collide>true</self_collide>
      <allow_auto_disable>true</allow_auto_disable>
      <pose relative_to="" degrees="true" rotation_format="euler_rpy">0 0 1 0 0 90</pose>
      <frame name="g" attached_to="a"><pose relative_to="a">0 0 1 0 0 0</pose></frame>
      <link name="a">
        <pose>0 0 1 0 0 0</pose>
        <gravity>true</gravity><kinematic>false</kinematic><self_collide>true</self_collide>
        <velocity_decay><linear>0</linear><angular>0</angular></velocity_decay>
        <inertial><pose>0.1 0 0 0 0 0</pose><mass>2</mass><inertia><ixx>1</ixx><ixy>0.1</ixy><ixz>0</ixz><iyy>1</iyy><iyz>0</iyz><izz>1</izz></inertia></inertial>
        <collision name="c"><pose>0 0 1 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry>
          <surface><friction><ode><mu>0.5</mu><mu2>0.5</mu2></ode></friction><bounce><restitution_coefficient>0.3</restitution_coefficient></bounce>
            <contact><collide_bitmask>1</collide_bitmask></contact></surface></collision>
        <collision name="d"><geometry><cylinder><radius>0.5</radius><length>2</length></cylinder></geometry></collision>
        <collision name="e"><geometry><capsule><radius>0.5</radius><length>2</length></capsule></geometry></collision>
        <collision name="h"><geometry><ellipsoid><radii>0.5 1 2</radii></ellipsoid></geometry></collision>
        <collision name="i"><geometry><cone><radius>0.5</radius><length>2</length></cone></geometry></collision>
        <collision name="k"><geometry><plane><normal>0 0 1</normal><size>1 1</size></plane></geometry></collision>
        <visual name="v"><geometry><sphere><radius>0.5</radius></sphere></geometry><transparency>0.5</transparency><cast_shadows>true</cast_shadows>
          <material><ambient>1 0 0 1</ambient><diffuse>1 0 0 1</diffuse><specular>1 0 0 1</specular><emissive>0 0 0 1</emissive></material></visual>
        <visual name="u"><geometry><mesh><uri>tetra.obj</uri><scale>1 1 2</scale></mesh></geometry></visual>
        <visual name="w"><geometry><polyline><point>0 0</point><point>1 0</point><point>0 1</point><height>1</height></polyline></geometry></visual>
        <sensor name="imu" type="imu"><pose>0 0 0 0 0 0</pose><update_rate>100</update_rate><always_on>1</always_on><imu><angular_velocity><x><noise type="gaussian"><mean>0</mean><stddev>0.1</stddev></noise></x></angular_velocity></imu></sensor>
        <sensor name="cam" type="camera"><update_rate>30</update_rate><camera name="cc"><horizontal_fov>1</horizontal_fov><image><width>320</width><height>240</height><format>R8G8B8</format></image><clip><near>0.1</near><far>100</far></clip></camera></sensor>
      </link>
      <link name="b"><pose relative_to="g">0 0 1 0 0 0</pose><inertial><mass>1</mass></inertial></link>
      <link name="c"/>
      <link name="d"/>
      <link name="e"/>
      <joint name="j1" type="revolute">
        <pose relative_to="a">0 0 1 0 0 0</pose><parent>a</parent><child>b</child>
        <axis><xyz expressed_in="g">0 1 0</xyz><limit><lower>-1</lower><upper>1</upper><effort>10</effort><velocity>2</velocity><stiffness>1e8</stiffness><dissipation>1</dissipation></limit>
          <dynamics><damping>0.1</damping><friction>0.2</friction><spring_reference>0.1</spring_reference><spring_stiffness>3</spring_stiffness></dynamics></axis>
        <physics><ode><cfm_damping>true</cfm_damping><limit><cfm>0.1</cfm><erp>0.2</erp></limit></ode></physics>
        <sensor name="ft" type="force_torque"><force_torque><frame>child</frame><measure_direction>child_to_parent</measure_direction></force_torque></sensor>
      </joint>
      <joint name="j2" type="universal"><parent>b</parent><child>c</child><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis2></joint>
      <joint name="j3" type="prismatic"><parent>c</parent><child>d</child><axis><xyz>1 0 0</xyz><mimic joint="j1" axis="axis"><multiplier>2</multiplier><offset>0.1</offset><reference>0</reference></mimic></axis></joint>
      <joint name="j4" type="screw"><parent>d</parent><child>e</child><axis><xyz>1 0 0</xyz></axis><screw_thread_pitch>0.1</screw_thread_pitch></joint>
      <model name="n"><pose>1 0 0 0 0 0</pose><link name="x"/></model>
      <plugin name="pl" filename="libpl.so"><k>1</k></plugin>
    </model>
  </world>
</sdf>
"""
_MJCF = """<mujoco model="m">
  <compiler angle="degree" autolimits="true" eulerseq="xyz" balanceinertia="false" meshdir="."/>
  <option timestep="0.002" gravity="0 0 -9.81" integrator="Euler" cone="pyramidal"><flag contact="enable" energy="disable"/></option>
  <size memory="1M" nuser_body="1"/>
  <visual><global offwidth="640"/><headlight ambient="0.1 0.1 0.1"/></visual>
  <statistic extent="1" center="0 0 1"/>
  <default>
    <geom friction="0.5 0.005 0.0001"/>
    <default class="arm"><joint damping="0.1" armature="0.01"/><geom rgba="1 0 0 1"/><motor ctrlrange="-1 1"/></default>
  </default>
  <custom><numeric name="n" data="1 2 3"/><text name="t" data="hello"/><tuple name="tu"><element objtype="body" objname="a" prm="1"/></tuple></custom>
  <asset>
    <texture name="tex" type="2d" builtin="checker" width="10" height="10" rgb1="1 0 0"/>
    <material name="mat" texture="tex" rgba="1 1 0 1" specular="0.5"/>
    <mesh name="mesh" vertex="0 0 0  1 0 0  0 1 0  0 0 1" scale="1 1 1"/>
    <hfield name="hf" nrow="2" ncol="2" size="1 1 1 0.1" elevation="0 0 0 1"/>
  </asset>
  <worldbody>
    <light name="l" pos="0 0 3" dir="0 0 -1" diffuse="0.5 0.5 0.5" castshadow="true"/>
    <camera name="cam" pos="0 -3 1" xyaxes="1 0 0 0 0 1" fovy="45"/>
    <geom name="floor" type="plane" size="5 5 0.1" contype="1" conaffinity="1" condim="3"/>
    <geom name="terrain" type="hfield" hfield="hf"/>
    <body name="a" pos="0 0 1" quat="1 0 0 0" childclass="arm" gravcomp="0">
      <freejoint name="fj"/>
      <inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>
      <geom name="ga" type="box" size="0.1 0.2 0.3" pos="0.1 0 0" euler="0 0 10" material="mat" solref="0.02 1"/>
      <geom name="gm" type="mesh" mesh="mesh"/>
      <site name="s" pos="0 0 0.1" size="0.01" rgba="1 0 0 1"/>
      <frame pos="0 0 1" euler="0 10 0">
      <body name="b" pos="0.5 0 0" axisangle="0 0 1 10">
        <joint name="j1" type="hinge" axis="0 1 0" pos="0 0 0" range="-90 90" damping="0.2" stiffness="1" springref="5" ref="0" frictionloss="0.1" armature="0.02" limited="true" actuatorfrcrange="-5 5"/>
        <geom name="gb" type="capsule" fromto="0 0 0 0.5 0 0" size="0.05" density="500" margin="0.01"/>
        <site name="s2" pos="0.5 0 0"/>
        <body name="c" pos="0.5 0 0">
          <joint name="j2" type="slide" axis="1 0 0" range="-1 1"/>
          <joint name="j3" type="slide" axis="0 1 0"/>
          <geom name="gc" type="sphere" size="0.1" mass="1"/>
          <camera name="cam2" mode="track" target="a"/>
        </body>
      </body>
      </frame>
      <replicate count="2" euler="0 0 90"><body name="r" pos="1 0 0"><joint name="jr" type="ball"/><geom type="ellipsoid" size="0.1 0.2 0.3"/></body></replicate>
    </body>
    <body name="mo" mocap="true" pos="0 0 2"><geom type="cylinder" size="0.1 0.2"/></body>
  </worldbody>
  <contact><pair geom1="floor" geom2="gb" condim="3"/><exclude body1="a" body2="c"/></contact>
  <tendon>
    <spatial name="st" width="0.01" range="0 2" stiffness="1"><site site="s"/><site site="s2"/></spatial>
    <fixed name="ft"><joint joint="j1" coef="1"/><joint joint="j2" coef="-0.5"/></fixed>
  </tendon>
  <equality>
    <connect name="ec" body1="c" body2="mo" anchor="0 0 0" active="true"/>
    <weld name="ew" body1="c" body2="a" relpose="0 0 0 1 0 0 0"/>
    <joint name="ej" joint1="j2" joint2="j3" polycoef="0 1 0 0 0"/>
    <tendon name="et" tendon1="ft" polycoef="0 1 0 0 0"/>
  </equality>
  <actuator>
    <motor name="m1" class="arm" joint="j1" gear="10" ctrllimited="true" forcerange="-20 20"/>
    <position name="p1" joint="j2" kp="10" kv="1"/>
    <velocity name="v1" joint="j3" kv="1"/>
    <general name="g1" tendon="ft" gainprm="1 0 0" biastype="affine" biasprm="0 -1 0" dyntype="integrator" actlimited="true" actrange="-1 1"/>
  </actuator>
  <sensor>
    <jointpos name="sj" joint="j1" noise="0.1"/>
    <accelerometer name="sa" site="s"/>
    <framepos name="sf" objtype="body" objname="c" reftype="body" refname="a"/>
    <touch name="st1" site="s2" cutoff="10"/>
  </sensor>
  <keyframe>
    <key name="home" time="1" qpos="0 0 1 1 0 0 0  0.1 0.2 0.3  1 0 0 0 1 0 0 0" ctrl="0 0 0 0" act="0.5"/>
  </keyframe>
</mujoco>
"""

DOCUMENTS = {"urdf": _URDF, "sdf": _SDF, "mjcf": _MJCF}
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
INVALID = (
    *("x1y", "", "1 2", "-1", "0", "nan", "inf", "-1e300", "1e400", "9" * 20, "nowhere", "1 x 2", "0x10", "1,2,3"),
    "0 0 0 0 0 0 0",
    None,
)
"""What replaces each value; None removes it."""


def _remove(one: Any) -> None:
    one.getparent().remove(one)


def _repeat(one: Any) -> None:
    one.addnext(copy.deepcopy(one))


def _empty(one: Any) -> None:
    for child in list(one):
        one.remove(child)
    one.text = None
    one.attrib.clear()


def _misspell(one: Any) -> None:
    one.tag = "foo"


def _add_text(one: Any) -> None:
    one.text = "stray"


CHANGES: dict[str, Callable[[Any], None]] = {
    "remove": _remove,
    "repeat": _repeat,
    "empty": _empty,
    "misspell": _misspell,
    "add text": _add_text,
}
NO_SCENE = ("MJ101", "SD003", "UR005")
"""Reasons for which a document as a whole makes no sense: a limit is exceeded, or there is nothing in it."""


class _Trial(Struct):
    """One change of a document: what it does, the place of the element, and how it is changed."""

    label: str
    number: int
    change: Callable[[Any], None]
    is_number: bool = False
    """Whether a text that is no finite number replaces a number."""


def _trials(format: str) -> Iterator[_Trial]:
    for number, element in enumerate(etree.fromstring(DOCUMENTS[format].encode()).iter(etree.Element)):
        place = f"<{element.tag}> in line {element.sourceline}"
        texts = {"": element.text.strip()} if element.text and element.text.strip() and not len(element) else {}
        for name, stated in {**element.attrib, **texts}.items():
            for value in INVALID:
                label = f"{place}: {name or 'text'}={value!r}"
                is_number = value in ("x1y", "nan") and _is_number(stated)
                yield _Trial(label, number, partial(_set_value, name=name, value=value), is_number)
        for label, change in CHANGES.items() if number else ():
            yield _Trial(f"{place}: {label}", number, change)


def _is_number(text: str) -> bool:
    try:
        return bool([float(word) for word in text.split()])
    except ValueError:
        return False


def _set_value(one: Any, *, name: str, value: str | None) -> None:
    if not name:
        one.text = value
    elif value is None:
        del one.attrib[name]
    else:
        one.attrib[name] = value


def _changed(format: str, trial: _Trial) -> bytes:
    root = etree.fromstring(DOCUMENTS[format].encode())
    trial.change(list(root.iter(etree.Element))[trial.number])
    return bytes(etree.tostring(root))


UNKNOWN_KINDS = (
    "<k>",
    "version=",
    "<param>",
    "<mechanicalReduction>",
    "<text>",
    "<element>",
    "<numeric>",
    "<color>",
    "<statistic>",
)
"""Values of elements that no part of this program knows."""
EVERY, PARTS = 43, 12
"""Each test takes every 43rd change, and all tests together a quarter of them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("invalid")
    (made / "tetra.obj").write_text(TETRAHEDRON)
    return made


def _read(data: bytes, format: str, folder: Path) -> Scene:
    return exoskel.load(data, format=format, base=folder / "document.xml")


@pytest.mark.parametrize("format", ["urdf", "sdf", pytest.param("mjcf", marks=needs_mujoco_4)])
def test_the_documents_are_valid(format: str, folder: Path) -> None:
    scene = _read(DOCUMENTS[format].encode(), format, folder)
    assert not [one for one in scene.diagnostics if one.severity == "error"]
    assert exoskel.convert(scene, None, to=format).certificate.passed


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("format", ["urdf", "sdf", pytest.param("mjcf", marks=needs_mujoco_4)])
def test_one_invalid_value_is_reported_and_the_rest_is_read(format: str, part: int, folder: Path) -> None:
    original = _read(DOCUMENTS[format].encode(), format, folder)
    known, bodies = {one.message for one in original.diagnostics}, len(list(original.world.bodies()))
    for number, trial in enumerate(_trials(format)):
        if number % EVERY != part:
            continue
        label, scene = trial.label, _read(_changed(format, trial), format, folder)
        errors = [one for one in scene.diagnostics if one.severity == "error"]
        if not scene.worlds:
            assert any(one.code in NO_SCENE for one in errors), (label, *map(str, errors))
            continue
        assert all(one.line and one.line > 0 for one in errors), (label, *map(str, errors))
        assert not [str(one) for one in exoskel.check(scene) if one.severity == "error"], label
        if trial.change not in CHANGES.values():
            assert len(list(scene.world.bodies())) >= bodies - 2, label
        if trial.is_number and not any(one in label for one in UNKNOWN_KINDS):
            assert any(one.message not in known for one in scene.diagnostics), label
        if number % 3 == 0:
            report = exoskel.convert(scene, None, to=format)
            assert report.certificate.passed, (label, [one for one in report.certificate.checks if not one.passed])
