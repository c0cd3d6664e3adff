"""Load a scene and look around in it."""

import exoskel

scene = exoskel.load("dart://sample/skel/double_pendulum.skel")

# What the reader has to say comes first: nothing is lost or changed in silence.
for finding in scene.diagnostics:
    print(finding)

world = scene.world
print(f"world {world.name!r}: gravity {world.gravity} m/s², step {world.time_step} s")

for model in world.models:
    print(f"{model.name}: {len(model.bodies)} bodies, {model.dof_count} degrees of freedom, {model.mass:g} kg")
    for joint in model.joints:
        parent = joint.parent.name if joint.parent else "the world"
        print(f"  {joint.kind:10} {joint.name}: {parent} -> {joint.child.name}, starts at {joint.positions}")

# Every object knows its place in the file.
body = world.models[-1].bodies[-1]
place = scene.where(body)
assert place is not None
print(f"{body.name!r} stands on line {place.line}")
