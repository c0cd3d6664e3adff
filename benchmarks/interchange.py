"""How fast a robot of very many bodies goes to each of the living formats, beside what it costs to read."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import exoskel
from benchmarks.harness import Run, compare, processor_timed, timed
from benchmarks.read_skel import load
from benchmarks.scenes import chains
from benchmarks.table import Row, Table
from exoskel.formats import registry
from exoskel.formats.interface import Format
from exoskel.source.markup import serialize
from exoskel.source.output_context import OutputContext

COUNT, FEWER, MANY = 10_000, 1_000, 100_000
CHAINS = 100
MANY_BYTES = 8 << 30
"""Memory below which very many bodies are not converted."""
MOST = {"written": 10.0, "proved": 12.0, "whole": 10.0}
"""Times the reading; times as long for ten times the bodies; and times the reading, fates and proof included."""
UNPROVED = frozenset({"mjcf"})
"""MuJoCo compiles what it reads back, in the square of the coordinates of a tree: here all are in one."""


def star(count: int) -> exoskel.Scene:
    """A robot with that many arms, each on a hinge of its own."""
    world = exoskel.World()
    model = world.add_model("star")
    hub = model.add_body("hub", shapes=[exoskel.Box((1.0, 1.0, 1.0))], joint="weld")
    for i in range(count - 1):
        place = exoskel.Pose((float(i % 100), float(i // 100), 0.2))
        shape = exoskel.Box((0.2, 0.3, 0.4))
        model.add_body(f"arm{i}", pose=place, shapes=[shape], parent=hub, joint="revolute", axes=[(0.0, 0.0, 1.0)])
    return exoskel.Scene(worlds=[world])


def measure(table: Table, quick: bool = False) -> None:
    pairs = 1 if quick else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large, small = folder / "large.skel", folder / "small.skel"
        exoskel.save(star(COUNT), large)
        exoskel.save(star(FEWER), small)
        for target in registry.FORMATS:
            if not target.embeds_data:
                _measure(table, target, small, large, pairs)
        linked = folder / "chains.skel"
        linked.write_bytes(chains(CHAINS, COUNT // CHAINS))
        for target in registry.FORMATS:
            _measure_whole(table, target, linked, pairs)
        if not quick:
            _measure_many(table, linked)


def _measure(table: Table, target: Format, small: Path, large: Path, pairs: int) -> None:
    table.progress(f"writing {COUNT:,} bodies as {target.label}")
    scene = exoskel.load(large)
    written = compare(load(large), timed(lambda: _write(target, scene)), pairs)
    row = Row.of(
        f"{COUNT:,} bodies as {target.label}, over reading them", written, bar=MOST["written"], lower_is_better=True
    )
    table.add(row)
    if target.name in UNPROVED:
        return
    growth = compare(_converting(small, target), _converting(large, target), pairs)
    name = f"converting {COUNT:,} bodies to {target.label}, fates and proof included, over {FEWER:,}: times as long"
    table.add(Row.of(name, growth, bar=MOST["proved"], lower_is_better=True))


def _measure_whole(table: Table, target: Format, file: Path, pairs: int) -> None:
    """Fates and proof included: over the load of what was written, where that is one file that can be read."""
    table.progress(f"converting {COUNT:,} bodies to {target.label}")
    made = _made(file, target)
    is_read = made.suffix != "" and target.capabilities().compose is None
    name = f"converting {COUNT:,} bodies ({CHAINS} chains) to {target.label}, fates and proof included, over reading "
    whole = compare(_loading(file), _converting(file, target), pairs)
    is_bounded = not is_read or target.name in UNPROVED
    table.add(Row.of(f"{name}the source", whole, bar=MOST["whole"] if is_bounded else None, lower_is_better=True))
    if is_read:
        back = compare(_loading(made), _converting(file, target), pairs)
        table.add(Row.of(f"{name}it back", back, bar=MOST["whole"], lower_is_better=True))


def _measure_many(table: Table, fewer: Path) -> None:
    """Ten times as many bodies to MJCF, fates and proof included; once, because it takes minutes."""
    if os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < MANY_BYTES:
        table.note(f"{MANY:,} bodies were not converted: that needs {MANY_BYTES >> 30} GB of memory.")
        return
    table.progress(f"converting {MANY:,} bodies to MJCF")
    many, target = fewer.with_name("many.skel"), registry.by_name("mjcf")
    many.write_bytes(chains(CHAINS * MANY // COUNT, COUNT // CHAINS))
    growth = compare(_converting(fewer, target), _converting(many, target), 1, warm_up=0)
    name = f"converting {MANY:,} bodies to {target.label}, fates and proof included, over {COUNT:,}: times as long"
    table.add(Row.of(name, growth, bar=MOST["proved"], lower_is_better=True))


def _write(target: Format, scene: exoskel.Scene) -> bytes:
    output = OutputContext(extension=target.extensions[0])
    compose = target.capabilities().compose
    if compose is not None:
        return compose(scene, output).data
    return serialize(target.writer()(scene, output)).encode()


def _loading(file: Path) -> Run:
    return processor_timed(lambda: exoskel.load(file))


def _converting(file: Path, target: Format) -> Run:
    return processor_timed(lambda: exoskel.convert(file, _made(file, target), to=target.name))


def _made(file: Path, target: Format) -> Path:
    """The output path of a conversion: a folder for formats with one model per file."""
    return file.with_name(f"{file.stem}_{target.name}" + ("" if target.holds_one_model else target.extensions[0]))
