"""A motion as an animation: keys of translation and rotation for each body that moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from exoskel import spatial
from exoskel.formats.gltf.binary import Buffer, single
from exoskel.formats.gltf.codes import failure

Singles = NDArray[np.float32]


class Motion(Struct, frozen=True, eq=False):
    """Where the bodies of a world are, over time.

    `times (T)` in s, rising from zero or later; `poses (T, bodies, 7)` as x y z qw qx qy qz, or `(T, bodies, 4, 4)`,
    in the world, with bodies in the world's order.
    """

    times: ArrayLike
    poses: ArrayLike
    name: str = "motion"


class Keys:
    """The keys of a motion in single precision: `times (T)`, `places (bodies, T, 3)`, `turns (bodies, T, 4)`, x y z w.

    `left_out` counts the frames that have, in single precision, the time of the one before.
    """

    def __init__(self, motion: Motion, bodies: int) -> None:
        times = spatial.array(motion.times)
        poses = _rows(spatial.array(motion.poses), len(times))
        if poses.shape[1] != bodies:
            raise failure("GL103", found=poses.shape[1], wanted=bodies)
        _check(times)
        every = single(times, "a time of the motion")
        apart = np.concatenate([[True], np.diff(every) > 0.0])
        self.left_out = int((~apart).sum())
        self.times: Singles = every[apart]
        kept = poses if apart.all() else poses[apart]
        self.places = single(kept[:, :, :3].transpose(1, 0, 2), "a place of the motion")
        self.turns = single(_continuous(kept[:, :, 3:])[:, :, [1, 2, 3, 0]].transpose(1, 0, 2), "a turn of the motion")


def _rows(poses: spatial.Array, count: int) -> spatial.Array:
    if poses.ndim == 4 and poses.shape[2:] == (4, 4):
        poses = spatial.pose7(poses)
    if poses.ndim != 3 or poses.shape[2] != 7 or len(poses) != count or not count:
        raise failure("GL103.shape", shape=f"{poses.shape} at {count} times")
    return poses


def _check(times: spatial.Array) -> None:
    if times.ndim != 1 or not np.isfinite(times).all():
        raise failure("GL103.times", reason="they are not all finite numbers in a row")
    if times[0] < 0.0:
        raise failure("GL103.times", reason=f"the first is {times[0]:g} s")
    if (np.diff(times) <= 0.0).any():
        raise failure("GL103.times", reason=f"that of frame {int(np.argmax(np.diff(times) <= 0.0)) + 1} does not")


def _continuous(quaternions: spatial.Array) -> spatial.Array:
    """The same rotations, each quaternion on the side of the one before: what lies between is the shorter arc."""
    unit = spatial.unit(quaternions)
    flips = np.sum(unit[1:] * unit[:-1], axis=-1, keepdims=True) < 0.0
    signs = np.cumprod(np.where(flips, -1.0, 1.0), axis=0)
    unit[1:] *= signs
    return unit


def animation(name: str, keys: Keys, nodes: Sequence[int], still: spatial.Array, buffer: Buffer) -> dict[str, Any]:
    """The animation of bodies that have these nodes; empty if none of them moves.

    `still (bodies, 7)` are the poses that the nodes have: what never leaves them needs no keys.
    """
    placed = still[:, None, :3].astype(np.float32)
    turned = still[:, None, [4, 5, 6, 3]].astype(np.float32)
    moves = (keys.places != placed).any(axis=(1, 2))
    turns = ((keys.turns != turned).any(axis=(1, 2))) & ((keys.turns != -turned).any(axis=(1, 2)))
    if not (moves.any() or turns.any()):
        return {}
    times = buffer.add(keys.times, bounds=True)
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    for path, which, values in (("translation", moves, keys.places), ("rotation", turns, keys.turns)):
        bodies = np.flatnonzero(which)
        if not len(bodies):
            continue
        outputs = buffer.add_many(values[bodies])
        for body, output in zip(bodies.tolist(), outputs, strict=True):
            channels.append({"sampler": len(samplers), "target": {"node": nodes[body], "path": path}})
            samplers.append({"input": times, "output": output, "interpolation": "LINEAR"})
    return {"name": name, "channels": channels, "samplers": samplers}
