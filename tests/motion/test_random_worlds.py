"""Random worlds move as in DART, or a diagnostic says before the first step that they do not."""

from __future__ import annotations

import json
import os
import secrets

import pytest

from exoskel.engines.dart import dart_world
from tests.conftest import EXAMPLES
from tests.motion.agreement import FILE, RECORDED, Agreement, compare, measure
from tests.motion.random_worlds import CLASSES, random_worlds

FRESH = 12
"""The number of worlds of each class that DART moves again; `make explore` takes other ones every time."""


def assert_agreement(found: list[Agreement]) -> None:
    assert [a for a in found if a.is_silent_miss] == []
    comparable = [a for a in found if not (a.diverges or a.is_chaotic)]
    assert sum(a.agrees for a in comparable) >= 0.96 * len(comparable) - 1


def test_only_differences_that_dart_has_from_itself_are_chaotic() -> None:
    assert Agreement("chaos", 1.7e-6, 1e-7, [], departure=2.4e-6).is_chaotic
    assert Agreement("fault", 1.7e-6, 1e-7, [], departure=1e-8).is_silent_miss
    assert not Agreement("equal", 1e-8, 1e-7, [], departure=1e-3).is_chaotic


@pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
def test_a_chaotic_motion_differs_in_dart_itself() -> None:
    (chaotic,) = measure("masses", 1, 85)
    assert chaotic.departure > 1e-7
    assert not chaotic.is_silent_miss


@pytest.mark.parametrize("kind", CLASSES)
def test_random_worlds_move_as_recorded_from_dart(kind: str) -> None:
    recorded = json.loads(FILE.read_text(encoding="utf-8"))
    assert_agreement([compare(world, recorded[world.name]) for world in random_worlds(kind, RECORDED)])


@pytest.mark.skipif(not dart_world.available(), reason="dartpy is not installed")
@pytest.mark.parametrize("kind", CLASSES)
def test_other_random_worlds_move_as_in_dart(kind: str) -> None:
    first = secrets.randbelow(1 << 30) if os.environ.get(EXAMPLES) else 500
    assert_agreement(measure(kind, FRESH, first))
