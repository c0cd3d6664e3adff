"""Bodies with another parent move to its element in the author's document; the order of items does not matter."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import pytest

import exoskel
from tests.mjcf.test_edited_motion import difference, set_velocities

DOCUMENT = """<mujoco><compiler angle="degree" eulerseq="zyx"/><option integrator="discrete" tolerance="1e-14"/>
  <default><geom contype="0" conaffinity="0" density="500"/><joint damping="0.1"/>
    <default class="soft"><joint damping="0.7"/><geom density="900"/></default></default>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 .1"/>
    <body name="base" pos="0 0 3"><joint name="h0" axis="1 0 0"/><geom name="one" type="box" size=".1 .2 .1"/>
      <geom name="two" size=".1"/><site name="sa"/><site name="sb" pos=".1 0 0"/>
      <frame euler="0 0 30"><body name="low" pos="0 .1 .3" euler="10 20 30" childclass="soft">
        <!-- the hinge --> <joint name="h1" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .1 0 .3" size=".05"/>
        <body name="tip" pos="0 0 .3"><joint name="t1" axis="0 1 0"/><geom type="box" size=".1 .05 .05" pos=".1 0 0"/></body>
      </body></frame>
      <body name="side" pos=".4 0 0" euler="3 4 5"><joint name="s1" type="slide" axis="1 0 0"/><geom size=".1"/>
        <body name="nested" pos="0 .1 0"><joint axis="0 0 1" name="n"/><geom size=".1" pos=".1 0 0"/></body></body>
    </body>
    <replicate count="2" offset="0 1 0"><body name="copy" pos="4 0 0"><joint/><geom size=".1" pos=".1 0 0"/></body></replicate>
    <body name="ball" pos="1 0 3"><freejoint name="f"/><geom type="ellipsoid" size=".1 .2 .3" pos=".1 0 0"/>
      <body name="tail" pos="0 0 .2"><joint name="w" axis="0 1 0"/><geom size=".1" pos=".1 0 0"/></body></body>
  </worldbody>
  <equality><weld name="weld" body1="tip" body2="side" active="false"/></equality>
  <actuator><motor name="m" joint="h0" gear="2"/><position name="p" joint="t1" kp="3"/><motor name="q" joint="w"/></actuator>
  <sensor><jointpos name="jp" joint="s1"/></sensor>
  KEY
</mujoco>"""
KEY = """<keyframe><key name="home" qpos=".1 .2 .3 .01 .4 .5 .6 1 0 3 1 0 0 0 .1" qvel="1 2 3 4 5 6 7 8 9 10 11 12 13 14"
  ctrl=".1 .2 .3"/></keyframe>"""
ORDER = ("h0", "s1", "n", "h1", "t1")
Edit = Callable[[exoskel.World], object]


def _joint(world: exoskel.World, name: str) -> exoskel.Joint:
    return next(joint for joint in world.joints() if joint.name == name)


def _body(world: exoskel.World, name: str) -> exoskel.Body:
    return next(body for body in world.bodies() if body.name == name)


def _robot(world: exoskel.World) -> exoskel.Model:
    return next(model for model in world.models if any(joint.name == "h0" for joint in model.joints))


def _move(name: str, parent: str | None) -> Edit:
    """Give a joint another parent, with joints in an order in which parents come first."""

    def edit(world: exoskel.World) -> None:
        model = _robot(world)
        _joint(world, name).parent = None if parent is None else _body(world, parent)
        model.joints.sort(key=lambda joint: ORDER.index(joint.name))

    return edit


def _again(kind: str, number: int) -> Edit:
    """Remove an item from a list and append it again."""

    def edit(world: exoskel.World) -> None:
        items = {
            "joints": _robot(world).joints,
            "bodies": _robot(world).bodies,
            "shapes": _body(world, "base").visuals,
            "markers": _body(world, "base").markers,
            "models": world.models,
        }[kind]
        item = items[number]
        items.remove(item)  # type: ignore[arg-type]
        items.append(item)  # type: ignore[arg-type]

    return edit


def _move_and_replace(world: exoskel.World) -> None:
    model, old = _robot(world), _joint(world, "t1")
    model.joints.remove(old)
    model.add_joint("t1", "revolute", child="tip", parent="side", axis=(0, 0, 1))


def _move_and_add(world: exoskel.World) -> None:
    _move("t1", "side")(world)
    _robot(world).add_body("new", parent="tip", joint="revolute", axis=(1, 0, 0), mass=1.0, at=(0, 0, 3.5))
    _joint(world, "t1").dofs[0].damping = 0.4


EDITS: dict[str, Edit] = {
    "within the tree": _move("t1", "base"),
    "to a later body": _move("t1", "side"),
    "with bodies in it": _move("h1", "side"),
    "out of a frame": _move("s1", "tip"),
    "to the world": _move("s1", None),
    "with another joint": _move_and_replace,
    "with new bodies": _move_and_add,
    "joint again": _again("joints", 4),
    "body again": _again("bodies", 3),
    "shape again": _again("shapes", 0),
    "marker again": _again("markers", 0),
    "model again": _again("models", 1),
}


@pytest.mark.parametrize("key", ["", KEY])
@pytest.mark.parametrize("name", EDITS)
def test_bodies_move_to_their_new_parents(name: str, key: str, tmp_path: Path) -> None:
    text = DOCUMENT.replace("KEY", key)
    (tmp_path / "robot.xml").write_text(text)
    scene = exoskel.load(tmp_path / "robot.xml")
    if name == "out of a frame":
        _robot(scene.world).joints.sort(key=lambda joint: ("h0", "h1", "t1", "s1", "n").index(joint.name))
        _joint(scene.world, "s1").parent = _body(scene.world, "tip")
    else:
        EDITS[name](scene.world)
    if key:
        set_velocities(scene.world)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert [(one.path, one.why) for one in report.losses] == []
    assert b'eulerseq="zyx"' in report.data
    assert b"<!-- the hinge -->" in report.data
    assert difference(scene.world, report.data) < 1e-11
    exoskel.save(scene)
    assert (tmp_path / "robot.xml").read_bytes() == report.data
    before = {
        (one.name, None if j.parent is None else j.parent.name) for j in scene.world.joints() for one in [j.child]
    }
    again = exoskel.load(tmp_path / "robot.xml").world
    assert before == {(j.child.name, None if j.parent is None else j.parent.name) for j in again.joints()}


def test_moved_bodies_keep_their_default_classes_and_keyframes_their_numbers() -> None:
    scene = exoskel.load(DOCUMENT.replace("KEY", KEY), format="mjcf")
    _move("t1", "base")(scene.world)
    written = exoskel.convert(scene, None, to="mjcf").data.decode()
    model = mujoco.MjModel.from_xml_string(written)
    key = model.key("home")
    found = {name: key.qpos[model.joint(name).qposadr[0]] for name in ("h0", "h1", "t1", "s1", "n", "w")}
    assert found == {"h0": 0.1, "h1": 0.2, "t1": 0.3, "s1": 0.01, "n": 0.4, "w": 0.1}
    assert key.qvel[model.joint("t1").dofadr[0]] == 3
    assert model.dof_damping[model.joint("t1").dofadr[0]] == pytest.approx(0.7)


def test_bodies_do_not_move_into_themselves() -> None:
    scene = exoskel.load(DOCUMENT.replace("KEY", ""), format="mjcf")
    model, side, nested = _robot(scene.world), _joint(scene.world, "s1"), _joint(scene.world, "n")
    nested.parent, side.parent = _body(scene.world, "base"), _body(scene.world, "nested")
    model.joints.sort(key=lambda joint: ("h0", "n", "s1", "h1", "t1").index(joint.name))
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert difference(scene.world, report.data) < 1e-3  # a new document, which has another integrator
