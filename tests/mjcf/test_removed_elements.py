"""Bodies, actuators and others that are removed from a scene are removed from its document, with what refers to them."""

from __future__ import annotations

from pathlib import Path

import mujoco
import pytest

import exoskel
from tests.mjcf.test_edited_motion import difference

DOCUMENT = """<mujoco model="robot">
  <extension><plugin plugin="mujoco.pid"/></extension>
  <asset>
    <skin name="skin" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2">
      <bone body="hand" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/>
    </skin>
  </asset>
  <worldbody>
    <camera name="watch" mode="targetbody" target="hand"/><camera name="still" pos="0 0 3"/>
    <light name="spot" mode="targetbody" target="hand"/>
    <frame pos="0 1 0"><body name="base" pos="0 0 1"><joint name="a" axis="0 1 0"/><geom name="ga" size=".1"/><site name="sa"/>
      <body name="hand" pos="0 0 .3"><joint name="wrist" axis="0 1 0"/><geom name="palm" size=".05"/><site name="tip"/>
        <camera name="eye"/>
        <body name="finger" pos="0 0 .1"><joint name="knuckle" axis="0 1 0"/><geom name="nail" size=".02"/></body>
      </body>
    </body></frame>
    <replicate count="2" offset="0 0 1"><body name="r" pos="0 5 0"><joint/><geom size=".1"/></body></replicate>
    <body name="cloth" pos="0 0 3">
      <flexcomp name="cloth" type="grid" count="3 3 1" spacing=".1 .1 .1" radius=".01" dim="2" mass=".1"/>
    </body>
  </worldbody>
  <contact><exclude body1="base" body2="finger"/><pair geom1="palm" geom2="ga"/><exclude name="x" body1="base" body2="r0"/></contact>
  <tendon><spatial name="rope"><site site="sa"/><site site="tip"/></spatial><fixed name="f"><joint joint="a" coef="1"/></fixed></tendon>
  <equality><weld name="w" body1="hand"/><joint joint1="a" joint2="knuckle"/><joint name="eq" joint1="a"/></equality>
  <actuator>
    <motor name="ma" joint="a"/><motor name="mw" joint="wrist"/><muscle name="mus" tendon="rope" lengthrange=".1 1"/>
    <adhesion name="ad" body="finger" ctrlrange="0 1"/><motor name="mf" tendon="f"/>
  </actuator>
  <sensor>
    <jointpos name="s1" joint="wrist"/><actuatorfrc name="s2" actuator="mw"/><tendonpos name="s3" tendon="rope"/>
    <framepos name="s4" objtype="body" objname="base" reftype="site" refname="tip"/><touch name="s5" site="tip"/>
    <distance name="s6" geom1="nail" geom2="ga" cutoff="1"/><jointpos name="s7" joint="a"/><actuatorfrc name="s8" actuator="mf"/>
  </sensor>
  <custom>
    <tuple name="t"><element objtype="body" objname="base"/><element objtype="geom" objname="nail"/></tuple>
    <tuple name="u"><element objtype="body" objname="hand"/></tuple>
  </custom>
  <keyframe><key name="k" ctrl="1 2 3 0.5 5" act="0.7"/></keyframe>
</mujoco>
"""
GONE = {
    *("watch", "spot", "eye", "skin", "hand", "finger", "rope", "w", "mw", "mus", "ad", "s1", "s2", "s3", "s4", "s5"),
    *("s6", "u"),
}
KEPT = {"still", "base", "x", "f", "eq", "ma", "mf", "s7", "s8", "t", "r0", "r1", "cloth"}


def _names(model: mujoco.MjModel) -> set[str]:
    return {name.decode() for name in model.names.split(b"\0")}


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    (tmp_path / "robot.xml").write_text(DOCUMENT)
    assert _names(mujoco.MjModel.from_xml_string(DOCUMENT)) >= (GONE | KEPT)
    return tmp_path / "robot.xml"


@pytest.mark.parametrize("through", ["world", "model"])
def test_what_refers_to_a_removed_body_is_removed_with_it(robot: Path, through: str) -> None:
    scene = exoskel.load(robot)
    owner = next(model for model in scene.world.models if any(body.name == "hand" for body in model.bodies))
    if through == "world":
        scene.world.remove(f"{owner.name}/hand", subtree=True)
    else:
        owner.remove("hand", subtree=True)
    report = exoskel.convert(scene, robot.with_name("out.xml"), to="mjcf")
    assert report.certificate.passed
    model = mujoco.MjModel.from_xml_path(str(robot.with_name("out.xml")))
    assert _names(model).isdisjoint(GONE)
    assert _names(model) >= KEPT
    assert (model.nflex, model.nexclude, model.npair, model.neq) == (1, 1, 0, 1)
    assert model.key_ctrl.tolist() == [[1.0, 5.0]]
    assert model.tuple_size.tolist() == [1]
    dropped = {item.path.rpartition("/")[2] for item in report.losses if not item.attribute}
    assert {"camera[@name='watch']", "skin[@name='skin']", "tendonpos[@name='s3']", "tuple[@name='u']"} <= dropped
    saved = exoskel.load(robot)
    saved.world.remove(f"{owner.name}/hand", subtree=True)
    exoskel.save(saved, robot.with_name("saved.xml"))
    assert robot.with_name("saved.xml").read_bytes() == report.data


def test_saving_reports_what_is_removed(robot: Path) -> None:
    scene = exoskel.load(robot)
    owner = next(model for model in scene.world.models if any(body.name == "hand" for body in model.bodies))
    scene.world.remove(f"{owner.name}/hand", subtree=True)
    exoskel.save(scene, robot.with_name("saved.xml"))
    told = [one.message for one in scene.diagnostics if one.code == "FM204"]
    assert len(told) == 19
    assert "<skin> 'skin' is removed from the file: it refers to something that was removed from the scene" in told


@pytest.mark.parametrize(
    ("field", "name", "gone"),
    [
        ("actuators", "mf", {"mf", "s8"}),
        ("sensors", "s7", {"s7"}),
        ("cameras", "still", {"still"}),
        ("tendons", "f", {"f", "mf", "s8"}),
    ],
)
def test_items_of_worlds_are_removed(robot: Path, field: str, name: str, gone: set[str]) -> None:
    scene = exoskel.load(robot)
    items = getattr(scene.world, field)
    items[:] = [one for one in items if one.name != name]
    report = exoskel.convert(scene, robot.with_name("out.xml"), to="mjcf")
    assert report.certificate.passed
    model = mujoco.MjModel.from_xml_path(str(robot.with_name("out.xml")))
    assert _names(model) == _names(mujoco.MjModel.from_xml_string(DOCUMENT)) - gone
    assert model.nflex == 1


def test_bodies_that_are_copied_need_a_new_document(robot: Path) -> None:
    scene = exoskel.load(robot)
    owner = next(model for model in scene.world.models if any(body.name == "r0" for body in model.bodies))
    scene.world.remove(owner)
    report = exoskel.convert(scene, robot.with_name("out.xml"), to="mjcf")
    model = mujoco.MjModel.from_xml_path(str(robot.with_name("out.xml")))
    assert report.certificate.passed
    assert "r1" in _names(model)
    assert "r0" not in _names(model)


CONNECTED = """<mujoco model="r"><compiler eulerseq="zyx"/><option integrator="discrete" tolerance="1e-14"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 .1"/>
    <body name="base" pos="0 0 1"><freejoint name="root"/><geom size=".1"/>
      <body name="low" pos="0 0 .3"><joint name="h" axis="1 0 0"/><geom name="lg" size=".1"/><site name="ls"/></body>
      <body name="uni" pos=".4 0 0"><joint name="u1" axis="1 0 0"/><joint name="u2" axis="0 1 0"/><geom size=".1" pos="0 0 .1"/></body>
    </body>
    <body name="arm" pos="2 0 0"><joint name="a1" axis="0 1 0"/><geom size=".1" pos="0 .1 0"/>
      <body name="fore" pos="0 0 .4"><joint name="a2" axis="0 1 0"/><geom name="fg" size=".1"/><site name="fs"/></body>
    </body>
  </worldbody>
  <equality>CONSTRAINTS</equality>
  <sensor><jointpos name="js" joint="u2"/><jointpos joint="a1"/></sensor>
  KEY
</mujoco>"""
CONNECTIONS = {
    "connect": '<connect name="c" body1="low" body2="fore" anchor="0 0 0"/>',
    "weld": '<weld name="c" body1="low" body2="fore"/>',
    "connect of sites": '<connect name="c" site1="ls" site2="fs"/>',
    "weld without a name": '<weld site1="ls" site2="fs"/>',
    "inactive": '<weld name="c" body1="low" body2="fore" active="false"/>',
    "two": '<connect name="c" body1="low" body2="fore" anchor="0 0 0"/><weld name="d" site1="fs" site2="ls"/>',
}
CONNECTED_KEY = """<keyframe><key name="home" qpos="0 0 1 1 0 0 0  .1 .2 .3 .4 .5" qvel="1 2 3 .4 .5 .6 .7 .8 .9 1 1.1"/>
  </keyframe>"""


@pytest.mark.parametrize("key", ["", CONNECTED_KEY])
@pytest.mark.parametrize("removed", ["low", "fore", "base", "arm", "site"])
@pytest.mark.parametrize("kind", CONNECTIONS)
def test_trees_of_a_model_stay_together_without_what_connected_them(
    kind: str, removed: str, key: str, tmp_path: Path
) -> None:
    """Reading makes one model of trees that a constraint connects; without it, names have to tell."""
    text = CONNECTED.replace("CONSTRAINTS", CONNECTIONS[kind]).replace("KEY", key)
    (tmp_path / "robot.xml").write_text(text)
    scene = exoskel.load(tmp_path / "robot.xml")
    model = next(one for one in scene.world.models if any(body.name == "arm" for body in one.bodies))
    if removed == "site":
        next(body for body in model.bodies if body.name == "low").markers.clear()
    else:
        scene.world.remove(f"{model.name}/{removed}", subtree=True)
    exoskel.save(scene)
    written = (tmp_path / "robot.xml").read_bytes()
    assert b'eulerseq="zyx"' in written
    again = exoskel.load(written, format="mjcf").world
    mine = sorted(sorted(body.name for body in one.bodies) for one in scene.world.models if one.bodies)
    assert mine == sorted(sorted(body.name for body in one.bodies) for one in again.models)
    reported = [one.message for one in scene.diagnostics if one.code == "FM204"]
    constraints = CONNECTIONS[kind].split("/>")[:-1]
    lost = [one for one in constraints if removed != "site" or "site" in one]
    assert len([one for one in reported if "<connect>" in one or "<weld>" in one]) == len(lost)
    if removed == "base":
        assert any("<jointpos> 'js'" in one for one in reported)
    if key:
        for joint in (one for one in scene.world.joints() if one.dof_count):
            joint.velocities = tuple(0.1 * (number + 1) for number in range(joint.dof_count))
    moved = exoskel.convert(scene, None, to="mjcf").data
    assert difference(scene.world, moved) < 1e-11
