"""How fast XODE files are read and checked, beside PyODE's reader."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks import scenes
from benchmarks.harness import Comparison, compare
from benchmarks.other import Other, other
from benchmarks.read_skel import PROJECT, SMALLEST, load
from benchmarks.table import Row, Table

CORPUS = PROJECT.parent / "shared" / "corpus" / "pybrain"
SAMPLES = PROJECT / "src" / "exoskel" / "samples" / "xode"


def measure(table: Table, quick: bool = False) -> None:
    python = _python_with_pyode()
    with tempfile.TemporaryDirectory() as folder:
        if python:
            with other(python, "pyode_reader.py") as engine:
                _files_both_read(table, engine, Path(folder), 5 if quick else 15)
        else:
            table.note("PyODE is not installed (Debian: python3-pyode): no comparison with its reader")
        _linearity(table, Path(folder), 1 if quick else 5)


def _python_with_pyode() -> str:
    for candidate in ("/usr/bin/python3", "python3"):
        found = shutil.which(candidate)
        if found and not subprocess.run([found, "-c", "import ode, xode"], capture_output=True, check=False).returncode:
            return found
    return ""


def _files_both_read(table: Table, engine: Other, folder: Path, pairs: int) -> None:
    large = folder / "bodies.xode"
    large.write_bytes(scenes.xode_bodies(10_000))
    files = [*sorted(CORPUS.glob("*.xode")), *sorted(SAMPLES.glob("*.xode"))]
    measured: dict[str, Comparison] = {}
    for file in files:
        if not np.isnan(engine.seconds(file)):
            table.progress(f"reading {file.name}")
            comparison = compare(load(file), engine.run(file), pairs)
            if np.isnan(comparison.theirs).any():
                table.note(f"{file.name}: PyODE's reader crashes over it now and then; not compared")
            else:
                measured[file.name] = comparison
    for name, comparison in measured.items():
        fast = float(np.median(comparison.ours)) < 0.003
        table.add(
            Row.of(
                f"{name}, beside PyODE" + (" (under 3 ms)" if fast else ""), comparison, bar=SMALLEST if fast else 1.0
            )
        )
    table.add(
        Row.of("10,000 XODE bodies, beside PyODE", compare(load(large), engine.run(large), min(pairs, 5)), bar=1.0)
    )


def _linearity(table: Table, folder: Path, pairs: int) -> None:
    small, large = folder / "small.xode", folder / "large.xode"
    small.write_bytes(scenes.xode_bodies(10_000))
    large.write_bytes(scenes.xode_bodies(100_000))
    table.progress("100,000 XODE bodies")
    growth = compare(load(small), load(large), pairs)
    table.add(Row.of("100,000 XODE bodies over 10,000: times as long", growth, bar=12.0, lower_is_better=True))
