"""Copies of `<replicate>` become elements of their own in the author's document if some of them are edited."""

from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest

import exoskel
from tests.mjcf.test_edited_motion import difference, set_velocities

DOCUMENT = """<mujoco><compiler angle="degree" eulerseq="zyx"/><option integrator="discrete" tolerance="1e-14"/>
  <default><geom contype="0" conaffinity="0" density="500"/><joint damping="0.1"/></default>
  <worldbody>
    <replicate count="3" offset="0 1 0" euler="0 0 30" sep="-">
      <!-- copied --><body name="r" pos="3 0 1" euler="10 20 30"><joint name="j" axis="0 1 0"/>
        <geom name="g" type="box" size=".1 .2 .1" pos=".1 0 0"/><site name="s"/></body>
      <body name="q" pos="5 0 1"><joint axis="1 0 0"/><geom size=".1" pos="0 .1 0"/></body>
    </replicate>
    <body name="base" pos="0 0 3"><joint name="h0" axis="1 0 0"/><geom type="box" size=".1 .2 .1"/>
      <replicate count="2" offset=".2 0 0"><geom name="rg" size=".1"/></replicate></body>
  </worldbody>
  <actuator><motor name="m" joint="j-1"/></actuator>
  EXTRA KEY
</mujoco>"""
KEY = '<keyframe><key name="home" qpos=".1 .2 .3 .4 .5 .6 .7" ctrl=".5"/></keyframe>'
Edit = Callable[[exoskel.World], object]


def _joint(world: exoskel.World, number: int) -> exoskel.Joint:
    return next(joint for joint in world.joints() if joint.name == f"j-{number}")


def _body(world: exoskel.World, name: str) -> exoskel.Body:
    return next(body for body in world.bodies() if body.name == name)


def _add(world: exoskel.World, number: int) -> None:
    world.model(f"r-{number}").add_body(
        f"new{number}", parent=f"r-{number}", joint="revolute", axis=(1, 0, 0), mass=1.0, at=(3, 1, 2)
    )


EDITS: dict[str, Edit] = {
    "body added to a copy": lambda world: _add(world, 1),
    "body added to all copies": lambda world: [_add(world, number) for number in range(3)],
    "damping": lambda world: setattr(_joint(world, 1).dofs[0], "damping", 0.5),
    "mass": lambda world: setattr(_body(world, "r-2"), "mass", 3.0),
    "pose": lambda world: setattr(_body(world, "r-2"), "pose", exoskel.Pose((0, 0, 0.3))),
    "pose of a model": lambda world: setattr(world.model("r-2"), "pose", exoskel.Pose((0, 0, 9))),
    "kind": lambda world: world.model("r-0").replace("j-0", "ball"),
    "copied geom": lambda world: setattr(_body(world, "base").visuals[1], "geometry", exoskel.Sphere(0.3)),
    "added shape": lambda world: _body(world, "r-1").visuals.append(exoskel.Shape(exoskel.Sphere(0.1), name="ns")),
    "name": lambda world: world.rename(_body(world, "r-1"), "other"),
    "position": lambda world: setattr(_joint(world, 1), "positions", (0.5,)),
    "removed copy": lambda world: world.remove(world.model("r-2")),
    "all copies": lambda world: [setattr(_joint(world, number).dofs[0], "damping", 0.5) for number in range(3)],
}


@pytest.mark.parametrize("key", ["", KEY])
@pytest.mark.parametrize("name", EDITS)
def test_edited_copies_are_written_as_elements(name: str, key: str) -> None:
    scene = exoskel.load(DOCUMENT.replace("EXTRA", "").replace("KEY", key), format="mjcf")
    EDITS[name](scene.world)
    if key:
        set_velocities(scene.world)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b'eulerseq="zyx"' in report.data
    assert [(one.path, one.why) for one in report.losses if "gear" in one.path] == []
    assert difference(scene.world, report.data) < 1e-11


def test_only_edited_copies_are_written_as_elements() -> None:
    text = DOCUMENT.replace("EXTRA", "").replace("KEY", "")
    scene = exoskel.load(text, format="mjcf")
    EDITS["copied geom"](scene.world)
    written = exoskel.convert(scene, None, to="mjcf").data.decode()
    assert written.count("<replicate") == 1
    assert '<replicate count="3"' in written
    before, after = mujoco.MjModel.from_xml_string(text), mujoco.MjModel.from_xml_string(written)
    np.testing.assert_array_equal(before.body_pos, after.body_pos)
    np.testing.assert_array_equal(before.body_quat, after.body_quat)
    assert before.names == after.names


def test_copies_with_copied_references_need_a_new_document() -> None:
    """MuJoCo copies what refers to the content of `<replicate>`."""
    sensor = '<sensor><jointpos name="p" joint="j"/></sensor>'
    scene = exoskel.load(DOCUMENT.replace("EXTRA", sensor).replace("KEY", ""), format="mjcf")
    EDITS["damping"](scene.world)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b'eulerseq="zyx"' not in report.data
    assert "/mujoco/sensor[1]/jointpos[@name='p']" in {one.path for one in report.losses}
