"""The scene: worlds, models, bodies, joints, shapes, inertia, kinematics, collision filtering and lowering."""
