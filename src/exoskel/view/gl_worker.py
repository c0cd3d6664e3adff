"""The worker process of the MuJoCo renderer: reads pickled requests from standard input, writes replies.

The environment variable MUJOCO_GL selects the OpenGL system; MuJoCo reads it when it is first imported.
"""

from __future__ import annotations

import os
import pickle
import struct
import sys
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from exoskel.view.gl_model import RenderJob, compile_model, place, set_camera
from exoskel.view.render_scene import PoseRows

IMAGE, FAILED = b"I", b"F"
_HEADER = struct.Struct("<cQ")
_MAX_MESSAGE = 160


# --- replies: a letter, a length, and the content -----------------------------------------------------


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


# --- the worker ---------------------------------------------------------------------------------------


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
