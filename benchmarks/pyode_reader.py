"""PyODE's own XODE reader, its processor time measured inside a process of its own, under a Python that has PyODE.

One path a line on standard input; one line with the seconds it needed, or `failed`, on standard output.
"""

import sys
import time

from xode import parser  # type: ignore[import-not-found]


def main() -> None:
    for line in sys.stdin:
        try:
            begin = time.process_time()
            with open(line.strip(), "rb") as source:
                root = parser.Parser().parseFile(source)
            seconds = time.process_time() - begin
            del root
            answer = repr(seconds)
        except Exception:  # PyODE raises many things
            answer = "failed"
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
