"""A run that is interrupted keeps what it has, in a file that can be read."""

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
"""Seconds to simulate: more than anybody waits for."""
ASKED = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests may ignore it
from exoskel.simulate import run
own = run._Recorder._record
def record(self):
    own(self)
    if len(self.rows) == 20:
        print("running", flush=True)
run._Recorder._record = record
from exoskel.cli.main import main
sys.exit(main(sys.argv[1:]))
"""
"""The command line, which tells when it has some samples."""


@pytest.mark.parametrize(
    ("engine", "ending"), [("mujoco", ".npz"), ("mujoco", ".csv"), ("dart", ".npz"), ("ode", ".npz")]
)
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted(tmp_path: Path, engine: str, sent: signal.Signals, ending: str) -> None:
    if ENGINES[engine].version is None:
        pytest.skip(f"{engine} is not installed")
    out = tmp_path / f"motion{ending}"
    arguments = ["run", "dart://sample/skel/pendulum.skel", "--time", LONG, "--engine", engine, "--out", str(out)]
    process = subprocess.Popen(
        [sys.executable, "-c", ASKED, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line == "running\n":
            break
    # As a terminal does, to all processes of the run; a system asks the one.
    (os.killpg if sent is signal.SIGINT else os.kill)(process.pid, sent)
    told, complaints = process.communicate(timeout=120)
    assert process.returncode == 128 + sent, complaints
    assert "interrupted" in told and "Traceback" not in complaints
    assert list(tmp_path.iterdir()) == [out], "no half file is left"
    if ending == ".npz":
        motion = exoskel.Trajectory.load(out)
        assert 20 <= len(motion) < 100 * float(LONG)
        assert motion.meta["summary"]["interrupted"]
        assert len(motion.positions) == len(motion)
