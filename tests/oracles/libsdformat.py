"""Drake as an oracle of SDFormat, which it reads by libsdformat, Gazebo's own library; hence the name, as a
module called `drake` here would hide Drake's own from the worker.

It is a large wheel that pins much else, so it may live in an environment of its own: EXOSKEL_DRAKE names the Python.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

WORKER = Path(__file__).with_name("drake_worker.py")
PYTHON = os.environ.get("EXOSKEL_DRAKE", "")


def available() -> bool:
    return bool(PYTHON) or importlib.util.find_spec("pydrake") is not None


def ask(file: Path, configurations: int = 5, timeout: float = 60) -> dict[str, Any]:
    """What Drake makes of a file: its words, and the bodies and joints of each model, or `{"failed": reason}`."""
    done = subprocess.run(
        [PYTHON or sys.executable, str(WORKER), str(file), str(configurations)],
        capture_output=True, text=True, timeout=timeout, check=False,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )  # fmt: skip
    if not done.stdout.strip():
        return {"failed": done.stderr[-2000:]}
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
