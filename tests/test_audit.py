"""`make audit` says whether anybody could be asked, and why not; it never passes for want of an answer."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tools import audit

KNOWN = {"name": "lxml", "version": "6.0", "vulns": [{"id": "CVE-1"}]}
SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
SKIPPED = {"name": "odd", "skip_reason": "not on this index"}


def _answering(monkeypatch: pytest.MonkeyPatch, told: list[dict[str, Any]] | None, *, fits: bool = True) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if "pip_audit" not in command:
            return subprocess.CompletedProcess(command, 0 if fits else 1)
        text = "" if told is None else json.dumps({"dependencies": told})
        return subprocess.CompletedProcess(command, 1, text, "Traceback ...\nNo module named pip_audit\n")

    monkeypatch.setattr(audit.subprocess, "run", run)


@pytest.mark.parametrize(
    ("told", "fits", "possible", "code"),
    [
        ([SOUND], True, False, 0),
        ([SOUND, SKIPPED], True, False, 0),
        ([SOUND, KNOWN], True, True, 1),
        ([SOUND], False, True, 1),
        ([SKIPPED], True, False, 3),
        ([SKIPPED], True, True, 0),
        (None, True, False, 3),
        (None, True, True, 0),
        (None, False, True, 1),
    ],
)
def test_exit_codes(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    told: list[dict[str, Any]] | None,
    fits: bool,
    possible: bool,
    code: int,
) -> None:
    _answering(monkeypatch, told, fits=fits)
    monkeypatch.setattr(audit.sys, "argv", ["audit.py", *(["--where-possible"] if possible else [])])
    assert audit.main() == code
    said = capsys.readouterr()
    asked = told is not None and SOUND in told
    assert ("NOT AUDITED" in said.err) is not asked
    assert ("CVE-1" in said.out) is (told is not None and KNOWN in told)
    if told is None:
        assert "pypi: No module named pip_audit" in said.err, "why is told"
    elif SKIPPED in told:
        assert "not on this index" in said.err
