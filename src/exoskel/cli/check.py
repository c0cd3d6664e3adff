"""`exoskel check`: list all problems in one or more files, as text, JSON or SARIF."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import Annotated, Any
from urllib.parse import quote

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.file_changes import replace_file, show_diff
from exoskel.cli.read_flags import Flag, ReadFlags, read_bytes, read_scene
from exoskel.cli.terminal import STDIN
from exoskel.diagnostics import (
    Catalogue,
    Diagnostic,
    ExoskelError,
    LoadError,
    Severity,
    SourceError,
    Topic,
    pluralize,
    printable,
    sort_by_position,
)
from exoskel.formats import registry
from exoskel.formats.fixer import FixedFile, apply_fixes
from exoskel.scene.world import Scene
from exoskel.source.atomic_write import WriteError
from exoskel.source.document import Document
from exoskel.version import __version__

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def report(diagnostics: Sequence[Diagnostic], catalogues: Iterable[Catalogue]) -> dict[str, Any]:
    """Return a SARIF log of one run: all diagnostics and the rules they refer to."""
    topics = {code: topic for catalogue in catalogues for code, topic in catalogue.topics.items()}
    used = sorted({diagnostic.code for diagnostic in diagnostics})
    index = {code: i for i, code in enumerate(used)}
    return {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "exoskel",
                        "version": __version__,
                        "rules": [_rule(topics[code]) for code in used],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(diagnostic, index[diagnostic.code]) for diagnostic in diagnostics],
            }
        ],
    }


def _rule(topic: Topic) -> dict[str, Any]:
    worst = min((m.severity or Severity.INFO for m in topic.messages), key=list(Severity).index)
    return {
        "id": topic.code,
        "name": topic.title.title().replace(" ", "").replace(",", ""),
        "shortDescription": {"text": topic.title},
        "fullDescription": {"text": topic.text},
        "defaultConfiguration": {"level": _LEVELS[worst]},
    }


def _result(diagnostic: Diagnostic, rule: int) -> dict[str, Any]:
    message = diagnostic.message + "".join(f" ({one})" for one in (diagnostic.hint, diagnostic.note) if one)
    location: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(diagnostic.file)}},
    }
    position = diagnostic.position
    if position is not None:
        location["physicalLocation"]["region"] = {
            "startLine": position.line,
            "startColumn": position.column,
            "endColumn": position.column + position.length,
        }
    if diagnostic.path:
        location["logicalLocations"] = [{"fullyQualifiedName": diagnostic.path}]
    return {
        "ruleId": diagnostic.code,
        "ruleIndex": rule,
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": message},
        "locations": [location],
    }


def _uri(file: str) -> str:
    """A relative path as a relative URI, an absolute one as a `file:` URI."""
    if file.startswith("<") or "://" in file:
        return quote(os.fsencode(file), safe=":/")
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(os.fsencode(path.as_posix()))


# --- the command ---------------------------------------------------------------------------------------


def check(
    files: Annotated[tuple[str, ...], Parameter(help="Files to check; `-` is standard input.", required=True)],
    /,
    *,
    strict: Annotated[Flag, Parameter(help="Treat warnings as errors.")] = False,
    all_notes: Annotated[
        Flag,
        Parameter(
            name=["--all", "-a"],
            help="List every diagnostic; by default one note and at most 1000 errors or warnings per kind.",
        ),
    ] = False,
    quiet: Annotated[Flag, Parameter(name=["--quiet", "-q"], help="Show errors and warnings only.")] = False,
    json: Annotated[Flag, Parameter(help="Print the diagnostics as JSON.")] = False,
    sarif_output: Annotated[
        Flag, Parameter(name="--sarif", help="Print the diagnostics as SARIF 2.1.0, for code review tools.")
    ] = False,
    fix: Annotated[
        Flag, Parameter(help="Apply safe fixes: misspelled names, deprecated names, missing values.")
    ] = False,
    diff: Annotated[Flag, Parameter(help="With --fix: write nothing; print the changes as a diff.")] = False,
    force: Annotated[
        Flag, Parameter(help="With --fix: overwrite files even if another program has changed them.")
    ] = False,
    flags: ReadFlags | None = None,
) -> int:
    """List all problems in the files, with line, excerpt and hint.

    With --fix, safe fixes are applied first, as minimal edits of the text. Each fixed file is read again to
    verify the fixes. The problems that remain are listed.

    Exit code 0: no errors. 1: errors (with --strict: or warnings). 2: a file could not be opened.
    """
    plain = not (json or sarif_output)
    _check_options(files, fix=fix, diff=diff, plain=plain)
    checked: list[Diagnostic] = []
    unopened = False
    for file in files:
        try:
            if fix:
                _fix(file, flags or ReadFlags(), diff=diff, plain=plain, force=force)
            if diff:
                continue
            diagnostics, contents = _diagnose(file, flags, strict)
        except (SourceError, WriteError) as error:
            terminal.print_message(str(error))
            unopened = True
            continue
        checked.extend(diagnostics)
        if plain:
            _show(file, diagnostics, contents, all_notes=all_notes, quiet=quiet)
    if json:
        terminal.write_json([diagnostic.as_dict() for diagnostic in checked])
    elif sarif_output:
        terminal.write_json(report(checked, registry.catalogues()))
    if unopened:
        return 2
    bad = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return int(any(diagnostic.severity in bad for diagnostic in checked))


def _check_options(files: tuple[str, ...], *, fix: bool, diff: bool, plain: bool) -> None:
    """Reject options that cannot be combined."""
    if diff and not (fix and plain):
        raise ExoskelError("--diff needs --fix and cannot be combined with --json or --sarif")
    if fix and not diff and STDIN in files:
        raise ExoskelError("--fix cannot change standard input; use --fix --diff to see the changes")


def _fix(file: str, flags: ReadFlags, *, diff: bool, plain: bool, force: bool) -> None:
    """Fix a file, or print the changes as a diff."""
    scene = read_scene(file, flags)
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document):
        return
    base = "." if file == STDIN else file
    result: FixedFile = apply_fixes(scene, lambda data: read_bytes(data, document.name, base, flags))
    if diff:
        show_diff(file, document, result.data)
    elif result.done:
        replace_file(file, document, result.data, force=force)
        if plain:
            codes = sorted({diagnostic.code for diagnostic in result.done})
            summary = f"{printable(file)}: {len(result.done)} fixed ({', '.join(codes)})"
            terminal.console().print(summary, style="green", markup=False)


def _diagnose(file: str, flags: ReadFlags | None, strict: bool) -> tuple[list[Diagnostic], str]:
    """Return all diagnostics of a file, and a short summary of its contents."""
    try:
        scene = read_scene(file, flags, strict=strict)
    except LoadError as error:
        return sort_by_position(error.diagnostics), ""
    return sort_by_position(scene.diagnostics), _contents(scene)


_MAX_PER_KIND = 1000
"""Errors or warnings of one kind that are listed; a file may have a million."""


def _show(file: str, diagnostics: list[Diagnostic], contents: str, *, all_notes: bool, quiet: bool) -> None:
    console = terminal.console()
    omitted: dict[str, int] = {}
    printed: Counter[str] = Counter()
    for diagnostic in diagnostics:
        is_note = diagnostic.severity is Severity.INFO
        most = 1 if is_note else _MAX_PER_KIND
        if (is_note and quiet) or (printed[diagnostic.key] >= most and not all_notes):
            omitted[diagnostic.code] = omitted.get(diagnostic.code, 0) + 1
            continue
        printed[diagnostic.key] += 1
        console.print(terminal.format_diagnostic(diagnostic, registry.original_reader(diagnostic.code)), end="")
    if omitted and not quiet:
        more = ", ".join(f"{code} x {number}" for code, number in sorted(omitted.items()))
        console.print(f"(more of the same kind: {more}; use --all to list them)")
    console.print(f"{printable(file)}: {terminal.tally(diagnostics)}{contents}", style="bold", markup=False)


def _contents(scene: Scene) -> str:
    if not scene.worlds:
        return " (no world could be loaded)"
    models = sum(len(world.models) for world in scene.worlds)
    dofs = sum(world.dof_count for world in scene.worlds)
    freedom = pluralize(dofs, "degree of freedom", "degrees of freedom")
    return f" ({pluralize(models, 'model')}, {freedom})"
