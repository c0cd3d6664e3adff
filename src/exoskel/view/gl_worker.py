"""MuJoCo's offscreen renderer in a process of its own: what it is asked comes on standard input, as pickles.

The system that draws is chosen by MUJOCO_GL, which MuJoCo looks at when it is first imported.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from exoskel.view.gl_model import RenderJob, aim, compile_model, place
from exoskel.view.render_scene import PoseRows
from exoskel.view.worker_protocol import FAILED, PICTURE, send

_MOST_SAID = 160


def main() -> None:
    """Answer a job, and then poses with pictures, until there are no more."""
    # Drivers talk on standard output; answers go where they do not.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        artist = _Artist(pickle.load(sys.stdin.buffer))
        send(answers, PICTURE, b"")
        _serve(artist, answers)
    except EOFError:
        pass
    except Exception as error:  # of many kinds, from many systems
        said = (str(error) or type(error).__name__).splitlines()[0]
        send(answers, FAILED, said[:_MOST_SAID].encode())


def _serve(artist: _Artist, answers: BinaryIO) -> None:
    while True:
        send(answers, PICTURE, artist.draw(pickle.load(sys.stdin.buffer)))


class _Artist:
    def __init__(self, job: RenderJob) -> None:
        mujoco = _mujoco()
        self._mujoco, self._job = mujoco, job
        self._model: Any = compile_model(job)
        self._data: Any = mujoco.MjData(self._model)
        most = self._model.ngeom + 100
        self._renderer: Any = mujoco.Renderer(self._model, job.finer * job.height, job.finer * job.width, max_geom=most)

    def draw(self, poses: PoseRows) -> bytes:
        place(self._job, self._data, poses)
        self._mujoco.mj_kinematics(self._model, self._data)
        self._mujoco.mj_camlight(self._model, self._data)
        self._renderer.update_scene(self._data)
        scene = self._renderer.scene
        aim(self._job, scene)
        flags = self._mujoco.mjtRndFlag
        scene.flags[flags.mjRND_FOG], scene.flags[flags.mjRND_HAZE] = 1, 0
        return _averaged(self._renderer.render(), self._job.finer).tobytes()


def _mujoco() -> Any:
    try:
        import mujoco
    except Exception:  # what a missing library raises there depends on the library
        raise RuntimeError("not on this system") from None
    return mujoco


def _averaged(pixels: NDArray[np.uint8], finer: int) -> NDArray[np.uint8]:
    parts = [pixels[row::finer, column::finer].astype(np.uint16) for row in range(finer) for column in range(finer)]
    mean: NDArray[np.uint8] = ((sum(parts[1:], parts[0]) + finer**2 // 2) // finer**2).astype(np.uint8)
    return mean


if __name__ == "__main__":
    main()
