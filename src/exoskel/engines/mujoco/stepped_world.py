"""The steps of one world where MuJoCo's own differ from DART's: what takes them is created when it is first used."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from exoskel.engines.mujoco.commanded_worlds import CommandedWorlds
from exoskel.engines.mujoco.impulse_step import ImpulseStep
from exoskel.engines.mujoco.limit_guard import LimitGuard
from exoskel.engines.mujoco.servo_forces import JointValues
from exoskel.engines.mujoco.step_model import StepModel, has_only_limits, needs_impulse_step
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.scene.edit_tracking import CLOCK, no_edits
from exoskel.scene.world import World
from exoskel.spatial import Array, Indices


class SteppedWorld(CommandedWorlds):
    """One compiled world, with what takes its steps.

    That reads the scene, and takes as long to create as a fifth of a world with limits.  It is created for the first
    step, or before the scene is edited: the motion is that of the scene as it was compiled.
    """

    def __init__(self, compiled: CompiledWorld, limits: bool | None, integrator: str) -> None:
        super().__init__(compiled, (), has_impulse_steps=False)
        self.model: Any = compiled.model
        self._mujoco = mujoco_import.load()
        self._new_data: Any
        """MuJoCo's data before their first use."""
        self._limits, self._has_default_integrator = limits, integrator.lower() == "discrete"
        self._joint_values: JointValues | None = None
        """Springs, dampers and friction, if they are not those of the scene."""

    @cached_property
    def body_ids(self) -> Indices:
        """MuJoCo's numbers of the scene's bodies, in state order."""
        return self.compiled.body_ids

    @cached_property
    def _numbers(self) -> dict[int, int]:
        """The numbers of bodies in state order, by id."""
        return {id(body): number for number, body in enumerate(self.compiled.layout.bodies)}

    @cached_property
    def data(self) -> Any:
        """MuJoCo's data.  What depends on the initial state is computed for their first use."""
        data = self._new_data
        self._forward(data)
        del self._new_data
        return data

    @cached_property
    def qpos(self) -> Array:  # type: ignore[override]
        return np.asarray(self.data.qpos)

    @cached_property
    def qvel(self) -> Array:  # type: ignore[override]
        return np.asarray(self.data.qvel)

    @cached_property
    def _applied(self) -> Array:  # type: ignore[override]
        return np.asarray(self.data.qfrc_applied)

    @cached_property
    def _wrenches(self) -> Array:  # type: ignore[override]
        return np.asarray(self.data.xfrc_applied)

    def _forward(self, data: Any) -> None:
        try:
            self._mujoco.mj_forward(self.model, data)
        except self._mujoco.FatalError as error:
            raise mujoco_import.stop_error(error) from None

    def use_impulse_steps(self, world: World) -> None:
        """Step as in DART if MuJoCo's own steps differ for `world`: this one, or one with other values of joints."""
        if not (self._has_default_integrator and needs_impulse_step(world, self._limits)):
            return
        if not self._has_impulse_steps:
            self._has_impulse_steps = True
            self._edges = None  # they are part of its steps
            for name in ("impulse_step", "_step_model"):
                self.__dict__.pop(name, None)
            CLOCK.notify_before_edit(self)
        self._guarded_world = world
        self.__dict__.pop("limit_guard", None)

    @cached_property
    def impulse_step(self) -> ImpulseStep | None:  # type: ignore[override]
        return ImpulseStep(self.compiled, self._limits) if self._has_impulse_steps else None

    @cached_property
    def _step_model(self) -> StepModel | None:
        step = self.impulse_step
        return None if step is None else step.prepare(self.model, self.compiled.stated_friction)

    @cached_property
    def limit_guard(self) -> LimitGuard | None:
        """Lets MuJoCo take the steps in which no limit is reached, if `impulse_step` is needed for limits alone."""
        springs, step = self.compiled.skin_springs, self.impulse_step
        if step is None or (springs is not None and springs.pushes):
            return None
        return LimitGuard(step) if has_only_limits(self._guarded_world, self._limits) else None

    def read_scene(self) -> None:
        """Read what the steps need of the scene, which may change afterwards."""
        with no_edits():
            self.limit_guard, self._step_model  # noqa: B018 - they are computed once

    def use_model(self, model: Any, step_model: StepModel | None, values: JointValues | None) -> None:
        """Continue with another model of the same world, with other parameters."""
        self.model, self._step_model, self._joint_values = model, step_model, values
