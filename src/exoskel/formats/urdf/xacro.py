"""Expands xacro, the macro language of ROS, with the package of that name.

The package runs in a child process with limits on time and memory: macros can call themselves, and expressions are
evaluated as Python.  A request is a document with its arguments; an answer is the expanded document or a reason.
"""

from __future__ import annotations

import importlib.util
import io
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import IO, TextIO

import msgspec
from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.source.child_process import (
    ChildFailedError,
    ChildLateError,
    ChildProcess,
    limit_memory,
    limit_processor_time,
)
from exoskel.source.document import Document
from exoskel.source.file_access import read_referenced
from exoskel.source.file_lookup import Location, SearchPaths, find_package, lower_first
from exoskel.source.limits import Limits

_MEMORY = 1000 * 2**20
_START_SECONDS = 20.0
"""The time to start on a busy machine."""
_LENGTH = 8
_MOST_CHARACTERS = 300


class XacroError(ExoskelError):
    """A document cannot be expanded; the message gives the reason."""


class _XacroRequest(Struct):
    text: str
    path: str
    uri: str
    arguments: dict[str, str]
    packages: dict[str, str] | list[str]
    seconds: int


class _XacroAnswer(Struct):
    text: str = ""
    problem: str = ""


def is_installed() -> bool:
    """Whether the package xacro can be imported."""
    return importlib.util.find_spec("xacro") is not None


def expand(document: Document, arguments: Mapping[str, str], paths: SearchPaths, limits: Limits) -> Document:
    """The document with all macros expanded.  It is not a file, but its references are relative to the original one.

    Raises XacroError.
    """
    location = document.location
    packages = paths.packages
    request = _XacroRequest(
        document.text.decode(document.scan.codec, "replace"),
        location.path,
        location.uri,
        dict(arguments),
        {name: os.fspath(folder) for name, folder in packages.items()}
        if isinstance(packages, Mapping)
        else [os.fspath(folder) for folder in packages],
        int(min(max(limits.seconds, 1.0), 1e6)),
    )
    answer = _ask(request)
    if answer.problem:
        raise XacroError(answer.problem)
    expanded = Document(
        answer.text.encode("utf-8", "surrogatepass"),
        f"{document.name} (expanded)",
        Location(path=location.path, uri=location.uri, is_base=True),
    )
    expanded.is_generated = True
    expanded.included = [location.path] if location.path and not location.is_base else []
    return expanded


def _ask(request: _XacroRequest) -> _XacroAnswer:
    content = msgspec.msgpack.encode(request)
    child = ChildProcess(__name__)
    try:
        content = len(content).to_bytes(_LENGTH, "big") + content
        return child.request(content, _receive, _START_SECONDS + 4.0 * request.seconds)
    except ChildLateError:
        raise XacroError(f"it takes more than {request.seconds} s") from None
    except ChildFailedError as error:
        raise XacroError(str(error)) from None
    finally:
        child.close()


def _receive(stream: IO[bytes]) -> _XacroAnswer | None:
    """The answer; None if the process ended."""
    content = stream.read()
    return msgspec.msgpack.decode(content, type=_XacroAnswer) if content else None


# --- in the child process -----------------------------------------------------------------------------


def _expand(request: _XacroRequest) -> str:
    import xacro

    _answer_find(Location(path=request.path, uri=request.uri), SearchPaths(packages=request.packages))
    vars(xacro)["open"] = _open_include
    xacro.init_stacks(request.path or None)
    tree = xacro.parse(request.text)
    xacro.process_doc(tree, mappings=request.arguments)
    return str(tree.toprettyxml(indent="  "))


def _open_include(path: str) -> TextIO:
    """Open a file for the package: an include or a YAML file.  The package would wait for a pipe."""
    try:
        return io.TextIOWrapper(io.BytesIO(read_referenced(path, _MEMORY)))
    except OSError as error:
        error.filename = error.filename or path
        raise


def _answer_find(location: Location, paths: SearchPaths) -> None:
    """Let `$(find NAME)` find packages where we do, also without an installation of ROS."""

    def get_package_share_directory(name: str) -> str:
        folder = find_package(name, location, paths)
        if folder is None:
            raise LookupError(f"package '{name}' was not found")
        return str(folder)

    parent, module = ModuleType("ament_index_python"), ModuleType("ament_index_python.packages")
    vars(module)["get_package_share_directory"] = get_package_share_directory
    vars(parent)["packages"] = module
    sys.modules.update({"ament_index_python": parent, "ament_index_python.packages": module})


def _answer(request: _XacroRequest) -> _XacroAnswer:
    try:
        return _XacroAnswer(_expand(request))
    except Exception as error:  # expressions and files can raise any
        return _XacroAnswer(problem=_reason(error)[:_MOST_CHARACTERS])


def _reason(error: Exception) -> str:
    cause = getattr(error, "exc", None) or error  # what an exception of the package wraps
    if isinstance(cause, MemoryError):
        return f"it needs more than {_MEMORY // 2**20} MB of memory"
    if isinstance(cause, RecursionError):
        return "its macros or includes are nested too deeply; one may contain itself"
    if isinstance(cause, OSError) and cause.strerror and cause.filename:
        return f"{os.path.relpath(cause.filename)}: {lower_first(cause.strerror)}"
    return " ".join(str(error).split()) or type(cause).__name__


def main() -> None:
    """Expand one document."""
    output = os.fdopen(os.dup(1), "wb")  # the package prints to standard output
    os.dup2(2, 1)
    size = int.from_bytes(sys.stdin.buffer.read(_LENGTH), "big")
    request = msgspec.msgpack.decode(sys.stdin.buffer.read(size), type=_XacroRequest)
    if request.path and Path(request.path).parent.is_dir():
        os.chdir(Path(request.path).parent)
    limit_memory(_MEMORY)
    limit_processor_time(request.seconds)
    answer = _answer(request)
    with output:
        output.write(msgspec.msgpack.encode(answer))


if __name__ == "__main__":
    main()
