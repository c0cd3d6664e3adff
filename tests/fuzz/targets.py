"""The targets of the fuzzer: each reader, its mutations, and the conditions that must always hold."""

from __future__ import annotations

import os
import random
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.fuzz import extreme_numbers, file_names, mesh_files, options, pipeline, seeds, well_formedness
from tests.fuzz.mutate import learn_vocabulary, mutate_document
from tests.fuzz.mutate_others import archive, comment

if TYPE_CHECKING:
    from exoskel.simulate.trajectory import Trajectory

MALFORMED = 0
READ = 1
"""The result of an input: rejected by the parser, or read into a scene."""

REFERENCED_FILES = Path(__file__).parent / "referenced_files"
"""The files that documents refer to."""
MOST = 4000
"""The largest size of a document in bytes: small ones are read a thousand times per second."""

WRITING = (
    "write",
    "writing",
    "joint_elements",
    "shape_elements",
    "editor",
    "transform_edits",
    "losses",
    "emitters",
    "file_writer",
    "source_mapping",
)
"""Modules of a format's package that no reader uses."""
SAVING = (r"def (save|_save_\w+|check_target)\(",)
NOT_READING = (
    r"def (schema_type|example)\(",
    r"def (find_unused|_scene_fields|_is_automatic|_referenced_frames|_adjusted)\(",
)
"""Functions that serve the schema and the documentation, and those that serve conversions."""

Mutation = Callable[[bytes, random.Random, bytes], bytes]


class Target(NamedTuple):
    """A reader.  Coverage is measured in `modules`, which may be empty; `not_reading` are patterns of functions in them
    that no reader calls.
    """

    name: str
    run: Callable[[bytes], int]
    seeds: Callable[[], Iterator[bytes]]
    mutate: Mutation
    modules: tuple[str, ...]
    not_reading: tuple[str, ...] = ()
    most: int = MOST


def is_sampled(data: bytes, every: int) -> bool:
    """Whether an input belongs to a deterministic sample of one in `every` inputs."""
    return zlib.crc32(data) % every == 0


# --- scenes -------------------------------------------------------------------------------------------


@cache
def _scene_runner(format: str) -> Callable[[bytes], int]:
    """Returns a function that reads a document and formats its diagnostics; nothing may raise."""
    from exoskel.formats.interface import ReadOptions
    from exoskel.scene.edit_tracking import CLOCK, no_edits
    from exoskel.scene.summary import summarize
    from exoskel.scene.validation import mark_valid
    from exoskel.source.document import Document
    from exoskel.source.file_lookup import Location, SearchPaths
    from exoskel.source.limits import Limits

    warnings.simplefilter("ignore")  # NumPy warns about overflow
    read = import_module(f"exoskel.formats.{format}.read").read
    limits = Limits(bytes=2**20, elements=20_000, mesh_bytes=2**20)
    readings: dict[str, list[dict[str, object]]] = {
        "skel": [{"semantics": "dart"}, {"inertia_rule": "first_shape", "free_velocity_axes": "child"}],
        "xode": [{"dialect": "pyode"}, {"dialect": "spec"}, {"index_base": 1}],
    }
    choices = [{}, *readings.get(format, []), {"strict": True, "paths": SearchPaths(confine=True)}]
    options = [ReadOptions(limits=limits, **choice) for choice in choices]  # type: ignore[arg-type]
    place = Location(path=str(REFERENCED_FILES / f"document.{format}"))

    def run(data: bytes) -> int:
        with no_edits():  # as `load` does
            scene = read(Document(data, "document", place), options[len(data) % len(options)])
        if is_sampled(data, 4):
            for finding in scene.diagnostics[:50]:
                assert str(finding) and finding.excerpt is not None and finding.path is not None
        mark_valid(scene.worlds, CLOCK.ticks)  # as `load` does
        if is_sampled(data, 8):
            summarize(scene)
        return READ if scene.worlds else MALFORMED

    return run


def _scenes(format: str, *modules: str, vocabulary: str = "", not_reading: tuple[str, ...] = ()) -> Target:
    source = seeds.SOURCES[format]

    def run(data: bytes) -> int:  # the fuzzer has to see the reader being imported
        return _scene_runner(format)(data)

    def change(data: bytes, rng: random.Random, other: bytes) -> bytes:
        return mutate_document(data, rng, learn_vocabulary(vocabulary, source), other, MOST)

    return Target(format, run, source, change, modules or (f"exoskel.formats.{format}",), not_reading)


# --- other files --------------------------------------------------------------------------------------


def _run_trajectory(data: bytes) -> int:
    from exoskel.diagnostics import ExoskelError
    from exoskel.simulate.trajectory import Trajectory

    os.ftruncate(_memory(), 0)
    os.pwrite(_memory(), data, 0)
    try:
        found = Trajectory.load(f"/proc/self/fd/{_memory()}", max_bytes=2**24)
    except ExoskelError:
        return MALFORMED
    assert len(found.time) == len(found.positions)
    assert repr(found)
    if is_sampled(data, 16):
        _use(found)
    return READ


@cache
def _memory() -> int:
    """A file that is in memory only."""
    return os.memfd_create("trajectory.npz")


def _use(motion: Trajectory) -> None:
    """Use a trajectory as a program would, in at most a hundred steps."""
    from exoskel.diagnostics import ExoskelError

    span = float(motion.time[-1] - motion.time[0]) if len(motion) else 0.0
    with suppress(ExoskelError):
        motion.resample(max(0.25, span / 100.0))
    motion.to_pandas()


def _run_comment(data: bytes) -> int:
    from exoskel.formats.xode.context import parse_pybrain_comment

    found = parse_pybrain_comment("odeenvironment parameters\n" + data.decode("utf-8", "replace"))
    assert all(isinstance(name, str) for name in found.fixed)
    return READ


def _run_xml(data: bytes) -> int:
    problem = well_formedness.disagreement(data)
    assert not problem, problem
    return READ


# --- embedded data and the whole pipeline ---------------------------------------------------------------


def _run_embedded(data: bytes) -> int:
    return READ if pipeline.run_reader(data) else MALFORMED


def _run_pipeline(data: bytes) -> int:
    return READ if pipeline.run_pipeline(data) else MALFORMED


def _run_numbers(data: bytes) -> int:
    return READ if extreme_numbers.run(data) else MALFORMED


_EMBEDDED_MODULES = ("exoskel.source.embedded_data", "exoskel.scene.validation", "exoskel.scene.value_checks")


TARGETS = {
    target.name: target
    for target in (
        _scenes("skel", vocabulary="skel", not_reading=NOT_READING),
        _scenes("xode", vocabulary="xode", not_reading=NOT_READING),
        _scenes("urdf", vocabulary="urdf", not_reading=(*NOT_READING, r"def (_?add\w*|roll_pitch_yaw)\(")),
        _scenes("sdf", vocabulary="sdf", not_reading=NOT_READING),
        _scenes("mjcf", "exoskel.formats.mjcf.reader", "exoskel.formats.mjcf.read"),
        Target(
            "trajectory", _run_trajectory, seeds.trajectory, archive, ("exoskel.simulate.trajectory",), SAVING, 12_000
        ),
        Target(
            "embedded",
            _run_embedded,
            pipeline.embedded_documents,
            pipeline.mutate_embedded,
            _EMBEDDED_MODULES,
            most=pipeline.LARGEST,
        ),
        Target(
            "pipeline",
            _run_pipeline,
            pipeline.embedded_documents,
            pipeline.mutate_embedded,
            ("exoskel.formats", "exoskel.conversion", *_EMBEDDED_MODULES),
            most=pipeline.LARGEST,
        ),
        Target("comment", _run_comment, seeds.comment, comment, ("exoskel.formats.xode.context",)),
        Target(
            "mesh",
            mesh_files.run,
            mesh_files.seeds,
            mesh_files.mutate,
            ("exoskel.source.meshes", "exoskel.source.mesh_parsing"),
            most=3 * MOST,
        ),
        Target("numbers", _run_numbers, extreme_numbers.documents, extreme_numbers.mutate, (), most=100_000),
        Target("options", options.run_command_line, options.command_lines, options.mutate_command_line, ()),
        Target("names", file_names.run, file_names.inputs, file_names.mutate, ()),
        Target("bombs", options.run_bomb, options.bombs, options.mutate_bomb, (), most=1_000_000),
        Target("xml", _run_xml, well_formedness.documents, well_formedness.mutate, (), most=2 * MOST),
    )
}
