"""How fast scenes are saved and converted, beside what they cost to read."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import exoskel
from benchmarks import scenes
from benchmarks.harness import compare, processor_timed, timed
from benchmarks.read_skel import load
from benchmarks.table import Row, Table
from exoskel.source.atomic_write import write_atomically


def measure(table: Table, quick: bool = False) -> None:
    pairs = 1 if quick else 3
    with tempfile.TemporaryDirectory() as folder:
        _save(table, Path(folder), pairs, 10_000 if quick else 100_000)
        _convert(table, Path(folder), pairs)
        _format(table, Path(folder), pairs)


def _save(table: Table, folder: Path, pairs: int, count: int) -> None:
    file, copy = folder / "boxes.skel", folder / "copy.skel"
    file.write_bytes(scenes.free_boxes(count))
    table.progress(f"saving {count:,} boxes")
    scene = exoskel.load(file)
    unedited = compare(
        timed(lambda: write_atomically(copy, file.read_bytes())), timed(lambda: exoskel.save(scene, copy)), 5 * pairs
    )
    name = f"saving {count:,} unedited boxes, over copying the file as safely"
    table.add(Row.of(name, unedited, bar=1.0, lower_is_better=True))
    factor = [1.0]

    def edit() -> None:
        factor[0] += 1.0
        body = scene.world.models[count // 2].bodies[0]
        body.mass = factor[0]
        exoskel.save(scene, copy)

    edited = compare(load(file), timed(edit), pairs)
    name = f"one edit in {count:,} boxes, saved and verified, over reading them"
    table.add(Row.of(name, edited, bar=1.5, lower_is_better=True))


def _convert(table: Table, folder: Path, pairs: int) -> None:
    small, large = folder / "small.skel", folder / "large.skel"
    small.write_bytes(scenes.free_boxes(1_000))
    large.write_bytes(scenes.free_boxes(10_000))
    table.progress("converting 10,000 boxes")
    growth = compare(
        timed(lambda: exoskel.convert(small, folder / "small.xode")),
        timed(lambda: exoskel.convert(large, folder / "large.xode")),
        pairs,
    )
    name = "converting 10,000 boxes to XODE over 1,000: times as long"
    table.add(Row.of(name, growth, bar=12.0, lower_is_better=True))


def _format(table: Table, folder: Path, pairs: int) -> None:
    """Files of 5,000 bodies: one that is canonical already, and one whose elements are in another order."""
    table.progress("formatting 5,000 bodies")
    file = folder / "formatted.skel"
    command = [sys.executable, "-m", "exoskel", "fmt", str(file)]
    run = processor_timed(lambda: subprocess.run(command, check=True, capture_output=True))
    for what, data in (("boxes, unchanged", scenes.free_boxes(5_000)), ("links, reordered", scenes.chains(50, 100))):
        seconds = []
        for _ in range(2 * pairs + 1):
            file.write_bytes(data)
            seconds.append(run())
        name = f"`exoskel fmt` of 5,000 {what}: processor time"
        table.add(Row.value(name, statistics.median(seconds), "s", bar=1.0))
