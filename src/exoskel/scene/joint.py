"""Joints: their kinds, coordinates, drives and constraints."""

from __future__ import annotations

from functools import lru_cache
from math import inf
from typing import Any, Literal

from msgspec import Struct

from exoskel.diagnostics import ExoskelError
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import CheckedValue, TrackedList, checks_values, no_edits, set_field
from exoskel.scene.field_checks import ConvertedField, FieldError, NumberRows, NumberSequence, initially, numbers
from exoskel.scene.item import Item
from exoskel.scene.pose import IDENTITY, Pose, Vector
from exoskel.scene.solver_parameters import SolverParameters

JointKind = Literal[
    "weld",
    "revolute",
    "prismatic",
    "screw",
    "universal",
    "ball",
    "euler",
    "translational",
    "translational2d",
    "planar",
    "free",
    "hinge2",
    "amotor",
]
JointActuator = Literal["force", "passive", "servo", "acceleration", "velocity", "locked"]
Interval = tuple[float, float]
UNLIMITED: Interval = (-inf, inf)
DEFAULT_PITCH = 0.1

PLANES: dict[str, tuple[Vector, Vector]] = {
    "xy": ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    "yz": ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    "zx": ((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)),
}
"""The two directions of motion in each named plane, in order."""


class Traits(Struct, frozen=True):
    """The properties of a kind of joint.

    `motion` has one letter per degree of freedom: r for a rotation in rad, t for a translation in m.
    `axes` is the number of its axis vectors.  `suffixes` are appended to form the names of its coordinates.
    """

    motion: str
    axes: int = 0
    suffixes: tuple[str, ...] = ("",)


_SIX = ("_rot_x", "_rot_y", "_rot_z", "_pos_x", "_pos_y", "_pos_z")

TRAITS: dict[str, Traits] = {
    "weld": Traits("", suffixes=()),
    "revolute": Traits("r", axes=1),
    "prismatic": Traits("t", axes=1),
    "screw": Traits("r", axes=1),
    "universal": Traits("rr", axes=2, suffixes=("_1", "_2")),
    "ball": Traits("rrr", suffixes=("_x", "_y", "_z")),
    "euler": Traits("rrr", suffixes=("_x", "_y", "_z")),
    "translational": Traits("ttt", suffixes=("_x", "_y", "_z")),
    "translational2d": Traits("tt", axes=2, suffixes=("_1", "_2")),
    "planar": Traits("ttr", axes=2, suffixes=("_1", "_2", "_rot")),
    "free": Traits("rrrttt", suffixes=_SIX),
    "hinge2": Traits("rr", axes=2, suffixes=("_1", "_2")),
    "amotor": Traits("rrrttt", axes=3, suffixes=_SIX),
}
"""A hinge2 is a universal joint with a suspension along its first axis, which is not a coordinate.  An amotor
drives rotations and constrains nothing: its bodies move freely."""


@lru_cache(maxsize=256)
def coordinate_suffixes(kind: JointKind, order: str, plane: str) -> tuple[str, ...]:
    """What follows the name of a joint in the names of its coordinates.

    `order` is that of the axes of an euler joint, `plane` that of a planar joint.
    """
    if kind == "euler":
        return tuple(f"_{axis}" for axis in order)
    suffixes = TRAITS[kind].suffixes
    if kind == "planar" and plane in PLANES:
        return (f"_{plane[0]}", f"_{plane[1]}", suffixes[2])
    return suffixes


class Drive(CheckedValue, frozen=True, gc=False):
    """ODE's parameters of one axis; None if the source does not state a value: ODE's default then applies.

    Stops in rad or m, `velocity` in rad/s or m/s, reached with at most `max_force` N·m or N (0: no motor).
    `fudge_factor` reduces the force of a motor at a stop, `bounce` is the restitution of the stops, the others are
    ODE's error reduction (ERP) and softness (CFM) of axis, stops and suspension.
    """

    low_stop: float | None = None
    high_stop: float | None = None
    velocity: float | None = None
    max_force: float | None = None
    fudge_factor: float | None = None
    bounce: float | None = None
    cfm: float | None = None
    stop_erp: float | None = None
    stop_cfm: float | None = None
    suspension_erp: float | None = None
    suspension_cfm: float | None = None


class Mimic(CheckedValue, frozen=True, gc=False):
    """Follow another joint of the model: a position is `multiplier` times that of `joint`, plus `offset` (rad or m)."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


def can_mimic(kind: JointKind, leader: JointKind) -> bool:
    """Whether a joint can follow another one, coordinate by coordinate: a slide may follow a hinge, in m per rad."""
    return {kind, leader} <= {"revolute", "prismatic"} or (kind == leader and kind not in ("ball", "free", "weld"))


class Dof(Item):
    """One degree of freedom.

    Positions in rad or m, velocities, accelerations and forces in the units that follow from that;
    damping in N·m·s/rad or N·s/m, friction a Coulomb torque or force, stiffness in N·m/rad or N/m about
    the `rest` position.  `armature` is the inertia of the rotor behind the gear, in kg·m² or kg; it resists
    acceleration of this coordinate alone.  `position`, `velocity`, `acceleration` and `force` are initial values.
    Without a `name`, a degree of freedom is named after its joint.
    """

    name: str = ""
    position: float = 0.0
    velocity: float = 0.0
    acceleration: float = 0.0
    force: float = 0.0
    position_limits: ConvertedField[Interval, NumberSequence] = initially(UNLIMITED)
    velocity_limits: ConvertedField[Interval, NumberSequence] = initially(UNLIMITED)
    acceleration_limits: ConvertedField[Interval, NumberSequence] = initially(UNLIMITED)
    force_limits: ConvertedField[Interval, NumberSequence] = initially(UNLIMITED)
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    armature: float = 0.0

    @property
    def has_limits_at_infinity(self) -> bool:
        """Whether both position limits are the same infinite number, which no position reaches."""
        low, high = self.position_limits
        return low == high and abs(low) == inf


DOF_STATES = ("position", "velocity", "acceleration", "force")
DOF_LIMITS = tuple(f"{state}_limits" for state in DOF_STATES)
DOF_DYNAMICS = ("damping", "friction", "stiffness", "rest")
DOF_VALUES = (*DOF_STATES, *DOF_LIMITS, *DOF_DYNAMICS, "armature")
PRESCRIBED_ACTUATORS = ("velocity", "acceleration", "locked")
"""Actuators that move their joint regardless of forces and limits."""
STOPS = ("low_stop", "high_stop")
"""The fields of `Drive` that limit the position."""
KINDS_OF_FLAGS = {"swapped": ("universal", "hinge2"), "collapses": ("universal",)}
"""Fields that are only true for joints of some kinds."""
MOTION_FIELDS = frozenset({"pose", "axes", "order", "plane", "pitch", "swapped"})
"""The fields of a joint that, with its kind, define its motion."""


class Joint(Item):
    """A joint that connects `child` to `parent` (None: the world).

    `pose` is the joint's frame in the child body; `axes` are constant in that frame, as written, and not
    necessarily unit.  `order` names an euler joint's axes, `plane` a planar or translational2d joint's
    plane (`arbitrary`: spanned by `axes`), `pitch` a screw's travel in m per revolution.
    """

    name: str
    kind: JointKind
    child: Body
    parent: Body | None = None
    pose: Pose = IDENTITY
    axes: ConvertedField[tuple[Vector, ...], NumberRows] = initially(())
    order: str = "xyz"
    plane: str = "xy"
    pitch: float = DEFAULT_PITCH
    actuator: JointActuator = "force"
    limits_enforced: bool = True
    implicit: bool = False
    """The source has no such joint: the reader added it for a body without a joint."""
    drives: tuple[Drive, ...] = ()
    """ODE's parameters, one set per axis."""
    mimic: Mimic | None = None
    """The joint that this one follows; not supported by SKEL and XODE."""
    swapped: bool = False
    """Universal and hinge2: the second axis is fixed in the parent and the first in the child."""
    group: str = ""
    """The joint group that the source names, if any."""
    loop: bool = False
    """The joint closes a loop: it is a constraint between two bodies and has no coordinates."""
    collide_connected: bool = False
    """Whether the two bodies collide, as with MuJoCo's loops; by default connected bodies never collide."""
    collapses: bool = False
    """How DART reads a universal joint with axes that are not unit: where the result is not a rotation, the child is
    placed at its parent's frame."""
    solver: SolverParameters | None = None
    """MuJoCo's parameters of the constraints of a loop, mimic, screw or locked joint; None: as stiff as possible.

    With parameters, the constraint of a weld acts at the position of `pose`, and those of a revolute joint at the ends
    of its axis, whose middle is there.
    """
    _dofs: list[Dof] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field; a kind with another number of coordinates resets the degrees of freedom.

        A kind without `swapped` or `collapses` resets these.
        """
        traits = TRAITS.get(value) if name == "kind" and isinstance(value, str) else None
        if traits is not None and len(traits.motion) != len(self._dofs or ()):
            super().__setattr__("_dofs", None)
        super().__setattr__(name, value)
        if traits is not None:
            for flag in (flag for flag, kinds in KINDS_OF_FLAGS.items() if getattr(self, flag) and value not in kinds):
                super().__setattr__(flag, False)

    @property
    def dofs(self) -> list[Dof]:
        """The degrees of freedom, in the order of the joint's coordinates."""
        if self._dofs is None:
            with no_edits():  # reading is not an edit
                dofs = [Dof(document=self.document, node=self.node) for _ in TRAITS[self.kind].motion]
            found: list[Dof] = TrackedList(dofs)
            set_field(self, "_dofs", found)
            return found
        return self._dofs

    @property
    def dof_count(self) -> int:
        """The number of coordinates in the state; 0 for a loop."""
        return 0 if self.loop else len(TRAITS[self.kind].motion)

    @property
    def is_plain(self) -> bool:
        """Whether only forces act on it, and all its values are the defaults."""
        return self._dofs is None and not self.drives and self.actuator == "force" and self.mimic is None

    @property
    def motion(self) -> str:
        """One letter per degree of freedom: r rotates (rad), t translates (m)."""
        return TRAITS[self.kind].motion

    @property
    def dof_names(self) -> list[str]:
        """The names of the coordinates: their own, or the joint's with the kind's suffixes."""
        name, suffixes = self.name, coordinate_suffixes(self.kind, self.order, self.plane)
        if self._dofs is None:
            return [name + suffix for suffix in suffixes]
        return [dof.name or name + suffix for dof, suffix in zip(self._dofs, suffixes, strict=True)]

    @property
    def positions(self) -> tuple[float, ...]:
        """Initial positions."""
        return (0.0,) * len(self.motion) if self._dofs is None else tuple(d.position for d in self._dofs)

    @positions.setter
    def positions(self, values: NumberSequence) -> None:
        for dof, value in zip(self.dofs, self._checked("positions", values), strict=True):
            dof.position = value

    @property
    def velocities(self) -> tuple[float, ...]:
        """Initial velocities, in the conventions of the SKEL reference."""
        return (0.0,) * len(self.motion) if self._dofs is None else tuple(d.velocity for d in self._dofs)

    @velocities.setter
    def velocities(self, values: NumberSequence) -> None:
        for dof, value in zip(self.dofs, self._checked("velocities", values), strict=True):
            dof.velocity = value

    def _checked(self, field: str, values: NumberSequence) -> tuple[float, ...]:
        if not checks_values():  # a reader may have numbers that are not finite
            return tuple(values)
        try:
            return numbers(values, len(self.motion))
        except FieldError as error:
            raise ExoskelError(f"the {field} of joint {self.name!r} ({self.kind}) {error.about(field)}") from None

    def __repr__(self) -> str:
        parent = self.parent.name if self.parent else "the world"
        return f"Joint({self.name!r}, {self.kind}, {parent!r} -> {self.child.name!r})"


def erp_cfm_from_spring(stiffness: float, damping: float, step: float) -> tuple[float, float]:
    """ODE's ERP and CFM for a spring and damper and a time step in s."""
    impulse = step * stiffness + damping
    return step * stiffness / impulse, 1.0 / impulse


_LEAST_CFM = 1e-200


def spring_from_erp_cfm(erp: float, cfm: float, step: float) -> tuple[float, float]:
    """The stiffness and damping for ODE's ERP and CFM and a time step in s: the inverse of `erp_cfm_from_spring`.

    An ERP outside 0 to 1, which PyODE accepts, counts as the nearest of them: damping is not negative.  A CFM that is
    almost 0 counts as the least with a finite stiffness.
    """
    erp, cfm = min(max(erp, 0.0), 1.0), max(cfm, _LEAST_CFM)
    return erp / (step * cfm), (1.0 - erp) / cfm


def wrong_count(what: str, joint: Joint, expected: int, found: int) -> str:
    """The message about a wrong number of axes, values or degrees of freedom."""
    return f"wrong number of {what} for joint {joint.name!r} ({joint.kind}): expected {expected}, found {found}"
