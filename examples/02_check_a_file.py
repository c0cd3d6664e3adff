"""Check a file that has problems, and still use what is sound in it."""

from pathlib import Path

import exoskel

file = Path(__file__).parent / "files" / "old_robot.skel"
scene = exoskel.load(file)

for finding in scene.diagnostics:
    if finding.severity != "info":
        print(f"{finding.code} on line {finding.line}, {finding.path}: {finding.message}")
        if finding.engine:
            print(f"    DART 6 {finding.engine}")

# The scene holds all that could be understood; the joint that could not be is replaced by a free one.
print([(joint.name, joint.kind) for joint in scene.world.model("robot").joints])

# A program that wants no surprises asks for strictness: any error or warning is an exception.
try:
    exoskel.load(file, strict=True)
except exoskel.LoadError as error:
    print(f"strict: {error}")
