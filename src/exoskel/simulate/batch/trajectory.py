"""What a rollout leaves behind: the motions of many worlds."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.simulate.batch.plan import RECORDS
from exoskel.simulate.trajectory import UNITS, Trajectory, check_target
from exoskel.source.writing import replacing
from exoskel.spatial import Array

if TYPE_CHECKING:
    import pyarrow

_KEYS = ("time", "body_names", "dof_names", "sound", "parameter_names", "meta")
_ROWS = 1 << 20
"""How many rows of a table are made at once."""
FORMAT = 1


class BatchTrajectory:
    """Samples of the motions of many worlds.

    `time (T)` in s; of what was recorded, `positions` and `velocities (W, T, D)` in the scene's coordinates,
    `body_poses (W, T, B, 7)` in the world, `energy (W, T, 2)` in J, and None for the rest.  `parameters` are what
    `vary` gave the worlds, by key.  `sound (W)` is how many samples of a world are sound: one that exploded keeps its
    last sound sample from then on.
    """

    def __init__(
        self,
        time: Array,
        body_names: list[str],
        dof_names: list[str],
        arrays: dict[str, Array],
        sound: NDArray[np.intp],
        parameters: dict[str, Array] | None = None,
        meta: dict[str, Any] | None = None,
        keep: object = None,
    ) -> None:
        self.time = time
        self.body_names = body_names
        self.dof_names = dof_names
        self.arrays = arrays
        self.sound = sound
        self.parameters = parameters or {}
        self.meta = meta or {}
        self._keep = keep  # files that the arrays lie in

    def __len__(self) -> int:
        """How many worlds there are."""
        return len(self.sound)

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s, {len(self.time)} samples" if len(self.time) else "empty"
        return f"BatchTrajectory({len(self)} worlds, {span}, {len(self.dof_names)} dofs, {', '.join(self.arrays)})"

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
    def diverged(self) -> NDArray[np.intp]:
        """The worlds whose motion exploded."""
        return np.flatnonzero(self.sound < len(self.time))

    def world(self, number: int) -> Trajectory:
        """The motion of one world, as far as it is sound.  Everything has to have been recorded."""
        missing = [name for name in RECORDS if name not in self.arrays]
        if missing:
            raise ExoskelError(f"the motion of one world needs {' and '.join(missing)}, which were not recorded")
        if not -len(self) <= number < len(self):
            raise ExoskelError(f"there is no world {number}; there are {len(self)}")
        end = int(self.sound[number])
        rows = {name: np.array(self.arrays[name][number, :end]) for name in RECORDS}
        drawn = {key: values[number].tolist() for key, values in self.parameters.items()}
        meta = {**self.meta, "world_number": number % len(self), "parameters": drawn}
        return Trajectory(time=self.time[:end], body_names=self.body_names, dof_names=self.dof_names, meta=meta, **rows)

    # --- files ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as `.npz` (no pickles) or `.parquet`, by the ending; piece by piece, however large."""
        target = Path(path)
        check_batch_target(target)
        try:
            if target.suffix.lower() == ".npz":
                self._save_npz(target)
            else:
                self._save_parquet(target)
        except OSError as error:
            raise ExoskelError(f"the rollout cannot be written: {error}") from None

    def _save_npz(self, target: Path) -> None:
        names, columns = self._parameter_columns()
        content: dict[str, Any] = {
            "time": self.time,
            "body_names": np.array(self.body_names, dtype=np.str_),
            "dof_names": np.array(self.dof_names, dtype=np.str_),
            "sound": self.sound,
            "parameter_names": np.array(names, dtype=np.str_),
            "parameters": columns,
            "meta": np.array(json.dumps({"format": FORMAT, **self.meta})),
            **self.arrays,
        }
        with replacing(target) as file:
            np.savez(file, **content)

    def _parameter_columns(self) -> tuple[list[str], Array]:
        """Names and values of parameters, a column each; of a vector, three."""
        names: list[str] = []
        columns: list[Array] = []
        for key, values in self.parameters.items():
            wide = values.ndim > 1
            names += [f"{key}.{axis}" for axis in "xyz"] if wide else [key]
            columns += list(values.T) if wide else [values]
        return names, np.column_stack(columns) if columns else np.empty((len(self), 0))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> BatchTrajectory:
        """Read an `.npz` file.  Nothing in it is ever executed."""
        name = os.fspath(path)
        try:
            with np.load(path, allow_pickle=False) as data:
                missing = [key for key in _KEYS if key not in data]
                if missing:
                    raise ExoskelError(f"{name!r} is no rollout: it has no {', '.join(missing)}")
                words = {key: [str(one) for one in data[key]] for key in _KEYS if key.endswith("_names")}
                arrays = {key: data[key] for key in RECORDS if key in data}
                columns, sound, time = data["parameters"], data["sound"], data["time"]
                if any(array.shape[:2] != (len(sound), len(time)) for array in arrays.values()):
                    raise ExoskelError(f"{name!r} is no rollout: its arrays are of different sizes")
                parameters = dict(zip(words["parameter_names"], columns.T, strict=True))
                meta = json.loads(str(data["meta"]))
                return cls(time, words["body_names"], words["dof_names"], arrays, sound, parameters, meta)
        except (OSError, ValueError, EOFError, TypeError, KeyError, zipfile.BadZipFile) as error:
            raise ExoskelError(f"{name!r} cannot be read as a rollout: {error}") from None

    def _save_parquet(self, target: Path) -> None:
        """A row for each world and sample; parameters are repeated in it."""
        import pyarrow.parquet

        told = {"exoskel": json.dumps({"format": FORMAT, "units": UNITS, "dofs": self.dof_names, **self.meta})}
        writer: Any = None
        try:
            for table in self._tables():
                if writer is None:
                    table = table.replace_schema_metadata(told)  # noqa: PLW2901
                    writer = pyarrow.parquet.ParquetWriter(target, table.schema)
                writer.write_table(table.replace_schema_metadata(told))
        finally:
            if writer is not None:
                writer.close()

    def _tables(self) -> Iterator[pyarrow.Table]:
        import pyarrow

        count = max(1, _ROWS // max(1, len(self.time)))
        names, columns = self._parameter_columns()
        for first in range(0, len(self), count):
            part = slice(first, min(first + count, len(self)))
            worlds = np.arange(part.start, part.stop)
            rows: dict[str, Any] = {
                "world": np.repeat(worlds, len(self.time)),
                "time": np.tile(self.time, len(worlds)),
                "sound": (np.arange(len(self.time)) < self.sound[part, None]).ravel(),
            }
            for number, name in enumerate(names):
                rows[name] = np.repeat(columns[part, number], len(self.time))
            rows |= self._columns(part)
            yield pyarrow.table(rows)

    def _columns(self, part: slice) -> dict[str, Array]:
        out: dict[str, Array] = {}
        for letter, name in (("q", "positions"), ("v", "velocities")):
            if name in self.arrays:
                flat = self.arrays[name][part].reshape(-1, len(self.dof_names))
                out |= {f"{letter}:{dof}": flat[:, i] for i, dof in enumerate(self._columns_of_dofs())}
        if "energy" in self.arrays:
            flat = self.arrays["energy"][part].reshape(-1, 2)
            out |= {"kinetic": flat[:, 0], "potential": flat[:, 1]}
        if "body_poses" in self.arrays:
            poses = self.arrays["body_poses"][part].reshape(-1, len(self.body_names), 7)
            for i, body in enumerate(self.body_names):
                for k, word in enumerate(("x", "y", "z", "qw", "qx", "qy", "qz")):
                    out[f"{body}:{word}"] = poses[:, i, k]
        return out

    def _columns_of_dofs(self) -> list[str]:
        if len(set(self.dof_names)) == len(self.dof_names):
            return self.dof_names
        return [f"{model}/{name}" for model, name in self.meta["dof_pairs"]]


def check_batch_target(path: str | os.PathLike[str]) -> None:
    """Raise if a rollout could not be saved there: for asking before a long run."""
    if Path(path).suffix.lower() == ".csv":
        raise ExoskelError("a rollout cannot be saved as '.csv': .npz or .parquet")
    check_target(path)
