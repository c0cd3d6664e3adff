"""`rerun-importer-exoskel`: lets Rerun open our scenes.

Rerun starts every importer for every file it opens, so files of other kinds must be rejected quickly.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

EXTENSIONS = (".skel", ".xode")
NOT_SUPPORTED = 66
"""The exit code that tells Rerun that this importer does not handle the file."""
_SECONDS = 3.0
_MAX_DOFS = 600
"""Larger scenes are shown without a motion, which would take too long to simulate."""


def main(arguments: list[str] | None = None) -> int:
    """Write a recording of a scene, and of a few seconds of its motion, to standard output."""
    parser = argparse.ArgumentParser(prog="rerun-importer-exoskel", description=main.__doc__)
    parser.add_argument("file")
    parser.add_argument("--application-id", "--opened-application-id", default=None)
    parser.add_argument("--recording-id", "--opened-recording-id", default=None)
    parser.add_argument("--entity-path-prefix", default="")
    known, _ = parser.parse_known_args(arguments)
    if Path(known.file).suffix.lower() not in EXTENSIONS or not Path(known.file).is_file():
        return NOT_SUPPORTED
    from exoskel.diagnostics import ExoskelError, printable

    try:
        _write(known.file, known.application_id or known.file, known.recording_id, known.entity_path_prefix)
    except ExoskelError as error:
        sys.stderr.write(f"exoskel: {printable(str(error))}\n")
        return 1
    return 0


def _write(file: str, application: str, recording: str | None, prefix: str) -> None:
    from exoskel.diagnostics import ExoskelError
    from exoskel.formats.load import load
    from exoskel.simulate.measured_world import DivergedError
    from exoskel.simulate.simulation import run
    from exoskel.view.rerun_log import log

    world = load(file).world
    motion = None
    if 0 < world.dof_count <= _MAX_DOFS:
        try:
            motion = run(world, _SECONDS)
        except DivergedError as problem:
            motion = problem.trajectory
        except ExoskelError:  # the engine cannot run it; show the initial state only
            motion = None
    try:
        import rerun
    except ImportError:
        raise ExoskelError("rerun is not installed; install it with `pip install 'exoskel[rerun]'`") from None
    rerun.init(application, recording_id=recording)
    rerun.stdout()
    log(world, motion=motion, prefix=prefix)


def run_importer() -> None:
    """Entry point of the installed program."""
    sys.exit(main())
