"""Saves a scene and its motion as binary glTF, which browsers, Blender and game engines play."""

from __future__ import annotations

import os
from pathlib import Path

from exoskel.diagnostics import ExoskelError
from exoskel.formats.gltf.codes import catalogue_error
from exoskel.formats.gltf.write import Motion, Shown, write
from exoskel.scene.item import Item
from exoskel.scene.world import Scene, SceneLike, World, as_world
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.atomic_write import write_atomically
from exoskel.source.output_context import OutputContext
from exoskel.source.surface import PLANE_HALF_SIZE

EXTENSION = ".glb"


def animate(
    world: SceneLike,
    trajectory: Trajectory,
    path: str | os.PathLike[str],
    *,
    rate: float | None = None,
    shown: Shown = "visual",
    reach: float = PLANE_HALF_SIZE,
) -> list[tuple[Item, str]]:
    """Write a world and its motion as a `.glb` file; returns what glTF does not support, with reasons.

    `rate` is the number of frames per second, by default all samples of the motion.  `shown` selects the shapes that
    are written; planes are squares of half size `reach`, in m.
    """
    target = Path(path)
    if target.suffix.lower() != EXTENSION:
        raise ExoskelError(
            f"cannot save an animation as {target.suffix or 'a file without an extension'!r}; use {EXTENSION}"
        )
    only = as_world(world)
    _check_bodies(only, trajectory)
    frames = trajectory if rate is None else trajectory.resample(1.0 / _positive(rate))
    output = OutputContext(target.parent)
    motion = Motion(frames.time, frames.body_poses)
    write_atomically(target, write(Scene(worlds=[only]), output, shown=shown, reach=reach, motion=motion))
    return [(loss.item, loss.reason) for loss in output.losses]


def _positive(rate: float) -> float:
    if not rate > 0.0:
        raise ExoskelError(f"the number of frames per second must be positive, not {rate}")
    return rate


def _check_bodies(world: World, trajectory: Trajectory) -> None:
    wanted = [[model.name, body.name] for model in world.models for body in model.bodies]
    if len(wanted) != len(trajectory.body_names):
        raise catalogue_error("GL103", found=len(trajectory.body_names), wanted=len(wanted))
    found = trajectory.meta.get("bodies", wanted)
    for mine, theirs in zip(wanted, found, strict=True):
        if list(theirs) != mine:
            raise catalogue_error("GL103.names", found="/".join(theirs), wanted="/".join(mine))
