"""Standard streams that are closed or not UTF-8; file names that are not valid text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from lxml import etree

from exoskel.cli.commands import COMMANDS
from tests.cli.conftest import Command
from tests.support.xml import one_body

NAMED = one_body("<odd/>").replace('name="s"', 'name="é→"')


def shell(script: str, folder: Path, *arguments: bytes, encoding: str = "utf-8") -> subprocess.CompletedProcess[bytes]:
    """Run a script in which `exoskel` is the command."""
    command = f"{sys.executable} -c 'from exoskel.cli.main import run; run()'"
    return subprocess.run(
        ["bash", "-c", script.replace("exoskel", command), "bash", *arguments],
        capture_output=True,
        cwd=folder,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "named.skel").write_text(NAMED, encoding="utf-8")
    return tmp_path


@pytest.mark.skipif(sys.platform == "win32", reason="file names are text there")
@pytest.mark.parametrize("options", ["check --json", "check --sarif", "info --json", "check", "info"])
def test_file_names_that_are_not_valid_text(folder: Path, options: str) -> None:
    name = b"bad\xff.skel"
    Path(os.fsdecode(os.path.join(os.fsencode(folder), name))).write_text(NAMED, encoding="utf-8")
    done = shell(f'exoskel {options} "$1"', folder, name)
    assert (done.returncode, done.stderr) == (0, b"")
    shown = {"check --sarif": b"bad%FF.skel", "check --json": rb"bad\\udcff.skel", "info --json": rb"bad\\udcff.skel"}
    assert shown.get(options, rb"bad\udcff.skel") in done.stdout
    if "-" in options:
        json.loads(done.stdout)


@pytest.mark.parametrize(
    "command", ["check named.skel", "info named.skel", "describe joint", "explain SK001", "--help"]
)
def test_any_terminal_encoding_works(folder: Path, command: str) -> None:
    done = shell(f"exoskel {command}", folder, encoding="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()


def test_json_and_schemas_are_utf8_in_any_terminal(folder: Path) -> None:
    info = shell("exoskel info named.skel --json", folder, encoding="ascii")
    assert json.loads(info.stdout)["worlds"][0]["models"][0]["name"] == "é→"
    for command in ("check named.skel --json", "check named.skel --sarif"):
        assert json.loads(shell(f"exoskel {command}", folder, encoding="ascii").stdout)
    schema = shell("exoskel schema skel", folder, encoding="ascii").stdout
    assert etree.XMLSchema(etree.fromstring(schema))


def test_closed_streams_are_handled(folder: Path) -> None:
    unread = shell("exoskel check - <&-", folder)
    assert (unread.returncode, unread.stderr) == (2, b"exoskel: cannot read standard input: it is closed\n")
    for command in ("info named.skel", "check named.skel", "info named.skel --json", "schema skel"):
        assert shell(f"exoskel {command} >&-", folder).returncode == 0
    assert shell("exoskel check none.skel 2>&-", folder).returncode == 2


def test_the_package_runs_as_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "exoskel", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("exoskel ")


NAMES = ["x[/a].skel", "y[link=http:there]z.skel", "[bold]b.skel"]
"""Names that would be markup to the library that prints; the first is a file in a folder."""
COMMANDS_ON_A_FILE = [
    ("check",),
    ("check", "--fix", "--diff"),
    ("info",),
    ("fmt", "--check"),
    ("run", "--time", "0.01"),
    ("compare", "--engines", "mujoco", "--time", "0.01"),
    ("rollout", "--worlds", "2", "--steps", "2"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("command", COMMANDS_ON_A_FILE, ids=" ".join)
def test_markup_in_names_is_printed_as_it_is(
    command: tuple[str, ...], name: str, tmp_path: Path, exoskel_command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    text = '<skel version="1[/].0"><world name="w[/b]"><skeleton name="s[/c]"><body name="b[/d]"/></skeleton></world></skel>'
    file.write_text(text, encoding="utf-8")
    ran = exoskel_command(*command, str(file))
    assert "internal error" not in ran.err
    assert "\x1b]8;" not in ran.out + ran.err


def test_markup_in_names_does_not_stop_the_conversion_of_a_folder(tmp_path: Path, exoskel_command: Command) -> None:
    for name in NAMES:
        file = tmp_path / "in" / name
        file.parent.mkdir(exist_ok=True, parents=True)
        file.write_text('<skel version="1.0"><world name="w"><skeleton name="s"/></world></skel>', encoding="utf-8")
    ran = exoskel_command("convert", str(tmp_path / "in"), str(tmp_path / "out[/]"), "--to", "sdf")
    assert "internal error" not in ran.err and f"{len(NAMES)} files converted" in ran.out


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes there")
@pytest.mark.parametrize("arguments", ["", "--help", "-h", "--version", "-V", "check --help", "convert --help"])
def test_help_into_a_pipe_that_nobody_reads_succeeds(tmp_path: Path, arguments: str) -> None:
    done = shell(f"exec 3>&1; {{ sleep 0.2; exoskel {arguments}; echo $? >&3; }} | true", tmp_path)
    assert (done.stdout, done.stderr) == (b"0\n", b"")


def test_help_and_version_need_neither_numpy_nor_the_parser(tmp_path: Path) -> None:
    """They answer before anything slow is loaded."""
    for arguments in ("", "--help", "-V"):
        script = (
            f"import sys; from exoskel.cli.main import main; main({arguments.split()!r}); print(sorted(sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, cwd=tmp_path, text=True, check=True)
        assert not [name for name in ("numpy", "lxml", "cyclopts", "rich", "msgspec") if f"'{name}'" in done.stdout]


def test_the_overview_lists_every_command_as_the_parser_does(exoskel_command: Command) -> None:
    listed = [line.split()[0] for line in exoskel_command("--help").out.splitlines() if line.startswith("  ")]
    for command in COMMANDS:
        assert command in listed
        assert exoskel_command(command, "--help").code == 0
