"""Rollouts as Parquet tables: a row for each world and sample, parameters repeated in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from exoskel.scene.item import qualified_name
from exoskel.simulate.trajectory import UNITS, column_names, meta_from
from exoskel.spatial import Array

if TYPE_CHECKING:
    import pyarrow

    from exoskel.simulate.batch.trajectory import BatchTrajectory

_ROWS = 1 << 20
"""How many rows of a table are made at once."""
_POSE = ("x", "y", "z", "qw", "qx", "qy", "qz")
_ENERGY = ("kinetic", "potential")
_LETTERS = {"positions": "q", "velocities": "v"}


def write(many: BatchTrajectory, file: BinaryIO, told: dict[str, Any]) -> None:
    """Write it piece by piece, however large; `told` goes into the metadata."""
    import pyarrow.parquet

    meta = {"exoskel": json.dumps({"units": UNITS, "dofs": many.dof_names, "records": list(many.arrays), **told})}
    writer: Any = None
    for table in _tables(many):
        labelled = table.replace_schema_metadata(meta)
        writer = writer or pyarrow.parquet.ParquetWriter(file, labelled.schema)
        writer.write_table(labelled)
    writer.close()


def _tables(many: BatchTrajectory) -> Iterator[pyarrow.Table]:
    import pyarrow

    samples = len(many.time)
    count = max(1, _ROWS // max(1, samples))
    names, columns = many.parameter_columns()
    for first in range(0, len(many), count):
        part = slice(first, min(first + count, len(many)))
        rows: dict[str, Any] = {
            "world": np.repeat(many.numbers[part], samples),
            "time": np.tile(many.time, part.stop - part.start),
            "sound": (np.arange(samples) < many.sound[part, None]).ravel(),
        }
        for number, name in enumerate(names):
            rows[name] = np.repeat(columns[part, number], samples)
        for name, array in many.arrays.items():
            labels = _labels(name, many.body_names, column_names(many.dof_names, many.meta))
            flat = array[part].reshape(len(rows["world"]), len(labels))
            rows |= {label: flat[:, number] for number, label in enumerate(labels)}
        yield pyarrow.table(rows)


def _labels(name: str, bodies: list[str], dofs: list[str]) -> list[str]:
    """What the columns of a record are called."""
    if name == "body_poses":
        return [f"{body}:{part}" for body in bodies for part in _POSE]
    return list(_ENERGY) if name == "energy" else [f"{_LETTERS[name]}:{dof}" for dof in dofs]


def read(file: str) -> dict[str, Any]:
    """The content of a table, by the names it has in an `.npz` file.  Raises whatever is wrong with the file."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(file)
    meta = meta_from((table.schema.metadata or {}).get(b"exoskel", b"null").decode())
    dofs, records, names = (_words(meta, key) for key in ("dofs", "records", "parameter_names"))
    bodies = [qualified_name(*map(str, pair)) for pair in meta["bodies"]]
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    worlds, samples = _sizes(columns["world"])
    out: dict[str, Any] = {
        "time": columns["time"][:samples],
        "sound": columns["sound"].reshape(worlds, samples).sum(axis=1),
        "body_names": np.array(bodies, dtype=np.str_),
        "dof_names": np.array(dofs, dtype=np.str_),
        "parameter_names": np.array(names, dtype=np.str_),
        "parameters": _stack(columns, names, len(columns["world"]))[::samples],
    }
    for name in records:
        labels = _labels(name, bodies, column_names(dofs, meta))
        wide = (len(bodies), 7) if name == "body_poses" else (len(labels),)
        out[name] = _stack(columns, labels, len(columns["world"])).reshape(worlds, samples, *wide)
    told = {key: value for key, value in meta.items() if key not in ("units", "dofs", "records", "parameter_names")}
    return {**out, "meta": np.array(json.dumps(told))}


def _words(meta: dict[str, Any], key: str) -> list[str]:
    return [str(word) for word in meta[key]]


def _sizes(worlds: Array) -> tuple[int, int]:
    """How many worlds there are, and samples of each."""
    if not len(worlds):
        raise ValueError("it is empty")
    samples = int(np.argmax(worlds != worlds[0])) or len(worlds)
    return len(worlds) // samples, samples


def _stack(columns: dict[str, Array], labels: list[str], rows: int) -> Array:
    return np.column_stack([columns[label] for label in labels]) if labels else np.empty((rows, 0))
