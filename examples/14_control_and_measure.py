"""Build an arm, save it, control it by name, measure forces, and record them."""

import exoskel
from exoskel import Box, Simulation, World, controllers

world = World(name="lab")
arm = world.add_model("arm")
upper = arm.add_body(
    "upper",
    shapes=[Box((0.1, 0.1, 0.5))],
    mass=2,
    at=(0, 0, 1),
    joint="revolute",
    joint_name="shoulder",
    axis=(0, 1, 0),
)
arm.add_body(
    "lower",
    parent=upper,
    shapes=[Box((0.08, 0.08, 0.4))],
    mass=1,
    at=(0, 0, -0.5),
    joint="revolute",
    joint_name="elbow",
    joint_at=(0, 0, 0.2),
    axis=(0, 1, 0),
    limits=[-2, 2],
)
exoskel.save(world, "arm.skel")

with Simulation(world) as simulation:
    print("the elbow carries", simulation.joint("elbow").reaction.force.round(3), "N")
    simulation.body("lower").apply_force((1, 0, 0))
    simulation.step(100)
    print("the lower arm moves at", simulation.body("lower").velocity.round(3), "m/s")

goal = exoskel.ik(world, {"lower": (0.25, 0, 0.65)})
print(goal)
motion = exoskel.run(
    world,
    3.0,
    controller=controllers.PD(40, 8, goal.positions) + controllers.GravityCompensation(),
    record=["forces", "reactions"],
)
print("reached", motion.body_poses[-1, 1, :3].round(3), "with forces of", motion["forces"][-1].round(2), "N·m")
motion.save("motion.csv")
# exoskel.show(motion) opens it in the browser.
