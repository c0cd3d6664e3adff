"""Distances between the collision shapes of bodies, computed by MuJoCo for the poses of any engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.scene.body import Body
from exoskel.scene.item import qualified_name
from exoskel.scene.shape import Shape
from exoskel.scene.world import World
from exoskel.spatial import Array

_MAX_DISTANCE = 1e9
"""Metres beyond which distances are not computed."""


class Distances:
    """The collision shapes of a world, and the distances between them."""

    def __init__(self, world: World) -> None:
        self._mujoco = mujoco_import.load()
        self._model: Any = CompiledWorld(world).model
        self._data: Any = self._mujoco.MjData(self._model)
        self._geoms: dict[int, list[int]] = {}
        self._owner: dict[int, int] = {}
        numbers = {self._model.geom(i).name: i for i in range(self._model.ngeom)}
        bodies = [(model, body) for model in world.models for body in model.bodies]
        for number, (model, body) in enumerate(bodies):
            for place, shape in enumerate(body.collisions):
                name = qualified_name(model.name, body.name, f"collision{place}")
                found = [i for geom, i in numbers.items() if geom == name or geom.startswith(f"{name}/")]
                self._geoms[id(shape)] = found
                self._owner |= dict.fromkeys(found, number)

    def between(self, first: Body | Shape, second: Body | Shape, poses: Array) -> float | None:
        """The distance in m, negative for shapes that overlap; None if one of them has no shape with a surface."""
        pairs = [(a, b) for a in self._geoms_of(first) for b in self._geoms_of(second)]
        if not pairs:
            return None
        places = [self._place(geom, poses) for pair in pairs for geom in pair]
        radii = np.array([self._model.geom_rbound[[a, b]].sum() if self._bounded(a, b) else np.inf for a, b in pairs])
        apart = np.linalg.norm(np.array(places[::2]) - np.array(places[1::2]), axis=1)
        least = _MAX_DISTANCE
        for index in np.argsort(apart - radii).tolist():
            if apart[index] - radii[index] > least:
                break
            found = self._mujoco.mj_geomDistance(self._model, self._data, *pairs[index], _MAX_DISTANCE, np.zeros(6))
            least = min(least, float(found))
        return least

    def _geoms_of(self, item: Body | Shape) -> list[int]:
        shapes = [item] if isinstance(item, Shape) else item.collisions
        return [geom for shape in shapes for geom in self._geoms.get(id(shape), [])]

    def _bounded(self, *geoms: int) -> bool:
        """Whether all have a bounding sphere: planes have none."""
        return bool((self._model.geom_rbound[list(geoms)] > 0.0).all())

    def _place(self, geom: int, poses: Array) -> Array:
        """Place a geom by the pose of its body; returns its position."""
        own = spatial.transform(spatial.quaternion_matrix(self._model.geom_quat[geom]), self._model.geom_pos[geom])
        placed = poses[self._owner[geom]] @ own
        self._data.geom_xpos[geom] = placed[:3, 3]
        self._data.geom_xmat[geom] = placed[:3, :3].ravel()
        return np.array(placed[:3, 3])
