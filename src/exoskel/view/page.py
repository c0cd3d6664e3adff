"""A viser server, and the script on its pages: keys, tree, orientation, following, pictures and videos.

The server is for this machine only, or needs a token.  It has no share button and accepts no requests from other sites.
Nothing is printed.

The script sends actions through a hidden text input.  It also works around one fault of viser 1.1.1, which can be
reported as:

    All generated controls share one throttled sender (`useThrottledMessageSender(50)` in `GuiComponentContextProvider`,
    `ControlPanel/Generated.tsx`).  It keeps only the latest message, whatever control it is for.  If three controls
    change within 50 ms, the second change is lost, and the page and the server differ from then on.  To reproduce:
    click three checkboxes in one task; the server receives the first and the third.  Expected: one pending message
    for each control (keyed by `uuid`), and no throttle for buttons.

The script lets each click wait until viser sends again.
"""

from __future__ import annotations

import asyncio
import atexit
import hmac
import io
import json
import logging
import os
import secrets
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import msgspec
from msgspec import Struct

from exoskel.diagnostics import ExoskelError

if TYPE_CHECKING:
    from viser import ViserServer

DEFAULT_PORT = 8080
_LAST_PORT = 65535
BRAND = (59, 120, 168)
LOOPBACK = "127.0.0.1"
_EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})
_DOCUMENTATION_ADDRESS = ("192.0.2.1", 9)
"""An address that no machine has (RFC 5737)."""
_FIRST_USER, _LAST_USER = 1000, 59_999
"""The numbers of the accounts of people on Linux; others belong to services."""
_LOCAL_HOSTS = frozenset({LOOPBACK, "localhost", "::1"})
_START_LOCK = Lock()
_CONNECTIONS = logging.getLogger(f"{__name__}.connections")
"""For what clients do wrong, such as requests that are not HTTP; it shows nothing unless its level is lowered."""
_CONNECTIONS.setLevel(logging.CRITICAL)
_INVALID_DATA = 1007
"""The WebSocket code for messages that cannot be decoded."""

_COLLAPSE_PANEL = """
const collapse = (attempts) => {
  const handle = document.querySelector('[style*="cursor: pointer"][style*="height: 3.5em"]');
  if (handle) handle.click();
  else if (attempts > 0) setTimeout(() => collapse(attempts - 1), 100);
};
if (!window.exoskelPanel && matchMedia("(max-width: 36em)").matches) collapse(20);
window.exoskelPanel = true;
"""
"""In windows that narrow, viser shows the panel as a sheet above the scene.  It has no option to collapse it."""

Handler = Callable[[Any], Coroutine[Any, Any, None]]


class Page:
    """A page in the browser: `server` is viser's server, `url` the address to open, with the token if there is one.

    `host` is the address to listen on.  If it is not the loopback address, or if others use this machine, only
    requests with a token are answered; `with_token` requires one anyway.
    """

    def __init__(
        self,
        port: int = DEFAULT_PORT,
        *,
        title: str = "exoskel",
        dark: bool = False,
        host: str = LOOPBACK,
        with_token: bool = False,
    ) -> None:
        viser = _import_viser()
        self.title = title
        self.host = _checked_host(host)
        self.is_local = ip_address(self.host).is_loopback
        needs_token = with_token or not self.is_local or is_shared_machine()
        self.token = secrets.token_urlsafe(16) if needs_token else ""
        if not 0 <= port <= _LAST_PORT:
            raise ExoskelError(f"invalid port {port}: expected a number from 0 to {_LAST_PORT}")
        # viser prints its address; the command line prints its own message.
        with _START_LOCK, _check_requests(RequestCheck(self.token)), _silenced():
            self.server: ViserServer = viser.ViserServer(host=self.host, port=port, label=title, verbose=False)
        self._disable_sharing()
        self.set_dark(dark)
        atexit.register(self.close)

    @property
    def port(self) -> int:
        return int(self.server.get_port())

    @property
    def url(self) -> str:
        host = _outgoing_address() if self.host in _EVERY_ADDRESS else self.host
        address = f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"
        return f"{address}/?token={self.token}" if self.token else address

    def set_dark(self, dark: bool) -> None:
        self.server.gui.configure_theme(
            dark_mode=dark, show_logo=False, show_share_button=False, control_width="large", brand_color=BRAND
        )

    def mark_errors(self, on: bool) -> None:
        """Mark the title of the panel: on a phone, the panel is collapsed and hides the errors."""
        self.server.gui.set_panel_label(f"⚠ {self.title}" if on else self.title)

    def collapse_panel_if_narrow(self) -> None:
        """Collapse the panel when a page opens in a narrow window, such as on a phone: it would hide the scene."""
        from viser import _messages

        self.server._websock_server.queue_message(_messages.RunJavascriptMessage(_COLLAPSE_PANEL))

    def close(self) -> None:
        """Stop serving."""
        atexit.unregister(self.close)
        with _silenced(), suppress(RuntimeError, AssertionError):
            self._finish_callbacks()
            self.server.stop()

    def _finish_callbacks(self) -> None:
        """Let callbacks that viser has scheduled begin: Python warns about those that never do."""
        if self.server._event_loop.is_running():
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.server._event_loop).result(1.0)

    def _disable_sharing(self) -> None:
        """Remove the handlers of share requests: hiding the button does not stop a page from sending them."""
        from viser import _messages

        for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
            self.server._websock_server.unregister_handler(message)


@contextmanager
def _silenced() -> Iterator[None]:
    """Print nothing in the block.  In notebooks, rich does not print on standard output, but displays."""
    console = sys.modules["rich"].get_console()  # viser prints with rich, and has imported it
    before, console.quiet = console.quiet, True
    try:
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        console.quiet = before


def _import_viser() -> Any:
    try:
        import viser
    except ImportError:
        raise ExoskelError("viser is not installed; install the viewer with `pip install 'exoskel[view]'`") from None
    return viser


# --- addresses and users ------------------------------------------------------------------------------


def _checked_host(host: str) -> str:
    """The address that a name or address stands for on this machine."""
    try:
        if not host:
            raise OSError
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)
        address = str(found[0][4][0])
        with socket.socket(found[0][0], socket.SOCK_STREAM) as trial:
            trial.bind((address, 0))
    except (OSError, UnicodeError):
        raise ExoskelError(f"cannot listen on {host!r}: it is not an address of this machine") from None
    return address


def _outgoing_address() -> str:
    """The address of this machine in its network; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as trial:
        try:
            trial.connect(_DOCUMENTATION_ADDRESS)
            return str(trial.getsockname()[0])
        except OSError:  # no network
            return LOOPBACK


def is_shared_machine(processes: Path = Path("/proc")) -> bool:
    """Whether other users are logged in: on Linux, whether a process belongs to the account of another person.

    Other systems do not say who owns a process without a further program; there, `--token` requires a token.
    """
    me = os.getuid() if hasattr(os, "getuid") else -1
    with suppress(OSError):
        for entry in os.scandir(processes):
            with suppress(OSError):  # it has ended
                if entry.name.isdecimal() and _is_other_person(_owner(entry), me):
                    return True
    return False


def _owner(entry: os.DirEntry[str]) -> int:
    return entry.stat().st_uid


def _is_other_person(user: int, me: int) -> bool:
    return user != me and _FIRST_USER <= user <= _LAST_USER


# --- requests -----------------------------------------------------------------------------------------
#
# A page of any other site can open a WebSocket to a server on this machine, and DNS rebinding can make such a site
# look local.  So the Host header of each request must name this machine, and each WebSocket must come from the
# origin it connects to.  Any port is allowed: a tunnel (`ssh -L`) has its own.
#
# Where others can reach the server, each request needs the token: in the address when the page is opened, then in a
# cookie, because viser's page opens its WebSocket without the parameters of its address.  The token also prevents DNS
# rebinding, so then any host name is allowed: a server may have names that it does not know.


class RequestCheck(Struct, frozen=True):
    """The check of each request; without a token, requests must be to this machine."""

    token: str = ""

    def rejection_reason(self, headers: Mapping[str, str], path: str = "/") -> str:
        """Why a request is rejected; an empty string if it is allowed.  Header names are case-insensitive."""
        try:
            host = headers.get("Host", "")
            name = urlsplit(f"//{host}").hostname
            if not self.token and name not in _LOCAL_HOSTS:
                return "this server accepts only requests to localhost"
            if self.token and not (self.has_token(path) or self._has_cookie(headers.get("Cookie", ""), host)):
                return "open the whole address that exoskel printed, with its token"
            if headers.get("Upgrade", "").lower() != "websocket":
                return ""
            origin = urlsplit(headers.get("Origin", ""))
        except (ValueError, LookupError):  # an invalid address, or a repeated header
            return "invalid request headers"
        if origin.scheme not in ("http", "https") or origin.netloc.lower() != host.lower():
            return "this server accepts WebSockets only from its own pages"
        return ""

    def has_token(self, path: str) -> bool:
        """Whether the address of a request contains the token."""
        return bool(self.token) and self._is_token(*parse_qs(urlsplit(path).query).get("token", [""]))

    def _has_cookie(self, cookies: str, host: str) -> bool:
        pairs = (one.strip().partition("=") for one in cookies.split(";"))
        return any(self._is_token(value) for name, _, value in pairs if name == _cookie_name(host))

    def _is_token(self, *given: str) -> bool:
        return any(hmac.compare_digest(one.encode(), self.token.encode()) for one in given)

    def cookie(self, host: str) -> str:
        """The header that makes the browser send the token with later requests to `host`."""
        return f"{_cookie_name(host)}={self.token}; Path=/; HttpOnly; SameSite=Strict"


def _cookie_name(host: str) -> str:
    """Cookies are shared by all ports of a host, so the name contains the port."""
    return f"exoskel_{urlsplit(f'//{host}').port or 80}"


def rejection_reason(headers: Mapping[str, str]) -> str:
    """Why a request to a server without a token is rejected; an empty string if it is allowed."""
    return RequestCheck().rejection_reason(headers)


@contextmanager
def _check_requests(check: RequestCheck) -> Iterator[None]:
    """Add the check to every server started inside the block; viser has no option for it."""
    import websockets.asyncio.server as websocket_server

    serve = websocket_server.serve

    def serve_with_check(handler: Handler, *arguments: Any, **options: Any) -> Any:
        options["process_request"] = _with_check(check, options.get("process_request"))
        options["logger"] = _CONNECTIONS
        return serve(_closing_on_malformed_messages(handler), *arguments, **options)

    websocket_server.serve = serve_with_check  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        websocket_server.serve = serve  # type: ignore[misc]


def _with_check(check: RequestCheck, handler: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], Any]:
    def process(connection: Any, request: Any) -> Any:
        reason = check.rejection_reason(request.headers, request.path)
        response = (
            connection.respond(403, f"{reason}\n")
            if reason
            else (handler(connection, request) if handler is not None else None)
        )
        if response is not None:  # no other page may show this one in a frame
            response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
            response.headers["Referrer-Policy"] = "no-referrer"
        if response is not None and not reason and check.has_token(request.path):
            response.headers["Set-Cookie"] = check.cookie(request.headers.get("Host", ""))
        return response

    return process


def _closing_on_malformed_messages(handler: Handler) -> Handler:
    """Close a connection whose messages cannot be decoded; viser would print a traceback."""

    async def serve_connection(connection: Any) -> None:
        try:
            await handler(connection)
        except Exception as error:
            logging.getLogger(__name__).debug("connection closed: %s", error)
            await connection.close(_INVALID_DATA, "invalid message")

    return serve_connection


Received = Callable[[int, str, str], None]
"""Receives an action: the number of the client, the name of the action and its value."""
_MAX_LENGTH = 1000
FOLLOW_FRAME = "/exoskel/follow"
"""The node that the cameras of all pages follow while it exists."""


class PageScript:
    """Runs the script on every page that connects, and calls `received` with the actions that pages send.

    `title` is shown in the tab of the browser.
    """

    def __init__(self, server: ViserServer, received: Received, title: str = "exoskel") -> None:
        from viser import _messages

        self._received = received
        channel: Any = server.gui.add_text("", "", visible=False)

        async def updated(event: Any) -> None:  # a coroutine, so that viser keeps the order
            if event.client_id is not None:
                self._receive(event.client_id, event.target.value)

        channel.on_update(updated)
        source = files("exoskel.view").joinpath("page_script.js").read_text(encoding="utf-8")
        source = source.replace("CHANNEL", json.dumps(channel._impl.uuid), 1)
        source = source.replace("TITLE", json.dumps(title if title == "exoskel" else f"{title} – exoskel"), 1)
        # viser sends it to the pages that connect later, too.
        server._websock_server.queue_message(_messages.RunJavascriptMessage(source))

    def _receive(self, client: int, text: object) -> None:
        """Pass on an action; messages in another form are ignored."""
        if not isinstance(text, str):
            return
        try:
            _, action, value = msgspec.json.decode(text[:_MAX_LENGTH], type=tuple[str, str, str])
        except (msgspec.DecodeError, UnicodeError):
            return
        self._received(client, action, value)
