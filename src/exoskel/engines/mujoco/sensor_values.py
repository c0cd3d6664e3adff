"""The values of the scene's sensors in MuJoCo."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.spatial import Array


class MeasuredSensors:
    """The sensors of one world."""

    compiled: CompiledWorld
    data: Any

    def sensor_values(self) -> dict[str, Array]:
        """The values of all sensors in the present state, by name.

        Forces and accelerations are those that MuJoCo computes for this state.
        """
        world, model = self.compiled.world, self.compiled.model
        if not world.sensors:
            return {}
        mujoco = mujoco_import.load()
        data = copy.copy(self.data)  # the state of the simulation stays as it is
        mujoco.mj_forward(model, data)
        found = {model.sensor(number).name: number for number in range(model.nsensor)}
        starts, sizes = model.sensor_adr.tolist(), model.sensor_dim.tolist()
        return {
            one.name: np.array(data.sensordata[starts[number] : starts[number] + sizes[number]])
            for one in world.sensors
            if (number := found.get(one.name, -1)) >= 0
        }
