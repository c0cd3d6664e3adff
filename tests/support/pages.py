"""Documentation pages as scripts: their code blocks run, in order, in one folder.

Blocks marked `python` share one namespace.  Blocks marked `sh` run in a shell that stops at the first error.  In blocks
marked `console`, `$ ` precedes a command and its output follows; a line `…` stands for any lines, and `…` in a line for any
text.  Blocks without a language are not run.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple


class Block(NamedTuple):
    """A fenced block of code: its language and its text."""

    language: str
    text: str


def blocks(page: str) -> Iterator[Block]:
    for language, text in re.findall(r"^```(\w*)\n(.*?)^```$", page, re.DOTALL | re.MULTILINE):
        yield Block(language, text)


class Session:
    """Runs the blocks of one page in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, Any] = {}
        programs = folder / "programs"
        programs.mkdir()
        command = programs / "exoskel"
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m exoskel "$@"\n', encoding="utf-8")
        command.chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}

    def run(self, block: Block) -> None:
        match block.language:
            case "python":
                exec(compile(block.text, "page", "exec"), self.names)
            case "sh":
                done = self._shell(block.text)
                assert done.returncode == 0, f"{block.text}\n{done.stdout}{done.stderr}"
            case "console":
                for command, expected in examples(block.text):
                    done = self._shell(command)
                    output = done.stdout + done.stderr
                    assert matches(output, expected), f"$ {command}\n{output}\n--- the page says ---\n{expected}"

    def _shell(self, text: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-e", "-c", text],
            capture_output=True,
            text=True,
            cwd=self.folder,
            env=self.environment,
            check=False,
            timeout=300,
        )


def examples(text: str) -> list[tuple[str, str]]:
    """The commands of a `console` block, each with the output that follows it."""
    parts = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def matches(output: str, expected: str) -> bool:
    """Whether an output is as expected, apart from trailing spaces and from what `…` stands for."""
    lines = [line.rstrip() for line in expected.strip().splitlines()]
    pattern = "".join("(?:.*\n)*?" if line.strip() == "…" else _line(line) for line in lines)
    tidy = "".join(f"{line.rstrip()}\n" for line in output.strip().splitlines())
    return re.fullmatch(pattern, tidy) is not None


def _line(line: str) -> str:
    return ".*".join(re.escape(part) for part in line.split("…")) + "\n"
