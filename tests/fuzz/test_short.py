"""A short run with a fixed seed, for every reader."""

from __future__ import annotations

import random
import time

import pytest

from tests.fuzz.mutate import mutated
from tests.fuzz.targets import READ, TARGETS

EXECUTIONS = 400
SLOWEST = 10.0
"""Processor seconds for one small document, on a busy machine."""


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read(name: str) -> None:
    stages = [TARGETS[name].run(seed) for seed in TARGETS[name].seeds()]
    assert stages.count(READ) * 2 > len(stages) or (name == "trajectory" and READ in stages)


@pytest.mark.parametrize("name", TARGETS)
def test_mutations_never_raise_or_hang(name: str) -> None:
    target = TARGETS[name]
    seeds = list(target.seeds())
    rng = random.Random(f"exoskel {name}")
    reached = 0
    for _ in range(EXECUTIONS):
        data = mutated(rng.choice(seeds), rng, target.vocabulary, rng.choice(seeds))
        begin = time.process_time()
        reached += target.run(data) == READ
        assert time.process_time() - begin < SLOWEST, data
    assert reached * 4 > EXECUTIONS or name == "trajectory"
