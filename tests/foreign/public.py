"""Public models that come with packages: each is read, written and certified (`make test-foreign`).

`python -m tests.foreign.public --python PYTHON` takes the packages that PYTHON has; none of them is imported.
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

from exoskel.convert.folder import FolderRow, convert_files, scene_files
from tests.support.places import GOLDEN

FILE = GOLDEN / "public.json"
PACKAGES = {
    "dm_control": "dm-control",
    "gymnasium": "gymnasium",
    "mujoco": "mujoco",
    "newton": "newton",
    "pydrake": "drake",
}
"""Folders and the packages they come in."""
FORMATS = ("skel", "xode", "mjcf", "urdf", "sdf", "usd", "gltf")
_ASSETS = "dm_control/locomotion/walkers/assets"
REFUSED = {
    f"{_ASSETS}/build_fruitfly/floor.xml": "MJ105",
    f"{_ASSETS}/build_fruitfly/fruitfly.xml": "MJ105",
    f"{_ASSETS}/dog_v2/scene.xml": "MJ106",
    "dm_control/mjcf/test_assets/test_model.xml": "MJ106",
}
"""Files that MuJoCo refuses too, since something is missing or wrong in them, and the code that says so."""
NOTHING = "URDF holds one model, and the world has none"
"""Why a file without any body, which others include, is no URDF."""

Result = tuple[str, dict[str, FolderRow]]


def models(site: Path, package: str) -> list[Path]:
    """The scenes among the files of a package."""
    folder = site / package
    return scene_files(folder) if folder.is_dir() else []


def tried(site: Path, file: Path) -> Result:
    """What becomes of a file in each format."""
    rows = {}
    with tempfile.TemporaryDirectory() as output:
        for format in FORMATS:
            (rows[format],) = convert_files([file], site, Path(output) / format, {"to": format}, {})
    return file.relative_to(site).as_posix(), rows


def faults(name: str, rows: dict[str, FolderRow]) -> Iterator[str]:
    """What should be otherwise."""
    code = REFUSED.get(name)
    for format, row in rows.items():
        if format == "urdf" and row.problem == NOTHING:
            continue
        if code is None and not (row.ok and row.certificate):
            yield f"{name} to {format}: {row.problem}"
        elif code is not None and f"({code}" not in row.problem:
            yield f"{name} to {format}: refused by {code}, it was said, but: {row.problem or 'it is not'}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.foreign.public", description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="a Python that has the packages")
    site = _site(parser.parse_args().python)
    versions = {name: _version(site, package) for name, package in PACKAGES.items()}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(partial(tried, site), [file for name in PACKAGES for file in models(site, name)]))
    found = [fault for name, rows in results for fault in faults(name, rows)]
    for package, version in versions.items():
        own = [rows for name, rows in results if name.startswith(f"{package}/")]
        done = sum(all(row.certificate or row.problem == NOTHING for row in rows.values()) for rows in own)
        print(f"{package} {version or 'is NOT INSTALLED'}: {done} of {len(own)} models certified in every format")
    if found:
        print(f"\n{len(found)} faults:", *found, sep="\n")
        return 1
    if all(versions.values()):
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


def _save(results: list[Result], versions: dict[str, str]) -> None:
    """The same findings keep their date."""
    scenes = {name: _told(rows) for name, rows in results}
    new: dict[str, Any] = {"versions": versions, "models": scenes}
    before = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    if {key: before.get(key) for key in new} != new:
        date = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in scenes.items())
        head = f'"date": {json.dumps(date)},\n"versions": {json.dumps(versions)},\n'
        FILE.write_text(f'{{\n{head}"models": {{\n{lines}\n}}}}\n', encoding="utf-8")
        print(f"Recorded in {FILE.name}.")


def _told(rows: dict[str, FolderRow]) -> dict[str, Any]:
    problem = next((row.problem for row in rows.values() if not row.ok and row.problem != NOTHING), "")
    if problem:
        return {"refused": problem}
    return {format: row.losses if row.ok else None for format, row in rows.items()}


if __name__ == "__main__":
    sys.exit(main())
