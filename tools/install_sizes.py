"""Measure what `pip install exoskel` and each of its extras install, and print the table of docs/getting-started.md.

It needs the network and takes minutes: every extra is installed into a virtual environment of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

PROJECT = Path(__file__).parent.parent
EXTRAS = ("plot", "view", "ode", "usd", "xacro", "arrow", "decompose", "gym", "lsp", "numba", "rerun", "all")
BASE = ("pip", "setuptools", "pkg_resources", "_distutils_hack")


def installed_megabytes(extra: str) -> tuple[float, list[tuple[float, str]]]:
    """The size of all installed packages in MB, without pip, and the largest folders."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / "bin" / "python"
        what = f"{PROJECT}[{extra}]" if extra else str(PROJECT)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what], check=True)
        packages = next(Path(folder).glob("lib/python*/site-packages"))
        sizes = [
            (sum(file.stat().st_size for file in one.rglob("*") if file.is_file()) / 1e6, one.name)
            for one in packages.iterdir()
            if not one.name.startswith(BASE)
        ]
        return sum(size for size, _ in sizes), sorted(sizes, reverse=True)[:8]


def main() -> None:
    core, largest = installed_megabytes("")
    print("| install | adds (MB) |\n|---|---|")
    print(f"| `exoskel` | {core:.0f}: " + ", ".join(f"{name} {size:.0f}" for size, name in largest) + " |")
    for extra in sys.argv[1:] or EXTRAS:
        print(f"| `exoskel[{extra}]` | {installed_megabytes(extra)[0] - core:.0f} |", flush=True)


if __name__ == "__main__":
    main()
