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
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NamedTuple, TextIO
from xml.dom.minidom import CharacterData, Element, Node
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
from exoskel.source.expanded_document import ElementOrigin, ExpandedDocument, RegionOrigin
from exoskel.source.file_access import read_referenced
from exoskel.source.file_lookup import Location, SearchPaths, find_package, lower_first
from exoskel.source.limits import Limits

_MEMORY = 1000 * 2**20
_START_SECONDS = 20.0
"""The time to start on a busy machine."""
MISSING_PACKAGE = re.compile(r"package '([^']+)' was not found")
"""The reason for a package that is not found."""
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
    """An expanded document, or the reason why it could not be expanded.

    `files` are the included files, as paths and contents; the document itself is file 0.
    """

    text: str = ""
    problem: str = ""
    number: int = -1
    warnings: list[str] = []
    unknown_arguments: list[str] = []
    arguments: list[str] = []
    files: list[tuple[str, bytes]] = []
    elements: list[ElementOrigin] = []
    regions: list[RegionOrigin] = []


class ExpandedXacro(NamedTuple):
    """An expanded document, with the warnings of the package.

    `unknown_arguments` were given, but the document has only those called `arguments`.
    """

    document: ExpandedDocument
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
    content = answer.text.encode("utf-8", "surrogatepass")
    expanded = ExpandedDocument(content, document, answer.files, answer.elements, answer.regions)
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


class _NodePlace(NamedTuple):
    """Where an element, or a comment or the like, was written: the file, the line, and the element's number in document
    order.  `call` is the element of the document itself that includes or calls it, if it is in another file.
    """

    path: str
    line: int
    number: int = -1
    call: int = -1


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
        self.contents: dict[str, bytes] = {}
        self.warnings: list[str] = []
        self.call = -1
        """The element of the document itself that is being replaced: the innermost include or call of a macro."""
        self.parse = xacro.parse
        _answer_find(Location(path=request.path, uri=request.uri), SearchPaths(packages=request.packages))
        include, call_macro = self._tracked(xacro.process_include), self._tracked(xacro.handle_macro_call)
        vars(xacro).update(open=self._open, parse=self._parse_include, warning=self._warn)
        vars(xacro).update(process_include=include, handle_macro_call=call_macro)

    def expand(self) -> _XacroAnswer:
        self.xacro.init_stacks(self.request.path or None)
        self.texts.append(self.request.text)
        tree = self.parse(self.request.text)
        self._note_places(tree, "")
        self.xacro.process_doc(tree, mappings=self.arguments)
        answer = _XacroAnswer(str(tree.toprettyxml(indent="  ")), warnings=self.warnings)
        answer.unknown_arguments = [name for name in self.request.arguments if not self._is_known(name)]
        answer.arguments = sorted(self.arguments.requested)
        self._add_origins(tree, answer)
        return answer

    def _tracked(self, expand_element: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the package that replaces an element, which notes the element meanwhile."""

        def tracked(element: Element, *others: object) -> Any:
            before, place = self.call, element.getUserData(_PLACE)
            if isinstance(place, _NodePlace) and not place.path and element.tagName.startswith("xacro:"):
                self.call = place.number
            result = expand_element(element, *others)
            self.call = before
            return result

        return tracked

    def _add_origins(self, tree: XmlDocument, answer: _XacroAnswer) -> None:
        """Add the places of all elements, and of all comments and the like, in document order."""
        numbers: dict[str, int] = {"": 0}
        for node in _walk(tree):
            place = _place_of(node)
            file = numbers.setdefault(place.path, len(numbers))
            if isinstance(node, Element):
                answer.elements.append(ElementOrigin(file, place.number, place.call))
            else:
                answer.regions.append(RegionOrigin(place.call if file else -1, 0 if file else place.line))
        answer.files = [(path, self.contents.get(path, b"")) for path in numbers if path]

    def handle(self, operation: int, key: str, data: _NodePlace, src: Node, dst: Node) -> None:
        """Give the copy of a node the place of the original."""
        place = data._replace(call=self.call) if data.path else data
        dst.setUserData(key, place, self)

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
        document = Document(content)
        text = document.scan.text.decode(document.scan.codec, "replace")  # in the encoding that the file declares
        self.texts.append(text)
        self.contents[path] = content
        return io.StringIO(text, newline=None)

    def _parse_include(self, _: None, filename: str) -> XmlDocument:
        try:
            tree: XmlDocument = self.parse(None, filename)
        except ExpatError as error:
            raise ValueError(f"{os.path.relpath(filename)} is not well-formed XML: {error}") from None
        self._note_places(tree, filename)
        return tree

    def _note_places(self, tree: XmlDocument, path: str) -> None:
        """Note the places of the nodes of the file that was opened last."""
        elements: list[int] = []
        others: list[int] = []
        parser = ParserCreate()
        parser.StartElementHandler = lambda *_: elements.append(parser.CurrentLineNumber)
        note_other = lambda *_: others.append(parser.CurrentLineNumber)  # noqa: E731
        parser.CommentHandler = parser.ProcessingInstructionHandler = parser.StartCdataSectionHandler = note_other
        parser.Parse(self.texts[-1], True)
        numbered, lines = enumerate(elements), iter(others)
        for node in _walk(tree):
            number, line = next(numbered, (-1, 0)) if isinstance(node, Element) else (-1, next(lines, 0))
            node.setUserData(_PLACE, _NodePlace(path, line, number, self.call if path else -1), self)

    def _warn(self, *texts: object, **_: object) -> None:
        self.warnings.append(_one_line(" ".join(map(str, texts))))


def _walk(tree: XmlDocument) -> Iterator[Node]:
    """All elements, comments, instructions and CDATA sections, in document order."""
    waiting: list[Node] = [tree]
    while waiting:
        node = waiting.pop()
        if node.nodeType in _WITH_PLACES:
            yield node
        waiting += reversed(node.childNodes)


_WITH_PLACES = (
    Node.ELEMENT_NODE,
    Node.COMMENT_NODE,
    Node.PROCESSING_INSTRUCTION_NODE,
    Node.CDATA_SECTION_NODE,
)


def _place_of(node: Node) -> _NodePlace:
    """The place of a node, or of what it is in."""
    at: Node | None = node
    while at is not None:
        place = at.getUserData(_PLACE)
        if isinstance(place, _NodePlace):
            return place
        at = at.parentNode
    return _NodePlace("", 1, 0)


def _failure(error: Exception) -> _XacroAnswer:
    """Why a document cannot be expanded, and the element where the package was."""
    places: list[_NodePlace] = []
    trace = error.__traceback__
    while trace is not None:
        local = trace.tb_frame.f_locals
        node = local.get("node", local.get("elt"))
        element = node.parentNode if isinstance(node, CharacterData) else node
        place = element.getUserData(_PLACE) if isinstance(element, Node) else None
        places += [place] if isinstance(place, _NodePlace) else []
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
    return _without_repetition(_one_line(str(error)), _one_line(str(cause))) or type(cause).__name__


def _without_repetition(text: str, cause: str) -> str:
    """The text of an exception, which may begin with the type of its cause and repeat the message of it."""
    text = re.sub(r"<class '[^']*'>: ", "", text)
    return text.replace(f"{cause} {cause}", cause)


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
