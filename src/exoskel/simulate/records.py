"""What a run records besides the motion: forces, accelerations, joint reactions, contacts, sensors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import ArrayLike

from exoskel.diagnostics import ExoskelError, closest_name
from exoskel.engines.interface import Contact, StepDynamics
from exoskel.scene.item import qualified_name
from exoskel.simulate.measured_world import MeasuredWorld
from exoskel.simulate.trajectory import ContactRecord, Record
from exoskel.spatial import Array

Sensor = Callable[[Any], ArrayLike]
"""A function of a simulation that returns a number or some numbers."""


class _Measurements:
    """The measurements of one moment; what several records need is computed once."""

    def __init__(self, simulation: MeasuredWorld) -> None:
        self.simulation = simulation

    @cached_property
    def dynamics(self) -> StepDynamics:
        return self.simulation.step_dynamics()

    @cached_property
    def reactions(self) -> Array:
        """Forces and torques of all joints that close no loop, about their origins."""
        found = [self.simulation.reaction_from(self.dynamics, joint) for joint in _tree_joints(self.simulation)]
        return np.array([[*one.force, *one.torque] for one in found]).reshape(-1, 6)


def _tree_joints(simulation: MeasuredWorld) -> list[Any]:
    return [joint for joint in simulation.world.joints() if not joint.loop]


class _RecordKind(Struct, frozen=True):
    """A record: the names of its rows, the parts of a row (none for single numbers), and how it is measured."""

    names: Callable[[MeasuredWorld], list[str]]
    parts: tuple[str, ...]
    measure: Callable[[_Measurements], Any]

    def columns(self, simulation: MeasuredWorld) -> list[str]:
        names = self.names(simulation)
        return [f"{name}:{part}" for name in names for part in self.parts] if self.parts else names


def _dofs(simulation: MeasuredWorld) -> list[str]:
    return simulation.dof_names


def _bodies(simulation: MeasuredWorld) -> list[str]:
    return [qualified_name(*pair) for pair in simulation.bodies]


def _joints(simulation: MeasuredWorld) -> list[str]:
    return [qualified_name(m.name, j.name) for m in simulation.world.models for j in m.joints if not j.loop]


def _models(simulation: MeasuredWorld) -> list[str]:
    return [qualified_name(model.name) for model in _with_mass(simulation)]


def _with_mass(simulation: MeasuredWorld) -> list[Any]:
    return [model for model in simulation.world.models if model.bodies and model.mass > 0.0]


def _model_rows(sample: _Measurements, *fields: str) -> Array:
    handles = [sample.simulation.model(model.name) for model in _with_mass(sample.simulation)]
    return np.array([np.concatenate([getattr(one, field) for field in fields]) for one in handles])


_AXES = ("x", "y", "z")
_TWIST = ("wx", "wy", "wz", "vx", "vy", "vz")
CONTACTS = "contacts"
_KINDS: dict[str, _RecordKind] = {
    "forces": _RecordKind(_dofs, (), lambda sample: sample.simulation.forces),
    "commands": _RecordKind(_dofs, (), lambda sample: sample.simulation.commands),
    "accelerations": _RecordKind(_dofs, (), lambda sample: sample.dynamics.accelerations),
    "body_velocities": _RecordKind(_bodies, _TWIST, lambda sample: sample.simulation.body_velocities),
    "body_accelerations": _RecordKind(_bodies, _TWIST, lambda sample: sample.dynamics.body_accelerations),
    "reactions": _RecordKind(_joints, ("fx", "fy", "fz", "tx", "ty", "tz"), lambda sample: sample.reactions),
    "com": _RecordKind(_models, _AXES, lambda sample: _model_rows(sample, "com")),
    "momentum": _RecordKind(
        _models,
        ("px", "py", "pz", "lx", "ly", "lz"),
        lambda sample: _model_rows(sample, "momentum", "angular_momentum"),
    ),
}
RECORDS = (*_KINDS, CONTACTS)
"""What `run` can record by name."""


class SampleRecorder:
    """Collects the records and sensors of a run, sample by sample."""

    def __init__(
        self, simulation: MeasuredWorld, record: str | Sequence[str], sensors: Mapping[str, Sensor] | None
    ) -> None:
        names = _checked_names(record)
        self._simulation = simulation
        self._kinds = {name: _KINDS[name] for name in names if name != CONTACTS}
        self._sensors = _checked_sensors(sensors)
        self._rows: dict[str, list[Array]] = {name: [] for name in (*self._kinds, *self._sensors)}
        self._contacts: list[list[Contact]] | None = [] if CONTACTS in names else None

    def take(self) -> None:
        """Measure the present state."""
        if not self._rows and self._contacts is None:
            return
        sample = _Measurements(self._simulation)
        for name, kind in self._kinds.items():
            self._rows[name].append(np.array(kind.measure(sample), dtype=np.float64))
        for name, sensor in self._sensors.items():
            self._rows[name].append(self._reading(name, sensor))
        if self._contacts is not None:
            self._contacts.append(self._simulation.contacts)

    def _reading(self, name: str, sensor: Sensor) -> Array:
        value = sensor(self._simulation)
        try:
            row = np.array(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ExoskelError(f"the sensor {name!r} returned {value!r}, but must return numbers") from None
        before = self._rows[name]
        if before and row.shape != before[0].shape:
            raise ExoskelError(f"the sensor {name!r} returned the shape {row.shape} after {before[0].shape}")
        return row

    def records(self, count: int) -> dict[str, Record]:
        """The first `count` samples of all records but contacts."""
        out: dict[str, Record] = {}
        for name, rows in self._rows.items():
            values = np.array(rows[:count])
            kind = self._kinds.get(name)
            if kind is None:
                size = int(np.prod(values.shape[1:], dtype=int))
                out[name] = Record(values, [""] if values.ndim == 1 else [str(i) for i in range(size)])
                continue
            columns = kind.columns(self._simulation)
            shape = (len(values), len(kind.names(self._simulation)), *([len(kind.parts)] if kind.parts else []))
            out[name] = Record(values.reshape(shape), columns)
        return out

    def contacts(self, count: int) -> ContactRecord | None:
        """The contacts of the first `count` samples; None if they are not recorded."""
        if self._contacts is None:
            return None
        return ContactRecord.of(self._contacts[:count], _bodies(self._simulation))


def _checked_names(record: str | Sequence[str]) -> list[str]:
    given = [record] if isinstance(record, str) else list(record) if isinstance(record, Iterable) else [record]
    for name in given:
        if name not in RECORDS:
            near = closest_name(str(name), list(RECORDS))
            hint = f"did you mean {near!r}? Choose" if near else "choose"
            raise ExoskelError(f"cannot record {name!r}; {hint} from {', '.join(RECORDS)}")
    return list(dict.fromkeys(given))


def _checked_sensors(sensors: Mapping[str, Sensor] | None) -> dict[str, Sensor]:
    if sensors is None:
        return {}
    if not isinstance(sensors, Mapping) or not all(isinstance(name, str) for name in sensors):
        raise ExoskelError(f"sensors must be a dict of names and functions, not {sensors!r}")
    for name, sensor in sensors.items():
        if not callable(sensor):
            raise ExoskelError(f"the sensor {name!r} is {sensor!r}, but must be a function of the simulation")
        if name in RECORDS:
            raise ExoskelError(f"the sensor {name!r} has the name of a record; choose another name")
    return dict(sensors)
