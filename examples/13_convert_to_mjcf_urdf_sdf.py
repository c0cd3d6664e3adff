"""Convert one model to MJCF, URDF and SDFormat, and read it back: losses and largest errors of each."""

import tempfile
from pathlib import Path

import exoskel

with tempfile.TemporaryDirectory() as folder:
    for name in ("arm.xml", "arm.urdf", "arm.sdf"):
        report = exoskel.convert("dart://sample/skel/robot_arm.skel", Path(folder) / name, model="arm", up="z")
        worst = max(check.max_error or 0.0 for check in report.certificate.checks if "mass" not in check.name)
        verdict = "passed" if report.certificate.passed else "failed"
        print(f"{name}: certificate {verdict}, largest error {worst:.0e}", report.fates)
        losses = [item for item in report.losses if "skeleton[arm]" in item.path]
        for item in losses[:2]:
            print(f"  line {item.line}: {item.path}: {item.why}")
    back = exoskel.load(Path(folder) / "arm.urdf")
    print(back.world.models[0])
    print(exoskel.run(exoskel.load(Path(folder) / "arm.xml"), 0.5))
    # exoskel.show(back) opens it in the browser.
