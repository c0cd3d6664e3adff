"""Rigid bodies, their markers, and the soft skins of soft bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from msgspec import Struct, field

from exoskel.diagnostics import ExoskelError
from exoskel.scene.edit_tracking import CheckedValue, Tracked, TrackedList, checks_values
from exoskel.scene.field_checks import (
    ConvertedField,
    FieldError,
    NumberSequence,
    check_fields,
    initially,
    number,
    numbers,
)
from exoskel.scene.inertia import Inertia, Moment, derive_moments
from exoskel.scene.item import Item
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Vector
from exoskel.scene.shape import Box, Color, Cylinder, Ellipsoid, Shape, Sphere

_set: Any = Struct.__setattr__
"""Sets a field without advancing the clock of edits."""
SoftGeometry = Box | Sphere | Ellipsoid | Cylinder


MarkerKind = Literal["sphere", "capsule", "ellipsoid", "cylinder", "box"]
MARKER_SIZE = (0.005, 0.005, 0.005)


class Marker(Item):
    """A named frame on a body: a marker in SKEL, a site in MJCF.

    `offset` is its origin in the body frame, `quaternion` (w, x, y, z) its rotation.  Viewers of MJCF draw it as a
    shape of its `kind`, with MuJoCo's half sizes (m) and a colour.
    """

    name: str
    offset: ConvertedField[Vector, NumberSequence] = initially(ZERO)
    quaternion: ConvertedField[tuple[float, float, float, float], NumberSequence] = initially((1.0, 0.0, 0.0, 0.0))
    kind: MarkerKind = "sphere"
    size: ConvertedField[Vector, NumberSequence] = initially(MARKER_SIZE)
    color: ConvertedField[Color | None, NumberSequence | None] = initially(None)


class Tessellation(CheckedValue, frozen=True, gc=False):
    """The resolution of a soft skin: vertices along the edges for a box, slices for other shapes."""

    fragments: tuple[int, int, int] = (3, 3, 3)
    slices: int = 0
    stacks: int = 0
    rings: int = 0


class SoftBody(Item):
    """A skin of point masses around the rigid core.

    `total_mass` in kg is split equally over the points and is added to the mass of the core.
    """

    total_mass: float
    geometry: SoftGeometry | None = None
    tessellation: Tessellation = Tessellation()
    pose: Pose = IDENTITY
    vertex_stiffness: float = 1.0
    edge_stiffness: float = 1.0
    damping: float = 0.01

    @property
    def point_count(self) -> int:
        """How many point masses the skin has."""
        cut = self.tessellation
        match self.geometry:
            case Box():
                a, b, c = (n - 2 for n in cut.fragments)
                return 8 + 4 * (a + b + c) + 2 * (a * b + b * c + a * c)
            case Sphere() | Ellipsoid():
                return (cut.stacks - 1) * cut.slices + 2
            case Cylinder():
                return (cut.stacks + 1) * cut.slices + 2 * (cut.slices * (cut.rings - 1) + 1)
            case None:
                return 0


class FiniteRotation(CheckedValue, frozen=True, gc=False):
    """How ODE integrates a body's rotation: with `mode` 1 exactly, about `axis` only unless that is zero."""

    mode: int = 0
    axis: ConvertedField[Vector, NumberSequence] = initially(ZERO)


class BodyState(Tracked, gc=False):
    """The initial motion of a body as its source states it, in the root frame.

    Velocities of the body origin in m/s and rad/s.  `force` (N, at the centre of mass) and `torque` (N·m)
    act during the first step only.  A body that is not `enabled` sleeps until something collides with it.
    """

    linear_velocity: ConvertedField[Vector, NumberSequence] = initially(ZERO)
    angular_velocity: ConvertedField[Vector, NumberSequence] = initially(ZERO)
    force: ConvertedField[Vector, NumberSequence] = initially(ZERO)
    torque: ConvertedField[Vector, NumberSequence] = initially(ZERO)
    enabled: bool = True
    finite_rotation: FiniteRotation = FiniteRotation()


class Body(Item):
    """A rigid body.  `pose` is its frame in the model when all joint positions are zero."""

    name: str
    pose: Pose = IDENTITY
    inertia: Inertia = field(default_factory=Inertia)
    gravity: bool = True
    visuals: list[Shape] = field(default_factory=TrackedList)
    collisions: list[Shape] = field(default_factory=TrackedList)
    markers: list[Marker] = field(default_factory=TrackedList)
    soft: SoftBody | None = None
    state: BodyState | None = None
    """The initial motion that the source states for the body itself, besides its joint's (XODE)."""
    ignored_values: dict[str, str] | None = None
    """Values that the source states and that have no effect, such as SKEL's `self_collide`."""

    def __post_init__(self) -> None:
        if checks_values():
            check_fields(self)
        if type(self.visuals) is list:
            _set(self, "visuals", TrackedList(self.visuals))
        if type(self.collisions) is list:
            _set(self, "collisions", TrackedList(self.collisions))
        if type(self.markers) is list:
            _set(self, "markers", TrackedList(self.markers))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """All shapes, the visual ones first.  Add shapes to `visuals` or `collisions`."""
        return tuple(self.visuals + self.collisions)

    @property
    def shown_shapes(self) -> Sequence[Shape]:
        """The shapes that viewers show: the visual ones, or the collision shapes if there are none."""
        return self.visuals or self.collisions

    @property
    def mass_shapes(self) -> Sequence[Shape]:
        """The shapes that mass properties are derived from: DART uses all; otherwise collision shapes, if any."""
        if self.inertia.rule != "solid":
            return self.shapes
        return self.collisions or self.visuals

    def collision_name(self, shape: Shape) -> str:
        """The name of a collision shape for `World.collision_exempt_groups`: that of the body for the first one."""
        return self.name if self.collisions and self.collisions[0] is shape else shape.name

    @property
    def mass(self) -> float:
        """Mass in kg, without the soft skin.  Setting it recomputes a derived moment and scales that of a solid."""
        return self.inertia.mass

    @mass.setter
    def mass(self, value: float) -> None:
        value = check_mass(self.name, value)
        if self.inertia.scales and self.inertia.moment is not None and self.inertia.mass > 0.0:
            factor = value / self.inertia.mass
            xx, yy, zz, xy, xz, yz = (factor * entry for entry in self.inertia.moment)
            self.inertia.moment = (xx, yy, zz, xy, xz, yz)
        self.inertia.mass = value

    @property
    def com(self) -> Vector:
        """Centre of mass in the body frame, m.  If it is set to None, it follows the shapes."""
        return self.inertia.com_of(self.mass_shapes)

    @com.setter
    def com(self, value: NumberSequence | None) -> None:
        self.inertia.com = None if value is None else self._numbers("com", value, 3)

    @property
    def moment(self) -> Moment:
        """ixx iyy izz ixy ixz iyz about the centre of mass, body axes, kg·m².

        It is derived from the current shapes, unless the source or a program has set it.
        """
        if self.inertia.moment is not None:
            return self.inertia.moment
        xx, yy, zz, xy, xz, yz = derive_moments([(self.inertia, self.mass_shapes)]).moments[0].tolist()
        return (xx, yy, zz, xy, xz, yz)

    @moment.setter
    def moment(self, value: NumberSequence | None) -> None:
        self.inertia.moment = None if value is None else self._numbers("moment", value, 6)
        self.inertia.scales = False

    def _numbers(self, field: str, values: NumberSequence, count: int) -> Any:
        try:
            return numbers(values, count)
        except FieldError as error:
            raise ExoskelError(f"the {field} of body {self.name!r} {error}") from None

    def __repr__(self) -> str:
        return f"Body({self.name!r}, mass={self.mass:g}, shapes={len(self.visuals)}+{len(self.collisions)})"


def check_mass(name: str, mass: float) -> float:
    """The mass of a body as a float.  Raises ExoskelError, with the name of the body, if it is invalid."""
    try:
        value = number(mass)
    except FieldError as error:
        raise ExoskelError(f"the mass of body {name!r} {error}") from None
    if value < 0.0:
        raise ExoskelError(f"the mass of body {name!r} is {value}, but must not be negative")
    return value
