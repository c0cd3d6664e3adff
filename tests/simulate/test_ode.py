"""Against ODE, asked now."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import Box, Capsule, Cone, Drive, Ellipsoid, Plane, Pose, Pyramid, Simulation, Sphere, World
from exoskel.engines.dart import dart_world
from exoskel.engines.engine_process import EngineProcess
from exoskel.engines.ode import ode_world
from exoskel.engines.ode.ode_world import OdeWorld
from exoskel.scene.shape import Geometry
from exoskel.simulate.compare import compare
from tests.cli.conftest import Command, exoskel_command  # noqa: F401 - a fixture
from tests.simulate.ode_scenes import EARTH, SCENES, incline, watch
from tests.simulate.test_ode_golden import RECORDED
from tests.support.places import pybrain_files, sample_files, xode_sample_files
from tests.support.scenes import name_of

pytestmark = pytest.mark.skipif(not ode_world.available(), reason="Panda3D, which brings ODE, is not installed")


@pytest.mark.parametrize("name", SCENES)
def test_the_records_match_the_installed_ode(name: str) -> None:
    for now, then in zip(watch(name), RECORDED[name], strict=True):
        assert np.allclose(now["positions"], then["positions"], rtol=0, atol=1e-4)
        assert np.allclose(now["velocities"], then["velocities"], rtol=0, atol=1e-3)


# --- beside MuJoCo ------------------------------------------------------------------------------------

REFUSED = {"gantry", "joint_zoo", "screw_press"}
"""Samples with joints that ODE does not have."""
APART = {
    "double_pendulum": 5e-3,
    "chain": 5e-3,
    "wrecking_ball": 5e-3,  # soft joints: 1e-4 with a CFM of 1e-9
    "swing_ride": 5e-3,
    "walker": 5e-3,
    "hinge2_car": 5e-3,  # fast wheels, which ODE advances by their tangent
    "ragdoll": 5e-3,
}
"""Metres and radians after 0.3 s; 1e-3 for all others.  They shrink with the time step, as they should: ODE is
of first order in a way of its own, in single precision, with soft joints (CFM 1e-5)."""
OTHERWISE = {
    "gyroscope": "MuJoCo has one damping for all axes of a ball joint",
    "weightless": "a force for the first step",
    "rope_bridge": "bodies that sleep",
    "actuators": "MuJoCo has no servos yet",
    "soft_bodies": "skins",
}


@pytest.mark.parametrize(
    "file",
    [f for f in (*sample_files(), *xode_sample_files()) if f.stem not in REFUSED and f.stem not in OTHERWISE],
    ids=name_of,
)
def test_motion_without_contacts_and_motors_matches_mujoco(file: Path) -> None:
    world = exoskel.load(file).world
    for body in world.bodies():
        body.moment = body.moment
        body.collisions.clear()
    for joint in world.joints():
        joint.drives = ()
    (gap,) = compare(world, 0.3, engines=("mujoco", "ode"), samples=10, limits=False).gaps
    assert max(gap.position_max, gap.rotation_max, gap.coordinate_max) < APART.get(file.stem, 1e-3)


@pytest.mark.parametrize("file", [*xode_sample_files(), *pybrain_files()], ids=name_of)
def test_every_xode_file_runs(file: Path) -> None:
    for world in exoskel.load(file).worlds:
        simulation = OdeWorld(world)
        simulation.step(20)
        assert np.isfinite(simulation.body_poses).all() and np.isfinite(simulation.velocities).all()
        simulation.close()


def test_whole_turns_are_counted() -> None:
    world = World(gravity=(0, 0, 0), time_step=1e-3)
    model = world.add_model("m")
    model.add_body("b", joint="revolute", joint_name="j", axes=((0, 0, 1),), velocities=(10.0,))
    simulation = OdeWorld(world)
    simulation.step(2000)
    assert simulation.positions[0] == pytest.approx(20.0, abs=1e-3)
    simulation.close()


# --- contacts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "height"),
    [
        (Box((1, 1, 1)), 0.5),
        (Sphere(0.5), 0.5),
        (exoskel.Cylinder(0.5, 1.0), 0.5),
        (Capsule(0.2, 1.0), 0.7),
        (Cone(0.5, 1.0), 0.5),
        (Pyramid(1.0, 1.0, 1.0), 0.5),
        (Ellipsoid((1.0, 1.0, 0.6)), 0.3),
        (exoskel.MultiSphere((exoskel.Ball(0.2, (0.0, 0.0, 0.0)), exoskel.Ball(0.2, (0.6, 0.0, 0.0)))), 0.2),
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("ground", [Plane((0.0, 0.0, 1.0)), Box((10.0, 10.0, 2.0))], ids=["plane", "box"])
def test_shapes_rest_on_the_ground(shape: Geometry, height: float, ground: Geometry) -> None:
    world = World(gravity=EARTH, time_step=2e-3)
    below = Pose((0, 0, -1)) if isinstance(ground, Box) else Pose()
    world.add_model("ground", static=True).add_body("g", joint="weld", pose=below, shapes=[ground])
    body = world.add_model("m").add_body("b", pose=Pose((0, 0, height + 0.01)), moment=(0.1, 0.1, 0.1, 0, 0, 0))
    body.collisions.append(exoskel.Shape(geometry=shape))
    simulation = OdeWorld(world)
    simulation.step(250)
    assert simulation.body_poses[1, 2, 3] == pytest.approx(height, abs=5e-3)
    assert simulation.contact_count > 0
    simulation.close()


def test_contact_forces_hold_a_body_up_from_the_first_reading() -> None:
    world = _box_on_a_plane()
    with Simulation(world, "ode") as simulation:
        simulation.step(300)
        lifting = sum(contact.force[2] * np.sign(contact.normal[2]) for contact in simulation.contacts)
    assert abs(lifting) == pytest.approx(2.0 * 9.81, rel=1e-3)


def test_contact_forces_are_zero_while_bodies_sleep() -> None:
    """ODE computes none then: the memory that it hands out is not initialised."""
    world = _box_on_a_plane(asleep=True)
    with Simulation(world, "ode") as simulation:
        simulation.step(3)
        contacts = simulation.contacts
        before = simulation.body_poses
        simulation.step(10)
        assert np.array_equal(before, simulation.body_poses), "the body sleeps"
    assert contacts and all(not np.any(contact.force) for contact in contacts)


def _box_on_a_plane(*, asleep: bool = False) -> World:
    world = World(gravity=EARTH, time_step=2e-3)
    world.add_model("ground", static=True).add_body("g", joint="weld", shapes=[Plane((0.0, 0.0, 1.0))])
    body = world.add_model("m").add_body("b", mass=2.0, pose=Pose((0, 0, 0.5)), moment=(0.1, 0.1, 0.1, 0, 0, 0))
    body.collisions.append(exoskel.Shape(geometry=Box((1, 1, 1))))
    if asleep:
        body.state = exoskel.BodyState(enabled=False)
    return world


def test_friction_can_be_chosen() -> None:
    simulation = OdeWorld(incline(0.5), friction=0.2)
    simulation.step(250)
    assert simulation.positions[3] == pytest.approx(9.81 * 0.3 / 2 * 0.25, rel=0.03)
    simulation.close()


def test_bodies_of_one_model_and_exempt_pairs_do_not_collide() -> None:
    def touching(world: World) -> int:
        simulation = OdeWorld(world)
        simulation.step()
        simulation.close()
        return simulation.contact_count

    world = World(gravity=(0, 0, 0))
    for name in ("left hand", "right hand"):
        world.add_model(name).add_body(name, shapes=[Sphere(1.0)])
    assert touching(world) == 1
    world.collision_exempt_groups = [("left", "right")]
    assert touching(world) == 0
    one = World(gravity=(0, 0, 0))
    model = one.add_model("m")
    model.add_body("a", shapes=[Sphere(1.0)])
    model.add_body("b", shapes=[Sphere(1.0)])
    assert touching(one) == 0


# --- what it cannot -----------------------------------------------------------------------------------


def one_body(**options: object) -> World:
    world = World()
    world.add_model("m").add_body("b", joint_name="j", **options)  # type: ignore[arg-type]
    return world


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"joint": "euler"}, r"ODE has no euler joints \(joint 'j' of model 'm'\)"),
        ({"joint": "hinge2", "axes": ((0, 0, 1), (0, 1, 0))}, "hinge2 joints need two moving bodies"),
        ({"joint": "universal", "axes": ((0, 0, 1), (0, 1, 1))}, "perpendicular axes"),
        ({"mass": 0.0}, "ODE cannot move body 'b': its mass is 0 kg"),
        ({"moment": (1.0, 1.0, -1.0, 0.0, 0.0, 0.0)}, "moment of inertia is not positive definite"),
        ({"shapes": [Plane((0, 0, 1))], "moment": (1, 1, 1, 0, 0, 0)}, "ODE's planes are static"),
    ],
)
def test_what_ode_cannot_build_is_an_error(options: dict[str, object], says: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=says):
        OdeWorld(one_body(**options))


def test_a_body_welded_to_the_world_needs_no_mass() -> None:
    simulation = OdeWorld(one_body(joint="weld", mass=0.0, pose=Pose((1, 2, 3))))
    simulation.step(10)
    assert np.allclose(simulation.body_poses[0, :3, 3], (1, 2, 3))
    simulation.close()


def test_a_crash_is_an_error() -> None:
    child = EngineProcess("ODE", "exoskel.engines.ode.worker")
    body = {
        "mass": 1.0, "moment": [1, 1, 1, 0, 0, 0], "zero": [0, 0, 0, 1, 0, 0, 0], "start": [0, 0, 0, 1, 0, 0, 0],
        "twist": [0] * 6, "gravity": True, "enabled": True, "force": [0] * 3, "torque": [0] * 3, "finite": [0] * 4,
    }  # fmt: skip
    joint = {"type": "hinge2", "bodies": [0, -1], "anchor": [0, 0, 0], "axes": [[0, 0, 1], [0, 1, 0]], "start": [0, 0]}
    load = {
        "gravity": [0, 0, 0], "step": 0.01, "erp": None, "cfm": None, "friction": 1.0, "quick": False,
        "bodies": [body], "joints": [joint], "motors": [], "geoms": [],
    }  # fmt: skip
    with pytest.raises(exoskel.ExoskelError, match=r"ODE failed: it crashed \(exit code"):
        child.ask({"load": load})
    with pytest.raises(exoskel.ExoskelError, match="ODE failed"):
        child.ask({"step": 1})


def test_a_motion_that_diverges_is_an_error() -> None:
    world = one_body(joint="prismatic", axes=((0, 0, 1),))
    world.models[0].joints[0].drives = (Drive(velocity=1e38, max_force=1e38),)
    with pytest.raises(exoskel.DivergedError, match="the motion of 'b' diverged in ODE between") as problem:
        exoskel.run(world, 10.0, engine="ode")
    assert len(problem.value.trajectory) >= 1


@pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
def test_a_ball_joint_is_damped_about_its_own_axes_as_in_dart() -> None:
    world = exoskel.load("dart://sample/skel/gyroscope.skel").world
    (gap,) = compare(world, 0.2, engines=("dart", "ode"), samples=10).gaps
    assert gap.rotation_max < 0.03  # of a top that turns by 10 rad


def test_the_command_line_supports_ode(exoskel_command: Command) -> None:  # noqa: F811
    assert "ode" in exoskel_command("engines").out
    sample = "dart://sample/xode/extensions.xode"
    done = exoskel_command("compare", sample, "--engines", "mujoco,ode", "--time", "0.05")
    assert done.code == 0 and "mujoco vs ode: positions differ by up to" in done.out
