"""Parts of rollouts, which are computed without the rest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import exoskel
from exoskel.samples import samples
from exoskel.simulate.batch import recorder

RECORDS = ("positions", "velocities")


def rolled_out(name: str = "falling_boxes", **options: Any) -> exoskel.BatchTrajectory:
    return exoskel.rollout(exoskel.load(f"dart://sample/skel/{name}.skel"), 4, 12, stride=1, **options)


@pytest.fixture
def converted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """The shapes of the coordinates that were converted."""
    shapes: list[tuple[int, ...]] = []
    plain = recorder.StateConverter._convert

    def counting(self: Any, qpos: Any, qvel: Any, slots: Any) -> None:
        shapes.extend(slot.shape for slot in slots.values())
        plain(self, qpos, qvel, slots)

    monkeypatch.setattr(recorder.StateConverter, "_convert", counting)
    return shapes


@pytest.mark.parametrize("uri", [sample.uri for sample in samples()])
def test_a_part_equals_that_of_the_whole(uri: str) -> None:
    scene = exoskel.load(uri)
    whole, lazy = (exoskel.rollout(scene, 4, 12, stride=1) for _ in range(2))
    names = whole.dof_names[1::2] or whole.dof_names
    columns = [whole.dof_names.index(name) for name in names]
    for record in RECORDS:
        array = whole[record]
        np.testing.assert_array_equal(lazy.get(record, samples=-1), array[:, -1])
        np.testing.assert_array_equal(lazy.get(record, worlds=2), array[2])
        np.testing.assert_array_equal(lazy.get(record, worlds=[3, 1], samples=slice(0, 9, 2)), array[[3, 1], 0:9:2])
        np.testing.assert_array_equal(lazy.get(record, dofs=names), array[..., columns])
        np.testing.assert_array_equal(lazy.get(record), array)


def test_only_that_part_is_converted(converted: list[tuple[int, ...]]) -> None:
    many = rolled_out()
    assert many.get("positions", samples=-1).shape == (4, 84)
    assert many.get("velocities", worlds=1, dofs=many.dof_names[7]).shape == (13,)
    assert converted == [(4, 1, 84), (1, 13, 6)]
    many.positions  # noqa: B018
    converted.clear()
    assert many.get("positions", worlds=0, samples=0).shape == (84,)
    assert converted == []


def test_a_world_that_diverged_repeats_its_last_valid_sample() -> None:
    push = np.zeros((4, 1, 1))
    push[1] = 1e300
    whole, lazy = (rolled_out("pendulum", forces=push) for _ in range(2))
    assert whole.valid_samples[1] < 13
    np.testing.assert_array_equal(lazy.get("positions", samples=[3, -1]), whole["positions"][:, [3, -1]])


def test_a_part_of_a_partly_converted_rollout(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, many = (rolled_out() for _ in range(2))
    plain, calls = recorder.StateConverter._convert, 0

    def interrupted(self: Any, *states: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        plain(self, *states)

    monkeypatch.setattr(recorder, "_RELEASE_BYTES", 1)
    monkeypatch.setattr(recorder.StateConverter, "_convert", interrupted)
    with pytest.raises(KeyboardInterrupt):
        many.positions  # noqa: B018
    monkeypatch.undo()
    np.testing.assert_array_equal(many.get("positions", samples=1), expected["positions"][:, 1])


def test_parts_of_rollouts_from_files_and_of_other_records(tmp_path: Path) -> None:
    many = rolled_out(record="all")
    many.save(tmp_path / "many.npz")
    read = exoskel.BatchTrajectory.load(tmp_path / "many.npz")
    for one in (many, read):
        np.testing.assert_array_equal(one.get("energy", worlds=1, samples=-1), many["energy"][1, -1])
        np.testing.assert_array_equal(one.get("positions", dofs=many.dof_names[3]), many["positions"][..., 3])


def test_a_motion_is_continued_without_converting_all_of_it(converted: list[tuple[int, ...]]) -> None:
    first = rolled_out()
    second = exoskel.rollout(exoskel.load("dart://sample/skel/falling_boxes.skel"), 4, 2, stride=1, initial=first)
    assert converted == [(4, 1, 84), (4, 1, 84)]
    np.testing.assert_allclose(second["positions"][:, 0], first["positions"][:, -1], atol=1e-12)


@pytest.mark.parametrize(
    ("record", "chosen", "message"),
    [
        ("positions", {"samples": 13}, "unknown sample 13; there are 13 samples"),
        ("positions", {"worlds": 4}, "unknown world 4; there are 4 worlds"),
        ("positions", {"worlds": "first"}, "worlds must be whole numbers, a slice or None, not 'first'"),
        ("positions", {"samples": 0.5}, "samples must be whole numbers, a slice or None, not 0.5"),
        ("positions", {"dofs": "nothing"}, "the rollout has no degree of freedom called 'nothing'"),
        ("energy", {}, "'energy' was not recorded"),
    ],
)
def test_unknown_parts_are_explained(record: str, chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(exoskel.ExoskelError, match=message.replace("(", r"\(")):
        rolled_out().get(record, **chosen)


def test_only_coordinates_have_degrees_of_freedom() -> None:
    with pytest.raises(exoskel.ExoskelError, match="'energy' has no degrees of freedom; only positions and velocities"):
        rolled_out(record="all").get("energy", dofs="x")
