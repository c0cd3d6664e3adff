"""`exoskel samples`: list or copy the bundled sample scenes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

from exoskel.cli import terminal
from exoskel.cli.parameters import Argument
from exoskel.diagnostics import ExoskelError, did_you_mean, pluralize, printable
from exoskel.samples import Sample
from exoskel.samples import samples as all_samples
from exoskel.source.atomic_write import make_folder, write_atomically
from exoskel.source.file_access import has_content


def samples(
    names: Annotated[tuple[str, ...], Argument(help="Samples to list or copy; default: all.")] = (),
    /,
    *,
    copy: Annotated[Path | None, Argument(help="Copy the samples to this directory.")] = None,
    overwrite: Annotated[bool, Argument(help="Replace files that you have changed.")] = False,
    json: Annotated[bool, Argument(help="Print the list as JSON.")] = False,
) -> int:
    """List the bundled sample scenes, or copy them to a directory.

    Every command accepts a sample by its URI, `dart://sample/skel/NAME.skel`.
    """
    chosen = [_find(name) for name in names] or all_samples()
    if copy is not None:
        _copy(chosen, copy, overwrite)
    elif json:
        terminal.write_json([{"name": s.name, "uri": s.uri, "title": s.title, "path": str(s.path)} for s in chosen])
    else:
        _show(chosen)
    return 0


def _find(name: str) -> Sample:
    bundled = all_samples()
    for sample in bundled:
        if name in (sample.name, sample.path.name, sample.uri):
            return sample
    hint = did_you_mean(name, [sample.name for sample in bundled])
    raise ExoskelError(f"unknown sample {name!r}; {hint or 'list the samples with `exoskel samples`'}")


def _show(chosen: list[Sample]) -> None:
    width = max(len(sample.uri) for sample in chosen)
    for sample in chosen:
        line = terminal.StyledText(f"{sample.uri:<{width}}", "cyan")
        line.append(f"  {sample.title}")
        terminal.print_text(line)


def _copy(chosen: list[Sample], directory: Path, overwrite: bool) -> None:
    """Copy samples with their folders, so that references between files still work."""
    found = [(one.root, source) for one in chosen for source in one.files()]
    files = {directory / source.relative_to(root): source.read_bytes() for root, source in found}
    differs = [path for path, data in files.items() if os.path.lexists(path) and not has_content(path, data)]
    if differs and not overwrite:
        raise ExoskelError(f"{str(differs[0])!r} exists and differs from the sample; use --overwrite to replace it")
    for target, data in files.items():
        make_folder(target.parent)
        write_atomically(target, data)
    terminal.print_text(f"{pluralize(len(chosen), 'sample')} copied to {printable(str(directory))}")
