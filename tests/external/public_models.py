"""Read, write and certify the public models that come with Python packages (`make test-external`).

`python -m tests.external.public_models --python PYTHON` uses the packages that PYTHON has installed, without
importing them.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib.metadata import PackageNotFoundError, distributions
from pathlib import Path
from typing import Any

from exoskel.conversion.folder import FolderRow, convert_files
from exoskel.formats.file_search import scene_files
from tests.external.record import is_older
from tests.support.places import GOLDEN

FILE = GOLDEN / "public.json"
PACKAGES = {
    "dm_control": "dm-control",
    "gymnasium": "gymnasium",
    "mujoco": "mujoco",
    "newton": "newton",
    "pydrake": "drake",
}
"""Packages by folder."""
FORMATS = ("skel", "xode", "mjcf", "urdf", "sdf", "usd", "gltf")
_ASSETS = "dm_control/locomotion/walkers/assets"
REJECTED = {
    f"{_ASSETS}/build_fruitfly/floor.xml": "MJ105",
    f"{_ASSETS}/build_fruitfly/fruitfly.xml": "MJ105",
    f"{_ASSETS}/dog_v2/scene.xml": "MJ106",
    "dm_control/mjcf/test_assets/test_model.xml": "MJ106",
}
"""Files that MuJoCo rejects too, because something in them is missing or wrong, and the expected code."""
INCOMPLETE = {
    f"{_ASSETS}/build_fruitfly/assets/drosophila.xml": "MJ105",
    "dm_control/mjcf/test_assets/included_with_invalid_filenames.xml": "MJ105",
    "dm_control/mjcf/test_assets/model_with_invalid_filenames.xml": "MJ104",
    "dm_control/mujoco/testing/assets/model_with_assets.xml": "MJ105",
}
"""Files that are converted without the files that they lack, and the expected code; MuJoCo rejects them."""
NOTHING = "URDF files contain one model, but the world has none"
"""The error for a file without bodies, which other files include, when it is converted to URDF."""

Result = tuple[str, dict[str, FolderRow]]


def models(site: Path, package: str) -> list[Path]:
    """The scenes among the files of a package."""
    folder = site / package
    return scene_files(folder) if folder.is_dir() else []


def convert_to_all(site: Path, file: Path) -> Result:
    """Convert a file to each format."""
    rows = {}
    with tempfile.TemporaryDirectory() as output:
        for format in FORMATS:
            (rows[format],) = convert_files([file], site, Path(output) / format, {"to": format}, {})
    return file.relative_to(site).as_posix(), rows


def faults(name: str, rows: dict[str, FolderRow]) -> Iterator[str]:
    """Unexpected results."""
    code = REJECTED.get(name) or INCOMPLETE.get(name, "")
    for format, row in rows.items():
        if format == "urdf" and row.problem == NOTHING:
            continue
        if name in REJECTED and row.output:
            yield f"{name} to {format}: expected {code}, but it is written"
        elif (name not in REJECTED and not (row.output and row.certificate)) or not (code or row.ok):
            yield f"{name} to {format}: {row.problem}"
        elif code and not row.problem.endswith(f"({code})"):
            yield f"{name} to {format}: expected {code}, but: {row.problem or 'no error'}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.external.public_models", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="a Python with the packages installed")
    parser.add_argument("--only", default="", help="convert only models whose paths contain this text")
    options = parser.parse_args()
    site = _site(options.python)
    versions = {name: _version(site, package) for name, package in PACKAGES.items()}
    files = [file for name in PACKAGES for file in models(site, name)]
    chosen = [file for file in files if options.only in file.relative_to(site).as_posix()]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(partial(convert_to_all, site), chosen))
    found = [fault for name, rows in results for fault in faults(name, rows)]
    for package, version in versions.items():
        own = [rows for name, rows in results if name.startswith(f"{package}/")]
        done = sum(all(row.certificate or row.problem == NOTHING for row in rows.values()) for rows in own)
        print(f"{package} {version or 'is NOT INSTALLED'}: {done} of {len(own)} models certified in every format")
    if found:
        print(f"\n{len(found)} faults:", *found, sep="\n")
        return 1
    missing = [package for package, version in versions.items() if version is None]
    if missing or options.only:
        print(
            f"Not recorded: {', '.join(missing)} could not be read." if missing else "Not recorded: only some models."
        )
        return 0
    _save(results, {name: version for name, version in versions.items() if version is not None})
    return 0


def _site(python: str) -> Path:
    asked = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    return Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())


def _version(site: Path, package: str) -> str | None:
    try:
        return next(iter(distributions(name=package, path=[str(site)]))).version
    except (StopIteration, PackageNotFoundError):
        return None


def updated(before: dict[str, Any], results: list[Result], versions: dict[str, str]) -> dict[str, Any]:
    """The versions and models to record: packages that are older than the recorded ones stay as they were."""
    found = {name: _summary_row(rows) for name, rows in results}
    recorded: dict[str, str] = before.get("versions", {})
    older = {package for package, version in versions.items() if is_older(version, recorded.get(package, ""))}
    models: dict[str, Any] = {}
    for package in PACKAGES:
        if package in older:
            print(f"Not recorded: {package} {versions[package]} is older than {recorded[package]}.")
        source = before["models"] if package in older else found
        models |= {name: row for name, row in source.items() if name.startswith(f"{package}/")}
    return {"versions": {**versions, **{package: recorded[package] for package in older}}, "models": models}


def _save(results: list[Result], versions: dict[str, str]) -> None:
    """Record the results; the date changes only with them."""
    before = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    new = updated(before, results, versions)
    if {key: before.get(key) for key in new} != new:
        date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in new["models"].items())
        head = f'"date": {json.dumps(date)},\n"versions": {json.dumps(new["versions"])},\n'
        FILE.write_text(f'{{\n{head}"models": {{\n{lines}\n}}}}\n', encoding="utf-8")
        print(f"Recorded in {FILE.name}.")


def _summary_row(rows: dict[str, FolderRow]) -> dict[str, Any]:
    problem = next((row.problem for row in rows.values() if not row.ok and row.problem != NOTHING), "")
    if not any(row.output for row in rows.values()):
        return {"refused": problem}
    losses = {format: row.losses if row.output else None for format, row in rows.items()}
    return {"losses": losses, **({"error": problem} if problem else {})}


if __name__ == "__main__":
    sys.exit(main())
