"""Conventions of the command line: colours, errors that name the help, interruption, help texts."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from exoskel.cli.commands import COMMANDS
from exoskel.engines.registry import ENGINES
from exoskel.formats import registry
from exoskel.samples import samples
from tests.cli.conftest import Command
from tests.support.terminals import plain_environment, run_on_terminal
from tests.support.xml import one_body

ERROR = one_body("\n  <transformation>0 0 up 0 0 0</transformation>\n")
PENDULUM = "dart://sample/skel/pendulum.skel"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "error.skel"
    path.write_text(ERROR)
    return path


def run(*arguments: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a pipe."""
    command = [sys.executable, "-m", "exoskel", *map(str, arguments)]
    environment = plain_environment(**variables)
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


# --- colours ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "variables", "colored"),
    [
        ((), {}, False),
        ((), {"FORCE_COLOR": "1"}, True),
        ((), {"FORCE_COLOR": "0"}, False),
        ((), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (("--color", "always"), {}, True),
        (("--color=always",), {"NO_COLOR": "1"}, True),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--color", "auto"), {"FORCE_COLOR": "1"}, True),
    ],
)
def test_colours_in_a_pipe(file: Path, options: tuple[str, ...], variables: dict[str, str], colored: bool) -> None:
    for arguments in (("check", file), ("fmt", "--diff", file)):
        assert ("\x1b[" in run(*arguments, *options, **variables).stdout) == colored


@pytest.mark.parametrize(
    ("options", "variables", "colored"),
    [((), {}, True), ((), {"NO_COLOR": "1"}, False), (("--color", "never"), {}, False), ((), {"TERM": "dumb"}, False)],
)
def test_colours_on_a_terminal(file: Path, options: tuple[str, ...], variables: dict[str, str], colored: bool) -> None:
    """Without colours, text is not bold either: there are no escape sequences for styles at all."""
    shown = run_on_terminal([sys.executable, "-m", "exoskel", "check", file, *options], **variables)
    assert ("\x1b[1;31merror" in shown) == colored
    assert colored or "\x1b[1m" not in shown


def test_help_follows_the_option(file: Path) -> None:
    assert "\x1b[" in run("check", "--help", "--color", "always").stdout
    assert "\x1b[" not in run("check", "--help", "--color", "never", FORCE_COLOR="1").stdout


@pytest.mark.parametrize("options", [("--color",), ("--color", "blue"), ("--color=",)])
def test_other_colour_modes_are_refused(exoskel_command: Command, options: tuple[str, ...]) -> None:
    ran = exoskel_command("engines", *options)
    assert ran.code == 2 and ran.err.startswith("exoskel: --color must be auto, always or never")


# --- errors -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("chekc", "x"), "unknown command 'chekc'; did you mean 'check'?\nTry `exoskel --help`."),
        (("check",), "`exoskel check` needs the argument FILES\nTry `exoskel check --help`."),
        (("check", "--strit", "a"), "unknown option --strit of `exoskel check`; did you mean '--strict'?\nTry `exoskel check --help`."),
        (("convert", "a"), "`exoskel convert` needs the argument OUT\nTry `exoskel convert --help`."),
        (("render", "a"), "`exoskel render` needs the option --out\nTry `exoskel render --help`."),
        (("run", "a", "--time"), "--time needs a value\nTry `exoskel run --help`."),
        (("run", "a", "--time", "abc"), "--time must be a number, not 'abc'\nTry `exoskel run --help`."),
        (("rollout", "a", "--worlds", "b"), "--worlds must be a whole number, not 'b'\nTry `exoskel rollout --help`."),
        (("run", "a", "b"), "unexpected argument 'b' for `exoskel run`\nTry `exoskel run --help`."),
        (("info", "a", "-"), "unexpected argument '-' for `exoskel info`\nTry `exoskel info --help`."),
        (("check", "a", "--semantics", "x"), "--semantics must be one of written, dart, not 'x'\nTry `exoskel check --help`."),
        (("check", "a", "--fix", "--fix"), "--fix is given twice\nTry `exoskel check --help`."),
        (("run", "a", "--time", "-1"), "--time must be finite and not negative, not -1"),
    ],
)  # fmt: skip
def test_errors_name_the_help_of_their_command(
    exoskel_command: Command, arguments: tuple[str, ...], message: str
) -> None:
    ran = exoskel_command(*arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", f"exoskel: {message}\n")


@pytest.mark.parametrize(
    ("option", "name"), [("--max-bytes", "bytes"), ("--max-depth", "depth"), ("--max-elements", "elements")]
)
def test_limits_name_their_own_option(exoskel_command: Command, file: Path, option: str, name: str) -> None:
    ran = exoskel_command("check", file, option, "3")
    assert ran.code == 1
    assert f"hint: if you trust the file, raise the limit: {option} (limits=Limits({name}=...))" in ran.out
    assert option != "--max-bytes" or "the file is too large; the limit is 3 bytes" in ran.out


def test_an_exported_page_has_no_comparison(exoskel_command: Command, tmp_path: Path) -> None:
    ran = exoskel_command("view", PENDULUM, "--compare", "dart", "--export", tmp_path / "page.html")
    assert (ran.code, ran.out) == (2, "")
    assert "--compare cannot be combined with --export" in ran.err and not list(tmp_path.iterdir())


def test_brackets_are_printed_as_they_are(exoskel_command: Command) -> None:
    outline, codes, listing = (exoskel_command(command).out for command in ("describe", "explain", "samples"))
    engines = exoskel_command("engines").out
    meanings = [row.meaning for one in registry.WITH_VOCABULARY for _, row in one.vocabulary().rows()]
    titles = [topic.title for one in registry.catalogues() for topic in one.topics.values()]
    for text, wanted in (
        (outline, meanings),
        (codes, titles),
        (listing, [one.title for one in samples()]),
        (engines, [one.limitations for one in ENGINES.values()]),
        (engines, [one.install for one in ENGINES.values() if one.version is None]),
    ):
        assert [one for one in wanted if one not in text] == []


# --- interruption -----------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("delay", [0.0, 0.3, 3.0])
def test_an_interrupted_rendering_ends_with_130_and_a_message(tmp_path: Path, delay: float) -> None:
    script = (
        "import signal\nfrom exoskel.cli.main import run\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # also where the tests run in the background
        "print('ready', flush=True)\nrun()"
    )
    arguments = ("render", PENDULUM, "--out", str(tmp_path / "long.mp4"), "--time", "1000", "--renderer", "software")
    with subprocess.Popen(
        [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        err = _errors_until_end(process)
    assert "Traceback" not in err
    assert (process.returncode, err.splitlines()[-1]) == (130, "exoskel: interrupted")
    assert not (tmp_path / "long.mp4").exists()


def _errors_until_end(process: subprocess.Popen[str]) -> str:
    """What a process writes to standard error until it ends; one that does not end is killed."""
    try:
        return process.communicate(timeout=120)[1]
    finally:
        process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_waits_until_modules_are_loaded(tmp_path: Path) -> None:
    """Libraries may ignore every exception while they import optional ones."""
    library = "import time\nprint('ready', flush=True)\ntry:\n    time.sleep(1)\nexcept BaseException:\n    pass\n"
    (tmp_path / "careless.py").write_text(library)
    script = (
        "import signal, sys, time\nfrom exoskel.cli.main import defer_interrupts_while_loading\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\ndefer_interrupts_while_loading()\n"
        f"sys.path.insert(0, {str(tmp_path)!r})\n"
        "import careless\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    sys.exit('interrupted')"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        assert _errors_until_end(process) == "interrupted\n"


# --- help -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_texts(
    exoskel_command: Command, command: str, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    out = "\n".join(line.rstrip() for line in exoskel_command(command, "--help").out.splitlines())
    assert out == snapshot


def test_help_is_a_word_too(exoskel_command: Command) -> None:
    assert exoskel_command("help") == exoskel_command("--help")
    assert exoskel_command("help", "check") == exoskel_command("check", "--help")
    assert "did you mean 'check'" in exoskel_command("help", "chekc").err


def test_the_overview(exoskel_command: Command, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert exoskel_command("--help").out == snapshot


@pytest.mark.parametrize(
    "command",
    [command for command in COMMANDS if command not in ("describe", "engines", "explain", "lsp", "samples", "schema")],
)
def test_reading_options_are_under_one_heading(exoskel_command: Command, command: str) -> None:
    out = exoskel_command(command, "--help").out
    if "--semantics" in out:
        before, _, after = out.partition("\nReading:\n")
        assert "--semantics" in after and "--max-bytes" in after and "--package-path" in after
        assert "--semantics" not in before
