"""`exoskel diff`: what differs in meaning between two files."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag, ReadFlags, read
from exoskel.cli.stdin import STDIN
from exoskel.convert.diff import TOLERANCE, DiffEntry
from exoskel.convert.diff import diff as diff_scenes
from exoskel.diagnostics import ExoskelError, Severity, printable
from exoskel.scene.world import Scene

if TYPE_CHECKING:
    from rich.text import Text

_RED, _GREEN = "red", "green"
_SIGNS = {"changed": "~", "renamed": "=", "moved": ">", "only in A": "-", "only in B": "+"}
_STYLES = {"changed": "yellow", "renamed": "cyan", "moved": "magenta", "only in A": _RED, "only in B": _GREEN}


def diff(
    a: Annotated[str, Parameter(help="The one file; `-` is standard input.")],
    b: Annotated[str, Parameter(help="The other file, in the same or another format.")],
    /,
    *,
    tolerance: Annotated[
        float, Parameter(help="Numbers this close are the same; relative where they are above 1, rotations in rad.")
    ] = TOLERANCE,
    json: Annotated[Flag, Parameter(help="Print the differences as JSON.")] = False,
    quiet: Annotated[Flag, Parameter(name=["--quiet", "-q"], help="Print nothing: the exit code tells.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Show what differs in meaning between two files: not how they are written, but what they say.

    Exit code 0: they mean the same. 1: they differ. 2: one could not be opened, or holds nothing that can be read.
    """
    if a == b == STDIN:
        raise ExoskelError("only one of the two can be standard input")
    if not (math.isfinite(tolerance) and tolerance >= 0.0):
        raise ExoskelError(f"a tolerance has to be finite and not negative, not {tolerance}")
    one, other = _read(a, flags), _read(b, flags)
    found = diff_scenes(one, other, tolerance=tolerance)
    if json:
        terminal.write_json([contrast.as_dict() for contrast in found])
    elif not quiet:
        _show(printable(a), printable(b), found, tolerance)
    return int(bool(found))


def _read(file: str, flags: ReadFlags | None) -> Scene:
    """The scene, if there is any; what could not be read of it is mentioned beside the output."""
    scene = read(file, flags)
    errors = [d for d in scene.diagnostics if d.severity is Severity.ERROR]
    if not scene.worlds:
        reason = f": {errors[0]}" if errors else ""
        raise ExoskelError(f"there is nothing to compare in {printable(file)}{reason}")
    terminal.complain_of_errors(scene, "compared")
    return scene


# --- what the user sees -----------------------------------------------------------------------------


def _show(a: str, b: str, found: list[DiffEntry], tolerance: float) -> None:
    from rich.text import Text

    console = terminal.console()
    if not found:
        console.print(Text(f"{a} and {b} mean the same (tolerance {tolerance:g})", "bold"))
        return
    console.print(Text(f"A: {a}", _RED))
    console.print(Text(f"B: {b}", _GREEN))
    groups: dict[tuple[str, str], list[DiffEntry]] = {}
    for contrast in found:
        groups.setdefault((contrast.world, contrast.model), []).append(contrast)
    for (world, model), group in groups.items():
        title = f"world {printable(world)}" + (f", model {printable(model)}" if model else "")
        console.print(Text(title, "bold"))
        for contrast in group:
            console.print(_line(contrast))
    console.print(Text(_summary(found), "bold"))


def _line(contrast: DiffEntry) -> Text:
    """One difference: `~ body[hand]/mass: 1 → 2 (0.5 apart)  lines 12, 14`."""
    from rich.text import Text

    text = Text("  ")
    text.append(f"{_SIGNS[contrast.kind]} ", _STYLES[contrast.kind])
    text.append(printable(_below_model(contrast)))
    if contrast.kind not in ("changed", "only in A", "only in B"):
        text.append(f" {contrast.kind}", _STYLES[contrast.kind])
    text.append(": ")
    if contrast.a is not None:
        text.append(contrast.a, _RED)
    if contrast.a is not None and contrast.b is not None:
        text.append(" → ")
    if contrast.b is not None:
        text.append(contrast.b, _GREEN)
    if contrast.size is not None:
        text.append(f" ({contrast.size:.2g} apart)", "dim")
    text.append(_places(contrast), "dim")
    return text


def _below_model(contrast: DiffEntry) -> str:
    """The path without the names that the group is headed by, unless it is about those."""
    steps = contrast.path.split("/")
    below = steps[2 if contrast.model else 1 :]
    return "/".join(below) or ("model" if contrast.model else "world")


def _places(contrast: DiffEntry) -> str:
    places = [f"{side}:{line}" for side, line in (("A", contrast.line_a), ("B", contrast.line_b)) if line is not None]
    return f"  [{', '.join(places)}]" if places else ""


def _summary(found: list[DiffEntry]) -> str:
    counts = Counter(contrast.kind for contrast in found)
    parts = [f"{counts[kind]} {kind}" for kind in _SIGNS if kind in counts]  # type: ignore[index]
    return f"{terminal.counted(len(found), 'difference')}: {', '.join(parts)}"
