"""The prims of a stage by path, and values of prims in a layer without composing a stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from exoskel import spatial
from exoskel.formats.usd.reader.stage import Stage, StagePrim
from exoskel.spatial import Array

Values = dict[str, Any]


def values(prim: Any, names: Iterable[str] | None = None) -> Values:
    """The values of all attributes of a prim, or only of `names`, which is faster.

    Vectors are tuples, quaternions tuples of w x y z.
    """
    known = prim.attributes
    if names is None:
        found = {spec.name: spec.default for spec in known}
    else:
        found = {name: spec.default for name in names if (spec := known.get(name)) is not None}
    for name, value in found.items():
        plain = _CONVERTERS.get(type(value).__name__)
        if plain is not None:
            found[name] = plain(value)
    return found


def _vector(value: Any) -> tuple[float, ...]:
    return (value[0], value[1], value[2])  # unpacking it takes ten times as long


def _quaternion(value: Any) -> tuple[float, ...]:
    return (value.real, *_vector(value.imaginary))


_CONVERTERS: dict[str, Callable[[Any], tuple[float, ...]]] = {
    "Vec3d": _vector,
    "Vec3f": _vector,
    "Quatd": _quaternion,
    "Quatf": _quaternion,
}
"""Converters for usd-core's own types, by type name."""


def name_of(prim: Any) -> str:
    """The name in the scene: the display name, if there is one."""
    return str(prim.GetInfo("displayName")) if prim.HasInfo("displayName") else str(prim.name)


def apis(prim: Any) -> list[str]:
    return list(prim.GetInfo("apiSchemas").GetAddedOrExplicitItems()) if prim.HasInfo("apiSchemas") else []


def target(prim: Any, name: str) -> str:
    """The first target path of a relationship, or an empty string."""
    found = targets(prim, name)
    return found[0] if found else ""


def targets(prim: Any, name: str) -> list[str]:
    """The target paths of a relationship."""
    spec = prim.relationships.get(name)
    return [str(path) for path in spec.targetPathList.GetAddedOrExplicitItems()] if spec is not None else []


def value_of(layer: Any, path: str, name: str) -> Any:
    """The value of one attribute of the prim at a path; None if it has none."""
    spec = layer.GetAttributeAtPath(f"{path}.{name}")
    return None if spec is None else spec.default


def custom_data(prim: Any) -> dict[str, str]:
    """The custom data that the writer added to a prim."""
    return dict(prim.customData) if prim.HasInfo("customData") else {}


RIGID_BODY, COLLIDER, ARTICULATION = "PhysicsRigidBodyAPI", "PhysicsCollisionAPI", "PhysicsArticulationRootAPI"
_CENTIMETRE = 0.01
"""USD's unit of length unless a file states another."""
_SMALL, _LARGE = 1e-100, 1e100
"""Numbers whose squares are exact enough to take their roots."""
_ORTHOGONAL = 1e-6
"""The tolerance for the cosines between the axes of a transform without shear."""


class PrimPlacement(Struct, frozen=True, eq=False):
    """A transform as a rotation and translation, `rigid`, after a symmetric `stretch`; lengths in m."""

    rigid: Array
    stretch: Array

    @property
    def scale(self) -> tuple[float, float, float]:
        """The factors along the axes of the prim."""
        x, y, z = np.diag(self.stretch).tolist()
        return (x, y, z)

    @property
    def is_sheared(self) -> bool:
        if np.count_nonzero(self.stretch) <= np.count_nonzero(self.stretch.diagonal()):
            return False
        off = self.stretch - np.diag(np.diag(self.stretch))
        return bool(np.abs(off).max() > _ORTHOGONAL * np.abs(self.stretch).max())


def placement(matrix: Array) -> PrimPlacement:
    """Split a transform.  A mirrored one gets a negative factor along x."""
    linear = matrix[:3, :3]
    stated = linear.diagonal()
    if np.count_nonzero(linear) == 3 and (stated > _SMALL).all() and (stated < _LARGE).all():  # no rotation
        return PrimPlacement(spatial.transform(linear / stated, matrix[:3, 3]), np.diag(stated))
    sizes = np.linalg.norm(linear, axis=0)
    if (sizes > 0.0).all():
        axes = linear / sizes
        products = axes.T @ axes - np.eye(3)
        if np.abs(products).max() < _ORTHOGONAL:
            if np.linalg.det(axes) < 0.0:
                axes[:, 0], sizes[0] = -axes[:, 0], -sizes[0]
            return PrimPlacement(spatial.transform(axes, matrix[:3, 3]), np.diag(sizes))
    left, values, right = np.linalg.svd(linear)
    if np.linalg.det(left @ right) < 0.0:
        left[:, 2], values[2] = -left[:, 2], -values[2]
    return PrimPlacement(spatial.transform(left @ right, matrix[:3, 3]), right.T @ np.diag(values) @ right)


class PrimIndex:
    """Finds prims, and converts what they state to m, kg, s and degrees."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.prims = stage.prims
        self.by_path = {prim.path: prim for prim in stage.prims}
        self.number = {prim.path: i for i, prim in enumerate(stage.prims, 1)}
        """The numbers of the objects of the document; 0 is the layer."""
        self.metre = _CENTIMETRE if stage.meters_per_unit is None else stage.meters_per_unit
        self.kilogram = 1.0 if stage.kilograms_per_unit is None else stage.kilograms_per_unit
        self._placements: dict[str, PrimPlacement] = {}

    def node(self, prim: StagePrim) -> int:
        return self.number[prim.path]

    def matrix(self, prim: StagePrim) -> Array:
        """The transform from the prim to the world, for column vectors, in m."""
        found = np.array(prim.place, dtype=np.float64).reshape(4, 4).T
        found[:3] *= self.metre
        return found

    def placement(self, prim: StagePrim) -> PrimPlacement:
        found = self._placements.get(prim.path)
        if found is None:
            found = self._placements[prim.path] = placement(self.matrix(prim))
        return found

    def ancestors(self, path: str) -> Iterator[StagePrim]:
        """The prims around a path, from the inside."""
        while path := path.rpartition("/")[0]:
            if path in self.by_path:
                yield self.by_path[path]

    def body_of(self, path: str) -> StagePrim | None:
        """The rigid body at a path or around it."""
        own = self.by_path.get(path)
        around = (own, *self.ancestors(path)) if own is not None else self.ancestors(path)
        return next((prim for prim in around if is_rigid_body(prim)), None)

    @cached_property
    def children(self) -> dict[str, list[StagePrim]]:
        """The prims in each prim, by its path."""
        found: dict[str, list[StagePrim]] = {}
        for prim in self.prims:
            found.setdefault(prim.path.rpartition("/")[0], []).append(prim)
        return found


def is_rigid_body(prim: StagePrim) -> bool:
    return RIGID_BODY in prim.apis and bool(prim.values.get("physics:rigidBodyEnabled", True))


def is_in(path: str, outer: str) -> bool:
    """Whether a path is that of a prim or of something in it."""
    return path == outer or path.startswith(f"{outer}/")
