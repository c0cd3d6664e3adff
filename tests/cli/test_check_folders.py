"""`exoskel check` at scale: folders, selections, settings, output formats, processes and watching."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree
from syrupy.assertion import SnapshotAssertion

from exoskel.cli.checked_file import process_count
from tests.cli.conftest import Command
from tests.support.xml import one_body

CLEAN = one_body()
WARNING = one_body("<transformation>1 2 3</transformation>")
ERROR = one_body("\n  <transformation>0 0 up 0 0 0</transformation>\n")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with scenes in folders, some of which git ignores."""
    files = {
        "a.skel": CLEAN,
        "robots/b.skel": WARNING,
        "robots/deep/c.skel": ERROR,
        "robots/deep/scene.xml": "<mujoco><worldbody/></mujoco>",
        "robots/deep/other.xml": "<package/>",
        "robots/deep/notes.txt": "no scene",
        "build/d.skel": ERROR,
        "robots/e.generated.skel": ERROR,
        "robots/keep.generated.skel": CLEAN,
        ".hidden/f.skel": ERROR,
        ".gitignore": "build/\n*.generated.skel\n",
        "robots/.gitignore": "!keep.generated.skel\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _checked(ran: object, *arguments: str) -> list[str]:
    """The files that a check reports on, by the lines that summarize them."""
    return [line.partition(": ")[0] for line in str(ran).splitlines() if "degree" in line]


FOUND = ["a.skel", "robots/b.skel", "robots/deep/c.skel", "robots/deep/scene.xml", "robots/keep.generated.skel"]


def test_scenes_in_folders_are_found_unless_git_ignores_them(exoskel_command: Command, tree: Path) -> None:
    ran = exoskel_command("check", ".")
    assert (ran.code, ran.err) == (1, "")
    assert _checked(ran.out) == FOUND
    assert ran.out.endswith("5 files checked: 1 error, 1 warning (3 files without problems)\n")
    assert _checked(exoskel_command("check", "robots/deep").out) == FOUND[2:4]
    assert _checked(exoskel_command("check", "robots").out) == FOUND[1:], "files above the folder count"
    named = exoskel_command("check", "build/d.skel")
    assert _checked(named.out) == ["build/d.skel"], "a file that is named is checked"
    every = _checked(exoskel_command("check", ".", "--no-gitignore").out)
    assert {"build/d.skel", ".hidden/f.skel", "robots/e.generated.skel"} < set(every)


def test_files_and_folders_can_be_excluded(exoskel_command: Command, tree: Path) -> None:
    assert _checked(exoskel_command("check", ".", "--exclude", "robots/").out) == ["a.skel"]
    ran = exoskel_command("check", ".", "--exclude", "deep", "--exclude", "*.generated.skel")
    assert _checked(ran.out) == ["a.skel", "robots/b.skel"]
    assert ran.code == 0


def test_a_folder_without_scenes_is_reported(exoskel_command: Command, tree: Path) -> None:
    (tree / "empty").mkdir()
    ran = exoskel_command("check", "empty")
    assert (ran.code, ran.out, ran.err) == (2, "", "exoskel: no scene files found in 'empty'\n")


def test_a_file_is_checked_once(exoskel_command: Command, tree: Path) -> None:
    assert _checked(exoskel_command("check", "a.skel", "a.skel", "robots/b.skel", "robots").out).count("a.skel") == 1


def test_quiet_is_silent_about_clean_files(exoskel_command: Command, tree: Path) -> None:
    assert exoskel_command("check", "-q", "a.skel", "robots/keep.generated.skel") == (0, "", "")
    out = exoskel_command("check", "-q", ".").out
    assert _checked(out) == ["robots/b.skel", "robots/deep/c.skel"]
    assert out.endswith("5 files checked: 1 error, 1 warning (3 files without problems)\n")


# --- codes ------------------------------------------------------------------------------------------------


def test_codes_are_selected_and_ignored_by_their_beginnings(exoskel_command: Command, tree: Path) -> None:
    def codes(*options: str) -> set[str]:
        return {row["code"] for row in json.loads(exoskel_command("check", ".", "--json", *options).out)}

    every = codes()
    assert every == {"SK024", "SK022"}
    assert codes("--select", "SK") == every and codes("--select", "MJ,X") == set()
    assert codes("--select", "sk022") == codes("--ignore", "SK024") == {"SK022"}
    assert codes("--select", "SK024,SK022", "--ignore", "SK022") == {"SK024"}
    assert codes("--select", "SK024", "--select", "SK022") == every
    assert exoskel_command("check", ".", "--ignore", "SK022").code == 0, "what is ignored is no error"
    ran = exoskel_command("check", ".", "--select", "SK9X")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "exoskel: --select: no code begins with 'SK9X'; list all codes with `exoskel explain`\n"


def test_only_selected_problems_are_fixed(exoskel_command: Command, tree: Path) -> None:
    misspelled = tree / "m.skel"
    misspelled.write_text(one_body("<transfromation>0 0 1 0 0 0</transfromation>"))
    assert exoskel_command("check", "--fix", "--ignore", "SK010", misspelled).code == 0
    assert "transfromation" in misspelled.read_text()
    exoskel_command("check", "--fix", "--select", "SK010", misspelled)
    assert "transfromation" not in misspelled.read_text()


def test_statistics_count_codes_with_an_example(
    exoskel_command: Command, tree: Path, snapshot: SnapshotAssertion
) -> None:
    (tree / "robots" / "b2.skel").write_text(WARNING)
    ran = exoskel_command("check", ".", "--statistics")
    assert ran.code == 1
    assert ran.out == snapshot
    rows = json.loads(exoskel_command("check", ".", "--statistics", "--json").out)
    assert [(row["code"], row["count"], row["severity"]) for row in rows] == [
        ("SK024", 2, "warning"),
        ("SK022", 1, "error"),
    ]
    assert rows[0]["example"].startswith("robots/b.skel:1:")


# --- settings ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "head"), [("exoskel.toml", ""), ("pyproject.toml", "[tool.other]\nselect = 1\n[tool.exoskel]\n")]
)
def test_settings_are_those_of_the_nearest_file(
    exoskel_command: Command, tree: Path, monkeypatch: pytest.MonkeyPatch, name: str, head: str
) -> None:
    (tree / name).write_text(f'{head}exclude = ["/robots/b.skel"]\nignore = ["SK022"]\noutput-format = "json"\n')
    for folder in (".", "robots"):
        monkeypatch.chdir(tree / folder)
        assert exoskel_command("check", ".").out == "[]\n"
        rows = json.loads(exoskel_command("check", ".", "--ignore", "X").out)
        assert [row["code"] for row in rows] == ["SK022"], "options replace settings"
    monkeypatch.chdir(tree)
    (tree / name).write_text(f"{head}strict = true\nrespect-gitignore = false\n")
    ran = exoskel_command("check", "robots")
    assert "error[SK024]" in ran.out and "e.generated.skel" in ran.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("selct = []", "unknown setting 'selct' in '{file}'; did you mean 'select'?"),
        ("select = 'SK'", "'select' in '{file}' must be a list of strings, not 'SK'"),
        ("ignore = [1]", "'ignore' in '{file}' must be a list of strings, not [1]"),
        ("strict = 1", "'strict' in '{file}' must be true or false, not 1"),
        (
            "output-format = 'xml'",
            "'output-format' in '{file}' must be one of text, json, sarif, github, junit, not 'xml'",
        ),
        ("ignore = ['QQ']", "'ignore' in '{file}': no code begins with 'QQ'; list all codes with `exoskel explain`"),
        ("select = [", "invalid settings in '{file}': "),
    ],
)
def test_invalid_settings_are_reported_with_file_and_key(
    exoskel_command: Command, tree: Path, text: str, message: str
) -> None:
    file = tree / "exoskel.toml"
    file.write_text(text)
    ran = exoskel_command("check", ".")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("exoskel: " + message.format(file=file))


def test_a_table_of_another_tool_is_not_read(exoskel_command: Command, tree: Path) -> None:
    (tree / "pyproject.toml").write_text("[project]\nname = 'exoskel'\n")
    assert exoskel_command("check", "a.skel").code == 0
    (tree / "pyproject.toml").write_text("[tool]\nexoskel = 3\n")
    assert "'tool.exoskel' must be a table" in exoskel_command("check", "a.skel").err


# --- formats of the output --------------------------------------------------------------------------------


@pytest.mark.parametrize("format", ["text", "json", "sarif", "github", "junit"])
def test_every_output_format_reports_the_same_problems(
    exoskel_command: Command, tree: Path, format: str, snapshot: SnapshotAssertion
) -> None:
    ran = exoskel_command("check", ".", "--output-format", format)
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.count("'up' is not a number") >= 1
    if format in ("github", "junit"):
        assert ran.out == snapshot
    if format in ("json", "sarif"):
        assert ran.out == exoskel_command("check", ".", f"--{format}").out


def test_junit_counts_failures_and_files_that_cannot_be_opened(exoskel_command: Command, tree: Path) -> None:
    ran = exoskel_command("check", "a.skel", "none.skel", "robots/b.skel", "--output-format", "junit", "--strict")
    root = etree.fromstring(ran.out.encode())
    assert ran.code == 2
    assert dict(root.attrib) == {"name": "exoskel check", "tests": "3", "failures": "1", "errors": "1"}
    assert [len(suite) for suite in root] == [1, 1, 1]


def test_reserved_characters_are_encoded_in_annotations(exoskel_command: Command, tree: Path) -> None:
    (tree / "100%,a:b.skel").write_text(ERROR)
    out = exoskel_command("check", "100%,a:b.skel", "--output-format", "github").out
    assert out.startswith("::error file=100%25%2Ca%3Ab.skel,line=2,col=23,endLine=2,endColumn=25,title=exoskel SK022::")


@pytest.mark.parametrize(
    "options",
    [
        ("--json", "--sarif"),
        ("--json", "--output-format", "text"),
        ("--statistics", "--sarif"),
        ("--watch", "--json"),
        ("--watch", "--fix"),
        ("--fix", "--diff", "--output-format", "github"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    exoskel_command: Command, tree: Path, options: tuple[str, ...]
) -> None:
    ran = exoskel_command("check", "a.skel", *options)
    assert (ran.code, ran.out) == (2, "") and ran.err.startswith("exoskel: ")


# --- processes --------------------------------------------------------------------------------------------


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "exoskel", *arguments]


@pytest.mark.parametrize("format", ["text", "json", "sarif", "junit"])
def test_several_processes_give_the_same_output(tree: Path, format: str) -> None:
    arguments = ("check", ".", "missing.skel", "--all", "--output-format", format)
    one, two = (
        subprocess.run(command(*arguments, "--jobs", jobs), capture_output=True, text=True, check=False, cwd=tree)
        for jobs in ("1", "2")
    )
    assert one.returncode == two.returncode == 2
    assert (one.stdout, one.stderr) == (two.stdout, two.stderr)


def test_processes_are_started_only_if_there_is_much_to_read(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert process_count(["a.skel"] * 100) == 1
    assert process_count(["a.skel"] * 1000) == 4
    with (tree / "large.skel").open("wb") as file:
        file.truncate(20_000_000)
    assert process_count(["large.skel", "a.skel"]) == 2
    assert process_count(["large.skel"]) == 1


# --- watching ---------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_watch_checks_again_when_a_file_changes(tree: Path) -> None:
    watching = subprocess.Popen(
        command("check", "a.skel", "--watch"), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=tree
    )
    try:
        assert watching.stdout is not None
        assert watching.stdout.readline().startswith("a.skel: no problems")
        assert "watching" in watching.stdout.readline()
        (tree / "a.skel").write_text(ERROR)
        assert "error[SK022]" in watching.stdout.readline()
        while "watching" not in watching.stdout.readline():
            pass
        watching.send_signal(signal.SIGINT)
        watching.stdout.read()
        assert watching.wait(60) == 1, "the exit code of the last check"
    finally:
        watching.kill()
        watching.wait()
