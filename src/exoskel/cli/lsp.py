"""`exoskel lsp`: start the language server for editors."""

from __future__ import annotations

import logging
import os
import sys
from contextlib import suppress

from exoskel.diagnostics import ExoskelError, printable


class _OneLine(logging.Formatter):
    """A message without the traceback: editors show standard error, and malformed requests are not bugs of ours."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        first = record.getMessage().partition("\n")[0]
        return f"exoskel: {printable(first)}" + (f" ({type(error).__name__})" if error else "")


def lsp() -> int:
    """Serve an editor over standard input and output.

    Editors start this command themselves; see the documentation for VS Code, Neovim and Emacs.
    """
    try:
        from exoskel.lsp.server import serve
    except ModuleNotFoundError as error:
        raise ExoskelError(
            f"{error.name} is not installed; install the language server with `pip install 'exoskel[lsp]'`"
        ) from None
    handler = logging.StreamHandler()
    handler.setFormatter(_OneLine())
    logging.getLogger("pygls").addHandler(handler)
    logging.getLogger("pygls").propagate = False
    stdin, stdout = os.dup(sys.stdin.fileno()), os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # text printed by a library must not mix with the responses
    with suppress(BrokenPipeError, ValueError), open(stdin, "rb") as requests, open(stdout, "wb") as responses:
        serve(requests, responses)  # closes both streams
    return 0
