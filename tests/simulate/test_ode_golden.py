"""Recorded motion of real ODE: our signs, motors, stops and springs are its own.  Holds without ODE."""

from __future__ import annotations

import json
from math import cos, exp, sin, sqrt
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.engines.inverse_kinematics import InverseKinematics
from tests.golden.record_motion import FILE
from tests.simulate.ode_scenes import MOTORS, SCENES

RECORDED: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text(encoding="utf-8"))
MEASURED = [name for name, rows in RECORDED.items() if rows[-1]["measured"]]
MOTORED = [name for name in MEASURED if ":" in name]


def series(name: str, field: str) -> np.ndarray:
    return np.array([row[field] for row in RECORDED[name]])


def transforms(poses: list[list[float]]) -> np.ndarray:
    rows = np.array(poses)
    return exoskel.spatial.transform(exoskel.spatial.quaternion_matrix(rows[:, 3:]), rows[:, :3])


def test_everything_is_recorded() -> None:
    assert RECORDED.keys() == SCENES.keys()


@pytest.mark.parametrize("name", RECORDED)
def test_coordinates_are_recovered_from_recorded_poses(name: str) -> None:
    recovery = InverseKinematics(SCENES[name].world.models)
    for row in RECORDED[name]:
        found = recovery.positions(transforms(row["poses"]), np.array(row["positions"]))
        assert np.allclose(found, row["positions"], rtol=0, atol=2e-6)


@pytest.mark.parametrize("name", MEASURED)
def test_coordinates_match_those_of_ode(name: str) -> None:
    """Single precision: some 1e-5 rad after ODE's own arccosines."""
    for row in RECORDED[name]:
        for number, (position, rate) in row["measured"].items():
            if position is not None:
                assert row["positions"][int(number)] == pytest.approx(position, abs=1e-5)
            if not name.startswith("slider"):
                assert row["velocities"][int(number)] == pytest.approx(rate, abs=1e-5)


@pytest.mark.parametrize("name", [name for name in MOTORED if name.startswith("slider")])
def test_a_slider_moves_along_its_positions(name: str) -> None:
    """ODE's rate is that of the centres of mass, whatever the second body turns; ours is that of the position."""
    measured = np.array([row["measured"][str(len(row["positions"]) - 1)] for row in RECORDED[name]])
    steps = np.diff(measured[:, 0]) / np.diff(series(name, "time"))
    assert np.allclose(series(name, "velocities")[1:, -1], steps, atol=2e-3)
    if "environment" in name:
        assert np.allclose(series(name, "velocities")[:, -1], measured[:, 1], atol=1e-5)


@pytest.mark.parametrize("name", MOTORED)
def test_motors_reach_their_speed_with_the_sign_of_the_coordinate(name: str) -> None:
    """Whichever of the two bodies is the child, and whether the environment comes first or second."""
    axes = len(RECORDED[name][-1]["measured"])
    assert np.allclose(RECORDED[name][-1]["velocities"][-axes:], MOTORS[:axes], atol=5e-5)
    elapsed = RECORDED[name][-1]["time"]
    assert np.allclose(RECORDED[name][-1]["positions"][-axes:], np.multiply(elapsed, MOTORS[:axes]), atol=1e-4)


def test_an_amotor_rotates_about_world_axes() -> None:
    assert np.allclose(RECORDED["amotor"][-1]["velocities"], [0.5, -0.3, 0.2, 0, 0, 0], atol=1e-5)


def test_a_stop_holds() -> None:
    heights = series("stop", "positions")[:, 0]
    assert heights.min() > -1.005  # it gives way by half a step's fall
    assert heights[-1] == pytest.approx(-1.0, abs=1e-5)


def test_a_stop_returns_the_stated_share_of_the_speed() -> None:
    heights, speeds = series("bounce", "positions")[:, 0], series("bounce", "velocities")[:, 0]
    assert heights.min() > -1.005
    fallen = sqrt(2 * 9.81)
    risen = np.argmax(speeds)
    at_stop = speeds[risen] + 9.81 * (RECORDED["bounce"][int(risen)]["time"] - fallen / 9.81)
    assert at_stop == pytest.approx(0.5 * fallen, rel=0.03)


@pytest.mark.parametrize("name", ["spring that turns", "spring that slides"])
def test_springs_and_dampers_follow_the_exact_solution(name: str) -> None:
    """Within what an implicit step of 1 ms leaves."""
    rate, frequency = 0.5, sqrt(25.0 - 0.25)
    for row in RECORDED[name]:
        t = row["time"]
        wanted = 0.2 + 0.8 * exp(-rate * t) * (cos(frequency * t) + rate / frequency * sin(frequency * t))
        assert row["positions"][0] == pytest.approx(wanted, abs=0.01)


def test_friction_stops_a_joint() -> None:
    assert RECORDED["friction"][-1]["positions"][0] == pytest.approx(0.25, abs=1e-3)
    assert RECORDED["friction"][-1]["velocities"][0] == pytest.approx(0.0, abs=1e-6)


def test_a_body_falls_about_its_centre_of_mass() -> None:
    last = RECORDED["fall"][-1]
    t, turn = last["time"], 2.0 * last["time"]
    # The centre begins half a metre off, at the origin's 1 m/s and 2 rad/s times half a metre.
    drop = 9.81 / 2 * t * (t + 1e-3)
    wanted = [0.5 - 0.5 * cos(turn), 2.0 * t - 0.5 * sin(turn), -drop]
    assert np.allclose(last["poses"][0][:3], wanted, atol=1e-4)
    assert last["velocities"][2] == pytest.approx(2.0, abs=1e-5)
    assert np.allclose(last["poses"][1][:3], [5.0, 0.0, 0.0])
    total = series("fall", "energy").sum(axis=1)
    assert np.allclose(total, total[0], rtol=0, atol=0.05)  # half a step's worth of falling


def test_bodies_rest_on_the_ground() -> None:
    last = RECORDED["rest"][-1]
    assert last["poses"][1][2] == pytest.approx(0.5, abs=1e-3)
    assert last["poses"][2][2] == pytest.approx(0.3, abs=1e-3)
    assert last["contacts"] == 5
    assert np.abs(last["velocities"]).max() < 1e-3


def test_friction_holds_a_box_up_to_its_coefficient() -> None:
    assert abs(RECORDED["stick"][-1]["poses"][1][0]) < 1e-3
    t = RECORDED["slip"][-1]["time"]
    assert RECORDED["slip"][-1]["poses"][1][0] == pytest.approx(9.81 * 0.5 / 2 * t * t, rel=0.03)


SLACK = {
    "bounce": 0.12,
    "stop": 0.05,
    "friction": 3e-3,
    "slip": 0.05,
    "spring that turns": 0.01,
    "spring that slides": 0.01,
}
"""Where the engines take other ways to the same, m or rad: ODE's stops throw back a little, MuJoCo's do not; a box that
slides hops a little in MuJoCo."""


@pytest.mark.parametrize("name", SCENES)
def test_mujoco_matches_the_recorded_ode_motion(name: str) -> None:
    """Signs of coordinates, motors, stops, springs, friction and contacts, whichever body comes first."""
    one = SCENES[name]
    simulation = exoskel.Simulation(one.world)
    for row in RECORDED[name]:
        if row["time"] > 0.0:
            simulation.step(one.every)
        poses = exoskel.spatial.pose7(simulation.body_poses)
        assert simulation.time == pytest.approx(row["time"], abs=1e-4)
        assert np.allclose(poses[:, :3], np.array(row["poses"])[:, :3], rtol=0, atol=SLACK.get(name, 2e-3))
        assert np.allclose(simulation.positions, row["positions"], rtol=0, atol=SLACK.get(name, 2e-3))
