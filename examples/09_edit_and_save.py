"""Edit a scene, save it and run it: only the edited parts of the file change."""

import difflib
import tempfile
from pathlib import Path

import exoskel

TEXT = """<?xml version="1.0"?>
<skel version="1.0">
  <world name="lab">
    <physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>
    <!-- The arm of the first prototype. -->
    <skeleton name="arm">
      <body name="upper">
        <transformation>0 0 1.0 0 0 0</transformation>
        <inertia><mass>2.50</mass></inertia>   <!-- weighed without the motor -->
        <collision_shape><geometry><box><size>.1 .1 .5</size></box></geometry></collision_shape>
      </body>
      <joint type="revolute" name="shoulder">
        <parent>world</parent>
        <child>upper</child>
        <axis><xyz>0 1 0</xyz></axis>
      </joint>
    </skeleton>
  </world>
</skel>
"""

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "arm.skel"
    file.write_text(TEXT)

    scene = exoskel.load(file)
    arm = scene.world.model("arm")
    arm.body("upper").mass = 3.1  # the derived moment of inertia is recomputed
    arm.joint("shoulder").positions = [0.3]
    arm.rename("upper", "upper_arm")  # updates all references
    arm.add_body(
        "hand",
        parent="upper_arm",
        joint="revolute",
        axes=((0, 1, 0),),
        pose=exoskel.Pose((0.0, 0.0, 1.5)),
        mass=0.4,
        shapes=[exoskel.Sphere(0.06)],
    )
    arm.attach(arm.copy("hand"), to="upper_arm", at=(0, 0.2, 0.5), prefix="second_")  # a copy beside it
    exoskel.save(scene)

    for line in difflib.unified_diff(
        TEXT.splitlines(), file.read_text().splitlines(), "before", "after", n=0, lineterm=""
    ):
        print(line)

    motion = exoskel.run(scene, 1.0)
    print("after 1 s, the hands are at", motion.body_poses[-1, 1:, :3].round(2).tolist())
    # exoskel.show(motion) opens it in the browser.
