"""The origin check: only the server's own pages reach it, and it serves nothing else."""

from __future__ import annotations

import http.client
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("viser", reason="viser is not installed")

import viser
import websockets.exceptions
from websockets.sync.client import connect

from exoskel.diagnostics import ExoskelError
from exoskel.view import page as page_module
from exoskel.view.page import Page, is_shared_machine, rejection_reason


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    one = Page(port=0)
    yield one
    one.close()


def fetch(page: Page, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=10)
    connection.putrequest("GET", path, skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    return connection.getresponse()


def open_socket(page: Page, origin: str | None, host: str = "127.0.0.1") -> None:
    protocol = [f"viser-v{viser.__version__}"]
    connect(f"ws://{host}:{page.port}", origin=origin, subprotocols=protocol, open_timeout=10).close()  # type: ignore[arg-type]


def test_the_page_itself_is_served(page: Page) -> None:
    answer = fetch(page, "/")
    assert answer.status == 200
    assert b"<html" in answer.read()[:200].lower()


def test_a_socket_from_the_page_is_accepted(page: Page) -> None:
    open_socket(page, f"http://127.0.0.1:{page.port}")
    open_socket(page, f"http://localhost:{page.port}", host="localhost")


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "https://evil.example:8080", "http://localhost:3000", "http://127.0.0.1", "null", None],
)
def test_a_socket_from_another_origin_is_rejected(page: Page, origin: str | None) -> None:
    with pytest.raises(websockets.exceptions.InvalidStatus) as rejected:
        open_socket(page, origin)
    assert rejected.value.response.status_code == 403


def test_a_rebound_host_name_is_rejected(page: Page) -> None:
    assert fetch(page, "/", Host=f"evil.example:{page.port}").status == 403


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../../../etc/passwd",
        "/..%2f..%2f..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/_viser.py",
        "//etc/passwd",
        "/etc/passwd",
        "/..\\..\\_viser.py",
        "/scene.skel",
    ],
)
def test_no_path_reaches_the_file_system(page: Page, path: str) -> None:
    assert fetch(page, path).status == 404


def test_it_listens_on_this_machine_only(page: Page) -> None:
    assert page.server.get_host() == "127.0.0.1"
    assert page.url == f"http://127.0.0.1:{page.port}"


def test_other_pages_may_not_show_the_viewer_in_a_frame(page: Page) -> None:
    assert fetch(page, "/").headers["Content-Security-Policy"] == "frame-ancestors 'none'"


@pytest.mark.parametrize(
    "message",
    [
        "text",
        "",
        b"",
        b"\xc1",
        b"\x00" * 1000,
        b"\x81\xa4type\x05",
        b"\x81\xa4type\xa7Unknown",
        b"\xdf\xff\xff\xff\xff",
        b"\x90",
    ],
)
def test_malformed_messages_end_the_connection_without_output(
    page: Page, message: str | bytes, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    protocol = [f"viser-v{viser.__version__}"]
    address = f"127.0.0.1:{page.port}"
    with connect(f"ws://{address}", origin=f"http://{address}", subprotocols=protocol) as client:  # type: ignore[arg-type]
        client.send(message)
        with suppress(websockets.exceptions.ConnectionClosed, TimeoutError):
            while True:
                client.recv(timeout=0.5)
    assert fetch(page, "/").status == 200, "the server goes on"
    assert capfd.readouterr() == ("", "")
    assert [record.message for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


@pytest.mark.parametrize(
    "request_bytes", [b"", b"\r\n", b"HEAD / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\xff", b"GET /\r\n\r\n"]
)
def test_requests_that_are_not_http_are_closed_without_output(
    request_bytes: bytes, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    page = Page(0)  # viser filters messages from the first valid request on
    try:
        with socket.create_connection(("127.0.0.1", page.port), timeout=10) as client:
            client.sendall(request_bytes)
            client.shutdown(socket.SHUT_WR)
            with suppress(ConnectionResetError):
                while client.recv(4096):
                    pass
        assert fetch(page, "/").status == 200, "the server goes on"
    finally:
        page.close()
    assert capfd.readouterr() == ("", "")
    assert [record.message for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


def test_share_requests_have_no_handler(page: Page) -> None:
    from viser import _messages

    assert _messages.ShareUrlRequest not in page.server._websock_server._incoming_handlers


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    Page(port=0).close()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Host": "localhost:9000"}, True),
        ({"Host": "[::1]:9000"}, True),
        ({"Host": "LOCALHOST"}, True),
        ({}, False),
        ({"Host": "10.0.0.5:8080"}, False),
        ({"Host": "localhost.evil.example"}, False),
        ({"Host": "[::1"}, False),
        ({"Host": "localhost:9000", "Upgrade": "websocket", "Origin": "http://localhost:9000"}, True),
        ({"Host": "localhost:9000", "Upgrade": "WebSocket", "Origin": "http://evil.example"}, False),
        ({"Host": "localhost:9000", "Upgrade": "websocket", "Origin": "file://localhost:9000"}, False),
        ({"Host": "localhost:9000", "Upgrade": "websocket", "Origin": "http://[::1"}, False),
    ],
)
def test_headers_decide_whether_a_request_is_allowed(headers: dict[str, str], allowed: bool) -> None:
    assert (rejection_reason(headers) == "") is allowed


# --- tokens -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def open_page() -> Iterator[Page]:
    """A page that other machines can reach."""
    one = Page(port=0, host="0.0.0.0")
    yield one
    one.close()


def test_a_page_for_other_machines_needs_the_token_in_its_address(open_page: Page) -> None:
    assert open_page.token and open_page.url.endswith(f"/?token={open_page.token}")
    assert urlsplit(open_page.url).hostname not in ("0.0.0.0", "")
    for path in ("/", "/?token=", "/?token=wrong", f"/?token={open_page.token}x", "/?other=1"):
        answer = fetch(open_page, path, Host=f"robot.example:{open_page.port}")
        assert answer.status == 403 and b"token" in answer.read(), path
        assert "Set-Cookie" not in answer.headers
    answer = fetch(open_page, f"/?token={open_page.token}", Host=f"robot.example:{open_page.port}")
    assert answer.status == 200
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"


def test_the_socket_of_a_page_with_a_token_needs_its_cookie(open_page: Page) -> None:
    address = f"127.0.0.1:{open_page.port}"
    cookie = fetch(open_page, f"/?token={open_page.token}").headers["Set-Cookie"].split(";")[0]
    options = {"origin": f"http://{address}", "subprotocols": [f"viser-v{viser.__version__}"], "open_timeout": 10}
    connect(f"ws://{address}", additional_headers={"Cookie": cookie}, **options).close()  # type: ignore[arg-type]
    for wrong in ("", cookie + "x", cookie.replace("exoskel_", "other_")):
        with pytest.raises(websockets.exceptions.InvalidStatus):
            connect(f"ws://{address}", additional_headers={"Cookie": wrong}, **options)  # type: ignore[arg-type]
    with pytest.raises(websockets.exceptions.InvalidStatus):
        connect(f"ws://{address}", additional_headers={"Cookie": cookie}, **options | {"origin": "http://evil.example"})  # type: ignore[arg-type]


def test_tokens_differ(open_page: Page) -> None:
    other = Page(port=0, with_token=True)
    try:
        assert other.token != open_page.token and len(other.token) >= 20
        assert other.url == f"http://127.0.0.1:{other.port}/?token={other.token}"
        assert fetch(other, "/").status == 403
    finally:
        other.close()


def test_a_machine_that_others_use_needs_a_token_on_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "is_shared_machine", lambda: True)
    one = Page(port=0)
    try:
        assert one.is_local and one.token
    finally:
        one.close()


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="the system has no user numbers")
@pytest.mark.parametrize(("user", "shared"), [(0, False), (101, False), (1001, True), (65534, False)])
def test_processes_of_other_people_make_a_machine_shared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int, shared: bool
) -> None:
    (tmp_path / "17").mkdir()
    (tmp_path / "self").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: 1000)
    monkeypatch.setattr(page_module, "_owner", lambda entry: user)
    assert is_shared_machine(tmp_path) is shared
    assert not is_shared_machine(tmp_path / "missing")


@pytest.mark.parametrize("host", ["203.0.113.7", "no such host", ""])
def test_an_address_of_another_machine_is_an_error(host: str) -> None:
    with pytest.raises(ExoskelError, match="not an address of this machine"):
        Page(port=0, host=host)
