"""Requests as they arrive: headers in any case, lengths that no request has, documents that take long to read."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

from exoskel.lsp.open_document import OpenDocument, Settings

LIMIT = 60.0


def _request(header: str, **content: Any) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **content}).encode()
    return f"{header}: {len(body)}\r\n\r\n".encode() + body


def _converse(data: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "exoskel", "lsp"]
    return subprocess.run(command, input=data, capture_output=True, timeout=LIMIT, check=False)


@pytest.mark.parametrize("header", ["Content-Length", "content-length", "CONTENT-LENGTH", "Content-Length "])
def test_headers_may_be_in_any_case(header: str) -> None:
    initialize = {"processId": None, "rootUri": None, "capabilities": {}}
    data = _request(header, id=1, method="initialize", params=initialize)
    data += _request(header, id=2, method="shutdown") + _request(header, method="exit")
    assert b'"capabilities"' in _converse(data).stdout


@pytest.mark.parametrize("length", ["99999999999999999999", "-1", "1e3", "", "９"])
def test_a_length_that_no_request_has_ends_the_server(length: str) -> None:
    done = _converse(f"Content-Length: {length}\r\n\r\n".encode() + b"{}" * 100)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_other_headers_and_empty_lines_are_skipped() -> None:
    initialize = {"processId": None, "rootUri": None, "capabilities": {}}
    data = _request("Content-Type: x\r\nContent-Length", id=1, method="initialize", params=initialize)
    data += b"\r\n" * 20_000 + _request("Content-Length", id=2, method="shutdown")
    data += _request("X: y\r\n" * 1000 + "Content-Length", method="exit")
    done = _converse(data)
    assert b'"capabilities"' in done.stdout and b'"id": 2' in done.stdout.replace(b'"id":2', b'"id": 2')


@pytest.mark.parametrize("line", [b"X: y\r\n", b"\n", b"x" * 20_000])
def test_megabytes_of_headers_end_the_server(line: bytes) -> None:
    done = _converse(line * (12_000_000 // len(line)))
    assert done.returncode == 0 and not done.stdout and b"Traceback" not in done.stderr


def test_malformed_messages_are_reported_in_one_line_and_do_not_end_the_server() -> None:
    bodies = [b"{nope", b'"\xff"', b"[]", b"5", b"[" * 100_000, b'{"id": ' + b"9" * 5000 + b"}", b'{"id": 3}']
    data = b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)
    data += _request("Content-Length", id=[1], method="shutdown")
    data += _request("Content-Length", id=4, method="textDocument/hover", params={"textDocument": 5})
    initialize = {"processId": None, "rootUri": None, "capabilities": {}}
    data += _request("Content-Length", id=1, method="initialize", params=initialize)
    data += _request("Content-Length", id=2, method="shutdown") + _request("Content-Length", method="exit")
    done = _converse(data)
    assert b'"capabilities"' in done.stdout
    lines = done.stderr.decode().splitlines()
    assert len(lines) >= len(bodies) and all(line.startswith("exoskel: ") for line in lines), lines
    assert "Traceback" not in done.stderr.decode()


def test_a_document_that_takes_long_to_compile_is_reported_soon(tmp_path: Path) -> None:
    body = '<body><freejoint/><geom size="1"/></body>'
    text = f'<mujoco><worldbody><replicate count="20000">{body}</replicate></worldbody></mujoco>'
    opened = OpenDocument(text, str(tmp_path / "bomb.xml"), Settings(), "utf-16")
    (found,) = opened.scene.diagnostics
    assert found.message == "MuJoCo cannot compile the document: it needs more than 2 s"


def test_other_requests_are_answered_while_a_document_is_read(tmp_path: Path) -> None:
    # The reader waits for a file that is created when the other requests are answered.
    started, finish = tmp_path / "started", tmp_path / "finish"
    program = SLOW_SERVER.format(started=str(started), finish=str(finish))
    slow = (tmp_path / "slow.skel").as_uri()
    quick = (tmp_path / "quick.skel").as_uri()

    async def script() -> None:
        client = LanguageClient("test", "1")
        published: asyncio.Queue[types.PublishDiagnosticsParams] = asyncio.Queue()

        @client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            published.put_nowait(params)

        await client.start_io(sys.executable, "-c", program)
        await client.initialize_async(types.InitializeParams(types.ClientCapabilities()))
        client.initialized(types.InitializedParams())
        for uri in (slow, quick):
            item = types.TextDocumentItem(uri, "skel", 0, '<skel version="1.0"><world name="w"/></skel>')
            client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        while not started.exists():
            await asyncio.sleep(0.01)
        place = types.TextDocumentIdentifier(quick), types.Position(0, 2)
        assert await client.text_document_hover_async(types.HoverParams(*place)) is not None
        assert await client.text_document_completion_async(types.CompletionParams(*place)) is not None
        assert (await published.get()).uri == quick
        finish.touch()
        assert (await published.get()).uri == slow
        await client.shutdown_async(None)
        client.exit(None)
        server = client._server
        assert server is not None and await server.wait() == 0
        await client.stop()

    asyncio.run(asyncio.wait_for(script(), LIMIT))


SLOW_SERVER = """
import sys, time
from pathlib import Path
from exoskel.lsp import open_document

load = open_document.load

def wait_and_load(data, **options):
    if options["name"].endswith("slow.skel"):
        Path({started!r}).touch()
        while not Path({finish!r}).exists():
            time.sleep(0.01)
    return load(data, **options)

open_document.load = wait_and_load
sys.argv = ["exoskel", "lsp"]
from exoskel.cli.main import run
run()
"""
