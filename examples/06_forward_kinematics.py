"""Forward kinematics: world poses of all bodies, at the initial state and at random joint positions."""

import numpy as np

import exoskel

scene = exoskel.load("dart://sample/skel/robot_arm.skel")
kinematics = exoskel.Kinematics(scene.world.models)

poses = kinematics.poses()  # (bodies, 4, 4), at the initial positions
names = [body.name for body in scene.world.bodies()]
for name, pose in zip(names, poses, strict=True):
    print(f"{name:16} at {np.round(pose[:3, 3], 3)}")

rng = np.random.default_rng(0)
reach = 0.0
for _ in range(1000):
    poses = kinematics.poses(rng.uniform(-1.0, 1.0, kinematics.dof_count))
    reach = max(reach, float(np.linalg.norm(poses[-1, :3, 3])))
print(f"in 1000 random configurations, the last body is at most {reach:.2f} m from the origin")
