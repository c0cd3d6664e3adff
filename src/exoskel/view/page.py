"""A viser server for this machine alone: no share button, no foreign pages, nothing printed."""

from __future__ import annotations

import atexit
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from exoskel.diagnostics import ExoskelError
from exoskel.view import origin_check

if TYPE_CHECKING:
    from viser import ViserServer

DEFAULT_PORT = 8080
_LAST_PORT = 65535
BRAND = (59, 120, 168)
_STARTING = Lock()


class Page:
    """A page in the browser.  `server` is viser's; `url` leads to it from this machine."""

    def __init__(self, port: int = DEFAULT_PORT, *, title: str = "exoskel", dark: bool = False) -> None:
        viser = _viser()
        if not 0 <= port <= _LAST_PORT:
            raise ExoskelError(f"a port is a number from 0 to {_LAST_PORT}, not {port}")
        # viser tells its address on standard output; the command line has its own way of saying so.
        with _STARTING, _gated(), redirect_stdout(io.StringIO()):
            self.server: ViserServer = viser.ViserServer(
                host=origin_check.LOOPBACK, port=port, label=title, verbose=False
            )
        self._refuse_sharing()
        self.set_dark(dark)
        atexit.register(self.close)

    @property
    def port(self) -> int:
        return int(self.server.get_port())

    @property
    def url(self) -> str:
        return f"http://{origin_check.LOOPBACK}:{self.port}"

    def set_dark(self, dark: bool) -> None:
        self.server.gui.configure_theme(
            dark_mode=dark, show_logo=False, show_share_button=False, control_width="large", brand_color=BRAND
        )

    def close(self) -> None:
        """Stop serving."""
        atexit.unregister(self.close)
        with redirect_stdout(io.StringIO()), suppress(RuntimeError, AssertionError):
            self.server.stop()

    def _refuse_sharing(self) -> None:
        """Without its button, a page could still ask for a tunnel to the outside: nobody listens."""
        from viser import _messages

        for message in (_messages.ShareUrlRequest, _messages.ShareUrlDisconnect):
            self.server._websock_server.unregister_handler(message)


def _viser() -> Any:
    try:
        import viser
    except ImportError:
        raise ExoskelError("the viewer needs viser: pip install 'exoskel[view]'") from None
    return viser


@contextmanager
def _gated() -> Iterator[None]:
    """Let whatever starts serving meanwhile ask the gate first; viser has no option for it."""
    import websockets.asyncio.server as serving

    serve = serving.serve

    def gated(handler: Any, *arguments: Any, **options: Any) -> Any:
        options["process_request"] = _asking_the_gate(options.get("process_request"))
        return serve(handler, *arguments, **options)

    serving.serve = gated  # type: ignore[assignment,misc]
    try:
        yield
    finally:
        serving.serve = serve  # type: ignore[misc]


def _asking_the_gate(answer: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], Any]:
    def process(connection: Any, request: Any) -> Any:
        reason = origin_check.refusal(request.headers)
        if reason:
            return connection.respond(403, f"{reason}\n")
        return answer(connection, request) if answer is not None else None

    return process
