"""Edits of constraints, keyframes, names and kinds of shapes in the author's document."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import pytest
from msgspec import structs

import exoskel
from tests.mjcf.test_edited_motion import difference, set_velocities

DOCUMENT = """<mujoco><compiler angle="degree" eulerseq="zyx"/><option integrator="discrete" tolerance="1e-14"/>
  <default><geom contype="0" conaffinity="0" density="500"/><joint damping="0.1"/></default>
  <asset><mesh name="tet" vertex="0 0 0 .1 0 0 0 .1 0 0 0 .1"/></asset>
  <worldbody>
    <body name="base" pos="0 0 3"><joint name="h0" axis="1 0 0"/><geom name="g0" type="box" size=".1 .2 .1"/><site name="s"/>
      <body name="low" pos="0 .1 .3" euler="10 20 30"><joint name="h1" axis="0 1 0"/>
        <geom name="g1" type="capsule" fromto="0 0 0 .1 0 .3" size=".05"/><geom name="g2" type="mesh" mesh="tet"/>
        <body name="tip" pos="0 0 .3"><joint name="h2" axis="0 1 0"/><geom type="box" size=".1 .05 .05" pos=".1 0 0"/></body>
      </body>
    </body>
  </worldbody>
  <equality>
    <joint name="mimic" joint1="h2" joint2="h1" polycoef="0 .5 0 0 0" solref="0.03 1"/>
    <joint name="square" joint1="h1" joint2="h0" polycoef="0 1 1 0 0" active="false"/>
  </equality>
  <actuator><motor name="m" joint="h0"/></actuator>
  <sensor><jointpos name="jp" joint="h1"/><gyro name="gy" site="s"/></sensor>
  <keyframe><key name="home" qpos=".1 .2 .1" /><key name="other" qpos=".3 .4 .2"/></keyframe>
</mujoco>"""


def _joint(world: exoskel.World, name: str) -> exoskel.Joint:
    return next(joint for joint in world.joints() if joint.name == name)


def _body(world: exoskel.World, name: str) -> exoskel.Body:
    return next(body for body in world.bodies() if body.name == name)


def _shape(world: exoskel.World, name: str) -> exoskel.Shape:
    return next(shape for body in world.bodies() for shape in body.shapes if shape.name == name)


def _square(world: exoskel.World, **values: object) -> None:
    world.equalities[0] = structs.replace(world.equalities[0], **values)


EDITS: dict[str, Callable[[exoskel.World], object]] = {
    "constraint removed": lambda world: world.equalities.clear(),
    "constraint of another form": lambda world: _square(world, polynomial=(0.1, 0.5, 0.2, 0, 0)),
    "mimic removed": lambda world: setattr(_joint(world, "h2"), "mimic", None),
    "mimic of another joint": lambda world: setattr(_joint(world, "h2"), "mimic", exoskel.Mimic("h0", 0.7, 0.1)),
    "leader renamed": lambda world: world.rename(_joint(world, "h1"), "elbow"),
    "first keyframe removed": lambda world: world.keyframes.pop(0),
    "last keyframe removed": lambda world: world.keyframes.pop(1),
    "all keyframes removed": lambda world: world.keyframes.clear(),
    "box to sphere": lambda world: setattr(_shape(world, "g0"), "geometry", exoskel.Sphere(0.2)),
    "capsule to box": lambda world: setattr(_shape(world, "g1"), "geometry", exoskel.Box((0.1, 0.2, 0.3))),
    "mesh to box": lambda world: setattr(_shape(world, "g2"), "geometry", exoskel.Box((0.1, 0.2, 0.3))),
    "root renamed": lambda world: world.rename(_body(world, "base"), "robot"),
    "model renamed": lambda world: world.rename(world.model("base"), "robot"),
}


@pytest.mark.parametrize("name", EDITS)
def test_the_document_has_the_edit(name: str) -> None:
    scene = exoskel.load(DOCUMENT, format="mjcf")
    world = scene.world
    EDITS[name](world)
    mimics = [joint for joint in world.joints() if joint.mimic is not None]
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b'eulerseq="zyx"' in report.data
    again = exoskel.load(report.data, format="mjcf").world
    assert [joint.name for joint in again.joints()] == [joint.name for joint in world.joints()]
    assert [joint.mimic for joint in again.joints()] == [joint.mimic for joint in world.joints()]
    assert [key.name for key in again.keyframes if key.name != "initial"] == [key.name for key in world.keyframes]
    assert [one.positions for one in again.joints()] == [one.positions for one in world.joints()]
    assert again.equalities == world.equalities
    assert [model.name for model in again.models] == [model.name for model in world.models]
    assert mujoco.MjModel.from_xml_string(report.data.decode()).nsensor == 2
    if not mimics:
        set_velocities(world)
        moving = exoskel.convert(scene, None, to="mjcf").data
        assert difference(world, moving) < 1e-11


@pytest.mark.parametrize("edit", ["free", "disabled"])
def test_documents_without_the_constraint_move_as_the_scene(edit: str) -> None:
    scene = exoskel.load(DOCUMENT, format="mjcf")
    _joint(scene.world, "h2").mimic = None
    EDITS["box to sphere" if edit == "free" else "constraint removed"](scene.world)
    EDITS["root renamed"](scene.world)
    set_velocities(scene.world)
    report = exoskel.convert(scene, None, to="mjcf")
    assert b'eulerseq="zyx"' in report.data
    assert difference(scene.world, report.data) < 1e-11


def test_actuators_without_names_are_removed() -> None:
    scene = exoskel.load(DOCUMENT.replace('<motor name="m" joint="h0"/>', '<motor joint="h0"/><motor joint="h1"/>'))
    scene.world.actuators.pop(0)
    scene.world.keyframes.clear()
    report = exoskel.convert(scene, None, to="mjcf")
    assert b'eulerseq="zyx"' in report.data
    assert b'<motor joint="h1"/>' in report.data
    assert b'<motor joint="h0"/>' not in report.data


def test_models_without_movable_joints_stay_in_the_document() -> None:
    text = """<mujoco><compiler eulerseq="zyx" inertiafromgeom="true"/><worldbody><body name="a"><joint name="j"/>
        <geom name="g" size="0.1"/></body></worldbody></mujoco>"""
    scene = exoskel.load(text, format="mjcf")
    scene.world.model("a").replace("j", "weld")
    _shape(scene.world, "g").geometry = exoskel.Box((1, 2, 3))
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b'eulerseq="zyx"' in report.data
