"""Conversion of whole folders, with a table of the results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Any

from msgspec import Struct, field

from exoskel.conversion.driver import convert
from exoskel.conversion.report import RefusedError, Report
from exoskel.diagnostics import Diagnostic, ExoskelError, Severity, pluralize, printable, sort_by_position
from exoskel.formats import registry
from exoskel.formats.load import load, source_files
from exoskel.scene.world import Scene
from exoskel.source.atomic_write import make_folder
from exoskel.source.file_access import case_key


class LossCount(Struct, frozen=True):
    """How many nodes of a file are lost for one reason; `harm` is that of `LossGroup`."""

    harm: int
    why: str
    nodes: int


class FolderRow(Struct):
    """The result of converting one file: `ok` if it was written and has no errors.

    `output` is empty and `certificate` is None if nothing was written.
    """

    file: str
    ok: bool
    errors: int = 0
    warnings: int = 0
    losses: int = 0
    certificate: bool | None = None
    seconds: float = 0.0
    output: str = ""
    problem: str = ""
    hint: str = ""
    """Options that may help, and losses that no single node shows; one per line."""
    causes: list[LossCount] = field(default_factory=list)
    """The losses by reason, the most harmful first; their nodes add up to `losses`."""


def convert_files(
    files: list[Path], folder: Path, output: Path, options: dict[str, Any], load_options: dict[str, Any]
) -> Iterator[FolderRow]:
    """Convert files in `folder` into `output`, with the same relative paths; yields one row per file.

    `options` are those of `convert`, with `to` required; `load_options` are those of `load`.
    """
    if not options.get("to"):
        raise ExoskelError("converting a folder needs a format: use --to FORMAT (to=)")
    make_folder(output)
    extension = registry.by_name(options["to"]).extensions[0]
    outputs = _plan_outputs([file.relative_to(folder) for file in files], output, extension)
    protected = set(files)
    read_first: dict[Path, Scene] = {}
    if any(map(_may_overwrite, outputs)):
        if options.get("overwrite"):
            read_first = _read_replaced(files, outputs, load_options)
        else:
            protected |= _used_files(files, load_options)
    options = {**options, "protected": protected}
    for file, path in zip(files, outputs, strict=True):
        yield _convert_file(file, file.relative_to(folder), path, options, load_options, read_first.pop(file, None))


def _plan_outputs(files: list[Path], output: Path, extension: str) -> list[Path]:
    """A path in `output` for each file, all different."""
    found: dict[str, Path] = {}
    for file in files:
        has_macros = file.suffix == ".xacro" and registry.by_extension(file.stem) is not None  # robot.urdf.xacro
        path = output / (file.with_suffix("") if has_macros else file).with_suffix(extension)
        if case_key(path) in found:  # the same name in another format
            path = output / file.with_name(file.name.replace(".", "_") + extension)
        while case_key(path) in found:  # or in another case, which some systems do not distinguish
            path = path.with_stem(path.stem + "_")
        found[case_key(path)] = path
    return list(found.values())


def _may_overwrite(path: Path) -> bool:
    """Whether an output exists, or the folder of its documents if each model becomes one.

    Copies of meshes have names that no other file has.
    """
    return path.exists() or path.with_suffix("").is_dir()


def _used_files(files: list[Path], load_options: dict[str, Any]) -> set[Path]:
    """The meshes that any of the files use, and the files they include."""
    found: set[Path] = set()
    for file in files:
        with suppress(ExoskelError, OSError):  # reported when it is converted
            found.update(source_files(load(file, **load_options)))
    return found


def _read_replaced(files: list[Path], outputs: list[Path], load_options: dict[str, Any]) -> dict[Path, Scene]:
    """The scenes of files that the conversion of another file replaces, or a file that they use."""
    writers = {case_key(path.resolve()): file for file, path in zip(files, outputs, strict=True)}
    folders = {case_key(path.with_suffix("").resolve()): file for file, path in zip(files, outputs, strict=True)}
    found: dict[Path, Scene] = {}
    for file in files:
        with suppress(ExoskelError, OSError):  # reported when it is converted
            scene = load(file, **load_options)
            for used in {case_key(used.resolve()) for used in (file, *source_files(scene))}:
                above = used.rpartition("/")[0]
                if writers.get(used, file) != file or folders.get(above, file) != file:
                    found[file] = scene
    return found


def _convert_file(
    file: Path, below: Path, path: Path, options: dict[str, Any], load_options: dict[str, Any], scene: Scene | None
) -> FolderRow:
    """Convert a file; `scene` is its content if it was read before."""
    start = perf_counter()
    row = FolderRow(below.as_posix(), ok=False)
    try:
        scene = load(file, **load_options) if scene is None else scene
        _add_diagnostics(row, scene.diagnostics)
        if not scene.worlds:
            row.problem = _worst(scene.diagnostics)
        else:
            place = _output_path(path, scene, options)
            make_folder(place.parent)
            _add_report(row, convert(scene, place, **options), place)
    except RefusedError as refusal:
        _add_report(row, refusal.report, None)
        row.problem = str(refusal)
    except (ExoskelError, OSError) as error:
        row.problem = str(error)
    row.seconds = perf_counter() - start
    return row


def _add_diagnostics(row: FolderRow, diagnostics: list[Diagnostic]) -> None:
    row.errors = sum(d.severity is Severity.ERROR for d in diagnostics)
    row.warnings = sum(d.severity is Severity.WARNING for d in diagnostics)


def _worst(diagnostics: list[Diagnostic]) -> str:
    """The first error, such as the one that stopped the reader; the first warning in a file without errors."""
    worst = sorted(sort_by_position(diagnostics), key=lambda d: d.severity is not Severity.ERROR)
    return next((f"{d.message} ({d.code})" for d in worst), "the file is empty")


def _output_path(path: Path, scene: Scene, options: dict[str, Any]) -> Path:
    """A file, or a folder if each model becomes a document."""
    target = registry.by_name(options["to"])
    several = len(scene.worlds) == 1 and len(scene.world.models) != 1 and options.get("model") is None
    is_split = bool(options.get("split")) or (target.holds_one_model and several)
    return path.with_suffix("") if is_split else path


def _add_report(row: FolderRow, report: Report, place: Path | None) -> None:
    _add_diagnostics(row, report.diagnostics)
    row.losses = len(report.losses)
    row.causes = [LossCount(group.harm, group.why, group.count) for group in report.loss_groups]
    row.hint = report.hint
    row.certificate = report.certificate.passed
    row.ok = report.saved and not row.errors
    row.output = place.as_posix() if place is not None and report.saved else ""
    if not report.certificate.passed:
        failed = next(check.name for check in report.certificate.checks if not check.passed)
        row.problem = f"the certificate failed: {failed}"
    elif row.errors:
        row.problem = _worst(report.diagnostics)
    elif report.refusals:
        row.problem = report.refusals[0]


def markdown(rows: list[FolderRow], title: str) -> str:
    """The results as Markdown: a summary, a table of the files, and what they lose."""
    certified = sum(row.certificate is True for row in rows)
    lines = [f"# {_as_markdown(title)}", "", f"{count_converted(rows)}, {certified} certified.", ""]
    for hint in count_hints(rows):
        lines += [f"Hint: {_as_markdown(hint)}", ""]
    lines += [
        "| file | ok | errors | warnings | losses | certificate | time | problem |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = (
            row.file,
            _yes_or_no(row.ok),
            row.errors,
            row.warnings,
            row.losses,
            _yes_or_no(row.certificate),
            f"{row.seconds:.2f} s",
            row.problem,
        )
        lines.append("| " + " | ".join(_as_markdown(str(cell)) for cell in cells) + " |")
    return "\n".join([*lines, *_list_losses(rows)]) + "\n"


_QUOTED = re.compile(r"'[^']*'")
"""Names and values in reasons, which differ from node to node."""
_HARMS = (
    "Refused by the reader",
    "Missing physics",
    "Different physics",
    "Missing names and appearance",
    "Not selected",
)
"""The headings of losses, in the order of `LossGroup.harm`."""


def _list_losses(rows: list[FolderRow]) -> list[str]:
    """The losses of all files by harm and reason, those of most nodes first; the numbers add up to the total."""
    total, affected = sum(row.losses for row in rows), sum(bool(row.losses) for row in rows)
    if not total:
        return []
    lines = ["", "## Losses", "", f"{pluralize(total, 'node')} in {pluralize(affected, 'file')}."]
    nodes: Counter[tuple[int, str]] = Counter()
    files: Counter[tuple[int, str]] = Counter()
    for row in rows:
        own = Counter[tuple[int, str]]()
        for cause in row.causes:
            own[cause.harm, _QUOTED.sub("'…'", cause.why)] += cause.nodes
        nodes += own
        files.update(own.keys())
    for harm, heading in enumerate(_HARMS):
        found = [(why, count) for (own_harm, why), count in nodes.most_common() if own_harm == harm]
        if found:
            lines += ["", f"### {heading}: {pluralize(sum(count for _, count in found), 'node')}", ""]
        for why, count in found:
            reason = _as_markdown(why) or "no reason given"
            lines.append(f"- {reason}: {pluralize(count, 'node')} in {pluralize(files[harm, why], 'file')}")
    return lines


_MARKUP = re.compile(r"[\\|<>`*\[\]&]")


def _as_markdown(text: str) -> str:
    """A text that Markdown shows as it is, in one line."""
    return _MARKUP.sub(r"\\\g<0>", printable(text))


def count_converted(rows: list[FolderRow]) -> str:
    """How many files were converted, and how many of them although they have errors."""
    written = [row for row in rows if row.output]
    faulty = sum(not row.ok for row in written)
    return f"{len(written)} of {pluralize(len(rows), 'file')} converted" + (f", {faulty} with errors" if faulty else "")


def count_hints(rows: list[FolderRow]) -> list[str]:
    """The hints of all files, the most frequent first, each with the number of files."""
    found = Counter(hint for row in rows for hint in row.hint.splitlines())
    return [f"{hint} ({pluralize(number, 'file')})" for hint, number in found.most_common()]


def _yes_or_no(value: bool | None) -> str:
    return "–" if value is None else "yes" if value else "no"
