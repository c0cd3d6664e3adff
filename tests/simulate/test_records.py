"""Runs record forces, accelerations, contacts and sensors, and files keep them."""

from __future__ import annotations

import csv
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import DivergedError, EngineWarning, ExoskelError, Simulation, Trajectory
from exoskel.simulate.records import RECORDS
from tests.simulate.test_access_by_name import GRAVITY, laboratory


@pytest.fixture(scope="module")
def motion() -> Trajectory:
    def hold(simulation: Simulation) -> None:
        simulation.joint("hinge").force = 2.0
        simulation.commands["hinge"] = 1.0

    return exoskel.run(
        laboratory(),
        0.3,
        controller=hold,
        record=RECORDS,
        sensors={"gap": lambda s: s.distance("rod", "floor"), "tip": lambda s: s.body("rod").position},
    )


def test_records_are_what_the_simulation_measures(motion: Trajectory) -> None:
    simulation = Simulation(laboratory())
    simulation.joint("hinge").force, simulation.joint("hinge").command = 2.0, 1.0
    simulation.step(300)
    last = {name: motion[name][-1] for name in motion.records}
    assert last["forces"].tolist() == [2, 0, 0, 0, 0, 0, 0]
    assert last["commands"].tolist() == [1, 0, 0, 0, 0, 0, 0]
    assert last["accelerations"] == pytest.approx(simulation.accelerations, abs=1e-9)
    assert last["body_velocities"] == pytest.approx(simulation.body_velocities, abs=1e-9)
    assert last["body_accelerations"] == pytest.approx(simulation.body_accelerations, abs=1e-9)
    hinge = simulation.joint("hinge").reaction
    assert last["reactions"][0] == pytest.approx([*hinge.force, *hinge.torque], abs=1e-9)
    pendulum = simulation.model("pendulum")
    assert last["com"][0] == pytest.approx(pendulum.com)
    assert last["momentum"][0] == pytest.approx([*pendulum.momentum, *pendulum.angular_momentum], abs=1e-9)
    assert last["gap"] == pytest.approx(simulation.distance("rod", "floor"))
    assert motion["tip"].shape == (31, 3)


def test_contacts_are_recorded_with_their_forces(motion: Trajectory) -> None:
    assert motion.contacts is not None
    assert {c.bodies for c in motion.contacts.at(20)} <= {("crate/box", "ground/floor"), ("ground/floor", "crate/box")}
    assert motion.contact_force("ground/floor", "crate/box")[-1] == pytest.approx([0, 0, 3 * GRAVITY], abs=1e-2)
    assert motion.contact_force("crate/box", "ground/floor")[-1] == pytest.approx([0, 0, -3 * GRAVITY], abs=1e-2)
    with pytest.raises(exoskel.UnknownNameError, match="did you mean 'crate/box'"):
        motion.contact_force("crate/bax", "ground/floor")


def test_records_survive_an_npz_file(motion: Trajectory, tmp_path: Path) -> None:
    motion.save(tmp_path / "motion.npz")
    again = Trajectory.load(tmp_path / "motion.npz")
    assert list(again.records) == list(motion.records)
    for name, record in motion.records.items():
        assert np.array_equal(again[name], record.values) and again.records[name].columns == record.columns
    assert again.contacts is not None and motion.contacts is not None
    assert np.array_equal(again.contacts.force, motion.contacts.force)
    assert again.contacts.pairs() == motion.contacts.pairs()
    assert again.columns().keys() == motion.columns().keys()


def test_tables_have_the_records_as_columns(motion: Trajectory, tmp_path: Path) -> None:
    motion.save(tmp_path / "motion.csv")
    with open(tmp_path / "motion.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    last = {name: float(value) for name, value in rows[-1].items()}
    assert len(rows) == 31 and last["time"] == pytest.approx(0.3)
    assert last["forces:hinge"] == 2.0
    assert last["body_velocities:pendulum/rod:wy"] == motion["body_velocities"][-1, 0, 1]
    assert last["reactions:pendulum/hinge:fz"] == motion["reactions"][-1, 0, 2]
    assert last["momentum:crate:pz"] == motion["momentum"][-1, 1, 2]
    assert last["contacts"] == 4.0 or last["contacts"] == 8.0
    assert last["contact:crate/box:ground/floor:fz"] == pytest.approx(-3 * GRAVITY, abs=1e-2)
    assert last["gap"] == motion["gap"][-1] and last["tip:2"] == motion["tip"][-1, 2]


def test_a_parquet_file_has_the_same_columns(motion: Trajectory, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("pandas")
    motion.save(tmp_path / "motion.parquet")
    table = parquet.read_table(tmp_path / "motion.parquet")
    assert table.column_names == list(motion.columns())
    assert table.column("forces:hinge")[0].as_py() == motion["forces"][0, 0]


def test_csv_files_need_no_pandas(tmp_path: Path) -> None:
    code = (
        (
            "import sys; sys.modules['pandas'] = None; sys.modules['pyarrow'] = None\n"
            "import exoskel\n"
            "exoskel.run('dart://sample/skel/pendulum.skel', 0.1).save('motion.csv')\n"
        )
        .replace("exoskel.run('", "exoskel.run(exoskel.load('")
        .replace("', 0.1)", "'), 0.1)")
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "motion.csv").read_text(encoding="utf-8").startswith("time,q:")


def test_a_motion_without_records_says_how_to_record() -> None:
    motion = exoskel.run(laboratory(), 0.01)
    with pytest.raises(
        ExoskelError, match=r"'forces' was not recorded, but nothing; use run\(..., record=\['forces'\]\)"
    ):
        motion["forces"]
    with pytest.raises(ExoskelError, match="contacts were not recorded"):
        motion.contact_force("a", "b")
    assert motion.resample(0.002).records == {}


def test_records_are_resampled(motion: Trajectory) -> None:
    assert motion.resample(0.05)["forces"].shape == (7, 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"record": ["contact"]}, "cannot record 'contact'; did you mean 'contacts'"),
        ({"record": "everything"}, "cannot record 'everything'; choose from forces"),
        ({"sensors": {"gap": 3}}, "the sensor 'gap' is 3, but must be a function"),
        ({"sensors": {"forces": abs}}, "has the name of a record"),
        ({"sensors": {"text": lambda _: "high"}}, "the sensor 'text' returned 'high', but must return numbers"),
        ({"sensors": {"time": lambda s: [0.0] * (1 + round(s.time / 0.01))}}, "returned the shape"),
    ],
)
def test_records_and_sensors_are_checked(options: dict[str, object], message: str) -> None:
    with pytest.raises(ExoskelError, match=message):
        exoskel.run(laboratory(), 0.05, **options)  # type: ignore[arg-type]


def test_a_simulation_runs_on_from_its_present_state() -> None:
    simulation = Simulation(laboratory())
    simulation.joint("hinge").position = 1.0
    first = simulation.run(0.2, record="forces")
    second = simulation.run(0.1)
    assert first.positions[0, 0] == 1.0
    assert second.time[0] == first.time[-1] and second.positions[0, 0] == first.positions[-1, 0]
    assert second.time[-1] == pytest.approx(0.3)


# --- motions that diverge -------------------------------------------------------------------------------


def exploding(simulation: Simulation) -> np.ndarray:
    """A controller with the wrong sign and far too much gain."""
    return np.asarray(1e9 * simulation.velocities + 1e9)


@pytest.mark.parametrize(
    "controller", [exploding, lambda s: np.linalg.inv(np.diag(s.velocities)) @ exploding(s) if s.time else exploding(s)]
)
def test_a_motion_that_diverges_under_a_controller_is_reported_like_any_other(controller: object) -> None:
    with pytest.raises(DivergedError, match=r"the motion of '\S+/\S+' diverged between \S+ and \S+ s;") as caught:
        exoskel.run(laboratory(), 1.0, controller=controller)  # type: ignore[arg-type]
    assert np.isfinite(caught.value.trajectory.positions).all()
    assert len(caught.value.trajectory) >= 1


def test_forces_of_a_controller_that_are_not_finite_are_reported_as_such() -> None:
    def broken(simulation: Simulation) -> list[float]:
        return [float("nan") if simulation.time > 0.05 else 0.0] * 7

    with pytest.raises(DivergedError, match="the forces of 'hinge' are nan, but must be finite, after") as caught:
        exoskel.run(laboratory(), 1.0, controller=broken)
    assert caught.value.trajectory.time[-1] == pytest.approx(0.05)


def test_an_error_in_a_controller_reaches_the_caller() -> None:
    def broken(_: Simulation) -> None:
        raise ZeroDivisionError("in my code")

    with pytest.raises(ZeroDivisionError, match="in my code"):
        exoskel.run(laboratory(), 1.0, controller=broken)


# --- warnings --------------------------------------------------------------------------------------------


def test_what_an_engine_does_differently_is_a_warning_and_in_the_metadata() -> None:
    scene = exoskel.load("dart://sample/skel/pendulum.skel")
    scene.world.models[-1].bodies[-1].mass = 0.0
    with pytest.warns(
        EngineWarning, match=r"MuJoCo differs from the scene: body .* has no mass; .* \(EN001\)"
    ) as found:
        motion = exoskel.run(scene, 0.01)
    assert len(found) == 1 and found[0].filename == __file__
    assert {"code": "EN001", "severity": "warning"}.items() <= motion.meta["diagnostics"][0].items()
    with pytest.warns(EngineWarning) as found:
        Simulation(scene)
    assert found[0].filename == __file__
    with pytest.warns(EngineWarning) as found:
        batch = exoskel.rollout(scene, 2, 10)
    assert found[0].filename == __file__
    assert batch.meta["diagnostics"] == motion.meta["diagnostics"]


def test_warnings_can_be_switched_off() -> None:
    scene = exoskel.load("dart://sample/xode/extensions.xode")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        exoskel.run(scene, 0.01, warn=False)
        exoskel.run(exoskel.load("dart://sample/skel/pendulum.skel"), 0.01)


def test_the_command_line_reports_each_difference_once(capfd: pytest.CaptureFixture[str]) -> None:
    from exoskel.cli.main import main

    assert main(["run", "dart://sample/xode/extensions.xode", "--time", "0.01"]) == 0
    text = capfd.readouterr().err
    assert text.count("a ray of body 'light_barrier'") == 1 and "EngineWarning" not in text
