"""Where bodies are: world poses at the initial state and at positions of your own, all bodies at once."""

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
print(f"in 1000 random postures the last body got {reach:.2f} m away from the origin")
