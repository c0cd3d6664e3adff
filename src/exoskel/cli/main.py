"""The command `exoskel`: one module per verb, loaded when the verb is used."""

from __future__ import annotations

import os
import sys

from cyclopts import App, CycloptsError

from exoskel.cli import output
from exoskel.diagnostics import ExoskelError, printable
from exoskel.version import __version__

COULD_NOT_RUN = 2
INTERRUPTED = 130
DEBUG_VARIABLE = "EXOSKEL_DEBUG"

app = App(
    name="exoskel",
    help="Read, check and look into physics scenes: SKEL, the XML format of the DART engine.",
    help_epilogue="Exit codes: 0 fine; 1 the file has errors (with --strict: or warnings); 2 the command could not run.",
    version=f"exoskel {__version__}",
    help_format="markdown",
    result_action="return_value",
)

VERBS = ("check", "info", "describe", "explain", "schema", "samples")

for _verb in VERBS:
    app.command(f"exoskel.cli.{_verb}:{_verb}", name=_verb)


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code.  Nothing but messages reaches the user."""
    try:
        code = app(arguments, exit_on_error=False, print_error=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except CycloptsError as error:
        output.complain(f"{str(error).strip()}\nTry `exoskel --help`.")
    except ExoskelError as error:
        output.complain(str(error))
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
        kind = type(error).__name__
        output.complain(
            f"internal error, a defect of exoskel: {kind}: {printable(str(error))}\n"
            f"Please report it; with {DEBUG_VARIABLE}=1 set, the traceback is shown."
        )
    return COULD_NOT_RUN


def run() -> None:
    """The entry point of the installed command."""
    sys.exit(main())
