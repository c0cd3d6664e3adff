"""Trajectory files that are not what they claim to be, and tables of trajectories."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.view.live_reload import FileWatch
from exoskel.view.plots import plot

ARRAYS: dict[str, Any] = {
    "time": np.arange(2.0),
    "body_names": np.array(["m/b"]),
    "body_poses": np.ones((2, 1, 7)),
    "dof_names": np.array(["j"]),
    "positions": np.zeros((2, 1)),
    "velocities": np.zeros((2, 1)),
    "energy": np.zeros((2, 2)),
    "meta": np.array("{}"),
}


def _write(path: Path, compression: int = zipfile.ZIP_DEFLATED, **others: Any) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, array in {**ARRAYS, **others}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)
    return path


def _header(shape: tuple[int, ...], kind: str, content: bytes = b"") -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": shape})
    return file.getvalue() + content


_LOAD = """
import resource, sys
import numpy, zipfile, exoskel
from exoskel.simulate.trajectory import Trajectory
from exoskel.simulate.batch.trajectory import BatchTrajectory
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
for kind in (Trajectory, BatchTrajectory):
    try:
        kind.load(sys.argv[1])
        print("loaded")
    except exoskel.ExoskelError as error:
        print(error)
"""


def _load_with_limits(path: Path) -> str:
    command = [sys.executable, "-c", _LOAD, str(path)]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _bomb(path: Path, name: str, header: bytes, megabytes: int, compression: int) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        for key, array in ARRAYS.items():
            with archive.open(f"{key}.npy", "w", force_zip64=True) as entry:
                if key != name:
                    np.lib.format.write_array(entry, array, allow_pickle=False)
                    continue
                entry.write(header)
                for _ in range(megabytes):
                    entry.write(b"\0" * 2**20)
    return path


@pytest.mark.parametrize(
    ("name", "shape", "kind", "megabytes", "compression"),
    [
        ("positions", (2, 16 * 2**20), "<f8", 256, zipfile.ZIP_BZIP2),
        ("positions", (2, 16 * 2**20), "<f8", 256, zipfile.ZIP_LZMA),
        ("positions", (2, 24 * 2**20), "<f8", 384, zipfile.ZIP_DEFLATED),
        ("body_names", (10**12,), "<U0", 0, zipfile.ZIP_STORED),
        ("body_names", (2**40, 0), "<U1", 0, zipfile.ZIP_STORED),
        ("positions", (10**9, 10**9), "<f8", 1, zipfile.ZIP_DEFLATED),
        ("positions", (-1, -8), "<f8", 1, zipfile.ZIP_DEFLATED),
        ("meta", (), f"<U{32 * 2**20}", 128, zipfile.ZIP_DEFLATED),
        ("extra", (), "<f8", 0, zipfile.ZIP_BZIP2),
    ],
)
def test_small_files_that_need_all_memory(
    tmp_path: Path, name: str, shape: tuple[int, ...], kind: str, megabytes: int, compression: int
) -> None:
    path = _bomb(tmp_path / "a.npz", name, _header(shape, kind), megabytes, compression)
    assert path.stat().st_size < 2**20
    assert "loaded" not in _load_with_limits(path)


def test_a_motion_at_rest_is_compressed_very_much_and_still_read(tmp_path: Path) -> None:
    still = {"time": np.arange(50_000.0), "body_poses": np.ones((50_000, 1, 7)), "energy": np.zeros((50_000, 2))}
    still |= {"positions": np.zeros((50_000, 1)), "velocities": np.zeros((50_000, 1))}
    assert len(exoskel.Trajectory.load(_write(tmp_path / "a.npz", **still))) == 50_000


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("time", [[0.0, np.nan], [np.nan, np.nan], [0.0, np.inf], [-np.inf, 0.0]])
def test_times_that_are_not_finite_are_refused(tmp_path: Path, time: list[float]) -> None:
    with pytest.raises(exoskel.ExoskelError, match="its times are not finite"):
        exoskel.Trajectory.load(_write(tmp_path / "m.npz", time=np.array(time)))


def test_a_motion_far_from_time_zero_keeps_a_sample_where_steps_are_below_the_precision(tmp_path: Path) -> None:
    motion = exoskel.Trajectory.load(_write(tmp_path / "m.npz", time=np.array([1e16, 1e16])))
    assert motion.resample(0.01).time.tolist() == [1e16]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("time", b"", "'time.npy' is not an array"),
        ("time", b"\x93NUMPY\x01\x00" + (9000).to_bytes(2, "little") + b"(" * 9000, "'time.npy' is not an array"),
        ("meta", _header((1,), "|O", b"\x80\x04N."), "'meta.npy' contains Python objects"),
        ("time", _header((), "<f8", bytes(8)), "time has the wrong shape"),
    ],
)
def test_what_is_not_an_array_is_named(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        for key, array in ARRAYS.items():
            with archive.open(f"{key}.npy", "w") as entry:
                if key == name:
                    entry.write(content)
                else:
                    np.lib.format.write_array(entry, array)
    with pytest.raises(exoskel.ExoskelError, match=reason):
        exoskel.Trajectory.load(tmp_path / "m.npz")


@pytest.mark.parametrize("meta", ["[" * 100_000, "5", "{", '{"a": ' + "9" * 5000 + "}"])
def test_metadata_that_is_not_a_json_object_is_refused(tmp_path: Path, meta: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match="its metadata is not a JSON object"):
        exoskel.Trajectory.load(_write(tmp_path / "m.npz", meta=np.array(meta)))


def test_a_pipe_is_not_a_trajectory(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.npz")
    with pytest.raises(exoskel.ExoskelError, match="not a file"):
        exoskel.Trajectory.load(tmp_path / "a.npz")


@pytest.mark.parametrize("kind", [">f8", ">f4", "f2", "f4", "f16"])
@pytest.mark.parametrize("extension", ["parquet", "csv", "npz"])
def test_numbers_of_all_kinds_are_saved_as_tables(tmp_path: Path, kind: str, extension: str) -> None:
    floats = {key: array.astype(kind) for key, array in ARRAYS.items() if array.dtype.kind == "f"}
    names = {"body_names": ARRAYS["body_names"].astype(">U3")}
    motion = exoskel.Trajectory.load(_write(tmp_path / "a.npz", **floats, **names))
    motion.save(tmp_path / f"b.{extension}")
    assert (tmp_path / f"b.{extension}").stat().st_size


@pytest.mark.parametrize(
    "meta",
    ['{"engine": []}', '{"engine": {}}', '{"world": [1]}', '{"gravity": 5}', '{"gravity": [1, 2]}',
     '{"gravity": ["a", 0, 0]}', '{"bodies": 5}', '{"bodies": [["a"]]}', '{"bodies": [[1, 2]]}'],
)  # fmt: skip
def test_metadata_of_the_wrong_type_is_refused(tmp_path: Path, meta: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match="is not a trajectory: '"):
        exoskel.Trajectory.load(_write(tmp_path / "a.npz", meta=np.array(meta)))


def test_an_unknown_engine_is_plotted_by_its_name(tmp_path: Path) -> None:
    motion = exoskel.Trajectory.load(_write(tmp_path / "a.npz", meta=np.array('{"engine": "other"}')))
    plot(motion, tmp_path / "a.svg")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t"])
def test_names_that_begin_like_formulas_are_quoted_in_csv(tmp_path: Path, start: str) -> None:
    """Spreadsheets would evaluate them."""
    motion = exoskel.Trajectory.load(_write(tmp_path / "a.npz", body_names=np.array([f"{start}cmd/b"])))
    motion.save(tmp_path / "a.csv")
    cells = (tmp_path / "a.csv").read_text().splitlines()[0].split(",")
    assert not [cell for cell in cells if cell.strip('"').startswith(start)]
    assert f"{start}cmd/b:x" in motion.to_pandas()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_in_place_of_a_watched_file_counts_as_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.skel"
    path.write_text("<skel/>")
    watch = FileWatch([str(path)])
    path.unlink()
    os.mkfifo(path)
    assert not watch.changed()
    assert [watch.deleted() for _ in range(20)][-1] == [str(path)]
    path.unlink()
    path.write_text("<skel version='1.0'/>")
    assert watch.changed()
