"""`exoskel schema`: print the XML Schema of a format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from exoskel.cli import terminal
from exoskel.formats import registry
from exoskel.source.atomic_write import write_atomically
from exoskel.source.schema import build_schema as schema_of


def schema(
    format: Annotated[str, Parameter(help="Format: skel, xode, urdf or sdf.")],
    /,
    *,
    out: Annotated[Path | None, Parameter(name=["--out", "-o"], help="Write the schema to this file.")] = None,
) -> int:
    """Print the XML Schema of a format, generated from the reader's vocabulary."""
    text = schema_of(registry.with_vocabulary(format).vocabulary())
    if out is None:
        terminal.write_bytes(text)
        return 0
    write_atomically(out, text)
    return 0
