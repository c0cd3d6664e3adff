"""Sixteen threads and eight processes at once get the same bits as a single one."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.concurrency.work import SAMPLES, digest, digests

THREADS = 16
PROCESSES = 8


@pytest.fixture(scope="module")
def alone() -> list[str]:
    (found,) = digests(1)
    return found


def test_two_runs_alone_are_the_same(alone: list[str]) -> None:
    assert digests(1) == [alone]


def test_threads_get_the_same_bits(alone: list[str]) -> None:
    start = Barrier(THREADS)

    def work(number: int) -> list[str]:
        start.wait()
        order = [(i + number) % len(SAMPLES) for i in range(len(SAMPLES))]
        found = {i: digest(SAMPLES[i]) for i in order}
        return [found[i] for i in range(len(SAMPLES))]

    with ThreadPoolExecutor(THREADS) as pool:
        for found in pool.map(work, range(THREADS)):
            assert found == alone


def test_processes_get_the_same_bits(alone: list[str]) -> None:
    with ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn")) as pool:
        for rounds in pool.map(digests, [1] * PROCESSES):
            assert rounds == [alone]
