"""Saving an edited URDF file changes what was edited, and nothing else."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

import exoskel
from exoskel.scene.model import Model

ROBOT = """<?xml version="1.0"?>
<robot name="r" xmlns:drake="http://drake.mit.edu">
  <!-- the base has no mass -->
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base">
    <visual><geometry><box size="1 1 1"/></geometry><material name="red"/></visual>
  </link>
  <link name="upper">
    <inertial><origin xyz="0 0 .5" rpy="0.1 0 0"/><mass value="1"/>
      <inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual name="shell"><origin xyz="0 0 .5"/><geometry><sphere radius=".2"/></geometry><material name="red"/></visual>
  </link>
  <link name="lower"><inertial><mass value="1e0"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/><child link="upper"/><axis xyz="0 2 0"/>
    <limit lower="-1.0" upper="1" effort="10" velocity="3"/> <safety_controller k_velocity="1"/>
  </joint>
  <joint name="elbow" type="prismatic">
    <origin xyz="0 0 1" rpy="0 0.2 0"/><parent link="upper"/><child link="lower"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="10" velocity="3"/><mimic joint="shoulder" multiplier="2"/>
  </joint>
  <gazebo reference="upper"><mu1>0.2</mu1></gazebo>
  <drake:proximity_properties><mu value="1"/></drake:proximity_properties>
</robot>
"""

Edit = Callable[[Model], object]


def set_value(path: str, **values: object) -> Edit:
    def edit(model: Model) -> None:
        kind, _, name = path.partition(":")
        item = getattr(model, kind)(name.removesuffix("[]"))
        for field, value in values.items():
            setattr(item.dofs[0] if name.endswith("[]") else item, field, value)

    return edit


EDITS: dict[str, tuple[Edit, list[str]]] = {
    "mass": (set_value("body:lower", mass=2.0), ['+<mass value="2"/>']),
    "mass beside rotated axes": (set_value("body:upper", mass=2.0), ['+<mass value="2"/>']),
    "first mass": (
        set_value("body:base", mass=2.0),
        ['+<mass value="2"/>', '+<inertia ixx="0" iyy="0" izz="0" ixy="0" ixz="0" iyz="0"/>'],
    ),
    "limit": (set_value("joint:shoulder[]", position_limits=(-2.0, 1.0)), ['+lower="-2"']),
    "damping": (set_value("joint:shoulder[]", damping=0.5), ['+<dynamics damping="0.5"/>']),
    "kind": (set_value("joint:elbow", kind="revolute"), ['+type="revolute"']),
    "colour": (
        lambda model: setattr(model.body("upper").visuals[0], "color", (0.0, 1.0, 0.0, 1.0)),
        ['+<material name="color_0_1_0_1"><color rgba="0 1 0 1"/></material>'],
    ),
    "size": (
        lambda model: setattr(model.body("base").visuals[0], "geometry", exoskel.Sphere(0.5)),
        ['+<sphere radius="0.5"/>'],
    ),
    "model": (lambda model: setattr(model, "name", "robot"), ['+name="robot"']),
    "link": (lambda model: model.rename("lower", "tool"), ['+name="tool"', '+link="tool"']),
    "joint": (lambda model: model.rename("shoulder", "hinge"), ['+name="hinge"', '+joint="hinge"']),
    "removed shape": (lambda model: model.remove(model.body("base").visuals[0]), []),
    "removed link": (lambda model: model.remove("lower"), []),
}


def pieces(text: str) -> list[str]:
    """A document in pieces that edits change: one for each attribute and tag."""
    return text.replace("<", "\n<").replace('" ', '"\n').replace(">", ">\n").split("\n")


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_only_what_was_edited(tmp_path: Path, name: str) -> None:
    edit, expected = EDITS[name]
    path = tmp_path / "r.urdf"
    path.write_text(ROBOT, encoding="utf-8")
    scene = exoskel.load(path)
    edit(scene.world.models[0])
    exoskel.save(scene)
    text = path.read_text(encoding="utf-8")
    assert not [one for one in scene.diagnostics if one.code in ("FM201", "FM204")]
    added = [one for one in difflib.ndiff(pieces(ROBOT), pieces(text)) if one.startswith("+ ") and one[2:].strip()]
    wanted = [piece for one in expected for piece in pieces(one.removeprefix("+")) if piece.strip()]
    assert len(added) <= len(wanted) + 2  # the ends of tags may be in the same piece
    for one in expected:
        assert one.removeprefix("+") in text
    assert "<!-- the base has no mass -->" in text
    assert 'xyz="0 2 0"' in text
    again = exoskel.load(path)
    assert exoskel.diff(scene, again) == []


def test_values_of_another_kind_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(ROBOT, encoding="utf-8")
    scene = exoskel.load(path)
    model = scene.world.models[0]
    model.joint("elbow").kind, model.joint("elbow").axes, model.joint("elbow").mimic = "weld", (), None
    exoskel.save(scene)
    assert [one.message.split(" are lost")[0] for one in scene.diagnostics if one.code == "FM204"] == [
        "position limits, velocity limits, force limits of joint 'elbow'"
    ]
    assert 'type="fixed"' in path.read_text(encoding="utf-8")


def test_a_new_document_states_what_the_source_states(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(ROBOT, encoding="utf-8")
    scene = exoskel.load(path)
    model = scene.world.models[0]
    model.joint("elbow").mimic = None
    model.replace("elbow", "ball")  # three hinges
    exoskel.save(scene, tmp_path / "new.urdf")
    text = (tmp_path / "new.urdf").read_text(encoding="utf-8")
    assert any(one.code == "FM201" for one in scene.diagnostics)
    assert '"world"' not in text
    assert "floating" not in text
    assert '<mass value="0"/>' not in text


def test_a_root_that_is_fixed_gets_a_world(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf"
    path.write_text(ROBOT, encoding="utf-8")
    scene = exoskel.load(path)
    root = next(joint for joint in scene.world.joints() if joint.parent is None)
    root.kind = "weld"
    exoskel.save(scene)
    text = path.read_text(encoding="utf-8")
    assert '<link name="world"/>' in text
    assert exoskel.load(path).world.models[0].joint(root.name).kind == "weld"
