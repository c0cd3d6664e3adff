"""A fixture that runs the command in this process, as in a pipe."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from exoskel.cli.main import main


class Result(NamedTuple):
    code: int
    out: str
    err: str


Command = Callable[..., Result]


@pytest.fixture
def exoskel_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    def run(*arguments: str | Path, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run
