"""A TCP proxy between a page and its server that can interrupt the connection."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Proxy:
    """Listens at `port` and forwards to another port.  `cut` closes all connections and rejects new ones."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._is_cut = False
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._is_cut:
                _end(client)
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open += [client, server]
            for one, other in ((client, server), (server, client)):
                threading.Thread(target=_pass_on, args=(one, other), daemon=True).start()

    def cut(self) -> None:
        self._is_cut = True
        for one in self._open:
            _end(one)
        self._open = []

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        _end(self._listener)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    _end(source)
    _end(target)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        one.close()
