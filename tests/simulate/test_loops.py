"""Joints that close loops hold, whatever their kind."""

from __future__ import annotations

import numpy as np
import pytest

import exoskel
from exoskel import Pose, World
from exoskel.scene.joint import TRAITS

AXES = ((0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0))
COUNTS = {"planar": 0, "translational2d": 0}
"""How many axes are given; these have a named plane."""
KINDS = [kind for kind in TRAITS if kind not in ("free", "amotor")]


def looped(kind: str) -> World:
    """A weight on a free joint, tied to the world by a joint that closes a loop."""
    world = World(gravity=(0.3, 0.2, -1.0), time_step=1e-3)
    model = world.add_model("m")
    body = model.add_body("b", mass=1.0, moment=(0.1, 0.2, 0.25, 0.0, 0.0, 0.0), pose=Pose((0.0, 0.0, -0.5)))
    model.add_joint("tie", kind, child=body, at=Pose((0.0, 0.0, 0.5)), axes=AXES[: COUNTS.get(kind, TRAITS[kind].axes)])  # type: ignore[arg-type]
    return world


def tied(kind: str) -> World:
    """The same weight, on that joint alone."""
    world = looped(kind)
    loop = world.models[0].joints.pop()
    world.models[0].joints.clear()
    loop.loop = False
    world.models[0].joints.append(loop)
    return world


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_joint_moves_like_a_tree_joint(kind: str) -> None:
    one, other = exoskel.run(looped(kind), 0.5), exoskel.run(tied(kind), 0.5)
    assert np.abs(one.body_poses - other.body_poses).max() < 2e-3
    assert one.meta["summary"]["constraint_error"] < 1e-3


def test_a_loop_joint_may_be_driven_and_limited() -> None:
    world = looped("revolute")
    world.models[0].joints[-1].drives = (exoskel.Drive(velocity=1.0, max_force=50.0),)
    motion = exoskel.run(world, 0.5)
    turned = exoskel.spatial.log(exoskel.spatial.quaternion_matrix(motion.body_poses[-1, 0, 3:]))
    assert turned[1] == pytest.approx(0.5, abs=1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_the_reaction_of_a_loop_joint_is_that_of_a_tree_joint(kind: str) -> None:
    rows = []
    for world in (looped(kind), tied(kind)):
        with exoskel.Simulation(world) as simulation:
            simulation.body("b").apply_torque((0.05, 0.3, 0.2))
            simulation.step(200)
            one = simulation.joint("tie").reaction
            rows.append([*one.force, *one.torque])
    assert rows[0] == pytest.approx(rows[1], abs=2e-2)
    assert np.abs(rows[1]).max() > 0.1


def test_the_reactions_of_all_joints_are_recorded_those_of_loops_included() -> None:
    world = looped("revolute")
    motion = exoskel.run(world, 0.1, record="reactions")
    assert motion["reactions"].shape[1:] == (2, 6)
    assert motion.records["reactions"].columns[6] == "m/tie:fx"
    with exoskel.Simulation(world) as simulation:
        simulation.run(0.1)
        tie = simulation.joint("tie").reaction
        assert motion["reactions"][-1, 1] == pytest.approx([*tie.force, *tie.torque], abs=1e-9)


def test_an_angular_motor_has_no_reaction() -> None:
    world = looped("revolute")
    model = world.models[0]
    model.add_joint("motor", "amotor", child=model.bodies[0], axes=AXES[:1])
    with exoskel.Simulation(world, warn=False) as simulation:
        with pytest.raises(exoskel.ExoskelError, match="'motor' is an angular motor, which has no reaction"):
            _ = simulation.joint("motor").reaction
        assert simulation.joint("tie").reaction.force == pytest.approx([0, 0, 0], abs=1.5)
