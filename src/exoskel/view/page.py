"""A viser server for this machine only: no share button, no requests from other sites, nothing printed."""

from __future__ import annotations

import atexit
import io
import logging
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from exoskel.diagnostics import ExoskelError

if TYPE_CHECKING:
    from viser import ViserServer

DEFAULT_PORT = 8080
_LAST_PORT = 65535
BRAND = (59, 120, 168)
_LOOPBACK = "127.0.0.1"
_LOCAL_HOSTS = frozenset({_LOOPBACK, "localhost", "::1"})
_START_LOCK = Lock()
_INVALID_DATA = 1007
"""The WebSocket code for messages that cannot be decoded."""

Handler = Callable[[Any], Coroutine[Any, Any, None]]


class Page:
    """A page in the browser: `server` is viser's server, `url` the address on this machine."""

    def __init__(self, port: int = DEFAULT_PORT, *, title: str = "exoskel", dark: bool = False) -> None:
        viser = _import_viser()
        if not 0 <= port <= _LAST_PORT:
            raise ExoskelError(f"invalid port {port}: expected a number from 0 to {_LAST_PORT}")
        # viser prints its address; the command line prints its own message.
        with _START_LOCK, _check_origins(), _silenced():
            self.server: ViserServer = viser.ViserServer(host=_LOOPBACK, port=port, label=title, verbose=False)
        self._disable_sharing()
        self.set_dark(dark)
        atexit.register(self.close)

    @property
    def port(self) -> int:
        return int(self.server.get_port())

    @property
    def url(self) -> str:
        return f"http://{_LOOPBACK}:{self.port}"

    def set_dark(self, dark: bool) -> None:
        self.server.gui.configure_theme(
            dark_mode=dark, show_logo=False, show_share_button=False, control_width="large", brand_color=BRAND
        )

    def close(self) -> None:
        """Stop serving."""
        atexit.unregister(self.close)
        with _silenced(), suppress(RuntimeError, AssertionError):
            self.server.stop()

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


# --- origin check -------------------------------------------------------------------------------------
#
# A page of any other site can open a WebSocket to a server on this machine, and DNS rebinding can make such a site
# look local.  So the Host header of each request must name this machine, and each WebSocket must come from the
# origin it connects to.  Any port is allowed: a tunnel (`ssh -L`) has its own.


def rejection_reason(headers: Mapping[str, str]) -> str:
    """Why a request is rejected; an empty string if it is allowed.  Header names are case-insensitive."""
    try:
        host = headers.get("Host", "")
        if urlsplit(f"//{host}").hostname not in _LOCAL_HOSTS:
            return "this server accepts only requests to localhost"
        if headers.get("Upgrade", "").lower() != "websocket":
            return ""
        origin = urlsplit(headers.get("Origin", ""))
    except (ValueError, LookupError):  # an invalid address, or a repeated header
        return "invalid request headers"
    if origin.scheme not in ("http", "https") or origin.netloc.lower() != host.lower():
        return "this server accepts WebSockets only from its own pages"
    return ""


@contextmanager
def _check_origins() -> Iterator[None]:
    """Add the origin check to every server started inside the block; viser has no option for it."""
    import websockets.asyncio.server as websocket_server

    serve = websocket_server.serve

    def serve_with_check(handler: Handler, *arguments: Any, **options: Any) -> Any:
        options["process_request"] = _with_origin_check(options.get("process_request"))
        return serve(_closing_on_malformed_messages(handler), *arguments, **options)

    websocket_server.serve = serve_with_check  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        websocket_server.serve = serve  # type: ignore[misc]


def _with_origin_check(handler: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], Any]:
    def process(connection: Any, request: Any) -> Any:
        reason = rejection_reason(request.headers)
        if reason:
            return connection.respond(403, f"{reason}\n")
        response = handler(connection, request) if handler is not None else None
        if response is not None:  # no other page may show this one in a frame
            response.headers["Content-Security-Policy"] = "frame-ancestors 'none'"
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
