"""A short fuzzing run with a fixed seed for every reader."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from tests.fuzz import extreme_numbers
from tests.fuzz.figures import Figures
from tests.fuzz.mutate import SampleVocabulary, parts
from tests.fuzz.targets import READ, TARGETS

EXECUTIONS = 400
FEWER = {"pipeline": 40, "numbers": 25, "options": 60, "names": 40, "bombs": 6}
"""The number of executions of slow targets."""
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
    executions = FEWER.get(name, EXECUTIONS)
    for _ in range(executions):
        data = target.mutate(rng.choice(seeds), rng, rng.choice(seeds))
        begin = time.process_time()
        reached += target.run(data) == READ
        assert time.process_time() - begin < SLOWEST, data
    assert reached * 5 > executions * 2


@pytest.mark.parametrize("format", extreme_numbers.VOCABULARIES)
def test_extreme_numbers_reach_every_numeric_field(format: str) -> None:
    reached = {(place.element, place.attribute) for place in extreme_numbers.places(format)}
    fields = [(path, attribute) for path, *field, attribute, _ in extreme_numbers.numeric_fields(format)
              if (*field, attribute) not in reached]  # fmt: skip
    assert not fields


def test_elements_are_found_at_their_offsets() -> None:
    data = b"<?xml version='1.0'?><!-- <no> --><a x='>'><b y=\"1\"/><c> t </c><![CDATA[<no>]]></a>"
    found = parts(data)
    assert [data[one.start : one.end] for one in found] == [
        data[data.index(b"<a") :],
        b'<b y="1"/>',
        b"<c> t </c>",
    ]
    assert [one.is_empty for one in found] == [False, True, False]
    vocabulary = SampleVocabulary()
    vocabulary.learn(data)
    assert vocabulary.children == {b"a": [b"b", b"c"]}
    assert vocabulary.attributes == {b"a": [b"x"], b"b": [b"y"]}
    assert vocabulary.values[b"c", b""] == [b"t"]


def test_statistics_add_up_over_runs(tmp_path: Path) -> None:
    for _ in range(2):
        figures = Figures(tmp_path / "x.json")
        figures.covered(10)
        figures.count(100, 90)
        figures.write(1, 0)
    again = Figures(tmp_path / "x.json")
    assert (again.executions, again.reached, again.edges, again.grown_at) == (200, 180, 10, 0)
    assert again.is_enough(180) and not again.is_enough(181)
    again.covered(11)
    assert again.grown_at == 200 and not again.is_enough(180)
    again.count(50, 0)
    assert again.is_enough(180), "quiet for a fifth of all executions"
