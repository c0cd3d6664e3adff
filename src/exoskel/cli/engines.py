"""`exoskel engines`: list the physics engines with their versions and limitations."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag


def engines(*, json: Annotated[Flag, Parameter(help="Print the list as JSON.")] = False) -> int:
    """List the physics engines with their versions and limitations."""
    from exoskel.engines.registry import ENGINES

    rows = [
        {"engine": one.name, "version": one.version, "install": one.install, "cannot": one.cannot}
        for one in ENGINES.values()
    ]
    if json:
        terminal.write_json(rows)
        return 0
    from rich.markup import escape
    from rich.table import Table

    table = Table("engine", "version", "limitations", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in rows:
        table.add_row(row["engine"], row["version"] or escape(f"not installed: {row['install']}"), row["cannot"])
    terminal.console().print(table)
    return 0
