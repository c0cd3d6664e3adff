"""The command `exoskel`: one module per verb, loaded when the verb is used."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

from cyclopts import App, CycloptsError, Parameter

from exoskel.cli import terminal
from exoskel.cli.stdin import STDIN
from exoskel.diagnostics import ExoskelError, printable
from exoskel.version import XODE_COMPLIANCE, __version__

COULD_NOT_RUN = 2
INTERRUPTED = 130
DEBUG_VARIABLE = "EXOSKEL_DEBUG"

app = App(
    name="exoskel",
    help="Read, check, edit and convert physics scenes: SKEL, the format of DART, and XODE, the format of ODE.",
    help_epilogue="Exit codes: 0 fine; 1 the file has errors (with --strict: or warnings); 2 it could not run.",
    version=f"exoskel {__version__}\n{XODE_COMPLIANCE}",
    version_format="plaintext",
    help_format="markdown",
    result_action="return_value",
    default_parameter=Parameter(negative=()),
)


class Verb(NamedTuple):
    """One row for a command: its summary, and the examples its help ends with."""

    summary: str
    examples: tuple[str, ...]


VERBS = {
    "check": Verb(
        "List all problems of some files, with line, excerpt and what may help.",
        (
            "exoskel check robot.skel",
            "exoskel check models/*.skel --strict",
            "exoskel check scene.xode --dialect pyode",
            "exoskel check --json - < robot.skel",
            "exoskel check --sarif models/*.skel > findings.sarif",
            "exoskel check --fix --diff robot.skel",
            "exoskel check --fix models/*.skel",
        ),
    ),
    "info": Verb(
        "Show what is in a file: worlds, models, bodies, joints, masses, degrees of freedom.",
        (
            "exoskel info robot.skel",
            "exoskel info robot.skel --json | jq .totals",
            "exoskel info dart://sample/skel/walker.skel",
        ),
    ),
    "fmt": Verb(
        "Bring files into canonical layout: indentation, order, attributes; comments and meaning are kept.",
        (
            "exoskel fmt robot.skel",
            "exoskel fmt --check models/*.skel",
            "exoskel fmt --diff scene.xode",
            "exoskel fmt --numbers robot.skel",
            "exoskel fmt - < robot.skel > tidy.skel",
        ),
    ),
    "convert": Verb(
        "Convert a file to another format, with an account of every node and a proof by numbers.",
        (
            "exoskel convert robot.skel robot.xode",
            "exoskel convert robot.xode robot.skel --strict",
            "exoskel convert robot.skel robot.xode --lower",
            "exoskel convert scene.xode plain.xode --for pyode --approximate",
            "exoskel convert robot.skel robot.xode --json | jq .fates",
        ),
    ),
    "diff": Verb(
        "Show what differs in meaning between two files, across formats.",
        (
            "exoskel diff old.skel new.skel",
            "exoskel diff robot.skel robot.xode",
            "exoskel diff a.skel b.skel --tolerance 1e-6 --json",
        ),
    ),
    "run": Verb(
        "Simulate a scene on MuJoCo, DART or ODE: how it moves, as a summary, a file, a picture.",
        (
            "exoskel run robot.skel",
            "exoskel run robot.skel --time 10 --out motion.npz --plot motion.png",
            "exoskel run scene.xode --gravity earth-z",
            "exoskel run robot.skel --step 0.0005 --integrator rk4 --limits off",
            "exoskel run robot.skel --engine dart",
            "exoskel run robot.skel --video motion.mp4",
        ),
    ),
    "compare": Verb(
        "Simulate a scene in several engines, and tell how far they are apart.",
        (
            "exoskel compare robot.skel",
            "exoskel compare robot.skel --time 2 --limits off --json",
            "exoskel compare robot.skel --engines mujoco,warp",
        ),
    ),
    "view": Verb(
        "Look at a scene in the browser: play it, pose it, inspect it; saving the file updates the page.",
        (
            "exoskel view robot.skel",
            "exoskel view robot.skel --motion motion.npz",
            "exoskel view robot.skel --compare dart",
            "exoskel view robot.skel --export robot.html",
            "exoskel view scene.xode --no-browser --port 9000",
        ),
    ),
    "rollout": Verb(
        "Simulate many copies of a scene at once, each with values of its own.",
        (
            "exoskel rollout robot.skel --worlds 256 --time 2 --out motions.npz",
            "exoskel rollout robot.skel --vary body:box.mass=0.5..2 --vary joint:knee.damping=0.1,0.2,0.5",
            "exoskel rollout robot.skel --vary 'gravity.z=normal(-9.81,0.1)' --seed 7 --json",
            "exoskel rollout robot.skel --worlds 8192 --backend gpu",
            "exoskel rollout models/*.skel --worlds 100 --backend ray --out runs/",
        ),
    ),
    "render": Verb(
        "Draw a scene, or its motion, into a picture or video, without a display.",
        (
            "exoskel render robot.skel --out robot.png",
            "exoskel render robot.skel --out robot.mp4 --time 3 --size 1280x720",
            "exoskel render scene.xode --out scene.gif --motion motion.npz --camera front --dark",
        ),
    ),
    "engines": Verb(
        "List the engines: version, and what each cannot do.", ("exoskel engines", "exoskel engines --json")
    ),
    "describe": Verb(
        "Show what an element means: children, attributes, units, defaults, and what the old reader does.",
        (
            "exoskel describe",
            "exoskel describe joint",
            "exoskel describe body/gravity",
            "exoskel describe inertia --json",
        ),
    ),
    "explain": Verb(
        "Explain a diagnostic code: what it means, and what the old reader does instead.",
        ("exoskel explain SK024", "exoskel explain"),
    ),
    "lsp": Verb(
        "Serve an editor: problems as you type, fixes, documentation, completion, renaming.",
        ("exoskel lsp",),
    ),
    "schema": Verb(
        "Print the XML Schema of a format.",
        (
            "exoskel schema skel > skel.xsd",
            "exoskel schema xode --out xode.xsd",
            "xmllint --noout --schema skel.xsd robot.skel",
        ),
    ),
    "samples": Verb(
        "List the sample scenes that come with the package, or copy them to a directory.",
        ("exoskel samples", "exoskel samples --copy ./scenes", "exoskel info dart://sample/skel/newtons_cradle.skel"),
    ),
}

for _name, _verb in VERBS.items():
    _lines = "\n".join(f"    {example}" for example in _verb.examples)
    app.command(f"exoskel.cli.{_name}:{_name}", name=_name, help=_verb.summary, help_epilogue=f"Examples:\n\n{_lines}")


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code.  Nothing but messages reaches the user."""
    given = sys.argv[1:] if arguments is None else arguments
    tokens = _bound([STDIN if token == "-" else token for token in given])
    terminal.prepare()
    try:
        code = app(tokens, exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except CycloptsError as error:
        terminal.complain(f"{str(error).strip()}\nTry `exoskel --help`.")
    except ExoskelError as error:
        terminal.complain(str(error))
    except BrokenPipeError:
        # The reader of a pipe has gone: that is no error of ours, but Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        if _comes_from_interruption(error):
            return INTERRUPTED
        kind = type(error).__name__
        terminal.complain(
            f"internal error, a defect of exoskel: {kind}: {printable(str(error))}\n"
            f"Please report it; with {DEBUG_VARIABLE}=1 set, the traceback is shown."
        )
    return COULD_NOT_RUN


def _comes_from_interruption(error: BaseException) -> bool:
    """Whether Ctrl-C is behind an error: a library that is just being loaded makes an ImportError of it."""
    before: BaseException | None = error
    while before is not None and not isinstance(before, KeyboardInterrupt):
        before = before.__cause__ or before.__context__
    return before is not None


def _bound(tokens: list[str]) -> list[str]:
    """Tie `--gravity` to its own values: as many as it takes, so that a file behind them is a file."""
    if "--gravity" not in tokens:
        return tokens
    place = tokens.index("--gravity")
    behind = tokens[place + 1 :]
    count = 1 if behind and behind[0].startswith("earth") else 3
    tied = [f"--gravity={value}" for value in behind[:count]]
    return tokens[:place] + tied + behind[count:]


def run() -> None:
    """The entry point of the installed command."""
    sys.exit(main())
