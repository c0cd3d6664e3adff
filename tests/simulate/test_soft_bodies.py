"""Soft bodies move as in DART.

DART's motions are recorded, so that the tests hold without it.  It reports no points; those are compared with its
equations, integrated here.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

import exoskel
from exoskel import Box, Cylinder, Ellipsoid, ExoskelError, Simulation, SoftBody, Tessellation, UnknownNameError, World
from exoskel.engines.dart import dart_world
from exoskel.scene.soft_skin import soft_skin
from tests.golden.record_soft_motion import apart, core_positions, recorded, soft_files

FILES = soft_files()
BOX = SoftBody(total_mass=0.6, geometry=Box((0.2, 0.2, 0.3)), vertex_stiffness=80.0, edge_stiffness=5.0, damping=0.4)
EGG = SoftBody(
    total_mass=0.6,
    geometry=Ellipsoid((0.2, 0.3, 0.4)),
    tessellation=Tessellation(slices=6, stacks=5),
    vertex_stiffness=80.0,
    edge_stiffness=30.0,
    damping=0.4,
)
CAN = SoftBody(
    total_mass=0.6,
    geometry=Cylinder(0.1, 0.3),
    tessellation=Tessellation(slices=6, stacks=4, rings=3),
    vertex_stiffness=80.0,
    edge_stiffness=30.0,
    damping=0.4,
)


@pytest.mark.parametrize("name", FILES)
def test_cores_move_as_dart_was_recorded(name: str) -> None:
    found = np.array(core_positions(apart(FILES[name]), "mujoco"))
    assert np.abs(found - np.array(recorded()[name])).max() < 1e-9


def random_chain(seed: int) -> World:
    """Soft boxes on ball and free joints, with other joints between them; every third one starts close to rest."""
    random = np.random.default_rng(seed)
    world = World(gravity=(0.0, 0.0, -9.81), time_step=float(random.choice([0.0005, 0.001, 0.002])))
    pace = 1e-3 if seed % 3 == 2 else 1.0
    for _ in range(random.integers(1, 3)):
        model, kinds = world.add_model(f"model {len(world.models)}"), ["free", "ball", "revolute", "universal"]
        for link in range(random.integers(1, 5)):
            kind = str(random.choice(kinds[: 2 if link == 0 else 4]))
            count = {"free": 6, "ball": 3, "revolute": 1, "universal": 2}[kind]
            own = {"axis": (1, 0, 0)} if kind == "revolute" else {"axes": ((1, 0, 0), (0, 1, 0))}
            body = model.add_body(
                f"link {link}",
                mass=random.uniform(0.5, 2.0),
                moment=(*random.uniform(0.02, 0.03, 3), 0.0, 0.0, 0.0),
                joint=kind,
                parent=model.bodies[-1] if link else None,
                at=(0.0, 0.1, 0.3) if link else (50.0 * len(world.models), 0.0, 0.0),
                joint_at=tuple(random.uniform(-0.2, 0.2, 3)),
                velocities=tuple(pace * random.uniform(-0.8, 0.8, count)),
                **(own if count < 3 else {}),
            )
            if pace == 1.0 and random.random() < 0.7:
                model.joints[-1].positions = tuple(random.uniform(-0.5, 0.5, count))
            size = tuple(random.uniform(0.1, 0.3, 3))
            body.soft = structs.replace(BOX, geometry=Box(size), total_mass=random.uniform(0.1, 1.0))
            body.gravity = pace == 1.0
    return world


@pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
@pytest.mark.parametrize("seed", range(9))
def test_chains_on_ball_and_free_joints_move_as_in_dart(seed: int) -> None:
    """DART truncates the exponential after its square for rotations of less than 0.001 rad."""
    scene = exoskel.Scene([random_chain(seed)])
    one, other = (np.array(core_positions(scene, engine)) for engine in ("mujoco", "dart"))
    assert np.abs(one - other).max() < 1e-9


@pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
@pytest.mark.parametrize("soft", [BOX, EGG, CAN], ids=["box", "ellipsoid", "cylinder"])
@pytest.mark.parametrize("friction", [0.0, 0.02], ids=["", "friction"])
def test_a_spinning_soft_body_moves_as_in_dart(soft: SoftBody, friction: float) -> None:
    world = spinning(soft, friction)
    one, other = (np.array(core_positions(exoskel.Scene([world]), engine)) for engine in ("mujoco", "dart"))
    assert np.abs(one - other).max() < 1e-8


def spinning(soft: SoftBody, friction: float = 0.0) -> World:
    """A soft body at the end of an arm that turns."""
    world = World(gravity=(0.0, 0.0, -9.81), time_step=0.001)
    model = world.add_model("model")
    body = model.add_body(
        "body",
        mass=0.5,
        moment=(0.01, 0.012, 0.008, 0.0, 0.0, 0.0),
        joint="universal",
        axes=((1, 0, 0), (0, 1, 0)),
        joint_at=(0.0, 0.1, 0.4),
        velocities=(3.0, -5.0),
        friction=friction,
    )
    body.soft = soft
    return world


def fixed(soft: SoftBody) -> World:
    """A soft body whose core does not move."""
    world = World(gravity=(1.0, -2.0, -9.81), time_step=0.001)
    world.add_model("model").add_body("body", joint="weld", at=(0.3, 0.2, 0.1)).soft = soft
    return world


@pytest.mark.parametrize("soft", [BOX, EGG, CAN], ids=["box", "ellipsoid", "cylinder"])
def test_points_follow_the_equations_of_dart(soft: SoftBody) -> None:
    world = fixed(soft)
    motion = exoskel.run(world, 1.0, every=0.05, warn=False)
    skin, h = soft_skin(soft), world.time_step
    count, kv, ke, damping = len(skin), soft.vertex_stiffness, soft.edge_stiffness, soft.damping
    mass = soft.total_mass / count
    laplacian = np.zeros((count, count))
    for i, j in skin.edges.tolist():
        laplacian[[i, j], [i, j]] += 1.0
        laplacian[[i, j], [j, i]] -= 1.0
    q, v = np.zeros((count, 3)), np.zeros((count, 3))
    for step in range(1001):
        if step % 50 == 0:
            wanted = skin.points + np.array((0.3, 0.2, 0.1)) + q
            assert np.abs(motion.soft_points["body"][step // 50] - wanted).max() < 1e-8
        ahead = q + h * v
        force = -kv * ahead - ke * laplacian @ ahead - damping * v + mass * np.array(world.gravity)
        v = v + h * force / (mass + h * damping + h * h * kv)
        q = q + h * v
    assert np.abs(q).max() > 1e-3


def test_the_skeleton_has_its_own_coordinates_and_names_alone() -> None:
    world = spinning(BOX)
    with Simulation(world, warn=False) as simulation:
        assert simulation.dof_names == world.models[0].dof_names and len(simulation.positions) == 2
        assert [name for _, name in simulation.bodies] == ["body"]
        assert simulation.mass_matrix().shape == (2, 2)
        points = simulation.soft_points["body"]
        assert points.shape == (26, 3) and not points.flags.writeable
        arms = points - (0.0, 0.1, 0.4)
        skin = 0.6 / 26 * (arms[:, 1] ** 2 + arms[:, 2] ** 2).sum()
        assert simulation.mass_matrix()[0, 0] == pytest.approx(0.01 + 0.5 * (0.1**2 + 0.4**2) + skin)


@pytest.mark.parametrize("soft", [BOX, EGG], ids=["box", "ellipsoid"])
def test_mass_momentum_and_energy_include_the_skin(soft: SoftBody) -> None:
    world = World(gravity=(0.0, 0.0, 0.0), time_step=0.001)
    body = world.add_model("model").add_body("body", mass=0.5, velocities=(2, 3, 4, 0.5, 0.1, -0.2))
    body.soft = exoskel.SoftBody(
        total_mass=0.6,
        geometry=soft.geometry,
        tessellation=soft.tessellation,
        vertex_stiffness=80.0,
        edge_stiffness=30.0,
        damping=0.0,
    )
    with Simulation(world, integrator="RK4", warn=False) as simulation:
        model = simulation.model("model")
        assert model.mass == pytest.approx(1.1)
        momentum, spin, energy = model.momentum.copy(), model.angular_momentum.copy(), sum(simulation.energy)
        simulation.step(500)
        assert model.momentum == pytest.approx(momentum, abs=1e-9)
        assert model.angular_momentum == pytest.approx(spin, abs=1e-6)
        assert sum(simulation.energy) == pytest.approx(energy, rel=1e-6)
        assert np.abs(simulation.soft_points["body"] - soft_skin(soft).points).max() > 0.01


def test_a_skin_without_mass_follows_its_core() -> None:
    world = spinning(SoftBody(total_mass=0.0, geometry=Box((0.2, 0.2, 0.3))))
    motion = exoskel.run(world, 0.2, warn=False)
    with Simulation(world, warn=False) as simulation:
        simulation.step(200)
        pose = simulation.body("body").pose
    expected = pose.apply(soft_skin(SoftBody(total_mass=0.0, geometry=Box((0.2, 0.2, 0.3)))).points)
    assert np.allclose(motion.soft_points["model/body"][-1], expected)


@pytest.mark.parametrize("suffix", [".npz", ".csv"])
def test_points_are_saved_with_a_motion(suffix: str, tmp_path: Path) -> None:
    motion = exoskel.run(spinning(EGG), 0.05, warn=False)
    motion.save(tmp_path / f"motion{suffix}")
    if suffix == ".npz":
        read = exoskel.Trajectory.load(tmp_path / "motion.npz")
        assert np.array_equal(read.soft_points["body"], motion.soft_points["body"])
        assert list(read.soft_points) == ["model/body"]
    else:
        assert "soft_points:model/body:25:z" in (tmp_path / "motion.csv").read_text().splitlines()[0]


def test_unknown_soft_bodies_and_engines_without_points_are_errors() -> None:
    found = Simulation(spinning(BOX), warn=False).soft_points
    with pytest.raises(UnknownNameError, match="no soft body called 'bdy'; did you mean 'body'"):
        found["bdy"]
    other = Simulation(spinning(BOX), "ode", warn=False)
    with other, pytest.raises(ExoskelError, match="the ode engine does not report the points of soft bodies"):
        _ = other.soft_points


@pytest.mark.parametrize("friction", [0.0, 0.02], ids=["", "friction"])
def test_rollouts_move_soft_bodies(friction: float) -> None:
    world = spinning(EGG, friction)
    motion = exoskel.run(world, 0.1, warn=False)
    batch = exoskel.rollout(world, 3, 100, warn=False, record="all")
    one = batch.world(2)
    assert np.array_equal(one.positions, motion.positions)
    assert one.energy == pytest.approx(motion.energy, rel=1e-12)


@pytest.mark.parametrize("seed", [2, 7, 12])
@pytest.mark.parametrize("has_limits", [False, True], ids=["", "limits"])
def test_chains_move_alike_alone_and_in_rollouts(seed: int, has_limits: bool) -> None:
    world = random_chain(seed)
    for joint in world.joints() if has_limits else ():
        joint.limits_enforced = joint.dof_count < 3
        for dof in joint.dofs:
            dof.position_limits = (-0.05, 0.05)
    motion = exoskel.run(world, 60 * world.time_step, every=world.time_step, warn=False)
    start = np.array([value for joint in world.joints() for value in joint.positions])
    initial = {"positions": [0.5 * start, start]}
    for record in ("all", ("positions", "velocities")):
        batch = exoskel.rollout(world, 2, 60, initial=initial, stride=1, record=record, warn=False)
        assert np.array_equal(batch.positions[1], motion.positions)
        assert np.array_equal(batch.velocities[1], motion.velocities)
    with Simulation(world, warn=False) as simulation:
        simulation.step(60)
        assert np.array_equal(simulation.positions, motion.positions[-1])


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_rollouts_record_points(suffix: str, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    world = dropped(BALL)
    world.models[0].bodies[0].soft = None
    motion = exoskel.run(world, 0.3, every=0.1, warn=False)
    batch = exoskel.rollout(world, 2, 300, warn=False, record=["all", "soft_points"], stride=100)
    assert batch.soft_points["body"].shape == (2, 4, 72, 3)
    assert np.array_equal(batch.soft_points["model/body"][1], motion.soft_points["body"])
    batch.save(tmp_path / f"batch{suffix}")
    read = exoskel.BatchTrajectory.load(tmp_path / f"batch{suffix}")
    assert np.array_equal(read.soft_points["body"], batch.soft_points["body"])
    assert np.array_equal(read.world(1).soft_points["body"], motion.soft_points["body"])


def test_points_that_cannot_be_recorded_are_errors() -> None:
    with pytest.raises(ExoskelError, match="cannot record soft_points on a GPU"):
        exoskel.rollout(spinning(BOX), 2, 10, backend="gpu", record="soft_points", warn=False)
    with pytest.raises(ExoskelError, match="'soft_points' was not recorded"):
        _ = exoskel.rollout(spinning(BOX), 2, 10, warn=False).soft_points
    with pytest.raises(ExoskelError, match="the ode engine does not report the points of soft bodies"):
        exoskel.run(spinning(BOX), 0.1, engine="ode", record="soft_points", warn=False)


def test_the_energy_of_edges_is_that_of_tendons() -> None:
    world = spinning(EGG)
    energies = []
    for integrator in (None, "RK4"):
        with Simulation(world, integrator=integrator, step=1e-5, warn=False) as simulation:
            simulation.step(2000)
            energies.append(simulation.energy)
    assert energies[0] == pytest.approx(energies[1], rel=1e-3)


def test_soft_bodies_with_limits_move_as_in_dart_until_they_reach_them() -> None:
    world = spinning(EGG)
    free = exoskel.run(world, 0.05, warn=False)
    for joint in world.joints():
        joint.limits_enforced = True
        for dof in joint.dofs:
            dof.position_limits = (-2.0, 2.0)
    assert np.allclose(exoskel.run(world, 0.05, warn=False).body_poses, free.body_poses, atol=1e-9)


def test_a_reset_restores_the_skin() -> None:
    with Simulation(spinning(BOX), warn=False) as simulation:
        before = simulation.soft_points["body"].copy()
        simulation.step(100)
        assert not np.allclose(simulation.soft_points["body"], before)
        simulation.reset()
        assert np.array_equal(simulation.soft_points["body"], before)


# --- contacts ------------------------------------------------------------------------------------------


def dropped(soft: SoftBody) -> World:
    """A soft body above a floor, with a core that collides, too."""
    world = World(gravity=(0.0, 0.0, -9.81), time_step=0.001)
    world.add_model("ground", static=True).add_body(
        "floor", joint="weld", at=(0.0, 0.0, -0.05), shapes=[Box((4.0, 4.0, 0.1))]
    )
    body = world.add_model("model").add_body("body", mass=0.5, moment=(0.004, 0.004, 0.004, 0, 0, 0), at=(0, 0, 0.3))
    body.collisions.append(exoskel.Shape(geometry=Box((0.1, 0.1, 0.1))))
    body.soft = soft
    return world


CUBE = SoftBody(
    total_mass=0.5,
    geometry=Box((0.3, 0.3, 0.3)),
    tessellation=Tessellation(fragments=(4, 4, 4)),
    vertex_stiffness=100.0,
    edge_stiffness=0.0,
    damping=1.0,
)
BALL = SoftBody(
    total_mass=0.5,
    geometry=exoskel.Sphere(0.2),
    tessellation=Tessellation(slices=10, stacks=8),
    vertex_stiffness=250.0,
    edge_stiffness=20.0,
    damping=4.0,
)


@pytest.mark.parametrize(("soft", "height"), [(CUBE, 0.1440), (BALL, 0.1814)], ids=["cube", "ball"])
def test_a_soft_body_rests_where_it_rests_in_dart(soft: SoftBody, height: float) -> None:
    """The heights are those of DART after two seconds."""
    with Simulation(dropped(soft)) as simulation:
        simulation.step(2000)
        assert simulation.body("body").position[2] == pytest.approx(height, abs=1e-3)
        points, pose = simulation.soft_points["body"], simulation.body("body").pose
        pressed = pose.inverse().apply(points)[:, 2] - soft_skin(soft).points[:, 2]
        lowest = points[:, 2] < 1e-3
        assert points[:, 2].min() > -3e-3 and pressed[lowest].min() > 1e-3  # the skin is flattened below
        assert np.abs(pressed[points[:, 2] > 0.1]).max() < 4e-3


def test_a_very_soft_cube_rests_and_bulges_as_in_dart() -> None:
    """DART's core rests at this height, with a skin of this extent about it."""
    soft = structs.replace(CUBE, vertex_stiffness=20.0)
    low, high, height = (-0.15, -0.15, -0.120219), (0.15, 0.15, 0.145620), 0.120218
    with Simulation(dropped(soft), warn=False) as simulation:
        simulation.step(1500)
        body = simulation.body("body")
        around = body.pose.inverse().apply(simulation.soft_points["body"])
        assert body.position[2] == pytest.approx(height, abs=1e-4)
        assert around.min(axis=0) == pytest.approx(low, abs=5e-4)
        assert around.max(axis=0) == pytest.approx(high, abs=5e-4)


def test_contacts_of_points_are_those_of_the_body() -> None:
    with Simulation(dropped(CUBE)) as simulation:
        assert simulation.contact_count == 0  # the skin does not collide with itself, nor with its core
        simulation.step(1000)
        assert {frozenset(one.bodies) for one in simulation.contacts} == {frozenset(("ground/floor", "model/body"))}
        assert simulation.contact_force("floor", "body")[2] == pytest.approx(9.81, rel=0.05)


@pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
def test_a_soft_cube_falls_as_in_dart_until_it_rests() -> None:
    one, other = (exoskel.run(dropped(CUBE), 2.0, engine=engine, every=0.5) for engine in ("mujoco", "dart"))
    assert np.abs(one.body_poses[-1, 1, :3] - other.body_poses[-1, 1, :3]).max() < 5e-3


@pytest.mark.parametrize("soft", [CUBE, BALL], ids=["cube", "ball"])
def test_a_floor_does_not_change_how_a_soft_body_falls(soft: SoftBody) -> None:
    """Only in contact does a step differ from MuJoCo's own."""
    motions = []
    for has_floor in (True, False):
        world = dropped(soft)
        world.models[1].joints[0].velocities = (3.0, 1.0, -2.0, 0.1, 0.2, 2.0)
        if not has_floor:
            world.models.remove(world.models[0])
        motions.append(exoskel.run(world, 0.3, every=0.05, warn=False))
    one, other = (motion.soft_points["model/body"] for motion in motions)
    assert np.abs(one - other).max() < 1e-13 and one[..., 2].min() > 0.0


def test_soft_bodies_on_each_other_do_not_fall_through() -> None:
    world = dropped(CUBE)
    second = world.add_model("second").add_body("body", mass=0.5, moment=(0.004, 0.004, 0.004, 0, 0, 0), at=(0, 0, 0.7))
    second.collisions.append(exoskel.Shape(geometry=Box((0.3, 0.3, 0.1))))
    motion = exoskel.run(world, 2.0)
    assert motion.body_poses[-1, 2, 2] > 0.25


def test_only_what_differs_from_dart_is_reported() -> None:
    found = exoskel.preflight(dropped(CUBE), "mujoco")
    assert [(one.code, one.severity.value) for one in found] == [("EN004", "info")]
    assert found[0].message == "the soft skin of body 'body' collides at its 56 points, not between them"
    assert not exoskel.preflight(spinning(CUBE), "mujoco")  # nothing to collide with
    assert [one.severity.value for one in exoskel.preflight(dropped(CUBE), "warp") if one.code == "EN004"] == [
        "warning"
    ]


@pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
def test_a_comparison_states_which_energy_lacks_soft_skins() -> None:
    found = exoskel.compare(exoskel.Scene([spinning(BOX, 0.0)]), 0.01, warn=False)
    assert [track.has_skin_energy for track in found.tracks] == [True, False]
    assert [track["has_skin_energy"] for track in found.as_dict()["engines"]] == [True, False]


@pytest.mark.parametrize(
    ("actuator", "limits", "code"), [("servo", (-np.inf, np.inf), "EN016"), ("force", (-1.0, 1.0), "EN009")]
)
def test_ball_joints_of_soft_bodies_are_reported_where_skins_may_touch(
    actuator: str, limits: tuple[float, float], code: str
) -> None:
    world = World()
    body = world.add_model("one").add_body("body", joint="ball", mass=1.0)
    body.soft = BOX
    joint = world.models[0].joints[0]
    joint.actuator, joint.limits_enforced = actuator, True
    for dof in joint.dofs:
        dof.velocity_limits = limits
    assert code not in [one.code for one in exoskel.preflight(world) if "contact" in one.message]
    world.add_model("floor", static=True).add_body("slab", shapes=[Box((9.0, 9.0, 0.1))])
    assert code in [one.code for one in exoskel.preflight(world) if "contact" in one.message]
