"""Random worlds move as in DART, or a diagnostic says before the first step that they do not."""

from __future__ import annotations

import json
import os
import secrets

import pytest

from exoskel.engines.dart import dart_world
from tests.conftest import EXAMPLES
from tests.motion.agreement import FILE, RECORDED, Agreement, Motion, compare, in_dart, measure, seed_of
from tests.motion.random_worlds import CLASSES, STEPS, random_world

FRESH = 12
"""The number of worlds of each class that DART moves again; `make explore` takes other ones every time."""


def assert_agreement(found: list[Agreement]) -> None:
    assert [a for a in found if a.is_silent_miss] == []
    assert sum(a.agrees for a in found) >= 0.96 * len(found)


def test_worlds_are_compared_earlier_only_if_dart_itself_cannot_integrate_them() -> None:
    assert not Agreement("chaotic", 1.7e-6, 1e-7, [], departure=2.4e-6).is_comparable
    assert not Agreement("chaotic but equal", 0.0, 1e-7, [], departure=2.4e-6).is_comparable
    assert not Agreement("diverged", 0.0, 1e-7, [], diverges=True).is_comparable
    assert Agreement("fault", 1.7e-6, 1e-7, [], departure=1e-8).is_silent_miss
    assert not Agreement("reported", 1.7e-6, 1e-7, ["EN009"], departure=1e-8).is_silent_miss


@pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
@pytest.mark.parametrize(("kind", "seed"), [("free", 70009), ("masses", 70020), ("actuators", 90139)])
def test_worlds_that_diverge_in_dart_agree_before_they_do(kind: str, seed: int) -> None:
    world = random_world(kind, seed)
    (motion,) = in_dart([world])
    assert compare(world, motion).diverges
    (found,) = measure(kind, 1, seed)
    assert found.agrees
    assert found.is_comparable
    assert 0 < found.steps < STEPS


@pytest.mark.parametrize("kind", CLASSES)
def test_random_worlds_move_as_recorded_from_dart(kind: str) -> None:
    recorded: dict[str, Motion] = json.loads(FILE.read_text(encoding="utf-8"))
    found = [
        compare(random_world(kind, seed_of(name)), motion)
        for name, motion in recorded.items()
        if name.startswith(f"{kind}-")
    ]
    assert len(found) == RECORDED
    assert all(a.is_comparable for a in found)
    assert_agreement(found)


@pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
@pytest.mark.parametrize("kind", CLASSES)
def test_other_random_worlds_move_as_in_dart(kind: str) -> None:
    first = secrets.randbelow(1 << 30) if os.environ.get(EXAMPLES) else 500
    assert_agreement(measure(kind, FRESH, first))
