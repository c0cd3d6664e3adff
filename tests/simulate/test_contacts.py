"""Contacts: what rests, slides, passes, and which bodies meet at all."""

from __future__ import annotations

from math import cos, radians, sin

import numpy as np
import pytest

import exoskel
from exoskel import Box, Plane, Pose, Shape, Sphere, World
from exoskel.engines.dart import dart_world
from exoskel.engines.interface import Contact
from exoskel.engines.ode import ode_world


def ground(world: World) -> None:
    world.add_model("ground", static=True).add_body("floor", joint="weld", shapes=[Plane((0.0, 0.0, 1.0))])


def incline(degrees: float) -> World:
    """A box on a plane; gravity is tilted instead of the plane."""
    angle = radians(degrees)
    world = World(time_step=1e-3, gravity=(9.81 * sin(angle), 0.0, -9.81 * cos(angle)))
    ground(world)
    world.add_model("box").add_body("box", pose=Pose((0.0, 0.0, 0.1)), shapes=[Box((0.4, 0.4, 0.2))])
    return world


@pytest.mark.checklist("skel", [84])
@pytest.mark.parametrize("degrees", [20.0, 40.0, 44.0])
def test_a_box_sticks_below_the_friction_angle(degrees: float) -> None:
    motion = exoskel.run(incline(degrees), 2.0)
    assert abs(motion.body_poses[-1, 1, 0]) < 1e-3


OTHERS = [
    pytest.param("dart", marks=pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")),
    pytest.param("ode", marks=pytest.mark.skipif(not ode_world.available(), reason="panda3d is not installed")),
]


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize(("degrees", "slides"), [(40.0, False), (50.0, True)])
def test_other_engines_agree_on_the_friction_angle(engine: str, degrees: float, slides: bool) -> None:
    motion = exoskel.run(incline(degrees), 1.0, engine=engine)
    assert bool(motion.body_poses[-1, 1, 0] > 0.1) is slides
    assert slides or abs(motion.body_poses[-1, 1, 0]) < 0.02


@pytest.mark.parametrize("engine", ["mujoco", *OTHERS])
def test_a_pile_rests_to_five_millimetres_in_every_engine(engine: str) -> None:
    world = World(time_step=1e-3)
    ground(world)
    for number in range(3):
        place = Pose((0.0, 0.0, 0.1 + 0.2 * number))
        world.add_model(f"box{number}").add_body("b", pose=place, shapes=[Box((0.4, 0.4, 0.2))])
    world.add_model("ball").add_body("ball", pose=Pose((2.0, 0.0, 0.5)), shapes=[Sphere(0.1)])
    rest = exoskel.run(world, 2.0, engine=engine).body_poses[-1]
    wanted = [0.1, 0.3, 0.5, 0.1]
    assert np.allclose(rest[1:, 2], wanted, rtol=0, atol=5e-3)
    assert np.abs(rest[1:4, :2]).max() < 5e-3


@pytest.mark.parametrize("engine", ["mujoco", *OTHERS])
def test_every_engine_reports_contacts_and_their_forces(engine: str) -> None:
    world = incline(20.0)
    total, every = np.zeros(3), []
    with exoskel.Simulation(world, engine) as simulation:
        simulation.step(500)
        _ = simulation.contacts
        for _ in range(200):  # DART lets go and presses again from step to step
            simulation.step()
            found = simulation.contacts
            every += found
            total += sum(((one.force if one.bodies[1] == "ground/floor" else -one.force) for one in found), np.zeros(3))
    assert pairs(every) == {frozenset(("ground/floor", "box/box"))}
    weight = world.models[1].bodies[0].mass * np.array(world.gravity)
    assert total / 200 == pytest.approx(weight, rel=0.02, abs=0.05)
    for one in every:
        assert one.position[2] == pytest.approx(0.0, abs=5e-3) and abs(one.depth) < 5e-3
        assert one.normal @ one.force >= 0.0
        assert one.normal[2] == pytest.approx(-1.0 if one.bodies[1] == "ground/floor" else 1.0)


def pairs(found: list[Contact]) -> set[frozenset[str]]:
    return {frozenset(one.bodies) for one in found}


@pytest.mark.parametrize("engine", ["mujoco", *OTHERS])
def test_every_engine_pulls_a_body_until_release(engine: str) -> None:
    world = World(time_step=1e-3, gravity=(0.0, 0.0, 0.0))
    world.add_model("box").add_body("box", pose=Pose((0.0, 0.0, 0.1)), shapes=[Box((0.4, 0.4, 0.2))])
    with exoskel.Simulation(world, engine) as simulation:
        for _ in range(500):
            simulation.engine.pull(0, np.zeros(3), np.array([0.3, 0.0, 0.6]))
            simulation.step(2)
        assert simulation.body_poses[0, :3, 3] == pytest.approx([0.3, 0.0, 0.6], abs=5e-3)
        simulation.engine.release()
        before = simulation.body_poses[0, :3, 3]
        simulation.step(200)
        assert simulation.body_poses[0, :3, 3] == pytest.approx(before, abs=5e-3)


@pytest.mark.checklist("skel", [84])
@pytest.mark.parametrize("degrees", [46.0, 50.0, 60.0])
def test_a_box_slides_above_the_friction_angle_at_the_right_speed(degrees: float) -> None:
    angle = radians(degrees)
    motion = exoskel.run(incline(degrees), 1.0)
    assert motion.body_poses[-1, 1, 0] == pytest.approx(9.81 * (sin(angle) - cos(angle)) / 2, rel=0.03)


@pytest.mark.parametrize(("friction", "slides"), [(0.3, True), (0.8, False)])
def test_friction_can_be_chosen(friction: float, slides: bool) -> None:
    motion = exoskel.run(incline(30.0), 1.0, friction=friction)
    assert bool(motion.body_poses[-1, 1, 0] > 0.1) is slides


def test_a_dropped_sphere_comes_to_rest_on_its_radius() -> None:
    world = World(time_step=1e-3)
    ground(world)
    world.add_model("ball").add_body("ball", pose=Pose((0.0, 0.0, 1.0)), shapes=[Sphere(0.1)])
    assert exoskel.run(world, 3.0).body_poses[-1, 1, 2] == pytest.approx(0.1, abs=1e-3)


def pair(**options: object) -> World:
    """Two bodies of one model inside each other, 5 cm apart, without gravity."""
    world = World(gravity=(0.0, 0.0, 0.0), **options)  # type: ignore[arg-type]
    model = world.add_model("m")
    for number in range(2):
        model.add_body(f"ball{number}", pose=Pose((0.05 * number, 0.0, 0.0)), shapes=[Sphere(0.1)])
    return world


def apart(world: World) -> float:
    motion = exoskel.run(world, 0.5)
    return float(np.linalg.norm(motion.body_poses[-1, 0, :3] - motion.body_poses[-1, 1, :3]))


@pytest.mark.checklist("skel", [85])
def test_bodies_of_one_model_do_not_collide_in_dart() -> None:
    assert apart(pair()) == pytest.approx(0.05)


def test_bodies_of_one_model_collide_in_ode_unless_connected() -> None:
    assert apart(pair(self_collision=True)) > 0.19
    tied = pair(self_collision=True)
    one, other = tied.models[0].bodies
    tied.models[0].joints[1].kind, tied.models[0].joints[1].parent = "ball", one
    tied.models[0].joints[1].pose = Pose((-0.05, 0.0, 0.0))
    assert other is tied.models[0].joints[1].child and apart(tied) == pytest.approx(0.05, abs=1e-6)


def test_bodies_of_different_models_collide() -> None:
    world = pair()
    other = world.add_model("n")
    other.bodies.append(world.models[0].bodies.pop())
    other.joints.append(world.models[0].joints.pop())
    assert apart(world) > 0.19


def test_shapes_in_one_exempt_group_do_not_collide() -> None:
    assert apart(pair(self_collision=True, collision_exempt_groups=[("ball0", "ball1")])) == pytest.approx(0.05)
    assert apart(pair(self_collision=True, collision_exempt_groups=[("ball0", "thing")])) > 0.19


def test_a_shape_that_is_not_collidable_does_not_collide() -> None:
    world = pair(self_collision=True)
    shape: Shape = world.models[0].bodies[0].collisions[0]
    shape.collidable = False
    assert apart(world) == pytest.approx(0.05)


def test_more_models_than_contact_bits_collide_correctly() -> None:
    """Forty models of two bodies each: bodies of one pass, those of neighbours meet."""
    world = World(gravity=(0.0, 0.0, 0.0))
    for number in range(40):
        model = world.add_model(f"m{number}")
        for part in range(2):
            model.add_body(f"b{part}", pose=Pose((float(number), 0.02 * part, 0.0)), shapes=[Sphere(0.1)])
    motion = exoskel.run(world, 0.1)
    assert np.allclose(motion.body_poses[-1], motion.body_poses[0], atol=1e-9)
    world.models[39].bodies[0].pose = Pose((38.05, 0.0, 0.0))
    motion = exoskel.run(world, 0.5)
    assert np.abs(motion.body_poses[-1] - motion.body_poses[0]).max() > 0.01


def bowl() -> exoskel.TriMesh:
    """An open funnel: its hull is filled, the funnel itself is not."""
    angles = np.linspace(0.0, 2 * np.pi, 12, endpoint=False)
    rim = np.stack([np.cos(angles), np.sin(angles), np.ones(12)], axis=1)
    vertices = np.vstack([rim, [[0.0, 0.0, 0.0]]])
    return exoskel.TriMesh(vertices, np.array([[i, (i + 1) % 12, 12] for i in range(12)]))


def test_a_ball_rolls_into_a_static_bowl() -> None:
    world = World(time_step=1e-3)
    world.add_model("ground", static=True).add_body("bowl", joint="weld", shapes=[bowl()])
    world.add_model("ball").add_body("ball", pose=Pose((0.4, 0.0, 1.2)), shapes=[Sphere(0.1)])
    assert exoskel.preflight(world) == []
    rest = exoskel.run(world, 3.0).body_poses[-1, 1]
    assert np.hypot(*rest[:2]) < 0.3 and rest[2] < 0.5


def test_is_convex_recognises_convex_meshes() -> None:
    from exoskel.source.surface import is_convex

    corners = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
    faces = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]])  # fmt: skip
    assert is_convex(corners, faces)
    assert not is_convex(bowl().vertices, bowl().triangles)


def test_a_flat_mesh_supports_falling_bodies() -> None:
    """MuJoCo refuses meshes whose points lie in a plane."""
    corners = np.array([[-2.0, -2.0, 0.0], [2.0, -2.0, 0.0], [2.0, 2.0, 0.0], [-2.0, 2.0, 0.0]])
    sheet = exoskel.TriMesh(corners, np.array([[0, 1, 2], [0, 2, 3]]))
    world = exoskel.World(gravity=(0.0, 0.0, -9.81))
    world.add_model("floor").add_body("floor", shapes=[sheet], joint="weld")
    world.model("floor").static = True
    place = exoskel.Pose((0.5, 0.2, 0.3))
    world.add_model("box").add_body("box", pose=place, shapes=[exoskel.Box((0.2, 0.2, 0.2))])
    simulation = exoskel.Simulation(world)
    simulation.step(2000)
    assert abs(simulation.body_poses[1, 2, 3] - 0.1) < 5e-3
