"""Command actuators, query the dynamics, and compare two engines."""

import numpy as np

import exoskel

scene = exoskel.load("dart://sample/skel/actuators.skel")
for diagnostic in exoskel.preflight(scene, "dart"):
    print(diagnostic)

with exoskel.Simulation(scene) as simulation:
    print("wheels:", ", ".join(simulation.dof_names))
    simulation.commands = np.array([0.5, 0.0, 2.0, 0.25, 3.0, 0.0])  # torque, -, speed, acceleration, speed, -
    simulation.step(1000)
    print("velocities after 1 s:", np.round(simulation.velocities, 3), "rad/s")
    print("inertia of each wheel:", np.round(np.diag(simulation.mass_matrix()), 4), "kg·m²")
    saved = simulation.state
    simulation.step(500)
    simulation.state = saved
    print("restored the state at", f"{simulation.time:.3f} s")

arm = exoskel.load("dart://sample/skel/robot_arm.skel")
simulation = exoskel.Simulation(arm)
weight = simulation.bias_forces()  # at rest: the forces that hold the arm against gravity
print("forces that hold the arm:", np.round(weight[np.abs(weight) > 1e-6], 2), "N·m or N")

linkage = exoskel.load("dart://sample/xode/four_bar.xode")
try:
    gap = exoskel.compare(linkage, 0.5, engines=("mujoco", "ode")).gaps[0]
    print(f"four-bar linkage: MuJoCo and ODE differ by at most {gap.position_max * 1000:.1f} mm in 0.5 s")
except exoskel.ExoskelError as error:
    print(error)

motion = exoskel.run(linkage, 0.5)
motion.save("linkage.npz")
# exoskel.show(motion) opens it in the browser.
