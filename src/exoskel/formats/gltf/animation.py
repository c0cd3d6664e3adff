"""Motions as animations of glTF: keyframes of translation and rotation for each moving body."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike, NDArray

from exoskel import spatial
from exoskel.formats.gltf.accessors import Buffer, single
from exoskel.formats.gltf.codes import catalogue_error

Singles = NDArray[np.float32]


class Motion(Struct, frozen=True, eq=False):
    """The poses of the bodies of a world over time.

    `times (T)` in s, increasing from zero on; `poses (T, bodies, 7)` as x y z qw qx qy qz, or `(T, bodies, 4, 4)`,
    in world coordinates, with bodies in the world's order.
    """

    times: ArrayLike
    poses: ArrayLike
    name: str = "motion"


class Keyframes:
    """Keyframes in single precision: `times (T)`, `positions (bodies, T, 3)`, `rotations (bodies, T, 4)` as x y z w.

    `skipped` counts the frames whose time equals the one before in single precision.
    """

    def __init__(self, motion: Motion, bodies: int) -> None:
        times = spatial.array(motion.times)
        poses = _rows(spatial.array(motion.poses), len(times))
        if poses.shape[1] != bodies:
            raise catalogue_error("GL103", found=poses.shape[1], wanted=bodies)
        _check(times)
        every = single(times, "a time of the motion")
        is_distinct = np.concatenate([[True], np.diff(every) > 0.0])
        self.skipped = int((~is_distinct).sum())
        self.times: Singles = every[is_distinct]
        distinct = poses if is_distinct.all() else poses[is_distinct]
        self.positions = single(distinct[:, :, :3].transpose(1, 0, 2), "a position of the motion")
        self.rotations = single(
            _make_continuous(distinct[:, :, 3:])[:, :, [1, 2, 3, 0]].transpose(1, 0, 2), "a rotation of the motion"
        )


def _rows(poses: spatial.Array, count: int) -> spatial.Array:
    if poses.ndim == 4 and poses.shape[2:] == (4, 4):
        poses = spatial.pose7(poses)
    if poses.ndim != 3 or poses.shape[2] != 7 or len(poses) != count or not count:
        raise catalogue_error("GL103.shape", shape=f"{poses.shape} at {count} times")
    return poses


def _check(times: spatial.Array) -> None:
    if times.ndim != 1 or not np.isfinite(times).all():
        raise catalogue_error("GL103.times", reason="they are not a one-dimensional array of finite numbers")
    if times[0] < 0.0:
        raise catalogue_error("GL103.times", reason=f"the first is {times[0]:g} s")
    if (np.diff(times) <= 0.0).any():
        raise catalogue_error("GL103.times", reason=f"frame {int(np.argmax(np.diff(times) <= 0.0)) + 1} does not")


def _make_continuous(quaternions: spatial.Array) -> spatial.Array:
    """The same rotations with consistent quaternion signs, so that interpolation takes the shorter arc."""
    unit = spatial.unit(quaternions)
    flips = np.sum(unit[1:] * unit[:-1], axis=-1, keepdims=True) < 0.0
    signs = np.cumprod(np.where(flips, -1.0, 1.0), axis=0)
    unit[1:] *= signs
    return unit


def animation(name: str, keys: Keyframes, nodes: Sequence[int], still: spatial.Array, buffer: Buffer) -> dict[str, Any]:
    """The animation of the bodies with these nodes; empty if none of them moves.

    `still (bodies, 7)` are the poses of the nodes: a body that never leaves them needs no keyframes.
    """
    still_positions = still[:, None, :3].astype(np.float32)
    still_rotations = still[:, None, [4, 5, 6, 3]].astype(np.float32)
    is_translated = (keys.positions != still_positions).any(axis=(1, 2))
    is_rotated = ((keys.rotations != still_rotations).any(axis=(1, 2))) & (
        (keys.rotations != -still_rotations).any(axis=(1, 2))
    )
    if not (is_translated.any() or is_rotated.any()):
        return {}
    times = buffer.add(keys.times, bounds=True)
    samplers: list[dict[str, Any]] = []
    channels: list[dict[str, Any]] = []
    for path, which, values in (
        ("translation", is_translated, keys.positions),
        ("rotation", is_rotated, keys.rotations),
    ):
        bodies = np.flatnonzero(which)
        if not len(bodies):
            continue
        outputs = buffer.add_many(values[bodies])
        for body, output in zip(bodies.tolist(), outputs, strict=True):
            channels.append({"sampler": len(samplers), "target": {"node": nodes[body], "path": path}})
            samplers.append({"input": times, "output": output, "interpolation": "LINEAR"})
    return {"name": name, "channels": channels, "samplers": samplers}
