"""Convert a scene: the report has a fate for every node and a certificate that compares the physics."""

import tempfile
from pathlib import Path

import exoskel

with tempfile.TemporaryDirectory() as folder:
    output = Path(folder) / "gyroscope.xode"
    report = exoskel.convert("dart://sample/skel/gyroscope.skel", output)

    print({fate: number for fate, number in report.fates.items() if number})
    for item in [item for item in report.items if item.fate is exoskel.Fate.KEPT and item.why][:3]:
        print(f"line {item.line}: {item.path}: {item.why}")
    for check in report.certificate.checks:
        print(f"{check.name}: {check.max_error:.1e}")

    # Convert it back: nothing is missing.
    exoskel.convert(output, Path(folder) / "back.skel")
    differences = exoskel.diff(
        exoskel.load("dart://sample/skel/gyroscope.skel"), exoskel.load(Path(folder) / "back.skel")
    )
    print("differences after the round trip:", differences)

    # Both move in the same way.
    motion, other = (exoskel.run(exoskel.load(file), 1.0) for file in ("dart://sample/skel/gyroscope.skel", output))
    print(f"largest distance in 1 s: {abs(motion.body_poses - other.body_poses)[..., :3].max():.1e} m")
    # exoskel.show(motion) opens one in the browser.
