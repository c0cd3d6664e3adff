"""Converts MuJoCo's coordinates to the scene's on the device: see `formats.mjcf.model.rotational_joints`."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoints
from exoskel.spatial import Array


class MujocoStateRecorder:
    """Records MuJoCo's states without conversion."""

    def __init__(self, warp: Any, data: Any) -> None:
        self._warp = warp
        self.widths: tuple[int, int] = int(data.qpos.shape[1]), int(data.qvel.shape[1])

    def prepare(self, arrays: list[Any]) -> None:
        """Do nothing: no value is the same in all samples."""

    def record(self, data: Any, arrays: list[Any], number: int) -> None:
        """Write the sample of that number into arrays `(worlds, samples, width)`."""
        for target, source in zip(arrays, (data.qpos, data.qvel), strict=True):
            self._warp.copy(target[:, number], source)


class WarpStateConverter:
    """Records the scene's positions and velocities, of worlds without `inner` joints: see `can_convert`."""

    def __init__(self, warp: Any, coordinates: Coordinates) -> None:
        self._warp = warp
        self._single = [_ints(warp, one) for one in (coordinates.scene, coordinates.qpos, coordinates.qvel)]
        self._balls = [_constants(warp, group) for group in coordinates.rotational if group.kind == "ball"]
        self._free = [_constants(warp, group) for group in coordinates.rotational if group.kind == "free"]
        self._static = coordinates.static
        self.widths: tuple[int, int] = (coordinates.count, coordinates.count)

    def prepare(self, arrays: list[Any]) -> None:
        """Write the values that are the same in all samples."""
        for number, one in enumerate(arrays):
            one.zero_()
            for index, *values in self._static:
                one[:, :, index].fill_(values[number])

    def record(self, data: Any, arrays: list[Any], number: int) -> None:
        """Write the sample of that number into arrays `(worlds, samples, width)`."""
        from exoskel.engines.mujoco import warp_kernels as kernels

        arguments = [data.qpos, data.qvel, *arrays, number]
        if len(self._single[0]):
            self._launch(kernels.convert_single, data, self._single, arguments)
        for group in self._balls:
            self._launch(kernels.convert_balls, data, group[:4], arguments)
        for group in self._free:
            self._launch(kernels.convert_free, data, group, arguments)

    def _launch(self, kernel: Any, data: Any, group: list[Any], arguments: list[Any]) -> None:
        self._warp.launch(kernel, dim=(data.nworld, len(group[0])), inputs=[*group, *arguments])


def can_convert(coordinates: Coordinates) -> bool:
    """Whether the device can convert all joints of a world."""
    return all(group.kind in ("ball", "free") for group in coordinates.rotational)


def _constants(warp: Any, group: RotationalJoints) -> list[Any]:
    """Addresses and frames of joints: the first coordinates of the scene and of MuJoCo, joint frame, zero pose."""
    firsts = [_ints(warp, one[:, 0]) for one in (group.scene, group.qpos, group.qvel)]
    rotations = [_floats(warp, one, warp.mat33) for one in (group.rotation, group.zero[:, :3, :3])]
    positions = [_floats(warp, one, warp.vec3) for one in (group.frame[:, :3, 3], group.zero[:, :3, 3])]
    return [*firsts, *rotations, *positions]


def _ints(warp: Any, values: Any) -> Any:
    return warp.array(np.ascontiguousarray(values, dtype=np.int32), dtype=int)


def _floats(warp: Any, values: Array, kind: Any) -> Any:
    return warp.array(np.ascontiguousarray(values, dtype=np.float32), dtype=kind)
