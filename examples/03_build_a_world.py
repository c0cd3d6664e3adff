"""Build a world in Python, save it, and run it: a pendulum on a post."""

import exoskel
from exoskel import Box, Capsule, World

world = World(name="lab", gravity=(0, 0, -9.81), time_step=0.001)
model = world.add_model("pendulum")

post = model.add_body("post", joint="weld", mass=5.0, shapes=[Box((0.1, 0.1, 2.0))], at=(0, 0, 1))
rod = model.add_body(
    "rod",
    parent=post,
    at=(0, 0.1, 0.5),  # relative to the post, when all joint positions are zero
    density=700.0,
    shapes=[Capsule(0.02, 0.8)],
    joint="revolute",
    joint_name="swing",
    joint_at=(0, 0, 0.4),  # the upper end of the rod, in its own frame
    axis=(0, 1, 0),
    position=0.4,
    limits=(-1.5, 1.5),
    damping=0.01,
)

# Values that are not given are derived from the shapes, and recomputed when the shapes or the mass change.
print(f"mass {rod.mass:.3f} kg, derived from the shapes: {', '.join(rod.inertia.derived)}")
assert exoskel.check(world) == []

exoskel.save(world, "pendulum.skel")
motion = exoskel.run(world, 2.0)
print(motion)
print(f"angle: {motion.positions[0, 0]:.2f} rad at the start, {motion.positions[:, 0].min():.2f} rad at the other side")
# exoskel.show(motion) opens it in the browser.
