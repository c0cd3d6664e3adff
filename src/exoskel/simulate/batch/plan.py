"""The plan of a rollout: one value that can be divided into parts and sent to workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field, structs

from exoskel.diagnostics import ExoskelError
from exoskel.engines.mujoco.mujoco_world import MujocoWorld
from exoskel.scene.item import UnknownNameError, not_found_message
from exoskel.scene.world import World
from exoskel.simulate.batch.parameters import Variation
from exoskel.simulate.measured_world import MeasuredWorld
from exoskel.simulate.options import numbers
from exoskel.simulate.records import RECORD_KINDS
from exoskel.spatial import Array

if TYPE_CHECKING:
    from exoskel.simulate.batch.worlds import Worlds

Policy = Callable[["Worlds"], Array | None]
RECORDS = ("positions", "velocities", "body_poses", "energy")
"""The records of a motion."""
MEASURED_RECORDS = tuple(RECORD_KINDS)
"""Other values that can be recorded, as in `run`."""
STEP_RECORDS = ("accelerations", "body_accelerations", "reactions")
"""The records that depend on how the next step is computed."""
STATE_RECORDS = frozenset({"positions", "velocities"})
"""The records that follow from MuJoCo's states alone."""
WORLD_RECORDS = frozenset({"body_poses", "energy", "forces", "commands"})
"""The records that are computed for all worlds together."""


class RolloutPlan(Struct):
    """Worlds `first` to `first + count`, for `steps` steps, with a sample after every `stride` of them.

    `positions` and `velocities` are the initial ones, `(worlds, dofs)` or None; `forces` and `commands` are
    `(worlds or 1, steps or 1, dofs)`, `controls` are `(worlds or 1, steps or 1, actuators)`.  The policy is called
    every `hold` steps.  `options` are the engine's.
    """

    world: World
    count: int
    steps: int
    stride: int
    first: int = 0
    seed: int = 0
    threads: int = 0
    vary: dict[str, Any] = field(default_factory=dict)
    positions: Array | None = None
    velocities: Array | None = None
    forces: Array | None = None
    commands: Array | None = None
    controls: Array | None = None
    policy: Policy | None = None
    hold: int = 1
    record: tuple[str, ...] = ("positions", "velocities")
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def cuts(self) -> list[int]:
        """The steps after which samples are taken: 0, every `stride`, and the last."""
        return [*range(0, self.steps, self.stride), self.steps] if self.steps else [0]

    @property
    def samples(self) -> int:
        """The number of cuts, which may be too many to list."""
        return -(-self.steps // self.stride) + 1

    def part(self, first: int, count: int) -> RolloutPlan:
        """The plan of some of the worlds, by their position in this plan."""

        def cut(array: Array | None) -> Array | None:
            return array if array is None or len(array) == 1 else array[first : first + count]

        return structs.replace(
            self,
            first=self.first + first,
            count=count,
            positions=cut(self.positions),
            velocities=cut(self.velocities),
            forces=cut(self.forces),
            commands=cut(self.commands),
            controls=cut(self.controls),
        )

    def shapes(self, engine: MujocoWorld) -> dict[str, tuple[int, ...]]:
        """The shapes of the recorded arrays, by name."""
        whole: dict[str, tuple[int, ...]] = {
            "positions": (engine.coordinates.count,),
            "velocities": (engine.coordinates.count,),
            "body_poses": (len(engine.bodies), 7),
            "energy": (2,),
        }
        measured = [name for name in self.record if name in RECORD_KINDS]
        if measured:
            simulation = MeasuredWorld.around(engine.world, engine, "mujoco")
            whole |= {name: RECORD_KINDS[name].shape(simulation) for name in measured}
        return {name: (self.count, self.samples, *whole[name]) for name in self.record}

    def columns(self, engine: MujocoWorld) -> dict[str, list[str]]:
        """The names of the columns of the records that are measured."""
        measured = [name for name in self.record if name in RECORD_KINDS]
        simulation = MeasuredWorld.around(engine.world, engine, "mujoco")
        return {name: RECORD_KINDS[name].columns(simulation) for name in measured}

    def compile(self) -> MujocoWorld:
        return MujocoWorld(self.world, **self.options)

    def initial_states(self, engine: MujocoWorld, variation: Variation, drawn: dict[str, Array]) -> tuple[Array, Array]:
        """Initial positions and velocities with the drawn values: `(worlds, dofs)`, or one row if all are equal."""
        joints = [j for m in self.world.models for j in m.joints if not j.loop]
        both: list[Array] = []
        for given, name in ((self.positions, "positions"), (self.velocities, "velocities")):
            own = np.array([number for joint in joints for number in getattr(joint, name)], dtype=np.float64)
            rows = np.atleast_2d(own if given is None else given)
            count = self.count if variation.varies_initial_values else len(rows)
            both.append(np.array(np.broadcast_to(rows, (count, len(own)))))
        variation.set_initial_values(drawn, *both)
        return both[0], both[1]


def broadcastable(name: str, values: Any, shape: tuple[int, ...]) -> Array | None:
    """An array that broadcasts to `shape`, with all axes; None for None.  Raises ExoskelError for other shapes."""
    if values is None:
        return None
    array = numbers(name, values)
    array = array.reshape((1,) * (len(shape) - array.ndim) + array.shape)
    if array.ndim != len(shape) or any(have not in (1, want) for have, want in zip(array.shape, shape, strict=True)):
        raise ExoskelError(
            f"{name} of shape {np.shape(values)} do not match {shape}: every axis must have that length, or 1"
        )
    return np.array(np.broadcast_to(array, (*array.shape[:-1], shape[-1])))


def named_controls(values: Any, names: Sequence[str], initial: Array, worlds: int, steps: int) -> Array | None:
    """Controls, `(worlds or 1, steps or 1, actuators)`: an array, or arrays by the names of actuators; None for None.

    Actuators that are not named keep their initial controls.
    """
    if not isinstance(values, Mapping):
        return broadcastable("controls", values, (worlds, steps, len(names)))
    found: dict[str, Array] = {}
    for name, given in values.items():
        if name not in names:
            raise UnknownNameError(not_found_message(str(name), list(names), "actuator", "the world"))
        columns = broadcastable(
            f"controls of {name!r}", numbers(f"controls of {name!r}", given)[..., None], (worlds, steps, 1)
        )
        assert columns is not None
        found[name] = columns[..., 0]
    shape = np.broadcast_shapes((1, 1), *(array.shape for array in found.values()))
    rows = [found.get(name, np.array(own)) for name, own in zip(names, initial.tolist(), strict=True)]
    return np.stack([np.broadcast_to(row, shape) for row in rows], axis=-1) if rows else None
