"""DART's own loop, timed inside a process of its own.

One path a line on standard input; one line with the seconds that a thousand steps took, or `failed`, on standard
output.  All velocities start at 0.1 at least: DART puts resting bodies to sleep, and skips what is in balance.
"""

from __future__ import annotations

import os
import sys
import time

STEPS = 1000


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    import dartpy

    for line in sys.stdin:
        world = dartpy.utils.SkelParser.readWorld("file://" + line.strip())
        if world is None:
            answers.write("failed\n")
            answers.flush()
            continue
        for number in range(world.getNumSkeletons()):
            skeleton = world.getSkeleton(number)
            skeleton.setVelocities([v or 0.1 for v in skeleton.getVelocities()])
        world.step()
        begin = time.perf_counter()
        for _ in range(STEPS):
            world.step()
        answers.write(f"{time.perf_counter() - begin!r}\n")
        answers.flush()


if __name__ == "__main__":
    main()
