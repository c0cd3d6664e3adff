"""The visible geometry of a world, independent of any renderer.

Shapes of the same kind form one batch of instances of one surface.  Thousands of boxes are one batch, and moving
them is one array operation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.scene.body import Body
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.lowering.up_axis import nearest_up_axis
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, pose_matrices
from exoskel.scene.shape import Box, Color, Cylinder, Geometry, Material, Mesh, Plane, Ray, Shape, kind_of, texture_of
from exoskel.scene.soft_skin import has_surface
from exoskel.scene.validation import require_valid
from exoskel.scene.world import World
from exoskel.simulate.trajectory import Trajectory
from exoskel.source.document import garbage_collection_paused
from exoskel.source.mesh_textures import TexturedMeshFiles
from exoskel.source.surface import SEGMENTS, Surface, Surfaces, unit_geometry
from exoskel.spatial import Array
from exoskel.view import lighting
from exoskel.view.camera import corners_of, size_of
from exoskel.view.surfaces import PoseRows, ShapeTextures, Skins, SurfacePart, surface_parts

VISUAL, COLLISION = "visual", "collision"
_WIDE = 4.0
"""A static shape this many times larger than the moving bodies is ground: it casts no shadow, and cameras ignore it."""
_FLOOR_LENGTH, _FLOOR_WIDTH, _FLOOR_THICKNESS, _FLOOR_TOLERANCE = 0.8, 0.25, 0.2, 0.05
"""Floors are ground too: static shapes that are wide, flat, below the moving bodies, and above nothing else.

The smallest length and width, and the tolerance of heights, in sizes of the moving bodies; the largest thickness, in
widths.
"""
_SAMPLED_POSES = 24
"""The number of poses of a motion that the camera is fitted to."""
_MAX_MOTION = 4.0
"""The camera ignores bodies that move further away than this, in sizes of the scene."""
_UNIT = (1.0, 1.0, 1.0)
_PLAIN = Material(roughness=1.0, metalness=0.0)
"""How surfaces reflect light that state no material."""
_BatchLook = tuple[Material, Color]
_EMPTY_HALF_SIZE = 0.5
"""Half the edge of the box that a camera shows of an empty world, m."""
_PLACEHOLDER_SHARE, _PLACEHOLDER_SIZE = 0.08, 0.1
"""The edge of a placeholder cube: a fraction of the scene's size, or a length in m if nothing else has a size."""
_MAX_COORDINATE = 1e30
_FAR = 1e3
"""Bodies need double precision if they are this many times further from the origin than from each other."""


_SEGMENTS, _FEWEST_SEGMENTS = {2000: SEGMENTS, 8000: SEGMENTS // 2}, SEGMENTS // 4
"""The segments of circles, by the largest number of shapes."""


class InstanceBatch(Struct):
    """Instances of one surface: for each its body (by number), pose, scale and colour.

    `local` are poses x y z qw qx qy qz in the body's frame, `scales` are factors along the surface's axes.
    """

    name: str
    role: str
    surface: Surface
    bodies: NDArray[np.intp]
    local: PoseRows
    scales: Array
    colors: Array
    is_plane: bool = False
    """Whether the surface is a piece of an infinite plane."""
    is_ground: bool = False
    """Whether the instances dwarf the scene: they receive shadows, but would cast blurred ones on themselves."""
    image: NDArray[np.uint8] | None = None
    """The image on the surface, `(height, width, 3)`; `colors` are then its mean, for what cannot show it."""
    material: Material | None = None
    """How the surface reflects light; all instances then have the same colour."""

    @property
    def has_fixed_look(self) -> bool:
        """Whether the instances have an image or a material, so that they are not drawn in plain colours."""
        return self.image is not None or self.material is not None

    @property
    def is_transparent(self) -> bool:
        """Whether any instance is transparent."""
        return bool((self.colors[:, 3] < 1.0).any())

    @property
    def casts_shadow(self) -> bool:
        return not (self.is_ground or self.is_plane or self.is_transparent)

    @property
    def triangle_count(self) -> int:
        """The triangles of all instances."""
        return len(self.bodies) * len(self.surface.triangles)

    def take(self, chosen: NDArray[Any], **changes: Any) -> InstanceBatch:
        """The chosen instances (a mask or numbers), with other fields replaced."""
        parts = {name: getattr(self, name)[chosen] for name in ("bodies", "local", "scales", "colors")}
        return structs.replace(self, **parts, **changes)

    def instance_poses(self, poses: PoseRows) -> tuple[PoseRows, PoseRows]:
        """Positions and quaternions in the world, given the poses `(bodies, 7)` of all bodies."""
        return compose_poses(poses[self.bodies], self.local)

    def boxes(self, poses: PoseRows) -> Array:
        """The corners of the bounding boxes of all instances, `(n, 8, 3)`, in the world."""
        corners = corners_of(self.surface.vertices.min(axis=0), self.surface.vertices.max(axis=0))
        positions, quaternions = self.instance_poses(poses)
        own = corners[None] * self.scales[:, None]
        rotated: Array = np.einsum("nij,ncj->nci", spatial.quaternion_matrix(quaternions), own)
        return rotated + positions[:, None]


class MissingMesh(Struct, frozen=True):
    """A mesh that cannot be shown, with the reason; a placeholder is drawn for its `shape`.

    If only its texture cannot be shown, the shape is drawn without it.
    """

    body: Body
    shape: Shape
    reason: str
    is_texture: bool = False


class RenderScene:
    """The visible geometry of a world.

    `batches` contain all shapes, `skins` those of soft bodies; `missing_meshes` are drawn as placeholders; `up` is the
    up axis; `ground` is the height of the ground, m; `low` and `high` are the corners of the box that a camera should
    show.  `initial` is the first frame.
    """

    def __init__(self, world: World) -> None:
        require_valid(world)
        self.world = world
        self.up = nearest_up_axis(world)
        self.bodies = list(world.bodies())
        self.names = [(model.name, body.name) for model in world.models for body in model.bodies]
        self.skins = Skins(world)
        poses = _clip_poses(spatial.pose7(np.nan_to_num(Kinematics(world.models).poses())))
        self.initial = self.skins.frames(poses)
        self.is_static = np.array([_is_static(model) for model in world.models for _ in model.bodies], dtype=bool)
        self.missing_meshes: list[MissingMesh] = []
        self.floor_heights: list[float] = []
        self.segments = _segments(sum(len(body.shapes) for body in self.bodies))
        """Segments of circles in surfaces."""
        self._textures = ShapeTextures()
        self._surfaces = Surfaces(files=TexturedMeshFiles(), segments=self.segments)
        self._builders: dict[tuple[str, int, int, bool, _BatchLook | None], _BatchBuilder] = {}
        with garbage_collection_paused():
            self._fill()
        self.batches = [copies.batch() for copies in self._builders.values()]
        self._size_placeholders()
        self._separate_ground()
        self.is_empty = False
        self.low, self.high = self._bounds()
        self.ground = max(self.floor_heights, default=self._lowest())

    @property
    def size(self) -> float:
        """The diagonal of the box that a camera should show, m."""
        return size_of(self.corners())

    # --- collecting shapes ----------------------------------------------------------------------------

    def _fill(self) -> None:
        number = 0
        for place, model in enumerate(self.world.models):
            default = lighting.STATIC if _is_static(model) else lighting.MODELS[place % len(lighting.MODELS)]
            for body in model.bodies:
                for shape in body.shown_shapes:
                    self._add(VISUAL, number, body, shape, shape.color or default)
                for shape in body.collisions:
                    self._add(COLLISION, number, body, shape, lighting.COLLISION)
                if body.soft is not None and body.soft.geometry is not None and not has_surface(body.soft):
                    skin = Shape(geometry=body.soft.geometry, pose=body.soft.pose)
                    self._add(VISUAL, number, body, skin, lighting.SKIN)
                number += 1

    def _add(self, role: str, number: int, body: Body, shape: Shape, color: Color) -> None:
        geometry, pose = shape.geometry, shape.pose
        if isinstance(geometry, Plane):
            is_floor = self._is_floor(number, shape)
            if is_floor and not (role == VISUAL and texture_of(shape) is not None):
                return
            color = color if is_floor else (*color[:3], lighting.PLANE_ALPHA)
        if isinstance(geometry, Ray):
            pose = _shift_along_z(pose, geometry.length / 2)
            geometry = _ray_cylinder(geometry)
        scale: Sequence[float]
        is_placeholder = False
        plain, scale = unit_geometry(geometry)
        if min(scale) < 0.0:  # a mirrored instance would be inside out
            plain, scale = geometry, _UNIT
        surface = self._surfaces.of(plain)
        if surface is None:
            self.missing_meshes.append(MissingMesh(body, shape, self._surfaces.missing.get(plain, "")))
            plain, scale, pose = _placeholder(geometry, pose)
            is_placeholder = scale == _UNIT
            surface, color = self._surfaces.of(plain), lighting.PLACEHOLDER
        assert surface is not None
        material = _shown_material(shape) if role == VISUAL else None
        for part, piece in enumerate(self._pieces(role, body, shape, surface, plain, color)):
            look = None if material is None else (material, piece.color)
            key = (role, id(surface), part, piece.color[3] < 1.0, look)  # transparent instances are drawn separately
            if key not in self._builders:
                name = f"{kind_of(plain)}_{len(self._builders)}"
                self._builders[key] = _BatchBuilder(name, role, piece, isinstance(plain, Plane), material)
            self._builders[key].add(number, pose, scale, piece.color, is_placeholder)

    def _pieces(
        self, role: str, body: Body, shape: Shape, surface: Surface, geometry: Geometry, color: Color
    ) -> list[SurfacePart]:
        """The parts of a surface: with the texture of the shape, the colours and images of its file, or one colour."""
        texture = texture_of(shape) if role == VISUAL else None
        if texture is not None:
            piece = self._textures.part(surface, geometry, texture, shape.color)
            if piece is not None:
                return [piece]
            reason = self._textures.missing[texture.path or texture.uri]
            self.missing_meshes.append(MissingMesh(body, shape, reason, is_texture=True))
        has_own_look = surface.colors is not None or surface.images
        if has_own_look and shape.color is None and role == VISUAL:
            return surface_parts(surface)
        return [SurfacePart(surface, color)]

    def _is_floor(self, number: int, shape: Shape) -> bool:
        """Whether a plane is level; the ground is then drawn instead of it."""
        assert isinstance(shape.geometry, Plane)
        pose = self.initial[number]
        rotation = spatial.quaternion_matrix(pose[3:])
        placed = pose_matrices([shape.pose])[0]
        normal = rotation @ placed[:3, :3] @ np.array(shape.geometry.normal)
        if normal @ np.array(self.up) < 1.0 - 1e-6:
            return False
        point = placed[:3, :3] @ np.array(shape.geometry.normal) * shape.geometry.offset + placed[:3, 3]
        self.floor_heights.append(float((rotation @ point + pose[:3]) @ np.array(self.up)))
        return True

    def _size_placeholders(self) -> None:
        """Scale the cubes for meshes of unknown size to fit the rest of the scene."""
        chosen = [copies.placeholders for copies in self._builders.values()]
        if not any(chosen):
            return
        known = [self.initial[:, :3]]
        for batch, placeholders in zip(self.batches, chosen, strict=True):
            if not batch.is_plane:
                known.append(np.delete(batch.boxes(self.initial), placeholders, axis=0).reshape(-1, 3))
        known += [skin.vertices(self.initial) for skin in self.skins.surfaces]
        points = np.concatenate(known)
        extent = float(np.linalg.norm(np.ptp(points[np.isfinite(points).all(axis=1)], axis=0)))
        for batch, placeholders in zip(self.batches, chosen, strict=True):
            batch.scales[placeholders] = _PLACEHOLDER_SHARE * extent if extent > 0.0 else _PLACEHOLDER_SIZE

    # --- bounds ---------------------------------------------------------------------------------------

    def _separate_ground(self) -> None:
        """Move static shapes that dwarf the moving bodies, and floors, to batches of their own."""
        moving = self._boxes(static=False)
        if not len(moving):
            return
        batches: list[InstanceBatch] = []
        for batch in self.batches:
            is_static = self.is_static[batch.bodies]
            if batch.role != VISUAL or batch.is_plane or not is_static.any():
                batches.append(batch)
                continue
            is_ground = is_static & self._are_ground(batch.boxes(self.initial), moving)
            if not is_ground.any():
                batches.append(batch)
                continue
            batches += [batch.take(~is_ground)] if not is_ground.all() else []
            batches.append(batch.take(is_ground, name=f"{batch.name}_ground", is_ground=True))
        self.batches = batches

    def _bounds(self) -> tuple[Array, Array]:
        """The box around moving bodies and static ones, except for the ground."""
        everything = np.concatenate([self._boxes(static=False), self._boxes(static=True)])
        if not len(everything):
            self.is_empty = True
            return np.full(3, -_EMPTY_HALF_SIZE), np.full(3, _EMPTY_HALF_SIZE)
        return everything.min(axis=(0, 1)), everything.max(axis=(0, 1))

    def _are_ground(self, boxes: Array, moving: Array) -> NDArray[np.bool_]:
        """Which of the `boxes` of static shapes are ground for the `moving` ones, `(n, 8, 3)` each."""
        axis, up, size = int(np.argmax(np.abs(self.up))), np.array(self.up), _extent(moving)
        sides = np.ptp(boxes, axis=1)
        (width, length), heights = np.sort(np.delete(sides, axis, axis=1), axis=1).T, boxes @ up
        lowest = max(self.floor_heights, default=self._lowest())
        is_floor = (
            (length >= _FLOOR_LENGTH * size)
            & (width >= _FLOOR_WIDTH * size)
            & (sides[:, axis] <= _FLOOR_THICKNESS * width)
            & (heights.max(axis=1) <= float((moving @ up).min()) + _FLOOR_TOLERANCE * size)
            & (heights.min(axis=1) <= lowest + _FLOOR_TOLERANCE * size)
        )
        is_ground: NDArray[np.bool_] = is_floor | (sides.max(axis=1) > _WIDE * size)
        return is_ground

    def include_motion(self, motion: Trajectory) -> None:
        """Enlarge the box that a camera should show by the motion of the bodies, except for those that leave."""
        chosen = np.unique(np.linspace(0, len(motion) - 1, _SAMPLED_POSES).astype(int))
        points = {name: found[chosen] for name, found in motion.soft_points.items()}
        limit, middle = _MAX_MOTION * self.size, (self.low + self.high) / 2
        for poses in compact_poses(self.skins.frames(motion.body_poses[chosen], points)):
            boxes = self._boxes(static=False, poses=poses).reshape(-1, 3)
            near = boxes[(np.abs(boxes - middle) < limit).all(axis=1)]
            if len(near):
                self.low, self.high = np.minimum(self.low, near.min(axis=0)), np.maximum(self.high, near.max(axis=0))

    def _boxes(self, *, static: bool, ground: bool = False, poses: PoseRows | None = None) -> Array:
        """The corners of the boxes around shapes, `(n, 8, 3)`, at the initial or at other poses; ground on request."""
        poses = self.initial if poses is None else poses
        parts = [
            batch.boxes(poses)[self.is_static[batch.bodies] == static]
            for batch in self.batches
            if batch.role == VISUAL and not batch.is_plane and (ground or not batch.is_ground)
        ]
        parts += [skin.box(poses) for skin in self.skins.surfaces if self.is_static[skin.body] == static]
        found = np.concatenate(parts) if parts else np.empty((0, 8, 3))
        return found[np.isfinite(found).all(axis=(1, 2))]

    def _lowest(self) -> float:
        """The height of the lowest point."""
        every = np.concatenate([self._boxes(static=False), self._boxes(static=True, ground=True)])
        return float((every @ np.array(self.up)).min()) if len(every) else 0.0

    def moved(self, origin: Array) -> RenderScene:
        """The same geometry relative to another origin; shapes and bodies are shared."""
        other = copy(self)
        other.initial = self.initial.copy()
        other.initial[:, :3] -= origin
        other.low, other.high = self.low - origin, self.high - origin
        other.ground = self.ground - float(origin @ np.array(self.up))
        return other

    def body_sizes(self) -> Array:
        """The diagonal of the largest visual shape of each body, m; 0 without shapes."""
        sizes = np.zeros(len(self.bodies))
        for batch in self.of_role(VISUAL):
            if not batch.is_plane:
                boxes = batch.boxes(self.initial)
                across = np.linalg.norm(boxes.max(axis=1) - boxes.min(axis=1), axis=1)
                np.maximum.at(sizes, batch.bodies, np.nan_to_num(across))
        return sizes

    def corners(self) -> Array:
        return corners_of(self.low, self.high)

    def of_role(self, role: str) -> Iterator[InstanceBatch]:
        return (batch for batch in self.batches if batch.role == role)


class _BatchBuilder:
    """Collects the instances of a batch."""

    def __init__(self, name: str, role: str, part: SurfacePart, is_plane: bool, material: Material | None) -> None:
        self.name, self.role, self.part, self.is_plane, self.material = name, role, part, is_plane, material
        self.bodies: list[int] = []
        self.poses: list[Pose] = []
        self.scales: list[Sequence[float]] = []
        self.colors: list[Color] = []
        self.placeholders: list[int] = []
        """The numbers of the instances that are placeholders of unknown size."""

    def add(self, body: int, pose: Pose, scale: Sequence[float], color: Color, is_placeholder: bool) -> None:
        self.placeholders += [len(self.bodies)] if is_placeholder else []
        self.bodies.append(body)
        self.poses.append(pose)
        self.scales.append(scale)
        self.colors.append(color)

    def batch(self) -> InstanceBatch:
        return InstanceBatch(
            self.name,
            self.role,
            self.part.surface,
            np.array(self.bodies, dtype=np.intp),
            spatial.pose7(pose_matrices(self.poses)).astype(np.float32),
            np.array(self.scales, dtype=np.float64),
            np.array(self.colors, dtype=np.float64),
            self.is_plane,
            image=self.part.image,
            material=self.material,
        )


def _extent(boxes: Array) -> float:
    """The diagonal of the box around boxes `(n, 8, 3)`."""
    return max(float(np.linalg.norm(boxes.max(axis=(0, 1)) - boxes.min(axis=(0, 1)))), 1e-6)


def compose_poses(outer: PoseRows, inner: PoseRows) -> tuple[PoseRows, PoseRows]:
    """Compose poses, both rows of x y z qw qx qy qz; returns positions and quaternions.

    Written out by columns: this runs for every frame and takes a tenth of the time of the general functions.
    """
    (px, py, pz, w, x, y, z), (qx, qy, qz, iw, ix, iy, iz) = outer.T, inner.T
    tx, ty, tz = 2 * (y * qz - z * qy), 2 * (z * qx - x * qz), 2 * (x * qy - y * qx)
    positions = np.empty((len(outer), 3), dtype=outer.dtype)
    positions[:, 0] = px + qx + w * tx + (y * tz - z * ty)
    positions[:, 1] = py + qy + w * ty + (z * tx - x * tz)
    positions[:, 2] = pz + qz + w * tz + (x * ty - y * tx)
    quaternions = np.empty((len(outer), 4), dtype=outer.dtype)
    quaternions[:, 0] = w * iw - x * ix - y * iy - z * iz
    quaternions[:, 1] = w * ix + x * iw + y * iz - z * iy
    quaternions[:, 2] = w * iy - x * iz + y * iw + z * ix
    quaternions[:, 3] = w * iz + x * iy - y * ix + z * iw
    return positions, quaternions


def compact_poses(poses: PoseRows) -> PoseRows:
    """Convert poses `(..., bodies, 7)` to single precision, unless that would distort bodies far from the origin."""
    poses = _clip_poses(poses)
    places = poses[..., :3].reshape(-1, 3)
    if len(places) and np.abs(places).max() > _FAR * np.ptp(places, axis=0).max():
        return poses.astype(np.float64)
    return poses.astype(np.float32)


def _clip_poses(poses: Array | PoseRows) -> Any:
    """Limit coordinates so that their squares stay finite; bodies that far away are not visible."""
    return np.clip(poses, -_MAX_COORDINATE, _MAX_COORDINATE)


def grid_cell(size: float) -> float:
    """The distance between the finer grid lines for a scene of this size, m."""
    return float(10.0 ** np.floor(np.log10(size / 3)))


def _segments(shapes: int) -> int:
    """The number of segments of circles: fewer if a scene has so many shapes that each is small in a picture."""
    return next((segments for most, segments in _SEGMENTS.items() if shapes <= most), _FEWEST_SEGMENTS)


def _is_static(model: Model) -> bool:
    return model.static or all(joint.kind == "weld" and joint.parent is None for joint in model.joints)


def _shown_material(shape: Shape) -> Material | None:
    """The material of a shape, if it differs from that of surfaces without one."""
    stated = shape.material or _PLAIN
    shown = Material(1.0 if stated.roughness is None else stated.roughness, stated.metalness or 0.0, stated.texture)
    return None if shown == _PLAIN else shown


def _ray_cylinder(ray: Ray) -> Geometry:
    return Cylinder(ray.length / 100, ray.length)


def _shift_along_z(pose: Pose, distance: float) -> Pose:
    placed = pose_matrices([pose])[0]
    placed[:3, 3] += distance * placed[:3, 2]
    return Pose.from_matrix(placed)


def _placeholder(geometry: Geometry, pose: Pose) -> tuple[Geometry, Sequence[float], Pose]:
    """A box of the mesh's size if it is known, else a cube that is scaled once the other sizes are known."""
    bounds = geometry.bounds() if isinstance(geometry, Mesh) else None
    if bounds is None:
        return Box(_UNIT), _UNIT, pose
    low, high = np.array(bounds)
    placed = pose_matrices([pose])[0] @ spatial.transform(np.eye(3), (low + high) / 2)
    return Box(_UNIT), (high - low).tolist(), Pose.from_matrix(placed)
