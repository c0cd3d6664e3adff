"""The `exoskel` command: one module per verb, imported when the verb is used."""

from __future__ import annotations

import errno
import os
import sys
import warnings
from contextlib import suppress
from typing import NamedTuple

from cyclopts import App, CycloptsError, Parameter, ValidationError

from exoskel.cli import terminal
from exoskel.cli.terminal import STDIN
from exoskel.diagnostics import ExoskelError, printable
from exoskel.source.file_lookup import NO_WORKING_FOLDER, lower_first, working_folder_exists
from exoskel.source.temporary_files import remove_abandoned_folders
from exoskel.version import XODE_COMPLIANCE, __version__

COULD_NOT_RUN = 2
INTERRUPTED = 130
_STREAM_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
DEBUG_VARIABLE = "EXOSKEL_DEBUG"

app = App(
    name="exoskel",
    help="Check, view, simulate, edit and convert physics scenes: SKEL (DART), XODE (ODE), MJCF, URDF, SDF and more.",
    help_epilogue=(
        "`dart://sample/skel/walker.skel` is a bundled sample; `exoskel samples` lists all of them.\n\n"
        "Exit codes: 0 success; 1 the file has errors (with --strict, also warnings); 2 the command could not run."
    ),
    version=f"exoskel {__version__}\n{XODE_COMPLIANCE}",
    version_format="plaintext",
    help_format="markdown",
    result_action="return_value",
    default_parameter=Parameter(negative=()),
)


class Verb(NamedTuple):
    """A command: its summary and the examples at the end of its help."""

    summary: str
    examples: tuple[str, ...]


VERBS = {
    "check": Verb(
        "List all problems in one or more files, with line, excerpt and hint.",
        (
            "exoskel check dart://sample/skel/walker.skel",
            "exoskel check dart://sample/xode/pyode_dialect.xode --dialect pyode",
            "exoskel samples --copy scenes",
            "exoskel check scenes/skel/*.skel --strict",
            "exoskel check --json - < scenes/skel/walker.skel",
            "exoskel check --sarif scenes/skel/*.skel > problems.sarif",
            "exoskel check --fix --diff scenes/skel/walker.skel",
            "exoskel check --fix scenes/skel/*.skel",
        ),
    ),
    "info": Verb(
        "Show the contents of a file: worlds, models, bodies, joints, masses, degrees of freedom.",
        (
            "exoskel info dart://sample/skel/walker.skel",
            "exoskel info dart://sample/skel/walker.skel --json | jq .totals",
        ),
    ),
    "fmt": Verb(
        "Format files: indentation, element order, quotes. Comments and meaning are preserved.",
        (
            "exoskel samples --copy scenes",
            "exoskel fmt scenes/skel/walker.skel",
            "exoskel fmt --check scenes/skel/*.skel",
            "exoskel fmt --diff dart://sample/xode/ragdoll.xode",
            "exoskel fmt --numbers scenes/skel/walker.skel",
            "exoskel fmt - < scenes/skel/walker.skel > formatted.skel",
        ),
    ),
    "convert": Verb(
        "Convert a file to another format; report what happens to every node and verify the result.",
        (
            "exoskel convert dart://sample/skel/walker.skel walker.sdf",
            "exoskel convert dart://sample/skel/walker.skel walker.xode --lower",
            "exoskel convert dart://sample/xode/ragdoll.xode ragdoll.skel --strict",
            "exoskel convert dart://sample/xode/four_bar.xode pyode.xode --for pyode",
            "exoskel convert dart://sample/skel/walker.skel walker.xml --json | jq .fates",
            "exoskel samples --copy scenes",
            "exoskel convert scenes/skel converted/ --to sdf --report report.md",
        ),
    ),
    "diff": Verb(
        "Show how two files differ in meaning; they may be in different formats.",
        (
            "exoskel convert dart://sample/skel/walker.skel walker.xode",
            "exoskel diff dart://sample/skel/walker.skel walker.xode",
            "exoskel diff dart://sample/skel/walker.skel walker.xode --tolerance 1e-6 --json",
        ),
    ),
    "run": Verb(
        "Simulate a scene with MuJoCo, DART or ODE; print a summary, save the motion, a plot or a video.",
        (
            "exoskel run dart://sample/skel/walker.skel",
            "exoskel run dart://sample/skel/walker.skel --time 10 --out motion.npz",
            "exoskel run dart://sample/skel/walker.skel --plot motion.png",
            "exoskel run dart://sample/skel/walker.skel --video motion.mp4",
            "exoskel run dart://sample/xode/weightless.xode --gravity earth-z",
            "exoskel run dart://sample/skel/walker.skel --integrator rk4 --limits off",
            "exoskel run dart://sample/skel/walker.skel --engine dart",
        ),
    ),
    "compare": Verb(
        "Simulate a scene with several engines and report how far the results differ.",
        (
            "exoskel compare dart://sample/skel/pendulum.skel",
            "exoskel compare dart://sample/skel/pendulum.skel --time 2 --json",
            "exoskel compare dart://sample/skel/pendulum.skel --engines mujoco,warp",
        ),
    ),
    "view": Verb(
        "View a scene in the browser: play, pose and inspect it. The page updates when you save the file.",
        (
            "exoskel view dart://sample/skel/walker.skel",
            "exoskel view dart://sample/skel/walker.skel --motion motion.npz",
            "exoskel view dart://sample/skel/walker.skel --compare dart",
            "exoskel view dart://sample/skel/walker.skel --export walker.html",
            "exoskel view dart://sample/xode/ragdoll.xode --no-browser --port 9000",
        ),
    ),
    "rollout": Verb(
        "Simulate many copies of a scene in parallel, with varied parameters.",
        (
            "exoskel rollout dart://sample/skel/cart_pole.skel --worlds 256 --time 2",
            "exoskel rollout dart://sample/skel/cart_pole.skel --out motions.npz",
            "exoskel rollout dart://sample/skel/cart_pole.skel --vary body:pole.mass=0.5..2",
            "exoskel rollout dart://sample/skel/cart_pole.skel --worlds 8192 --backend gpu",
            "exoskel samples --copy scenes",
            "exoskel rollout scenes/skel/*.skel --worlds 100 --backend ray --out runs/",
        ),
    ),
    "render": Verb(
        "Render a scene or its motion to an image or a video; no display needed.",
        (
            "exoskel render dart://sample/skel/walker.skel --out walker.png",
            "exoskel render dart://sample/skel/walker.skel --out walker.mp4 --time 3",
            "exoskel render dart://sample/skel/walker.skel --out front.png --camera front",
            "exoskel render dart://sample/skel/walker.skel --out large.png --size 3840x2160",
        ),
    ),
    "engines": Verb(
        "List the physics engines with their versions and limitations.", ("exoskel engines", "exoskel engines --json")
    ),
    "describe": Verb(
        "Describe an element: children, attributes, units, defaults, and how DART or PyODE reads it.",
        (
            "exoskel describe",
            "exoskel describe joint",
            "exoskel describe body/gravity",
            "exoskel describe inertia --json",
        ),
    ),
    "explain": Verb(
        "Explain a diagnostic code, and how DART or PyODE handles the same input.",
        ("exoskel explain SK024", "exoskel explain"),
    ),
    "lsp": Verb(
        "Start the language server for editors: diagnostics, fixes, hover, completion, rename.",
        ("exoskel lsp",),
    ),
    "schema": Verb(
        "Print the XML Schema of a format.",
        (
            "exoskel schema skel > skel.xsd",
            "exoskel schema xode --out xode.xsd",
            "exoskel samples --copy scenes",
            "xmllint --noout --schema skel.xsd scenes/skel/walker.skel",
        ),
    ),
    "samples": Verb(
        "List the bundled sample scenes, or copy them to a directory.",
        ("exoskel samples", "exoskel samples --copy scenes", "exoskel info dart://sample/skel/newtons_cradle.skel"),
    ),
}

for _name, _verb in VERBS.items():
    _lines = "\n".join(f"    {example}" for example in _verb.examples)
    app.command(f"exoskel.cli.{_name}:{_name}", name=_name, help=_verb.summary, help_epilogue=f"Examples:\n\n{_lines}")


def main(arguments: list[str] | None = None) -> int:
    """Run one command and return its exit code.

    Every exception becomes a message on standard error; no traceback reaches the user.
    """
    given = sys.argv[1:] if arguments is None else arguments
    tokens = _bind_gravity([STDIN if token == "-" else token for token in given])
    terminal.prepare_streams()
    remove_abandoned_folders()
    try:
        code = app(tokens, exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except ValidationError as error:
        terminal.print_message(_explain_invalid_value(error))
    except CycloptsError as error:
        terminal.print_message(f"{str(error).strip()}\nTry `exoskel --help`.")
    except ExoskelError as error:
        terminal.print_message(str(error))
    except BrokenPipeError:
        # The reader of the pipe has gone.  That is not an error, but Python would report one at exit.
        _discard_output()
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        if error.filename is None:
            _discard_output()
        terminal.print_message(_explain_system_error(error))
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else 0
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        if _is_caused_by_interrupt(error):
            return INTERRUPTED
        kind = type(error).__name__
        terminal.print_message(
            f"internal error (a bug in Exoskel): {kind}: {printable(str(error))}\n"
            f"Please report it. Set {DEBUG_VARIABLE}=1 to see the traceback."
        )
    return COULD_NOT_RUN


def _explain_invalid_value(error: ValidationError) -> str:
    """The message for a value that the validator of an option refuses: the option, what it must be, and the value."""
    if error.argument is None:
        return str(error)
    given = " ".join(repr(token.value) if not token.value else token.value for token in error.argument.tokens)
    return f"{error.argument.name} {error.exception_message}, not {given}"


def _discard_output() -> None:
    """Discard what is still to be written to standard output: Python would report an error at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _explain_system_error(error: OSError) -> str:
    """A message for an error of the system that no command has handled."""
    reason = lower_first(error.strerror or str(error))
    if error.filename is not None:
        return f"cannot access {os.fsdecode(error.filename)!r}: {reason}"
    if not working_folder_exists():
        return NO_WORKING_FOLDER
    return f"cannot write to standard output: {reason}" if error.errno in _STREAM_ERRORS else f"system error: {reason}"


def _is_caused_by_interrupt(error: BaseException) -> bool:
    """Whether Ctrl-C caused an error: a library interrupted while it loads raises ImportError."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _bind_gravity(tokens: list[str]) -> list[str]:
    """Rewrite `--gravity A B C` as `--gravity=A --gravity=B --gravity=C`.

    The parser would otherwise also take a file name that follows as a value.
    """
    if "--gravity" not in tokens:
        return tokens
    place = tokens.index("--gravity")
    following = tokens[place + 1 :]
    count = 1 if following and following[0].startswith("earth") else 3
    bound = [f"--gravity={value}" for value in following[:count]]
    return tokens[:place] + bound + following[count:]


def run() -> None:
    """Entry point of the installed command."""
    if not sys.warnoptions:  # NumPy warns about overflow, with lines of our source; results say what is not finite
        warnings.simplefilter("ignore", RuntimeWarning)
    sys.exit(main())
