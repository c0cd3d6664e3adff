"""Building, copying and replacing bodies and joints, for the methods of models and worlds.

Types, lengths and values of options are checked.  The functions are called within `no_edits`, so that nothing is
checked twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from fnmatch import fnmatchcase
from typing import Any, NoReturn, TypedDict, TypeVar, get_args

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.diagnostics import ExoskelError, closest_name
from exoskel.scene.body import Body, BodyState, check_mass
from exoskel.scene.edit_tracking import TrackedList, field_setter, no_edits
from exoskel.scene.field_checks import (
    FieldError,
    NumberRows,
    NumberSequence,
    check_fields,
    direction,
    interval,
    number,
    numbers,
    vector,
)
from exoskel.scene.inertia import Inertia, Moment, volume_of
from exoskel.scene.item import NO_FIELDS, Item, qualified_name
from exoskel.scene.joint import TRAITS, Dof, Drive, Joint, JointActuator, JointKind, Mimic, wrong_count
from exoskel.scene.pose import IDENTITY, Pose, Vector
from exoskel.scene.shape import Geometry, Shape
from exoskel.scene.value_checks import PLAIN_JOINTS, kind_problem
from exoskel.spatial import Array

ItemType = TypeVar("ItemType", bound=Item)

# --- copies --------------------------------------------------------------------------------------------


def copy_body(body: Body) -> Body:
    """A copy that shares no mutable object with the original."""
    new, put = copy(body), field_setter()
    put(new, "inertia", copy(body.inertia))
    put(new, "visuals", TrackedList(map(copy, body.visuals)))
    put(new, "collisions", TrackedList(map(copy, body.collisions)))
    put(new, "markers", TrackedList(map(copy, body.markers)))
    put(new, "soft", copy(body.soft))
    put(new, "state", copy(body.state))
    put(new, "ignored_values", dict(body.ignored_values) if body.ignored_values else None)
    return new


def copy_joint(joint: Joint, bodies: dict[int, Body]) -> Joint:
    """A copy that connects the copies of its bodies, by the ids of the originals; other parents become the world."""
    new, put = copy(joint), field_setter()
    put(new, "child", bodies[id(joint.child)])
    put(new, "parent", None if joint.parent is None else bodies.get(id(joint.parent)))
    put(new, "_dofs", None if joint._dofs is None else TrackedList(map(copy, joint._dofs)))
    return new


def items_of(bodies: Iterable[Body], joints: Iterable[Joint]) -> Iterator[Item]:
    """Bodies and joints, with all that they contain."""
    for body in bodies:
        yield from (body, *body.visuals, *body.collisions, *body.markers)
        if body.soft is not None:
            yield body.soft
    for joint in joints:
        yield joint
        yield from joint._dofs or ()


class CopiedParts:
    """Copies of some bodies and of the joints between them, which belong to no file."""

    def __init__(self, bodies: Sequence[Body], joints: Sequence[Joint]) -> None:
        """Copy bodies and their joints, without loops to other bodies and without the `mimic` of other joints."""
        with no_edits():  # creating copies does not edit the originals
            copies = {id(body): copy_body(body) for body in bodies}
            self.bodies = list(copies.values())
            self.joints = [
                copy_joint(joint, copies)
                for joint in joints
                if id(joint.child) in copies and not (joint.loop and joint.parent and id(joint.parent) not in copies)
            ]
            names = {joint.name for joint in self.joints}
            for joint in self.joints:
                joint.implicit = False
                if joint.mimic is not None and joint.mimic.joint not in names:
                    joint.mimic = None
            for item in items_of(self.bodies, self.joints):
                forget_origin(item)

    def add_prefix(self, prefix: str) -> None:
        """Put a prefix before the names of bodies, joints and degrees of freedom, and in references to them."""
        if not prefix:
            return
        for body in self.bodies:
            body.name = prefix + body.name
        for joint in self.joints:
            joint.name = prefix + joint.name
            if joint.mimic is not None:
                joint.mimic = structs.replace(joint.mimic, joint=prefix + joint.mimic.joint)
            for dof in joint._dofs or ():
                dof.name = dof.name and prefix + dof.name

    def move(self, pose: Pose) -> None:
        """Place the bodies, which are given in a frame, by the pose of that frame."""
        if not pose.is_identity:
            for body in self.bodies:
                body.pose = pose @ body.pose

    def rotate_states(self, rotation: Array) -> None:
        """Rotate the initial motions that are given in the root frame."""
        rotate_states(self.bodies, rotation)


def rotate_states(bodies: Iterable[Body], rotation: Array) -> None:
    """Rotate the initial motions of bodies, which are given in the root frame."""
    if np.allclose(rotation, np.eye(3), rtol=0.0, atol=1e-15):
        return
    for body in bodies:
        if body.state is not None:
            _rotate_state(body.state, rotation)


def _rotate_state(state: BodyState, rotation: Array) -> None:
    for field in ("linear_velocity", "angular_velocity", "force", "torque"):
        setattr(state, field, tuple((rotation @ getattr(state, field)).tolist()))
    finite = state.finite_rotation
    axis: Any = tuple((rotation @ finite.axis).tolist())
    state.finite_rotation = structs.replace(finite, axis=axis)


def relative_rotation(old: Pose, new: Pose) -> Array:
    """The rotation from one pose to another, in the frame that both are given in."""
    rotation: Array = new.rotation.matrix() @ spatial.array(old.rotation.matrix()).T
    return rotation


def forget_origin(item: Item) -> None:
    """Mark an item as created by a program, not read from a file."""
    item.document, item.node, item.given, item.repaired = -1, -1, NO_FIELDS, NO_FIELDS


def bodies_below(joints: Sequence[Joint], root: Body) -> list[Body]:
    """A body and all bodies below it, parents first."""
    found = [root]
    seen = {id(root)}
    for joint in joints:  # parents come before children
        if not joint.loop and joint.parent is not None and id(joint.parent) in seen:
            seen.add(id(joint.child))
            found.append(joint.child)
    return found


def replace_fields(item: Item, new: Item, kept: Collection[str]) -> None:
    """Give an item the values of another one of its type, except for some fields and where it comes from."""
    for name in type(item).__struct_fields__:
        if name not in kept and name not in Item.__struct_fields__:
            value = getattr(new, name)
            setattr(item, name, TrackedList(value) if isinstance(value, list) else value)


# --- paths ---------------------------------------------------------------------------------------------


def matches_path(names: Sequence[str], pattern: str, *, partial: bool) -> bool:
    """Whether the names of an item and of those around it match a path such as `robot/*`.

    `*`, `?` and `[abc]` match within one name; in names, `~1` stands for a slash.  If `partial`, the path may omit the
    first names.
    """
    parts = pattern.split("/")
    if partial:
        names = names[-len(parts) :]
    if len(parts) != len(names):
        return False
    return all(fnmatchcase(qualified_name(name), part) for name, part in zip(names, parts, strict=True))


PerDof = float | NumberSequence
"""One number for all degrees of freedom, or one number for each."""


class JointOptions(TypedDict, total=False):
    """The keywords of `add_joint`, and of `add_body` for the body's joint.

    Joints with one axis or coordinate take `axis`, `position` and `velocity`; the others take `axes`, `positions` and
    `velocities`.  `limits` and the other limits are one pair for all degrees of freedom, or one pair each.  `damping`,
    `stiffness`, `friction`, `rest` and `armature` are one number, or one each.  Units are those of `Dof`.  All
    others are fields of `Joint`.
    """

    axis: NumberSequence
    axes: NumberRows
    position: float
    positions: NumberSequence
    velocity: float
    velocities: NumberSequence
    limits: NumberSequence | NumberRows
    velocity_limits: NumberSequence | NumberRows
    acceleration_limits: NumberSequence | NumberRows
    force_limits: NumberSequence | NumberRows
    damping: PerDof
    stiffness: PerDof
    friction: PerDof
    rest: PerDof
    armature: PerDof
    actuator: JointActuator
    order: str
    plane: str
    pitch: float
    mimic: Mimic | None
    drives: tuple[Drive, ...]
    swapped: bool
    group: str
    loop: bool
    collide_connected: bool
    limits_enforced: bool
    collapses: bool


_VALUES = {name: name for name in Dof.__struct_fields__} | {
    "positions": "position",
    "velocities": "velocity",
    "limits": "position_limits",
}
"""The options that are fields of degrees of freedom."""
_WITH_AXES = frozenset(kind for kind, traits in TRAITS.items() if traits.axes)
_NAMES = frozenset(JointOptions.__annotations__)
_SINGULAR = {"axis": "axes", "position": "positions", "velocity": "velocities"}


def create_joint(
    name: str, kind: JointKind, child: Body, parent: Body | None, pose: Pose, options: JointOptions
) -> Joint:
    """A joint with these options; an invalid one raises ExoskelError with the name of the joint and the option."""
    if not isinstance(kind, str) or kind not in TRAITS:
        raise ExoskelError(f"unknown joint kind {kind!r}; choose one of {', '.join(TRAITS)}")
    if not options and kind not in _WITH_AXES:
        return Joint(name=name, kind=kind, child=child, parent=parent, pose=pose)
    given: dict[str, Any] = {**options}
    if not given.keys() <= _NAMES:
        _refuse_unknown(given)
    for one in given.keys() & _SINGULAR.keys():
        several = _SINGULAR[one]
        if several in given:
            raise ExoskelError(f"joint {name!r} has both {one!r} and {several!r}; give one of them")
        value = given.pop(one)
        given[several] = (value if one == "axis" else checked_number(value, f"the {one} of joint", name),)
    axes = tuple([_checked_axis(axis, name) for axis in given.pop("axes", ())])
    values = {key: given.pop(key) for key in given.keys() & _VALUES.keys()} if given else given
    joint = Joint(name=name, kind=kind, child=child, parent=parent, pose=pose, axes=axes, **given)
    if given:
        check_fields(joint)
    problem = "" if (kind, len(axes)) in PLAIN_JOINTS else kind_problem(joint)
    if problem:
        raise ExoskelError(problem)
    if joint.mimic is not None and joint.mimic.joint == name:
        raise ExoskelError(f"joint {name!r} cannot mimic itself")
    if values:
        rows = [_per_dof(joint, key, value) for key, value in values.items()]
        fields = [_VALUES[key] for key in values]
        joint._dofs = [Dof(**dict(zip(fields, row, strict=True))) for row in zip(*rows, strict=True)]
    return joint


def _refuse_unknown(options: dict[str, Any]) -> NoReturn:
    unknown = next(key for key in options if key not in _NAMES)
    near = closest_name(unknown, sorted(_NAMES))
    hint = f"; did you mean {near!r}?" if near else ""
    raise TypeError(f"joints have no option {unknown!r}{hint}")


def _per_dof(joint: Joint, key: str, value: Any) -> Sequence[Any]:
    """An option for each degree of freedom, from one value for all or one each."""
    count = len(joint.motion)
    try:
        if key.endswith("limits"):
            row: Sequence[Any] = [interval(one) for one in (value if _is_rows(value) else [value] * count)]
        elif key in ("positions", "velocities") or np.ndim(value):
            row = numbers(value)
        else:
            row = [number(value)] * count
    except FieldError as error:
        raise ExoskelError(f"{key!r} of joint {joint.name!r} {error}") from None
    if len(row) != count:
        raise ExoskelError(wrong_count(key.replace("_", " "), joint, count, len(row)))
    return row


def _is_rows(value: Any) -> bool:
    """Whether each item of a value has several numbers."""
    is_sequence = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_sequence and not (isinstance(value, np.ndarray) and value.ndim):
        return False
    return len(value) > 0 and all(isinstance(one, Sequence | np.ndarray) and np.ndim(one) for one in value)


# --- numbers -------------------------------------------------------------------------------------------


def checked_number(value: object, what: str, name: str) -> float:
    """A finite number."""
    try:
        return number(value)
    except FieldError as error:
        raise ExoskelError(f"{what} {name!r} {error}") from None


def checked_vector(values: object, what: str, name: str) -> Vector:
    """Three numbers."""
    try:
        return vector(values)
    except FieldError as error:
        raise ExoskelError(f"{what} {name!r} {error}") from None


def _checked_axis(values: object, name: str) -> Vector:
    """Three numbers that are not all zero."""
    try:
        return direction(values)
    except FieldError as error:
        raise ExoskelError(f"the axis of joint {name!r} {error}") from None


# --- bodies -------------------------------------------------------------------------------------------

_SHAPES = (Shape, *get_args(Geometry))


def create_body(
    name: str,
    pose: Pose | None,
    *,
    mass: float | None,
    density: float | None,
    com: NumberSequence | None,
    moment: NumberSequence | None,
    shapes: Sequence[Shape | Geometry],
) -> Body:
    """A body whose shapes are both visual and collision shapes, and give the mass properties that are None."""
    if isinstance(shapes, _SHAPES) or not isinstance(shapes, Iterable):
        raise ExoskelError(f"the shapes of body {name!r} are {shapes!r}, but must be a list")
    shapes = [*shapes]
    for shape in shapes:
        if not isinstance(shape, _SHAPES):
            raise ExoskelError(f"body {name!r} has {shape!r} among its shapes; use a Shape or a geometry such as Box")
    visuals = TrackedList([s if isinstance(s, Shape) else Shape(geometry=s) for s in shapes])
    collisions = TrackedList([structs.replace(s) if isinstance(s, Shape) else Shape(geometry=s) for s in shapes])
    kilograms = _mass(name, mass, density, collisions)
    centre = None if com is None else checked_vector(com, "the centre of mass of body", name)
    entries: Moment | None = None
    if moment is not None:
        try:
            xx, yy, zz, xy, xz, yz = numbers(moment, 6)
        except FieldError as error:
            raise ExoskelError(f"the moment of inertia of body {name!r} {error}") from None
        entries = (xx, yy, zz, xy, xz, yz)
    inertia = Inertia(kilograms, centre, entries, "solid")
    return Body(name=name, pose=pose or IDENTITY, inertia=inertia, visuals=visuals, collisions=collisions)


def as_pose(at: Pose | NumberSequence, kind: str, name: str) -> Pose:
    """A pose, or a position as a pose without rotation, of an item of a kind with a name."""
    return at if isinstance(at, Pose) else Pose(checked_vector(at, f"the position of {kind}", name))


def _mass(name: str, mass: float | None, density: float | None, shapes: Sequence[Shape]) -> float:
    """The mass that is given, or that follows from a density in kg/m³ and the shapes."""
    if density is None:
        return 1.0 if mass is None else check_mass(name, mass)
    if mass is not None:
        raise ExoskelError(f"body {name!r} has both a mass and a density; give one of them")
    density = checked_number(density, "the density of body", name)
    if not density > 0.0:
        raise ExoskelError(f"the density of body {name!r} is {density}, but must be positive")
    volume = volume_of(shapes)
    if not volume > 0.0:
        raise ExoskelError(f"body {name!r} has a density but no shape with a volume; give its mass")
    return float(f"{density * volume:.15g}")  # 6.0, not 6.000000000000001
