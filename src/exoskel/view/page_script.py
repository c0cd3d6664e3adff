"""The script that runs on the page beside viser's client: keys, tree, orientation, following, pictures and videos.

It sends actions through a hidden text input.  It also works around one fault of viser 1.1.1, which can be reported as:

    All generated controls share one throttled sender (`useThrottledMessageSender(50)` in `GuiComponentContextProvider`,
    `ControlPanel/Generated.tsx`).  It keeps only the latest message, whatever control it is for.  If three controls
    change within 50 ms, the second change is lost, and the page and the server differ from then on.  To reproduce:
    click three checkboxes in one task; the server receives the first and the third.  Expected: one pending message
    for each control (keyed by `uuid`), and no throttle for buttons.

The script lets each click wait until viser sends again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from viser import ViserServer

Received = Callable[[int, str, str], None]
"""Receives an action: the number of the client, the name of the action and its value."""
_MAX_LENGTH = 1000
FOLLOW_FRAME = "/exoskel/follow"
"""The node that the cameras of all pages follow while it exists."""


class PageScript:
    """Runs the script on every page that connects, and calls `received` with the actions that pages send."""

    def __init__(self, server: ViserServer, received: Received) -> None:
        from viser import _messages

        self._received = received
        channel: Any = server.gui.add_text("", "", visible=False)

        async def updated(event: Any) -> None:  # a coroutine, so that viser keeps the order
            if event.client_id is not None:
                self._receive(event.client_id, event.target.value)

        channel.on_update(updated)
        source = files("exoskel.view").joinpath("page_script.js").read_text(encoding="utf-8")
        source = source.replace("CHANNEL", json.dumps(channel._impl.uuid), 1)
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
