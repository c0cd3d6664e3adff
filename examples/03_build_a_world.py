"""Build a world in Python: a pendulum on a post."""

import exoskel
from exoskel import Box, Pose, Sphere, World

world = World(name="lab", gravity=(0, 0, -9.81), time_step=0.001)
model = world.add_model("pendulum")

post = model.add_body("post", joint="weld", mass=5.0, shapes=[Box((0.1, 0.1, 2.0))], pose=Pose((0, 0, 1)))
model.add_body(
    "bob",
    parent=post,
    joint="revolute",
    joint_name="swing",
    axes=((0, 1, 0),),
    pose=Pose((0.5, 0, 1.0)),  # in the model frame, when all joint positions are zero
    positions=(0.4,),
    mass=2.0,
    shapes=[Sphere(0.1)],
)

# The moment of inertia is derived from the shapes, and recomputed when the mass changes.
bob = model.body("bob")
print("moment of inertia at 2 kg:", bob.moment[:3])
bob.mass = 4.0
print("moment of inertia at 4 kg:", bob.moment[:3])

scene = exoskel.Scene(worlds=[world])
print(exoskel.summarize(scene)["totals"])
