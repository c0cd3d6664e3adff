"""Take one scene to MJCF, URDF, SDFormat and back: each way tells what it loses, and proves the rest by numbers."""

import tempfile
from pathlib import Path

import exoskel

with tempfile.TemporaryDirectory() as folder:
    for name in ("arm.xml", "arm.urdf", "arm.sdf"):
        report = exoskel.convert("dart://sample/skel/robot_arm.skel", Path(folder) / name, model="arm", up="z")
        worst = max(check.max_error or 0.0 for check in report.certificate.checks if "mass" not in check.name)
        print(f"{name}: certificate {report.certificate.passed}, largest error {worst:.0e}", report.fates)
        own = [item for item in report.losses if item.why != "this model was not chosen"]
        for item in own[:2]:
            print(f"  line {item.line}: {item.path}: {item.why}")
    back = exoskel.load(Path(folder) / "arm.urdf")
    print(back.world.models[0])
