"""Scenes, written to MJCF and read back."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import mujoco
import numpy as np
import pytest

import exoskel
from exoskel import Model, Scene, World
from exoskel.formats.mjcf.file_writer import write, write_document
from exoskel.formats.mjcf.losses import losses
from exoskel.formats.mjcf.model.coordinates import Coordinates, document_addresses
from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.tree import to_text
from exoskel.scene.joint import JointKind
from exoskel.source.output_context import OutputContext
from tests.mjcf.support import Trip, apart, bodies, codes, imported, named_poses
from tests.support.places import sample_files, xode_sample_files
from tests.support.scenes import name_of

FILES = [*sample_files(), *xode_sample_files()]
every_sample = pytest.mark.parametrize("file", FILES, ids=name_of)

# docs/mjcf.md lists the values that affect the motion and that MJCF does not support.
OTHER_MOTION = {
    "gyroscope.skel": "a ball with a damping of its own about each axis",
    "wrecking_ball.skel": "a ball with a damping of its own about each axis",
    "weightless.xode": "forces in the first step",
    "ragdoll.xode": "motors, which are servos after the round trip, and those are exact",
    "pyode_dialect.xode": "motors and stops, which the engine solves as ODE does if they come from XODE",
    "actuators.skel": "forces and accelerations in the first step",
}


@every_sample
def test_masses_and_poses_round_trip(file: Path) -> None:
    trip = Trip(exoskel.load(file).world)
    here, there = bodies(trip.world), bodies(trip.back.scene.world)
    assert here.keys() == there.keys()
    for name, body in here.items():
        assert there[name].mass == pytest.approx(body.mass, abs=1e-9)
        if body.mass > 0.0:
            assert there[name].com == pytest.approx(body.com, abs=1e-9)
            # The moments of a flat body are at the limit of physical values and are adjusted slightly.
            assert there[name].moment == pytest.approx(body.moment, rel=2e-9, abs=2e-9 * max(body.moment))
        assert there[name].gravity == body.gravity
    assert apart(named_poses(trip.world), named_poses(trip.back.scene.world)) < 1e-9
    for seed in range(5):
        assert apart(*trip.poses(seed)) < 1e-9


@every_sample
def test_shapes_and_markers_round_trip(file: Path) -> None:
    trip = Trip(exoskel.load(file).world)
    there = bodies(trip.back.scene.world)
    for name, body in bodies(trip.world).items():
        for mine, theirs in ((body.visuals, there[name].visuals), (body.collisions, there[name].collisions)):
            solid = [shape for shape in mine if shape.kind != "ray"]
            assert len(solid) == len(theirs)
            for one, other in zip(solid, theirs, strict=True):
                assert (one.collidable, one.color) == (other.collidable, pytest.approx(other.color, abs=1e-6))
                if one.kind == other.kind != "plane":
                    assert np.abs(one.pose.matrix() - other.pose.matrix()).max() < 1e-9
                    assert one.geometry == other.geometry or _sizes(one) == pytest.approx(_sizes(other), abs=1e-12)
        assert [(m.name, m.offset) for m in body.markers] == [(m.name, m.offset) for m in there[name].markers]


def _sizes(shape: exoskel.Shape) -> list[float]:
    low, high = shape.geometry.bounds()  # type: ignore[misc]
    return [*low, *high]


@every_sample
def test_the_motion_round_trips(file: Path) -> None:
    trip = Trip(exoskel.load(file).world)
    one, other = exoskel.Simulation(trip.world), exoskel.Simulation(trip.back.scene.world)
    one.step(100)
    other.step(100)
    here = dict(zip(bodies(trip.world), one.body_poses, strict=True))
    there = dict(zip(bodies(trip.back.scene.world), other.body_poses, strict=True))
    assert (apart(here, there) < 1e-5) == (file.name not in OTHER_MOTION)


@every_sample
def test_mujoco_has_the_initial_state_of_the_scene(file: Path) -> None:
    world = exoskel.load(file).world
    document = write_document(world)
    model = mujoco.MjModel.from_xml_string(to_text(document))
    data = mujoco.MjData(model)
    if model.nkey:
        mujoco.mj_resetDataKeyframe(model, data, 0)
    mujoco.mj_kinematics(model, data)
    for (owner, name), pose in named_poses(world).items():
        placed = data.body("/".join(part.replace("~", "~0").replace("/", "~1") for part in (owner, name)))
        assert np.abs(placed.xpos - pose[:3, 3]).max() < 1e-9
        assert np.abs(placed.xmat.reshape(3, 3) - pose[:3, :3]).max() < 1e-9
    found = document_addresses(document)
    assert (found.nq, found.nv) == (model.nq, model.nv)
    assert all(model.joint(joint).qposadr[0] == place[0] for joint, place in found.by_name.items())


@every_sample
def test_velocities_round_trip(file: Path) -> None:
    trip = Trip(exoskel.load(file).world)
    assert trip.back.coordinates is not None and trip.back.compiled is not None and trip.back.reader is not None
    joints = [joint for joint in trip.world.joints() if not joint.loop]
    still = [0.0 if j.actuator in ("velocity", "locked") else v for j in joints for v in j.velocities]
    here = Coordinates(WorldLayout(trip.world), document_addresses(trip.document))
    qpos = trip.back.compiled.initial_state[0]
    expected = np.zeros(here.nv)
    here.set_velocities(np.array(still), qpos, expected)
    back = [v for j in trip.back.scene.world.joints() if not j.loop for v in j.velocities]
    actual = np.zeros(here.nv)
    trip.back.coordinates.set_velocities(np.array(back), trip.back.reader.relative(qpos), actual)
    assert actual == pytest.approx(expected, abs=1e-9)


def test_generated_parts_become_joints_again() -> None:
    """Flywheels, duplicates and suspensions are not part of a scene."""
    trip = Trip(exoskel.load("dart://sample/xode/hinge2_car.xode").world)
    for mine, theirs in zip(trip.world.joints(), trip.back.scene.world.joints(), strict=True):
        if mine.kind != "hinge2":
            continue
        assert theirs.kind == "hinge2"
        for one, other in zip(mine.drives, theirs.drives, strict=True):
            assert (one.velocity or 0.0, one.max_force or 0.0) == (other.velocity or 0.0, other.max_force or 0.0)
        assert theirs.drives[0].suspension_cfm == pytest.approx(mine.drives[0].suspension_cfm)
        assert theirs.drives[0].suspension_erp == pytest.approx(mine.drives[0].suspension_erp)
    bridge = Trip(exoskel.load("dart://sample/xode/rope_bridge.xode").world)
    loops = {joint.name: joint.kind for joint in bridge.world.joints() if joint.loop}
    assert loops == {joint.name: joint.kind for joint in bridge.back.scene.world.joints() if joint.loop}


def test_joints_with_force_limits_have_a_motor() -> None:
    """Infinite bounds, and those of servos, which have flywheels, get no motor."""
    world = exoskel.load("dart://sample/skel/robot_arm.skel").world
    joints = {joint.name: joint for joint in world.joints()}
    bounds = {
        name: (-2.0, 3.0) for name, joint in joints.items() if joint.actuator == "force" and len(joint.motion) == 1
    }
    assert len(bounds) > 1
    one_sided = next(iter(bounds))
    bounds[one_sided] = (-np.inf, 1.0)
    for name, interval in bounds.items():
        joints[name].dofs[0].force_limits = interval
    trip = Trip(world)
    made = [e.attributes for e in trip.document.iter() if e.tag == "motor"]
    assert [e["ctrlrange"] for e in made] == [(-2.0, 3.0)] * (len(bounds) - 1)
    back = {joint.name: joint for joint in trip.back.scene.world.joints()}
    assert {name: back[name].dofs[0].force_limits for name in bounds} == {**bounds, one_sided: (-np.inf, np.inf)}
    left_out = {loss.item.name for loss in losses(world) if loss.fields == ("force_limits",)}  # type: ignore[attr-defined]
    assert one_sided in left_out and not left_out & ({*bounds} - {one_sided})
    assert mujoco.MjModel.from_xml_string(to_text(trip.document)).nu == len(made)


@every_sample
def test_every_body_states_its_mass(file: Path) -> None:
    """Drake and Pinocchio reject a body without a mass, even if it never moves."""
    for body in (e for e in write_document(exoskel.load(file).world).iter() if e.tag == "body"):
        assert [child.tag for child in body.children].count("inertial") == 1


def test_mesh_files_are_written_as_references(tmp_path: Path) -> None:
    world = exoskel.load("dart://sample/skel/geometry_zoo.skel").world
    file = tmp_path / "zoo.xml"
    file.write_text(to_text(write_document(world, OutputContext(tmp_path))), encoding="utf-8")
    mujoco.MjModel.from_xml_path(str(file))
    there = bodies(imported(file).scene.world)
    for name, body in bodies(world).items():
        for mine, theirs in zip(body.shapes, there[name].shapes, strict=True):
            if isinstance(mine.geometry, exoskel.Mesh):
                assert isinstance(theirs.geometry, exoskel.Mesh)
                assert Path(str(theirs.geometry.path)).samefile(str(mine.geometry.path))
                assert theirs.geometry.scale == mine.geometry.scale
                assert theirs.geometry.extent == mine.geometry.extent


def test_elements_refer_to_their_items() -> None:
    scene = exoskel.load("dart://sample/skel/robot_arm.skel")
    items = [element.item for element in write(scene, OutputContext()).iter()]
    standing = {id(item) for item in items}
    for model in scene.world.models:
        assert all(id(body) in standing for body in model.bodies)
        assert model.static or all(id(j) in standing for j in model.joints if j.kind != "weld")
        assert all(id(shape) in standing for body in model.bodies for shape in body.shapes)


def test_losses_are_reported() -> None:
    output = OutputContext()
    world = exoskel.load("dart://sample/skel/soft_bodies.skel").world
    for body in world.bodies():
        if body.soft is not None:
            body.soft.total_mass = 0.0
    write_document(world, output)
    assert {loss.text for loss in output.losses} == {"the soft skin is not written"}


TIED = """<mujoco><worldbody>
  <body name="a" pos="0 0 1"><joint name="r"/><geom type="sphere" size=".2"/>
    <body name="b" pos="0 0 .25"><joint name="h" axis="1 0 0"/><joint name="s" type="slide" axis="1 1 0"/>
      <geom type="sphere" size=".2"/></body></body>
  <body name="c" pos=".3 0 1"><joint name="k" axis="0 1 0"/><geom type="sphere" size=".2"/></body>
</worldbody><equality><connect body1="b" body2="c" anchor="0.1 0 0"/></equality>{more}</mujoco>"""


@pytest.mark.parametrize("more", ["", '<contact><exclude body1="b" body2="c"/></contact>'], ids=["meet", "excluded"])
def test_the_same_bodies_collide(more: str) -> None:
    """Also for a body with several joints, and for bodies connected by a constraint."""
    text = TIED.format(more=more)
    written = to_text(write_document(imported(text).scene.world))
    assert _touching(written) == _touching(text) == ([("a", "c")] if more else [("a", "c"), ("b", "c")])
    assert _touching(to_text(write_document(imported(written).scene.world))) == _touching(text)


def _touching(text: str) -> list[tuple[str, ...]]:
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    names = [model.body(body).name.rpartition("/")[2] for body in model.geom_bodyid]
    return sorted(tuple(sorted((names[c.geom1], names[c.geom2]))) for c in data.contact)


@pytest.mark.parametrize("self_collision", [False, True])
def test_many_models_have_no_exclude_pairs(self_collision: bool) -> None:
    """MuJoCo has 32 contact bits; more models than that must not cause a list of all pairs of bodies."""
    world = exoskel.World(self_collision=self_collision)
    for number in range(70):
        model = world.add_model(f"m{number}")
        for part in "ab" if number else "a":  # a body that collides with all others
            shape = [exoskel.Sphere(1.0)]
            model.add_body(
                part, shapes=shape, moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0), pose=exoskel.Pose((0.01 * number, 0.0, 0.0))
            )
    text = to_text(write_document(world))
    assert "exclude" not in text
    model = mujoco.MjModel.from_xml_string(text)
    found = imported(text)
    assert codes(found) == []
    assert (found.scene.world.collision_exempt_groups, found.scene.world.self_collision) == ([], self_collision)
    names = [model.body(body).name.partition("/")[0] for body in model.geom_bodyid]
    kinds, affinities = model.geom_contype, model.geom_conaffinity
    solid = [geom for geom in range(model.ngeom) if kinds[geom]]
    assert len(solid) == 139
    for one, other in combinations(solid, 2):
        collides = bool(kinds[one] & affinities[other] or kinds[other] & affinities[one])
        assert collides == (self_collision or names[one] != names[other])


def test_moments_of_inertia_that_dart_ignores_are_approximated() -> None:
    text = (
        '<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>2</mass>'
        "<moment_of_inertia><ixx>3</ixx><iyy>3</iyy><izz>3</izz></moment_of_inertia></inertia>"
        "<visualization_shape><geometry><box><size>1 1 1</size></box></geometry></visualization_shape></body>"
        "</skeleton></world></skel>"
    )
    lost = [one for one in exoskel.convert(text, to="mjcf", target="dart").items if "MJ507" in one.why]
    assert {one.path.rpartition("/")[2] for one in lost} == {"inertia", "moment_of_inertia", "ixx", "iyy", "izz"}
    assert {one.fate.value for one in lost} == {"approximated"}
    assert not [one for one in exoskel.convert(text, to="mjcf").items if "MJ507" in one.why]


@pytest.mark.parametrize("moment", [(1.0, 1.0, 5.0), (1.0, 0.0, 1.0), (-1.0, 1.0, 1.0)])
@pytest.mark.parametrize("is_static", [True, False])
def test_moments_that_mujoco_rejects_are_approximated_in_static_models_too(
    moment: tuple[float, float, float], is_static: bool
) -> None:
    entries = "".join(f"<{tag}>{value}</{tag}>" for tag, value in zip(("ixx", "iyy", "izz"), moment, strict=True))
    text = (
        f'<skel version="1.0"><world name="w"><skeleton name="s"><mobile>{int(not is_static)}</mobile><body name="b">'
        f"<inertia><mass>2</mass><moment_of_inertia>{entries}<ixy>0.1</ixy></moment_of_inertia></inertia></body>"
        "</skeleton></world></skel>"
    )
    report = exoskel.convert(text, to="mjcf")
    assert report.certificate.passed
    lost = [one for one in report.items if "MJ507" in one.why]
    assert {one.fate.value for one in lost} == {"approximated"}
    assert all(("static" in one.why) is is_static for one in lost)


@pytest.mark.parametrize("size", ["1e-30 1e-30 1000", "1e-9 1e-9 1000", "1e-3 1e-3 1000", "1 1e-9 1e-9", "1e-6 1 1"])
def test_moments_of_thin_rods_and_plates_are_accepted(size: str) -> None:
    text = (
        '<skel version="1.0"><world name="w"><skeleton name="s"><body name="b"><inertia><mass>1000</mass></inertia>'
        f"<collision_shape><geometry><box><size>{size}</size></box></geometry></collision_shape></body></skeleton>"
        "</world></skel>"
    )
    assert exoskel.convert(text, to="mjcf").certificate.passed


@pytest.mark.parametrize("mass", ["1e-30", "1e-16", "9.9e-16", "1e-15"])
@pytest.mark.parametrize("is_static", [True, False])
def test_masses_that_mujoco_rejects_are_approximated(mass: str, is_static: bool) -> None:
    text = (
        f'<skel version="1.0"><world name="w"><skeleton name="s"><mobile>{int(not is_static)}</mobile><body name="b">'
        f"<inertia><mass>{mass}</mass></inertia></body></skeleton></world></skel>"
    )
    report = exoskel.convert(text, to="mjcf")
    assert report.certificate.passed
    assert any("MJ507" in one.why for one in report.losses) is (mass != "1e-15")


@pytest.mark.parametrize(("kind", "tag", "is_named"), [("weld", "weld", True), ("ball", "connect", False)])
def test_the_world_is_named_only_where_other_readers_need_it(kind: JointKind, tag: str, is_named: bool) -> None:
    """DART crashes on a weld with one body, and Drake refuses the world in a connection."""
    model = Model("m")
    model.add_body("a", joint="free")
    model.add_joint("loop", kind, child="a")
    text = exoskel.convert(Scene([World("w", models=[model])]), None, to="mjcf").data.decode()
    element = text[text.index(f"<{tag} ") :].partition("/>")[0]
    assert 'body1="a"' in element and ('body2="world"' in element) == is_named
    (joint,) = [one for one in exoskel.load(text).world.models[0].joints if one.loop]
    assert joint.parent is None and joint.kind == kind
