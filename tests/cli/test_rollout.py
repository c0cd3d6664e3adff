"""`exoskel rollout`: its output, files and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
import exoskel.simulate.batch.rollout as rollout_module
from exoskel.cli.main import main
from exoskel.cli.rollout import parse_variation
from tests.cli.conftest import Command

CART = "dart://sample/skel/cart_pole.skel"
PENDULUM = "dart://sample/skel/pendulum.skel"


def test_a_summary_is_printed_and_a_file_written(exoskel_command: Command, tmp_path: Path) -> None:
    file = tmp_path / "out.npz"
    ran = exoskel_command(
        "rollout", CART, "--worlds", "6", "--steps", "40", "--vary", "body:pole.mass=0.5..2", "--out", file
    )
    assert ran.code == 0
    assert "6 worlds, 40 steps each" in ran.out
    assert "body:pole.mass: " in ran.out
    many = exoskel.BatchTrajectory.load(file)
    again = exoskel.rollout(exoskel.load(CART), 6, 40, vary={"body:pole.mass": (0.5, 2.0)})
    np.testing.assert_array_equal(many.positions, again.positions)


def test_json_contains_the_results(exoskel_command: Command) -> None:
    ran = exoskel_command("rollout", CART, PENDULUM, "--worlds=3", "--time=0.1", "--step=0.002", "--json", "--seed=4")
    first, second = json.loads(ran.out)
    assert ran.code == 0
    assert (first["worlds"], first["steps"], first["time_step"], first["diverged"]) == (3, 50, 0.002, [])
    assert first["steps_per_second"] > 0
    assert second["file"].endswith("pendulum.skel")


def test_several_files_go_to_a_folder(exoskel_command: Command, tmp_path: Path) -> None:
    ran = exoskel_command("rollout", CART, PENDULUM, "--worlds=2", "--steps=5", "--out", tmp_path)
    assert ran.code == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cart_pole.npz", "pendulum.npz"]
    ran = exoskel_command("rollout", CART, PENDULUM, "--worlds=2", "--steps=5", "--out", tmp_path / "no.npz")
    assert ran.code == 2 and "--out must be a folder" in ran.err


def test_worlds_that_diverge_are_listed(exoskel_command: Command) -> None:
    gravity = "gravity.z=-9,-1e200,-10"
    ran = exoskel_command("rollout", PENDULUM, "--worlds=3", "--steps=20", "--vary", gravity, "--stride=1")
    assert ran.code == 1
    assert "the simulation of 1 world diverged: 1 after" in ran.err


def _stop_after(monkeypatch: pytest.MonkeyPatch, samples: int) -> list[str]:
    """Raise Ctrl-C after so many samples of the first rollout; return the names of the rollouts that began."""
    begun: list[str] = []
    roll = rollout_module.rollout

    def stop(done: int) -> None:
        if done >= 10 * samples:
            raise KeyboardInterrupt

    def begin(scene: exoskel.Scene, **options: Any) -> exoskel.BatchTrajectory:
        begun.append(scene.world.name)
        return roll(scene, **{**options, "progress": stop})

    monkeypatch.setattr(rollout_module, "rollout", begin)
    return begun


def test_ctrl_c_saves_the_samples_and_skips_the_other_files(
    exoskel_command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = _stop_after(monkeypatch, 2)
    ran = exoskel_command(
        "rollout", CART, PENDULUM, "--worlds=2", "--steps=100", "--stride=10", "--out", f"{tmp_path}/new/", "--json"
    )
    assert ran.code == 130
    assert begun == ["cart_pole"]
    (result,) = json.loads(ran.out)
    assert result["interrupted"] and result["steps"] == 20
    assert len(exoskel.BatchTrajectory.load(tmp_path / "new" / "cart_pole.npz").time) == 3


def test_a_file_that_cannot_run_is_reported_before_any_other_runs(exoskel_command: Command, tmp_path: Path) -> None:
    deep = tmp_path / "deep.skel"
    world = exoskel.World("deep")
    model = world.add_model("chain")
    for number in range(1001):
        parent = model.bodies[-1] if number else None
        model.add_body(f"b{number}", joint="revolute", axes=((0.0, 0.0, 1.0),), parent=parent, mass=1.0)
    exoskel.save(exoskel.Scene(worlds=[world]), deep)
    (tmp_path / "runs").mkdir()
    ran = exoskel_command("rollout", PENDULUM, deep, "--worlds=2", "--steps=5", "--out", tmp_path / "runs")
    assert ran.code == 2
    assert "nested 1001 deep" in ran.err
    assert not list((tmp_path / "runs").iterdir())


def test_ctrl_c_during_an_import_is_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*_: Any, **__: Any) -> None:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise ImportError("initialization failed") from error

    monkeypatch.setattr("exoskel.cli.command_runner.dispatch_command", load)
    assert main(["check"]) == 130


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1..2", ("a", (1.0, 2.0))),
        ("a=-1e-3..2.5", ("a", (-0.001, 2.5))),
        ("body:x=y.mass=1", ("body:x=y.mass", [1.0])),
        ("a=1,2,3", ("a", [1.0, 2.0, 3.0])),
        ("a=normal(1, 0.5)", ("a", ("normal", 1.0, 0.5))),
        ("a=loguniform(1e-3,10)", ("a", ("loguniform", 0.001, 10.0))),
        ("a", None),
        ("a=b", None),
    ],
)
def test_vary_accepts_ranges_lists_and_distributions(text: str, expected: object) -> None:
    if expected is None:
        with pytest.raises(exoskel.ExoskelError, match="invalid --vary"):
            parse_variation(text)
    else:
        assert parse_variation(text) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--vary", "body:nobody.mass=1..2"), "unknown body 'nobody'"),
        (("--worlds", "0"), "--worlds must be positive, not 0"),
        (("--seed", "-1"), "--seed must be 0 or more, not -1"),
        (("--worlds", "1000000000000"), "not enough"),
        (("--time", "-1"), "not negative"),
        (("--time", "1", "--steps", "5"), "either --steps or --time"),
        (("--record", "valid_samples"), "cannot record"),
        (("--out", "x.txt"), "cannot save a rollout as '.txt'; use .npz or .parquet"),
        (("--out", "x"), "cannot save a rollout as a file without an extension"),
        (("--step", "nan", "--time", "1"), "--step must be finite and positive, not nan"),
        (("--step", "0", "--time", "1"), "--step must be finite and positive, not 0"),
        (("--friction", "-1"), "--friction must be finite and not negative, not -1"),
        (("--steps", "1000000000000"), "not enough"),
        (("--vary", "gravity.z=1", "--vary", "gravity.z=2"), "--vary is given twice for 'gravity.z'"),
    ],
)
def test_invalid_arguments_are_reported(exoskel_command: Command, arguments: tuple[str, ...], message: str) -> None:
    ran = exoskel_command("rollout", CART, *arguments)
    assert ran.code == 2
    assert message in ran.err
