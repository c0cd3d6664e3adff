"""DART's own SKEL parser, its processor time measured inside a process of its own.

One path a line on standard input; one line with the seconds it needed, or `failed`, on standard output.
"""

from __future__ import annotations

import os
import sys
import time


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    # DART writes warnings to both streams; they must not get between the answers.
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    import dartpy

    read = dartpy.utils.SkelParser.readWorld
    for line in sys.stdin:
        uri = "file://" + line.strip()
        begin = time.process_time()
        try:
            world = read(uri)
            seconds = time.process_time() - begin
            answer = "failed" if world is None else repr(seconds)
            del world
        except RuntimeError:
            answer = "failed"
        answers.write(answer + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
