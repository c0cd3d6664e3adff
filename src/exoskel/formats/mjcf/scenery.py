"""A sky, a light, a camera and its range for viewers of an MJCF file: not part of the scene, and not read back."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import floor, log10

import numpy as np

from exoskel.formats.mjcf.model.layout import WorldLayout
from exoskel.formats.mjcf.names import GENERATED
from exoskel.formats.mjcf.reader.fragment import Fragment
from exoskel.formats.mjcf.tree import MjcfElement
from exoskel.scene.body import Body
from exoskel.scene.pose import pose_matrices
from exoskel.scene.shape import Plane, Ray
from exoskel.source.markup import format_numbers
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
_POINT_RADIUS, _MIN_RADIUS, _FARTHEST = 0.1, 1e-5, 1e6
"""The radius of bodies without extent, the smallest radius, and the distance in m from which points are out of view."""
VIEW_TEXT = f"{GENERATED}view"
"""The text that states which range of the view was generated: an author may have changed it since."""
_LARGEST_RATIO = 40.0
"""The size of a scene, in radii of what moves, from which MuJoCo's near plane, at 1 % of it, comes close to that."""


def add_scenery(root: MjcfElement, layout: WorldLayout, moving: set[int]) -> None:
    """Add a sky, a light and a camera that see all moving bodies, upright with respect to gravity.

    A world with lights or cameras keeps its own.
    """
    right, front, up = _axes(np.array(layout.world.gravity, dtype=float))
    points, still = _points(layout, moving)
    everything = np.concatenate([points, still])
    centre, radius = _bounding_sphere(points if len(points) else everything)
    sky = root.child("asset").add("texture", name=SKY, type="skybox", builtin="gradient", rgb1=_ZENITH, rgb2=_HORIZON)
    sky.attributes |= {"width": _SKY_PIXELS, "height": _SKY_PIXELS}
    slant = _SLANT[0] * right + _SLANT[1] * front + up
    above = centre + 4.0 * radius * slant
    worldbody = root.child("worldbody")
    place = _rounded(above, radius)
    light = MjcfElement("light", {"name": LIGHT, "directional": True, "pos": place, "dir": _rounded(-slant)})
    to_camera = _VIEW[0] * right + _VIEW[1] * front + _VIEW[2] * up
    to_camera /= np.linalg.norm(to_camera)
    across = np.cross(up, to_camera)
    position = centre + _DISTANCE * radius * to_camera
    axes = (*_rounded(across), *_rounded(np.cross(to_camera, across)))
    camera = MjcfElement("camera", {"name": CAMERA, "pos": _rounded(position, radius), "xyaxes": axes})
    worldbody.children[:0] = [
        *([light] if not layout.world.lights else []),
        *([camera] if not layout.world.cameras else []),
    ]
    cameras = [one.pose.position for one in layout.world.cameras if not one.body]
    size = float(np.linalg.norm(np.ptp(np.array([*everything, centre, *cameras]), axis=0)))
    if size > _LARGEST_RATIO * radius:
        _add_range(root, centre, radius, size)


def _add_range(root: MjcfElement, centre: Array, radius: float, size: float) -> None:
    """State the centre and extent of what moves, in which MuJoCo measures the range of the view.

    By default these are those of all bodies, so that a large ground would hide small bodies.
    """
    extent = float(f"{2.0 * radius:.3g}")
    place, far = _rounded(centre, radius), float(f"{2.0 * size / extent:.3g}")
    root.add("statistic", extent=extent, center=place)
    root.add("visual").add("map", zfar=far)
    root.child("custom").add("text", name=VIEW_TEXT, data=format_numbers((extent, *place, far)))


def remove_range(root: MjcfElement) -> None:
    """Remove the range of the view that `add_scenery` has added, if any, before other settings are added."""
    for custom in [one for one in root.children if one.tag == "custom"]:
        texts = [text for text in custom.children if text.attributes.get("name") != VIEW_TEXT]
        if len(texts) < len(custom.children):
            custom.children = texts
            unused = ("statistic", "visual", *(() if texts else ("custom",)))
            root.children = [one for one in root.children if one.tag not in unused]


def without_generated_range(sections: Sequence[Fragment]) -> list[Fragment]:
    """The sections of a document without those that `add_scenery` has written and that are unchanged."""
    texts = [text.attributes for section in sections if section.tag == "custom" for text in section.children]
    data = [text.get("data", "").split() for text in texts if text.get("name") == VIEW_TEXT]
    return [section for section in sections if not (data and _range_numbers(section) in (data[0][:-1], data[0][-1:]))]


def _range_numbers(section: Fragment) -> list[str] | None:
    """The numbers of a section, if it has the attributes of a generated one, and no others."""
    if section.tag == "statistic" and [*section.attributes] == ["extent", "center"] and not section.children:
        return " ".join(section.attributes.values()).split()
    is_map = section.tag == "visual" and [one.tag for one in section.children] == ["map"]
    numbers = section.children[0].attributes if is_map and not section.attributes else {}
    return [*numbers.values()] if [*numbers] == ["zfar"] else None


def _axes(gravity: Array) -> tuple[Array, Array, Array]:
    """Directions to the right, to the front and up; up is against gravity, or z without it."""
    strength = float(np.linalg.norm(gravity))
    up = -gravity / strength if 0.0 < strength < np.inf else np.array([0.0, 0.0, 1.0])
    front = np.array([0.0, -1.0, 0.0]) if abs(up[1]) < np.sqrt(0.5) else np.array([0.0, 0.0, 1.0])
    right = np.cross(up, front)
    right /= np.linalg.norm(right)
    return right, np.cross(right, up), up


def _points(layout: WorldLayout, moving: set[int]) -> tuple[Array, Array]:
    """Points around the moving bodies in the initial state and around the others, `(n, 3)`, without distant ones."""
    bodies = [joint.child for _, joint in layout.joints]
    found = []
    for moves in (True, False):
        seen = [number for number, body in enumerate(bodies) if (id(body) in moving) is moves]
        points = _corners([bodies[number] for number in seen], layout.initial_poses[seen]) if seen else np.empty((0, 3))
        found.append(points[(np.abs(points) < _FARTHEST).all(axis=1)])
    return found[0], found[1]


def _bounding_sphere(points: Array) -> tuple[Array, float]:
    """The centre and radius of a sphere around points."""
    if not len(points):
        return np.zeros(3), 1.0
    low, high = points.min(axis=0), points.max(axis=0)
    radius = 0.5 * float(np.linalg.norm(high - low))
    return 0.5 * (low + high), max(radius, _MIN_RADIUS) if radius > 0.0 else _POINT_RADIUS


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


def _rounded(values: Array, radius: float = 1.0) -> tuple[float, ...]:
    """Numbers with three decimals: for viewing that is enough, and files stay the same on every processor.

    Places have more decimals if the radius of the view is small.
    """
    decimals = max(3, 2 - floor(log10(radius)))
    return tuple(round(value, decimals) + 0.0 for value in values.tolist())
