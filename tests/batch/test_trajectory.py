"""What a rollout leaves behind, and how it is kept."""

from __future__ import annotations

import gc
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import exoskel
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.simulate.batch.recorder import ArrayRecorder, ConvertedStates, StateConverter
from exoskel.spatial import Array

SAMPLE = "dart://sample/skel/double_pendulum.skel"
VARY: dict[str, Any] = {"gravity.y": (-12.0, -8.0), "gravity.x": [0.0, 1.0]}


def motions(**options: Any) -> exoskel.BatchTrajectory:
    return exoskel.rollout(exoskel.load(SAMPLE), 5, 50, vary=VARY, stride=10, record="all", **options)


def test_the_first_axis_is_that_of_the_worlds() -> None:
    many = motions()
    assert len(many) == 5
    assert many.time.tolist() == pytest.approx(np.arange(6) * 10 * many.meta["time_step"])
    assert many.positions.shape == many.velocities.shape == (5, 6, len(many.dof_names))
    assert many.body_poses.shape == (5, 6, len(many.body_names), 7)
    assert many.energy.shape == (5, 6, 2)
    assert "5 worlds" in repr(many)


def test_files_round_trip(tmp_path: Path) -> None:
    many = motions()
    many.save(tmp_path / "out.npz")
    again = exoskel.BatchTrajectory.load(tmp_path / "out.npz")
    for name, array in many.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
    np.testing.assert_array_equal(again.time, many.time)
    np.testing.assert_array_equal(again.valid_samples, many.valid_samples)
    assert again.dof_names == many.dof_names
    assert again.body_names == many.body_names
    for key, values in many.parameters.items():
        np.testing.assert_array_equal(again.parameters[key], values)
    assert again.meta["seed"] == 0


def test_a_table_has_a_row_for_each_world_and_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr("exoskel.simulate.batch.trajectory._ROWS_AT_ONCE", 13)  # two worlds at a time
    many = motions()
    many.save(tmp_path / "out.parquet")
    table = parquet.read_table(tmp_path / "out.parquet")
    assert table.num_rows == 30
    rows = table.to_pydict()
    assert rows["world"] == np.repeat(np.arange(5), 6).tolist()
    assert rows["gravity.y"][::6] == many.parameters["gravity.y"].tolist()
    assert rows[f"q:{many.dof_names[1]}"] == many.positions[:, :, 1].ravel().tolist()
    assert json.loads(table.schema.metadata[b"exoskel"])["world"] == many.meta["world"]


def test_samples_beyond_memory_are_stored_in_files(tmp_path: Path) -> None:
    small, large = motions(), motions(memory=1000, folder=str(tmp_path))
    (scratch,) = tmp_path.iterdir()
    assert {file.stem for file in scratch.iterdir()} == set(large.arrays)
    for name, array in small.arrays.items():
        np.testing.assert_array_equal(large.arrays[name], array)
    large.save(tmp_path / "out.npz")
    np.testing.assert_array_equal(exoskel.BatchTrajectory.load(tmp_path / "out.npz").positions, small.positions)
    del large, array
    assert not scratch.exists()


def test_one_world_is_a_trajectory(tmp_path: Path) -> None:
    many = motions()
    one = many.world(3)
    np.testing.assert_array_equal(one.positions, many.positions[3])
    assert one.meta["parameters"]["gravity.x"] == 1.0
    one.save(tmp_path / "one.npz")
    assert len(exoskel.Trajectory.load(tmp_path / "one.npz")) == 6
    with pytest.raises(exoskel.ExoskelError, match="unknown world 5"):
        many.world(5)
    plain = exoskel.rollout(exoskel.load(SAMPLE), 2, 5)
    with pytest.raises(exoskel.ExoskelError, match="body_poses and energy"):
        plain.world(0)


def test_files_that_are_not_rollouts_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(exoskel.ExoskelError, match=r"as '\.csv'; use \.npz or \.parquet"):
        motions().save(tmp_path / "out.csv")
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    with pytest.raises(exoskel.ExoskelError, match="cannot be read"):
        exoskel.BatchTrajectory.load(tmp_path / "bad.npz")
    np.savez(tmp_path / "other.npz", time=np.zeros(3))
    with pytest.raises(exoskel.ExoskelError, match="is not a rollout"):
        exoskel.BatchTrajectory.load(tmp_path / "other.npz")


def converted_states(rows: Array, moved: NDArray[np.bool_]) -> ConvertedStates:
    return ConvertedStates(
        StateConverter(MujocoWorld(exoskel.load(SAMPLE).world).coordinates, 1), rows, rows[..., :0], moved
    )


def test_a_recorder_repeats_only_samples_of_diverged_worlds() -> None:
    recorder = ArrayRecorder({"positions": np.full((3, 6, 1), -1.0)})
    rows = np.arange(9.0).reshape(3, 3, 1)
    recorder.record(converted_states(rows, np.ones((3, 3), dtype=bool)), {})
    later = 10.0 + rows
    later[1, 1] = np.nan
    moved = np.ones((3, 3), dtype=bool)
    moved[2] = False
    recorder.record(converted_states(later, moved), {})
    assert recorder.valid_samples.tolist() == [6, 4, 3]
    assert recorder.arrays["positions"][:, :, 0].tolist() == [
        [0, 1, 2, 10, 11, 12],
        [3, 4, 5, 13, 13, 13],
        [6, 7, 8, 8, 8, 8],
    ]
    with pytest.raises(exoskel.ExoskelError, match="initial state of world 1"):
        start = converted_states(np.array([[[0.0]], [[np.inf]]]), moved[:2, :1])
        ArrayRecorder({"positions": np.zeros((2, 2, 1))}).record(start, {})


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_loaded_rollouts_equal_saved_ones(ending: str, tmp_path: Path) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    vary = {"gravity": ((0.0, -9.0, 0.0), (0.0, -8.0, 0.0)), "friction": [0.1, 0.2]}
    many = exoskel.rollout(exoskel.load(SAMPLE), 3, 20, vary=vary, stride=10, record="all")
    many.save(tmp_path / f"out.{ending}")
    again = exoskel.BatchTrajectory.load(tmp_path / f"out.{ending}")
    assert again.meta == many.meta
    assert (again.body_names, again.dof_names) == (many.body_names, many.dof_names)
    assert list(again.parameters) == list(many.parameters)
    for key, values in (many.parameters | many.arrays).items():
        np.testing.assert_array_equal((again.parameters | again.arrays)[key], values)
    np.testing.assert_array_equal(again.time, many.time)
    np.testing.assert_array_equal(again.valid_samples, many.valid_samples)


@pytest.mark.parametrize(
    "wrong",
    [
        {"meta": np.array("5")},
        {"valid_samples": np.array([-5, 9, 900])},
        {"valid_samples": np.array(["a", "b", "c"])},
        {"valid_samples": np.ones((3, 3), dtype=int)},
        {"time": np.array(["a", "b", "c"])},
        {"positions": np.zeros((3, 3, 9))},
        {"positions": np.zeros((3, 3, 4), dtype=complex)},
        {"body_poses": np.zeros((3, 3, 2, 6))},
        {"energy": np.zeros((3, 3, 3))},
        {"parameters": np.zeros((2, 2))},
        {"parameters": np.array([["a", "b"]] * 3)},
        {"meta": np.array('{"numbers": [1]}')},
    ],
)
def test_an_inconsistent_file_is_an_error(wrong: dict[str, Any], tmp_path: Path) -> None:
    many = exoskel.rollout(exoskel.load(SAMPLE), 3, 20, vary=VARY, stride=10, record="all")
    assert many.positions.shape == (3, 3, 4)
    many.save(tmp_path / "out.npz")
    np.savez(tmp_path / "bad.npz", **{**np.load(tmp_path / "out.npz"), **wrong})
    with pytest.raises(exoskel.ExoskelError, match=r"is not a rollout|cannot be read as a rollout"):
        exoskel.BatchTrajectory.load(tmp_path / "bad.npz")


def test_an_invalid_table_is_an_error(tmp_path: Path) -> None:
    parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    parquet.write_table(pyarrow.table({"world": [0, 0, 1]}), tmp_path / "other.parquet")
    (tmp_path / "text.parquet").write_text("nothing")
    for name in ("other.parquet", "text.parquet"):
        with pytest.raises(exoskel.ExoskelError, match=r"cannot be read as a rollout"):
            exoskel.BatchTrajectory.load(tmp_path / name)


def test_a_table_is_written_completely_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyarrow")
    target = tmp_path / "out.parquet"
    target.write_text("before")

    def stop(*_: Any) -> list[str]:
        raise KeyboardInterrupt

    many = motions()
    monkeypatch.setattr("exoskel.simulate.batch.trajectory._labels", stop)
    with pytest.raises(KeyboardInterrupt):
        many.save(target)
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]


def test_worlds_keep_their_numbers_when_some_are_missing(tmp_path: Path) -> None:
    many = motions()
    many.meta["numbers"] = [3, 4, 7, 8, 9]
    assert many.world(7).meta["world_number"] == 7
    np.testing.assert_array_equal(many.world(7).positions, many.positions[2])
    many.save(tmp_path / "out.npz")
    assert exoskel.BatchTrajectory.load(tmp_path / "out.npz").numbers.tolist() == [3, 4, 7, 8, 9]
    for number in (0, 1.5, "a"):
        with pytest.raises(exoskel.ExoskelError, match="unknown world"):
            many.world(number)  # type: ignore[arg-type]


@pytest.mark.parametrize("ending", ["npz", "parquet"])
def test_empty_scenes_are_saved(ending: str, tmp_path: Path) -> None:
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    many = exoskel.rollout(exoskel.World("empty"), 3, 20, record="all")
    many.save(tmp_path / f"out.{ending}")
    again = exoskel.BatchTrajectory.load(tmp_path / f"out.{ending}")
    assert {name: array.shape for name, array in again.arrays.items()} == {
        name: array.shape for name, array in many.arrays.items()
    }


def test_temporary_files_are_removed_silently(tmp_path: Path) -> None:
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        many = exoskel.rollout(exoskel.load(SAMPLE), 2, 10, memory=0, folder=str(tmp_path))
        assert len(list(tmp_path.iterdir())) == 1
        del many
        gc.collect()
    assert not raised
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["text", "list", "dictionary"])
def test_columns_that_may_need_any_amount_of_memory_are_not_read(tmp_path: Path, kind: str) -> None:
    parquet, pyarrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    motions().save(tmp_path / "good.parquet")
    table = parquet.read_table(tmp_path / "good.parquet")
    long = pyarrow.array(["x" * 1_000_000] * len(table))
    column = {
        "text": long,
        "list": pyarrow.array([[1.0, 2.0]] * len(table)),
        "dictionary": long.dictionary_encode(),
    }[kind]
    parquet.write_table(table.append_column("more", column), tmp_path / "bomb.parquet")
    with pytest.raises(exoskel.ExoskelError, match=r"the column 'more' has the type .*, not numbers"):
        exoskel.BatchTrajectory.load(tmp_path / "bomb.parquet")
