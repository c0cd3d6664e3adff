"""The values of the scene's sensors in MuJoCo."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.spatial import Array


class MeasuredSensors:
    """The sensors of one world."""

    compiled: CompiledWorld
    model: Any
    data: Any

    def sensor_values(self) -> dict[str, Array]:
        """The values of all sensors in the present state, by name.

        Forces and accelerations are those that MuJoCo computes for this state.
        """
        if not self._sensor_parts:
            return {}
        mujoco, model, data = mujoco_import.load(), self.model, self._sensor_data
        before = int(model.opt.disableflags)
        mujoco.mj_copyData(data, model, self.data)  # the state of the simulation stays as it is
        try:
            model.opt.disableflags = before & ~int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
            mujoco.mj_forward(model, data)
        except mujoco.FatalError as error:
            raise mujoco_import.stop_error(error) from None
        finally:
            model.opt.disableflags = before
        return {name: np.array(data.sensordata[part]) for name, part in self._sensor_parts.items()}

    @cached_property
    def _sensor_data(self) -> Any:
        return mujoco_import.load().MjData(self.model)

    @cached_property
    def _sensor_parts(self) -> dict[str, slice]:
        """Where the values of each sensor of the scene are."""
        model, known = self.model, {one.name for one in self.compiled.world.sensors}
        rows = zip(range(model.nsensor), model.sensor_adr.tolist(), model.sensor_dim.tolist(), strict=True)
        found = {model.sensor(number).name: slice(start, start + size) for number, start, size in rows}
        return {name: part for name, part in found.items() if name in known}
