"""An interrupted run saves the samples it has in a readable file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import exoskel
from exoskel.engines.registry import ENGINES

LONG = "1000"
"""Seconds to simulate, longer than the test runs."""
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # the parent process may ignore it, and SIGHUP
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from exoskel.simulate import simulation
own = simulation._RunRecorder._record
def record(self):
    own(self)
    if len(self.rows) == 20:
        print("running", flush=True)
simulation._RunRecorder._record = record
from exoskel.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""Runs the command line and prints a line when it has some samples."""


@pytest.mark.parametrize(
    ("engine", "extension"), [("mujoco", ".npz"), ("mujoco", ".csv"), ("dart", ".npz"), ("ode", ".npz")]
)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_saves_its_samples(
    tmp_path: Path, engine: str, sent: signal.Signals, extension: str
) -> None:
    if ENGINES[engine].version is None:
        pytest.skip(f"{engine} is not installed")
    out = tmp_path / f"motion{extension}"
    arguments = ["run", "dart://sample/skel/pendulum.skel", "--time", LONG, "--engine", engine, "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line == "running\n":
            break
    # A terminal signals all processes of the run, a service manager only the main process.
    (os.killpg if sent is signal.SIGINT else os.kill)(process.pid, sent)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + sent, errors
    assert "interrupted" in output and "Traceback" not in errors
    assert list(tmp_path.iterdir()) == [out], "no partial file is left"
    if extension == ".npz":
        motion = exoskel.Trajectory.load(out)
        assert 20 <= len(motion) < 100 * float(LONG)
        assert motion.meta["summary"]["interrupted"]
        assert len(motion.positions) == len(motion)
