"""`exoskel diff`: show how two files differ in meaning."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag, ReadFlags, not_negative, read_scene
from exoskel.cli.terminal import STDIN
from exoskel.convert.comparison import TOLERANCE
from exoskel.convert.diff import DiffEntry
from exoskel.convert.diff import diff as diff_scenes
from exoskel.diagnostics import ExoskelError, Severity, pluralize, printable
from exoskel.scene.world import Scene

if TYPE_CHECKING:
    from rich.text import Text

_RED, _GREEN = "red", "green"
_SIGNS = {"changed": "~", "renamed": "=", "moved": ">", "only in A": "-", "only in B": "+"}
_STYLES = {"changed": "yellow", "renamed": "cyan", "moved": "magenta", "only in A": _RED, "only in B": _GREEN}


def diff(
    a: Annotated[str, Parameter(help="First file; `-` is standard input.")],
    b: Annotated[str, Parameter(help="Second file, in the same or another format.")],
    /,
    *,
    tolerance: Annotated[
        float,
        Parameter(
            help="Largest difference to ignore; relative for numbers above 1, rotations in rad.",
            validator=not_negative,
        ),
    ] = TOLERANCE,
    json: Annotated[Flag, Parameter(help="Print the differences as JSON.")] = False,
    quiet: Annotated[Flag, Parameter(name=["--quiet", "-q"], help="Print nothing; only set the exit code.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Show how two files differ in meaning, whatever their format or layout.

    Exit code 0: they mean the same. 1: they differ. 2: a file could not be opened or contains no world.
    """
    if a == b == STDIN:
        raise ExoskelError("only one of the two files can be standard input")
    first, second = _read_world(a, flags), _read_world(b, flags)
    entries = diff_scenes(first, second, tolerance=tolerance)
    if json:
        terminal.write_json([entry.as_dict() for entry in entries])
    elif not quiet:
        _show(printable(a), printable(b), entries, tolerance)
    return int(bool(entries))


def _read_world(file: str, flags: ReadFlags | None) -> Scene:
    """Read a scene that has a world; print a warning on standard error if the file has errors."""
    scene = read_scene(file, flags)
    errors = [d for d in scene.diagnostics if d.severity is Severity.ERROR]
    if not scene.worlds:
        reason = f": {errors[0]}" if errors else ""
        raise ExoskelError(f"{printable(file)} contains no world to compare{reason}")
    terminal.warn_about_errors(scene, "compared")
    return scene


# --- output -----------------------------------------------------------------------------------------


def _show(a: str, b: str, entries: list[DiffEntry], tolerance: float) -> None:
    from rich.text import Text

    console = terminal.console()
    if not entries:
        console.print(Text(f"{a} and {b} mean the same (tolerance {tolerance:g})", "bold"))
        return
    console.print(Text(f"A: {a}", _RED))
    console.print(Text(f"B: {b}", _GREEN))
    groups: dict[tuple[str, str], list[DiffEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.world, entry.model), []).append(entry)
    for (world, model), group in groups.items():
        title = f"world {printable(world)}" + (f", model {printable(model)}" if model else "")
        console.print(Text(title, "bold"))
        for entry in group:
            console.print(_format_entry(entry))
    console.print(Text(_summary(entries), "bold"))


def _format_entry(entry: DiffEntry) -> Text:
    """Format one difference: `~ body[hand]/mass: 1 → 2 (0.5 apart)  [A:12, B:14]`."""
    from rich.text import Text

    text = Text("  ")
    text.append(f"{_SIGNS[entry.kind]} ", _STYLES[entry.kind])
    text.append(printable(_path_in_model(entry)))
    if entry.kind not in ("changed", "only in A", "only in B"):
        text.append(f" {entry.kind}", _STYLES[entry.kind])
    text.append(": ")
    if entry.a is not None:
        text.append(entry.a, _RED)
    if entry.a is not None and entry.b is not None:
        text.append(" → ")
    if entry.b is not None:
        text.append(entry.b, _GREEN)
    if entry.size is not None:
        text.append(f" ({entry.size:.2g} apart)", "dim")
    text.append(_lines(entry), "dim")
    return text


def _path_in_model(entry: DiffEntry) -> str:
    """The path without the world and model names of the heading, unless the entry is about those."""
    steps = entry.path.split("/")
    below = steps[2 if entry.model else 1 :]
    return "/".join(below) or ("model" if entry.model else "world")


def _lines(entry: DiffEntry) -> str:
    lines = [f"{side}:{line}" for side, line in (("A", entry.line_a), ("B", entry.line_b)) if line is not None]
    return f"  [{', '.join(lines)}]" if lines else ""


def _summary(entries: list[DiffEntry]) -> str:
    counts = Counter(entry.kind for entry in entries)
    parts = [f"{counts[kind]} {kind}" for kind in _SIGNS if kind in counts]  # type: ignore[index]
    return f"{pluralize(len(entries), 'difference')}: {', '.join(parts)}"
