"""A sky, a light and a camera for viewers of an MJCF file: not part of the scene, and not read back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.names import GENERATED
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.body import Body
from exoskel.scene.pose import pose_matrices
from exoskel.scene.shape import Plane, Ray
from exoskel.spatial import Array

SKY, LIGHT, CAMERA = f"{GENERATED}sky", f"{GENERATED}light", f"{GENERATED}camera"
_ZENITH, _HORIZON = (0.35, 0.55, 0.8), (0.9, 0.95, 1.0)
_SKY_PIXELS = 256
_SLANT = (0.35, 0.5)
"""How far the light leans along the two horizontal directions, per unit of height."""
_VIEW = (0.6, 1.0, 0.45)
"""The direction to the camera: to the right, to the front, and up."""
_DISTANCE = 2.8
"""The distance of the camera in radii of the scene: everything is in view at MuJoCo's angle of 45 degrees."""
_MIN_RADIUS, _FARTHEST = 0.1, 1e6
"""The smallest radius, and the distance in m from which points are out of view."""


def add_scenery(root: MjcfElement, layout: WorldLayout, moving: set[int]) -> None:
    """Add a sky, a light and a camera that see all moving bodies, upright with respect to gravity.

    A world with lights or cameras keeps its own.
    """
    right, front, up = _axes(np.array(layout.world.gravity, dtype=float))
    centre, radius = _bounding_sphere(layout, moving)
    sky = root.child("asset").add("texture", name=SKY, type="skybox", builtin="gradient", rgb1=_ZENITH, rgb2=_HORIZON)
    sky.attributes |= {"width": _SKY_PIXELS, "height": _SKY_PIXELS}
    slant = _SLANT[0] * right + _SLANT[1] * front + up
    above = centre + 4.0 * radius * slant
    worldbody = root.child("worldbody")
    light = MjcfElement("light", {"name": LIGHT, "directional": True, "pos": _rounded(above), "dir": _rounded(-slant)})
    to_camera = _VIEW[0] * right + _VIEW[1] * front + _VIEW[2] * up
    to_camera /= np.linalg.norm(to_camera)
    across = np.cross(up, to_camera)
    position = centre + _DISTANCE * radius * to_camera
    axes = (*_rounded(across), *_rounded(np.cross(to_camera, across)))
    camera = MjcfElement("camera", {"name": CAMERA, "pos": _rounded(position), "xyaxes": axes})
    worldbody.children[:0] = [
        *([light] if not layout.world.lights else []),
        *([camera] if not layout.world.cameras else []),
    ]


def _axes(gravity: Array) -> tuple[Array, Array, Array]:
    """Directions to the right, to the front and up; up is against gravity, or z without it."""
    strength = float(np.linalg.norm(gravity))
    up = -gravity / strength if 0.0 < strength < np.inf else np.array([0.0, 0.0, 1.0])
    front = np.array([0.0, -1.0, 0.0]) if abs(up[1]) < np.sqrt(0.5) else np.array([0.0, 0.0, 1.0])
    right = np.cross(up, front)
    right /= np.linalg.norm(right)
    return right, np.cross(right, up), up


def _bounding_sphere(layout: WorldLayout, moving: set[int]) -> tuple[Array, float]:
    """The centre and radius of the moving bodies in the initial state; of all bodies if none moves."""
    bodies = [joint.child for _, joint in layout.joints]
    seen = [number for number, body in enumerate(bodies) if id(body) in moving] or list(range(len(bodies)))
    poses = layout.initial_poses[seen] if bodies else np.empty((0, 4, 4))
    points = _corners([bodies[number] for number in seen], poses) if seen else np.zeros((1, 3))
    points = points[(np.abs(points) < _FARTHEST).all(axis=1)]
    if not len(points):
        return np.zeros(3), 1.0
    low, high = points.min(axis=0), points.max(axis=0)
    return 0.5 * (low + high), max(0.5 * float(np.linalg.norm(high - low)), _MIN_RADIUS)


def _corners(bodies: Sequence[Body], poses: Array) -> Array:
    """The origins of bodies and the corners of the boxes around their shapes, in the world, `(n, 3)`."""
    found = [
        (number, shape.pose, bounds)
        for number, body in enumerate(bodies)
        for shape in body.shapes
        if not isinstance(shape.geometry, Plane | Ray)  # a ray is not written
        if (bounds := shape.geometry.bounds()) is not None
    ]
    places = poses[np.array([number for number, _, _ in found], dtype=np.intp)] @ pose_matrices(
        [pose for _, pose, _ in found]
    )
    ends = np.array([bounds for _, _, bounds in found]).reshape(-1, 2, 3)
    boxes = ends[:, list(product((0, 1), repeat=3)), range(3)]
    corners = boxes @ np.swapaxes(places[:, :3, :3], 1, 2) + places[:, None, :3, 3]
    return np.concatenate([poses[:, :3, 3], corners.reshape(-1, 3)])


def _rounded(values: Array) -> tuple[float, ...]:
    """Numbers with three decimals: for viewing that is enough, and files stay the same on every processor."""
    return tuple(round(value, 3) + 0.0 for value in values.tolist())
