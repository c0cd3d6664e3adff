"""SARIF logs by the official schema and Microsoft's validator, and fixes that other programs apply."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.cli.conftest import Command
from tests.support.places import PROJECT

VALIDATOR = PROJECT / ".venv" / "sarif-validator" / "node_modules"
TEXT = """<?xml version="1.0" encoding="{encoding}"?>
<skel version="1.0">
  <world name="wörld">
    <physics><time_step>x</time_step><gravity>0 -9.81 0</gravity></physics>
    <skeleton name="é"><bodyy name="äöü"><inertia><mass>1</mass></inertia></bodyy>
\t<body name="b"><visualization_shape><geometry><bx><size>1 1 1</size></bx></geometry></visualization_shape></body>
      <joint name="{face}{face}" tipe="revolute"><parent>world</parent><child>b</child></joint>
    </skeleton>
  </world>
</skel>
"""
"""Misspelt names behind characters of one, two and four bytes."""
ENCODINGS = ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"]
NEWLINES = {"unix": "\n", "windows": "\r\n", "old mac": "\r"}


def document(encoding: str, newline: str) -> bytes:
    face = "é" if encoding == "iso-8859-1" else "\U0001f916"
    text = TEXT.format(encoding=encoding.removesuffix("-sig"), face=face)
    return text.replace("\n", newline).encode(encoding)


def log_of(command: Command, *files: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command("check", *files, "--sarif").out)
    return found


def offset(text: str, run: dict[str, Any], line: int, column: int) -> int:
    """A place in a text by the units and line ends that a run states."""
    assert run["columnKind"] == "unicodeCodePoints"
    ends = [found.end() for found in re.finditer("|".join(map(re.escape, run["newlineSequences"])), text)]
    return [0, *ends][line - 1] + column - 1


@pytest.mark.parametrize("newline", NEWLINES.values(), ids=NEWLINES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_fixes_are_applied_by_other_programs(
    encoding: str, newline: str, tmp_path: Path, exoskel_command: Command
) -> None:
    file = tmp_path / "typos.skel"
    file.write_bytes(document(encoding, newline))
    (run,) = log_of(exoskel_command, file)["runs"]
    text = file.read_bytes().decode(encoding)
    found: list[tuple[int, int, str]] = []
    for fix in (fix for result in run["results"] for fix in result.get("fixes", ())):
        for one in (one for change in fix["artifactChanges"] for one in change["replacements"]):
            region = one["deletedRegion"]
            start = offset(text, run, region["startLine"], region["startColumn"])
            end = offset(text, run, region["endLine"], region["endColumn"])
            found.append((start, end, one["insertedContent"]["text"]))
    assert len(found) >= 5
    for start, end, new in sorted(found, reverse=True):
        text = text[:start] + new + text[end:]
    expected = file.read_bytes().decode(encoding)
    for wrong, right in (("bodyy", "body"), ("bx>", "box>"), ("tipe=", "type=")):
        expected = expected.replace(wrong, right)
    assert text == expected
    assert exoskel_command("check", file, "--fix").code == 1  # one error has no fix
    assert file.read_bytes().decode(encoding) == expected


@pytest.fixture
def log(tmp_path: Path, exoskel_command: Command) -> Path:
    """The log of files with many problems."""
    for number, newline in enumerate(NEWLINES.values()):
        (tmp_path / f"ä {number}.skel").write_bytes(document("utf-8", newline))
    (tmp_path / "broken.skel").write_text("<skel><world></skel>")
    (tmp_path / "robot.urdf").write_text('<robot name="r"><lnk name="a"/><joint name="j" type="revolut"/></robot>')
    files = sorted(tmp_path.iterdir())
    log = tmp_path / "log.sarif"
    log.write_text(json.dumps(log_of(exoskel_command, *files)))
    return log


def test_the_official_schema_of_the_validator_accepts_logs(log: Path) -> None:
    schema = VALIDATOR / "@microsoft" / "sarif-multitool-linux" / "sarif-2.1.0.json"
    if not schema.is_file():
        pytest.skip("needs `make validator`")
    report = json.loads(log.read_text())
    assert len(report["runs"][0]["results"]) > 15
    jsonschema.validate(report, json.loads(schema.read_text(encoding="utf-8-sig")))
    report["runs"][0]["columnKind"] = "bytes"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(report, json.loads(schema.read_text(encoding="utf-8-sig")))


def test_the_validator_of_microsoft_finds_nothing(log: Path) -> None:
    program = VALIDATOR / ".bin" / "sarif-multitool"
    if not program.exists():
        pytest.skip("needs `make validator`")
    command = [str(program), "validate", str(log)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout
    assert not re.findall(r"(?:error|warning) SARIF\d+", done.stdout), done.stdout
