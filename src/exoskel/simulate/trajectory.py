"""The result of a run: times, poses, coordinates and energies."""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel import display_hooks, spatial
from exoskel.diagnostics import ExoskelError, pluralize
from exoskel.engines.interface import Contact
from exoskel.scene.item import UnknownNameError, not_found_message, qualified_name
from exoskel.scene.world import Scene
from exoskel.simulate.coordinate_array import SoftPoints
from exoskel.source.atomic_write import check_writable, open_atomically
from exoskel.source.file_access import open_referenced
from exoskel.source.file_lookup import lower_first
from exoskel.spatial import Array, Indices

if TYPE_CHECKING:
    import pandas

_KEYS = ("time", "body_names", "body_poses", "dof_names", "positions", "velocities", "energy", "meta")
FORMAT = 1
MAX_BYTES = 16 * 2**30


SOFT_POINTS = "soft_points:"
"""The names of records of the points of soft bodies begin with this, followed by `model/body`."""


class Record(Struct, frozen=True, eq=False):
    """Values that were recorded at each sample, `(T, …)`, and the names of their columns in tables."""

    values: Array
    columns: list[str]

    def __repr__(self) -> str:
        return f"Record(shape={self.values.shape})"


class ContactRecord(Struct, frozen=True, eq=False):
    """The contacts of all samples: one row per contact, with its `sample` number and the fields of `Contact`.

    `bodies` are numbers of bodies in `body_names`, -1 for the world.
    """

    body_names: list[str]
    sample: Indices
    bodies: Indices
    position: Array
    normal: Array
    depth: Array
    force: Array

    def __repr__(self) -> str:
        bodies = pluralize(len(self.pairs()), "pair")
        return f"ContactRecord({pluralize(len(self.sample), 'contact')}, {bodies} of bodies)"

    @classmethod
    def of(cls, samples: Sequence[Sequence[Contact]], body_names: list[str]) -> ContactRecord:
        """The record of the contacts of each sample."""
        numbers = {name: number for number, name in enumerate(body_names)}
        rows = [(number, contact) for number, contacts in enumerate(samples) for contact in contacts]
        return cls(
            body_names,
            sample=np.array([number for number, _ in rows], dtype=np.intp),
            bodies=np.array([[numbers.get(n, -1) for n in c.bodies] for _, c in rows], dtype=np.intp).reshape(-1, 2),
            position=np.array([c.position for _, c in rows]).reshape(-1, 3),
            normal=np.array([c.normal for _, c in rows]).reshape(-1, 3),
            depth=np.array([c.depth for _, c in rows], dtype=np.float64),
            force=np.array([c.force for _, c in rows]).reshape(-1, 3),
        )

    def at(self, sample: int) -> list[Contact]:
        """The contacts of a sample."""
        names = [*self.body_names, "world"]
        return [
            Contact(
                (names[self.bodies[i, 0]], names[self.bodies[i, 1]]),
                self.position[i],
                self.normal[i],
                float(self.depth[i]),
                self.force[i],
            )
            for i in np.flatnonzero(self.sample == sample).tolist()
        ]

    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of bodies that touch in some sample, in the order of their numbers."""
        names = [*self.body_names, "world"]
        found = sorted({(min(a, b), max(a, b)) for a, b in self.bodies.tolist()})
        return [(names[a], names[b]) for a, b in found]

    def forces(self, first: str, second: str, samples: int) -> Array:
        """The sum of the contact forces of one body on another at each sample, `(samples, 3)`, N."""
        names = [*self.body_names, "world"]
        out = np.zeros((samples, 3))
        for pair, sign in (((first, second), 1.0), ((second, first), -1.0)):
            one, other = (names.index(name) if name != "world" else -1 for name in pair)
            which = (self.bodies == (one, other)).all(axis=1)
            np.add.at(out, self.sample[which], sign * self.force[which])
        return out


_CONTACT_FIELDS = ("sample", "bodies", "position", "normal", "depth", "force")


class Trajectory:
    """Samples of a motion.

    `time (T)` in s; `body_poses (T, B, 7)` as x y z qw qx qy qz in the world, m; `positions` and `velocities
    (T, D)` in the scene's coordinates; `energy (T, 2)`, kinetic and potential, in J.  `meta` is metadata,
    with the `[model, body]` pairs of the names `model/body`, and `diagnostics`: what the engine does differently from
    the scene.  `records` has what was recorded besides, by name; `trajectory["forces"]` are the values of a record.
    `contacts` are the contacts of all samples, if they were recorded.  `soft_points` are the points of soft bodies,
    `(T, points, 3)`, m, by the name of the body.
    """

    def __init__(
        self,
        time: Array,
        body_names: list[str],
        body_poses: Array,
        dof_names: list[str],
        positions: Array,
        velocities: Array,
        energy: Array,
        meta: dict[str, Any] | None = None,
        records: Mapping[str, Record] | None = None,
        contacts: ContactRecord | None = None,
    ) -> None:
        self.time = time
        self.body_names = body_names
        self.body_poses = body_poses
        self.dof_names = dof_names
        self.positions = positions
        self.velocities = velocities
        self.energy = energy
        self.meta = meta or {}
        self.records: dict[str, Record] = dict(records or {})
        self.contacts = contacts
        self.scene: Scene | None = None
        """The scene that moves, after a run; files do not store it."""

    def _repr_html_(self) -> str:
        """The ranges of the coordinates and the viewer's page, if the viewer is installed, for notebooks."""
        rows = [
            (name, *(f"{value:.4g}" for value in (column[0], column.min(), column.max(), column[-1])))
            for name, column in zip(self.dof_names, self.positions.T, strict=True)
            if len(column)
        ]
        table = display_hooks.html_table(repr(self), ("position", "first", "least", "greatest", "last"), rows)
        return (display_hooks.render_html(self) or "") + table

    def __len__(self) -> int:
        return len(self.time)

    @property
    def soft_points(self) -> SoftPoints:
        """The points of soft bodies at each sample, `(T, points, 3)`, m, by the name of the body."""
        pairs = {qualified_name(*pair): (str(pair[0]), str(pair[1])) for pair in self.meta.get("bodies", [])}
        found = {name.removeprefix(SOFT_POINTS): name for name in self.records if name.startswith(SOFT_POINTS)}
        bodies = [pairs.get(path, (path, path)) for path in found]
        return SoftPoints(bodies, [self.records[name].values for name in found.values()])

    def __getitem__(self, name: str) -> Array:
        """The values of a record, `(T, …)`."""
        if name in self.records:
            return self.records[name].values
        known = ", ".join(self.records) or "nothing"
        raise ExoskelError(f"{name!r} was not recorded, but {known}; use run(..., record=[{name!r}])")

    def contact_force(self, first: str, second: str) -> Array:
        """The contact force of one body on another, by name or as `model/body`, at each sample, `(T, 3)`, N."""
        if self.contacts is None:
            raise ExoskelError('contacts were not recorded; use run(..., record=["contacts"])')
        return self.contacts.forces(self._body_path(first), self._body_path(second), len(self))

    def _body_path(self, name: str) -> str:
        """The path of a body, which may be given by its name if no other model has one of that name."""
        if name in self.body_names or name == "world":
            return name
        same = [path for path in self.body_names if path.rpartition("/")[2] == name]
        if len(same) > 1:
            raise UnknownNameError(
                f"{len(same)} models have a body called {name!r}; use {' or '.join(map(repr, same))}"
            )
        if not same:
            raise UnknownNameError(not_found_message(name, [*self.body_names, "world"], "body", "the trajectory"))
        return same[0]

    def __repr__(self) -> str:
        span = f"{self.time[0]:g} to {self.time[-1]:g} s" if len(self) else "empty"
        samples, dofs = pluralize(len(self), "sample"), pluralize(len(self.dof_names), "dof")
        return f"Trajectory({span}, {samples}, {pluralize(len(self.body_names), 'body', 'bodies')}, {dofs})"

    # --- files ----------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save it as `.npz` (no pickles), `.csv` or `.parquet`, by the extension."""
        target = Path(path)
        check_target(target)
        writers = {".npz": self._save_npz, ".csv": self._save_csv, ".parquet": self._save_parquet}
        with open_atomically(target) as file:
            writers[target.suffix.lower()](file)

    def _save_csv(self, file: BinaryIO) -> None:
        columns = self.columns()
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([_escape_formula(name) for name in columns])
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
        text.flush()
        text.detach()

    def _save_npz(self, file: BinaryIO) -> None:
        content = {
            "time": self.time,
            "body_names": np.array(self.body_names, dtype=np.str_),
            "body_poses": self.body_poses,
            "dof_names": np.array(self.dof_names, dtype=np.str_),
            "positions": self.positions,
            "velocities": self.velocities,
            "energy": self.energy,
            "meta": np.array(json.dumps({"format": FORMAT, **self.meta, **self._record_metadata()})),
        }
        content |= {f"record_{number}": record.values for number, record in enumerate(self.records.values())}
        if self.contacts is not None:
            content |= {f"contact_{name}": getattr(self.contacts, name) for name in _CONTACT_FIELDS}
        write_npz(file, content, zipfile.ZIP_DEFLATED)

    def _record_metadata(self) -> dict[str, Any]:
        """The names and columns of records, for files that have any."""
        described = [{"name": name, "columns": record.columns} for name, record in self.records.items()]
        return {"records": described} if described else {}

    def _save_parquet(self, file: BinaryIO) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise ExoskelError("parquet files need pyarrow: pip install 'exoskel[arrow]'") from None
        table = pyarrow.Table.from_pandas(self.to_pandas(), preserve_index=False)
        metadata = {"exoskel": json.dumps({"format": FORMAT, "units": UNITS, "dofs": self.dof_names, **self.meta})}
        pyarrow.parquet.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **metadata}), file)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Trajectory:
        """Read an `.npz` file of at most `max_bytes` uncompressed.  Nothing in it is executed."""
        try:
            arrays = read_npz(path, _KEYS, max_bytes)
            missing = [key for key in _KEYS if key not in arrays]
            if missing:
                raise ExoskelError(f"{os.fspath(path)!r} is not a trajectory: missing {', '.join(missing)}")
            _check_shapes(arrays, os.fspath(path))
            meta = _check_metadata(parse_metadata(str(arrays["meta"])), os.fspath(path))
            records, contacts = _read_records(path, meta, arrays, max_bytes)
            return cls(
                arrays["time"],
                [str(name) for name in arrays["body_names"]],
                arrays["body_poses"],
                [str(name) for name in arrays["dof_names"]],
                arrays["positions"],
                arrays["velocities"],
                arrays["energy"],
                meta,
                records,
                contacts,
            )
        except ExoskelError:
            raise
        except Exception as error:  # zipfile, zlib, NumPy and json raise many types for a bad file
            reason = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
            if isinstance(error, zipfile.BadZipFile):
                reason = f"expected an .npz file ({lower_first(reason)})"
            raise ExoskelError(f"{os.fspath(path)!r} cannot be read as a trajectory: {lower_first(reason)}") from None

    def to_pandas(self) -> pandas.DataFrame:
        """A table with a row for each sample: see `columns`."""
        try:
            import pandas
        except ImportError:
            raise ExoskelError("tables need pandas: pip install 'exoskel[arrow]'") from None
        return pandas.DataFrame(self.columns())

    def columns(self) -> dict[str, Array]:
        """The motion as table columns, one number for each sample.

        These are time, coordinates, energies, poses by body, records, and the contact forces of each pair of bodies
        that touch.
        """
        columns: dict[str, Array] = {"time": self.time}
        for i, name in enumerate(column_names(self.dof_names, self.meta)):
            columns[f"q:{name}"] = self.positions[:, i]
            columns[f"v:{name}"] = self.velocities[:, i]
        columns |= {"kinetic": self.energy[:, 0], "potential": self.energy[:, 1]}
        for i, name in enumerate(self.body_names):
            for k, part in enumerate(("x", "y", "z", "qw", "qx", "qy", "qz")):
                columns[f"{name}:{part}"] = self.body_poses[:, i, k]
        for name, record in self.records.items():
            rows = record.values.reshape(len(self), len(record.columns))
            columns |= {f"{name}:{c}" if c else name: rows[:, i] for i, c in enumerate(record.columns)}
        if self.contacts is not None:
            columns["contacts"] = np.bincount(self.contacts.sample, minlength=len(self)).astype(np.float64)
            for first, second in self.contacts.pairs():
                forces = self.contacts.forces(first, second, len(self))
                columns |= {f"contact:{first}:{second}:f{axis}": forces[:, k] for k, axis in enumerate("xyz")}
        return columns

    # --- resampling -----------------------------------------------------------------------------------

    def resample(self, step: float) -> Trajectory:
        """The motion at times `step` s apart, interpolated linearly; rotations along the shorter arc.

        Records are interpolated, too.  Contacts are omitted.
        """
        if not (step > 0.0 and np.isfinite(step)):
            raise ExoskelError(f"the step must be positive and finite, not {step}")
        if len(self) < 2:
            return self
        times = self._even_times(step)
        before = np.clip(np.searchsorted(self.time, times, side="right") - 1, 0, len(self) - 2)
        span = self.time[before + 1] - self.time[before]
        share = np.clip((times - self.time[before]) / np.where(span > 0.0, span, 1.0), 0.0, 1.0)

        def between(values: Array) -> Array:
            weight = share.reshape(-1, *([1] * (values.ndim - 1)))
            out: Array = values[before] * (1.0 - weight) + values[before + 1] * weight
            return out

        positions = between(self.positions)
        jumps = np.abs(self.positions[before + 1] - self.positions[before]) > np.pi
        nearest = np.where(share < 0.5, before, before + 1)
        # A rotation vector jumps by a full turn; values in between are not on the path.
        positions = np.where(jumps, self.positions[nearest], positions)
        poses = between(self.body_poses)
        one, two = self.body_poses[before, :, 3:], self.body_poses[before + 1, :, 3:]
        flipped = np.where(np.sum(one * two, axis=-1, keepdims=True) < 0.0, -two, two)
        weight = share[:, None, None]
        poses[..., 3:] = spatial.unit(one * (1.0 - weight) + flipped * weight)
        return Trajectory(
            times,
            self.body_names,
            poses,
            self.dof_names,
            positions,
            between(self.velocities),
            between(self.energy),
            self.meta,
            {name: Record(between(one.values), one.columns) for name, one in self.records.items()},
        )

    def _even_times(self, step: float) -> Array:
        first, last = float(self.time[0]), float(self.time[-1])
        row = 8 * (3 + 2 * len(self.dof_names) + 7 * len(self.body_names))
        if not abs(last - first) / step * row < MAX_BYTES:  # also if a time is not a number
            raise ExoskelError(f"too many steps of {step:g} s from {first:g} to {last:g} s for the memory")
        times = np.arange(first, last + 1e-9 * step, step)
        return times if len(times) else self.time[:1]  # steps below the precision of the times


EXTENSIONS = (".npz", ".csv", ".parquet")


def check_target(
    path: str | os.PathLike[str], extensions: Sequence[str] = EXTENSIONS, what: str = "trajectory"
) -> None:
    """Raise if a trajectory cannot be saved there: a check before a long run."""
    target = Path(path)
    if target.suffix.lower() not in extensions:
        extension = repr(target.suffix) if target.suffix else "a file without an extension"
        known = f"{', '.join(extensions[:-1])} or {extensions[-1]}"
        raise ExoskelError(f"cannot save a {what} as {extension}; use {known}")
    check_writable(target)
    needed = {".parquet": ("pandas", "pyarrow")}.get(target.suffix.lower(), ())
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise ExoskelError(f"{target.suffix} files need {' and '.join(missing)}: pip install 'exoskel[arrow]'")


def write_npz(file: BinaryIO, arrays: Mapping[str, Any], compression: int = zipfile.ZIP_STORED) -> None:
    """Like `np.savez`, but closes the file when the disk is full: some NumPy versions leave that to the collector."""
    with zipfile.ZipFile(file, "w", compression, allowZip64=True) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)


def column_names(dof_names: list[str], meta: Mapping[str, Any]) -> list[str]:
    """Unique names of coordinates: with the model's name in front if two models have the same."""
    if len(set(dof_names)) == len(dof_names):
        return dof_names
    match meta.get("dof_pairs"):
        case list(pairs) if len(pairs) == len(dof_names) and all(map(_is_pair, pairs)):
            return [f"{model}/{name}" for model, name in pairs]
        case _:  # a file may contain anything there
            return [f"{i}/{name}" for i, name in enumerate(dof_names)]


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def _escape_formula(text: str) -> str:
    """A cell of a table; spreadsheets would evaluate a name that begins like a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text


_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""How NumPy writes arrays; others compress a gigabyte to a few bytes."""
_SMALL = 256 * 2**20
_LARGEST_RATIO = 100
"""A file may have 256 MiB uncompressed, or a hundred times its own size, if that is more."""
_LARGEST_TEXT = 64 * 2**20
"""The limit for names and metadata, in bytes: a parsed text needs much more memory than its bytes."""


def largest_content(size: int) -> int:
    """The number of uncompressed bytes that a file of this size may have."""
    return max(_SMALL, _LARGEST_RATIO * size)


def read_npz(path: str | os.PathLike[str], keys: Sequence[str], limit: int) -> dict[str, Any]:
    """The arrays of a file that has them, in the byte order of this machine.

    Raises ValueError if they need more memory than allowed, or claim more bytes than the file has.
    """
    with open_referenced(path) as file, zipfile.ZipFile(file) as archive:
        _check_sizes(archive, min(limit, largest_content(os.fstat(file.fileno()).st_size)))
        names = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        return {key: _read_array(archive, names[key]) for key in keys if key in names}


def _check_sizes(archive: zipfile.ZipFile, limit: int) -> None:
    """Check what all entries declare before any of them is read."""
    entries = archive.infolist()
    odd = [entry for entry in entries if entry.compress_type not in _COMPRESSIONS]
    if odd:
        raise ValueError(f"{odd[0].filename!r} is compressed in a way that NumPy does not use")
    if (total := sum(entry.file_size for entry in entries)) > limit:
        raise ValueError(f"it has {total} bytes uncompressed; the limit is {limit}")
    for entry in entries:
        shape, kind = _read_header(archive, entry)
        # Elements without any bytes count too: there may be any number of them.
        if min(shape, default=0) < 0 or prod(shape) * max(kind.itemsize, 1) > entry.file_size:
            raise ValueError(f"{entry.filename!r} claims to be larger than it is")
        if kind.kind == "U" and entry.file_size > _LARGEST_TEXT:
            raise ValueError(f"{entry.filename!r} has {entry.file_size} bytes of text; the limit is {_LARGEST_TEXT}")


def _read_header(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> tuple[tuple[int, ...], np.dtype[Any]]:
    with archive.open(entry) as file:
        try:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, kind = read(file)
        except Exception:  # NumPy evaluates the header as a literal and raises many types
            raise ValueError(f"{entry.filename!r} is not an array") from None
    if kind.hasobject:
        raise ValueError(f"{entry.filename!r} contains Python objects, which are not loaded")
    return shape, kind


def _read_array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> NDArray[Any]:
    with archive.open(entry) as file:
        array = np.lib.format.read_array(file, allow_pickle=False)
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:  # no other program reads these
        return array.astype(np.float64)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _is_pair(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2


def parse_metadata(text: str) -> dict[str, Any]:
    """Metadata from JSON; raises ValueError if it is not an object."""
    try:
        meta = json.loads(text)
    except (ValueError, RecursionError):
        meta = None
    if not isinstance(meta, dict):
        raise ValueError("its metadata is not a JSON object")
    return meta


def _check_shapes(data: Mapping[str, Array], name: str) -> None:
    samples, bodies, dofs = (len(np.atleast_1d(data[key])) for key in ("time", "body_names", "dof_names"))
    wanted = {
        "time": (samples,),
        "body_poses": (samples, bodies, 7),
        "positions": (samples, dofs),
        "velocities": (samples, dofs),
        "energy": (samples, 2),
    }
    wrong = [key for key, shape in wanted.items() if data[key].shape != shape or data[key].dtype.kind != "f"]
    texts = {"body_names": 1, "dof_names": 1, "meta": 0}
    wrong += [key for key, depth in texts.items() if data[key].ndim != depth or data[key].dtype.kind != "U"]
    if wrong:
        raise ExoskelError(f"{name!r} is not a trajectory: {wrong[0]} has the wrong shape or type")
    if not np.isfinite(data["time"]).all():
        raise ExoskelError(f"{name!r} is not a trajectory: its times are not finite")
    if (np.diff(data["time"]) < 0.0).any():
        raise ExoskelError(f"{name!r} is not a trajectory: its times decrease")


def _read_records(
    path: str | os.PathLike[str], meta: dict[str, Any], arrays: Mapping[str, Any], limit: int
) -> tuple[dict[str, Record], ContactRecord | None]:
    """The records and contacts of a file, which `meta` and `arrays` were read from."""
    samples, name = len(arrays["time"]), os.fspath(path)
    described = meta.pop("records", [])
    if not isinstance(described, list) or not all(_is_record(one) for one in described):
        raise ExoskelError(f"{name!r} is not a trajectory: 'records' in its metadata are not names and columns")
    keys = [f"record_{number}" for number in range(len(described))]
    contact_keys = [f"contact_{field}" for field in _CONTACT_FIELDS]
    found = read_npz(path, [*keys, *contact_keys], limit)
    records: dict[str, Record] = {}
    for key, one in zip(keys, described, strict=True):
        values = found.get(key)
        size = (samples, len(one["columns"]))
        if values is None or values.dtype.kind != "f" or (values.shape[:1], values.size) != ((samples,), prod(size)):
            raise ExoskelError(f"{name!r} is not a trajectory: the record {one['name']!r} has the wrong shape or type")
        records[one["name"]] = Record(values, one["columns"])
    if not any(key in found for key in contact_keys):
        return records, None
    bodies = [str(body) for body in arrays["body_names"]]
    contacts = _contacts_from([found.get(key) for key in contact_keys], bodies, samples)
    if contacts is None:
        raise ExoskelError(f"{name!r} is not a trajectory: its contacts have the wrong shape or type")
    return records, contacts


def _is_record(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("name"), str)
        and isinstance(value.get("columns"), list)
        and all(isinstance(column, str) for column in value["columns"])
    )


def _contacts_from(arrays: Sequence[Any], bodies: list[str], samples: int) -> ContactRecord | None:
    """The contacts in arrays of a file; None if these do not belong together."""
    if any(one is None for one in arrays):
        return None
    count = len(np.atleast_1d(arrays[0]))
    shapes = [(count,), (count, 2), (count, 3), (count, 3), (count,), (count, 3)]
    kinds = ("iu", "iu", "f", "f", "f", "f")
    if any(
        one.shape != shape or one.dtype.kind not in kind for one, shape, kind in zip(arrays, shapes, kinds, strict=True)
    ):
        return None
    sample, pairs = arrays[0].astype(np.intp), arrays[1].astype(np.intp)
    is_valid = ((sample >= 0) & (sample < samples)).all() and ((pairs >= -1) & (pairs < len(bodies))).all()
    return ContactRecord(bodies, sample, pairs, *arrays[2:]) if is_valid else None


_TEXTS = ("engine", "world")


def _check_metadata(meta: dict[str, Any], name: str) -> dict[str, Any]:
    """The metadata; raises ExoskelError if a value that is shown is not text."""
    for key in _TEXTS:
        if not isinstance(meta.get(key, ""), str):
            raise ExoskelError(f"{name!r} is not a trajectory: {key!r} in its metadata is not text")
    gravity = meta.get("gravity", [0.0, 0.0, 0.0])
    if not (isinstance(gravity, list) and len(gravity) == 3 and all(type(part) in (int, float) for part in gravity)):
        raise ExoskelError(f"{name!r} is not a trajectory: 'gravity' in its metadata is not three numbers")
    bodies = meta.get("bodies", [])
    if not isinstance(bodies, list) or not all(
        _is_pair(one) and all(type(part) is str for part in one) for one in bodies
    ):
        raise ExoskelError(f"{name!r} is not a trajectory: 'bodies' in its metadata are not pairs of names")
    return meta


UNITS = {
    "time": "s",
    "position": "rad or m",
    "velocity": "rad/s or m/s",
    "energy": "J",
    "pose": "m and quaternion w x y z",
    "force": "N or N·m",
    "acceleration": "rad/s² or m/s²",
}
