"""The MuJoCo renderer, for systems that have EGL or OSMesa.

It runs in a child process, which reads pickled requests from standard input and writes replies.  A driver that is
missing, crashes or hangs raises NoRendererError here.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from collections.abc import Mapping
from threading import Lock
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.source.child_process import ChildFailedError, ChildProcess
from exoskel.view.camera import Camera, frame_of
from exoskel.view.gl_model import RenderJob, compile_model, place, set_camera
from exoskel.view.lighting import LIGHT, Lighting
from exoskel.view.render_scene import VISUAL, RenderScene
from exoskel.view.skins import PoseRows
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
            skins=render_scene.skins.surfaces,
            rest=render_scene.initial,
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
        """Render an image, `(height, width, 3)`, of a frame."""
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
        self._child = ChildProcess("exoskel.view.gl_renderer", {VARIABLE: system} if system else {})

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


# --- replies: a letter, a length, and the content -----------------------------------------------------

IMAGE, FAILED = b"I", b"F"
_HEADER = struct.Struct("<cQ")
_MAX_MESSAGE = 160


def send(stream: IO[bytes], kind: bytes, content: bytes) -> None:
    stream.write(_HEADER.pack(kind, len(content)))
    stream.write(content)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[bytes, bytes] | None:
    """Read a reply; None if the process has ended."""
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    kind, length = _HEADER.unpack(header)
    content = stream.read(length)
    return (kind, content) if len(content) == length else None


# --- the child process ---------------------------------------------------------------------------------------


def main() -> None:
    """Read a job, then reply to poses with images until the input ends."""
    # Drivers print to standard output, so replies use a copy of it.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        renderer = _OffscreenRenderer(pickle.load(sys.stdin.buffer))
        send(output, IMAGE, b"")
        _serve(renderer, output)
    except EOFError:
        pass
    except Exception as error:  # each OpenGL system raises its own exceptions
        message = (str(error) or type(error).__name__).splitlines()[0]
        send(output, FAILED, message[:_MAX_MESSAGE].encode())


def _serve(renderer: _OffscreenRenderer, output: BinaryIO) -> None:
    while True:
        send(output, IMAGE, renderer.draw(pickle.load(sys.stdin.buffer)))


class _OffscreenRenderer:
    def __init__(self, job: RenderJob) -> None:
        mujoco = _import_mujoco()
        self._mujoco, self._job = mujoco, job
        self._model: Any = compile_model(job)
        self._data: Any = mujoco.MjData(self._model)
        height, width = job.supersampling * job.height, job.supersampling * job.width
        self._renderer: Any = mujoco.Renderer(self._model, height, width, max_geom=self._model.ngeom + 100)

    def draw(self, poses: PoseRows) -> bytes:
        place(self._job, self._data, poses)
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data)
        scene = self._renderer.scene
        set_camera(self._job, scene)
        flags = self._mujoco.mjtRndFlag
        scene.flags[flags.mjRND_FOG], scene.flags[flags.mjRND_HAZE] = 1, 0
        return _downsample(self._renderer.render(), self._job.supersampling).tobytes()


def _import_mujoco() -> Any:
    try:
        import mujoco
    except Exception:  # the exception of a missing OpenGL library depends on the library
        raise RuntimeError("not available on this system") from None
    return mujoco


def _downsample(pixels: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Average blocks of `factor` by `factor` pixels."""
    parts = [pixels[row::factor, column::factor].astype(np.uint16) for row in range(factor) for column in range(factor)]
    mean: NDArray[np.uint8] = ((sum(parts[1:], parts[0]) + factor**2 // 2) // factor**2).astype(np.uint8)
    return mean


if __name__ == "__main__":
    main()
