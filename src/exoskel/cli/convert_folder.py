"""`exoskel convert FOLDER OUT --to FORMAT`: convert many files, with a progress bar and a table of results."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import structs

from exoskel.cli import terminal
from exoskel.cli.read_flags import ReadFlags
from exoskel.diagnostics import ExoskelError, printable
from exoskel.formats import registry

if TYPE_CHECKING:
    from exoskel.convert.folder import FolderRow


def convert_folder(
    folder: Path, out: Path, wanted: dict[str, Any], flags: ReadFlags | None, *, json: bool, report: Path | None
) -> int:
    """Convert all scenes in a folder; the exit code is 1 if any conversion fails."""
    from exoskel.convert.folder import convert_files, scene_files

    if report is not None and report.suffix.lower() not in (".md", ".json"):
        raise ExoskelError(f"cannot write a report to {str(report)!r}: the extension must be .md or .json")
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
        _show(rows)
    if report is not None:
        _write(report, rows, title)
    return int(not all(row.ok for row in rows))


def _as_dicts(rows: list[FolderRow]) -> list[dict[str, Any]]:
    return [structs.asdict(row) for row in rows]


def _write(path: Path, rows: list[FolderRow], title: str) -> None:
    import msgspec

    from exoskel.convert.folder import markdown
    from exoskel.source.atomic_write import write_atomically

    is_json = path.suffix.lower() == ".json"
    data = msgspec.json.format(msgspec.json.encode(_as_dicts(rows))) if is_json else markdown(rows, title).encode()
    write_atomically(path, data)


def _show(rows: list[FolderRow]) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table("file", "", "warnings", "losses", "certificate", "time", "", box=None, pad_edge=False)
    for column in (2, 3, 5):
        table.columns[column].justify = "right"
    for row in rows:
        mark = "[green]ok[/]" if row.ok else "[bold red]failed[/]"
        verdict = "–" if row.certificate is None else "[green]passed[/]" if row.certificate else "[bold red]FAILED[/]"
        table.add_row(
            escape(printable(row.file)),
            mark,
            str(row.warnings),
            str(row.losses),
            verdict,
            f"{row.seconds:.2f} s",
            escape(printable(row.problem)),
        )
    console = terminal.console()
    console.print(table)
    converted = sum(row.ok for row in rows)
    console.print(f"{converted} of {terminal.pluralize(len(rows), 'file')} converted", style="bold")
