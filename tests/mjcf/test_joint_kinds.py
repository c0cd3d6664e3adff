"""Joints of every kind and frame take the place of those in the author's document, and move as in the scene."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

import exoskel
from tests.mjcf.test_edited_motion import difference, set_velocities

DOCUMENT = """<mujoco><compiler angle="degree" eulerseq="zyx"/><option integrator="discrete" tolerance="1e-14"/>
  <default><geom contype="0" conaffinity="0" density="500"/><joint damping="0.1"/></default>
  <worldbody>
    <body name="base" pos="0 0 1"><joint name="h0" axis="1 0 0"/><geom type="box" size=".1 .2 .1"/>
      <body name="low" pos="0 .1 .3" euler="10 20 30">JOINTS<geom type="capsule" fromto="0 0 0 0.1 0 .3" size=".05"/>
        <body name="tip" pos="0 0 .3"><joint name="t1" axis="0 1 0"/><geom type="box" size=".1 .05 .05" pos=".1 0 0"/></body>
      </body>
    </body>
    <body name="root" pos="1 1 1" euler="5 6 7">ROOTS<geom type="capsule" fromto="0 0 0 0.1 0 .3" size=".05"/>
      <body name="end" pos="0 0 .3"><joint name="r1" axis="0 1 0"/><geom type="box" size=".1 .05 .05" pos=".1 0 0"/></body>
    </body>
  </worldbody>
</mujoco>"""
AUTHOR = b'eulerseq="zyx"'
HINGES = tuple(f'<joint name="j{number}" axis="{axis}"/>' for number, axis in enumerate(("1 0 0", "0 1 0", "0 0 1")))
SLIDES = tuple(one.replace('"j', '"s').replace("axis", 'type="slide" axis') for one in HINGES)
SOURCES = {
    "weld": "",
    "hinge": HINGES[1],
    "hinge without a name": '<joint axis="0 1 0"/>',
    "hinge in a frame": f'<frame euler="0 0 20" pos=".1 0 0">{HINGES[1]}</frame>',
    "slide": SLIDES[1],
    "ball": '<joint name="j" type="ball"/>',
    "universal": "".join(HINGES[:2]),
    "euler": "".join(HINGES),
    "planar": "".join((*SLIDES[:2], HINGES[2])),
    "translational": "".join(SLIDES),
    "translational2d": "".join(SLIDES[:2]),
    "slides and a ball": "".join(SLIDES) + '<joint name="j" type="ball"/>',
    "free": '<freejoint name="j"/>',
    "free joint": '<joint name="j" type="free"/>',
    "free without a name": "<freejoint/>",
}
KINDS: dict[str, dict[str, Any]] = {
    "weld": {},
    "revolute": {"axis": (0, 0.6, 0.8)},
    "prismatic": {"axis": (0, 0.6, 0.8)},
    "screw": {"axis": (0, 1, 0), "pitch": 0.2},
    "ball": {},
    "universal": {"axes": ((1, 0, 0), (0, 1, 0))},
    "hinge2": {"axes": ((0, 0, 1), (0, 1, 0))},
    "euler": {"order": "zyx"},
    "planar": {"plane": "zx"},
    "translational": {},
    "translational2d": {},
    "free": {},
}
TURNED = exoskel.Pose((0.1, 0.05, 0.02), exoskel.Euler((0.3, 0.2, 0.1)))
PLACES = {"same frame": None, "moved": exoskel.Pose((0.1, 0.05, 0.02)), "turned": TURNED}


def _edited(body: str, source: str, kind: str, place: str) -> exoskel.Scene:
    names = {"JOINTS": body == "low", "ROOTS": body == "root"}
    text = DOCUMENT
    for word, is_own in names.items():
        text = text.replace(word, SOURCES[source] if is_own else "")
    scene = exoskel.load(text, format="mjcf")
    model = next(one for one in scene.world.models if any(own.name == body for own in one.bodies))
    joint = next(one for one in model.joints if one.child.name == body)
    model.replace(joint, kind, at=PLACES[place], **KINDS[kind])  # type: ignore[call-overload]
    set_velocities(scene.world)
    return scene


def _cases() -> list[tuple[str, str, str, str]]:
    found = [("low", "hinge", kind, place) for kind in KINDS for place in PLACES]
    found += [("low", source, kind, "same frame") for source in SOURCES if "free" not in source for kind in KINDS]
    found += [("root", "free", kind, place) for kind in KINDS for place in PLACES]
    found += [("root", source, kind, "turned") for source in SOURCES for kind in ("weld", "hinge2", "euler", "free")]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize(("body", "source", "kind", "place"), _cases())
def test_joints_of_every_kind_move_in_the_document_as_in_the_scene(
    body: str, source: str, kind: str, place: str
) -> None:
    scene = _edited(body, source, kind, place)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert AUTHOR in report.data
    found = difference(scene.world, report.data)
    joint = next(one for one in scene.world.joints() if one.child.name == body)
    if body == "low" and kind == "free" and joint.pose != exoskel.Pose():
        # the engine places such joints at the origin of the body: a new document differs as much
        fresh = exoskel.convert(exoskel.Scene(worlds=[scene.world]), None, to="mjcf", target="mujoco4")
        assert abs(found - difference(scene.world, fresh.data)) < 1e-10
    else:
        assert found < 1e-11


def test_a_suspension_is_written() -> None:
    scene = _edited("low", "hinge", "hinge2", "same frame")
    joint = next(one for one in scene.world.joints() if one.kind == "hinge2")
    joint.drives = (exoskel.Drive(suspension_erp=0.4, suspension_cfm=0.001), exoskel.Drive())
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert AUTHOR in report.data
    assert difference(scene.world, report.data) < 1e-11
    again = exoskel.load(report.data, format="mjcf").world
    assert [one.kind for one in again.joints()].count("hinge2") == 1


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_turning_the_frame_of_a_joint_turns_its_coordinates(kind: str) -> None:
    """MuJoCo has no frames of balls and free joints: the keyframe has the same motion."""
    source = "ball" if kind == "ball" else "free"
    scene = exoskel.load(DOCUMENT.replace("ROOTS", SOURCES[source]).replace("JOINTS", ""), format="mjcf")
    joint = next(one for one in scene.world.joints() if one.kind == kind)
    joint.pose = exoskel.Pose(joint.pose.position if kind == "ball" else TURNED.position, TURNED.rotation)
    joint.positions = tuple(0.1 * number for number in range(joint.dof_count))
    set_velocities(scene.world)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert AUTHOR in report.data
    assert difference(scene.world, report.data) < 1e-11


def test_coordinates_are_renamed_in_the_document() -> None:
    text = DOCUMENT.replace("JOINTS", SOURCES["universal"]).replace("ROOTS", "")
    text = text.replace("</mujoco>", '<actuator><motor name="m" joint="j1"/></actuator></mujoco>')
    scene = exoskel.load(text, format="mjcf")
    joint = next(one for one in scene.world.joints() if one.kind == "universal")
    joint.dofs[1].name = "second"
    report = exoskel.convert(scene, None, to="mjcf")
    assert AUTHOR in report.data
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    assert model.actuator("m").trnid[0] == model.joint("second").id
    assert model.joint("j0").id < model.joint("second").id


def test_axes_and_places_of_joints_in_frames_are_edited() -> None:
    scene = exoskel.load(DOCUMENT.replace("JOINTS", SOURCES["hinge in a frame"]).replace("ROOTS", ""), format="mjcf")
    joint = next(one for one in scene.world.joints() if one.child.name == "low")
    joint.axes, joint.pose = ((0.6, 0.0, 0.8),), exoskel.Pose((0.2, 0.3, 0.4))
    report = exoskel.convert(scene, None, to="mjcf")
    assert AUTHOR in report.data
    assert b'<frame euler="0 0 20" pos=".1 0 0">' in report.data
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    np.testing.assert_allclose(model.joint("j1").axis, (0.6, 0.0, 0.8), atol=1e-15)
    np.testing.assert_allclose(model.joint("j1").pos, (0.2, 0.3, 0.4), atol=1e-15)
