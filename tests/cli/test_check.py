"""`exoskel check`: its output and exit codes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from tests.cli.conftest import Command
from tests.support.checklist import item
from tests.support.places import EXAMPLES, PROJECT, TESTS
from tests.support.xml import one_body

CLEAN = one_body()
WARNING = one_body("<transformation>1 2 3</transformation>")
ERROR = one_body("\n  <transformation>0 0 up 0 0 0</transformation>\n")


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in (("clean", CLEAN), ("warning", WARNING), ("error", ERROR)):
        (tmp_path / f"{name}.skel").write_text(text)
    return tmp_path


@item(98)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["clean.skel"], 0),
        (["warning.skel"], 0),
        (["error.skel"], 1),
        (["clean.skel", "error.skel"], 1),
        (["clean.skel", "--strict"], 0),
        (["warning.skel", "--strict"], 1),
        (["none.skel"], 2),
        (["clean.skel", "none.skel"], 2),
        (["."], 1),
        ([], 2),
        (["clean.skel", "--no-such-option"], 2),
        (["clean.skel", "--semantics", "odd"], 2),
    ],
)
def test_the_exit_code_is_1_for_problems_and_2_for_files_and_options_that_cannot_be_used(
    exoskel_command: Command, files: Path, arguments: list[str], code: int
) -> None:
    ran = exoskel_command("check", *arguments)
    assert ran.code == code
    assert "Traceback" not in ran.out + ran.err


def test_check_prints_each_problem_with_its_excerpt(
    exoskel_command: Command, files: Path, snapshot: SnapshotAssertion
) -> None:
    ran = exoskel_command("check", "clean.skel", "warning.skel", "error.skel")
    assert ran.out == snapshot
    assert ran.err == ""


def test_repeated_notes_are_omitted_unless_requested(exoskel_command: Command) -> None:
    file = EXAMPLES / "06_inertia.skel"
    default, full, quiet = (exoskel_command("check", file, *flag).out for flag in ([], ["--all"], ["--quiet"]))
    assert default.count("info[SK054]") == 2 and "SK054 x 2" in default
    assert full.count("info[SK054]") == 4
    assert quiet.count("info[SK054]") == 0


def test_json_has_the_stable_shape(exoskel_command: Command, files: Path) -> None:
    diagnostics = json.loads(exoskel_command("check", "error.skel", "warning.skel", "--json").out)
    assert [list(diagnostic) for diagnostic in diagnostics] == [
        ["code", "severity", "message", "file", "line", "column", "path", "hint", "note"]
    ] * len(diagnostics)
    assert diagnostics[0] == {
        "code": "SK022",
        "severity": "error",
        "message": "'up' is not a number",
        "file": "error.skel",
        "line": 2,
        "column": 23,
        "path": "skeleton[s]/body[b]/transformation",
        "hint": None,
        "note": None,
    }
    assert json.loads(exoskel_command("check", "clean.skel", "--json").out) == []


def test_json_of_a_strict_check_has_strict_severities(exoskel_command: Command, files: Path) -> None:
    (diagnostic,) = json.loads(exoskel_command("check", "warning.skel", "--json", "--strict").out)
    assert (diagnostic["code"], diagnostic["severity"]) == ("SK024", "error")


def test_sarif_is_valid(exoskel_command: Command, files: Path) -> None:
    report = json.loads(exoskel_command("check", "error.skel", "warning.skel", files / "clean.skel", "--sarif").out)
    schema = json.loads((TESTS / "cli" / "sarif-2.1.0-subset.json").read_text())
    jsonschema.validate(report, schema)
    (run,) = report["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
    first = run["results"][0]
    region = first["locations"][0]["physicalLocation"]["region"]
    assert (first["level"], region["startLine"], region["startColumn"]) == ("error", 2, 23)


def test_sarif_contains_the_fixes_of_problems(exoskel_command: Command, tmp_path: Path) -> None:
    file = tmp_path / "typo.skel"
    text = one_body("\n<transfromation>0 0 1 0 0 0</transfromation>\n")
    file.write_text(text)
    (result,) = json.loads(exoskel_command("check", file, "--sarif").out)["runs"][0]["results"]
    ((change,),) = [fix["artifactChanges"] for fix in result["fixes"]]
    assert result["fixes"][0]["description"]["text"]
    lines = text.splitlines()
    for one in reversed(change["replacements"]):
        region = one["deletedRegion"]
        assert region["startLine"] == region["endLine"]
        line, new = lines[region["startLine"] - 1], one["insertedContent"]["text"]
        lines[region["startLine"] - 1] = line[: region["startColumn"] - 1] + new + line[region["endColumn"] - 1 :]
    assert "\n".join(lines) == text.replace("transfromation", "transformation").rstrip("\n")


def test_standard_input_is_checked(exoskel_command: Command, files: Path) -> None:
    ran = exoskel_command("check", "-", stdin=ERROR.encode())
    assert ran.code == 1
    assert ran.out.startswith("<stdin>:2:23: error[SK022]")


def test_samples_are_checked_by_their_uri(exoskel_command: Command) -> None:
    assert exoskel_command("check", "dart://sample/skel/pendulum.skel").code == 0


def test_read_options_are_applied(exoskel_command: Command, files: Path) -> None:
    (files / "deep.skel").write_text(one_body("<a><a><a/></a></a>"))
    assert "limit of 5" in exoskel_command("check", "deep.skel", "--max-depth", "5").out
    assert "limit is 10" in exoskel_command("check", "clean.skel", "--max-bytes", "10").out
    assert exoskel_command("check", "clean.skel", "--semantics", "dart", "--confine").code == 0
    assert "unknown format 'x'" in exoskel_command("check", "clean.skel", "--format", "x").err


def run_command(*arguments: str, **options: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from exoskel.cli.main import run; run()", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **options)  # type: ignore[call-overload]


def test_plain_text_in_a_pipe_and_colour_on_request(files: Path) -> None:
    plain = run_command("check", "error.skel", cwd=files)
    assert (plain.returncode, b"\x1b" in plain.stdout) == (1, False)
    coloured = run_command("check", "error.skel", cwd=files, env={**os.environ, "FORCE_COLOR": "1"})
    assert b"\x1b[1;31merror[SK022]" in coloured.stdout


def test_a_closed_pipe_is_not_an_error(files: Path) -> None:
    (files / "many.skel").write_text(one_body("<odd/>" * 3000))
    script = (
        "exec 3>&1; {{ {python} -c 'from exoskel.cli.main import run; run()' check many.skel; echo $? >&3; }} | head -1"
    )
    done = subprocess.run(
        ["bash", "-c", script.format(python=sys.executable)], capture_output=True, text=True, cwd=files, check=False
    )
    assert "Traceback" not in done.stderr and "0" in done.stdout.split()


def test_an_internal_error_shows_no_traceback(
    exoskel_command: Command, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("exoskel.cli.checked_file.read_scene", fail)
    ran = exoskel_command("check", "clean.skel")
    assert ran.code == 2
    assert "internal error" in ran.err and "planted" in ran.err and "Traceback" not in ran.err


def test_control_characters_in_names_are_escaped(exoskel_command: Command, files: Path) -> None:
    hostile = one_body().replace('name="b"', 'name="\u009b31mred\u202e"')
    (files / "hostile.skel").write_text(hostile)
    for command in ("check", "info"):
        out = exoskel_command(command, "hostile.skel").out
        assert not set(out) & {"\u009b", "\u202e", "\x1b"}


def test_control_characters_in_file_names_and_arguments_are_escaped(exoskel_command: Command, files: Path) -> None:
    name = "a\x1b[31m\u202eb.skel"
    (files / name).write_text("<skel><bad></skel>")
    for arguments in (
        ("check", name),
        ("convert", name, "out.xode"),
        ("diff", name, "clean.skel"),
        ("check", "--\x1b[31m"),
        ("\x1b[31m",),
        ("run", "clean.skel", "--engine", "\x1b[31m"),
    ):
        ran = exoskel_command(*arguments)
        assert ran.code > 0 and not set(ran.out + ran.err) & {"\x1b", "\u202e"}, arguments


@pytest.mark.parametrize("command", [["check", "--json"], ["check", "--sarif"], ["info", "--json"]])
def test_control_characters_in_json_are_escaped(exoskel_command: Command, files: Path, command: list[str]) -> None:
    """A body name has C1 controls and bidirectional marks, which JSON allows unescaped."""
    name = "\u009b31mred\u202e\x7f"
    (files / "hostile.skel").write_text(
        one_body("<odd/>").replace('name="b"', f'name="{name}"').replace(">b<", f">{name}<")
    )
    out = exoskel_command(*command, "hostile.skel").out
    assert not set(out) & {"\u009b", "\u202e", "\x7f"}
    assert name in str(json.loads(out)).encode().decode("unicode_escape")


MISSPELLED = one_body("\n<transfromation>0 0 1 0 0 0</transfromation>\n")


def test_fix_changes_the_file_and_lists_the_remaining_problems(exoskel_command: Command, files: Path) -> None:
    misspelled = files / "misspelled.skel"
    misspelled.write_text(MISSPELLED)
    ran = exoskel_command("check", "--fix", "misspelled.skel", "error.skel")
    assert ran.out.startswith("misspelled.skel: 1 fixed (SK010)\nmisspelled.skel: no problems")
    assert ran.code == 1, "error.skel cannot be fixed"
    assert misspelled.read_text() == MISSPELLED.replace("transfromation", "transformation")
    assert (files / "error.skel").read_text() == ERROR
    before = misspelled.stat().st_mtime_ns
    assert exoskel_command("check", "--fix", "misspelled.skel").code == 0
    assert misspelled.stat().st_mtime_ns == before, "nothing to fix, nothing written"


def test_fix_diff_writes_nothing(exoskel_command: Command, files: Path) -> None:
    (files / "misspelled.skel").write_text(MISSPELLED)
    ran = exoskel_command("check", "--fix", "--diff", "misspelled.skel")
    assert "-<transfromation>" in ran.out and "+<transformation>" in ran.out
    assert (files / "misspelled.skel").read_text() == MISSPELLED
    piped = exoskel_command("check", "--fix", "--diff", "-", stdin=MISSPELLED.encode())
    assert "+<transformation>" in piped.out


@pytest.mark.parametrize(
    "arguments",
    [["--fix", "-"], ["--diff", "clean.skel"], ["--fix", "--diff", "--json", "clean.skel"]],
)
def test_fix_rejects_invalid_combinations_of_options(
    exoskel_command: Command, files: Path, arguments: list[str]
) -> None:
    ran = exoskel_command("check", *arguments, stdin=MISSPELLED.encode())
    assert ran.code == 2
    assert ran.err.startswith("exoskel: ")


def test_pre_commit_hooks_run(exoskel_command: Command, files: Path) -> None:
    text = (PROJECT / ".pre-commit-hooks.yaml").read_text()
    entries = re.findall(r"entry: exoskel (.*)", text)
    patterns = re.findall(r"files: (.*)", text)
    assert len(entries) == text.count("- id:") == len(patterns) == 3
    for entry, pattern in zip(entries, patterns, strict=True):
        assert re.search(pattern, "models/robot.skel") and not re.search(pattern, "skel.md")
        assert exoskel_command(*entry.split(), "clean.skel", "warning.skel").code == 0


def _yaml_of_the_page(number: int) -> Any:
    page = (PROJECT / "docs" / "checking.md").read_text(encoding="utf-8")
    return yaml.safe_load(re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[number])


def test_the_hooks_in_the_docs_run_without_an_address(exoskel_command: Command, files: Path) -> None:
    (repository,) = _yaml_of_the_page(0)["repos"]
    assert repository["repo"] == "local" and len(repository["hooks"]) == 3
    for hook in repository["hooks"]:
        program, *arguments = hook["entry"].split()
        assert program == "exoskel" and hook["language"] == "system"
        assert re.search(hook["files"], "models/robot.skel") and not re.search(hook["files"], "skel.md")
        assert exoskel_command(*arguments, "clean.skel", "warning.skel").code == 0


def test_the_job_in_the_docs_fails_for_errors_and_warnings(exoskel_command: Command, files: Path) -> None:
    steps = _yaml_of_the_page(1)["jobs"]["scenes"]["steps"]
    lines = [step["run"] for step in steps if step.get("run", "").startswith("exoskel ")]
    wanted = {"clean.skel": [0, 0], "warning.skel": [0, 1], "error.skel": [1, 1]}
    for name, codes in wanted.items():
        commands = [line.partition(" models/")[0].split()[1:] for line in lines]
        assert [exoskel_command(*command, name).code for command in commands] == codes


def test_the_sarif_example_in_the_docs_is_current(exoskel_command: Command, files: Path) -> None:
    page = (PROJECT / "docs" / "checking.md").read_text(encoding="utf-8")
    shown = json.loads(re.findall(r"```json\n(.*?)```", page, re.DOTALL)[0])
    robot = files / "models" / "robot.skel"
    robot.parent.mkdir()
    margin = "\n" * 5 + " " * 8
    text = one_body(f"{margin}<transfromation>0 0 0 0 0 0</transfromation>").replace('name="b"', 'name="link_one"')
    robot.write_text(text.replace("<child>b<", "<child>link_one<"))
    ran = exoskel_command("check", "--sarif", "models/robot.skel")
    assert json.loads(ran.out)["runs"][0]["results"] == [shown]
