"""`make audit` reports why no service could be reached, and never passes without an answer."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tools import audit

VULNERABLE = {"name": "lxml", "version": "6.0", "vulns": [{"id": "CVE-1"}]}
CLEAN = {"name": "numpy", "version": "2.0", "vulns": []}
SKIPPED = {"name": "odd", "skip_reason": "not on this index"}


def _mock_pip_audit(
    monkeypatch: pytest.MonkeyPatch, packages: list[dict[str, Any]] | None, *, is_consistent: bool = True
) -> None:
    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        if "pip_audit" not in command:
            return subprocess.CompletedProcess(command, 0 if is_consistent else 1)
        text = "" if packages is None else json.dumps({"dependencies": packages})
        return subprocess.CompletedProcess(command, 1, text, "Traceback ...\nNo module named pip_audit\n")

    monkeypatch.setattr(audit.subprocess, "run", run)


@pytest.mark.parametrize(
    ("packages", "is_consistent", "possible", "code"),
    [
        ([CLEAN], True, False, 0),
        ([CLEAN, SKIPPED], True, False, 0),
        ([CLEAN, VULNERABLE], True, True, 1),
        ([CLEAN], False, True, 1),
        ([SKIPPED], True, False, 3),
        ([SKIPPED], True, True, 0),
        (None, True, False, 3),
        (None, True, True, 0),
        (None, False, True, 1),
    ],
)
def test_the_exit_code_is_1_for_vulnerable_packages_and_3_if_nothing_is_audited(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    packages: list[dict[str, Any]] | None,
    is_consistent: bool,
    possible: bool,
    code: int,
) -> None:
    _mock_pip_audit(monkeypatch, packages, is_consistent=is_consistent)
    monkeypatch.setattr(audit.sys, "argv", ["audit.py", *(["--where-possible"] if possible else [])])
    assert audit.main() == code
    printed = capsys.readouterr()
    is_audited = packages is not None and CLEAN in packages
    assert ("NOT AUDITED" in printed.err) is not is_audited
    assert ("CVE-1" in printed.out) is (packages is not None and VULNERABLE in packages)
    if packages is None:
        assert "pypi: No module named pip_audit" in printed.err, "the reason is printed"
    elif SKIPPED in packages:
        assert "not on this index" in printed.err
