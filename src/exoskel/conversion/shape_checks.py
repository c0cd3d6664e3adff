"""The rows of a certificate about shapes and collision filtering."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np
from msgspec import structs

from exoskel.conversion.comparison import ChainErrors, Row, half_space
from exoskel.formats.interface import Format
from exoskel.scene.body import Body
from exoskel.scene.collision_filter import (
    CollisionRules,
    Pair,
    collision_rules,
    connections,
    pairs_with_different_rules,
)
from exoskel.scene.fields import relative_difference, transform_differences
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.pose import pose_matrices
from exoskel.scene.shape import (
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Geometry,
    Mesh,
    Plane,
    Shape,
    Sphere,
    TriMesh,
    texture_of,
)
from exoskel.scene.world import Scene, World
from exoskel.source.textures import same_image
from exoskel.spatial import Array

ENGINE_FRICTION = 1.0
"""The default of MuJoCo, which a reader cannot distinguish from a stated value."""
_TRIANGLES = frozenset({"mesh", "trimesh"})
_AS_TRIANGLES = _TRIANGLES | {"pyramid"}
"""Shapes that triangles describe exactly."""

SHAPES, MESHES, COLORS, TEXTURES = "shapes", "sizes of meshes", "colours", "textures"
"""Names of rows."""

Places = Mapping[int, Array]
"""The poses of bodies at zero positions, by id."""
_PairedShape = tuple[Body, Body, Shape, Shape]
"""A body and its counterpart, with a shape and its counterpart."""


class ShapeCheck:
    """Compares the shapes of bodies with their counterparts: pose, size, surface and colour.

    `inexact` are the ids of items that could not be written as they are, `elements` of items that have an element of
    their own in the output.  `kinds` are the kinds of shapes that the format supports.  `lost_textures` are the ids of
    shapes without their textures; None: the format has no textures.
    """

    def __init__(
        self,
        bodies: Sequence[tuple[Body, Body]],
        counterparts: Mapping[int, Item],
        inexact: Collection[int],
        elements: Collection[int],
        kinds: Collection[str],
        fields: Collection[tuple[type[Item], str]],
        chains: ChainErrors,
        lost_textures: Collection[int] | None = None,
    ) -> None:
        self.bodies = bodies
        self.lost_textures = lost_textures
        self.chains = chains
        self.counterparts = counterparts
        self.inexact = inexact
        self.elements = elements
        self.kinds = kinds
        self.surface = [field for field in ("friction", "restitution") if (Shape, field) in fields]
        self.has_colors = (Shape, "color") in fields

    def rows(self, here: Places, there: Places) -> list[Row]:
        """The largest errors of shapes and, where there are any, of mesh sizes and colours."""
        pairs = list(self._pairs())
        if any(other is None for _, _, _, other in pairs):
            return [(SHAPES, np.inf)]
        found = [(a, b, shape, other) for a, b, shape, other in pairs if other is not None]
        exact = [row for row in found if id(row[2]) not in self.inexact and _is_valid(row[2].geometry)]
        same = [row for row in exact if _is_same(row[2], row[3])]
        meshes = [(shape, other) for _, _, shape, other in same if other.kind in _TRIANGLES]
        visible = {id(shape) for body, _ in self.bodies for shape in body.shown_shapes} if self.has_colors else ()
        colors = [(shape, other) for _, _, shape, other in found if id(shape) in visible and shape.color is not None]
        rows: list[Row] = [(SHAPES, max(self._shape_errors(found, same, here, there), default=0.0))]
        if meshes:
            rows.append((MESHES, max(_mesh_difference(*pair) for pair in meshes)))
        if colors:
            rows.append((COLORS, max(relative_difference(one.color, other.color) for one, other in colors)))
        return rows + self._texture_rows([(one, other) for _, _, one, other in found if id(one) in visible])

    def _texture_rows(self, shapes: Sequence[tuple[Shape, Shape]]) -> list[Row]:
        """Whether the images of shapes that are seen are those of their counterparts, if there are any."""
        if self.lost_textures is None:
            return []
        images = {
            (image, texture_of(other))
            for one, other in shapes
            if (image := texture_of(one)) is not None and id(one) not in self.lost_textures
        }
        are_same = all(other is not None and same_image(image, other) for image, other in images)
        return [(TEXTURES, 0.0 if are_same else np.inf)] if images else []

    def _shape_errors(
        self, found: Sequence[_PairedShape], same: Sequence[_PairedShape], here: Places, there: Places
    ) -> list[float]:
        """The errors of surfaces, sizes and poses.  `same` are the shapes whose geometry is compared."""
        touching = {id(shape) for body, _ in self.bodies for shape in body.collisions}
        errors = [self._surface(shape, other) for _, _, shape, other in found if id(shape) in touching]
        errors += [_size_difference(shape, other) for _, _, shape, other in same]
        if same:
            mine = _placed([here[id(a)] for a, _, _, _ in same], [shape for _, _, shape, _ in same])
            theirs = _placed([there[id(b)] for _, b, _, _ in same], [other for _, _, _, other in same])
            flat = np.array([isinstance(shape.geometry, Plane) for _, _, shape, _ in same])
            lengths, growth = self.chains.of([a for a, _, _, _ in same], [s.pose.position for _, _, s, _ in same])
            errors += transform_differences(mine[~flat], theirs[~flat], lengths[~flat], growth[~flat]).tolist()
            planes = [row for row, is_flat in zip(same, flat.tolist(), strict=True) if is_flat]
            errors += (_plane_differences(planes, mine[flat], theirs[flat], lengths[flat]) / growth[flat]).tolist()
        return errors

    def _pairs(self) -> Iterator[tuple[Body, Body, Shape, Shape | None]]:
        """Shapes with their counterparts; None for those that are missing."""
        for body, other in self.bodies:
            for shape in body.shapes:
                found = self.counterparts.get(id(shape))
                if isinstance(found, Shape):
                    yield body, other, shape, found
                elif id(shape) in self.elements or (shape.collidable and self._is_supported(shape)):
                    yield body, other, shape, None

    def _is_supported(self, shape: Shape) -> bool:
        return shape.kind in self.kinds and id(shape) not in self.inexact and _is_valid(shape.geometry)

    def _surface(self, shape: Shape, other: Shape) -> float:
        """Compare friction and restitution of a collision shape that are stated, where the format supports them."""
        worst = 0.0
        for field in self.surface:
            mine, theirs = getattr(shape, field), getattr(other, field)
            if mine is not None and not (theirs is None and mine == ENGINE_FRICTION):
                worst = max(worst, relative_difference(mine, theirs))
        return worst


def _is_valid(geometry: Geometry) -> bool:
    """Whether readers accept a geometry: it has a size, a direction or a file."""
    match geometry:
        case Box(size=size) | Ellipsoid(size=size):
            return min(size) > 0.0
        case Sphere(radius=radius):
            return radius > 0.0
        case Cylinder() | Capsule() | Cone():
            return geometry.radius > 0.0 and geometry.height > 0.0
        case Plane(normal=normal):
            return any(normal)
        case Mesh(path=path):
            return path is not None
        case TriMesh(triangles=triangles):
            return bool(len(triangles))
    return True


def _is_same(one: Shape, other: Shape) -> bool:
    return one.kind == other.kind or (one.kind in _AS_TRIANGLES and other.kind in _TRIANGLES)


def _mesh_difference(one: Shape, other: Shape) -> float:
    mine, theirs = one.geometry.bounds(), other.geometry.bounds()
    return 0.0 if mine is None or theirs is None else relative_difference(mine, theirs)


def _size_difference(one: Shape, other: Shape) -> float:
    if isinstance(one.geometry, Plane) or other.kind in _TRIANGLES:
        return 0.0
    if isinstance(one.geometry, Cone) and isinstance(other.geometry, Cone):
        return relative_difference(
            (one.geometry.radius, one.geometry.height), (other.geometry.radius, other.geometry.height)
        )
    return relative_difference(one.geometry, other.geometry)


def _placed(frames: Sequence[Array], shapes: Sequence[Shape]) -> Array:
    """The poses of shapes in the world; of cones at their middle."""
    placed: Array = np.array(frames) @ pose_matrices([shape.pose for shape in shapes])
    for i, shape in enumerate(shapes):
        if isinstance(shape.geometry, Cone) and not shape.geometry.centred:
            placed[i, :3, 3] += placed[i, :3, 2] * shape.geometry.height / 2.0
    return placed


def _plane_differences(rows: Sequence[_PairedShape], mine: Array, theirs: Array, lengths: Array) -> Array:
    """The differences of normals, and of offsets relative to the lengths that they are composed of."""
    found = []
    for (_, _, shape, other), a, b, length in zip(rows, mine, theirs, lengths.tolist(), strict=True):
        (*normal, offset), (*other_normal, other_offset) = half_space(shape, a), half_space(other, b)
        size = max(length, abs(offset))
        found.append(relative_difference([*normal, offset / size], [*other_normal, other_offset / size]))
    return np.array(found)


# --- collision filtering ------------------------------------------------------------------------------

RulesReader = Callable[[Scene, World], CollisionRules]
"""Returns the collision filter of a world that was read back."""


class CollisionCheck:
    """Compares the collision filter of a world with that of its output, as far as the format supports it.

    `inexact` are the ids of items that could not be written as they are.  If the output `is_copy` of the source, its
    rules may be finer than those of the scene.
    """

    def __init__(
        self,
        mine: World,
        theirs: World,
        native: Scene,
        counterparts: Mapping[int, Item],
        target: Format,
        inexact: Collection[int],
        *,
        is_copy: bool = False,
    ) -> None:
        self.mine, self.theirs, self.counterparts = mine, theirs, counterparts
        self.native = native
        self.inexact = inexact
        self.is_copy = is_copy
        capabilities = target.capabilities()
        fields = capabilities.fields
        self.has_self_collision = (World, "self_collision") in fields
        self.has_exempt_groups = (World, "collision_exempt_groups") in fields
        self.has_connected = (Joint, "collide_connected") in fields
        rules = None if is_copy else capabilities.collision_rules
        self.read: RulesReader = rules or self._rules_of_world

    def differing(self) -> list[Body]:
        """The bodies that do not collide with the same bodies in the output."""
        if self.is_copy and all(_solid_bodies(world) <= 1 for world in (self.mine, self.theirs)):
            return []  # nothing collides, for example because the document disables contacts
        mine, theirs = self._rules(self.mine), self.read(self.native, self.theirs)
        made = self.counterparts
        lost = list(self._lost_connections())
        lost_there = [(made[id(a)], made[id(b)]) for a, b in lost if {id(a), id(b)} <= made.keys()]
        mine = structs.replace(mine, exempt_pairs=[*mine.exempt_pairs, *lost])
        theirs = structs.replace(theirs, exempt_pairs=[*theirs.exempt_pairs, *lost_there])
        return [body for body, _ in pairs_with_different_rules(mine, theirs, list(self._compared()))]

    def _rules_of_world(self, _: Scene, world: World) -> CollisionRules:
        return self._rules(world)

    def _rules(self, world: World) -> CollisionRules:
        return collision_rules(
            world,
            self_colliding=None if self.has_self_collision else (),
            exempt_groups=self.has_exempt_groups,
            collide_connected=self.has_connected,
        )

    def _compared(self) -> Iterator[Pair]:
        """Bodies and their counterparts, except bodies that lost all collision shapes."""
        for body in self.mine.bodies():
            other = self.counterparts.get(id(body))
            solid = [shape for shape in body.collisions if shape.collidable]
            if isinstance(other, Body) and (not solid or any(id(shape) in self.counterparts for shape in solid)):
                yield body, other

    def _lost_connections(self) -> Iterator[Pair]:
        """Pairs connected by joints that are not in the output, or not as they are: the loss is that of the joint.

        A format that states for joints whether the connected bodies collide can state it for bodies without a joint.
        """
        for model in self.mine.models if self.has_self_collision and self.mine.self_collision else ():
            for joint, one, other in connections(model):
                same = self.counterparts.get(id(joint))
                is_lost = not self.has_connected and (not isinstance(same, Joint) or same.parent is None)
                if is_lost or (joint.collide_connected and id(joint) in self.inexact):
                    yield one, other


def _solid_bodies(world: World) -> int:
    """The number of bodies with shapes that may collide."""
    return sum(any(shape.collidable for shape in body.collisions) for body in world.bodies())
