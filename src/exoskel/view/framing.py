"""Framing: cameras of clients that show the whole scene, also after their windows have changed.

viser reports the camera of a client whenever it moves, and when its canvas changes its size: when the panel is docked,
collapsed or dragged, when the window is resized, and when a phone is turned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from exoskel.spatial import Array
from exoskel.view.browser_scene import set_client_camera, set_initial_camera
from exoskel.view.camera import Camera

if TYPE_CHECKING:
    from viser import ViserServer

_REMEMBERED = 32
"""How many cameras are remembered: those of several clients, and of messages that are still on their way."""
_SAME_CAMERA = 2e-3
"""Cameras that differ by at most this fraction of their distance are the same one."""
_SAME_SHAPE = 0.01
"""The relative difference of aspect ratios that is ignored."""

CameraOf = Callable[[str, float], Camera]
"""The camera on the page for a preset and an aspect ratio."""


class _Framed(Struct, frozen=True):
    """A camera that was set, by the preset and the aspect ratio that it was computed for."""

    preset: str
    shape: float
    camera: Array


class Framing:
    """Sets the cameras of clients.  A camera that the user has moved is left alone until the next `frame`.

    `camera` computes a camera; `submit` queues a job for the thread that may call it.
    """

    def __init__(self, server: ViserServer, camera: CameraOf, submit: Callable[[Callable[[], None]], None]) -> None:
        self._server, self._camera, self._submit = server, camera, submit
        self._framed: tuple[_Framed, ...] = ()
        server.on_client_connect(self._connected)

    def begin(self, *, has_moved: bool) -> None:
        """Set the camera of clients that connect later; `has_moved` says that the scene has a new place on the page."""
        if has_moved:
            self._framed = ()
        camera = self._camera("default", 1.0)
        self._remember("default", 1.0, camera)
        set_initial_camera(self._server, camera)

    def frame(self, preset: str, number: int | None = None) -> None:
        """Show the whole scene to one client, or to all."""
        for one, client in self._server.get_clients().items():
            if number in (None, one):
                self._set(client, preset)

    def _set(self, client: Any, preset: str) -> None:
        shape = _shape(client.camera.aspect)
        camera = self._camera(preset, client.camera.aspect)
        self._remember(preset, shape, camera)
        set_client_camera(client, camera)

    def _remember(self, preset: str, shape: float, camera: Camera) -> None:
        row = np.concatenate([camera.position, camera.target, camera.up])
        kept = [one for one in self._framed if not np.array_equal(one.camera, row)]
        self._framed = (*kept, _Framed(preset, shape, row))[-_REMEMBERED:]

    def _connected(self, client: Any) -> None:
        async def moved(_: Any) -> None:  # a coroutine: viser calls it in the order of the messages
            if self._preset_to_frame(client):
                self._submit(lambda: self._frame_again(client))

        client.camera.on_update(moved)
        if self._preset_to_frame(client):
            self._submit(lambda: self._frame_again(client))

    def _frame_again(self, client: Any) -> None:
        preset = self._preset_to_frame(client)
        if preset:
            self._set(client, preset)

    def _preset_to_frame(self, client: Any) -> str:
        """The preset that a client uses in a window of another shape; empty if the user has moved the camera."""
        own = client.camera
        row = np.concatenate([own.position, own.look_at, own.up_direction])
        distance = float(np.linalg.norm(row[:3] - row[3:6]))
        tolerance = _SAME_CAMERA * np.repeat([distance, distance, 1.0], 3)
        for one in self._framed:
            if (np.abs(one.camera - row) <= tolerance).all():
                return "" if abs(one.shape - _shape(own.aspect)) <= _SAME_SHAPE * one.shape else one.preset
        return ""


def _shape(aspect: float) -> float:
    """What the distance of a camera depends on: wide windows are all alike."""
    return min(1.0, aspect)
