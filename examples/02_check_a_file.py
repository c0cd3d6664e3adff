"""Check a file that has problems, and use its valid parts."""

from pathlib import Path

import exoskel

file = Path(__file__).parent / "files" / "old_robot.skel"
scene = exoskel.load(file)

for diagnostic in scene.diagnostics:
    if diagnostic.severity != "info":
        print(f"{diagnostic.code} on line {diagnostic.line}, {diagnostic.path}: {diagnostic.message}")
        if diagnostic.reader_note:
            print(f"    DART 6: {diagnostic.reader_note}")

# The scene contains everything that is valid; a free joint replaces the invalid one.
print([(joint.name, joint.kind) for joint in scene.world.model("robot").joints])

# With strict=True, any error or warning raises an exception.
try:
    exoskel.load(file, strict=True)
except exoskel.LoadError as error:
    print(f"strict: {error}")
