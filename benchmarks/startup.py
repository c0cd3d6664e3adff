"""How long short commands take, beside importing NumPy and lxml: processor time of new processes.

They use bytecode, as installed packages do, also where the environment forbids to write it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from resource import RUSAGE_CHILDREN, getrusage

import numpy as np

from benchmarks.harness import Run, compare
from benchmarks.table import Row, Table

_IMPORTS = ["-c", "import numpy, lxml.etree"]
_RUN_IMPORTS = ["-c", "import numpy, mujoco"]
_RUN = ["-m", "exoskel", "run", "dart://sample/skel/pendulum.skel", "--time", "0.001"]
_COMMANDS = {
    "--version": (["--version"], 0.6),
    "--help": (["--help"], 0.6),
    "check of a small file": (["check", "dart://sample/skel/pendulum.skel"], 1.6),
}


def measure(table: Table, quick: bool = False) -> None:
    for name, (arguments, bar) in _COMMANDS.items():
        table.progress(f"starting {name}")
        times = compare(_process(_IMPORTS), _process(["-m", "exoskel", *arguments]), 5 if quick else 25)
        table.add(Row.of(f"{name}, over importing NumPy and lxml", times, bar=bar, lower_is_better=True))
    table.progress("starting a run")
    times = compare(_process(_RUN), _process(_RUN_IMPORTS), 5 if quick else 25)
    beyond = float(np.median(times.ours - times.theirs))
    table.add(
        Row.value("run of a small file to its first step, beyond importing NumPy and MuJoCo", beyond, "s", bar=0.25)
    )


def _process(arguments: Sequence[str]) -> Run:
    """Runs Python with these arguments; the seconds are its processor time."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run() -> float:
        before = getrusage(RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
        after = getrusage(RUSAGE_CHILDREN)
        return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime

    return run
