"""Controls of actuators in rollouts: each world moves as it does alone with the same controls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.simulate.batch.worlds import Worlds

STEPS = 60


def world(*, friction: float = 0.0) -> exoskel.World:
    """A cart with a pole; joint friction lets Exoskel make the steps itself."""
    made = exoskel.load("dart://sample/skel/cart_pole.skel").world
    slide, hinge = (joint for joint in made.joints() if joint.dof_count == 1)
    slide.dofs[0].friction = friction
    made.add_actuator("push", slide, gear=2.0, control_range=(-3, 3), control=0.5)
    made.add_actuator("servo", hinge, kind="position", gain=20.0, damping=1.0, control=0.1)
    return made


def alone(scene: exoskel.World, controls: np.ndarray) -> np.ndarray:
    """The positions after each step, from `(steps, actuators)`."""
    found = []
    with exoskel.Simulation(scene) as simulation:
        found.append(np.array(simulation.positions))
        for row in controls:
            simulation.controls = row
            simulation.step()
            found.append(np.array(simulation.positions))
    return np.array(found)


@pytest.mark.parametrize("friction", [0.0, 0.3])
@pytest.mark.parametrize("shape", [(2,), (3, 1, 2), (STEPS, 2), (3, STEPS, 2)])
def test_each_world_moves_as_alone(friction: float, shape: tuple[int, ...]) -> None:
    scene = world(friction=friction)
    controls = np.random.default_rng(4).uniform(-4.0, 4.0, shape)
    batch = exoskel.rollout(scene, 3, STEPS, controls=controls, stride=1)
    rows = np.broadcast_to(controls, (3, STEPS, 2))
    for number in range(3):
        assert (np.asarray(batch.positions)[number] == alone(scene, rows[number])).all()


def test_controls_by_name_leave_others_at_their_initial_values() -> None:
    scene = world()
    push = np.linspace(-1.0, 1.0, 3)[:, None]
    batch = exoskel.rollout(scene, 3, STEPS, controls={"push": push}, stride=1, record=("positions", "accelerations"))
    for number in range(3):
        rows = np.tile([push[number, 0], 0.1], (STEPS, 1))
        assert (np.asarray(batch.positions)[number] == alone(scene, rows)).all()
    scene.actuators[0] = exoskel.Actuator("push", scene.actuators[0].joint, gear=2.0, control_range=(-3, 3), control=-1)
    first = exoskel.run(scene, STEPS * scene.time_step, record=("accelerations",))
    assert np.asarray(batch["accelerations"])[0, 0] == pytest.approx(np.asarray(first["accelerations"])[0], abs=1e-9)


def test_policies_read_and_set_controls() -> None:
    scene, seen = world(), []

    def policy(worlds: Worlds) -> None:
        seen.append(worlds.controls.copy())
        worlds.controls = [[10.0, 0.4], [-1.0, 0.2]]

    batch = exoskel.rollout(scene, 2, STEPS, policy=policy, hold=STEPS // 2, stride=1)
    assert seen[0].tolist() == [[0.5, 0.1]] * 2
    assert seen[1] == pytest.approx(np.array([[3.0, 0.4], [-1.0, 0.2]]))  # within the range
    for number, row in enumerate(([10.0, 0.4], [-1.0, 0.2])):
        assert (np.asarray(batch.positions)[number] == alone(scene, np.tile(row, (STEPS, 1)))).all()


@pytest.mark.parametrize(
    ("controls", "message"),
    [
        ({"pusch": 1.0}, "has no actuator called 'pusch'; did you mean 'push'"),
        (np.zeros(3), r"controls of shape \(3,\) do not match \(2, 5, 2\)"),
        ({"push": np.zeros((3, 1))}, "controls of 'push'"),
        ([np.nan, 0.0], "finite"),
        ({"push": [[1, 2], [3]]}, "controls of 'push' must be numbers, in rows of the same length"),
        ({"push": 10**400}, "controls of 'push' must be numbers"),
    ],
)
def test_wrong_controls_are_refused(controls: Any, message: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=message):
        exoskel.rollout(world(), 2, 5, controls=controls)
