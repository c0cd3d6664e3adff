"""Trajectories: files without pickles, tables, pictures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import exoskel
from tests.cli.conftest import Command, exoskel_command  # noqa: F401 - a fixture
from tests.support.xml import one_body


@pytest.fixture(scope="module")
def motion() -> exoskel.Trajectory:
    return exoskel.run(exoskel.load("dart://sample/skel/double_pendulum.skel"), 0.5)


def test_npz_round_trips_without_pickles(motion: exoskel.Trajectory, tmp_path: Path) -> None:
    motion.save(tmp_path / "m.npz")
    with np.load(tmp_path / "m.npz", allow_pickle=False) as data:
        assert set(data) == {
            "time", "body_names", "body_poses", "dof_names", "positions", "velocities", "energy", "meta",
        }  # fmt: skip
        assert data["body_poses"].shape == (len(motion), len(motion.body_names), 7)
        assert json.loads(str(data["meta"]))["bodies"][0] == motion.body_names[0].split("/")
    again = exoskel.Trajectory.load(tmp_path / "m.npz")
    assert np.array_equal(again.positions, motion.positions) and again.dof_names == motion.dof_names


def test_trajectories_are_saved_as_csv_and_parquet(motion: exoskel.Trajectory, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    motion.save(tmp_path / "m.csv")
    table = pandas.read_csv(tmp_path / "m.csv")
    assert len(table) == len(motion) and f"q:{motion.dof_names[0]}" in table
    parquet = pytest.importorskip("pyarrow.parquet")
    motion.save(tmp_path / "m.parquet")
    result = json.loads(parquet.read_schema(tmp_path / "m.parquet").metadata[b"exoskel"])
    assert result["units"]["time"] == "s" and result["dofs"] == motion.dof_names


def test_resampling_preserves_ends_and_unit_quaternions(motion: exoskel.Trajectory) -> None:
    other = motion.resample(0.033)
    assert np.allclose(np.diff(other.time), 0.033)
    assert np.allclose(other.positions[0], motion.positions[0])
    assert np.allclose(np.linalg.norm(other.body_poses[..., 3:], axis=-1), 1.0)


@pytest.mark.parametrize("name", ["m.txt", "m"])
def test_an_unknown_extension_is_an_error(motion: exoskel.Trajectory, tmp_path: Path, name: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=r"\.npz, \.csv or \.parquet"):
        motion.save(tmp_path / name)


def test_a_file_that_is_not_a_trajectory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"no")
    with pytest.raises(exoskel.ExoskelError, match="cannot be read as a trajectory"):
        exoskel.Trajectory.load(tmp_path / "x.npz")
    np.savez(tmp_path / "y.npz", time=np.zeros(1))
    with pytest.raises(exoskel.ExoskelError, match="is not a trajectory: missing body_names"):
        exoskel.Trajectory.load(tmp_path / "y.npz")


def test_a_picture_is_drawn(motion: exoskel.Trajectory, tmp_path: Path) -> None:
    exoskel.plot(motion, tmp_path / "m.png")
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")


def test_divergence_is_an_error_with_the_valid_samples() -> None:
    world = exoskel.World(time_step=0.5)
    model = world.add_model("m")
    model.add_body("b", mass=1e-6, moment=(1e-9,) * 3 + (0.0,) * 3, joint="prismatic", axes=((1, 0, 0),))
    with pytest.raises(exoskel.DivergedError, match="diverged between") as problem:
        exoskel.run(world, 100.0, integrator="euler", controller=lambda s: 1e6 * (1.0 + np.abs(s.positions)))
    assert np.isfinite(problem.value.trajectory.body_poses).all()
    assert np.isfinite(problem.value.trajectory.velocities).all()


def test_the_command_runs_and_writes(exoskel_command: Command, tmp_path: Path) -> None:  # noqa: F811
    out, picture = tmp_path / "m.npz", tmp_path / "m.png"
    done = exoskel_command(
        "run", "dart://sample/skel/pendulum.skel", "--time", "0.2", "--out", str(out), "--plot", str(picture)
    )
    assert done.code == 0 and "0.2 s simulated" in done.out and out.exists() and picture.exists()


def test_a_file_without_gravity_is_reported(exoskel_command: Command) -> None:  # noqa: F811
    sample = "dart://sample/xode/pyode_dialect.xode"
    assert "sets no gravity" in exoskel_command("run", sample, "--time", "0.01").err
    assert exoskel_command("run", sample, "--time", "0.01", "--gravity", "earth-y").err == ""
    assert exoskel_command("run", sample, "--gravity", "up").code == 2


def test_coordinates_with_the_same_name_have_separate_columns() -> None:
    pytest.importorskip("pandas")
    world = exoskel.World(gravity=(0.0, 0.0, 0.0))
    for number, speed in enumerate((1.0, -3.0)):
        world.add_model(f"m{number}").add_body(
            "b", joint="prismatic", joint_name="j", axes=((1, 0, 0),), velocities=(speed,)
        )
    table = exoskel.run(world, 0.1).to_pandas()
    assert table["v:m0/j"].iloc[-1] == pytest.approx(1.0) and table["v:m1/j"].iloc[-1] == pytest.approx(-3.0)


def test_a_damaged_file_is_an_error(tmp_path: Path, motion: exoskel.Trajectory) -> None:
    motion.save(tmp_path / "m.npz")
    whole = (tmp_path / "m.npz").read_bytes()
    (tmp_path / "cut.npz").write_bytes(whole[: len(whole) // 2])
    np.save(tmp_path / "array.npy", np.zeros(3))
    (tmp_path / "array.npy").rename(tmp_path / "array.npz")
    with np.load(tmp_path / "m.npz") as data:
        np.savez(tmp_path / "odd.npz", **{**data, "time": data["time"][:-1]})
    for name in ("cut", "array", "odd"):
        with pytest.raises(exoskel.ExoskelError):
            exoskel.Trajectory.load(tmp_path / f"{name}.npz")


def test_resampling_does_not_interpolate_across_a_full_turn() -> None:
    world = exoskel.World(gravity=(0.0, 0.0, 0.0))
    world.add_model("m").add_body("b", moment=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0), velocities=(3.0, 0.0, 0.0, 0.0, 0.0, 0.0))
    motion = exoskel.run(world, 2.0, every=0.1)
    again = motion.resample(0.03)
    assert np.abs(again.positions[:, 0]).max() <= np.pi
    wrap = np.flatnonzero(np.abs(np.diff(again.positions[:, 0])) > 1.0)
    assert len(wrap) == 1
    with pytest.raises(exoskel.ExoskelError, match="positive and finite"):
        motion.resample(float("inf"))


def test_output_files_are_checked_before_the_run(exoskel_command: Command, tmp_path: Path) -> None:  # noqa: F811
    sample = "dart://sample/skel/pendulum.skel"
    for option, words in (
        (("--out", str(tmp_path / "m.txt")), "cannot save a trajectory as '.txt'"),
        (("--out", str(tmp_path / "no" / "m.npz")), "does not exist"),
        (("--plot", str(tmp_path / "m.doc")), "the extension must be .png, .svg or .pdf"),
    ):
        done = exoskel_command("run", sample, "--time", "1e6", *option)
        assert done.code == 2 and words in done.err


def test_the_step_must_not_exceed_the_duration(exoskel_command: Command) -> None:  # noqa: F811
    done = exoskel_command("run", "dart://sample/skel/pendulum.skel", "--time", "5", "--step", "20")
    assert done.code == 2 and "too long for a run of 5 s" in done.err


def test_the_gravity_option_does_not_change_the_file(exoskel_command: Command) -> None:  # noqa: F811
    sample = "dart://sample/xode/four_bar.xode"
    assert exoskel_command("run", "--gravity", "earth-z", sample, "--time", "0.01").code == 0
    assert exoskel_command("run", "--gravity", "0", "0", "-9.81", sample, "--time", "0.01").code == 0
    assert "finite" in exoskel_command("run", sample, "--gravity", "nan", "0", "0").err


def test_one_of_several_worlds_is_chosen(exoskel_command: Command, tmp_path: Path) -> None:  # noqa: F811
    inner = '<space><body name="{}"/></space>'
    worlds = "".join(f'<world name="{name}">{inner.format("b" + name)}</world>' for name in ("one", "two"))
    file = tmp_path / "two.xode"
    file.write_text(f'<xode version="1.0r22">{worlds}</xode>')
    assert "choose one of 'one', 'two' with --world" in exoskel_command("run", str(file), "--time", "0.01").err
    assert exoskel_command("run", str(file), "--time", "0.01", "--world", "two").code == 0


def test_warnings_come_before_the_motion_and_in_comparisons(exoskel_command: Command) -> None:  # noqa: F811
    sample = "dart://sample/xode/extensions.xode"
    assert "EN010" in exoskel_command("run", sample, "--time", "0.01").err
    done = exoskel_command("compare", sample, "--engines", "mujoco,mujoco", "--time", "0.01")
    assert "EN010" in done.err and done.code == 0


@pytest.mark.parametrize("command", ["run", "compare", "rollout"])
def test_errors_of_the_file_are_mentioned_and_in_the_exit_code(
    command: str,
    exoskel_command: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.skel"
    file.write_text(one_body("<inertia><mass>x</mass></inertia>"), encoding="utf-8")
    options = ["--engines", "mujoco,mujoco"] if command == "compare" else []
    done = exoskel_command(command, str(file), "--time", "0.01", *options)
    assert done.code == 1
    assert "a.skel has 1 error; the invalid parts are not simulated (see `exoskel check`)" in done.err


@pytest.mark.parametrize("command", ["run", "compare", "rollout"])
def test_warnings_of_the_file_are_mentioned(
    command: str,
    exoskel_command: Command,  # noqa: F811
    tmp_path: Path,
) -> None:
    file = tmp_path / "arm.xml"
    file.write_text(
        '<mujoco><worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>'
        '<actuator><muscle joint="j"/></actuator></mujoco>',
        encoding="utf-8",
    )
    options = ["--engines", "mujoco,mujoco"] if command == "compare" else []
    done = exoskel_command(command, str(file), "--time", "0.01", *options)
    assert done.code == 0 and "arm.xml has 1 warning (see `exoskel check`)" in done.err
