"""Converts folders of scenes to every format and writes a page of the results: `python tools/make_corpus.py FOLDER …`.

The page records date and versions, because the folders belong to other projects and are not part of this one.
"""

from __future__ import annotations

import sys
import tempfile
from datetime import date
from importlib.metadata import version
from pathlib import Path

from exoskel.conversion.folder import FolderRow, convert_files
from exoskel.formats import registry
from exoskel.formats.file_search import scene_files
from exoskel.version import __version__

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "conversion-results.md"
PARTS = ("mujoco", "lxml", "numpy", "usd-core")


def main() -> None:
    folders = [Path(name).resolve() for name in sys.argv[1:]]
    targets = [one.name for one in registry.FORMATS]
    found: dict[str, dict[str, FolderRow]] = {}
    for folder in folders:
        files = scene_files(folder)
        for target in targets:
            with tempfile.TemporaryDirectory() as output:
                for row in convert_files(files, folder, Path(output), {"to": target}, {}):
                    found.setdefault(f"{folder.name}/{row.file}", {})[target] = row
            print(f"{folder.name}: {len(files)} files to {target}", flush=True)
    PAGE.write_text(page(found, targets), encoding="utf-8")


def page(found: dict[str, dict[str, FolderRow]], targets: list[str]) -> str:
    versions = ", ".join(f"{name} {version(name)}" for name in PARTS)
    labels = [registry.by_name(name).label for name in targets]
    rows = [row for own in found.values() for row in own.values()]
    certified = sum(row.certificate is True for row in rows)
    lines = [
        "# Files from other projects",
        "",
        "This page is a record of `python tools/make_corpus.py FOLDER …`; do not edit it. Each cell says whether the "
        "certificate passed, how many nodes of the input were lost or approximated, and how long reading, writing and "
        "verifying took. The conversion reports each loss with its line.",
        "",
        f"Recorded on {date.today().isoformat()} with exoskel {__version__}, {versions}.",
        f"{certified} of {len(rows)} conversions are certified.",
        "",
        "| file | warnings | " + " | ".join(labels) + " |",
        "|---|---|" + "---|" * len(labels),
    ]
    for name, own in found.items():
        warnings = next(iter(own.values())).warnings
        lines.append(f"| {name} | {warnings} | " + " | ".join(_cell(own[target]) for target in targets) + " |")
    return "\n".join(lines) + "\n"


def _cell(row: FolderRow) -> str:
    if row.certificate is None:
        return row.problem.replace("|", "\\|").replace("<", "\\<") or "nothing to convert"
    verdict = "certified" if row.certificate else row.problem
    return f"{verdict}, {row.losses} lost, {1e3 * row.seconds:.0f} ms"


if __name__ == "__main__":
    main()
