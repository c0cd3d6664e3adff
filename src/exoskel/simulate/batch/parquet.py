"""Rollouts as Parquet tables: a row for each world and sample, with the parameters repeated in it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel.scene.item import qualified_name
from exoskel.simulate.trajectory import UNITS, column_names, parse_metadata
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


def write(content: BatchColumns, file: BinaryIO, metadata: dict[str, Any]) -> None:
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
            labels = _labels(name, content.body_names, content.column_names)
            flat = array[part].reshape(len(rows["world"]), len(labels))
            rows |= {label: flat[:, number] for number, label in enumerate(labels)}
        yield pyarrow.table(rows)


def _labels(name: str, bodies: list[str], dofs: list[str]) -> list[str]:
    """The column names of a record."""
    if name == "body_poses":
        return [f"{body}:{part}" for body in bodies for part in _POSE]
    return list(_ENERGY) if name == "energy" else [f"{_PREFIXES[name]}:{dof}" for dof in dofs]


def read(file: str) -> dict[str, Any]:
    """The content of a table, with the keys of an `.npz` file.  Raises any exception for an invalid file."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(file)
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
        labels = _labels(name, bodies, column_names(dofs, meta))
        shape = (len(bodies), 7) if name == "body_poses" else (len(labels),)
        out[name] = _stack(columns, labels, len(columns["world"])).reshape(worlds, samples, *shape)
    rest = {key: value for key, value in meta.items() if key not in ("units", "dofs", "records", "parameter_names")}
    return {**out, "meta": np.array(json.dumps(rest))}


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
