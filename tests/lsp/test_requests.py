"""Requests as they arrive: headers in any case, lengths that no request has, documents that take long to read."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

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


def test_a_document_that_takes_long_to_compile_is_reported_soon(tmp_path: Path) -> None:
    body = '<body><freejoint/><geom size="1"/></body>'
    text = f'<mujoco><worldbody><replicate count="20000">{body}</replicate></worldbody></mujoco>'
    opened = OpenDocument(text, str(tmp_path / "bomb.xml"), Settings(), "utf-16")
    (found,) = opened.scene.diagnostics
    assert found.message == "MuJoCo cannot compile the document: it needs more than 2 s"
