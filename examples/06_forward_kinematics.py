"""Build an arm, find where its hand can go, and move it to a point with inverse kinematics."""

import numpy as np

import exoskel
from exoskel import Capsule, World

world = World(name="lab", gravity=(0, 0, 0))
arm = world.add_model("arm")
parent = None
for name, axis, length in (("upper", (0, 0, 1), 0.5), ("lower", (0, 1, 0), 0.4), ("hand", (0, 1, 0), 0.2)):
    parent = arm.add_body(
        name,
        parent=parent,
        at=(0, 0, 0.45),
        shapes=[Capsule(0.04, length)],
        density=900.0,
        joint="revolute",
        joint_name=f"{name}_joint",
        joint_at=(0, 0, -0.2),
        axis=axis,
        limits=(-2, 2),
    )
exoskel.save(world, "arm.skel")

kinematics = exoskel.Kinematics(world.models)
for body, pose in zip(world.bodies(), kinematics.poses(), strict=True):  # (bodies, 4, 4), at the initial positions
    print(f"{body.name:6} at {np.round(pose[:3, 3], 3)}")

rng = np.random.default_rng(0)
hands = np.array([kinematics.poses(rng.uniform(-2, 2, kinematics.dof_count))[-1, :3, 3] for _ in range(1000)])
print(f"in 1000 random configurations, the hand is between {hands[:, 2].min():.2f} and {hands[:, 2].max():.2f} m high")

goal = exoskel.ik(world, {"hand": (0.4, 0.2, 0.9)})
print(goal)
motion = exoskel.run(world, 2.0, controller=exoskel.controllers.PD(20, 4, goal.positions))
print("the hand arrives at", motion.body_poses[-1, -1, :3].round(3), "m")
# exoskel.show(motion) opens it in the browser.
