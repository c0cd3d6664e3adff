"""`exoskel convert FOLDER OUT --to FORMAT`: many files, a progress bar, and a table at the end."""

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
    """Convert all scenes of a folder; exit code 1 if any of them could not be."""
    from exoskel.convert.folder import convert_files, scene_files

    if report is not None and report.suffix.lower() not in (".md", ".json"):
        raise ExoskelError(f"a report is a .md or a .json file, not {str(report)!r}")
    files = scene_files(folder)
    if not files:
        raise ExoskelError(f"there are no scenes in {str(folder)!r}")
    options = (flags or ReadFlags()).options()
    rows: list[FolderRow] = []
    with terminal.counting("converting", len(files)) as advance:
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
        mark = "[green]ok[/]" if row.ok else "[bold red]no[/]"
        proof = "–" if row.certificate is None else "[green]passed[/]" if row.certificate else "[bold red]FAILED[/]"
        table.add_row(
            escape(printable(row.file)),
            mark,
            str(row.warnings),
            str(row.losses),
            proof,
            f"{row.seconds:.2f} s",
            escape(printable(row.problem)),
        )
    console = terminal.console()
    console.print(table)
    done = sum(row.ok for row in rows)
    console.print(f"{done} of {terminal.counted(len(rows), 'file')} converted", style="bold")
