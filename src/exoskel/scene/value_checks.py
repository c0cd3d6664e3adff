"""Checks of the values of a world: types, and ranges of numbers.  Values of one kind are checked in bulk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel.diagnostics import format_detail, is_plural
from exoskel.scene.body import Body, BodyState, FiniteRotation, Marker, SoftBody, Tessellation
from exoskel.scene.codes import CATALOGUE
from exoskel.scene.field_checks import kind_name
from exoskel.scene.inertia import Inertia
from exoskel.scene.item import Item, item_name
from exoskel.scene.joint import (
    DOF_DYNAMICS,
    DOF_LIMITS,
    DOF_STATES,
    KINDS_OF_FLAGS,
    PLANES,
    STOPS,
    TRAITS,
    Dof,
    Drive,
    Joint,
    Mimic,
    wrong_count,
)
from exoskel.scene.pose import IDENTITY, AxisAngle, Euler, Matrix, Pose, Quaternion
from exoskel.scene.shape import (
    Ball,
    Box,
    Capsule,
    Cone,
    Cylinder,
    Ellipsoid,
    Material,
    Mesh,
    MultiSphere,
    Plane,
    Pyramid,
    Ray,
    Shape,
    Sphere,
    Texture,
    TriMesh,
)
from exoskel.spatial import AXIS_ORDERS


class Problem(Struct, frozen=True):
    """Something invalid: the key of its message, the item and field that it is about, and other items involved."""

    key: str
    item: Item
    field: str
    details: Mapping[str, object]
    others: tuple[Item, ...] = ()

    @property
    def is_structural(self) -> bool:
        """Whether it is about names or connections, so that changes of other items can cause it."""
        return self.key.startswith(("SC102", "SC103"))

    @property
    def message(self) -> str:
        shown = {name: format_detail(value) for name, value in self.details.items()}
        return CATALOGUE[self.key].text.format(**shown)


# --- ranges ---------------------------------------------------------------------------------------------


class NumberRange(Struct, frozen=True):
    """The numbers that a field may have: in words for one number and for several, and as a test of an array."""

    one: str
    several: str
    accepts: Callable[[Any], NDArray[np.bool_]]


FINITE = NumberRange("a finite number", "finite numbers", np.isfinite)
POSITIVE = NumberRange("a positive number", "positive numbers", lambda values: np.isfinite(values) & (values > 0.0))
NOT_NEGATIVE = NumberRange(
    "zero or a positive number", "zeros or positive numbers", lambda values: np.isfinite(values) & (values >= 0.0)
)
FRACTION = NumberRange("a number from 0 to 1", "numbers from 0 to 1", lambda values: (values >= 0.0) & (values <= 1.0))
NOT_NAN = NumberRange("a number", "numbers", lambda values: np.logical_not(np.isnan(values)))


def _invalid_rows(values: Sequence[Any], width: int, allowed: NumberRange) -> list[int]:
    """The indices of values that are not `width` numbers of a range."""
    array = _as_array(values, width)
    if array is not None:
        valid = allowed.accepts(array)
        if valid.all():
            return []
        found: list[int] = np.flatnonzero(~valid.reshape(-1, width).all(axis=1)).tolist()
        return found
    if len(values) == 1:
        return [0]
    return [index for index, value in enumerate(values) if _invalid_rows([value], width, allowed)]


def _as_array(values: Sequence[Any], width: int) -> NDArray[Any] | None:
    """All numbers of some values in one row; None if a value does not have `width` numbers."""
    try:
        if width != 1:
            if set(map(len, values)) - {width}:
                return None
            values = list(chain.from_iterable(values))  # three times as fast as an array of tuples
        array = np.asarray(values) if values else np.empty(0)
    except (ValueError, TypeError, OverflowError):
        return None
    return array if array.ndim == 1 and array.dtype.kind in "fiub" else None


class _Number(Struct, frozen=True):
    """A field of a struct that holds some numbers."""

    name: str
    width: int = 1
    allowed: NumberRange = FINITE


_SIZES: dict[type, tuple[_Number, ...]] = {
    Box: (_Number("size", 3, POSITIVE),),
    Sphere: (_Number("radius", 1, POSITIVE),),
    Ellipsoid: (_Number("size", 3, POSITIVE),),
    Cylinder: (_Number("radius", 1, POSITIVE), _Number("height", 1, POSITIVE)),
    Capsule: (_Number("radius", 1, POSITIVE), _Number("height", 1, POSITIVE)),
    Cone: (_Number("radius", 1, POSITIVE), _Number("height", 1, POSITIVE)),
    Pyramid: (_Number("width", 1, POSITIVE), _Number("depth", 1, POSITIVE), _Number("height", 1, POSITIVE)),
    Plane: (_Number("normal", 3), _Number("offset")),
    Ray: (_Number("length", 1, POSITIVE),),
    Mesh: (_Number("scale", 3),),
    MultiSphere: (),
    TriMesh: (),
}
"""The numbers of each kind of geometry."""
_BALL_SIZES = {Ball: (_Number("radius", 1, POSITIVE), _Number("position", 3))}
_TEXTURE = {Texture: (_Number("repeat", 2, POSITIVE),)}
_SOFT_SIZES = {kind: _SIZES[kind] for kind in (Box, Sphere, Ellipsoid, Cylinder)}
_ROTATIONS: dict[type, tuple[_Number, ...]] = {
    Euler: (_Number("angles", 3),),
    Quaternion: (_Number("wxyz", 4),),
    AxisAngle: (_Number("axis", 3), _Number("angle")),
    Matrix: (),
}
"""The numbers of each kind of rotation, besides the rows of a matrix."""
_STATE = {BodyState: tuple(_Number(n, 3) for n in ("linear_velocity", "angular_velocity", "force", "torque"))}
_FINITE_ROTATION = {FiniteRotation: (_Number("mode"), _Number("axis", 3))}
_MIMIC = {Mimic: (_Number("multiplier"), _Number("offset"))}

_DOF_NUMBERS = (*DOF_STATES, *DOF_DYNAMICS)
_dof_numbers, _dof_limits = attrgetter(*_DOF_NUMBERS), attrgetter(*DOF_LIMITS)
_MOST_POINTS = 1_000_000
"""The most point masses of a soft skin."""
PLAIN_JOINTS = {
    (kind, traits.axes)
    for kind, traits in TRAITS.items()
    if kind not in ("planar", "translational2d", "euler", "amotor")
}
"""Kinds of joints with their number of axes, for those that need nothing else."""


# --- values ---------------------------------------------------------------------------------------------


class ValueChecker:
    """Collects the problems of the values of items.  `owners` are bodies and models, whose parts messages describe."""

    def __init__(self, bodies: Sequence[Body]) -> None:
        self.problems: list[Problem] = []
        self._bodies = bodies

    def report(self, key: str, item: Item, field: str, /, others: Iterable[Item] = (), **details: object) -> None:
        self.problems.append(Problem(key, item, field, details, tuple(others)))

    def report_value(self, item: Item, field: str, path: str, found: object, expected: str) -> None:
        """Report the value at a path of attributes in a field of an item."""
        verb, described = "are" if is_plural(path) else "is", self.describe(item)
        self.report("SC101", item, field, field=path, item=described, verb=verb, found=shown(found), expected=expected)

    def describe(self, item: Item) -> str:
        """The kind and name of an item, or of what it belongs to."""
        kind, name = kind_name(item), item_name(item)
        if name or id(item) not in self._owners:
            return f"{kind} '{name}'"
        return f"a {kind} of {self.describe(self._owners[id(item)])}"

    @cached_property
    def _owners(self) -> dict[int, Item]:
        """The body of each shape and marker, by id, for messages."""
        return {id(part): body for body in self._bodies for part in (*body.shapes, *body.markers)}

    def typed(self, rows: Sequence[tuple[Any, Item]], field: str, *wanted: type) -> list[Any]:
        """The values that have the right type, each with the item that holds it; the others are reported."""
        values = [value for value, _ in rows]
        if set(map(type, values)) <= set(wanted):
            return values
        for value, owner in rows:
            if not isinstance(value, wanted):
                expected = " or ".join("None" if kind is type(None) else kind.__name__ for kind in wanted)
                self.report_value(owner, field, field, value, expected)
        return [value for value in values if isinstance(value, wanted)]

    # --- numbers --------------------------------------------------------------------------------------

    def check_numbers(
        self,
        items: Sequence[Item],
        field: str,
        values: Sequence[Any],
        allowed: NumberRange = FINITE,
        width: int = 1,
        *,
        path: str = "",
    ) -> None:
        """Check the values of a field of some items; `path` leads to the numbers, if the field holds several."""
        expected = allowed.one if width == 1 else f"{width} {allowed.several}"
        for index in _invalid_rows(values, width, allowed):
            self.report_value(items[index], field, path or field, values[index], expected)

    def check_optional(self, items: Sequence[Any], field: str, allowed: NumberRange = FINITE) -> None:
        """Check a number that may be None."""
        given = [item for item in items if getattr(item, field) is not None]
        self.check_numbers(given, field, [getattr(item, field) for item in given], allowed)

    def _check_parts(
        self,
        rows: Sequence[tuple[Any, Any]],
        field: str,
        numbers: Mapping[Any, Sequence[_Number]],
        path: str = "",
    ) -> Sequence[tuple[Any, Any]]:
        """Check structs of items by a table of the numbers of each type; returns those whose type is in the table.

        `path` is where an item has the struct, by default its field.
        """
        by_type: dict[type, list[tuple[Item, Any]]] = {}
        for kind in dict.fromkeys([type(value) for _, value in rows]):
            by_type[kind] = [row for row in rows if type(row[1]) is kind]
        path = path or field
        for kind, own in by_type.items():
            if kind not in numbers:
                self.typed([(value, item) for item, value in own], field, *numbers)
                continue
            items = [item for item, _ in own]
            for number in numbers[kind]:
                values = [getattr(value, number.name) for _, value in own]
                own_path = f"{path}.{number.name}"
                self.check_numbers(items, field, values, number.allowed, number.width, path=own_path)
        return rows if by_type.keys() <= numbers.keys() else [row for row in rows if type(row[1]) in numbers]

    def check_poses(self, poses: Iterable[tuple[Item, Any]], field: str = "pose", path: str = "pose") -> None:
        rows = self._check_parts([row for row in poses if row[1] is not IDENTITY], field, _POSE, path)
        rotations = [(item, pose.rotation) for item, pose in rows]
        for item, rotation in self._check_parts(rotations, field, _ROTATIONS, f"{path}.rotation"):
            if type(rotation) is Euler:
                if rotation.order not in AXIS_ORDERS:
                    self.report_value(
                        item,
                        field,
                        f"{path}.rotation.order",
                        rotation.order,
                        f"{', '.join(AXIS_ORDERS[:-1])} or {AXIS_ORDERS[-1]}",
                    )
            elif type(rotation) is Matrix and not _is_matrix(rotation.rows):
                self.report_value(item, field, f"{path}.rotation", rotation.rows, "three rows of three finite numbers")

    # --- bodies ---------------------------------------------------------------------------------------

    def check_bodies(self, bodies: Sequence[Body]) -> None:
        self.check_poses([(body, body.pose) for body in bodies])
        if len(self.typed([(body.inertia, body) for body in bodies], "inertia", Inertia)) == len(bodies):
            self._check_inertias(bodies)
        moving = [(body, body.state) for body in bodies if body.state is not None]
        states = self._check_parts(moving, "state", _STATE)
        rotations = [(body, state.finite_rotation) for body, state in states]
        self._check_parts(rotations, "state", _FINITE_ROTATION, "state.finite_rotation")
        for body in bodies:
            if body.soft is not None and self.typed([(body.soft, body)], "soft", SoftBody):
                self._check_soft_body(body, body.soft)
        markers = self.typed([(marker, body) for body in bodies for marker in body.markers], "markers", Marker)
        self.check_numbers(markers, "offset", [marker.offset for marker in markers], width=3)
        self.check_numbers(markers, "quaternion", [marker.quaternion for marker in markers], width=4)
        self.check_numbers(markers, "size", [marker.size for marker in markers], NOT_NEGATIVE, width=3)
        self._check_colors([marker for marker in markers if marker.color is not None])
        shapes = [(shape, body) for body in bodies for shape in body.visuals]
        self._check_shapes(self.typed(shapes, "visuals", Shape))
        shapes = [(shape, body) for body in bodies for shape in body.collisions]
        self._check_shapes(self.typed(shapes, "collisions", Shape))

    def _check_inertias(self, bodies: Sequence[Body]) -> None:
        inertias = [body.inertia for body in bodies]
        self.check_numbers(bodies, "inertia", [one.mass for one in inertias], NOT_NEGATIVE, path="mass")
        given = [body for body in bodies if body.inertia.com is not None]
        self.check_numbers(given, "inertia", [body.inertia.com for body in given], width=3, path="com")
        given = [body for body in bodies if body.inertia.moment is not None]
        self.check_numbers(given, "inertia", [body.inertia.moment for body in given], width=6, path="moment")

    def _check_soft_body(self, body: Body, soft: SoftBody) -> None:
        self.check_numbers([body], "soft", [soft.total_mass], NOT_NEGATIVE, path="soft.total_mass")
        for name in ("vertex_stiffness", "edge_stiffness", "damping"):
            self.check_numbers([body], "soft", [getattr(soft, name)], path=f"soft.{name}")
        self.check_poses([(body, soft.pose)], "soft", "soft.pose")
        cut = self.typed([(soft.tessellation, body)], "soft", Tessellation)
        geometry = [] if soft.geometry is None else [(body, soft.geometry)]
        if len(self._check_parts(geometry, "soft", _SOFT_SIZES, "soft.geometry")) == len(geometry) and cut:
            counts = (*soft.tessellation.fragments, *attrgetter("slices", "stacks", "rings")(cut[0]))
            if _invalid_rows(counts, 1, NOT_NEGATIVE) or not 0 <= soft.point_count <= _MOST_POINTS:
                self.report_value(body, "soft", "soft.tessellation", counts, f"at most {_MOST_POINTS} points")

    # --- shapes ---------------------------------------------------------------------------------------

    def _check_shapes(self, shapes: Sequence[Shape]) -> None:
        self.check_poses([(shape, shape.pose) for shape in shapes])
        self._check_colors([shape for shape in shapes if shape.color is not None])
        self.check_optional(shapes, "friction", NOT_NEGATIVE)
        self.check_optional(shapes, "restitution")
        self._check_materials([(shape, shape.material) for shape in shapes if shape.material is not None])
        valid: set[int] = set()
        for shape, geometry in self._check_parts([(shape, shape.geometry) for shape in shapes], "geometry", _SIZES):
            if type(geometry) is TriMesh:
                if id(geometry) not in valid and self._check_triangles(shape, geometry):
                    valid.add(id(geometry))  # thousands of shapes may share it
            elif type(geometry) is MultiSphere:
                balls = [(shape, ball) for ball in geometry.spheres]
                self._check_parts(balls, "geometry", _BALL_SIZES, "geometry.spheres")
            elif type(geometry) is Plane and geometry.normal == (0.0, 0.0, 0.0):
                self.report_value(shape, "geometry", "geometry.normal", geometry.normal, "a direction")

    def _check_materials(self, rows: Sequence[tuple[Shape, Material]]) -> None:
        known = self._check_parts(rows, "material", {Material: ()}) if rows else ()
        for name in ("roughness", "metalness") if rows else ():
            given = [(shape, value) for shape, one in known if (value := getattr(one, name)) is not None]
            shapes, values = [shape for shape, _ in given], [value for _, value in given]
            self.check_numbers(shapes, "material", values, FRACTION, path=f"material.{name}")
        images = [(shape, one.texture) for shape, one in known if one.texture is not None]
        for shape, image in self._check_parts(images, "material", _TEXTURE, "material.texture"):
            if not isinstance(image.uri, str) or not image.uri.strip():
                self.report_value(shape, "material", "material.texture.uri", image.uri, "the name of a file")

    def _check_colors(self, shapes: Sequence[Shape | Marker]) -> None:
        colors = [shape.color for shape in shapes]
        self.check_numbers(shapes, "color", colors, width=4)
        for index in _invalid_rows(colors, 4, FRACTION):
            item, found = self.describe(shapes[index]), shown(colors[index])
            self.report("SC107", shapes[index], "color", item=item, found=found)

    def _check_triangles(self, shape: Shape, mesh: TriMesh) -> bool:
        """Report what is wrong with a mesh; returns whether it is valid."""
        vertices, triangles = np.asarray(mesh.vertices), np.asarray(mesh.triangles)
        if vertices.ndim != 2 or vertices.shape[1:] != (3,) or vertices.dtype.kind not in "fiu":
            self.report_value(shape, "geometry", "geometry.vertices", vertices.shape, "rows of 3 numbers")
        elif not np.isfinite(vertices).all():
            self.report_value(shape, "geometry", "geometry.vertices", "not finite", "finite numbers")
        elif triangles.ndim != 2 or triangles.shape[1:] != (3,) or triangles.dtype.kind not in "iu":
            self.report_value(shape, "geometry", "geometry.triangles", triangles.shape, "rows of 3 vertex numbers")
        else:
            outside = triangles[(triangles < 0) | (triangles >= len(vertices))]
            if not outside.size:
                return self._check_texture_coordinates(shape, mesh)
            item = self.describe(shape)
            self.report("SC105", shape, "geometry", item=item, index=int(outside[0]), count=len(vertices))
        return False

    def _check_texture_coordinates(self, shape: Shape, mesh: TriMesh) -> bool:
        """Report what is wrong with the texture coordinates of a mesh; returns whether they are valid."""
        if mesh.uvs is None:
            return True
        uvs, count = np.asarray(mesh.uvs), 3 * len(mesh.triangles)
        if uvs.dtype.kind not in "fiu" or (uvs.shape != (count, 2) and (uvs.size or count)):
            wanted = f"{count} rows of 2 numbers, one for each corner"
            self.report_value(shape, "geometry", "geometry.uvs", uvs.shape, wanted)
        elif not np.isfinite(uvs).all():
            self.report_value(shape, "geometry", "geometry.uvs", "not finite", "finite numbers")
        else:
            return True
        return False

    # --- joints ---------------------------------------------------------------------------------------

    def check_joints(self, joints: Sequence[Joint]) -> None:
        joints = [joint for joint in joints if self._has_valid_kind(joint)]
        self.check_poses([(joint, joint.pose) for joint in joints])
        axes = [(joint, axis) for joint in joints for axis in joint.axes]
        self.check_numbers([joint for joint, _ in axes], "axes", [axis for _, axis in axes], width=3)
        self.check_numbers(joints, "pitch", [joint.pitch for joint in joints])
        self._check_dofs([(joint, *row) for joint in joints if joint._dofs for row in enumerate(joint._dofs)])
        self._check_drives([(joint, drive) for joint in joints for drive in joint.drives])
        self._check_mimics([(joint, joint.mimic) for joint in joints if joint.mimic is not None])

    def _has_valid_kind(self, joint: Joint) -> bool:
        kind: Any = joint.kind
        axes: Any = joint.axes
        if not isinstance(axes, tuple | list):
            self.report_value(joint, "axes", "axes", axes, "a tuple of axes")
            return False
        is_plain = type(kind) is str and (kind, len(axes)) in PLAIN_JOINTS
        is_plain = is_plain and not (joint.swapped or joint.collapses)
        if is_plain and (joint._dofs is None or len(joint._dofs) == len(TRAITS[kind].motion)):
            return True
        problem = kind_problem(joint)
        if problem:
            self.report("SC104", joint, "kind", problem=[problem])  # a list is not shortened
        return not problem

    def _check_dofs(self, rows: Sequence[tuple[Joint, int, Dof]]) -> None:
        """Check the numbers of degrees of freedom, each with its joint and index."""
        if len(self.typed([(dof, joint) for joint, _, dof in rows], "dofs", Dof)) != len(rows):
            return
        numbers = [_dof_numbers(dof) for _, _, dof in rows]
        for row in _invalid_rows(numbers, len(_DOF_NUMBERS), FINITE):
            joint, index, dof = rows[row]
            for name in _DOF_NUMBERS:
                self.check_numbers([joint], "dofs", [getattr(dof, name)], path=f"dofs[{index}].{name}")
        for row in _invalid_rows([dof.armature for _, _, dof in rows], 1, NOT_NEGATIVE):
            joint, index, dof = rows[row]
            self.check_numbers([joint], "dofs", [dof.armature], NOT_NEGATIVE, path=f"dofs[{index}].armature")
        limits = [pair for _, _, dof in rows for pair in _dof_limits(dof)]
        distinct = list({id(pair): pair for pair in limits}.values())  # most are unlimited
        for row in _invalid_rows(limits, 2, NOT_NAN) if _invalid_rows(distinct, 2, NOT_NAN) else ():
            joint, index, _ = rows[row // len(DOF_LIMITS)]
            path = f"dofs[{index}].{DOF_LIMITS[row % len(DOF_LIMITS)]}"
            self.report_value(joint, "dofs", path, limits[row], "2 numbers")

    def _check_drives(self, rows: Sequence[tuple[Joint, Drive]]) -> None:
        if len(self.typed([(drive, joint) for joint, drive in rows], "drives", Drive)) != len(rows):
            return
        for name in Drive.__struct_fields__ if rows else ():
            given = [(joint, value) for joint, drive in rows if (value := getattr(drive, name)) is not None]
            joints, values = [joint for joint, _ in given], [value for _, value in given]
            self.check_numbers(joints, "drives", values, NOT_NAN if name in STOPS else FINITE, path=f"drives.{name}")

    def _check_mimics(self, rows: Sequence[tuple[Joint, Mimic]]) -> None:
        for joint, mimic in self._check_parts(rows, "mimic", _MIMIC):
            if mimic.joint == joint.name:
                self.report("SC106", joint, "mimic", joint=joint.name)


_POSE = {Pose: (_Number("position", 3),)}


def _is_matrix(rows: Any) -> bool:
    return isinstance(rows, tuple | list) and len(rows) == 3 and not _invalid_rows(rows, 3, FINITE)


def shown(value: object) -> str:
    """A value for a message: numbers in short form."""
    if isinstance(value, float | np.floating):
        return f"{value:.6g}"
    if isinstance(value, tuple | list):
        return f"({', '.join(map(shown, value))})"
    return repr(value) if isinstance(value, str) else str(value)


def kind_problem(joint: Joint) -> str:
    """What does not match the kind of a joint; empty if everything does."""
    if joint.kind not in tuple(TRAITS):  # a tuple, because the value may not be hashable
        return f"joint {joint.name!r} has the unknown kind {joint.kind!r}"
    wanted = TRAITS[joint.kind].axes
    if joint.kind in ("planar", "translational2d"):
        wanted = 2 if joint.plane == "arbitrary" else 0
        if joint.plane not in (*PLANES, "arbitrary"):
            return f"joint {joint.name!r} has the unknown plane {joint.plane!r}"
    if len(joint.axes) != wanted and not (joint.kind == "amotor" and len(joint.axes) < wanted):
        return wrong_count("axes", joint, wanted, len(joint.axes))
    if joint.kind == "euler" and joint.order not in AXIS_ORDERS:
        return f"joint {joint.name!r} has the invalid axis order {joint.order!r}"
    if joint._dofs is not None and len(joint._dofs) != len(joint.motion):
        return wrong_count("degrees of freedom", joint, len(joint.motion), len(joint._dofs))
    for name, kinds in KINDS_OF_FLAGS.items():
        if getattr(joint, name) and joint.kind not in kinds:
            return f"joint {joint.name!r} has {name}=True, which only {' and '.join(kinds)} joints may have"
    return ""
