"""XODE: the same file in both dialects, and a mechanism with a loop."""

import exoskel

TEXT = """
<xode>
  <world>
    <space>
      <body name="sign">
        <transform><rotation><euler x="0" y="0" z="90" aformat="degrees"/></rotation></transform>
        <geom name="arrow"><transform><position x="1" y="0" z="0"/></transform><sphere radius="0.1"/></geom>
      </body>
    </space>
  </world>
</xode>
"""

for dialect in ("spec", "pyode"):
    scene = exoskel.load(TEXT, dialect=dialect)
    pose = exoskel.Kinematics(scene.world.models).poses()[0]
    print(f"{dialect}: the arrow points along {(pose[:3, :3] @ [1, 0, 0]).round(6)}")

# By default, the reader detects the dialect, and reports it where it makes a difference.
for diagnostic in exoskel.load(TEXT).diagnostics:
    print(diagnostic.code, diagnostic.severity, diagnostic.message)

# Bodies connected by joints form one model; a joint that closes a loop adds no coordinates.
model = exoskel.load("dart://sample/xode/four_bar.xode").world.models[-1]
for joint in model.joints:
    parent = joint.parent.name if joint.parent else "the environment"
    print(f"{joint.name}: {joint.kind} between {parent} and {joint.child.name}" + (" (loop)" if joint.loop else ""))

# The scene runs like any other. The joint that closes the loop can be measured, too.
linkage = exoskel.load("dart://sample/xode/four_bar.xode")
motion = exoskel.run(linkage, 1.0, record="reactions")
loop = next(joint for joint in linkage.world.joints() if joint.loop)
column = next(i for i, name in enumerate(motion.records["reactions"].columns) if f"/{loop.name}:fx" in name) // 6
print(f"{loop.name!r} carries at most {abs(motion['reactions'][:, column, :3]).max():.1f} N along an axis")
exoskel.save(linkage, "four_bar.xode")
# exoskel.show(motion) opens it in the browser.
