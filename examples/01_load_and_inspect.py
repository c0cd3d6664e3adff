"""Load a scene and inspect its models, joints and diagnostics."""

import exoskel

scene = exoskel.load("dart://sample/skel/double_pendulum.skel")

# Diagnostics report everything that was lost or changed while reading.
for diagnostic in scene.diagnostics:
    print(diagnostic)

world = scene.world
print(f"world {world.name!r}: gravity {world.gravity} m/s², step {world.time_step} s")

for model in world.models:
    print(f"{model.name}: bodies {len(model.bodies)}, degrees of freedom {model.dof_count}, mass {model.mass:g} kg")
    for joint in model.joints:
        parent = joint.parent.name if joint.parent else "the world"
        print(f"  {joint.kind:10} {joint.name}: {parent} -> {joint.child.name}, initial position {joint.positions}")

# Every object has a position in the file.
body = world.models[-1].bodies[-1]
place = scene.where(body)
assert place is not None
print(f"{body.name!r} is on line {place.line}")
