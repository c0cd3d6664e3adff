"""The process that fuzzes a thousand times per second, guided by line coverage.

Each line is reported once, so lines that were seen cost nothing.  Python 3.11 has to trace every call, which takes two to
four times as long.  libFuzzer's counters in `worker` see more (edges,
and how often), at a twentieth of the speed.  Both share a corpus.  Like `worker`, it prints its counts on standard
error, and a finding may crash it.
"""

from __future__ import annotations

import hashlib
import importlib.util
import mmap
import os
import random
import resource
import signal
import sys
import time
from bisect import bisect
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.fuzz.targets import READ, TARGETS
from tests.fuzz.worker import COUNTED, EVERY, save_finding

BYTES = 0.03
"""The share of inputs that are mutated as bytes."""
STACKED = (1, 1, 2, 3)
"""The number of successive changes: more than one breaks most documents of a strict reader."""
SECONDS = 20
"""Processor time for one input: wall time would depend on the load of the machine."""
MEMORY = 6 << 30
_HEAD = 8
"""Bytes for the length of an input."""


TraceFunction = Callable[[FrameType, str, Any], Any]


class Lines:
    """Counts the lines of some modules that have been executed."""

    def __init__(self, modules: tuple[str, ...]) -> None:
        self.seen = 0
        if not modules:
            return
        places = [importlib.util.find_spec(name) for name in modules]
        self._roots = tuple(
            str(Path(place.origin).parent if place.submodule_search_locations else Path(place.origin))
            for place in places
            if place is not None and place.origin is not None
        )
        monitoring: Any = getattr(sys, "monitoring", None)
        if monitoring is None:
            self._left: dict[CodeType, set[int]] = {}
            sys.settrace(self._call)
            return
        self._disable: Any = monitoring.DISABLE
        monitoring.use_tool_id(monitoring.COVERAGE_ID, "fuzz")
        monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, self._line)
        monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)

    def _line(self, code: CodeType, number: int) -> Any:
        if code.co_filename.startswith(self._roots):
            self.seen += 1
        return self._disable

    def _call(self, frame: FrameType, _event: str, _argument: object) -> TraceFunction | None:
        """Trace a call of Python 3.11, unless all lines of the function were seen."""
        code = frame.f_code
        left = self._left.get(code)
        if left is None:
            numbers = (
                {line for _, _, line in code.co_lines() if line} if code.co_filename.startswith(self._roots) else set()
            )
            left = self._left[code] = numbers
        return self._trace if left else None

    def _trace(self, frame: FrameType, event: str, _argument: object) -> TraceFunction:
        left = self._left[frame.f_code]
        if event == "line" and frame.f_lineno in left:
            left.discard(frame.f_lineno)
            self.seen += 1
        return self._trace


class Current:
    """The current input, in a file that survives the process."""

    def __init__(self, corpus: Path, most: int) -> None:
        self._file = (corpus.parent / f"{corpus.name}-current").open("w+b")
        self._most = 16 * most  # inputs of the corpus may be longer than new ones
        self._file.truncate(_HEAD + self._most)
        self._map = mmap.mmap(self._file.fileno(), 0)

    def write(self, data: bytes) -> None:
        size = min(len(data), self._most)
        self._map[:_HEAD] = size.to_bytes(_HEAD, "little")
        self._map[_HEAD : _HEAD + size] = data[:size]

    @staticmethod
    def last_input(corpus: Path) -> bytes:
        """The last input of a process that ended."""
        data = (corpus.parent / f"{corpus.name}-current").read_bytes()
        return data[_HEAD : _HEAD + int.from_bytes(data[:_HEAD], "little")]


class Pool:
    """The inputs to mutate; the probability of each is inversely proportional to its time."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._inputs: list[bytes] = []
        self._ends: list[float] = []

    def add(self, data: bytes, seconds: float) -> None:
        self._inputs.append(data)
        self._ends.append((self._ends[-1] if self._ends else 0.0) + 1.0 / max(seconds, 1e-6))

    def draw(self) -> bytes:
        return self._inputs[bisect(self._ends, self._rng.random() * self._ends[-1]) % len(self._inputs)]


def _too_long(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"an input took more than {SECONDS} s")


def _bytes(data: bytes, rng: random.Random) -> bytes:
    """Replace, remove or duplicate a few bytes."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(out) + 1)
        end = min(len(out), at + rng.choice((0, 1, 1, 4, 16)))
        out[at:end] = rng.choice((rng.randbytes(rng.choice((0, 1, 2))), bytes(out[at:end]) * 2))
    return bytes(out)


def main(name: str, corpus: Path, found: Path, seconds: int, seed: int) -> None:
    target, rng = TARGETS[name], random.Random(seed)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _too_long)
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)  # ends the process if a library hangs, where no Python code runs
    current = Current(corpus, target.most)
    lines = Lines(target.modules)
    pool = Pool(rng)
    counts = [0, 0]

    def run(data: bytes) -> bool:
        """Run an input; returns whether it led to a scene."""
        current.write(data)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.setitimer(signal.ITIMER_VIRTUAL, 2 * SECONDS)
        try:
            is_read = target.run(data) == READ
        except Exception as error:
            save_finding(found, data, error)
            is_read = True
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        return is_read

    for path in sorted(corpus.iterdir()):
        data = path.read_bytes()
        if run(data):  # measured in a second run, after all imports
            begin = time.process_time()
            run(data)
            pool.add(data, time.process_time() - begin)
    os.write(2, f"#0 INITED cov: {lines.seen}\n".encode())
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = pool.draw()
        if rng.random() < BYTES:
            data = _bytes(data, rng)
        else:
            for _ in range(rng.choice(STACKED)):
                data = target.mutate(data, rng, pool.draw())
        data = data[: target.most]
        before, begin = lines.seen, time.process_time()
        is_read = run(data)
        counts[0] += 1
        counts[1] += is_read
        if lines.seen > before:
            (corpus / hashlib.sha1(data).hexdigest()).write_bytes(data)
            if is_read:
                pool.add(data, time.process_time() - begin)
            os.write(2, f"#{counts[0]} NEW cov: {lines.seen}\n".encode())
        if counts[0] == EVERY:
            os.write(2, f"{COUNTED} {counts[0]} {counts[1]}\n".encode())
            counts[:] = 0, 0


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
