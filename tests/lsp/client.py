"""A test client for a real server process, connected by its standard streams as in an editor."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

TIMEOUT = 30.0


class Editor:
    """One open document, and the calls an editor makes for it."""

    def __init__(self, client: LanguageClient, uri: str) -> None:
        self.client = client
        self.uri = uri
        self.text = ""
        self.version = 0
        self.published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

    @property
    def document(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri)

    async def open(self, text: str, language: str = "skel") -> list[types.Diagnostic]:
        self.text = text
        item = types.TextDocumentItem(self.uri, language, self.version, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return await self.diagnostics()

    async def change(self, text: str) -> list[types.Diagnostic]:
        self.text = text
        self.version += 1
        self.client.text_document_did_change(
            types.DidChangeTextDocumentParams(
                types.VersionedTextDocumentIdentifier(self.version, self.uri),
                [types.TextDocumentContentChangeWholeDocument(text)],
            )
        )
        return await self.diagnostics()

    async def diagnostics(self) -> list[types.Diagnostic]:
        return list((await asyncio.wait_for(self.published.get(), TIMEOUT)).diagnostics)

    def at(self, piece: str, occurrence: int = 0, inside: int = 1) -> types.Position:
        """The position `inside` characters into a piece of the text."""
        start = -1
        for _ in range(occurrence + 1):
            start = self.text.index(piece, start + 1)
        return self.position(start + inside)

    def position(self, index: int) -> types.Position:
        before = self.text[:index].replace("\r\n", "\n").replace("\r", "\n")
        line = before.rpartition("\n")[2]
        return types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)

    def between(self, place: types.Range) -> str:
        return self.text[self.index(place.start) : self.index(place.end)]

    def index(self, position: types.Position) -> int:
        at = 0
        for _ in range(position.line):
            ends = [self.text.find(mark, at) for mark in ("\r\n", "\n", "\r")]
            first = min(end for end in ends if end >= 0)
            at = first + (2 if self.text.startswith("\r\n", first) else 1)
        units = self.text[at:].encode("utf-16-le")[: position.character * 2]
        return at + len(units.decode("utf-16-le"))

    def applied(self, edits: list[types.TextEdit]) -> str:
        """The text after some edits, applied all at once as an editor does."""
        text = self.text
        for edit in sorted(edits, key=lambda one: self.index(one.range.start), reverse=True):
            text = text[: self.index(edit.range.start)] + edit.new_text + text[self.index(edit.range.end) :]
        return text

    async def actions(self, place: types.Range, only: list[str] | None = None) -> list[types.CodeAction]:
        found = await self.client.text_document_code_action_async(
            types.CodeActionParams(self.document, place, types.CodeActionContext([], only=only))  # type: ignore[arg-type]
        )
        return [one for one in found or [] if isinstance(one, types.CodeAction)]

    def edits(self, edit: types.WorkspaceEdit | None) -> list[types.TextEdit]:
        assert edit is not None and edit.changes is not None
        return list(edit.changes[self.uri])


def session(
    path: Path,
    script: Callable[[Editor], Awaitable[None]],
    options: dict[str, Any] | None = None,
    encodings: list[str] | None = None,
    texts: types.MarkupKind = types.MarkupKind.Markdown,
) -> None:
    """Start a server, run the script of an editor, and stop both; the server must exit with 0.

    `texts` is the format of texts that the editor shows.
    """

    async def run() -> None:
        client = LanguageClient("test", "1")
        editor = Editor(client, path.as_uri())

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            editor.published.put_nowait(params)

        await client.start_io(sys.executable, "-c", "from exoskel.cli.main import run; run()", "lsp")
        general = types.GeneralClientCapabilities(position_encodings=encodings) if encodings else None  # type: ignore[arg-type]
        item = types.ClientCompletionItemOptions(documentation_format=[texts])
        shown = types.TextDocumentClientCapabilities(
            hover=types.HoverClientCapabilities(content_format=[texts]),
            completion=types.CompletionClientCapabilities(completion_item=item),
        )
        offered = types.ClientCapabilities(general=general, text_document=shown)
        await asyncio.wait_for(
            client.initialize_async(types.InitializeParams(offered, initialization_options=options)), TIMEOUT
        )
        client.initialized(types.InitializedParams())
        await asyncio.wait_for(script(editor), 2 * TIMEOUT)
        await asyncio.wait_for(client.shutdown_async(None), TIMEOUT)
        client.exit(None)
        server = client._server
        assert server is not None
        assert await asyncio.wait_for(server.wait(), TIMEOUT) == 0
        await client.stop()

    asyncio.run(run())
