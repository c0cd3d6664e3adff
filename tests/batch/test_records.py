"""What rollouts record besides the motion is what `run` records of each world."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import exoskel
from exoskel import ExoskelError, Scene
from exoskel.simulate.batch.plan import MEASURED_RECORDS
from exoskel.simulate.batch.trajectory import BatchTrajectory

OF_RIGID_BODIES = [one for one in MEASURED_RECORDS if one != "soft_points"]
SAMPLES = ("pendulum", "double_pendulum", "falling_boxes", "robot_arm", "actuators")


def sample(name: str) -> Scene:
    return exoskel.load(f"dart://sample/skel/{name}.skel")


@pytest.mark.parametrize("name", SAMPLES)
def test_every_record_equals_that_of_a_single_run(name: str) -> None:
    scene = sample(name)
    batch = exoskel.rollout(scene, 2, 60, stride=20, record=["all", *OF_RIGID_BODIES], warn=False)
    step = scene.world.time_step
    motion = exoskel.run(scene, 60 * step, every=20 * step, record=OF_RIGID_BODIES, warn=False)
    for record in OF_RIGID_BODIES:
        for world in range(2):
            assert np.array_equal(batch[record][world], motion[record]), record
    one = batch.world(1)
    assert one.records["reactions"].columns == motion.records["reactions"].columns
    assert np.array_equal(one["momentum"], motion["momentum"])


def test_records_of_worlds_with_other_parameters_are_those_of_edited_scenes() -> None:
    masses, friction, damping = [1.0, 2.5], [0.1, 0.4], [0.0, 0.3]
    vary = {"body:bob.mass": masses, "joint:hinge.friction": friction, "joint:hinge.damping": damping}
    names = ["com", "momentum", "accelerations", "reactions", "body_accelerations"]
    for keys in (list(vary), ["body:bob.mass"]):
        chosen = {key: vary[key] for key in keys}
        batch = exoskel.rollout(sample("pendulum"), 2, 40, stride=10, vary=chosen, record=names)
        for world in range(2):
            scene = sample("pendulum")
            model = scene.world.models[-1]
            model.body("bob").mass = masses[world]
            if len(keys) > 1:
                model.joint("hinge").dofs[0].friction = friction[world]
                model.joint("hinge").dofs[0].damping = damping[world]
            step = scene.world.time_step
            motion = exoskel.run(scene, 40 * step, every=10 * step, record=names)
            for name in names:
                assert batch[name][world] == pytest.approx(motion[name], rel=1e-9, abs=1e-9), (name, world)


def test_forces_of_a_policy_are_recorded() -> None:
    batch = exoskel.rollout(
        sample("pendulum"),
        3,
        20,
        stride=10,
        policy=lambda worlds: -worlds.velocities + worlds.indices[:, None],
        record=["forces", "accelerations"],
    )
    assert batch["forces"].shape == (3, 3, 1)
    assert (np.diff(batch["forces"][:, -1, 0]) > 0.5).all()
    assert (np.diff(batch["accelerations"][:, -1, 0]) > 0.0).all()


@pytest.mark.parametrize("suffix", [".npz", ".parquet"])
def test_records_survive_a_file(suffix: str, tmp_path: Path) -> None:
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    batch = exoskel.rollout(sample("double_pendulum"), 2, 20, stride=10, record=["positions", "reactions", "com"])
    batch.save(tmp_path / f"batch{suffix}")
    read = BatchTrajectory.load(tmp_path / f"batch{suffix}")
    for name in ("positions", "reactions", "com"):
        assert np.array_equal(read[name], batch[name])
    assert read.meta["record_columns"] == batch.meta["record_columns"]


def test_the_message_about_contacts_says_what_can_be_recorded() -> None:
    with pytest.raises(ExoskelError, match=r"cannot record contacts, whose number changes, .* choose from positions"):
        exoskel.rollout(sample("pendulum"), record=["contacts"])
    with pytest.raises(ExoskelError, match="cannot record reactions on a GPU; choose from positions"):
        exoskel.rollout(sample("pendulum"), record=["reactions"], backend="gpu")
    with pytest.raises(ExoskelError, match=r"'com' was not recorded, but .*record=\['com'\]"):
        exoskel.rollout(sample("pendulum"), steps=2)["com"]


def test_a_world_that_diverges_repeats_its_last_valid_record() -> None:
    forces = np.zeros((2, 1, 1))
    forces[1] = 1e13
    batch = exoskel.rollout(sample("pendulum"), 2, 100, stride=10, forces=forces, record=["com", "velocities"])
    assert batch.diverged.tolist() == [1]
    assert np.isfinite(batch["com"]).all()
    last = int(batch.valid_samples[1])
    assert (batch["com"][1, last - 1 :] == batch["com"][1, last - 1]).all()
