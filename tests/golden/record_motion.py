"""Records the motion of joints, motors, stops, springs and contacts in ODE.

`python -m tests.golden.record_motion`, where Panda3D is installed; the tests use the recorded values.
"""

from __future__ import annotations

import json
from typing import Any

from tests.simulate.ode_scenes import SCENES, watch
from tests.support.places import GOLDEN

FILE = GOLDEN / "ode" / "motion.json"


def rounded(value: Any) -> Any:
    """Round numbers to single precision."""
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return {key: rounded(item) for key, item in value.items()} if isinstance(value, dict) else value


def main() -> None:
    rows = (f'"{name}": {json.dumps(rounded(watch(name)), separators=(",", ":"))}' for name in SCENES)
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    print(len(SCENES), "motions recorded")


if __name__ == "__main__":
    main()
