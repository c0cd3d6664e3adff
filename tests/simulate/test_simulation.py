"""A simulation tells and takes what users of DART live on, in the scene's coordinates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import Simulation
from tests.support.places import sample_files, xode_sample_files
from tests.support.scenes import name_of

FILES = [
    f for f in [*sample_files(), *xode_sample_files()] if f.stem not in ("actuators", "ferris_wheel", "swing_ride")
]
"""Without the scenes whose joints are driven: forces do not move those."""


def stirred(file: Path) -> Simulation:
    """A scene without constraints, at a random state."""
    scene = exoskel.load(file)
    for model in scene.world.models:
        model.joints[:] = [j for j in model.joints if not j.loop]
        for joint in model.joints:
            joint.drives = ()
            joint.actuator = "force"
            for dof in joint.dofs:
                dof.damping = dof.stiffness = dof.friction = 0.0
    for body in scene.world.bodies():
        body.moment = body.moment
        body.collisions.clear()
        body.state = None
    simulation = Simulation(scene, limits=False, integrator="rk4", step=1e-6)
    rng = np.random.default_rng(3)
    free = np.ones(len(simulation.dof_names), dtype=bool)
    free[[index for index, _ in simulation.engine.coordinates.static]] = False
    simulation.positions = simulation.positions + np.where(free, rng.uniform(-0.3, 0.3, len(free)), 0.0)
    simulation.velocities = np.where(free, rng.uniform(-1.0, 1.0, len(free)), 0.0)
    simulation.engine.refresh()
    return simulation


@pytest.mark.parametrize("file", [f for f in FILES if f.stem not in ("screw_press",)], ids=name_of)
def test_mass_matrix_and_bias_forces_give_the_acceleration(file: Path) -> None:
    """M a + c = 0 without other forces: what a small step of MuJoCo's own does to the velocities."""
    simulation = stirred(file)
    matrix, bias, before = simulation.mass_matrix(), simulation.bias_forces(), simulation.velocities
    moving = np.diag(matrix) > 0.0
    wanted = np.zeros(len(before))
    wanted[moving] = np.linalg.solve(matrix[np.ix_(moving, moving)], -bias[moving])
    simulation.step(1)
    found = (simulation.velocities - before) / simulation.time_step
    scale = max(1.0, float(np.abs(wanted).max(initial=0.0)))
    assert np.allclose(found, wanted, rtol=0, atol=2e-3 * scale)


@pytest.mark.parametrize("file", [f for f in FILES if f.stem not in ("screw_press",)], ids=name_of)
def test_forces_that_balance_the_bias_keep_the_velocities(file: Path) -> None:
    simulation = stirred(file)
    before = simulation.velocities
    simulation.forces = simulation.bias_forces()
    simulation.step(1)
    assert np.allclose(simulation.velocities, before, rtol=0, atol=1e-6)


def test_the_jacobian_is_found_by_name_and_maps_velocities() -> None:
    simulation = Simulation(exoskel.load("dart://sample/skel/double_pendulum.skel"))
    body = simulation.world.models[-1].bodies[-1]
    assert np.array_equal(simulation.jacobian(body.name), simulation.jacobian(body))
    with pytest.raises(exoskel.ExoskelError, match="there are 0 bodies called 'elbow'"):
        simulation.jacobian("elbow")


def test_commands_and_forces_need_one_number_a_coordinate() -> None:
    simulation = Simulation(exoskel.load("dart://sample/skel/double_pendulum.skel"))
    with pytest.raises(exoskel.ExoskelError, match="values are needed, not an array of shape"):
        simulation.commands = np.zeros(17)


def test_a_reset_is_a_fresh_start() -> None:
    scene = exoskel.load("dart://sample/skel/actuators.skel")
    one = Simulation(scene)
    one.commands = np.ones(len(one.dof_names))
    one.step(50)
    one.reset()
    other = Simulation(scene)
    for simulation in (one, other):
        simulation.step(50)
    assert np.array_equal(one.positions, other.positions) and np.array_equal(one.velocities, other.velocities)


def test_a_run_goes_on_from_another() -> None:
    scene = exoskel.load("dart://sample/skel/double_pendulum.skel")
    whole = exoskel.run(scene, 1.0)
    first = exoskel.run(scene, 0.5)
    second = exoskel.run(scene, 0.5, start=first)
    assert np.allclose(second.positions[-1], whole.positions[-1], rtol=0, atol=1e-12)
    with pytest.raises(exoskel.ExoskelError, match="of another scene"):
        exoskel.run(exoskel.load("dart://sample/skel/chain.skel"), 0.1, start=first)


def test_contacts_name_who_touches_whom() -> None:
    simulation = Simulation(exoskel.load("dart://sample/skel/stack.skel"))
    simulation.step(100)
    touching = simulation.contacts
    assert simulation.contact_count == len(touching) > 0
    known = {"/".join(pair) for pair in simulation.bodies}
    assert all(set(one.bodies) <= known and abs(np.linalg.norm(one.normal) - 1.0) < 1e-9 for one in touching)


def test_unknown_engines_are_told() -> None:
    with pytest.raises(exoskel.ExoskelError, match="there is no engine 'bullet'"):
        Simulation(exoskel.World(), "bullet")
