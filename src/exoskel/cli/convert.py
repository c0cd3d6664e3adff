"""`exoskel convert`: from one format to another, with an account and a proof."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.cli.read_flags import Flag, ReadFlags, read
from exoskel.cli.stdin import STDIN
from exoskel.convert.driver import convert as convert_scene
from exoskel.convert.report import RefusedError, Report
from exoskel.diagnostics import ExoskelError, Severity, has_errors, in_file_order, printable
from exoskel.fates import Fate, NodeFate
from exoskel.formats import registry
from exoskel.scene.lowering.up_axis import Up

_UP = "Turn the whole world so that this axis points up; `y-to-z` for a world without gravity in which y does now."
_MOST_LISTED = 20
_STYLES = {
    Fate.EXACT: "green",
    Fate.LOWERED: "green",
    Fate.APPROXIMATED: "yellow",
    Fate.KEPT: "cyan",
    Fate.DROPPED: "red",
}
_MEANING = {
    Fate.EXACT: "says the same in the output",
    Fate.LOWERED: "said in other words, with the same physics",
    Fate.APPROXIMATED: "said, but not quite",
    Fate.KEPT: "no words for it there; it survives beside them",
    Fate.DROPPED: "gone",
}


def convert(
    file: Annotated[str, Parameter(help="The file to convert, or a folder of them; `-` is standard input.")],
    out: Annotated[str, Parameter(help="The file to write; its ending tells the format. A folder for many.")],
    /,
    *,
    to: Annotated[str | None, Parameter(help="The format to write, instead of telling it by the ending.")] = None,
    for_: Annotated[
        Literal["portable", "pyode"],
        Parameter(name="--for", help="XODE: for any reader, or what PyODE's own reader understands."),
    ] = "portable",
    approximate: Annotated[Flag, Parameter(help="For PyODE: write the nearest masses it can read.")] = False,
    lower: Annotated[
        Flag, Parameter(help="Take joints the format lacks apart into those it has, with light bodies in between.")
    ] = False,
    world: Annotated[str | None, Parameter(help="Which of several worlds.")] = None,
    model: Annotated[str | None, Parameter(help="Only this model.")] = None,
    up: Annotated[Up | None, Parameter(help=_UP)] = None,
    meshes: Annotated[
        Literal["reference", "absolute", "copy"],
        Parameter(help="Refer to mesh files by relative or absolute paths, or copy them beside the output."),
    ] = "reference",
    report: Annotated[
        Path | None, Parameter(help="Of a folder: write the table of all files here too, as .md or .json.")
    ] = None,
    strict: Annotated[Flag, Parameter(help="Write nothing if anything is lost or the certificate fails.")] = False,
    all_: Annotated[Flag, Parameter(name="--all", help="List the fate of every node.")] = False,
    json: Annotated[Flag, Parameter(help="Print the report as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Convert a file, tell what became of every part of it, and prove the output by numbers.

    Exit code 0: written. 1: the file has errors, or (with --strict) something would be lost. 2: it could not run.
    """
    if out == STDIN:
        raise ExoskelError("the output has to be a file: its folder and ending matter")
    wanted: dict[str, Any] = {
        "to": to, "target": for_, "approximate": approximate, "lower": lower,
        "world": world, "model": model, "up": up, "meshes": meshes, "strict": strict,
    }  # fmt: skip
    if file != STDIN and Path(file).is_dir():
        from exoskel.cli.convert_folder import convert_folder

        return convert_folder(Path(file), Path(out), wanted, flags, json=json, report=report)
    if report is not None:
        raise ExoskelError("--report is for folders; --json prints the report of a single file")
    scene = read(file, flags)
    if not scene.worlds:
        for diagnostic in scene.diagnostics:
            terminal.complain(str(diagnostic))
        return 1
    try:
        with terminal.working(f"converting {printable(file)}"):
            done = convert_scene(scene, out, **wanted)
    except RefusedError as refusal:
        _tell(refusal.report, json, all_)
        terminal.complain(str(refusal))
        return 1
    _tell(done, json, all_)
    if not done.saved:
        terminal.complain("the certificate failed; nothing was written")
        return 1
    return int(has_errors(done.diagnostics))


def _tell(report: Report, json: bool, everything: bool) -> None:
    if json:
        terminal.write_json(report.as_dict())
    else:
        _show(report, everything)
        _warn(report, everything)


def _warn(report: Report, everything: bool) -> None:
    """What the reader had to say: whoever converts a file has often never checked it."""
    found = in_file_order(report.diagnostics)
    bad = [finding for finding in found if finding.severity is not Severity.INFO]
    shown = found if everything else bad[:_MOST_LISTED]
    for finding in shown:
        terminal.remark(str(finding))
    if found:
        more = "" if len(shown) == len(found) else " (exoskel check lists them all)"
        terminal.remark(f"{report.input}: {terminal.tally(found)}{more}")


def _show(report: Report, everything: bool) -> None:
    from rich.markup import escape
    from rich.table import Table

    console = terminal.console()
    source, target = report.formats
    console.print(
        f"[bold]{escape(printable(report.input))}[/] ({registry.by_name(source).label}) → "
        f"[bold]{escape(printable(report.output))}[/] ({registry.by_name(target).label})"
    )
    table = Table("nodes", "fate", "", box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.columns[0].justify = "right"
    for fate, number in report.fates.items():
        if number:
            kind = Fate(fate)
            table.add_row(str(number), f"[{_STYLES[kind]}]{fate}[/]", f"[dim]{_MEANING[kind]}[/]")
    console.print(table)
    _list(report, report.items if everything else report.losses, everything)
    for hint in report.hint.splitlines():
        console.print(f"[dim]hint:[/] {escape(printable(hint))}")
    checks = Table("certificate", "largest error", "tolerance", "", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for check in report.certificate.checks:
        error = "not the same" if check.max_error is None else f"{check.max_error:.2g}"
        mark = "[green]ok[/]" if check.passed else "[bold red]FAILED[/]"
        checks.add_row(check.name, error, f"{check.tolerance:g}", mark)
    console.print(checks)


def _list(report: Report, items: list[NodeFate], everything: bool) -> None:
    from rich.markup import escape

    console = terminal.console()
    shown = items if everything else items[:_MOST_LISTED]
    for item in shown:
        name = escape(printable(item.file or report.input))
        why = f": {escape(printable(item.why))}" if item.why else ""
        console.print(
            f"{name}:{item.line}: [{_STYLES[item.fate]}]{item.fate}[/] {escape(printable(item.path))}[dim]{why}[/]"
        )
    if len(shown) < len(items):
        console.print(f"[dim]… and {len(items) - len(shown)} more (--all lists every node)[/]")
