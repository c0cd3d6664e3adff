"""Scenes and motions for Rerun's viewer: shapes of one kind and colour as one mesh with many poses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.scene.world import World
from exoskel.simulate.trajectory import Trajectory
from exoskel.view.draw_batches import COLLISION, Batch, DrawBatches, Rows
from exoskel.view.render import RATE, moments

TIMELINE = "time"
_UP = {0: "X", 1: "Y", 2: "Z"}


def log(world: World, *, motion: Trajectory | None = None, prefix: str = "") -> None:
    """Log a world to Rerun's current recording, below an entity path; a motion goes over the timeline `time`, in s."""
    try:
        import rerun
    except ImportError:
        raise ExoskelError("recordings need rerun: pip install 'exoskel[rerun]'") from None
    stage = DrawBatches(world)
    root = f"{prefix}/exoskel".lstrip("/")
    axis = _UP[int(np.argmax(np.abs(stage.up)))]
    handed = f"RIGHT_HAND_{axis}_{'UP' if max(stage.up) > 0.0 else 'DOWN'}"
    rerun.log(root, getattr(rerun.ViewCoordinates, handed), static=True)
    parts = [
        (f"{root}/{batch.role}/{batch.name}_{i}", *part) for batch in stage.batches for i, part in _by_color(batch)
    ]
    for path, batch, color in parts:
        rerun.log(path, _mesh(rerun, batch, color), static=True)
    poses = moments(stage, motion, is_moving=motion is not None, rate=RATE)
    for number, pose in enumerate(poses):
        rerun.set_time(TIMELINE, duration=number / RATE)
        for path, batch, _ in parts:
            if number == 0 or not stage.is_static[batch.bodies].all():
                rerun.log(path, _placed(rerun, batch, pose))


def _by_color(batch: Batch) -> Iterator[tuple[int, tuple[Batch, NDArray[Any]]]]:
    """A mesh of Rerun's has one colour."""
    colors, number = np.unique(batch.colors.round(3), axis=0, return_inverse=True)
    for i, color in enumerate(colors):
        kept = number.ravel() == i
        columns = (part[kept] for part in (batch.bodies, batch.local, batch.scales, batch.colors))
        yield i, (Batch(batch.name, batch.role, batch.surface, *columns), color)


def _mesh(rerun: Any, batch: Batch, color: NDArray[Any]) -> Any:
    share = 0.25 if batch.role == COLLISION else float(color[3])
    return rerun.Mesh3D(
        vertex_positions=batch.surface.vertices,
        vertex_normals=batch.surface.normals,
        triangle_indices=batch.surface.triangles,
        albedo_factor=[*np.round(255 * color[:3]).astype(int).tolist(), round(255 * share)],
    )


def _placed(rerun: Any, batch: Batch, pose: Rows) -> Any:
    positions, quaternions = batch.placed(pose)
    return rerun.InstancePoses3D(
        translations=positions, quaternions=quaternions[:, [1, 2, 3, 0]], scales=batch.scales.astype(np.float32)
    )
