"""Placement of a scene on the page, near the page's origin and a few metres in size, and of the cameras of its file.

viser's shadows end at 20 m, its ground fades out away from the origin, and its controls suit scenes of a few metres.
Browsers draw in single precision, which distorts geometry far from the origin.
"""

from __future__ import annotations

from math import radians

import numpy as np
from msgspec import Struct, structs

from exoskel import spatial
from exoskel.scene.cameras_and_keyframes import SceneCamera
from exoskel.scene.item import qualified_name
from exoskel.scene.pose import Vector, pose_matrices, vector_from_array
from exoskel.spatial import Array
from exoskel.view.camera import PRESETS, Camera, frame_of, size_of
from exoskel.view.render_scene import RenderScene, grid_cell
from exoskel.view.surfaces import PoseRows

_MIN_SIZE, _NORMAL_SIZE, _MAX_SIZE = 0.5, 2.0, 3.0
"""A scene smaller than the first or larger than the last, m, is scaled to the middle one."""
_MAX_OFFSET, _MAX_OFFSET_IN_SIZES = 8.0, 6.0
"""How far the centre of a scene may be from the page's origin, in m on the page, and in sizes of the scene."""
_SCALE_TOLERANCE = 2.0
"""A placement is kept while the best scale differs from it by at most this factor."""


class ScenePlacement(Struct, frozen=True):
    """`scale` is the size on the page over the size in the world; `origin` is the world point at the page's origin."""

    scale: float = 1.0
    origin: Vector = (0.0, 0.0, 0.0)

    def on_page(self, points: PoseRows) -> Array:
        moved: Array = (np.asarray(points, dtype=np.float64) - self.origin) * self.scale
        return moved

    def in_world(self, points: PoseRows) -> Array:
        moved: Array = np.asarray(points, dtype=np.float64) / self.scale + self.origin
        return moved

    def camera_on_page(self, camera: Camera) -> Camera:
        position, target = (self.on_page(spatial.array(point)) for point in (camera.position, camera.target))
        return structs.replace(
            camera,
            position=vector_from_array(position),
            target=vector_from_array(target),
            near=self.scale * camera.near,
            far=self.scale * camera.far,
        )

    def fits(self, corners: Array) -> bool:
        """Whether a scene with these corners `(n, 3)` can keep this placement: a new one moves every camera."""
        better = placement_for(corners)
        middle = self.on_page((corners.min(axis=0) + corners.max(axis=0)) / 2)
        is_similar = 1.0 / _SCALE_TOLERANCE <= better.scale / self.scale <= _SCALE_TOLERANCE
        return is_similar and _is_near(middle, self.scale * size_of(corners))


def placement_for(corners: Array) -> ScenePlacement:
    """The placement for a scene with these corners `(n, 3)`, m."""
    size = size_of(corners)
    scale = 1.0 if _MIN_SIZE < size < _MAX_SIZE else _NORMAL_SIZE / size
    middle = (corners.min(axis=0) + corners.max(axis=0)) / 2
    if _is_near(scale * middle, scale * size):
        return ScenePlacement(scale)
    # A crossing of grid lines, so that the lines stay at round coordinates of the world.
    section = 5.0 * grid_cell(size)
    return ScenePlacement(scale, vector_from_array(np.round(middle / section) * section))


def _is_near(middle: Array, size: float) -> bool:
    return float(np.linalg.norm(middle)) <= min(_MAX_OFFSET, _MAX_OFFSET_IN_SIZES * size)


_TRACKING = frozenset({"track", "trackcom"})
_AIMING = frozenset({"targetbody", "targetbodycom"})
_MAX_ANGLE = 170.0


def preset_along(axis: str, up: Vector) -> str:
    """The preset that looks at the scene from an axis of the world, such as +x; empty for anything else."""
    axes = {f"{sign}{name}": number for number, name in enumerate("xyz") for sign in "+-"}
    if axis not in axes:
        return ""
    seen = frame_of(up)[:, axes[axis]] * (1.0 if axis[0] == "+" else -1.0)
    return max((name for name in PRESETS if name != "default"), key=lambda name: float(np.array(PRESETS[name]) @ seen))


def camera_names(cameras: list[SceneCamera]) -> list[str]:
    """A different name for each camera; those without a name get a number."""
    names: list[str] = []
    for number, camera in enumerate(cameras):
        name = camera.name or f"camera {number + 1}"
        names.append(name if name not in names else f"{name} ({number + 1})")
    return names


def placed_camera(camera: SceneCamera, render_scene: RenderScene, poses: PoseRows) -> Camera:
    """The camera at the poses `(bodies, 7)` of a frame, in the world.

    A camera that tracks a body keeps its initial direction and moves with the origin of the body.  An orthographic
    camera is shown in perspective, with the same height at the distance of the scene.
    """
    numbers = {qualified_name(*names): number for number, names in enumerate(render_scene.names)}
    body, target = numbers.get(camera.body, -1), numbers.get(camera.target, -1)
    place = _matrix(render_scene.initial if camera.mode in _TRACKING else poses, body) @ pose_matrices([camera.pose])[0]
    if camera.mode in _TRACKING and body >= 0:
        place[:3, 3] += np.asarray(poses[body, :3], dtype=np.float64) - render_scene.initial[body, :3]
    position, back, up = place[:3, 3], place[:3, 2], place[:3, 1]
    size, middle = render_scene.size, (render_scene.low + render_scene.high) / 2
    if camera.mode in _AIMING and target >= 0:
        middle, up = np.asarray(poses[target, :3], dtype=np.float64), np.array(render_scene.up)
        back = spatial.unit(position - middle)
    distance = max(float(np.linalg.norm(position - middle)), 1e-3 * size)
    angle = radians(min(camera.field_of_view, _MAX_ANGLE))
    if camera.orthographic:
        angle = 2.0 * float(np.arctan(camera.field_of_view / (2.0 * distance)))
    look_at = position - distance * back
    return Camera(
        vector_from_array(position),
        vector_from_array(look_at),
        vector_from_array(up),
        angle,
        1e-3 * distance,
        50 * (distance + size),
    )


def _matrix(poses: PoseRows, body: int) -> Array:
    """The pose of a body as a matrix; the identity for the world, -1."""
    if body < 0:
        return np.eye(4)
    row = np.asarray(poses[body], dtype=np.float64)
    return spatial.transform(spatial.quaternion_matrix(row[3:]), row[:3])
