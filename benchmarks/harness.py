"""Measuring two things side by side on a noisy machine.

Runs alternate, so that whatever else the machine does hits both alike; what is reported is the median of
the ratios of neighbours, with a bootstrap interval.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Run = Callable[[], float]
"""Does the work once and returns the seconds it took."""


def timed(work: Callable[[], object]) -> Run:
    def run() -> float:
        begin = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - begin
        del result  # as with the other programs, which are not timed while they free what they made
        return seconds

    return run


def processor_timed(work: Callable[[], object]) -> Run:
    """The processor time of this process and of its children that have ended: other programs affect it less."""

    def run() -> float:
        begin = _processor_seconds()
        result = work()
        seconds = _processor_seconds() - begin
        del result
        return seconds

    return run


def _processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@dataclass(frozen=True)
class Comparison:
    """Seconds of both sides, pair by pair."""

    ours: np.ndarray
    theirs: np.ndarray

    @property
    def ratio(self) -> float:
        """Theirs over ours: how many times faster we are."""
        return float(np.median(self.theirs / self.ours))

    def interval(self, level: float = 0.90) -> tuple[float, float]:
        """A bootstrap interval of the median ratio."""
        rng = np.random.default_rng(0)
        ratios = self.theirs / self.ours
        medians = np.median(rng.choice(ratios, (2000, len(ratios))), axis=1)
        low, high = np.quantile(medians, [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)


def compare(ours: Run, theirs: Run, pairs: int, warm_up: int = 1) -> Comparison:
    """Run the two alternately, each first in half of the pairs."""
    for _ in range(warm_up):
        ours()
        theirs()
    left, right = [], []
    for number in range(pairs):
        if number % 2:
            right.append(theirs())
            left.append(ours())
        else:
            left.append(ours())
            right.append(theirs())
    return Comparison(np.array(left), np.array(right))
