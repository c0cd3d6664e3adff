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
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct

import exoskel
from exoskel import spatial
from exoskel.conversion.folder import FolderRow, convert_files
from exoskel.formats.file_search import scene_files
from exoskel.scene.collision_filter import fixed_bodies
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.summary import moments
from exoskel.scene.world import Scene, World
from exoskel.spatial import Array
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
ROUND_TRIPS = (("usd", "mjcf"), ("mjcf", "usd"))
"""Each model is also converted to the first format and the result to the second, and compared with the model."""
_ROUND_TRIP_TOLERANCE = 1e-5
"""Relative; USD has single precision, whose errors add up along chains of joints."""
_ASSETS = "dm_control/locomotion/walkers/assets"
REJECTED = {
    f"{_ASSETS}/build_fruitfly/floor.xml": "MJ105",
    f"{_ASSETS}/build_fruitfly/fruitfly.xml": "MJ105",
    "dm_control/mjcf/test_assets/test_model.xml": "MJ106",
}
"""Files that MuJoCo rejects too, because something in them is missing or wrong, and the expected code."""
INCOMPLETE = {
    f"{_ASSETS}/dog_v2/scene.xml": "MJ106",
    f"{_ASSETS}/build_fruitfly/assets/drosophila.xml": "MJ105",
    "dm_control/mjcf/test_assets/included_with_invalid_filenames.xml": "MJ105",
    "dm_control/mjcf/test_assets/model_with_invalid_filenames.xml": "MJ104",
    "dm_control/mujoco/testing/assets/model_with_assets.xml": "MJ105",
    "newton/examples/assets/nv_humanoid.xml": "MJ106",
}
"""Files that are converted without what is missing or wrong, and the expected code; MuJoCo rejects them."""
NOTHING = "URDF files contain one model, but the world has none"
"""The error for a file without bodies, which other files include, when it is converted to URDF."""


class RoundTrip(Struct, frozen=True):
    """Why a model does not come through two formats (empty if it does), and how much its physics differs, relative."""

    problem: str
    difference: float


class Result(NamedTuple):
    """What became of a model in each format, and in each round trip."""

    name: str
    rows: dict[str, FolderRow]
    trips: dict[str, RoundTrip]


def models(site: Path, package: str) -> list[Path]:
    """The scenes among the files of a package."""
    folder = site / package
    return scene_files(folder) if folder.is_dir() else []


def convert_to_all(site: Path, file: Path) -> Result:
    """Convert a file to each format, and through the formats of each round trip."""
    rows, trips = {}, {}
    with tempfile.TemporaryDirectory() as output:
        for format in FORMATS:
            (rows[format],) = convert_files([file], site, Path(output) / format, {"to": format}, {})
        for first, second in ROUND_TRIPS:
            if rows[first].output and rows[first].certificate:
                between, folder = Path(rows[first].output), Path(output) / f"{first}-{second}"
                (row,) = convert_files([between], Path(output), folder, {"to": second}, {})
                trips[f"{first}-{second}"] = _round_trip(file, row)
    return Result(file.relative_to(site).as_posix(), rows, trips)


def _round_trip(file: Path, row: FolderRow) -> RoundTrip:
    if not (row.output and row.certificate):
        return RoundTrip(row.problem or "the certificate of the second conversion fails", inf)
    difference = physics_difference(exoskel.load(file), exoskel.load(row.output))
    return RoundTrip("" if difference <= _ROUND_TRIP_TOLERANCE else "the physics differs", difference)


def physics_difference(one: Scene, other: Scene) -> float:
    """How much what moves differs in mass, centre of mass, moments of inertia and coordinates, relative to the model.

    Bodies may be merged and joints become chains: what moves is compared as a whole, in its initial state.
    """
    mine, theirs = ([moving_whole(world) for world in scene.worlds] for scene in (one, other))
    if [whole.coordinates for whole in mine] != [whole.coordinates for whole in theirs]:
        return inf
    return max(map(_difference, mine, theirs), default=0.0)


class Whole(NamedTuple):
    """The moving models of a world as if they were one body."""

    coordinates: int
    values: Array
    """Mass (kg), centre of mass (m) and the moments about it (kg·m²), in world coordinates."""
    scales: Array
    """What a difference of each value is relative to."""


def moving_whole(world: World) -> Whole:
    """What the moving models of a world are together, in their initial state."""
    models = [model for model in world.models if not model.static]
    fixed = fixed_bodies(models)
    bodies = [body for model in models for body in model.bodies]
    moving = [id(body) not in fixed for body in bodies]
    coordinates = sum(model.dof_count for model in models)
    masses = np.array([body.mass for body in bodies]) * moving
    mass = float(masses.sum())
    if not mass:
        return Whole(coordinates, np.zeros(10), np.ones(10))
    poses = Kinematics(models).initial_poses()
    rotations = poses[:, :3, :3]
    places = poses[:, :3, 3] + np.einsum("bij,bj->bi", rotations, [body.com for body in bodies])
    centre = masses @ places / mass
    arms = places - centre
    own = (rotations @ spatial.moment_matrix(moments(bodies)) @ rotations.transpose(0, 2, 1))[moving]
    squares = np.einsum("bi,bj->bij", arms, arms)
    moved = np.einsum("b,bij->ij", masses, np.trace(squares, axis1=1, axis2=2)[:, None, None] * np.eye(3) - squares)
    tensor = own.sum(axis=0) + moved
    size = max(float(np.sqrt(np.trace(tensor) / mass)), float(np.abs(centre).max())) or 1.0
    scales = np.array([mass, *[size] * 3, *[float(np.trace(tensor)) or 1.0] * 6])
    return Whole(coordinates, np.array([mass, *centre, *tensor[np.triu_indices(3)]]), scales)


def _difference(one: Whole, other: Whole) -> float:
    return float(np.abs((one.values - other.values) / one.scales).max())


def faults(result: Result) -> Iterator[str]:
    """Unexpected results."""
    name, rows, trips = result
    for trip, found in trips.items():
        if found.problem and name not in INCOMPLETE:
            yield f"{name} through {trip}: {found.problem} (difference {found.difference:.1g})"
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
    found = [fault for result in results for fault in faults(result)]
    for package, version in versions.items():
        own = [one for one in results if one.name.startswith(f"{package}/")]
        done = sum(all(row.certificate or row.problem == NOTHING for row in one.rows.values()) for one in own)
        back = sum(is_complete(one.trips) for one in own)
        print(
            f"{package} {version or 'is NOT INSTALLED'}: {done} of {len(own)} models certified in every format, "
            f"{back} of them through USD and MJCF in both orders"
        )
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
    found = {result.name: _summary_row(result) for result in results}
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


def is_complete(trips: dict[str, RoundTrip]) -> bool:
    """Whether a model comes through all round trips."""
    return len(trips) == len(ROUND_TRIPS) and not any(trip.problem for trip in trips.values())


def _summary_row(result: Result) -> dict[str, Any]:
    rows = result.rows
    problem = next((row.problem for row in rows.values() if not row.ok and row.problem != NOTHING), "")
    if not any(row.output for row in rows.values()):
        return {"refused": problem}
    losses = {format: row.losses if row.output else None for format, row in rows.items()}
    back = is_complete(result.trips)
    return {"losses": losses, "round_trips": back, **({"error": problem} if problem else {})}


if __name__ == "__main__":
    sys.exit(main())
