"""Expands xacro, the macro language of ROS, with the package of that name.

The package runs in a child process with limits on time and memory: macros can call themselves, and expressions are
evaluated as Python.  A request is a document with its arguments; an answer is the expanded document or a reason.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import IO, NamedTuple, TextIO
from xml.dom.minidom import CharacterData, Node
from xml.dom.minidom import Document as XmlDocument
from xml.parsers.expat import ExpatError, ParserCreate

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
    """A document cannot be expanded; the message gives the reason.

    `number` is the element of the document that could not be expanded, in document order; -1 if it is not known.
    """

    def __init__(self, message: str, number: int = -1) -> None:
        super().__init__(message)
        self.number = number


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
    number: int = -1
    warnings: list[str] = []
    unknown_arguments: list[str] = []
    arguments: list[str] = []


class ExpandedXacro(NamedTuple):
    """An expanded document, with the warnings of the package.

    `unknown_arguments` were given, but the document has only those called `arguments`.
    """

    document: Document
    warnings: list[str]
    unknown_arguments: list[str]
    arguments: list[str]


def is_installed() -> bool:
    """Whether the package xacro can be imported."""
    return importlib.util.find_spec("xacro") is not None


def expand(document: Document, arguments: Mapping[str, object], paths: SearchPaths, limits: Limits) -> ExpandedXacro:
    """Expand all macros of a document.  The result is not a file, but its references are relative to the original one.

    Raises XacroError.
    """
    location = document.location
    packages = paths.packages
    request = _XacroRequest(
        document.text.decode(document.scan.codec, "replace"),
        location.path,
        location.uri,
        {name: str(value) for name, value in arguments.items()},
        {name: os.fspath(folder) for name, folder in packages.items()}
        if isinstance(packages, Mapping)
        else [os.fspath(folder) for folder in packages],
        int(min(max(limits.seconds, 1.0), 1e6)),
    )
    answer = _ask(request)
    if answer.problem:
        raise XacroError(answer.problem, answer.number)
    expanded = Document(
        answer.text.encode("utf-8", "surrogatepass"),
        f"{document.name} (expanded)",
        Location(path=location.path, uri=location.uri, is_base=True),
    )
    expanded.is_generated = True
    expanded.included = [location.path] if location.path and not location.is_base else []
    return ExpandedXacro(expanded, answer.warnings, answer.unknown_arguments, answer.arguments)


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


class _ElementOrigin(NamedTuple):
    """Where an element was written: the file, the line, and its number in document order."""

    path: str
    line: int
    number: int


class _OriginCopier:
    """Gives copies of elements the places of the originals."""

    def handle(self, operation: int, key: str, data: _ElementOrigin, src: Node, dst: Node) -> None:
        dst.setUserData(key, data, self)


_PLACE = "place"


class _Arguments(dict[str, str]):
    """The arguments by name, with those that the document has asked for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.requested: set[str] = set()

    def __contains__(self, name: object) -> bool:
        self.requested.add(str(name))
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.requested.add(name)
        return super().__getitem__(name)


class _Expander:
    """Expands one document with the package, and notes where its elements come from."""

    def __init__(self, request: _XacroRequest) -> None:
        import xacro

        self.xacro = xacro
        self.request = request
        self.arguments = _Arguments(request.arguments)
        self.texts: list[str] = []
        self.warnings: list[str] = []
        self.parse = xacro.parse
        _answer_find(Location(path=request.path, uri=request.uri), SearchPaths(packages=request.packages))
        vars(xacro).update(open=self._open, parse=self._parse_include, warning=self._warn)

    def expand(self) -> _XacroAnswer:
        self.xacro.init_stacks(self.request.path or None)
        self.texts.append(self.request.text)
        tree = self.parse(self.request.text)
        self._note_places(tree, "")
        self.xacro.process_doc(tree, mappings=self.arguments)
        unknown = [name for name in self.request.arguments if not self._is_known(name)]
        known = sorted(self.arguments.requested)
        return _XacroAnswer(str(tree.toprettyxml(indent="  ")), "", -1, self.warnings, unknown, known)

    def _is_known(self, name: str) -> bool:
        """Whether the document asks for an argument, or would under another condition."""
        pattern = re.compile(rf"\barg\b[^<>]*\b{re.escape(name)}\b")
        return name in self.arguments.requested or any(map(pattern.search, self.texts))

    def _open(self, path: str) -> TextIO:
        """Open a file for the package: an include or a YAML file.  The package would wait for a pipe."""
        try:
            content = read_referenced(path, _MEMORY)
        except OSError as error:
            error.filename = error.filename or path
            raise
        self.texts.append(content.decode("utf-8", "replace"))
        return io.TextIOWrapper(io.BytesIO(content))

    def _parse_include(self, _: None, filename: str) -> XmlDocument:
        try:
            tree: XmlDocument = self.parse(None, filename)
        except ExpatError as error:
            raise ValueError(f"{os.path.relpath(filename)} is not well-formed XML: {error}") from None
        self._note_places(tree, filename)
        return tree

    def _note_places(self, tree: XmlDocument, path: str) -> None:
        """Note the lines of the elements of the file that was opened last."""
        lines: list[int] = []
        parser = ParserCreate()
        parser.StartElementHandler = lambda *_: lines.append(parser.CurrentLineNumber)
        parser.Parse(self.texts[-1], True)
        for number, (element, line) in enumerate(zip(tree.getElementsByTagName("*"), lines, strict=False)):
            element.setUserData(_PLACE, _ElementOrigin(path, line, number), _OriginCopier())

    def _warn(self, *texts: object, **_: object) -> None:
        self.warnings.append(_one_line(" ".join(map(str, texts))))


def _failure(error: Exception) -> _XacroAnswer:
    """Why a document cannot be expanded, and the element where the package was."""
    places: list[_ElementOrigin] = []
    trace = error.__traceback__
    while trace is not None:
        local = trace.tb_frame.f_locals
        node = local.get("node", local.get("elt"))
        element = node.parentNode if isinstance(node, CharacterData) else node
        place = element.getUserData(_PLACE) if isinstance(element, Node) else None
        places += [place] if isinstance(place, _ElementOrigin) else []
        trace = trace.tb_next
    number = next((place.number for place in reversed(places) if not place.path), -1)
    inside = f"{os.path.relpath(places[-1].path)}:{places[-1].line}: " if places and places[-1].path else ""
    return _XacroAnswer(problem=f"{inside}{_reason(error)}"[:_MOST_CHARACTERS], number=number)


class _PackageNotFoundError(LookupError):
    """`$(find NAME)` finds no package."""


def _answer_find(location: Location, paths: SearchPaths) -> None:
    """Let `$(find NAME)` find packages where we do, also without an installation of ROS."""

    def get_package_share_directory(name: str) -> str:
        folder = find_package(name, location, paths)
        if folder is None:
            raise _PackageNotFoundError(f"package '{name}' was not found")
        return str(folder)

    parent, module = ModuleType("ament_index_python"), ModuleType("ament_index_python.packages")
    vars(module)["get_package_share_directory"] = get_package_share_directory
    vars(parent)["packages"] = module
    sys.modules.update({"ament_index_python": parent, "ament_index_python.packages": module})


def _answer(request: _XacroRequest) -> _XacroAnswer:
    try:
        return _Expander(request).expand()
    except Exception as error:  # expressions and files can raise any
        return _failure(error)


def _reason(error: Exception) -> str:
    cause = getattr(error, "exc", None) or error  # what an exception of the package wraps
    if isinstance(cause, MemoryError):
        return f"it needs more than {_MEMORY // 2**20} MB of memory"
    if isinstance(cause, RecursionError):
        return "its macros or includes are nested too deeply; one may contain itself"
    if isinstance(cause, OSError) and cause.strerror and cause.filename:
        return f"{os.path.relpath(cause.filename)}: {lower_first(cause.strerror)}"
    if isinstance(cause, _PackageNotFoundError):
        return str(cause)
    return _one_line(str(error)) or type(cause).__name__


def _one_line(text: str) -> str:
    return " ".join(text.split())


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
