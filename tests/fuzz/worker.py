"""The process that fuzzes one reader with libFuzzer through Atheris.  A finding may crash it.

It prints its counts on standard error, between the lines of libFuzzer.
"""

from __future__ import annotations

import os
import random
import sys
import traceback
import zlib
from pathlib import Path

from tests.fuzz.targets import READ, TARGETS, Target

BYTES = 0.05
"""The share of byte mutations by libFuzzer."""
AWAY = 0.8
"""The share of inputs without a scene that are replaced by a valid one: libFuzzer prefers rare failures."""
REMEMBERED = 500_000
COUNTED = "counted"
EVERY = 200
"""The number of executions between two reports of the counts."""


def save_finding(found: Path, data: bytes, error: BaseException) -> None:
    """Save an input that raised an exception, one for each location that raises."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).stem}-{last.lineno}-{type(error).__name__}"
    path = found / f"raised-{place}"
    if not path.exists():
        path.write_bytes(data)
        path.with_suffix(".txt").write_text("".join(traceback.format_exception(error)))


def _is_read(target: Target, data: bytes) -> bool:
    try:
        return target.run(data) == READ
    except Exception:  # the fuzzer will find it again
        return False


def main(name: str, corpus: Path, found: Path, seconds: int, seed: int) -> None:
    import atheris

    target = TARGETS[name]
    with atheris.instrument_imports(include=list(target.modules)):
        target.run(next(target.seeds()))
    inputs = [path.read_bytes() for path in sorted(corpus.iterdir())]
    pool = [data for data in inputs if _is_read(target, data)] or inputs
    failed: set[int] = set()
    counts = [0, 0]

    def one(data: bytes) -> None:
        try:
            is_read = target.run(data) == READ
        except Exception as error:
            save_finding(found, data, error)
            is_read = True
        counts[1] += is_read
        if not is_read and len(failed) < REMEMBERED:
            failed.add(zlib.crc32(data))
        counts[0] += 1
        if counts[0] == EVERY:
            os.write(2, f"{COUNTED} {counts[0]} {counts[1]}\n".encode())
            counts[:] = 0, 0

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < BYTES:
            return bytes(atheris.Mutate(data, most))
        if zlib.crc32(data) in failed and rng.random() < AWAY:
            data = rng.choice(pool)
        return target.mutate(data, rng, rng.choice(pool))[:most]

    arguments = [
        sys.argv[0],
        str(corpus),
        f"-max_total_time={seconds}",
        f"-seed={seed}",
        f"-artifact_prefix={found}/",
        "-timeout=20",
        "-rss_limit_mb=4096",
        f"-max_len={target.most}",
        "-len_control=0",
        "-mutate_depth=2",
        "-print_final_stats=0",
    ]
    atheris.Setup(arguments, one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
