"""How fast SKEL files are read and checked, beside DART 6.20's parser."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np

import exoskel
from benchmarks import scenes
from benchmarks.harness import Comparison, Run, compare, processor_timed, timed
from benchmarks.other import Other, other
from benchmarks.table import Row, Table

PROJECT = Path(__file__).resolve().parent.parent
CORPUS = PROJECT.parent / "shared" / "corpus" / "dart"
SAMPLES = PROJECT / "src" / "exoskel" / "samples" / "skel"

SMALLEST = 1 / 1.5
"""The least speed of a small file, relative to the original reader."""


def dart() -> AbstractContextManager[Other | None]:
    """DART's parser, where dartpy is installed."""
    if importlib.util.find_spec("dartpy") is None:
        return nullcontext()
    return other(sys.executable, "dart_reader.py")


def load(file: Path) -> Run:
    return processor_timed(lambda: exoskel.load(file))


def real_files() -> tuple[str, list[Path]]:
    corpus = sorted(CORPUS.rglob("*.skel"))
    return ("corpus", corpus) if corpus else ("samples", sorted(SAMPLES.glob("*.skel")))


def measure(table: Table, quick: bool = False) -> None:
    with dart() as engine, tempfile.TemporaryDirectory() as folder:
        if engine is None:
            table.note("dartpy is not installed: no comparison with DART")
        else:
            _real_files(table, engine, 5 if quick else 15)
            _large_files(table, Path(folder), quick)
        _linearity(table, Path(folder), quick)
    _import_time(table, 5 if quick else 15)


def _real_files(table: Table, engine: Other, pairs: int) -> None:
    name, files = real_files()
    measured: dict[str, Comparison] = {}
    for file in files:
        if np.isnan(engine.seconds(file)):
            continue
        measured[file.name] = compare(load(file), engine.run(file), pairs)
        table.progress(f"reading {file.name}")
    if not measured:
        table.note("dartpy cannot be imported, or reads none of the files: no comparison with DART")
        return
    ours = np.sum([c.ours for c in measured.values()], axis=0)
    theirs = np.sum([c.theirs for c in measured.values()], axis=0)
    table.add(Row.of(f"{len(measured)} {name} files, total", Comparison(ours, theirs), bar=2.0))
    slow = {file: c for file, c in measured.items() if np.median(c.ours) > 0.003 and c.interval()[1] < 1 / 3}
    worst = min(measured.items(), key=lambda item: item[1].ratio)
    table.add(Row.of(f"slowest of them against DART: {worst[0]}", worst[1], bar=SMALLEST))
    table.note(f"files slower than 3 times DART and 3 ms: {', '.join(slow) or 'none'}")


def _large_files(table: Table, folder: Path, quick: bool) -> None:
    """DART's times depend on what the process has done before, so each file gets a process of its own."""
    boxes, links = folder / "boxes.skel", folder / "chain.skel"
    boxes.write_bytes(scenes.free_boxes(10_000))
    links.write_bytes(scenes.chain(1_000))
    table.progress("10,000 boxes with DART, some seconds each")
    table.add(Row.of("10,000 free boxes", compare(load(boxes), fresh(boxes), 2 if quick else 5), bar=4.0))
    table.progress("1,000 links with DART, some 15 seconds each")
    table.add(Row.of("a chain of 1,000 bodies", compare(load(links), fresh(links), 1 if quick else 3, 0), bar=100.0))


def fresh(file: Path) -> Run:
    """DART in a new process each time, as a user who opens one file has it; its start is not counted."""

    def run() -> float:
        with other(sys.executable, "dart_reader.py") as worker:
            return worker.seconds(file)

    return run


def _linearity(table: Table, folder: Path, quick: bool) -> None:
    small, large = folder / "small.skel", folder / "large.skel"
    small.write_bytes(scenes.free_boxes(10_000))
    large.write_bytes(scenes.free_boxes(100_000))
    table.progress("100,000 boxes")
    growth = compare(load(small), load(large), 1 if quick else 5)
    table.add(Row.of("100,000 boxes over 10,000: times as long", growth, bar=12.0, lower_is_better=True))
    # Not `ru_maxrss`, which includes the memory of the process that starts this one.
    script = (
        "import sys, exoskel; s = exoskel.load(sys.argv[1]); "
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM:')))"
    )
    done = subprocess.run([sys.executable, "-c", script, str(large)], capture_output=True, text=True, check=True)
    table.add(Row.value("100,000 boxes: peak memory", int(done.stdout) * 1024 / 1e9, "GB", bar=0.42))


def _import_time(table: Table, pairs: int) -> None:
    def python(code: str) -> Run:
        return timed(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    table.progress("importing")
    times = compare(python("import numpy, exoskel"), python("import numpy"), pairs)
    table.add(Row.value("import exoskel beyond NumPy", float(np.median(times.ours - times.theirs)), "s", bar=0.15))
