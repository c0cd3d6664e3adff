"""The result of a rollout: the motions of many worlds, as arrays and as Parquet tables.

A table has a row for each world and sample, with the parameters repeated in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError, pluralize
from exoskel.scene.item import UnknownNameError, not_found_message, qualified_name
from exoskel.simulate.batch.plan import MEASURED_RECORDS, RECORDS
from exoskel.simulate.batch.recorder import LazySamples
from exoskel.simulate.coordinate_array import SoftPoints
from exoskel.simulate.records import POINTS, RECORD_KINDS
from exoskel.simulate.trajectory import (
    MAX_BYTES,
    SOFT_POINTS,
    UNITS,
    Record,
    Trajectory,
    check_target,
    column_names,
    largest_content,
    parse_metadata,
    read_npz,
    write_npz,
)
from exoskel.source.atomic_write import open_atomically
from exoskel.source.file_access import open_referenced
from exoskel.spatial import Array

if TYPE_CHECKING:
    import pyarrow

_ROWS_AT_ONCE = 1 << 20
"""The number of table rows that are built at a time."""
_POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
_ENERGY = ("kinetic", "potential")
_PREFIXES = {"positions": "q", "velocities": "v"}


class BatchColumns(Struct):
    """The content of a rollout: the arrays `(worlds, samples, ...)` by name, and what their rows and columns are."""

    numbers: NDArray[np.intp]
    time: Array
    valid_samples: NDArray[np.intp]
    parameter_names: list[str]
    parameters: Array
    body_names: list[str]
    dof_names: list[str]
    arrays: Mapping[str, Array]
    column_names: list[str]
    """Unique names of the degrees of freedom."""
    record_columns: Mapping[str, list[str]]
    """The names of the columns of the records that were measured."""


def _write_parquet(content: BatchColumns, file: BinaryIO, metadata: dict[str, Any]) -> None:
    """Write a table chunk by chunk, so that it may be larger than memory."""
    import pyarrow.parquet

    own = {"units": UNITS, "dofs": content.dof_names, "records": list(content.arrays), **metadata}
    writer: Any = None
    for table in _tables(content):
        labelled = table.replace_schema_metadata({"exoskel": json.dumps(own)})
        writer = writer or pyarrow.parquet.ParquetWriter(file, labelled.schema)
        writer.write_table(labelled)
    writer.close()


def _tables(content: BatchColumns) -> Iterator[pyarrow.Table]:
    import pyarrow

    worlds, samples = len(content.valid_samples), len(content.time)
    count = max(1, _ROWS_AT_ONCE // max(1, samples))
    for first in range(0, worlds, count):
        part = slice(first, min(first + count, worlds))
        rows: dict[str, Any] = {
            "world": np.repeat(content.numbers[part], samples),
            "time": np.tile(content.time, part.stop - part.start),
            "valid": (np.arange(samples) < content.valid_samples[part, None]).ravel(),
        }
        for number, name in enumerate(content.parameter_names):
            rows[name] = np.repeat(content.parameters[part, number], samples)
        for name, array in content.arrays.items():
            labels = _labels(name, content.body_names, content.column_names, content.record_columns)
            flat = array[part].reshape(len(rows["world"]), len(labels))
            rows |= {label: flat[:, number] for number, label in enumerate(labels)}
        yield pyarrow.table(rows)


def _labels(name: str, bodies: list[str], dofs: list[str], columns: Mapping[str, list[str]]) -> list[str]:
    """The column names of a record."""
    if name in columns:
        return [f"{name}:{column}" for column in columns[name]]
    if name == "body_poses":
        return [f"{body}:{part}" for body in bodies for part in _POSE]
    return list(_ENERGY) if name == "energy" else [f"{_PREFIXES[name]}:{dof}" for dof in dofs]


def _read_parquet(file: str) -> dict[str, Any]:
    """The content of a table, with the keys of an `.npz` file.  Raises any exception for an invalid file."""
    import pyarrow.parquet

    with open_referenced(file) as opened:
        content = pyarrow.parquet.ParquetFile(opened)
        cells, most = content.metadata.num_rows * content.metadata.num_columns, largest_content(os.path.getsize(file))
        if cells * 8 > most:
            raise ValueError(f"it has {cells} numbers, {cells * 8} bytes; the limit is {most}")
        if other := next((one for one in content.schema_arrow if not _is_number(one.type)), None):
            # Texts and lists may need any amount of memory.
            raise ValueError(f"the column {other.name!r} has the type {other.type}, not numbers")
        table = content.read()
    meta = parse_metadata((table.schema.metadata or {}).get(b"exoskel", b"null").decode())
    dofs, records, names = (_strings(meta, key) for key in ("dofs", "records", "parameter_names"))
    bodies = [qualified_name(*map(str, pair)) for pair in meta["bodies"]]
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    worlds, samples = _sizes(columns["world"])
    out: dict[str, Any] = {
        "time": columns["time"][:samples],
        "valid_samples": columns["valid"].reshape(worlds, samples).sum(axis=1),
        "body_names": np.array(bodies, dtype=np.str_),
        "dof_names": np.array(dofs, dtype=np.str_),
        "parameter_names": np.array(names, dtype=np.str_),
        "parameters": _stack(columns, names, len(columns["world"]))[::samples],
    }
    for name in records:
        labels = _labels(name, bodies, column_names(dofs, meta), _record_columns(meta))
        shape = _shape(name, len(labels))
        out[name] = _stack(columns, labels, len(columns["world"])).reshape(worlds, samples, *shape)
    rest = {key: value for key, value in meta.items() if key not in ("units", "dofs", "records", "parameter_names")}
    return {**out, "meta": np.array(json.dumps(rest))}


def _shape(name: str, columns: int) -> tuple[int, ...]:
    """The shape of a sample of a record, by its number of columns."""
    kind = RECORD_KINDS.get(name)
    parts = len(_POSE) if name == "body_poses" else len(kind.parts) if kind is not None else 0
    return (columns // parts, parts) if parts else (columns,)


def _record_columns(meta: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names of the columns of the records that were measured.  Raises ValueError if they are not names."""
    found = meta.get("record_columns", {})
    if not isinstance(found, dict) or not set(found) <= set(MEASURED_RECORDS):
        raise ValueError("'record_columns' in its metadata are not records")
    if not all(isinstance(one, list) and all(isinstance(name, str) for name in one) for one in found.values()):
        raise ValueError("'record_columns' in its metadata are not names")
    return found


def _is_number(kind: pyarrow.DataType) -> bool:
    from pyarrow import types

    return bool(types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind))


def _strings(meta: dict[str, Any], key: str) -> list[str]:
    return [str(one) for one in meta[key]]


def _sizes(worlds: Array) -> tuple[int, int]:
    """The number of worlds, and of samples of each."""
    if not len(worlds):
        raise ValueError("the table is empty")
    samples = int(np.argmax(worlds != worlds[0])) or len(worlds)
    return len(worlds) // samples, samples


def _stack(columns: dict[str, Array], labels: list[str], rows: int) -> Array:
    return np.column_stack([columns[label] for label in labels]) if labels else np.empty((rows, 0))


_KEYS = ("time", "body_names", "dof_names", "valid_samples", "parameter_names", "parameters", "meta")
FORMAT = 1


class BatchTrajectory:
    """Samples of the motions of many worlds.

    `time (T)` in s; `positions` and `velocities (W, T, D)` in the scene's coordinates, `body_poses (W, T, B, 7)` in
    the world, `energy (W, T, 2)` in J; None for what was not recorded.  `batch["reactions"]` and similar are the other
    records, `(W, T, …)`.  `parameters` are the values of `vary`, by key.
    `valid_samples (W)` is the number of valid samples of each world: one that diverged repeats its last valid sample.
    """

    def __init__(
        self,
        time: Array,
        body_names: list[str],
        dof_names: list[str],
        arrays: Mapping[str, Array],
        valid_samples: NDArray[np.intp],
        parameters: dict[str, Array] | None = None,
        meta: dict[str, Any] | None = None,
        keep: object = None,
    ) -> None:
        self.time = time
        self.body_names = body_names
        self.dof_names = dof_names
        self.arrays = arrays
        self.valid_samples = valid_samples
        self.parameters = parameters or {}
        self.meta = meta or {}
        self._keep = keep  # keeps temporary files of the arrays alive

    def __len__(self) -> int:
        """The number of worlds."""
        return len(self.valid_samples)

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s, {len(self.time)} samples" if len(self.time) else "empty"
        worlds, dofs = pluralize(len(self), "world"), pluralize(len(self.dof_names), "dof")
        return f"BatchTrajectory({worlds}, {span}, {dofs}, {', '.join(self.arrays)})"

    def __getitem__(self, name: str) -> Array:
        """The values of a record, `(W, T, …)`."""
        if name in self.arrays:
            return self.arrays[name]
        known = ", ".join(self.arrays) or "nothing"
        raise ExoskelError(f"{name!r} was not recorded, but {known}; use rollout(..., record=[{name!r}])")

    def get(
        self,
        name: str,
        *,
        worlds: int | slice | Sequence[int] | None = None,
        samples: int | slice | Sequence[int] | None = None,
        dofs: str | Sequence[str] | None = None,
    ) -> Array:
        """Part of a record: some worlds (by number), samples, and degrees of freedom (by name).

        Without them the record is `(W, T, …)`; a single number or name removes its axis.  Until `positions` and
        `velocities` are read as a whole, only this part is computed: `get("positions", samples=-1)` is the final state
        of all worlds.
        """
        if name not in self.arrays:
            return self[name]  # raises
        rows = self._chosen(worlds, len(self), "world")
        times = self._chosen(samples, len(self.time), "sample")
        numbers = None if dofs is None else self._dof_numbers(name, [dofs] if isinstance(dofs, str) else dofs)
        if isinstance(self.arrays, LazySamples):
            found = self.arrays.select(name, rows, times, numbers)
        else:
            found = self.arrays[name][rows[:, None], times]
            found = found if numbers is None else found[..., numbers]
        found = found[..., 0] if isinstance(dofs, str) else found
        found = found[:, 0] if isinstance(samples, int | np.integer) else found
        return found[0] if isinstance(worlds, int | np.integer) else found

    def _chosen(self, stated: Any, count: int, kind: str) -> NDArray[np.intp]:
        """The rows of worlds or samples."""
        if stated is None or isinstance(stated, slice):
            return np.arange(count)[stated or slice(None)]
        numbers = np.atleast_1d(np.asarray(stated))
        if numbers.ndim != 1 or (numbers.dtype.kind not in "iu" and numbers.size):
            raise ExoskelError(f"{kind}s must be whole numbers, a slice or None, not {stated!r}")
        if kind == "world":
            return np.array([self._row(number) for number in numbers.tolist()], dtype=np.intp)
        for number in numbers.tolist():
            if not -count <= number < count:
                raise ExoskelError(f"unknown {kind} {number}; there are {pluralize(count, kind)}")
        return numbers.astype(np.intp) % count

    def _dof_numbers(self, record: str, names: Sequence[str]) -> NDArray[np.intp]:
        if record not in _PREFIXES:
            raise ExoskelError(f"{record!r} has no degrees of freedom; only {' and '.join(_PREFIXES)} have")
        known = {name: number for number, name in enumerate(self.dof_names)}
        for name in names:
            if name not in known:
                raise UnknownNameError(not_found_message(str(name), self.dof_names, "degree of freedom", "the rollout"))
        return np.array([known[name] for name in names], dtype=np.intp)

    @property
    def positions(self) -> Array | None:
        return self.arrays.get("positions")

    @property
    def velocities(self) -> Array | None:
        return self.arrays.get("velocities")

    @property
    def body_poses(self) -> Array | None:
        return self.arrays.get("body_poses")

    @property
    def energy(self) -> Array | None:
        return self.arrays.get("energy")

    @property
    def soft_points(self) -> SoftPoints:
        """The points of soft bodies, `(W, T, points, 3)`, m, by the name of the body; they have to be recorded."""
        pairs = {qualified_name(*pair): (str(pair[0]), str(pair[1])) for pair in self.meta.get("bodies", [])}
        values, rows = self[POINTS], self._skin_rows()
        bodies = [pairs.get(path, (path, path)) for path in rows]
        return SoftPoints(bodies, [values[:, :, own] for own in rows.values()])

    def _skin_rows(self) -> dict[str, slice]:
        """The rows of each soft body among the recorded points."""
        paths = [column.rpartition("/")[0] for column in self._measured.get(POINTS, [])[::3]]
        return {path: slice(paths.index(path), paths.index(path) + paths.count(path)) for path in dict.fromkeys(paths)}

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The numbers of the worlds: from zero, unless a rollout on a cluster was stopped before all had finished."""
        return np.array(self.meta.get("numbers", range(len(self))), dtype=np.intp)

    @property
    def diverged(self) -> NDArray[np.intp]:
        """The rows of the worlds whose motion diverged; `numbers` has the numbers of these worlds."""
        return np.flatnonzero(self.valid_samples < len(self.time))

    def world(self, number: int) -> Trajectory:
        """The valid part of the motion of one world.  Needs a rollout with `record="all"`."""
        missing = [name for name in RECORDS if name not in self.arrays]
        if missing:
            raise ExoskelError(f"the motion of one world needs {' and '.join(missing)}, which were not recorded")
        row = self._row(number)
        end = int(self.valid_samples[row])
        rows = {name: np.array(self.arrays[name][row, :end]) for name in RECORDS}
        drawn = {key: values[row].tolist() for key, values in self.parameters.items()}
        meta = {key: value for key, value in self.meta.items() if key != "record_columns"}
        meta |= {"world_number": int(self.numbers[row]), "parameters": drawn}
        return Trajectory(
            self.time[:end],
            self.body_names,
            rows["body_poses"],
            self.dof_names,
            rows["positions"],
            rows["velocities"],
            rows["energy"],
            meta,
            self._world_records(row, end),
        )

    def _world_records(self, row: int, end: int) -> dict[str, Record]:
        """The records of one world; a trajectory has the points of each soft body in a record of its own."""
        values = {name: np.array(self.arrays[name][row, :end]) for name in self._measured}
        points = values.pop(POINTS, np.empty(0))
        out = {name: Record(one, self._measured[name]) for name, one in values.items()}
        for path, own in self._skin_rows().items():
            columns = [f"{number}:{axis}" for number in range(own.stop - own.start) for axis in "xyz"]
            out[SOFT_POINTS + path] = Record(points[:, own], columns)
        return out

    @property
    def _measured(self) -> dict[str, list[str]]:
        return _record_columns(self.meta)

    def _row(self, number: Any) -> int:
        """The row of a world by its number; negative numbers count from the end."""
        numbers = self.numbers.tolist()
        if isinstance(number, int | np.integer) and -len(numbers) <= number < 0:
            return int(number) + len(numbers)
        if number not in numbers:
            raise ExoskelError(f"unknown world {number}; there are {len(numbers)} worlds")
        return int(numbers.index(number))

    # --- files ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save it as `.npz` (no pickles) or `.parquet`, by the extension; it may be larger than memory."""
        target = Path(path)
        check_batch_target(target)
        vectors = [key for key, values in self.parameters.items() if values.ndim > 1]
        metadata = {"format": FORMAT, "parameter_names": self.parameter_columns()[0], "vectors": vectors, **self.meta}
        with open_atomically(target) as file:
            if target.suffix.lower() == ".npz":
                self._save_npz(file, metadata)
            else:
                _write_parquet(self._columns(), file, metadata)

    def _save_npz(self, file: BinaryIO, metadata: dict[str, Any]) -> None:
        content: dict[str, Any] = {
            "time": self.time,
            "body_names": np.array(self.body_names, dtype=np.str_),
            "dof_names": np.array(self.dof_names, dtype=np.str_),
            "valid_samples": self.valid_samples,
            "parameter_names": np.array(metadata["parameter_names"], dtype=np.str_),
            "parameters": self.parameter_columns()[1],
            "meta": np.array(json.dumps(metadata)),
            **self.arrays,
        }
        write_npz(file, content)

    def _columns(self) -> BatchColumns:
        names, parameters = self.parameter_columns()
        return BatchColumns(
            self.numbers,
            self.time,
            self.valid_samples,
            names,
            parameters,
            self.body_names,
            self.dof_names,
            self.arrays,
            column_names(self.dof_names, self.meta),
            self._measured,
        )

    def parameter_columns(self) -> tuple[list[str], Array]:
        """Names and values of parameters as columns; a vector has three."""
        names: list[str] = []
        columns: list[Array] = []
        for key, values in self.parameters.items():
            wide = values.ndim > 1
            names += [f"{key}.{axis}" for axis in "xyz"] if wide else [key]
            columns += list(values.T) if wide else [values]
        return names, np.column_stack(columns) if columns else np.empty((len(self), 0))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int | None = None) -> BatchTrajectory:
        """Read an `.npz` or `.parquet` file.  Nothing in it is executed.

        A file with more than `max_bytes` uncompressed (default 16 GiB, or its own size) is an error.
        """
        name = os.fspath(path)
        try:
            if Path(path).suffix.lower() == ".parquet":
                content = _read_parquet(name)
            else:
                most = max_bytes or max(MAX_BYTES, os.path.getsize(path))
                content = read_npz(path, (*_KEYS, *RECORDS, *MEASURED_RECORDS), most)
            return cls._from(content)
        except ExoskelError as error:
            raise ExoskelError(f"{name!r} is not a rollout: {error}") from None
        except Exception as error:  # zipfile, zlib, NumPy, pyarrow and json raise many types for a bad file
            reason = str(error) or type(error).__name__
            raise ExoskelError(f"{name!r} cannot be read as a rollout: {reason}") from None

    @classmethod
    def _from(cls, content: dict[str, Any]) -> BatchTrajectory:
        """A rollout from the content of a file; raises ExoskelError if it is inconsistent."""
        if missing := [key for key in _KEYS if key not in content]:
            raise ExoskelError(f"missing {', '.join(missing)}")
        _check_shapes(content)
        meta = parse_metadata(str(content["meta"]))
        for key in ("format", "parameter_names"):
            meta.pop(key, None)
        vectors = meta.pop("vectors", [])
        names = {key: [str(one) for one in content[key]] for key in _KEYS if key.endswith("_names")}
        parameters = _join_vectors(dict(zip(names["parameter_names"], content["parameters"].T, strict=True)), vectors)
        arrays = {key: content[key] for key in (*RECORDS, *_record_columns(meta)) if key in content}
        valid_samples = content["valid_samples"].astype(np.intp)
        found = cls(content["time"], names["body_names"], names["dof_names"], arrays, valid_samples, parameters, meta)
        if found.numbers.shape != valid_samples.shape:
            raise ExoskelError("the numbers of the worlds do not match their count")
        return found


def _join_vectors(columns: dict[str, Array], vectors: Any) -> dict[str, Array]:
    """Parameters by key, from columns; a vector has three."""
    out: dict[str, Array] = {}
    for name, values in columns.items():
        key = name[:-2] if name[:-2] in vectors else name
        out[key] = values if key == name else np.stack([columns[f"{key}.{axis}"] for axis in "xyz"], axis=-1)
    return out


def _check_shapes(content: Mapping[str, Any]) -> None:
    worlds, samples, dofs = (len(np.atleast_1d(content[key])) for key in ("valid_samples", "time", "dof_names"))
    rows = (worlds, samples)
    wanted = {
        "time": (samples,),
        "valid_samples": (worlds,),
        "parameters": (worlds, len(np.atleast_1d(content["parameter_names"]))),
        "positions": (*rows, dofs),
        "velocities": (*rows, dofs),
        "body_poses": (*rows, len(np.atleast_1d(content["body_names"])), 7),
        "energy": (*rows, 2),
    }
    columns = _record_columns(parse_metadata(str(content["meta"])))
    wanted |= {name: (*rows, *_shape(name, len(names))) for name, names in columns.items()}
    kinds = {"valid_samples": "iu"}
    for key, shape in wanted.items():
        if key in content and (content[key].shape != shape or content[key].dtype.kind not in kinds.get(key, "f")):
            raise ExoskelError(f"{key} has the wrong shape or type")
    if not np.isfinite(content["time"]).all():
        raise ExoskelError("its times are not finite")
    if not ((content["valid_samples"] >= 1) & (content["valid_samples"] <= samples)).all():
        raise ExoskelError("the counts of valid samples are out of range")


def check_batch_target(path: str | os.PathLike[str]) -> None:
    """Raise if a rollout cannot be saved there: a check before a long run."""
    check_target(path, (".npz", ".parquet"), "rollout")
