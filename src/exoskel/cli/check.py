"""`exoskel check`: all problems of some files, at once."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

from cyclopts import Parameter

from exoskel.cli import sarif, terminal
from exoskel.cli.file_changes import show_diff, take_place
from exoskel.cli.read_flags import Flag, ReadFlags, read, read_bytes
from exoskel.cli.stdin import STDIN
from exoskel.diagnostics import Diagnostic, ExoskelError, LoadError, Severity, SourceError, in_file_order, printable
from exoskel.formats import registry
from exoskel.formats.fixer import Fixed, fixed
from exoskel.scene.world import Scene
from exoskel.source.atomic_write import WriteError
from exoskel.source.document import Document


def check(
    files: Annotated[tuple[str, ...], Parameter(help="Files to check; `-` is standard input.", required=True)],
    /,
    *,
    strict: Annotated[Flag, Parameter(help="Take every warning as an error.")] = False,
    all_notes: Annotated[
        Flag,
        Parameter(
            name=["--all", "-a"],
            help="List all: not only the first note and a thousand errors of a kind.",
        ),
    ] = False,
    quiet: Annotated[Flag, Parameter(name=["--quiet", "-q"], help="Show errors and warnings only.")] = False,
    json: Annotated[Flag, Parameter(help="Print the findings as JSON.")] = False,
    sarif_output: Annotated[
        Flag, Parameter(name="--sarif", help="Print the findings as SARIF 2.1.0, for code review.")
    ] = False,
    fix: Annotated[
        Flag, Parameter(help="Fix what can be fixed safely: slips of spelling, old names, values that are missing.")
    ] = False,
    diff: Annotated[Flag, Parameter(help="With --fix: write nothing, show what would change.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """List all problems of the files, with line, excerpt and what may help.

    With --fix, safe fixes are made first, as small changes of the files' own text; each is proved by reading the
    result again. What is listed then is what is left.

    Exit code 0: no errors. 1: errors (with --strict: or warnings). 2: a file could not be opened.
    """
    plain = not (json or sarif_output)
    _refuse(files, fix=fix, diff=diff, plain=plain)
    checked: list[Diagnostic] = []
    unopened = False
    for file in files:
        try:
            if fix:
                _fix(file, flags or ReadFlags(), diff=diff, plain=plain)
            if diff:
                continue
            found, contents = _findings(file, flags, strict)
        except (SourceError, WriteError) as error:
            terminal.complain(str(error))
            unopened = True
            continue
        checked.extend(found)
        if plain:
            _show(file, found, contents, all_notes=all_notes, quiet=quiet)
    if json:
        terminal.write_json([diagnostic.as_dict() for diagnostic in checked])
    elif sarif_output:
        terminal.write_json(sarif.report(checked, registry.catalogues()))
    if unopened:
        return 2
    bad = {Severity.ERROR, Severity.WARNING} if strict else {Severity.ERROR}
    return int(any(diagnostic.severity in bad for diagnostic in checked))


def _refuse(files: tuple[str, ...], *, fix: bool, diff: bool, plain: bool) -> None:
    """Complain about options that do not go together."""
    if diff and not (fix and plain):
        raise ExoskelError("--diff goes with --fix, and not with --json or --sarif")
    if fix and not diff and STDIN in files:
        raise ExoskelError("standard input cannot be fixed in its place; --fix --diff shows what would change")


def _fix(file: str, flags: ReadFlags, *, diff: bool, plain: bool) -> None:
    """Fix a file, or show what would change in it."""
    scene = read(file, flags)
    document = scene.documents[0] if scene.documents else None
    if not isinstance(document, Document):
        return
    base = "." if file == STDIN else file
    result: Fixed = fixed(scene, lambda data: read_bytes(data, document.name, base, flags))
    if diff:
        show_diff(file, document, result.data)
    elif result.done:
        take_place(file, document, result.data)
        if plain:
            codes = sorted({found.code for found in result.done})
            terminal.console().print(f"{printable(file)}: {len(result.done)} fixed ({', '.join(codes)})", style="green")


def _findings(file: str, flags: ReadFlags | None, strict: bool) -> tuple[list[Diagnostic], str]:
    """All there is to say about a file, and a few words on what is in it."""
    try:
        scene = read(file, flags, strict=strict)
    except LoadError as refused:
        return in_file_order(refused.diagnostics), ""
    return in_file_order(scene.diagnostics), _contents(scene)


_MOST_OF_A_KIND = 1000
"""How many errors or warnings of one kind are listed; nobody reads the rest, and a file may have a million."""


def _show(file: str, findings: list[Diagnostic], contents: str, *, all_notes: bool, quiet: bool) -> None:
    console = terminal.console()
    folded: dict[str, int] = {}
    shown: Counter[str] = Counter()
    for finding in findings:
        is_note = finding.severity is Severity.INFO
        most = 1 if is_note else _MOST_OF_A_KIND
        if (is_note and quiet) or (shown[finding.key] >= most and not all_notes):
            folded[finding.code] = folded.get(finding.code, 0) + 1
            continue
        shown[finding.key] += 1
        console.print(terminal.render(finding, registry.engine_of(finding.code)), end="")
    if folded and not quiet:
        more = ", ".join(f"{code} x {number}" for code, number in sorted(folded.items()))
        console.print(f"(more notes of the same kinds: {more}; --all lists them)")
    console.print(f"{printable(file)}: {terminal.tally(findings)}{contents}", style="bold")


def _contents(scene: Scene) -> str:
    if not scene.worlds:
        return " (nothing could be loaded)"
    models = sum(len(world.models) for world in scene.worlds)
    dofs = sum(world.dof_count for world in scene.worlds)
    freedom = terminal.counted(dofs, "degree of freedom", "degrees of freedom")
    return f" ({terminal.counted(models, 'model')}, {freedom})"
