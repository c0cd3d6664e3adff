"""The language server: maps requests of the editor to the functions of this package."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import BinaryIO, TypeVar, cast
from urllib.parse import unquote, urlsplit

import msgspec
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from exoskel.diagnostics import ExoskelError
from exoskel.formats.formatter import format_file
from exoskel.lsp import hover_and_completion, open_document, symbols
from exoskel.lsp.open_document import OpenDocument, Settings
from exoskel.version import __version__

_MAX_HEADER, _MAX_HEADERS, _MAX_REQUEST = 10_000, 100_000, 2**30
"""In bytes."""
DEBOUNCE = 0.2
"""Seconds without a keystroke before a document is read again."""
_WORKERS = 4
T = TypeVar("T")


class Server(LanguageServer):
    """The server; `cache` has the last version of each open document.

    What needs the scene of a document is computed in worker threads, because reading it may take seconds.  Other
    requests are answered meanwhile.
    """

    def __init__(self) -> None:
        # Incremental changes would fail: pygls splits lines at characters that are not line ends in the protocol.
        super().__init__("exoskel", __version__, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self.settings = Settings()
        self.cache: dict[str, tuple[str, OpenDocument]] = {}
        self.pending: dict[str, asyncio.Task[None]] = {}
        self._workers = ThreadPoolExecutor(_WORKERS, "exoskel-lsp")

    def open_document(self, uri: str) -> OpenDocument:
        if not self.is_open(uri):  # pygls would read any path from the disk
            raise JsonRpcInvalidParams(message=f"{uri} is not open")
        text = self.workspace.get_text_document(uri).source
        found = self.cache.get(uri)
        if found is None or found[0] != text:
            path = to_fs_path(uri) if urlsplit(uri).scheme == "file" else ""
            agreed = self.workspace.position_encoding
            units = str(getattr(agreed, "value", agreed))
            found = self.cache[uri] = (text, OpenDocument(text, path or "", self.settings, units))
        return found[1]

    def content_format(self, request: str) -> types.MarkupKind:
        """The format of texts: Markdown if the editor offers it for this request, which is its first choice or not."""
        offered = self.client_capabilities.text_document
        if request == "hover":
            hovers = offered.hover if offered is not None else None
            formats = hovers.content_format if hovers is not None else None
        else:
            completion = offered.completion if offered is not None else None
            item = completion.completion_item if completion is not None else None
            formats = item.documentation_format if item is not None else None
        return types.MarkupKind.Markdown if types.MarkupKind.Markdown in (formats or ()) else types.MarkupKind.PlainText

    def is_open(self, uri: str) -> bool:
        """Whether the editor has opened a document; later versions of pygls store URIs without percent signs."""
        known = self.workspace.text_documents
        return uri in known or unquote(uri) in known

    async def compute(self, work: Callable[[OpenDocument], T], uri: str) -> T:
        """Call a function with an open document in a worker thread."""
        opened = self.open_document(uri)
        return await asyncio.get_running_loop().run_in_executor(self._workers, work, opened)

    def publish(self, uri: str, delay: float = 0.0) -> None:
        """Publish the diagnostics of a document when it has been read, instead of those of an earlier version."""
        if (task := self.pending.pop(uri, None)) is not None:
            task.cancel()
        self.pending[uri] = asyncio.ensure_future(self._publish(uri, delay))

    async def _publish(self, uri: str, delay: float) -> None:
        await asyncio.sleep(delay)
        version = self.workspace.get_text_document(uri).version
        found = await self.compute(open_document.diagnostics, uri)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found, version))

    def discard(self, uri: str) -> None:
        self.cache.pop(uri, None)
        if (task := self.pending.pop(uri, None)) is not None:
            task.cancel()


server = Server()


@server.feature(types.INITIALIZE)
def initialize(ls: Server, params: types.InitializeParams) -> None:
    options = params.initialization_options
    try:
        ls.settings = msgspec.convert(options, Settings) if isinstance(options, dict) else Settings()
    except msgspec.ValidationError as error:
        raise JsonRpcInvalidParams(message=f"initialization options: {error}") from None


@server.feature(types.TEXT_DOCUMENT_DID_OPEN)
def did_open(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    ls.publish(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
def did_change(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    ls.publish(params.text_document.uri, DEBOUNCE)


@server.feature(types.TEXT_DOCUMENT_DID_SAVE)
def did_save(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    """Read the document again: files that it refers to may have changed."""
    ls.discard(params.text_document.uri)
    if ls.is_open(params.text_document.uri):
        ls.publish(params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
def did_close(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    ls.discard(params.text_document.uri)
    ls.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))


@server.feature(
    types.TEXT_DOCUMENT_CODE_ACTION,
    types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix, open_document.FIX_ALL]),
)
async def code_actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    only = None if params.context.only is None else [str(getattr(one, "value", one)) for one in params.context.only]
    uri = params.text_document.uri
    return await ls.compute(partial(open_document.code_actions, uri=uri, selection=params.range, only=only), uri)


@server.feature(types.TEXT_DOCUMENT_HOVER)
def hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    content = ls.content_format("hover")
    return hover_and_completion.hover(ls.open_document(params.text_document.uri), params.position, content)


@server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=["<", "/", " ", '"', ">"]))
async def completion(ls: Server, params: types.CompletionParams) -> list[types.CompletionItem]:
    work = partial(hover_and_completion.completions, position=params.position, content=ls.content_format("completion"))
    return await ls.compute(work, params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
async def document_symbol(ls: Server, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    return await ls.compute(symbols.outline, params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DEFINITION)
async def definition(ls: Server, params: types.DefinitionParams) -> types.Location | None:
    uri = params.text_document.uri
    found = await ls.compute(partial(symbols.definition, position=params.position), uri)
    return None if found is None else types.Location(uri, found)


@server.feature(types.TEXT_DOCUMENT_REFERENCES)
async def references(ls: Server, params: types.ReferenceParams) -> list[types.Location]:
    uri = params.text_document.uri
    declaration = params.context.include_declaration
    find = partial(symbols.references, position=params.position, declaration=declaration)
    return [types.Location(uri, one) for one in await ls.compute(find, uri)]


@server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
async def document_highlight(ls: Server, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
    found = await ls.compute(partial(symbols.references, position=params.position), params.text_document.uri)
    return [types.DocumentHighlight(one, types.DocumentHighlightKind.Text) for one in found]


@server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
async def folding_range(ls: Server, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    return await ls.compute(symbols.folds, params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
async def document_link(ls: Server, params: types.DocumentLinkParams) -> list[types.DocumentLink]:
    return await ls.compute(symbols.links, params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
async def prepare_rename(ls: Server, params: types.PrepareRenameParams) -> types.Range | None:
    return await ls.compute(partial(symbols.rename_range, position=params.position), params.text_document.uri)


@server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
async def rename(ls: Server, params: types.RenameParams) -> types.WorkspaceEdit:
    uri = params.text_document.uri
    edits = partial(symbols.rename_edits, position=params.position, name=params.new_name)
    try:
        return types.WorkspaceEdit({uri: await ls.compute(edits, uri)})
    except ExoskelError as error:
        raise JsonRpcInvalidParams(message=str(error)) from None


@server.feature(types.TEXT_DOCUMENT_FORMATTING)
async def formatting(ls: Server, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    language = ls.open_document(params.text_document.uri).format
    if not language.has_vocabulary:  # no error: editors that format on save would show it each time
        message = f"the document is left unchanged: {language.label} has no canonical layout"
        ls.window_log_message(types.LogMessageParams(types.MessageType.Info, message))
        return None
    try:
        return await ls.compute(_formatting_edits, params.text_document.uri)
    except ExoskelError as error:
        raise JsonRpcInvalidParams(message=str(error)) from None


def _formatting_edits(opened: OpenDocument) -> list[types.TextEdit] | None:
    data = format_file(opened.document, opened.format, opened.read, scene=opened.scene)
    return None if data is None else open_document.edits_for(opened, data)


class _Requests:
    """The stream of requests, with headers as pygls expects them: it compares upper and lower case.

    It gets only the length and the empty line after the headers, because it takes long for each line.  A length that no
    request can have ends the stream, as do too many headers: where the next request begins is unknown.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._has_length = False
        self.read = stream.read
        self.close = stream.close

    def readline(self) -> bytes:
        size = 0
        while size <= _MAX_HEADERS and (line := self._stream.readline(_MAX_HEADER)):
            size += len(line)
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                self._has_length = True
                return _length_header(value.strip())
            if self._has_length and not line.strip():
                self._has_length = False
                return line
        return b""


def _length_header(length: bytes) -> bytes:
    """The header with the length of a request; empty if no request can have it."""
    is_valid = length.isdigit() and len(length) <= len(str(_MAX_REQUEST)) and int(length) <= _MAX_REQUEST
    return b"Content-Length: %d\r\n" % int(length) if is_valid else b""


def serve(requests: BinaryIO, responses: BinaryIO) -> None:
    """Serve an editor on two streams until it disconnects; closes both."""
    server.start_io(cast("BinaryIO", _Requests(requests)), responses)
