"""From MuJoCo's coordinates to the scene's, on the device: the formulas of `mjcf.rotational_joints`."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel.formats.mjcf.model.coordinates import Coordinates
from exoskel.formats.mjcf.model.rotational_joints import RotationalJoints
from exoskel.spatial import Array


class States:
    """Keeps MuJoCo's states as they are."""

    def __init__(self, warp: Any, data: Any) -> None:
        self._warp = warp
        self.widths: tuple[int, int] = int(data.qpos.shape[1]), int(data.qvel.shape[1])

    def prepare(self, kept: list[Any]) -> None:
        """Nothing is the same in all samples."""

    def record(self, data: Any, kept: list[Any], number: int) -> None:
        """Write the sample of that number, `(worlds, samples, width)`."""
        for target, source in zip(kept, (data.qpos, data.qvel), strict=True):
            self._warp.copy(target[:, number], source)


class WarpStateConverter:
    """Keeps the scene's positions and velocities.  Joints of the kind `inner` are not known here: see `can_turn`."""

    def __init__(self, warp: Any, coordinates: Coordinates) -> None:
        self._warp = warp
        self._plain = [_ints(warp, one) for one in (coordinates.scene, coordinates.qpos, coordinates.qvel)]
        self._balls = [_constants(warp, group) for group in coordinates.rotational if group.kind == "ball"]
        self._free = [_constants(warp, group) for group in coordinates.rotational if group.kind == "free"]
        self._static = coordinates.static
        self.widths: tuple[int, int] = (coordinates.count, coordinates.count)

    def prepare(self, kept: list[Any]) -> None:
        """Write what is the same in all samples."""
        for number, one in enumerate(kept):
            one.zero_()
            for index, value in self._static if number == 0 else ():
                one[:, :, index].fill_(value)

    def record(self, data: Any, kept: list[Any], number: int) -> None:
        """Write the sample of that number, `(worlds, samples, width)`."""
        from exoskel.engines.mujoco import warp_kernels as kernels

        ends = [data.qpos, data.qvel, *kept, number]
        if len(self._plain[0]):
            self._launch(kernels.turn_plain, data, self._plain, ends)
        for group in self._balls:
            self._launch(kernels.turn_balls, data, group[:4], ends)
        for group in self._free:
            self._launch(kernels.turn_free, data, group, ends)

    def _launch(self, kernel: Any, data: Any, group: list[Any], ends: list[Any]) -> None:
        self._warp.launch(kernel, dim=(data.nworld, len(group[0])), inputs=[*group, *ends])


def can_turn(coordinates: Coordinates) -> bool:
    """Whether the device knows all kinds of joints that a world has."""
    return all(group.kind in ("ball", "free") for group in coordinates.rotational)


def _constants(warp: Any, group: RotationalJoints) -> list[Any]:
    """Places and frames of some joints: where ours and MuJoCo's coordinates begin, the joint frame, the zero pose."""
    firsts = [_ints(warp, one[:, 0]) for one in (group.scene, group.qpos, group.qvel)]
    turns = [_floats(warp, one, warp.mat33) for one in (group.rotation, group.zero[:, :3, :3])]
    places = [_floats(warp, one, warp.vec3) for one in (group.frame[:, :3, 3], group.zero[:, :3, 3])]
    return [*firsts, *turns, *places]


def _ints(warp: Any, values: Any) -> Any:
    return warp.array(np.ascontiguousarray(values, dtype=np.int32), dtype=int)


def _floats(warp: Any, values: Array, kind: Any) -> Any:
    return warp.array(np.ascontiguousarray(values, dtype=np.float32), dtype=kind)
