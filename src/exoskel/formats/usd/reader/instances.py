"""The instances of point instancers: copies of the prims of their prototypes, where they are placed.

Each copy of a rigid body is a body of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct, structs

from exoskel.formats.usd.reader.stage import Stage, StageInstances, StagePrim
from exoskel.spatial import Array

INSTANCER = "PointInstancer"
INSTANCE = "."
"""What separates the path of a point instancer from the number of an instance; no name of a prim contains it."""
_MOST_PRIMS = 200_000


class ExpandedInstances(Struct):
    """The copies of one point instancer, and the paths of the prims that they are copies of."""

    prims: list[StagePrim]
    origins: list[str]


def expand_instances(stage: Stage) -> dict[str, ExpandedInstances]:
    """The copies of the prims of prototypes, by the paths of point instancers.

    Point instancers with too many prims are not read, nor those in a prototype.
    """
    inside = _Prototypes(stage)
    found: dict[str, ExpandedInstances] = {}
    count = 0
    for one in stage.instances:
        if any(one.path.startswith(f"{root}/") for other in stage.instances for root in other.roots):
            continue
        count += sum(len(inside[root]) for root in one.roots)
        if count > _MOST_PRIMS:
            break
        found[one.path] = _expanded(one, inside)
    return found


class _Prototypes(dict[str, list[StagePrim]]):
    """The prims at and in a path, by the path."""

    def __init__(self, stage: Stage) -> None:
        super().__init__()
        self._all = [*stage.prims, *stage.prototypes]

    def __missing__(self, root: str) -> list[StagePrim]:
        found = self[root] = [one for one in self._all if one.path == root or one.path.startswith(f"{root}/")]
        return found


def _expanded(instances: StageInstances, prototypes: _Prototypes) -> ExpandedInstances:
    made = ExpandedInstances([], [])
    places = instances.places.array().reshape(-1, 4, 4)
    inverses: dict[str, Array] = {}
    for number, (root, place) in enumerate(zip(instances.roots, places, strict=True)):
        prims = prototypes[root]
        if not prims or not np.isfinite(place).all():
            continue
        if root not in inverses:
            inverses[root] = _inverse(np.array(prims[0].place).reshape(4, 4))
        path = f"{instances.path}{INSTANCE}{number}"
        for prim, copy in zip(prims, _copies(prims, path, inverses[root] @ place), strict=True):
            made.prims.append(copy)
            made.origins.append(prim.path)
        top = made.prims[-len(prims)]
        top.display_name = f"{top.title}_{number}"
    return made


def _inverse(matrix: Array) -> Array:
    """The inverse; for a transform that flattens its prim, the inverse of its other axes."""
    found = np.linalg.inv(matrix) if np.linalg.det(matrix) else np.linalg.pinv(matrix)
    return np.asarray(found, np.float64)


def _copies(prims: list[StagePrim], path: str, change: Array) -> Iterator[StagePrim]:
    """Copies of the prims of a prototype; `change` follows their transforms to the world, for row vectors."""
    root = prims[0].path
    for prim in prims:
        yield structs.replace(
            prim,
            path=path + prim.path[len(root) :],
            display_name=prim.title,
            targets={name: [_moved(one, root, path) for one in paths] for name, paths in prim.targets.items()},
            values=dict(prim.values),
            place=(np.array(prim.place).reshape(4, 4) @ change).ravel().tolist(),
        )


def _moved(target: str, root: str, path: str) -> str:
    """The target of a copy: what is in the prototype is in the copy."""
    return path + target[len(root) :] if target == root or target.startswith(f"{root}/") else target
