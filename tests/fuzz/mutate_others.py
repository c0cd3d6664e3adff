"""Mutations of what is no XML: archives of arrays, and PyBrain's comments."""

from __future__ import annotations

import io
import random
import zipfile
import zlib

import numpy as np

from tests.fuzz.mutate import NUMBERS, scrambled

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
        return scrambled(data, rng)
    try:
        entries = _entries(data)
    except Exception:  # an archive that is broken already stays so
        return scrambled(data, rng)
    if rng.random() < 0.8:  # from a file that is sound
        _lengthened(entries, rng, other)
        _told(entries, rng, other)
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        rng.choice(_CHANGES)(entries, rng, other)
    return _packed(entries, rng)


def _entries(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        return {name: opened.read(name) for name in opened.namelist()[:20]}


def _packed(entries: dict[str, bytes], rng: random.Random) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as made:
        for name, content in entries.items():
            made.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _dumped(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, allow_pickle=False)
    return file.getvalue()


def _loaded(content: bytes) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)


def _numbers(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    """Other numbers in an array, which keeps its shape: the file stays a trajectory."""
    name = rng.choice([*entries] or ["time"])
    try:
        array = _loaded(entries[name]).copy()
        if array.dtype.kind == "f" and array.size:
            number = rng.choice((0.0, -1.0, 1e308, np.nan, np.inf, 5e-324, rng.gauss(0, 9)))
            with np.errstate(all="ignore"):
                array.flat[rng.randrange(array.size)] = number
        elif array.dtype.kind == "U" and array.size:
            array = np.array([rng.choice(("", "m/b", "j", "x" * 50, "\x1b[1m")) for _ in range(array.size)])
            array = array.reshape(_loaded(entries[name]).shape)
    except Exception:
        return
    entries[name] = _dumped(array)


def _lengthened(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    """Another number of samples, bodies and coordinates, in all arrays alike."""
    samples, bodies, dofs = rng.choice((0, 1, 2, 5)), rng.choice((0, 1, 3)), rng.choice((0, 1, 2))
    kind = rng.choice(("f8", "f8", "f4", ">f8"))
    shapes = {"body_poses": (samples, bodies, 7), "energy": (samples, 2), "time": (samples,)}
    shapes |= {"positions": (samples, dofs), "velocities": (samples, dofs)}
    for name, shape in shapes.items():
        entries[f"{name}.npy"] = _dumped(np.full(shape, rng.gauss(0.0, 1.0)).astype(kind))
    if samples and rng.random() < 0.7:
        entries["time.npy"] = _dumped(np.arange(samples, dtype="f8"))
    entries["body_names.npy"] = _dumped(np.array([f"m/{i}" for i in range(bodies)], dtype=np.str_))
    same = rng.random() < 0.3
    entries["dof_names.npy"] = _dumped(np.array(["j" if same else f"j{i}" for i in range(dofs)], dtype=np.str_))


def _told(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    texts = _TABLES if rng.random() < 0.9 else _TEXTS
    entries["meta.npy"] = _dumped(np.array(rng.choice(texts), dtype=np.str_))


def _retyped(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    shape = tuple(rng.choice((0, 1, 2, 3, 7)) for _ in range(rng.choice((0, 1, 1, 2, 3))))
    entries[f"{rng.choice(_NAMES)}.npy"] = _dumped(np.zeros(shape, dtype=rng.choice(_KINDS)))


def _left_out(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    if entries:
        del entries[rng.choice([*entries])]


def _brought(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    try:
        found = _entries(other)
    except Exception:
        return
    if found:
        name = rng.choice([*found])
        entries[name] = found[name]


def _bent(entries: dict[str, bytes], rng: random.Random, other: bytes) -> None:
    """An entry whose bytes, its header among them, are changed."""
    if entries:
        name = rng.choice([*entries])
        entries[name] = rng.choice(
            (scrambled(entries[name], rng), entries[name][: rng.randrange(200)], zlib.compress(b""))
        )


_CHANGES = (*(_numbers,) * 6, *(_lengthened,) * 6, *(_told,) * 3, _retyped, _left_out, _brought, _bent)


_LINES = (
    "<passpairs>", "<affixToEnvironment>", "<colors>", "<centerOn>", "<end>", "<odd>", "('a', 'b')", "['a']", "[]", "[1]",
    "('a', (1, 0.5, 0))", "('a', (1, 0.5, 0, 0.2))", "('a', (1, 0.5, 0, 0.2, 3))", "('a', (1e400, 0, 0))", "('a', ('x', 1, 2))",
    "body", "(", "{}", "-1", "1" * 400, "('a', (" + "9" * 400 + ", 0, 0))", "b'x'", "None", "[" * 300, "1+2j", "('a', (True, 1j, 0))",
    "x" * 10_001, "f''", "'\\N{DIGIT ONE}'", "'\\x'", "{[]}", "\x00", "\u202e", "  ", "-'a'", "('a', 'b')[0]",
)  # fmt: skip


def comment(data: bytes, rng: random.Random, other: bytes = b"") -> bytes:
    """Lines moved, doubled, taken away and put in; numbers and single characters changed."""
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
            strangers = other.decode("utf-8", "replace").splitlines() or [""]
            lines.insert(at, rng.choice(strangers))
        elif chance < 0.9:
            lines[at] += rng.choice(NUMBERS).decode("utf-8")
        else:
            lines[at] = scrambled(lines[at].encode(), rng).decode("utf-8", "replace")
    return "\n".join(lines).encode("utf-8", "replace")
