"""`exoskel diff`: show how two files differ in meaning."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from exoskel.cli import terminal
from exoskel.cli.flags import ReadFlags, read_scene
from exoskel.cli.parameters import Argument, not_negative
from exoskel.cli.terminal import STDIN, StyledText
from exoskel.conversion.comparison import TOLERANCE
from exoskel.conversion.diff import DiffEntry
from exoskel.conversion.diff import diff as diff_scenes
from exoskel.diagnostics import ExoskelError, Severity, pluralize, printable
from exoskel.scene.world import Scene

_RED, _GREEN = "red", "green"
_SIGNS = {"changed": "~", "renamed": "=", "moved": ">", "only in A": "-", "only in B": "+"}
_STYLES = {"changed": "yellow", "renamed": "cyan", "moved": "magenta", "only in A": _RED, "only in B": _GREEN}


def diff(
    a: Annotated[str, Argument(help="First file; `-` is standard input.")],
    b: Annotated[str, Argument(help="Second file, in the same or another format.")],
    /,
    *,
    tolerance: Annotated[
        float,
        Argument(
            help="Largest difference to ignore; relative for numbers above 1, rotations in rad.",
            validator=not_negative,
        ),
    ] = TOLERANCE,
    json: Annotated[bool, Argument(help="Print the differences as JSON.")] = False,
    quiet: Annotated[bool, Argument(names=("--quiet", "-q"), help="Print nothing; only set the exit code.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Show how two files differ in meaning, whatever their format or layout.

    Exit code 0: they mean the same. 1: they differ. 2: a file could not be opened or contains no world.
    """
    if a == b == STDIN:
        raise ExoskelError("only one of the two files can be standard input")
    first, second = _read_world(a, flags), _read_world(b, flags)
    with terminal.spinner("comparing", after=terminal.NOTICEABLE):
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
    if not entries:
        terminal.print_text(f"{a} and {b} mean the same (tolerance {tolerance:g})", "bold")
        return
    terminal.print_text(f"A: {a}", _RED)
    terminal.print_text(f"B: {b}", _GREEN)
    groups: dict[tuple[str, str], list[DiffEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.world, entry.model), []).append(entry)
    for (world, model), group in groups.items():
        title = f"world {printable(world)}" + (f", model {printable(model)}" if model else "")
        terminal.print_text(title, "bold")
        for entry in group:
            terminal.print_text(_format_entry(entry))
    terminal.print_text(_summary(entries), "bold")


def _format_entry(entry: DiffEntry) -> StyledText:
    """Format one difference: `~ body[hand]/mass: 1 → 2 (0.5 apart)  [A:12, B:14]`."""
    text = StyledText("  ")
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
