"""Stand-ins for systems without POSIX: modules, functions and signals that Windows lacks are not needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PREPARE = """
import os, signal, sys
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty"):
    sys.modules[name] = None
for name in ("chown", "fchmod", "fchown", "getegid", "geteuid", "getgid", "getuid", "O_DIRECTORY", "O_NOCTTY", "O_NOFOLLOW",
             "O_NONBLOCK"):
    delattr(os, name)
for name in ("SIGALRM", "SIGHUP", "setitimer"):
    delattr(signal, name)
os.supports_dir_fd = set()
import exoskel
"""
USES = {
    "commands": """
from exoskel.cli.main import defer_interrupts_while_loading, main
defer_interrupts_while_loading()
for command in (["--help"], ["samples", "--copy", "."], ["check", "skel/walker.skel"], ["fmt", "skel/walker.skel"],
                ["set", "skel/walker.skel", "time_step=0.002"], ["convert", "skel/walker.skel", "walker.sdf"],
                ["check", "--jobs", "2", "skel/walker.skel", "xode/ragdoll.xode"],
                ["run", "skel/walker.skel", "--time", "0.01", "--out", "motion.npz"]):
    assert main(command) == 0, command
""",
    "modules": """
import importlib, pkgutil
for module in pkgutil.walk_packages(exoskel.__path__, "exoskel."):
    if module.name != "exoskel.__main__":
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError as error:
            assert error.name.partition(".")[0] in ("warp", "pygls", "lsprotocol", "viser", "gymnasium", "ray"), error
""",
    "child processes": """
from exoskel.source.atomic_write import TemporaryFolder
with TemporaryFolder() as folder:
    (folder / "part.stl").write_text("solid part\\nendsolid part\\n")
assert not folder.exists()
text = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
assert len(exoskel.load(text).world.models) == 1
""",
}


@pytest.mark.parametrize("use", USES)
def test_posix_is_not_needed(use: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", PREPARE + USES[use]]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500, cwd=tmp_path)
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-3000:]
