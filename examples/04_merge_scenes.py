"""Merge a file and a scene built in Python into one world, save it, and run it."""

import exoskel
from exoskel import Box, World

hall = exoskel.load("dart://sample/skel/falling_boxes.skel")
crates = World(name="crates", gravity=hall.world.gravity, time_step=hall.world.time_step)
for number in range(3):
    crates.add_model(f"crate_{number}").add_body(
        "box", shapes=[Box((0.3, 0.3, 0.3))], density=200.0, at=(2, 0, 2 + 0.4 * number)
    )

merged = exoskel.merge(hall, exoskel.Scene([crates]))
print([model.name for model in merged.world.models])

# Settings come from the first scene; diagnostics report settings that differ and models that were renamed.
print([diagnostic.message for diagnostic in merged.diagnostics if diagnostic.code.startswith("MG")])

# Every item still refers to its file.
ground = merged.world.models[0]
print(f"{ground.name!r} comes from {merged.documents[ground.document].name}")

exoskel.save(merged, "hall.skel")
motion = exoskel.run(merged, 1.5)
print(f"the highest crate falls from {motion.body_poses[0, -1, 2]:.2f} m to {motion.body_poses[-1, -1, 2]:.2f} m")
# exoskel.show(motion) opens it in the browser.
