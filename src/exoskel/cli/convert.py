"""`exoskel convert`: convert a file or a folder, with a fate for every node and a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import structs

from exoskel.cli import terminal
from exoskel.cli.flags import ReadFlags, read_scene
from exoskel.cli.parameters import Argument
from exoskel.cli.terminal import STDIN
from exoskel.conversion.driver import convert as convert_scene
from exoskel.conversion.extreme_numbers import ExtremeNumberError
from exoskel.conversion.report import RefusedError, Report
from exoskel.diagnostics import ExoskelError, Severity, has_errors, pluralize, printable, sort_by_position
from exoskel.fates import Fate, NodeFate
from exoskel.formats import registry
from exoskel.scene.lowering.up_axis import Up
from exoskel.source.output_context import Target

if TYPE_CHECKING:
    from rich.console import Console

    from exoskel.conversion.folder import FolderRow


def convert_folder(
    folder: Path, out: Path, wanted: dict[str, Any], flags: ReadFlags | None, *, json: bool, report: Path | None
) -> int:
    """Convert all scenes in a folder; the exit code is 1 if any file has errors or is not converted."""
    from exoskel.conversion.folder import convert_files
    from exoskel.formats.file_search import scene_files
    from exoskel.source.atomic_write import check_writable

    if report is not None and report.suffix.lower() not in (".md", ".json"):
        raise ExoskelError(f"cannot write a report to {str(report)!r}: the extension must be .md or .json")
    if report is not None:
        check_writable(report)  # before a long conversion
    files = scene_files(folder)
    if not files:
        raise ExoskelError(f"no scene files found in {str(folder)!r}")
    options = (flags or ReadFlags()).load_options()
    rows: list[FolderRow] = []
    with terminal.file_progress_bar("converting", len(files)) as advance:
        for row in convert_files(files, folder, out, wanted, options):
            rows.append(row)
            advance(row.file)
    title = f"{folder.name} to {registry.by_name(wanted['to']).label}"
    if json:
        terminal.write_json(_as_dicts(rows))
    else:
        _show_folder(rows)
    if report is not None:
        _write(report, rows, title)
    return int(not all(row.ok for row in rows))


def _as_dicts(rows: list[FolderRow]) -> list[dict[str, Any]]:
    return [structs.asdict(row) for row in rows]


def _write(path: Path, rows: list[FolderRow], title: str) -> None:
    from exoskel.conversion.folder import markdown
    from exoskel.source.atomic_write import write_atomically

    is_json = path.suffix.lower() == ".json"
    data = terminal.format_json(_as_dicts(rows)) if is_json else markdown(rows, title).encode()
    write_atomically(path, data)


def _show_folder(rows: list[FolderRow]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from exoskel.conversion.folder import count_converted, count_hints

    table = Table("file", "", "errors", "warnings", "losses", "certificate", "time", "", box=None, pad_edge=False)
    for column in (2, 3, 4, 6):
        table.columns[column].justify = "right"
    for row in rows:
        mark = "[green]ok[/]" if row.ok else "[bold red]errors[/]" if row.output else "[bold red]failed[/]"
        verdict = "–" if row.certificate is None else "[green]passed[/]" if row.certificate else "[bold red]FAILED[/]"
        table.add_row(
            escape(printable(row.file)),
            mark,
            str(row.errors),
            str(row.warnings),
            str(row.losses),
            verdict,
            f"{row.seconds:.2f} s",
            escape(printable(row.problem)),
        )
    console = terminal.console()
    console.print(table)
    console.print(count_converted(rows), style="bold")
    for hint in count_hints(rows):
        _show_hint(hint, console)


# --- one file ------------------------------------------------------------------------------------------


_UP = "Rotate the world so that this axis points up; use `y-to-z` or `z-to-y` if the current one is unknown."
_MAX_LISTED = 20
_MAX_PER_CAUSE = 5
_MAX_NAMED = 12
_STYLES = {
    Fate.EXACT: "green",
    Fate.LOWERED: "green",
    Fate.APPROXIMATED: "yellow",
    Fate.KEPT: "cyan",
    Fate.DROPPED: "red",
}
_MEANING = {
    Fate.EXACT: "same meaning in the output",
    Fate.LOWERED: "other elements, same physics",
    Fate.APPROXIMATED: "expressed approximately",
    Fate.KEPT: "preserved: as extra data, or as it is",
    Fate.DROPPED: "not in the output",
}


def convert(
    file: Annotated[str, Argument(help="File or folder to convert; `-` is standard input.")],
    out: Annotated[
        str,
        Argument(help="File to write (its extension selects the format), or a folder; `-` is standard output."),
    ],
    /,
    *,
    to: Annotated[str | None, Argument(help="Output format, instead of the one the extension selects.")] = None,
    for_: Annotated[
        Target,
        Argument(
            names=("--for",),
            help="Write for any reader, or for one: XODE for pyode, MJCF, SDF and URDF for dart, USD for isaac.",
        ),
    ] = "portable",
    approximate: Annotated[bool, Argument(help="With --for pyode: write the nearest masses PyODE can read.")] = False,
    lower: Annotated[
        bool, Argument(help="Replace unsupported joints with chains of supported joints and light bodies.")
    ] = False,
    decompose: Annotated[bool, Argument(help="Replace concave meshes that collide with convex parts (CoACD).")] = False,
    world: Annotated[str | None, Argument(help="World to convert, if the file has several.")] = None,
    model: Annotated[str | None, Argument(help="Convert only this model.")] = None,
    split: Annotated[bool, Argument(help="Write one file per model into a folder: URDF and SDF.")] = False,
    up: Annotated[Up | None, Argument(help=_UP)] = None,
    meshes: Annotated[
        Literal["reference", "absolute", "copy"],
        Argument(help="Mesh files: write relative paths, write absolute paths, or copy the files next to the output."),
    ] = "reference",
    report: Annotated[
        Path | None, Argument(help="With a folder: also write the table of results to this .md or .json file.")
    ] = None,
    strict: Annotated[bool, Argument(help="Write nothing if anything is lost or the certificate fails.")] = False,
    overwrite: Annotated[
        bool, Argument(help="Allow an output that is an input file, or a mesh or include of one.")
    ] = False,
    all_: Annotated[bool, Argument(names=("--all",), help="List the fate of every node.")] = False,
    json: Annotated[bool, Argument(help="Print the report as JSON.")] = False,
    flags: ReadFlags | None = None,
) -> int:
    """Convert a file, report what happens to every node, and verify the output numerically.

    With `-` as output, standard output has only the document; the report goes to standard error.

    Exit code 0: written. 1: the file has errors, or (with --strict) something would be lost. 2: it could not run.
    """
    to_stdout = out == STDIN
    if to_stdout:
        _check_stdout(file, to, json=json)
    wanted: dict[str, Any] = {
        "to": to, "target": for_, "approximate": approximate, "lower": lower, "decompose": decompose,
        "world": world, "model": model, "split": split, "up": up, "meshes": meshes, "strict": strict,
        "overwrite": overwrite,
    }  # fmt: skip
    if file != STDIN and Path(file).is_dir():
        return convert_folder(Path(file), Path(out), wanted, flags, json=json, report=report)
    if report is not None:
        raise ExoskelError("--report works only with folders; use --json for a single file")
    scene = read_scene(file, flags)
    if not scene.worlds:
        for diagnostic in scene.diagnostics:
            terminal.print_message(str(diagnostic))
        return 1
    try:
        with terminal.spinner(f"converting {printable(file)}"):
            if to_stdout:
                result = convert_scene(scene, folder=Path.cwd(), **wanted)
            else:
                result = convert_scene(scene, out, **wanted)
    except RefusedError as refusal:
        _print_report(refusal.report, json, all_, stderr=to_stdout)
        terminal.print_message(str(refusal))
        return 1
    except ExtremeNumberError as refusal:
        for diagnostic in refusal.diagnostics:
            terminal.print_message(str(diagnostic))
        return 1
    _print_report(result, json, all_, stderr=to_stdout)
    if to_stdout:
        _write_document(result)
    if not result.saved:
        terminal.print_message("the certificate failed; nothing was written")
        return 1
    return int(has_errors(result.diagnostics))


def _check_stdout(file: str, to: str | None, *, json: bool) -> None:
    """Refuse what cannot be combined with a document on standard output."""
    if to is None:
        raise ExoskelError("a document on standard output needs a format: use --to FORMAT")
    if json:
        raise ExoskelError("--json cannot be combined with a document on standard output; write to a file")
    if file != STDIN and Path(file).is_dir():
        raise ExoskelError("a folder cannot be converted to standard output; pass a folder")


def _write_document(report: Report) -> None:
    """Write the document to standard output, if its certificate passed."""
    if report.companions:
        names = ", ".join(printable(name) for name in list(report.companions)[:_MAX_NAMED])
        raise ExoskelError(f"the document needs files beside it ({names}); write to a file instead of standard output")
    if report.certificate.passed:
        terminal.write_bytes(report.data)
        report.saved = True


def _print_report(report: Report, json: bool, everything: bool, *, stderr: bool) -> None:
    if json:
        terminal.write_json(report.as_dict())
    else:
        _show(report, everything, terminal.console(stderr=stderr))
        _print_diagnostics(report, everything)


def _print_diagnostics(report: Report, everything: bool) -> None:
    """Print the diagnostics of the input: many users convert files they have never checked."""
    diagnostics = sort_by_position(report.diagnostics)
    problems = [diagnostic for diagnostic in diagnostics if diagnostic.severity is not Severity.INFO]
    printed = diagnostics if everything else problems[:_MAX_LISTED]
    for diagnostic in printed:
        terminal.print_line(str(diagnostic))
    if diagnostics:
        more = "" if len(printed) == len(diagnostics) else " (use `exoskel check` to list all)"
        terminal.print_line(f"{report.input}: {terminal.tally(diagnostics)}{more}")


def _show(report: Report, everything: bool, console: Console) -> None:
    from rich.markup import escape
    from rich.table import Table

    source, target = report.formats
    console.print(
        f"[bold]{escape(printable(report.input))}[/] ({registry.by_name(source).label}) → "
        f"[bold]{escape(printable(report.output)) or 'standard output'}[/] ({registry.by_name(target).label})"
    )
    table = Table("nodes", "fate", "", box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.columns[0].justify = "right"
    for fate, number in report.fates.items():
        if number:
            kind = Fate(fate)
            table.add_row(str(number), f"[{_STYLES[kind]}]{fate}[/]", f"[dim]{_MEANING[kind]}[/]")
    console.print(table)
    for refusal in report.refusals:
        console.print(f"[bold red]refused:[/] {escape(printable(refusal))}")
    if everything:
        for item in report.items:
            _list_node(report, item, item.why, console)
    else:
        _list_losses(report, console)
    for hint in report.hint.splitlines():
        _show_hint(hint, console)
    checks = Table("certificate", "largest error", "tolerance", "", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for check in report.certificate.checks:
        error = "different" if check.max_error is None else f"{check.max_error:.2g}"
        mark = "[green]ok[/]" if check.passed else "[bold red]FAILED[/]"
        checks.add_row(check.name, error, f"{check.tolerance:g}", mark)
    console.print(checks)


def _show_hint(hint: str, console: Console) -> None:
    from rich.markup import escape

    console.print(f"[dim]hint:[/] {escape(printable(hint))}")


def _list_losses(report: Report, console: Console) -> None:
    """List what is lost, by cause; nodes inside of a lost one are counted with it."""
    listed = 0
    left = 0
    for group in report.loss_groups:
        if group.unselected:
            continue
        few = group.nodes[: min(_MAX_PER_CAUSE, _MAX_LISTED - listed)]
        for node in few:
            inside = f" (with {pluralize(node.inside, 'node')} inside)" if node.inside else ""
            _list_node(report, node.top, node.top.why + inside, console)
        listed += len(few)
        left += sum(1 + node.inside for node in group.nodes[len(few) :])
    if left:
        console.print(f"[dim]… and {pluralize(left, 'more node')} lost (use --all to list every node)[/]")
    _list_unselected(report, console)
    unlisted = report.without_effect
    if unlisted:
        console.print(
            f"[dim]not listed: {pluralize(unlisted, 'node')} without effect (use --all to list every node)[/]"
        )


def _list_unselected(report: Report, console: Console) -> None:
    """Name the worlds and models that were not selected, each kind in one line."""
    from rich.markup import escape

    counts = {group.unselected: group.count for group in report.loss_groups if group.unselected}
    rows = (
        ("world", report.unselected.worlds, counts.get("world", 0)),
        ("model", report.unselected.models, counts.get("model", 0)),
    )
    for what, names, nodes in rows:
        if names:
            more = f", … and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
            shown = escape(printable(", ".join(names[:_MAX_NAMED]) + more))
            console.print(f"[dim]{pluralize(len(names), what)} not selected: {shown} ({pluralize(nodes, 'node')})[/]")


def _list_node(report: Report, item: NodeFate, why: str, console: Console) -> None:
    from rich.markup import escape

    name = escape(printable(item.file or report.input))
    reason = f": {escape(printable(why))}" if why else ""
    fate = f"[{_STYLES[item.fate]}]{item.fate}[/]"
    console.print(f"{name}:{item.line}: {fate} {escape(printable(item.path))}[dim]{reason}[/]")
