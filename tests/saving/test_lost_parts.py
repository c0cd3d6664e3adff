"""What the author's file contains and the saved one does not is reported by name, in every format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import exoskel
from exoskel.scene.world import World

SDF = b"""<sdf version="1.9">
  <world name="w">
    <model name="arm">
      <link name="base"/>
      <link name="l1"><pose>0 0 1 0 0 0</pose></link>
      <!-- about l2 -->
      <link name="l2"><!-- inside --><pose>0 0 2 0 0 0</pose></link>
      <joint name="j1" type="revolute">
        <parent>base</parent><child>l1</child>
        <axis><xyz>0 1 0</xyz><limit><lower>-1</lower><upper>1</upper></limit></axis>
      </joint>
      <joint name="j2" type="universal">
        <parent>l1</parent><child>l2</child><axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>
      </joint>
      <plugin name="control" filename="libcontrol.so"><joint_name>j2</joint_name></plugin>
      <plugin name="other" filename="libcontrol.so"><joint_name>j1</joint_name></plugin>
    </model>
  </world>
</sdf>
"""

URDF = b"""<robot name="r">
  <link name="base"/>
  <link name="l1"/>
  <link name="l2"/>
  <joint name="j1" type="revolute">
    <parent link="base"/><child link="l1"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="10" velocity="3"/>
  </joint>
  <joint name="j2" type="prismatic">
    <parent link="l1"/><child link="l2"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="3"/>
  </joint>
  <gazebo><plugin name="p" filename="x.so"><joint>j2</joint></plugin></gazebo>
  <ros2_control name="system" type="system">
    <joint name="j2"><command_interface name="effort"/></joint>
  </ros2_control>
  <company part="12"/>
</robot>
"""

USD = b"""#usda 1.0
(
    upAxis = "Z"
)

def PhysicsScene "scene"
{
}

def Xform "arm" (
    prepend apiSchemas = ["PhysicsArticulationRootAPI"]
)
{
    def Sphere "base" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"]
    )
    {
        float physics:mass = 1
    }
    def Sphere "l1" (
        prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsMassAPI"]
    )
    {
        float physics:mass = 1
        double3 xformOp:translate = (0, 0, 3)
        uniform token[] xformOpOrder = ["xformOp:translate"]
    }
    def PhysicsRevoluteJoint "j1"
    {
        rel physics:body0 = </arm/base>
        rel physics:body1 = </arm/l1>
        point3f physics:localPos0 = (0, 0, 3)
    }
    def MjcActuator "motor"
    {
        rel mjc:target = </arm/j1>
    }
    def MjcTendon "cable"
    {
        uniform token mjc:type = "fixed"
        rel mjc:path = </arm/j1>
        uniform double[] mjc:path:coef = [1]
    }
}
"""

MJCF = b"""<mujoco>
  <custom><tuple name="both"><element objtype="body" objname="l2"/></tuple></custom>
  <worldbody>
    <body name="base">
      <joint name="j1" axis="0 1 0"/>
      <geom size=".1"/>
      <body name="l1">
        <joint name="j2a" axis="1 0 0"/>
        <joint name="j2b" axis="0 1 0"/>
        <geom size=".1"/>
        <body name="l2"><joint name="j3" type="slide"/><geom size=".1"/></body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="m1" joint="j1"/>
    <motor name="m2" joint="j2b"/>
    <motor name="m3" joint="j3"/>
  </actuator>
  <sensor><jointpos name="s2" joint="j2b"/><actuatorfrc name="f3" actuator="m3"/></sensor>
</mujoco>
"""


def saved(data: bytes, name: str, tmp_path: Path, edit: Callable[[World], object]) -> tuple[list[str], bytes]:
    """The losses reported by saving an edited document to a new file, and that file."""
    source = tmp_path / name
    source.write_bytes(data)
    scene = exoskel.load(source)
    edit(scene.world)
    target = source.with_stem("saved")
    exoskel.save(scene, target)
    losses = [one for one in scene.diagnostics if one.code == "FM204"]
    assert all(one.position is not None for one in losses)
    return [one.message for one in losses], target.read_bytes()


def set_kind(path: str, kind: str, **values: object) -> Callable[[World], None]:
    def edit(world: World) -> None:
        (joint,) = world.find(f"joint:{path}")
        assert isinstance(joint, exoskel.Joint)
        joint.kind = kind  # type: ignore[assignment]
        for name, value in values.items():
            setattr(joint, name, value)

    return edit


def remove(path: str) -> Callable[[World], None]:
    return lambda world: world.remove(path, subtree=True)


def test_a_plugin_of_a_removed_joint_is_reported(tmp_path: Path) -> None:
    losses, data = saved(SDF, "arm.sdf", tmp_path, remove("arm/l2"))
    assert b'name="control"' not in data
    assert b'name="other"' in data
    assert b"<!-- about l2 -->" in data
    assert losses == [
        "model[arm]/plugin[control] is not in the saved file: it refers to something that is not in the scene any more",
    ]


def test_elements_of_ros_that_refer_to_a_removed_link_are_reported(tmp_path: Path) -> None:
    losses, data = saved(URDF, "r.urdf", tmp_path, remove("r/l2"))
    assert [one.split(" is not in the saved file")[0] for one in losses] == ["gazebo", "ros2_control[system]"]
    assert b"ros2_control" not in data
    assert b'<company part="12"/>' in data  # unknown elements are preserved


@pytest.mark.parametrize("kind", ["weld", "ball"])
def test_actuators_and_tendons_of_another_kind_of_joint_are_reported_in_usd(tmp_path: Path, kind: str) -> None:
    losses, data = saved(USD, "arm.usda", tmp_path, set_kind("arm/j1", kind, axes=()))
    assert b"motor" not in data
    assert [one.split()[0] for one in losses] == ["/arm/motor", "/arm/cable"]
    assert all("what it refers to is not in the scene any more" in one for one in losses)


def test_actuators_of_a_removed_body_are_reported_in_usd(tmp_path: Path) -> None:
    losses, _ = saved(USD, "arm.usda", tmp_path, remove("arm/l1"))
    assert [one.split()[0] for one in losses] == ["/arm/motor", "/arm/cable"]


def test_what_the_user_removes_himself_is_not_reported(tmp_path: Path) -> None:
    def edit(world: World) -> None:
        world.actuators.clear()
        world.tendons.clear()
        world.model("arm").joint("j1").kind = "prismatic"

    losses, data = saved(USD, "arm.usda", tmp_path, edit)
    assert losses == []
    assert b"MjcActuator" not in data


def test_a_coordinate_that_a_joint_loses_is_reported(tmp_path: Path) -> None:
    losses, data = saved(MJCF, "arm.xml", tmp_path, set_kind("*/l1_joint", "revolute", axes=((1.0, 0.0, 0.0),)))
    assert len(losses) == 3
    for loss, name in zip(losses, ("m2", "s2", "l1_joint"), strict=True):
        assert f"'{name}'" in loss
    assert "the names 'j2a' and 'j2b' of joint 'l1_joint' are lost" in losses[-1]
    assert b'name="m1"' in data
    assert b'name="m2"' not in data


def test_limits_of_a_joint_with_other_coordinates_are_reported(tmp_path: Path) -> None:
    losses, _ = saved(SDF, "arm.sdf", tmp_path, set_kind("arm/j1", "ball", axes=()))
    assert [one.split(" is not in")[0] for one in losses] == [
        "model[arm]/joint[j1]/axis/limit/lower",
        "model[arm]/joint[j1]/axis/limit/upper",
    ]


XODE = b"""<xode version="1.0" name="x"><world name="w"><space name="s">
  <body name="a"/>
  <body name="b"/>
  <joint name="j"><link1 body="a"/><link2 body="b"/>
    <universal><anchor x="0" y="0" z="0"/><axis x="1" y="0" z="0" FMax="3.5" Vel="2"/>
      <axis x="0" y="1" z="0" FMax="4.5"/></universal>
  </joint>
</space></world></xode>
"""


def test_parameters_of_ode_that_another_kind_does_not_have_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.xode"
    path.write_bytes(XODE)
    scene = exoskel.load(path)
    set_kind("*/j", "planar", axes=())(scene.world)
    exoskel.save(scene)
    assert b"4.5" not in path.read_bytes()
    assert "drives of joint 'j' are lost" in "".join(one.message for one in scene.diagnostics)


def test_embedded_actuators_of_another_kind_of_joint_are_reported(tmp_path: Path) -> None:
    scene = exoskel.load("dart://sample/skel/pendulum.skel")
    path = tmp_path / "pendulum.skel"
    scene.world.add_actuator("motor", "hinge")
    exoskel.save(scene, path)
    scene = exoskel.load(path)
    set_kind("*/hinge", "weld", axes=())(scene.world)
    exoskel.save(scene)
    assert "actuator 'motor' is removed from the file" in "".join(one.message for one in scene.diagnostics)
    assert not exoskel.load(path).world.actuators
