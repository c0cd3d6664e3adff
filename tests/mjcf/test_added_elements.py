"""What is added to a scene that was read from MJCF is inserted into its document, which keeps everything else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel.fates import Fate

DOCUMENT = """<mujoco model="robot">
  <!-- a robot -->
  <extension><plugin plugin="mujoco.pid"/></extension>
  <size nuser_jnt="1"/><compiler angle="degree" eulerseq="zyx"/>
  <default>
    <geom friction="0.7 0.01 0.002" rgba="1 0 0 1" condim="4"/>
    <joint armature="0.2" solreflimit="0.03 1" user="3"/>
    <site size="0.03" rgba="0 1 0 1"/><motor ctrlrange="-1 1"/>
    <default class="soft"><joint damping="0.5 0.1" armature="0.3"/><geom contype="0" conaffinity="0"/></default>
  </default>
  <asset>
    <skin name="skin" vertex="0 0 0 1 0 0 0 1 0" face="0 1 2">
      <bone body="arm" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/>
    </skin>
  </asset>
  <worldbody>
    <geom name="ground" type="plane" size="5 5 0.1"/>
    <body name="arm" pos="0 0 1" euler="0 30 0" childclass="soft">
      <!-- the shoulder -->
      <joint name="shoulder" axis="0 1 0" range="-90 90"/>
      <geom name="bone" class="main" type="capsule" fromto="0 0 0 0 0 0.5" size="0.05"/>
      <site name="tip" pos="0 0 0.5"/>
      <body name="hand" pos="0 0 0.5"><joint name="grip" type="slide" axis="1 0 0"/>
        <geom name="palm" type="box" size="0.1 0.1 0.02"/><site/></body>
    </body>
    <body name="table" pos="2 0 0"><geom name="top" size=".1"/></body>
    <body name="cloth" pos="0 0 3">
      <flexcomp name="cloth" type="grid" count="3 3 1" spacing="0.1 0.1 0.1" radius="0.01" dim="2" mass="0.1"/>
    </body>
  </worldbody>
  <actuator>
    <plugin name="pid" plugin="mujoco.pid" joint="grip" actdim="2"><config key="ki" value="4"/><config key="slewmax" value="3"/></plugin>
    <motor name="m" joint="shoulder"/>
  </actuator>
  <sensor><jointpos name="jp" joint="grip"/></sensor>
</mujoco>
"""
UNKNOWN = ("<!-- a robot -->", "<!-- the shoulder -->", "<skin", "flexcomp", '<plugin name="pid"', 'user="3"')
BOX = exoskel.Box((0.1, 0.1, 0.1))
TETRAHEDRON = exoskel.TriMesh(
    vertices=np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]),
    triangles=np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]),
)
Edit = Callable[[exoskel.World], object]


def _hand(world: exoskel.World) -> exoskel.Body:
    return world.model("arm").body("hand")


def _nested(kind: str, name: str = "finger", **options: object) -> Edit:
    return lambda world: world.model("arm").add_body(name, parent="hand", joint=kind, mass=1.0, shapes=[BOX], **options)  # type: ignore[arg-type]


def _swing_table(world: exoskel.World) -> None:
    model = world.model("table")
    model.static = False
    model.joints.clear()
    model.add_joint("swing", "revolute", child="table", axis=(1, 0, 0))


def _mesh_file(world: exoskel.World) -> None:
    world.add_model("part").add_body("part", mass=1.0, moment=(1, 1, 1, 0, 0, 0), shapes=[TETRAHEDRON])


def _paint(world: exoskel.World) -> None:
    _hand(world).visuals[0].material = exoskel.Material(roughness=0.2)


ADDED: dict[str, Edit] = {
    "model": lambda world: world.add_model("box").add_body("box", mass=1.0, shapes=[BOX], at=(0, 0, 2)),
    "model with another name": lambda world: world.add_model("crate").add_body("box", mass=1.0, shapes=[BOX]),
    "name that is taken": lambda world: world.add_model("crate").add_body("hand", mass=1.0, shapes=[BOX]),
    "nested body": _nested("revolute", axis=(0, 1, 0), at=(0, 0, 0.2), limits=(-1, 1), damping=0.3),
    "slide": _nested("prismatic", axis=(0, 1, 0), limits=(-1, 1)),
    "ball": _nested("ball"),
    "universal": _nested("universal", axes=((1, 0, 0), (0, 1, 0))),
    "screw": _nested("screw", axis=(0, 0, 1), pitch=0.1),
    "free body in a model": lambda world: world.model("arm").add_body("ball", mass=1.0, shapes=[BOX]),
    "free body in the world": lambda w: w.model("world").add_body("ball", mass=1.0, shapes=[BOX], at=(0, 0, 3)),
    "free body in a static model": lambda world: world.model("table").add_body("ball", mass=1.0, shapes=[BOX]),
    "leg": lambda w: w.model("table").add_body("leg", parent="table", joint="weld", at=(1, 0, 0), shapes=[BOX]),
    "static model": lambda w: w.add_model("wall", static=True).add_body("wall", joint="weld", shapes=[BOX]),
    "mesh": _mesh_file,
    "collision shape": lambda world: _hand(world).collisions.append(exoskel.Shape(geometry=BOX)),
    "visual shape": lambda w: _hand(w).visuals.append(exoskel.Shape(geometry=BOX, name="vis", color=(0, 1, 0, 1))),
    "hidden shape": lambda world: _hand(world).collisions.append(exoskel.Shape(geometry=BOX, collidable=False)),
    "shape of the world": lambda w: w.model("world").body("world").collisions.append(exoskel.Shape(geometry=BOX)),
    "shape with a material": lambda world: _hand(world).visuals.append(
        exoskel.Shape(geometry=BOX, material=exoskel.Material(roughness=0.2, metalness=0.4))
    ),
    "material": _paint,
    "site": lambda world: _hand(world).markers.append(exoskel.Marker("mark", offset=(0.1, 0, 0))),
    "joint": _swing_table,
    "loop": lambda world: world.model("arm").add_joint("loop", "ball", child="hand"),
    "motor": lambda world: world.add_actuator("act", "shoulder"),
    "servo": lambda w: w.add_actuator("act", "shoulder", kind="position", gain=9.0, damping=1.0, control_range=(-1, 2)),
    "sensor": lambda world: world.add_sensor("s", "jointvel", "arm/shoulder"),
    "sensor of a body": lambda world: world.add_sensor("s", "framepos", "arm/hand", target_kind="body"),
    "fixed tendon": lambda world: world.add_tendon("t", joints={"arm/shoulder": 1.0, "arm/grip": 2.0}),
    "spatial tendon": lambda w: w.add_tendon("t", path=["arm/arm/tip", f"arm/hand/{_hand(w).markers[0].name}"]),
    "equality": lambda world: world.add_equality("eq", "weld", "arm/hand", "table/table"),
    "camera": lambda world: world.cameras.append(exoskel.SceneCamera(name="cam", body="arm/hand")),
    "light": lambda world: world.lights.append(exoskel.SceneLight(name="lamp", position=(0, 0, 4))),
    "keyframe": lambda world: world.add_keyframe("home", time=1.0),
}


@pytest.fixture
def robot(tmp_path: Path) -> Path:
    (tmp_path / "robot.xml").write_text(DOCUMENT)
    return tmp_path / "robot.xml"


@pytest.mark.parametrize("name", ADDED)
def test_the_document_is_kept(robot: Path, name: str) -> None:
    scene = exoskel.load(robot)
    ADDED[name](scene.world)
    report = exoskel.convert(scene, robot.with_name("out.xml"), to="mjcf")
    text = report.data.decode()
    assert report.certificate.passed
    assert all(word in text for word in UNKNOWN)
    assert report.losses == []
    assert {item.fate for item in report.items} <= {Fate.EXACT, Fate.KEPT, Fate.LOWERED}
    model = mujoco.MjModel.from_xml_path(str(robot.with_name("out.xml")))
    assert (model.nflex, model.nskin) == (1, 1)
    saved = exoskel.load(robot)
    ADDED[name](saved.world)
    exoskel.save(saved, robot.with_name("saved.xml"))
    assert all(word in robot.with_name("saved.xml").read_text() for word in UNKNOWN)


def test_default_classes_and_units_of_the_author_do_not_change_new_elements(robot: Path) -> None:
    scene = exoskel.load(robot)
    ADDED["nested body"](scene.world)
    ADDED["site"](scene.world)
    scene.world.add_actuator("drive", "finger_joint")
    exoskel.convert(scene, robot.with_name("out.xml"), to="mjcf")
    model = mujoco.MjModel.from_xml_path(str(robot.with_name("out.xml")))
    joint = model.joint("finger_joint")
    np.testing.assert_allclose(joint.range, (-1, 1), rtol=1e-15)
    dof = joint.dofadr[0]
    assert model.dof_armature[dof] == 0.0
    assert np.ravel(model.dof_damping[dof])[0] == 0.3
    geom = model.body("finger").geomadr[0]
    assert model.geom_condim[geom] == 3
    assert model.geom_friction[geom].tolist() == [1.0, 0.005, 0.0001]
    assert model.site("mark").size.tolist() == [0.005] * 3
    assert not model.actuator("drive").ctrllimited[0]


def test_keyframes_get_the_numbers_of_new_joints_and_actuators() -> None:
    text = """<mujoco><worldbody><body name="a"><joint name="i" axis="0 1 0"/><geom size="0.1"/>
        <body name="b"><joint name="j" axis="0 1 0"/><geom size="0.1"/></body></body>
        <body name="c"><freejoint/><geom size="0.1"/></body></worldbody>
      <actuator><muscle name="mus" joint="i" lengthrange="0 1"/><motor name="m" joint="j"/></actuator>
      <keyframe><key name="k" qpos="1 2 3 4 5 1 0 0 0" qvel="1 2 3 4 5 6 7 8" ctrl="0.5 7"/></keyframe></mujoco>"""
    scene = exoskel.load(text)
    body = scene.world.model("a").add_body("new", parent="b", joint="revolute", axis=(1, 0, 0), mass=1.0)
    joint = scene.world.model("a").joint("new_joint")
    joint.positions, joint.velocities = (0.25,), (0.75,)
    scene.world.add_actuator("n", "new_joint", control=3.0)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b"exoskel" not in report.data
    assert b'lengthrange="0 1"' in report.data
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    assert model.body(body.name).mass[0] == 1.0
    key = model.key("initial") if model.nkey == 2 else model.key("k")
    assert key.qpos.tolist() == [1, 2, 0.25, 3, 4, 5, 1, 0, 0, 0]
    assert key.qvel.tolist() == [1, 2, 0.75, 3, 4, 5, 6, 7, 8]
    assert key.ctrl.tolist() == [0.5, 7, 3]
    assert model.key("k").qpos[[0, 1, 3, 4, 5]].tolist() == [1, 2, 3, 4, 5]


def test_mass_settings_of_the_compiler_do_not_change_new_bodies() -> None:
    for setting in ('settotalmass="10"', 'inertiafromgeom="true"'):
        scene = exoskel.load(
            f"""<mujoco><compiler {setting}/><worldbody><body name="a"><freejoint/><geom size="0.1"/></body>
            </worldbody></mujoco>"""
        )
        mass = scene.world.model("a").body("a").mass
        scene.world.model("a").add_body("b", parent="a", joint="revolute", axis=(1, 0, 0), mass=3.0, shapes=[BOX])
        report = exoskel.convert(scene, None, to="mjcf")
        model = mujoco.MjModel.from_xml_string(report.data.decode())
        assert report.certificate.passed
        assert b"exoskel" not in report.data
        assert model.body("b").mass[0] == 3.0
        assert model.body("a").mass[0] == pytest.approx(mass, rel=1e-12)


def test_included_documents_frames_and_copies_are_kept(tmp_path: Path) -> None:
    (tmp_path / "part.xml").write_text(
        '<mujocoinclude><body name="part" pos="1 0 1"><freejoint/><geom size="0.05"/></body></mujocoinclude>'
    )
    (tmp_path / "robot.xml").write_text(
        """<mujoco><worldbody><frame euler="0 0 30" pos="1 0 0"><body name="a"><freejoint/><geom size="0.1"/></body></frame>
        <replicate count="2" offset="0 0 1"><body name="r" pos="0 1 0"><joint/><geom size="0.1"/></body></replicate>
        <include file="part.xml"/></worldbody></mujoco>"""
    )
    for owner in ("a", "part"):
        scene = exoskel.load(tmp_path / "robot.xml")
        scene.world.model(owner).add_body("new", parent=owner, joint="revolute", axis=(1, 0, 0), mass=1.0, shapes=[BOX])
        scene.world.add_sensor("s", "framepos", f"{owner}/new", target_kind="body")
        report = exoskel.convert(scene, tmp_path / "out.xml", to="mjcf")
        assert report.certificate.passed
        assert b"<replicate" in report.data
        assert b"<frame" in report.data
        mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))


def test_new_meshes_are_found_in_the_folder_of_meshes(tmp_path: Path) -> None:
    (tmp_path / "meshes").mkdir()
    lines = [*(f"v {x} {y} {z}" for x, y, z in TETRAHEDRON.vertices), *("f 1 3 2", "f 1 2 4", "f 1 4 3", "f 2 3 4")]
    (tmp_path / "meshes" / "part.obj").write_text("\n".join(lines))
    (tmp_path / "robot.xml").write_text(
        """<mujoco><compiler meshdir="meshes"/><asset><mesh file="part.obj"/></asset>
        <worldbody><body name="a"><freejoint/><geom type="mesh" mesh="part"/></body></worldbody></mujoco>"""
    )
    scene = exoskel.load(tmp_path / "robot.xml")
    copied = scene.world.model("a").copy(name="b")
    scene.world.add(copied, at=(0, 0, 2))
    report = exoskel.convert(scene, tmp_path / "out.xml", to="mjcf")
    assert report.certificate.passed
    assert b'meshdir="meshes"' in report.data
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert model.nbody == 3


@pytest.mark.parametrize("target", ["mjcf", "sdf", "usd", "skel"])
def test_a_free_body_in_a_static_model_is_written(target: str) -> None:
    scene = exoskel.load(
        """<mujoco><worldbody><geom type="plane" size="1 1 1"/><body name="a"><joint name="j"/><geom size="0.1"/></body>
        </worldbody><actuator><motor name="m" joint="j"/></actuator></mujoco>"""
    )
    scene.world.model("world").add_body("ball", mass=1.0, shapes=[BOX], at=(0, 0, 3))
    report = exoskel.convert(scene, None, to=target)
    assert report.certificate.passed
    assert report.data


def _hinged(world: exoskel.World, parent: str = "a") -> None:
    model = world.model(parent)
    model.add_body("new", parent=parent, joint="revolute", axis=(0, 1, 0), mass=1.0, shapes=[BOX], at=(0, 0, 1))


def test_a_document_without_bodies_gets_the_first_one() -> None:
    scene = exoskel.load('<mujoco><asset><material name="m" emission="0.5"/></asset></mujoco>')
    scene.world.add_model("a").add_body("a", mass=1.0, shapes=[BOX])
    scene.world.add_sensor("s", "framepos", "a/a", target_kind="body")
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b'emission="0.5"' in report.data
    assert b"exoskel_sky" not in report.data
    assert mujoco.MjModel.from_xml_string(report.data.decode()).nbody == 2


def test_columns_of_keyframes_are_in_front_of_those_of_later_free_joints() -> None:
    text = """<mujoco><worldbody><body name="a"><joint axis="0 1 0"/><geom size="0.1"/></body>
      <body name="c"><freejoint/><geom size="0.1"/></body></worldbody>
      <keyframe><key name="k" qpos="1 2 3 4 1 0 0 0"/></keyframe></mujoco>"""
    scene = exoskel.load(text)
    _hinged(scene.world)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    model = mujoco.MjModel.from_xml_string(report.data.decode())
    assert model.key("k").qpos.tolist() == [1, 0, 2, 3, 4, 1, 0, 0, 0]


@pytest.mark.parametrize("disabled", [True, False])
def test_documents_are_kept_if_contacts_are_disabled(disabled: bool) -> None:
    flag = '<option><flag contact="disable"/></option>' if disabled else ""
    text = f"""<mujoco>{flag}<asset><material name="m" emission="0.5"/></asset><worldbody>
      <geom type="plane" size="1 1 1" pos="0 0 -2"/><body name="a"><joint/><geom size="0.1"/></body></worldbody></mujoco>"""
    scene = exoskel.load(text)
    _hinged(scene.world)
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b"exoskel_sky" not in report.data


def test_shapes_that_collide_one_by_one_stay_without_names() -> None:
    """A scene names them to state which of them collide, their document does not."""
    text = """<mujoco><default><geom contype="0" conaffinity="0"/></default><worldbody>
      <geom type="plane" size="1 1 1" conaffinity="1" contype="1" pos="0 0 -3"/>
      <body name="a"><joint/><geom name="g" size="0.1"/>
        <body name="tip" pos="0 0 1"><joint axis="1 0 0"/><geom size="0.1" contype="1" conaffinity="1"/>
          <geom size="0.2" contype="1" conaffinity="1"/></body></body></worldbody></mujoco>"""
    scene = exoskel.load(text)
    scene.world.model("a").add_body("new", parent="tip", joint="revolute", axis=(0, 1, 0), mass=1.0, shapes=[BOX])
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b"exoskel_sky" not in report.data


def test_bodies_with_several_joints_and_no_name_stay_as_they_are() -> None:
    text = """<mujoco><worldbody><body name="a"><joint axis="0 1 0"/><geom size="0.1"/></body>
      <body pos="0 3 0"><joint type="slide" axis="0 0 1"/><joint axis="1 1 0"/><geom size="0.1" mass="2"/></body>
      </worldbody></mujoco>"""
    scene = exoskel.load(text)
    _hinged(scene.world)
    names = [(model.name, body.name) for model in scene.world.models for body in model.bodies]
    report = exoskel.convert(scene, None, to="mjcf")
    assert report.certificate.passed
    assert b"exoskel_sky" not in report.data
    again = exoskel.load(report.data, format="mjcf")
    assert sorted((model.name, body.name) for model in again.world.models for body in model.bodies) == sorted(names)


def test_meshes_with_the_same_triangles_are_equal() -> None:
    one, other = (exoskel.TriMesh(np.eye(3), np.array([[0, 1, 2]])) for _ in range(2))
    assert one == other
    assert not one != other  # noqa: SIM202
    assert one != exoskel.TriMesh(2 * np.eye(3), np.array([[0, 1, 2]]))
