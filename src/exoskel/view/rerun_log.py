"""Logging scenes and motions to Rerun: shapes of one kind and colour are one mesh with many poses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from exoskel.diagnostics import ExoskelError
from exoskel.scene.world import World
from exoskel.simulate.trajectory import Trajectory
from exoskel.view.render import RATE, poses_to_draw
from exoskel.view.render_scene import COLLISION, VISUAL, InstanceBatch, RenderScene
from exoskel.view.surfaces import PoseRows, SkinSurface

TIMELINE = "time"
_UP = {0: "X", 1: "Y", 2: "Z"}


def log(world: World, *, motion: Trajectory | None = None, prefix: str = "") -> None:
    """Log a world to Rerun's current recording below `prefix`; a motion uses the timeline `time`, in s."""
    try:
        import rerun
    except ImportError:
        raise ExoskelError("rerun is not installed; install it with `pip install 'exoskel[rerun]'`") from None
    render_scene = RenderScene(world)
    root = f"{prefix}/exoskel".lstrip("/")
    axis = _UP[int(np.argmax(np.abs(render_scene.up)))]
    coordinates = f"RIGHT_HAND_{axis}_{'UP' if max(render_scene.up) > 0.0 else 'DOWN'}"
    rerun.log(root, getattr(rerun.ViewCoordinates, coordinates), static=True)
    parts = [
        (f"{root}/{batch.role}/{batch.name}_{i}", *part)
        for batch in render_scene.batches
        for i, part in _by_color(batch)
    ]
    for path, batch, color in parts:
        rerun.log(path, _mesh(rerun, batch, color), static=True)
    poses = poses_to_draw(render_scene, motion, is_moving=motion is not None, rate=RATE)
    for number, pose in enumerate(poses):
        rerun.set_time(TIMELINE, duration=number / RATE)
        for path, batch, _ in parts:
            if number == 0 or not render_scene.is_static[batch.bodies].all():
                rerun.log(path, _instance_poses(rerun, batch, pose))
        for skin in render_scene.skins.surfaces:
            rerun.log(f"{root}/{VISUAL}/{skin.name}", _skin_mesh(rerun, skin, pose))


def _by_color(batch: InstanceBatch) -> Iterator[tuple[int, tuple[InstanceBatch, NDArray[Any]]]]:
    """Split a batch by colour: a Rerun mesh has a single colour."""
    colors, number = np.unique(batch.colors.round(3), axis=0, return_inverse=True)
    for i, color in enumerate(colors):
        has_color = number.ravel() == i
        yield i, (batch.take(has_color), color)


def _mesh(rerun: Any, batch: InstanceBatch, color: NDArray[Any]) -> Any:
    share = 0.25 if batch.role == COLLISION else float(color[3])
    return rerun.Mesh3D(
        vertex_positions=batch.surface.vertices,
        vertex_normals=batch.surface.normals,
        triangle_indices=batch.surface.triangles,
        albedo_factor=[*np.round(255 * color[:3]).astype(int).tolist(), round(255 * share)],
    )


def _skin_mesh(rerun: Any, skin: SkinSurface, frame: PoseRows) -> Any:
    vertices = skin.vertices(frame)
    return rerun.Mesh3D(
        vertex_positions=vertices,
        vertex_normals=skin.normals(vertices),
        triangle_indices=skin.triangles,
        albedo_factor=np.round(255 * np.array(skin.color)).astype(int).tolist(),
    )


def _instance_poses(rerun: Any, batch: InstanceBatch, pose: PoseRows) -> Any:
    positions, quaternions = batch.instance_poses(pose)
    return rerun.InstancePoses3D(
        translations=positions, quaternions=quaternions[:, [1, 2, 3, 0]], scales=batch.scales.astype(np.float32)
    )
