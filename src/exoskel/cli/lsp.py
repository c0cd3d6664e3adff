"""`exoskel lsp`: the language server, for editors to start."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from exoskel.diagnostics import ExoskelError


def lsp() -> int:
    """Serve an editor over standard input and output.

    Editors start this by themselves; the documentation tells how to set up VS Code, Neovim and Emacs.
    """
    try:
        from exoskel.lsp.server import serve
    except ModuleNotFoundError as error:
        raise ExoskelError(
            f"{error.name} is not installed; `pip install exoskel[lsp]` adds the language server"
        ) from None
    reading, writing = os.dup(sys.stdin.fileno()), os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints must not get into the answers
    with suppress(BrokenPipeError, ValueError), open(reading, "rb") as questions, open(writing, "wb") as answers:
        serve(questions, answers)  # which closes them in its own time
    return 0
