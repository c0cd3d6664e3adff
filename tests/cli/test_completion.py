"""Completion scripts: bash, zsh and fish complete for real, and the scripts have all words."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from exoskel.cli.commands import COMMANDS
from exoskel.cli.completion import Shell, completed_options
from exoskel.samples import samples
from tests.cli.conftest import Command
from tests.support.terminals import Terminal

BASH = (
    "source exoskel.bash; COMP_LINE=\"$1\"; COMP_POINT=${#1}; COMP_WORDBREAKS=$' \\t\\n\"\\'><=;|&(:'; COMPREPLY=(); "
    '_exoskel; printf "%s\\n" "${COMPREPLY[@]}"'
)
FISH = 'source exoskel.fish; complete -C "$argv[1]"'
ZSHRC = """
PS1='READY> '
fpath=($PWD/functions $fpath)
autoload -Uz compinit
compinit -u -D
unsetopt AUTO_LIST AUTO_MENU BEEP
bindkey -e
bindkey '^I' complete-word
compadd() {  # records what is offered
    local -a offered
    if (( ! ${@[(I)-[OAD]]} )); then
        builtin compadd -O offered "$@"
        print -rl -- $offered >> offered
    fi
    builtin compadd "$@"
}
"""


def complete_in_bash(line: str, folder: Path) -> list[str]:
    done = subprocess.run(["bash", "-c", BASH, "bash", line], capture_output=True, text=True, check=True, cwd=folder)
    return sorted(done.stdout.split())


def complete_in_fish(line: str, folder: Path) -> list[str]:
    command = ["fish", "--no-config", "-c", FISH, line]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    assert done.stderr == ""
    return sorted(shown.partition("\t")[0].rpartition("=")[2] for shown in done.stdout.splitlines())


def complete_in_zsh(line: str, folder: Path) -> list[str]:
    """Type a line and the tab key into zsh, which completes at a terminal only."""
    (folder / "functions").mkdir(exist_ok=True)
    shutil.copy(folder / "exoskel.zsh", folder / "functions" / "_exoskel")
    (folder / ".zshenv").write_text("unsetopt GLOBAL_RCS\n")
    (folder / ".zshrc").write_text(ZSHRC)
    offered = folder / "offered"
    offered.unlink(missing_ok=True)
    terminal = Terminal(["zsh", "-i"], folder=folder, ZDOTDIR=str(folder))
    terminal.read_until("READY> ")
    terminal.type(f"{line}\t\x15exit\r")
    shown = terminal.finish()
    assert "_exoskel:" not in shown, "an error in the script"
    return sorted(set(offered.read_text().split())) if offered.exists() else []


COMPLETE = {"bash": complete_in_bash, "zsh": complete_in_zsh, "fish": complete_in_fish}


def folder_with_script(exoskel_command: Command, tmp_path: Path, shell: str) -> Path:
    """A folder with the script of a shell and a scene."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "robot.skel").touch()
    (folder / f"exoskel.{shell}").write_text(exoskel_command("completion", shell).out)
    return folder


@pytest.fixture
def folder(exoskel_command: Command, tmp_path: Path) -> Path:
    return folder_with_script(exoskel_command, tmp_path, "bash")


OFFERED = {
    "exoskel ": sorted(COMMANDS),
    "exoskel co": ["compare", "completion", "convert"],
    "exoskel --co": ["--color"],
    "exoskel --color a": ["always", "auto"],
    "exoskel check --st": ["--statistics", "--strict"],
    "exoskel check --output-format ": ["github", "json", "junit", "sarif", "text"],
    "exoskel run x --engine m": ["mujoco"],
    "exoskel run x --engine=m": ["mujoco"],
    "exoskel check rob": ["robot.skel"],
    "exoskel check --color ": ["always", "auto", "never"],
    "exoskel schema ": ["json", "sdf", "skel", "urdf", "xode"],
    "exoskel schema json ch": ["check"],
    "exoskel samples pendulum_": ["pendulum_wave"],
}


@pytest.mark.parametrize("line", OFFERED)
@pytest.mark.parametrize("shell", COMPLETE)
def test_shells_complete_commands_options_choices_files_and_words(
    exoskel_command: Command, tmp_path: Path, shell: str, line: str
) -> None:
    folder = folder_with_script(exoskel_command, tmp_path, shell)
    assert COMPLETE[shell](line, folder) == OFFERED[line]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_shells_complete_sample_names(exoskel_command: Command, tmp_path: Path, shell: str) -> None:
    folder = folder_with_script(exoskel_command, tmp_path, shell)
    offered = COMPLETE[shell]("exoskel check dart://sample/skel/pendulum_", folder)
    assert offered == ["dart://sample/skel/pendulum_wave.skel"]


@pytest.mark.parametrize("shell", ["zsh"])
def test_the_script_can_also_be_sourced(exoskel_command: Command, tmp_path: Path, shell: str) -> None:
    folder = folder_with_script(exoskel_command, tmp_path, shell)
    program = "autoload -Uz compinit; compinit -u -D; source ./exoskel.zsh; print -r -- $_comps[exoskel]"
    done = subprocess.run([shell, "-f", "-c", program], capture_output=True, text=True, check=True, cwd=folder)
    assert (done.stdout, done.stderr) == ("_exoskel\n", "")


def test_bash_completes_codes(folder: Path) -> None:
    assert complete_in_bash("exoskel explain SK02", folder)[0].startswith("SK02")


def test_bash_completes_sample_names_after_the_colon(folder: Path) -> None:
    offered = complete_in_bash("exoskel check dart://sample/skel/pendulum.", folder)
    assert offered == ["//sample/skel/pendulum.skel"], "bash keeps what is before the colon"
    assert "dart://sample/skel/pendulum.skel" in complete_in_bash("exoskel info dart", folder)
    assert "pendulum" in complete_in_bash("exoskel samples pend", folder)


@pytest.mark.parametrize("shell", Shell.__args__)  # type: ignore[attr-defined]
def test_scripts_have_all_commands_options_and_samples(exoskel_command: Command, shell: str) -> None:
    ran = exoskel_command("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    for command in COMMANDS:
        assert command in ran.out
        for option in completed_options(command):
            for name in option.names:
                shown = name if shell != "fish" else f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                assert shown in ran.out
    assert all(one.uri in ran.out for one in samples())
    assert not re.search(r"--no-strict|--empty-", ran.out), "options that help does not show"


@pytest.mark.parametrize("shell", list(filter(shutil.which, Shell.__args__)))  # type: ignore[attr-defined]
def test_shells_accept_the_script(exoskel_command: Command, tmp_path: Path, shell: str) -> None:
    path = tmp_path / "script"
    path.write_text(exoskel_command("completion", shell).out)
    done = subprocess.run([shell, "-n", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
