"""Compares what is written on several processors: `python -m tests.convert.processors`.

`write FOLDER` converts all scenes to all formats; run it on each processor, then `compare FOLDER FOLDER`.  `noise`
writes them, or files that are named, once more on this processor, with functions that give other last bits.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np

import exoskel
from exoskel import spatial
from tests.support.places import SHARED, example_files, sample_files, xode_sample_files

TARGETS = ("skel", "xode", "mjcf", "urdf", "sdf", "usd", "gltf")
_FUNCTIONS = {
    np: ("sin", "cos", "arctan2", "hypot", "sinc", "einsum"),
    np.linalg: ("norm", "eigh", "svd"),
    spatial: (
        *("exp", "log", "quaternion", "quaternion_matrix", "euler_matrix", "euler_xyz", "axis_rotation"),
        *("axis_angle_matrix", "rotation_from_z", "rotate_moment", "inverse"),
    ),
}
"""Functions by BLAS, LAPACK or a vectorized library, and those that multiply matrices."""
_ULP = 2.3e-16


def files(names: Sequence[str] = ()) -> list[Path]:
    """The samples, the examples of the tests, and scenes that once showed a fault, if a copy is next to the project.

    Those with the given names, if there are any.
    """
    found = sorted((SHARED / "corpus" / "found").glob("*.*"))
    known = [*sample_files(), *xode_sample_files(), *example_files(), *found]
    return [file for file in known if not names or file.name in names]


def written(file: Path) -> Iterator[tuple[str, bytes]]:
    """The data of a file in each format that supports its scene, by name."""
    try:
        models = exoskel.load(file).world.models
    except exoskel.ExoskelError:
        return
    for to in TARGETS:
        try:
            model = models[0].name if to == "urdf" and len(models) > 1 else None
            report = exoskel.convert(file, None, to=to, model=model)
        except exoskel.ExoskelError as error:
            yield f"{file.parent.name}-{file.name}.{to}", type(error).__name__.encode()
            continue
        yield f"{file.parent.name}-{file.name}.{to}", report.data


@contextmanager
def noise(seed: int = 0) -> Iterator[None]:
    """While it is active, functions of NumPy and of `spatial` give other last bits."""
    replaced: dict[int, tuple[Any, Any]] = {}
    for module, names in _FUNCTIONS.items():
        for name in names:
            function = getattr(module, name)
            replaced[id(function)] = (function, _noisy(function, seed))
    homes = [np, np.linalg, *(module for name, module in list(sys.modules.items()) if name.startswith("exoskel"))]
    changed: list[tuple[Any, str, Any]] = []
    for home in homes:
        for name, value in list(vars(home).items()):
            if id(value) in replaced and replaced[id(value)][0] is value:
                changed.append((home, name, value))
    try:
        for home, name, value in changed:
            setattr(home, name, replaced[id(value)][1])
        yield
    finally:
        for home, name, value in changed:
            setattr(home, name, value)


def _noisy(function: Callable[..., Any], seed: int) -> Callable[..., Any]:
    """A function of which another processor gives the last bits: the same ones for the same numbers."""

    def change(exact: Any) -> Any:
        if not isinstance(exact, np.ndarray | float) or np.asarray(exact).dtype != np.float64:
            return exact
        values = np.array(exact)
        bits = (np.abs(values).view(np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
        sign = ((bits >> np.uint64(40)) % np.uint64(3)).astype(float) - 1.0
        noisy = np.where(values == np.round(values), values, values * (1.0 + _ULP * sign))
        return noisy if isinstance(exact, np.ndarray) else np.float64(noisy.item())

    @wraps(function)
    def compute(*args: Any, **options: Any) -> Any:
        exact = function(*args, **options)
        if function.__name__ in ("norm", "inverse"):
            return np.where(_is_exact(function.__name__, args[0], np.ndim(exact)), exact, change(exact))
        if isinstance(exact, tuple):
            changed = [change(one) for one in exact]
            return type(exact)(*changed) if hasattr(exact, "_fields") else tuple(changed)
        return change(exact)

    return compute


def _is_exact(function: str, argument: Any, ndim: int) -> Any:
    """Where all processors agree: on the length along a coordinate axis, and on products with ones and zeros."""
    values = np.asarray(argument, dtype=float)
    if function == "norm":
        exact = np.count_nonzero(values, axis=-1, keepdims=ndim == values.ndim) <= 1
        return exact if exact.ndim == ndim else exact.all()
    rotations = np.abs(values[..., :3, :3])
    return ((rotations == 0.0) | (rotations == 1.0)).all(axis=(-1, -2))[..., None, None]


def main(arguments: list[str]) -> int:
    command, *rest = arguments
    if command == "write":
        folder = Path(rest[0])
        folder.mkdir(parents=True, exist_ok=True)
        for file in files(rest[1:]):
            for name, data in written(file):
                (folder / name).write_bytes(data)
        return 0
    pairs = _noise_pairs(rest) if command == "noise" else _folder_pairs(*map(Path, rest))
    different = [name for name, (one, other) in pairs.items() if one != other]
    for name in different:
        print(name, *_first_difference(*pairs[name]), sep="\n    ")
    print(f"{len(different)} of {len(pairs)} differ")
    return bool(different)


def _noise_pairs(names: list[str]) -> dict[str, tuple[bytes, bytes]]:
    """The data without and with noise, by name; of all files, or of those named."""
    pairs = {}
    for file in files(names):
        plain = dict(written(file))
        with noise():
            pairs |= {name: (plain[name], data) for name, data in written(file)}
    return pairs


def _folder_pairs(one: Path, other: Path) -> dict[str, tuple[bytes, bytes]]:
    """The files of two folders, by name."""
    names = sorted({file.name for folder in (one, other) for file in folder.iterdir()})
    return {name: (_read(one / name), _read(other / name)) for name in names}


def _read(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""


def _first_difference(one: bytes, other: bytes) -> tuple[str, ...]:
    at = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    start = max(at - 60, 0)
    return tuple(data[start : at + 60].decode(errors="replace").replace("\n", " ") for data in (one, other))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
