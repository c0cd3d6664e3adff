"""`exoskel engines`: which engines are installed, and what each cannot do."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

from cyclopts import Parameter

from exoskel.cli import output
from exoskel.cli.reading import Flag

_ENGINES = (
    ("mujoco", "mujoco", "pip install mujoco", "soft skins; several values of spring or damping on one ball joint"),
    (
        "dart",
        "dartpy",
        "pip install 'exoskel[dart]' (Python 3.11, Linux)",
        "screw and translational2d joints, hinge2, amotor, loops; runs in a process of its own",
    ),
)


def engines(*, json: Annotated[Flag, Parameter(help="Print everything as JSON.")] = False) -> int:
    """List the engines: version, and what each cannot do."""
    rows = [
        {"engine": name, "version": _version(package), "install": install, "cannot": cannot}
        for name, package, install, cannot in _ENGINES
    ]
    if json:
        output.write_json(rows)
        return 0
    from rich.table import Table

    table = Table("engine", "version", "cannot", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(row["engine"], row["version"] or f"not installed: {row['install']}", row["cannot"])
    output.console().print(table)
    return 0


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
