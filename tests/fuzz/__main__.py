"""`python -m tests.fuzz READER --time SECONDS`: coverage-guided fuzzing with mutations that know the language.

The corpus is kept in build/fuzz/READER, what is found in build/fuzz/READER-found, and the figures in
build/fuzz/READER.json.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from pathlib import Path

from tests.fuzz.targets import READ, TARGETS

BUILD = Path("build") / "fuzz"
_EVERY = 500
"""How many executions lie between two writings of the figures: the fuzzer leaves without a word."""


class Figures:
    """What a run has to show, added to what earlier ones had."""

    def __init__(self, name: str, seconds: float) -> None:
        self.path = BUILD / f"{name}.json"
        known = json.loads(self.path.read_text()) if self.path.exists() else {}
        self.executions = known.get("executions", 0)
        self.reached = known.get("reached", 0)
        self.earlier = known.get("seconds", 0.0)
        self.begin = time.monotonic()
        self.corpus = BUILD / name

    def count(self, stage: int) -> None:
        self.executions += 1
        self.reached += stage == READ
        if self.executions % _EVERY == 0:
            self.write()

    def write(self) -> None:
        newest = max((file.stat().st_mtime for file in self.corpus.iterdir()), default=0.0)
        told = {
            "executions": self.executions,
            "reached": self.reached,
            "seconds": round(self.earlier + time.monotonic() - self.begin, 1),
            "seconds_since_growth": round(time.time() - newest, 1),
            "corpus": sum(1 for _ in self.corpus.iterdir()),
        }
        self.path.write_text(json.dumps(told, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("reader", choices=[*TARGETS])
    parser.add_argument("--time", type=int, default=60, help="seconds")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    import atheris

    target = TARGETS[chosen.reader]
    with atheris.instrument_imports(include=["exoskel"]):
        run = target.run
        run(next(target.seeds()))
    corpus, found = BUILD / target.name, BUILD / f"{target.name}-found"
    corpus.mkdir(parents=True, exist_ok=True)
    found.mkdir(exist_ok=True)
    if not any(corpus.iterdir()):
        for number, seed in enumerate(target.seeds()):
            (corpus / f"seed{number:04}").write_bytes(seed)
    figures = Figures(target.name, chosen.time)
    pool = [path.read_bytes() for path in sorted(corpus.iterdir())]

    def one(data: bytes) -> None:
        figures.count(run(data))

    def mutate(data: bytes, most: int, seed: int) -> bytes:
        rng = random.Random(seed)
        if rng.random() < 0.2:
            return bytes(atheris.Mutate(data, most))
        from tests.fuzz.mutate import mutated

        return mutated(data, rng, target.vocabulary, rng.choice(pool))[:most]

    arguments = [
        sys.argv[0],
        str(corpus),
        f"-max_total_time={chosen.time}",
        f"-seed={chosen.seed or int(time.time())}",
        f"-artifact_prefix={found}/",
        "-timeout=20",
        "-rss_limit_mb=4096",
        "-max_len=20000",
        "-len_control=0",
        "-print_final_stats=1",
    ]
    atheris.Setup(arguments, one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
