"""A script as users write it, for the type checker and to be run: it builds, controls, measures and records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import exoskel
from exoskel import (
    BatchTrajectory,
    Box,
    Capsule,
    Contact,
    Diagnostic,
    Dof,
    EngineWarning,
    IKSolution,
    Matrix,
    Plane,
    Pose,
    Quaternion,
    Shape,
    SimulatedBody,
    SimulatedJoint,
    SimulatedModel,
    Simulation,
    Trajectory,
    World,
    Wrench,
    controllers,
    ik,
)
from exoskel.simulate.batch.worlds import Worlds

Numbers = NDArray[np.float64]


def build() -> World:
    world = World(name="lab", gravity=[0, 0, -9.81], time_step=0.002)
    world.gravity = np.array([0.0, 0.0, -9.81])
    model = world.add_model("robot", pose=[0, 0, 1])
    arm = model.add_body(
        "arm",
        shapes=[Shape(geometry=Capsule(0.05, 0.4), color=[1, 0, 0, 1])],
        at=np.array([0, 0, 0.5]),
        joint="revolute",
        joint_name="hip",
        axis=[0, 1, 0],
        limits=[-1, 1],
    )
    model.add_body(
        "hand", parent=arm, at=(0, 0, -0.4), joint="universal", axes=np.eye(3)[:2], shapes=[Box([0.1, 0.1, 0.1])]
    )
    arm.com = [0, 0, 0.01]
    arm.moment = np.array([0.1, 0.1, 0.1, 0, 0, 0])
    joint = model.joint("hip")
    joint.axes = [[0, 1, 0]]
    joint.positions = [0.1]
    joint.dofs[0] = Dof(position_limits=[-2, 2], position=0.1)
    joint.pose = Pose([0, 0, 0.2], Quaternion([1, 0, 0, 0])) @ Pose(np.zeros(3), Matrix(np.eye(3)))
    ground = world.add_model("ground", static=True)
    ground.add_body("floor", joint="weld", shapes=[Plane([0, 0, 1], -2.0)])
    return world


def control(simulation: Simulation) -> Numbers:
    hip: SimulatedJoint = simulation.joint("hip")
    hip.force = -2.0 * hip.position - hip.velocity
    hip.command = 0.0
    simulation.commands["hip"] = 0.1
    hand: SimulatedBody = simulation.body("hand")
    hand.apply_force([0, 0, 1], at=(0, 0, 0.1))
    hand.apply_torque(np.zeros(3))
    forces: Numbers = np.asarray(simulation.gravity_forces() - 0.1 * simulation.velocities)
    return forces


def measure(simulation: Simulation) -> dict[str, Numbers]:
    robot: SimulatedModel = simulation.model("robot")
    hand = simulation.body("hand")
    robot.positions = [0.1, 0.2, 0.3]
    simulation.forces += 0.5
    simulation.positions = [0.0, 0.1, 0.2]
    wrench: Wrench = simulation.joint("hip").reaction
    pose: Pose = hand.pose
    distance: float = simulation.distance("hand", "floor")
    contacts: list[Contact] = simulation.contacts
    simulation.forces = simulation.inverse_dynamics([1.0, 0.0, 0.0])
    return {
        "velocity": hand.velocity,
        "acceleration": hand.acceleration,
        "force": wrench.force + simulation.contact_force("floor", hand),
        "com": robot.com + robot.momentum,
        "position": np.array([*pose.position, distance, len(contacts)]),
        "accelerations": np.asarray(simulation.accelerations),
    }


def edit(world: World) -> list[Diagnostic]:
    robot = world.model("robot")
    robot.attach(robot.copy("hand"), to="arm", at=Pose([0, 0.2, 0]), prefix="second_")
    robot.rename("second_hand", "left_hand")
    robot.remove("left_hand")
    found: list[object] = list(world.find("robot/*"))
    assert found
    return exoskel.check(world)


def many(world: World) -> Numbers:
    def stabilize(worlds: Worlds) -> Numbers:
        return -worlds.velocities

    batch: BatchTrajectory = exoskel.rollout(
        world, 3, 20, policy=stabilize, vary={"gravity.z": (-10.0, -9.0)}, record=["all", "forces", "reactions"]
    )
    one: Trajectory = batch.world(1)
    assert one.records["reactions"].columns
    return batch["forces"]


class Push(controllers.ForceController):
    def forces(self, simulation: Simulation) -> Numbers:
        return np.ones(len(simulation.dof_names))


def main() -> Trajectory:
    world = build()
    solution: IKSolution = ik(world, {"hand": [0.1, 0.0, 1.2]})
    pd = controllers.PD({"hip": 50.0}, {"hip": 5.0}, solution.positions) + controllers.GravityCompensation()
    with Simulation(world, warn=True) as simulation:
        measure(simulation)
        simulation.reset()
        simulation.run(0.05, controller=control)
    motion = exoskel.run(
        world,
        0.1,
        controller=pd,
        record=["contacts", "forces", "reactions"],
        sensors={"height": lambda simulation: simulation.body("hand").position[2]},
    )
    assert not edit(world) and many(world).shape[0] == 3
    simple = exoskel.run(world, 0.01, controller=Push(["hip"]) + control)
    assert len(simple.time) == 2
    follow = controllers.InverseDynamics(motion)
    motion = exoskel.run(world, 0.1, controller=follow, record="forces")
    forces: Numbers = motion["forces"]
    assert issubclass(EngineWarning, UserWarning) and forces.shape == (len(motion), 3)
    return motion


if __name__ == "__main__":
    print(main())
