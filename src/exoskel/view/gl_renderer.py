"""Pictures drawn by MuJoCo's offscreen renderer, where the system has EGL or OSMesa.

It runs in a process of its own: a driver that is missing, broken or hangs is a reason to draw otherwise, not a crash.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Mapping
from threading import Lock

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.engines.child_process import ChildFailedError, ChildProcess
from exoskel.view.camera import Camera, frame_of
from exoskel.view.gl_model import RenderJob
from exoskel.view.lighting import LIGHT, Lighting
from exoskel.view.render_scene import VISUAL, PoseRows, RenderScene
from exoskel.view.software_renderer import Image
from exoskel.view.worker_protocol import FAILED, receive

VARIABLE = "MUJOCO_GL"
_OFF = ("disable", "disabled", "off", "false", "0")
_PATIENCE = 120.0
"""Seconds that one picture may take; a driver that hangs never gives one."""


class NoRendererError(ExoskelError):
    """MuJoCo cannot draw here."""


def systems(environment: Mapping[str, str]) -> list[str]:
    """What to try, in order: the one that MUJOCO_GL names, or all that need no display."""
    named = environment.get(VARIABLE, "").strip().lower()
    if named in _OFF:
        return []
    if sys.platform != "linux":
        return [named]
    return [named] if named in ("egl", "osmesa") else ["egl", "osmesa"]


class GlRenderer:
    """Draws one stage from one camera, again and again; raises NoRendererError if it cannot.  To be closed."""

    def __init__(
        self, render_scene: RenderScene, camera: Camera, width: int, height: int, *, look: Lighting = LIGHT
    ) -> None:
        self.width, self.height = width, height
        job = RenderJob(
            batches=[batch for batch in render_scene.batches if batch.role == VISUAL],
            bodies=len(render_scene.bodies),
            frame=frame_of(render_scene.up),
            middle=(render_scene.low + render_scene.high) / 2,
            size=render_scene.size,
            ground=render_scene.ground,
            camera=camera,
            look=look,
            width=width,
            height=height,
        )
        self._lock = Lock()
        self._worker = _started(pickle.dumps(job), pickle.dumps(render_scene.initial.astype(np.float32)))

    def draw(self, poses: PoseRows) -> Image:
        """The picture, `(height, width, 3)`, with the bodies at poses `(bodies, 7)`."""
        with self._lock:
            content = self._worker.ask(pickle.dumps(poses))
        return np.frombuffer(content, dtype=np.uint8).reshape(self.height, self.width, 3)

    def close(self) -> None:
        self._worker.close()


def _started(job: bytes, poses: bytes) -> _Worker:
    """A worker that has drawn its first picture."""
    reasons: list[str] = []
    for system in systems(os.environ):
        worker = _Worker(system)
        try:
            worker.ask(job)
            worker.ask(poses)
        except NoRendererError as error:
            worker.close()
            reasons.append(f"{system.upper() or 'OpenGL'}: {error}")
        else:
            return worker
    raise NoRendererError("; ".join(reasons) or f"{VARIABLE} switches it off")


class _Worker:
    def __init__(self, system: str) -> None:
        self._child = ChildProcess("exoskel.view.gl_worker", {VARIABLE: system} if system else {})

    def ask(self, request: bytes) -> bytes:
        """The answer; a failure, including a crash, raises NoRendererError."""
        try:
            kind, content = self._child.request(request, receive, _PATIENCE)
        except ChildFailedError as error:
            raise NoRendererError(str(error)) from None
        if kind == FAILED:
            raise NoRendererError(content.decode("utf-8", "replace"))
        return content

    def close(self) -> None:
        self._child.close()
