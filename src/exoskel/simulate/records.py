"""The values that a run records besides the motion: forces, accelerations, joint reactions, contacts, sensors."""

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
from exoskel.scene.joint import Joint
from exoskel.scene.model import Model
from exoskel.scene.soft_skin import soft_skin
from exoskel.simulate.measured_world import MeasuredWorld
from exoskel.simulate.trajectory import SOFT_POINTS, ContactRecord, Record
from exoskel.spatial import Array

Sensor = Callable[[Any], ArrayLike]
"""A function of a simulation that returns a number or some numbers."""


class Measurements:
    """The measurements of one moment; what several records need is computed once."""

    def __init__(self, simulation: MeasuredWorld) -> None:
        self.simulation = simulation

    @cached_property
    def dynamics(self) -> StepDynamics:
        return self.simulation.step_dynamics()

    @cached_property
    def reactions(self) -> Array:
        """Forces and torques of all joints about their origins."""
        joints = [joint for joint in self.simulation.world.joints() if _has_reaction(joint)]
        found = [self.simulation.reaction_from(self.dynamics, joint) for joint in joints]
        return np.array([[*one.force, *one.torque] for one in found]).reshape(-1, 6)


def _has_reaction(joint: Joint) -> bool:
    return joint.kind != "amotor"


class RecordKind(Struct, frozen=True):
    """A record: the names of its rows, the parts of a row (none for single numbers), and how it is measured."""

    names: Callable[[MeasuredWorld], list[str]]
    parts: tuple[str, ...]
    measure: Callable[[Measurements], Any]

    def columns(self, simulation: MeasuredWorld) -> list[str]:
        names = self.names(simulation)
        return [f"{name}:{part}" for name in names for part in self.parts] if self.parts else names

    def shape(self, simulation: MeasuredWorld) -> tuple[int, ...]:
        """The shape of a sample."""
        return self.row_shape(len(self.names(simulation)))

    def row_shape(self, rows: int) -> tuple[int, ...]:
        return (rows, len(self.parts)) if self.parts else (rows,)


def _dofs(simulation: MeasuredWorld) -> list[str]:
    return simulation.dof_names


def _bodies(simulation: MeasuredWorld) -> list[str]:
    return [qualified_name(*pair) for pair in simulation.bodies]


def _joints(simulation: MeasuredWorld) -> list[str]:
    return [qualified_name(m.name, j.name) for m in simulation.world.models for j in m.joints if _has_reaction(j)]


def _models(simulation: MeasuredWorld) -> list[str]:
    return [qualified_name(model.name) for model in _with_mass(simulation)]


def _with_mass(simulation: MeasuredWorld) -> list[Model]:
    return [model for model in simulation.world.models if model.bodies and model.mass > 0.0]


def _points(simulation: MeasuredWorld) -> list[str]:
    soft = [(model.name, body) for model in simulation.world.models for body in model.bodies]
    skins = [(qualified_name(model, body.name), soft_skin(body.soft)) for model, body in soft if body.soft is not None]
    return [f"{name}/{number}" for name, skin in skins for number in range(len(skin))]


def _model_rows(sample: Measurements, *fields: str) -> Array:
    handles = [sample.simulation.model(model.name) for model in _with_mass(sample.simulation)]
    return np.array([np.concatenate([getattr(one, field) for field in fields]) for one in handles])


_AXES = ("x", "y", "z")
_TWIST = ("wx", "wy", "wz", "vx", "vy", "vz")
_NONE = np.empty((0, 3))
CONTACTS = "contacts"
POINTS = "soft_points"
"""The points of soft bodies; `run` records them anyway, one record for each body."""
RECORD_KINDS: dict[str, RecordKind] = {
    "forces": RecordKind(_dofs, (), lambda sample: sample.simulation.forces),
    "commands": RecordKind(_dofs, (), lambda sample: sample.simulation.commands),
    "accelerations": RecordKind(_dofs, (), lambda sample: sample.dynamics.accelerations),
    "body_velocities": RecordKind(_bodies, _TWIST, lambda sample: sample.simulation.body_velocities),
    "body_accelerations": RecordKind(_bodies, _TWIST, lambda sample: sample.dynamics.body_accelerations),
    "reactions": RecordKind(_joints, ("fx", "fy", "fz", "tx", "ty", "tz"), lambda sample: sample.reactions),
    "com": RecordKind(_models, _AXES, lambda sample: _model_rows(sample, "com")),
    "momentum": RecordKind(
        _models,
        ("px", "py", "pz", "lx", "ly", "lz"),
        lambda sample: _model_rows(sample, "momentum", "angular_momentum"),
    ),
    POINTS: RecordKind(_points, _AXES, lambda sample: np.concatenate([*sample.simulation.soft_points.values(), _NONE])),
}
RECORDS = (*RECORD_KINDS, CONTACTS)
"""What `run` can record by name."""


class SampleRecorder:
    """Collects the records and sensors of a run, sample by sample."""

    def __init__(
        self, simulation: MeasuredWorld, record: str | Sequence[str], sensors: Mapping[str, Sensor] | None
    ) -> None:
        names = _checked_names(record)
        self._simulation = simulation
        self._kinds = {name: RECORD_KINDS[name] for name in names if name not in (CONTACTS, POINTS)}
        if POINTS in names:
            _ = simulation.soft_points  # raises an error if the engine does not report them
        self._sensors = _checked_sensors(sensors)
        self._rows: dict[str, list[Array]] = {name: [] for name in (*self._kinds, *self._sensors)}
        self._contacts: list[list[Contact]] | None = [] if CONTACTS in names else None
        records_skins = bool(simulation.soft_bodies) and simulation.engine.soft_points is not None
        self._soft_points: list[list[Array]] | None = [] if records_skins else None

    def take(self) -> None:
        """Measure the present state."""
        if self._soft_points is not None:
            self._soft_points.append([points.copy() for points in self._simulation.engine.soft_points or ()])
        if not self._rows and self._contacts is None:
            return
        sample = Measurements(self._simulation)
        for name, kind in self._kinds.items():
            self._rows[name].append(np.array(kind.measure(sample), dtype=np.float64))
        for name, sensor in self._sensors.items():
            self._rows[name].append(self._reading(name, sensor))
        if self._contacts is not None:
            self._contacts.append(self._simulation.contacts)

    def _reading(self, name: str, sensor: Sensor) -> Array:
        value = sensor(self._simulation)
        try:
            if value is None:
                raise TypeError
            row = np.array(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
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
            out[name] = Record(values.reshape(len(values), *kind.shape(self._simulation)), columns)
        return out | self._skins(count)

    def _skins(self, count: int) -> dict[str, Record]:
        """The points of each soft body."""
        samples = (self._soft_points or [])[:count]
        out: dict[str, Record] = {}
        for number, names in enumerate(self._simulation.soft_bodies if samples else ()):
            values = np.array([points[number] for points in samples])
            columns = [f"{point}:{axis}" for point in range(values.shape[1]) for axis in _AXES]
            out[SOFT_POINTS + qualified_name(*names)] = Record(values, columns)
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
