"""The MuJoCo renderer, for systems that have EGL or OSMesa.

It runs in a child process: a driver that is missing, crashes or hangs raises NoRendererError here.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Mapping
from threading import Lock

import numpy as np

from exoskel.diagnostics import ExoskelError
from exoskel.source.child_process import ChildFailedError, ChildProcess
from exoskel.view.camera import Camera, frame_of
from exoskel.view.gl_model import RenderJob
from exoskel.view.gl_worker import FAILED, receive
from exoskel.view.lighting import LIGHT, Lighting
from exoskel.view.render_scene import VISUAL, PoseRows, RenderScene
from exoskel.view.software_renderer import Image

VARIABLE = "MUJOCO_GL"
_OFF = ("disable", "disabled", "off", "false", "0")
_FRAME_TIMEOUT = 120.0
"""Seconds to wait for one image; a driver that hangs never returns one."""


class NoRendererError(ExoskelError):
    """MuJoCo cannot render on this system."""


def systems(environment: Mapping[str, str]) -> list[str]:
    """The OpenGL systems to try, in order: the one in MUJOCO_GL, or all that need no display."""
    named = environment.get(VARIABLE, "").strip().lower()
    if named in _OFF:
        return []
    if sys.platform != "linux":
        return [named]
    return [named] if named in ("egl", "osmesa") else ["egl", "osmesa"]


class GlRenderer:
    """Renders one scene from one camera, frame by frame; raises NoRendererError.  It must be closed."""

    def __init__(
        self, render_scene: RenderScene, camera: Camera, width: int, height: int, *, lighting: Lighting = LIGHT
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
            lighting=lighting,
            width=width,
            height=height,
        )
        self._lock = Lock()
        self._worker = _start_worker(pickle.dumps(job), pickle.dumps(render_scene.initial.astype(np.float32)))

    def draw(self, poses: PoseRows) -> Image:
        """Render an image, `(height, width, 3)`, with the bodies at poses `(bodies, 7)`."""
        with self._lock:
            content = self._worker.request(pickle.dumps(poses))
        return np.frombuffer(content, dtype=np.uint8).reshape(self.height, self.width, 3)

    def close(self) -> None:
        self._worker.close()


def _start_worker(job: bytes, poses: bytes) -> _Worker:
    """Start a worker and render a first image to check that it works."""
    reasons: list[str] = []
    for system in systems(os.environ):
        worker = _Worker(system)
        try:
            worker.request(job)
            worker.request(poses)
        except NoRendererError as error:
            worker.close()
            reasons.append(f"{system.upper() or 'OpenGL'}: {error}")
        else:
            return worker
    raise NoRendererError("; ".join(reasons) or f"{VARIABLE} disables it")


class _Worker:
    def __init__(self, system: str) -> None:
        self._child = ChildProcess("exoskel.view.gl_worker", {VARIABLE: system} if system else {})

    def request(self, message: bytes) -> bytes:
        """Send a message and return the reply; a failure, including a crash, raises NoRendererError."""
        try:
            kind, content = self._child.request(message, receive, _FRAME_TIMEOUT)
        except ChildFailedError as error:
            raise NoRendererError(str(error)) from None
        if kind == FAILED:
            raise NoRendererError(content.decode("utf-8", "replace"))
        return content

    def close(self) -> None:
        self._child.close()
