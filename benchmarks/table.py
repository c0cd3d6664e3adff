"""The table that `make bench` prints, and saves as JSON."""

from __future__ import annotations

import json
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table as RichTable

from benchmarks.harness import Comparison


@dataclass
class Row:
    """One measured figure.  `bar` is its target, which is met when the interval reaches it."""

    what: str
    ours: str
    theirs: str
    figure: float
    low: float
    high: float
    unit: str
    bar: float | None
    met: bool | None

    @classmethod
    def of(cls, what: str, c: Comparison, bar: float | None, lower_is_better: bool = False) -> Row:
        low, high = c.interval()
        met = None if bar is None else (low <= bar if lower_is_better else high >= bar)
        sides = (c.theirs, c.ours) if lower_is_better else (c.ours, c.theirs)  # such a ratio has ours above theirs
        ours, theirs = (_seconds(float(np.median(side))) for side in sides)
        return cls(what, ours, theirs, c.ratio, low, high, "x", bar, met)

    @classmethod
    def value(cls, what: str, figure: float, unit: str, bar: float) -> Row:
        return cls(what, "", "", figure, figure, figure, unit, bar, figure <= bar)


@dataclass
class Table:
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    console: Console = field(default_factory=lambda: Console(width=130))

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self.progress(f"{row.what}: {row.figure:.3g} {row.unit}")

    def note(self, text: str) -> None:
        self.notes.append(text)

    def progress(self, text: str) -> None:
        self.console.print(f"[dim]… {text}[/]")

    def show(self) -> None:
        table = RichTable(title="Exoskel compared with other software", title_justify="left")
        for heading in ("what", "exoskel", "other", "ratio", "90 % interval", "bar", "met"):
            table.add_column(heading)
        for row in self.rows:
            interval = f"{row.low:.3g} to {row.high:.3g}" if row.unit == "x" else ""
            bar = "" if row.bar is None else f"{row.bar:g} {row.unit}"
            met = "" if row.met is None else "yes" if row.met else "NO"
            table.add_row(row.what, row.ours, row.theirs, f"{row.figure:.3g} {row.unit}", interval, bar, met)
        self.console.print(table)
        for note in self.notes:
            self.console.print(note)

    def save(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        machine = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.system()}
        content = {"machine": machine, "rows": [asdict(row) for row in self.rows], "notes": self.notes}
        file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _seconds(value: float) -> str:
    return f"{value * 1e3:.3g} ms" if value < 1.0 else f"{value:.3g} s"
