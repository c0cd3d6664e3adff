"""Read the same file as it is written, and as DART 6.20 reads it: the motions differ."""

import exoskel

TEXT = """
<skel version="1.0">
  <world name="lab">
    <physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>
    <skeleton name="door">
      <immobile>0</immobile>
      <body name="leaf">
        <inertia><mass>20</mass><offset>0.45 0 0</offset></inertia>
        <collision_shape><geometry><box><size>0.9 0.04 2</size></box></geometry></collision_shape>
      </body>
      <joint type="revolute" name="hinge">
        <parent>world</parent>
        <child>leaf</child>
        <axis><xyz>0 0 1</xyz><limit><lower>-1.5</lower><upper>0</upper></limit></axis>
        <init_vel>-1</init_vel>
      </joint>
    </skeleton>
  </world>
</skel>
"""

for semantics in ("written", "dart"):
    scene = exoskel.load(TEXT, semantics=semantics)
    hinge = scene.world.model("door").joint("hinge")
    motion = exoskel.run(scene, 2.0)
    print(f"{semantics}: limits {hinge.dofs[0].position_limits}, enforced: {hinge.limits_enforced}")
    print(f"    after 2 s the door is at {motion.positions[-1, 0]:.2f} rad")

# Diagnostics report every difference between the two, whichever one is used.
for diagnostic in scene.diagnostics:
    print(f"{diagnostic.code}: {diagnostic.message} (DART 6: {diagnostic.reader_note})")
# exoskel.show(motion) opens the last motion in the browser.
