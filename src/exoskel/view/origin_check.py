"""Who may talk to a page: only what was loaded from the page itself, on this machine.

A page on any other site can open a WebSocket to a server on this machine, and a name that suddenly leads here
(DNS rebinding) makes such a site look like us.  So each request has to name this machine as its host, and each
WebSocket has to come from the very origin it connects to.  Any port goes: a tunnel (`ssh -L`) has its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"
_THIS_MACHINE = frozenset({LOOPBACK, "localhost", "::1"})


def refusal(headers: Mapping[str, str]) -> str:
    """Why a request is refused, or an empty string if it is welcome.  Header names count in any case."""
    try:
        host = headers.get("Host", "")
        if urlsplit(f"//{host}").hostname not in _THIS_MACHINE:
            return "this server answers only to this machine's own names"
        if headers.get("Upgrade", "").lower() != "websocket":
            return ""
        origin = urlsplit(headers.get("Origin", ""))
    except (ValueError, LookupError):  # an address that is none, or a header that is there twice
        return "the request makes no sense"
    if origin.scheme not in ("http", "https") or origin.netloc.lower() != host.lower():
        return "WebSockets are for pages of this server only"
    return ""
