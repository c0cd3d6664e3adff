"""Against DART: the same motion, step by step, where there are no contacts.

DART is asked now if it is installed; what it said is recorded as well, so that the tests hold without it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import exoskel
from exoskel import Simulation
from exoskel.engines.dart import dart_world
from exoskel.simulate.compare import compare
from tests.golden.record_dart_motion import EXCEPT, bare, recorded
from tests.support.places import sample_files

needs_dart = pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
FILES = [f for f in sample_files() if f.stem not in EXCEPT]


def tolerance(scene: exoskel.Scene) -> float:
    """How far apart the engines may be after a second, m and rad."""
    return 1e-6 if any(j.kind in ("ball", "free") for j in scene.world.joints()) else 1e-9


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_contact_free_motion_matches_the_recorded_dart_motion(file: Path) -> None:
    scene = bare(file)
    motion = exoskel.run(scene, 1.0, limits=False, every=0.25)
    wanted = np.array(recorded(file.stem)["positions"])
    allowed = 10 * tolerance(scene)  # coordinates, where poses are held to less
    assert np.abs(motion.positions - wanted).max() < allowed


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_dynamics_match_the_recorded_dart_dynamics(file: Path) -> None:
    """Mass matrix and bias forces at the initial state."""
    said = recorded(file.stem)
    simulation = Simulation(bare(file), limits=False)
    scale = max(1.0, float(np.abs(said["mass"]).max(initial=0.0)))
    moving = np.diag(simulation.mass_matrix()) > 0.0  # what stands still has no inertia in MuJoCo
    assert np.allclose(
        simulation.mass_matrix()[moving][:, moving], np.array(said["mass"])[moving][:, moving], atol=1e-9 * scale
    )
    scale = max(1.0, float(np.abs(said["bias"]).max(initial=0.0)))
    assert np.allclose(simulation.bias_forces()[moving], np.array(said["bias"])[moving], atol=1e-8 * scale)


@needs_dart
@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_contact_free_motion_matches_dart(file: Path) -> None:
    scene = bare(file)
    (gap,) = compare(scene, 1.0, limits=False).gaps
    allowed = tolerance(scene)
    assert gap.position_max < allowed and gap.rotation_max < allowed


@needs_dart
def test_jacobians_match_dart() -> None:
    scene = exoskel.load("dart://sample/skel/robot_arm.skel")
    body = scene.world.models[-1].bodies[-1]
    with Simulation(scene) as one, Simulation(scene, "dart") as other:
        point = np.array([0.1, -0.2, 0.3])
        assert np.allclose(one.jacobian(body, point), other.jacobian(body, point), atol=1e-12)


@needs_dart
def test_commands_have_the_same_effect_as_in_dart() -> None:
    scene = bare(next(f for f in sample_files() if f.stem == "actuators"))
    commands = np.array([0.5, 1.0, 2.0, 0.25, 3.0, 1.0])
    with Simulation(scene) as one, Simulation(scene, "dart") as other:
        for simulation in (one, other):
            simulation.commands = commands
            simulation.step(500)
        assert np.allclose(one.positions, other.positions, rtol=0, atol=1e-5)
        other.reset()
        other.positions = one.positions
        other.velocities = one.velocities
        assert np.allclose(np.split(other.state[1 : 1 + 4 * len(commands)], 4)[:2], [one.positions, one.velocities])


@needs_dart
def test_contact_friction_is_set_in_dart() -> None:
    from tests.simulate.test_contacts import incline

    far = {mu: exoskel.run(incline(30.0), 0.5, engine="dart", friction=mu).body_poses[-1, 1, 0] for mu in (0.2, 0.8)}
    assert far[0.2] > 0.1 and far[0.8] < 0.02


@needs_dart
def test_resting_contacts_agree_to_five_millimetres() -> None:
    (gap,) = compare(exoskel.load("dart://sample/skel/stack.skel"), 1.5).gaps
    assert gap.distance[-1] < 5e-3


SLAB = """<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>
<skeleton name="slab"><mobile>false</mobile><body name="slab"><transformation>0 0 -.5 0 0 0</transformation>
<collision_shape><geometry><box><size>5 5 1</size></box></geometry><collidable>0</collidable></collision_shape></body>
<joint type="weld" name="j"><parent>world</parent><child>slab</child></joint></skeleton>
<skeleton name="box"><body name="box"><transformation>0 0 .3 0 0 0</transformation><inertia><mass>1</mass></inertia>
<collision_shape><geometry><box><size>.5 .5 .5</size></box></geometry></collision_shape></body>
<joint type="free" name="j"><parent>world</parent><child>box</child></joint></skeleton></world></skel>"""


@pytest.mark.parametrize("engine", ["mujoco", pytest.param("dart", marks=needs_dart)])
@pytest.mark.parametrize(("semantics", "height"), [("written", -9.81 * 0.5 * 0.5**2), ("dart", -0.05)])
def test_a_shape_that_does_not_collide_is_fallen_through_except_in_the_reading_dart(
    engine: str, semantics: Literal["written", "dart"], height: float
) -> None:
    scene = exoskel.load(SLAB, semantics=semantics)
    fallen = exoskel.run(scene, 0.5, engine=engine).body_poses[-1, 1, 2] - 0.3
    assert fallen == pytest.approx(height, abs=0.006)


def test_what_dart_cannot_build_is_an_error() -> None:
    with pytest.raises(exoskel.NotRunnableError, match="DART does not support screw joints"):
        compare(exoskel.load("dart://sample/skel/screw_press.skel"), 0.1)


def test_an_unknown_engine_is_an_error() -> None:
    with pytest.raises(exoskel.ExoskelError, match="unknown engine 'bullet'"):
        compare(exoskel.load("dart://sample/skel/pendulum.skel"), 0.1, engines=("mujoco", "bullet"))


def test_a_spinning_single_body_follows_eulers_equations_as_in_dart() -> None:
    """Explicitly, and about its own axes: MuJoCo's free joint would step it implicitly."""
    world = exoskel.World(gravity=(0.0, 0.0, 0.0), time_step=1e-3)
    world.add_model("top").add_body("top", mass=2.0, shapes=[exoskel.Box((0.3, 0.2, 0.1))])
    joint = world.models[0].joints[0]
    joint.velocities = (3.0, 2.0, 1.0, 0.0, 0.0, 0.0)
    moments = np.array(joint.child.moment[:3])
    spin = np.array(joint.velocities[:3])
    with Simulation(world) as simulation:
        for _ in range(3):
            turn = exoskel.spatial.exp(simulation.positions[:3])
            simulation.step()
            spin = spin - 1e-3 * np.cross(spin, moments * spin) / moments
            turn = turn @ exoskel.spatial.exp(1e-3 * spin)
            assert np.allclose(exoskel.spatial.exp(simulation.positions[:3]), turn, rtol=0.0, atol=1e-14)


def test_a_spinning_single_body_is_a_free_joint_in_a_file(tmp_path: Path) -> None:
    world = exoskel.World()
    world.add_model("top").add_body("top", mass=2.0, shapes=[exoskel.Box((0.3, 0.2, 0.1))])
    world.models[0].joints[0].velocities = (3.0, 2.0, 1.0, 0.0, 0.0, 0.0)
    exoskel.save(exoskel.Scene([world]), tmp_path / "top.xml")
    assert 'type="ball"' not in (tmp_path / "top.xml").read_text()


PUSHED = """<skel version="1.0"><world name="w"><physics><time_step>0.001</time_step><gravity>0 0 0</gravity></physics>
<skeleton name="s"><body name="a"><inertia><mass>2</mass><offset>0.1 0 0.2</offset></inertia></body>
<body name="b"><transformation>0.3 0.2 0.4 0.1 0.2 0.3</transformation><inertia><mass>1</mass></inertia></body>
<joint name="base" type="prismatic"><parent>world</parent><child>a</child><axis><xyz>1 0 0</xyz></axis></joint>
<joint name="arm" type="{kind}" actuator="{actuator}"><parent>a</parent><child>b</child>
<transformation>0 0 -0.3 0.2 0 0</transformation>{axes}</joint></skeleton></world></skel>"""
AXES = {
    "revolute": "<axis><xyz>0 1 0</xyz></axis>",
    "prismatic": "<axis><xyz>0 0.6 0.8</xyz></axis>",
    "universal": "<axis><xyz>0 1 0</xyz></axis><axis2><xyz>0 0 1</xyz></axis2>",
    "ball": "",
}


@needs_dart
@pytest.mark.parametrize("actuator", ["force", "passive", "servo"])
@pytest.mark.parametrize("kind", sorted(AXES))
def test_forces_act_on_joints_with_any_actuator(kind: str, actuator: str) -> None:
    """DART itself ignores the forces of passive joints and servos."""
    source = PUSHED.format(kind=kind, actuator=actuator, axes=AXES[kind])
    ends = {}
    for engine in ("mujoco", "dart"):
        simulation = Simulation(exoskel.load(source), engine=engine)
        simulation.forces = np.linspace(0.2, 0.5, len(simulation.dof_names))
        reactions = simulation.step_dynamics("reactions").reactions
        simulation.step(100)
        ends[engine] = simulation.positions, simulation.velocities, reactions
    for one, other in zip(*ends.values(), strict=True):
        assert np.abs(one - other).max() < 1e-6
    assert actuator == "servo" or np.abs(ends["dart"][0][1:]).max() > 1e-3


@needs_dart
@pytest.mark.parametrize("steps", [0, 1])
def test_accelerations_of_bodies_beyond_locked_joints_match_dart(steps: int) -> None:
    """An initial velocity of a locked joint ends with the first step, and is one of the body until then."""
    source = PUSHED.format(kind="revolute", actuator="locked", axes=AXES["revolute"])
    source = source.replace('type="prismatic"', 'type="revolute"')
    source = source.replace("</xyz></axis>", "</xyz></axis><init_vel>0.7</init_vel>")
    found = []
    for engine in ("mujoco", "dart"):
        simulation = Simulation(exoskel.load(source), engine=engine)
        simulation.step(steps)
        found.append(simulation.body_accelerations)
    assert np.abs(found[0] - found[1]).max() < 1e-7
