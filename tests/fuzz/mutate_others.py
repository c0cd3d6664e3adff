"""Mutations of inputs that are not XML: archives of arrays, and PyBrain comments."""

from __future__ import annotations

import io
import random
import zipfile
import zlib

import numpy as np

from tests.fuzz.mutate import NUMBERS, scramble_bytes

_TABLES = (
    "{}", '{"format": 1}', '{"format": 2}', '{"dof_pairs": 5}', '{"dof_pairs": [["m", "j"]]}', '{"dof_pairs": [[1]]}',
    '{"dof_pairs": [["m", "j"], ["n", "j"]]}', '{"bodies": {}}', '{"summary": []}', '{"a": NaN}', '{"format": 1e999}',
)  # fmt: skip
_TEXTS = ("", "[]", "null", "5", "[" * 2000, "é\u202e")
_KINDS = ("f8", "f4", "f2", "i8", "u1", "?", "U1", "U9", "S3", "c16", "V4", ">f8", "m8[s]")
_NAMES = (
    "time",
    "body_names",
    "body_poses",
    "dof_names",
    "positions",
    "velocities",
    "energy",
    "meta",
    "extra",
    "a/b",
    "..",
)


def archive(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """An archive of arrays with one to three changes in its entries; now and then in its bytes."""
    if rng.random() < 0.04:
        return scramble_bytes(data, rng)
    try:
        entries = _entries(data)
    except Exception:  # an archive that is broken already stays so
        return scramble_bytes(data, rng)
    if rng.random() < 0.8:  # start from a valid file
        _change_sizes(entries, rng, other)
        _change_metadata(entries, rng, other)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        rng.choice(_CHANGES)(entries, rng, other)
    return _pack(entries, rng)


def _entries(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return {name: opened.read(name) for name in opened.namelist()[:20]}


def _pack(entries: dict[str, bytes], rng: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as made:
        for name, content in entries.items():
            made.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _dump(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def _load_array(content: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def _change_numbers(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    """Change numbers in an array without changing its shape, so that the file remains a trajectory."""
    name = rng.choice([*entries] or ["time"])
    try:
        array = _load_array(entries[name]).copy()
        if array.dtype.kind == "f" and array.size:
            number = rng.choice((0.0, -1.0, 1e308, np.nan, np.inf, 5e-324, rng.gauss(0, 9)))
            with np.errstate(all="ignore"):
                array.flat[rng.randrange(array.size)] = number
        elif array.dtype.kind == "U" and array.size:
            array = np.array([rng.choice(("", "m/b", "j", "x" * 50, "\x1b[1m")) for _ in range(array.size)])
            array = array.reshape(_load_array(entries[name]).shape)
    except Exception:
        return
    entries[name] = _dump(array)


def _change_sizes(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    """Change the number of samples, bodies and coordinates consistently in all arrays."""
    samples, bodies, dofs = rng.choice((0, 1, 2, 5)), rng.choice((0, 1, 3)), rng.choice((0, 1, 2))
    kind = rng.choice(("f8", "f8", "f4", ">f8"))
    shapes = {"body_poses": (samples, bodies, 7), "energy": (samples, 2), "time": (samples,)}
    shapes |= {"positions": (samples, dofs), "velocities": (samples, dofs)}
    for name, shape in shapes.items():
        entries[f"{name}.npy"] = _dump(np.full(shape, rng.gauss(0.0, 1.0)).astype(kind))
    if samples and rng.random() < 0.7:
        entries["time.npy"] = _dump(np.arange(samples, dtype="f8"))
    entries["body_names.npy"] = _dump(np.array([f"m/{i}" for i in range(bodies)], dtype=np.str_))
    same = rng.random() < 0.3
    entries["dof_names.npy"] = _dump(np.array(["j" if same else f"j{i}" for i in range(dofs)], dtype=np.str_))


def _change_metadata(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    texts = _TABLES if rng.random() < 0.9 else _TEXTS
    entries["meta.npy"] = _dump(np.array(rng.choice(texts), dtype=np.str_))


def _change_type(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    shape = tuple(rng.choice((0, 1, 2, 3, 7)) for _ in range(rng.choice((0, 1, 1, 2, 3))))
    entries[f"{rng.choice(_NAMES)}.npy"] = _dump(np.zeros(shape, dtype=rng.choice(_KINDS)))


def _remove_entry(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    if entries:
        del entries[rng.choice([*entries])]


def _import_entry(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    try:
        found = _entries(other)
    except Exception:
        return
    if found:
        name = rng.choice([*found])
        entries[name] = found[name]


def _corrupt_entry(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    """Change the bytes of an entry, including its header."""
    if entries:
        name = rng.choice([*entries])
        entries[name] = rng.choice(
            (scramble_bytes(entries[name], rng), entries[name][: rng.randrange(200)], zlib.compress(b""))
        )


_CHANGES = (
    *(_change_numbers,) * 6,
    *(_change_sizes,) * 6,
    *(_change_metadata,) * 3,
    _change_type,
    _remove_entry,
    _import_entry,
    _corrupt_entry,
)


_LINES = (
    "<passpairs>", "<affixToEnvironment>", "<colors>", "<centerOn>", "<end>", "<odd>", "('a', 'b')", "['a']", "[]", "[1]",
    "('a', (1, 0.5, 0))", "('a', (1, 0.5, 0, 0.2))", "('a', (1, 0.5, 0, 0.2, 3))", "('a', (1e400, 0, 0))", "('a', ('x', 1, 2))",
    "body", "(", "{}", "-1", "1" * 400, "('a', (" + "9" * 400 + ", 0, 0))", "b'x'", "None", "[" * 300, "1+2j", "('a', (True, 1j, 0))",
    "x" * 10_001, "f''", "'\\N{DIGIT ONE}'", "'\\x'", "{[]}", "\x00", "\u202e", "  ", "-'a'", "('a', 'b')[0]",
)  # fmt: skip


def comment(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """Move, duplicate, remove and insert lines; change numbers and single characters."""
    lines = data.decode("utf-8", "replace").splitlines()[:60] or [""]
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(lines))
        chance = rng.random()
        if chance < 0.4:
            lines.insert(at, rng.choice(_LINES))
        elif chance < 0.55:
            lines[at] = rng.choice(lines)
        elif chance < 0.65 and len(lines) > 1:
            del lines[at]
        elif chance < 0.8:
            other_lines = other.decode("utf-8", "replace").splitlines() or [""]
            lines.insert(at, rng.choice(other_lines))
        elif chance < 0.9:
            lines[at] += rng.choice(NUMBERS).decode("utf-8")
        else:
            lines[at] = scramble_bytes(lines[at].encode(), rng).decode("utf-8", "replace")
    return "\n".join(lines).encode("utf-8", "replace")
