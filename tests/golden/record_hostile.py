"""Records what DART does with the hostile SKEL files: `python -m tests.golden.record_hostile [--new]`.

With `--new`, files that have a record are not tried again.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.hostile.corpus import HOSTILE, make
from tests.support.places import GOLDEN

FILE = GOLDEN / "hostile_dart.json"
SECONDS = 30
MEMORY = 8 * 2**30
ASK = """
import sys
import dartpy
world = dartpy.utils.SkelParser.readWorld(sys.argv[1])
print("loads it" if world is not None else "loads nothing")
"""


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def ask(path: Path) -> str:
    """In a few words, what becomes of DART when it opens a file."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", ASK, str(path)],
            capture_output=True,
            timeout=3 * SECONDS,  # one that waits for something uses no processor time
            check=False,
            preexec_fn=_limits,
            cwd=path.parent,
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    if done.returncode < 0:
        names = {
            9: "hangs",
            24: "hangs",
            11: "crashes: segmentation fault",
            6: "crashes: abort",
            8: "crashes: division",
        }
        return names.get(-done.returncode, f"crashes: signal {-done.returncode}")
    lines = done.stdout.decode("utf-8", "replace").strip().splitlines()
    if done.returncode == 0 and lines:
        return lines[-1]
    error = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"throws {error[-1].partition(':')[0]}" if error else "gives no answer"


def main() -> None:
    known: dict[str, str] = json.loads(FILE.read_text(encoding="utf-8")) if "--new" in sys.argv else {}
    found = {}
    for name, row in HOSTILE.items():
        if row.format != "skel":
            continue
        if name in known:
            found[name] = known[name]
            continue
        with tempfile.TemporaryDirectory() as folder:
            found[name] = ask(make(name, Path(folder) / "in"))
            print(f"{name}: {found[name]}", flush=True)
    FILE.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
