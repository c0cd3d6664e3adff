"""Eight processes at once get the same bits as one alone."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.concurrency.work import digests

PROCESSES = 8


@pytest.fixture(scope="module")
def alone() -> list[str]:
    (found,) = digests(1)
    return found


def test_alone_twice_is_the_same(alone: list[str]) -> None:
    assert digests(1) == [alone]


def test_processes_get_the_same_bits(alone: list[str]) -> None:
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        for rounds in pool.map(digests, [1] * PROCESSES):
            assert rounds == [alone]
