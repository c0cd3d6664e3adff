"""Read the same file as it is written, and as DART 6.20 reads it."""

import exoskel

TEXT = """
<skel version="1.0">
  <world name="lab">
    <physics><time_step>0.001</time_step><gravity>0 0 -9.81</gravity></physics>
    <skeleton name="door">
      <immobile>0</immobile>
      <body name="leaf"/>
      <joint type="revolute" name="hinge">
        <parent>world</parent>
        <child>leaf</child>
        <axis><xyz>0 0 1</xyz><limit><lower>-1.5</lower><upper>0</upper></limit></axis>
      </joint>
    </skeleton>
  </world>
</skel>
"""

for semantics in ("written", "dart"):
    scene = exoskel.load(TEXT, semantics=semantics)
    hinge = scene.world.model("door").joint("hinge")
    print(f"{semantics}: limits {hinge.dofs[0].position_limits}, enforced: {hinge.limits_enforced}")

# Diagnostics report every difference between the two, whichever one is used.
for diagnostic in scene.diagnostics:
    print(f"{diagnostic.code}: {diagnostic.message} (DART 6: {diagnostic.reader_note})")
