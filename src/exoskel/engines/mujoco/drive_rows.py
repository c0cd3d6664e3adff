"""ODE's motors and stops as constraints of the second stage of a time step: see `impulse_step`.

ODE solves all constraints of a step at once, for the velocities at its end.  A constraint aims at a velocity, with an
impulse within bounds; its CFM lets the velocity yield in proportion to the impulse.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from math import inf
from typing import Any, Protocol

import numpy as np
from msgspec import Struct, field

from exoskel.formats.mjcf import mujoco_import
from exoskel.formats.mjcf.compile import CompiledWorld
from exoskel.formats.mjcf.model.joints import DEFAULT_ERP, stop_spring
from exoskel.scene.actuator import ROTATION_VECTORS
from exoskel.scene.joint import PRESCRIBED_ACTUATORS, UNLIMITED, Drive, Joint
from exoskel.scene.model import Model
from exoskel.spatial import Array, Indices, Mask, unit

DEFAULT_CFM = 1e-5
"""ODE's default constraint force mixing, in single precision."""


class EnforcedLimits(Struct, frozen=True):
    """Lower and upper limits of positions and velocities, `(2, nv)`; infinite where they are not enforced.

    `motor_stops` are degrees of freedom with a motor between stops, and these: steps that begin at one differ, too.
    """

    positions: Array
    velocities: Array
    motor_stops: list[tuple[int, float, float]]


class DriveAxis(Struct):
    """An axis with a motor or stops: the degree of freedom, or the two bodies between which an angular motor acts.

    `axis` is fixed in the world.  An angular motor has a constant speed and measures no angle: it is 0 at its stops.
    `slides` says that it is a slider whose stops bounce.
    """

    drive: Drive
    low: float
    high: float
    dof: int = -1
    place: int = -1
    child: int = 0
    parent: int = 0
    slides: bool = False
    axis: Array = field(default_factory=lambda: np.zeros(3))

    @property
    def acts(self) -> bool:
        return bool(self.drive.max_force) or self.low > -inf or self.high < inf

    @property
    def is_powered(self) -> bool:
        """Whether it has a motor that is on: equal stops switch it off."""
        return bool(self.drive.max_force) and self.low != self.high


_DriveRow = tuple[float, float, float, float, float]
"""A constraint: wanted velocity, lower and upper bound of its impulse, softness, and a force that acts in the step."""


class DrivenState(Protocol):
    """What constraints depend on: see `impulse_step`."""

    @property
    def data(self) -> Any: ...
    @property
    def velocities(self) -> Array: ...
    @property
    def commands(self) -> Array: ...
    @property
    def solved(self) -> Mask: ...


class Constraints(Struct, frozen=True):
    """Constraints on velocities: of degrees of freedom, then of combinations of MuJoCo's, `(combinations, nv)`.

    The `softness` is the change of velocity per impulse by which a constraint yields.  `forces` act on the degrees of
    freedom during the step, `(nv)`; None means zero forces.
    """

    dofs: Indices
    columns: Array
    wanted: Array
    low: Array
    high: Array
    softness: Array
    forces: Array | None


class _AngularMotor(Struct, frozen=True):
    """The axes of an angular motor, `(axes, 3)`, and the first degree of freedom of a tree on which it acts."""

    axes: list[DriveAxis]
    directions: Array
    dof: int


class DriveRows:
    """The axes of a world that ODE's motors drive or its stops limit."""

    def __init__(self, compiled: CompiledWorld, limits: bool | None) -> None:
        self._mujoco = mujoco_import.load()
        self._compiled, self._limits = compiled, limits
        world = compiled.world
        self._step_size = float(compiled.model.opt.timestep)
        self._erp = DEFAULT_ERP if world.erp is None else world.erp
        self._cfm = DEFAULT_CFM if world.cfm is None else world.cfm
        self._numbers = dict(zip(map(id, compiled.layout.bodies), compiled.body_ids.tolist(), strict=True))
        self.spring_dofs: list[int] = []
        """The degrees of freedom with soft stops that are equal, which are springs in MuJoCo's model."""
        found = [axis for model in world.models if not model.static for axis in self._axes_of(model)]
        self.axes = [axis for axis in found if axis.acts]
        self._single = [axis for axis in self.axes if axis.dof >= 0]
        self._angular = [axis for axis in self.axes if axis.dof < 0]
        self._motors = list(self._angular_motors())
        self._arrays = (
            np.array([axis.place for axis in self._single], dtype=np.intp),
            np.array([(axis.low, axis.high) for axis in self._single]).reshape(-1, 2).T,
            np.array([axis.is_powered for axis in self._single], dtype=bool),
        )

    def _axes_of(self, model: Model) -> Iterator[DriveAxis]:
        """The driven axes of a model."""
        coordinates = self._compiled.coordinates
        places = {
            number: (dof, place)
            for number, dof, place in zip(
                coordinates.scene.tolist(), coordinates.qvel.tolist(), coordinates.qpos.tolist(), strict=True
            )
        }
        first = sum(one.dof_count for one in self._compiled.world.models[: self._compiled.world.models.index(model)])
        for joint in model.joints:
            if joint.kind == "amotor":
                yield from self._motor_axes(joint)
            elif not joint.loop and joint.actuator not in PRESCRIBED_ACTUATORS and joint.kind not in ROTATION_VECTORS:
                for number, drive in enumerate(joint.drives[: joint.dof_count]):
                    dof, place = places[first + number]
                    low, high = self._stops(joint, number)
                    if low == high and self._is_spring(joint, number, dof):
                        self.spring_dofs.append(dof)
                        continue
                    child, parent = self._ends(joint)
                    slides = joint.kind == "prismatic" and bool(drive.bounce)
                    yield DriveAxis(drive, low, high, dof, place, child, parent, slides)
            first += joint.dof_count

    def _is_spring(self, joint: Joint, number: int, dof: int) -> bool:
        """Whether MuJoCo's model has a spring for soft stops that are equal; see `find_springs`."""
        model = self._compiled.model
        is_own = bool(joint._dofs and joint._dofs[number].stiffness)
        has_spring = bool(model.jnt_stiffness[model.dof_jntid[dof]] > 0.0)
        return has_spring and not is_own and stop_spring(joint, number) is not None

    def _stops(self, joint: Joint, number: int) -> tuple[float, float]:
        is_enforced = joint.limits_enforced if self._limits is None else self._limits
        low, high = joint._dofs[number].position_limits if joint._dofs else UNLIMITED
        return (low, high) if is_enforced and low <= high else UNLIMITED

    def _motor_axes(self, joint: Joint) -> Iterator[DriveAxis]:
        rotation = self._compiled.layout.zero_poses[id(joint.child)][:3, :3] @ joint.pose.matrix()[:3, :3]
        child, parent = self._ends(joint)
        for axis, drive in zip(joint.axes, joint.drives, strict=False):
            low, high = (-inf if drive.low_stop is None else drive.low_stop), drive.high_stop
            high = inf if high is None else high
            if self._limits is False or low > high:
                low, high = UNLIMITED
            yield DriveAxis(drive, low, high, child=child, parent=parent, axis=rotation @ unit(axis))

    def _ends(self, joint: Joint) -> tuple[int, int]:
        """MuJoCo's numbers of the child and the parent."""
        return self._numbers[id(joint.child)], 0 if joint.parent is None else self._numbers[id(joint.parent)]

    @property
    def stops(self) -> Iterator[tuple[int, float, float]]:
        """The stops of degrees of freedom."""
        return ((axis.dof, axis.low, axis.high) for axis in self._single)

    @property
    def motor_stops(self) -> list[tuple[int, float, float]]:
        """The degrees of freedom with a motor between stops, and these."""
        limited = [axis for axis in self._single if axis.is_powered and (axis.low > -inf or axis.high < inf)]
        return [(axis.dof, axis.low, axis.high) for axis in limited]

    @cached_property
    def dofs(self) -> Mask:
        """The degrees of freedom on which a motor or a stop may act, `(nv)`."""
        model = self._compiled.model
        out = np.zeros(model.nv, dtype=bool)
        out[[axis.dof for axis in self._single]] = True
        for axis in self._angular:
            for body in (axis.child, axis.parent):
                tree = int(model.body_treeid[body])
                out |= (model.dof_treeid == tree) if tree >= 0 else False
        return out

    @cached_property
    def joined_trees(self) -> Indices:
        """The number of the first tree that angular motors connect to each tree, `(ntree)`."""
        trees = self._compiled.model.body_treeid
        out = np.arange(self._compiled.model.ntree)
        for axis in self._angular:
            one, other = int(trees[axis.child]), int(trees[axis.parent])
            if one >= 0 and other >= 0:
                both = out[one], out[other]
                out[np.isin(out, both)] = min(both)
        return out

    # --- each step ------------------------------------------------------------------------------------

    def constraints(self, state: DrivenState) -> Constraints | None:
        """The constraints that MuJoCo's solver does not handle, or None."""
        found = list(self._single_rows(state))
        rows, dofs = [row for _, row in found], [dof for dof, _ in found]
        columns: list[Array] = []
        for motor in self._motors:
            if not state.solved[motor.dof]:
                own = self._motor_columns(state.data, motor)
                for axis, column, speed in zip(motor.axes, own, own @ state.data.qvel, strict=True):
                    row = self._row(axis, 0.0, axis.drive.velocity or 0.0, float(speed))
                    if row is not None and column.any():
                        columns.append(column)
                        rows.append(row)
        if not rows:
            return None
        count = len(state.data.qvel)
        across = np.array(columns).reshape(-1, count)
        wanted, low, high, softness, strengths = np.array(rows).T
        forces = None
        if strengths.any():
            forces = strengths[len(dofs) :] @ across
            forces[dofs] += strengths[: len(dofs)]
        return Constraints(np.array(dofs, dtype=np.intp), across, wanted, low, high, softness, forces)

    def _single_rows(self, state: DrivenState) -> Iterator[tuple[int, _DriveRow]]:
        """The constraints of the axes with a degree of freedom."""
        places, (low, high), is_powered = self._arrays
        positions = state.data.qpos[places]
        for number in np.flatnonzero(is_powered | (positions <= low) | (positions >= high)).tolist():
            axis = self._single[number]
            if not state.solved[axis.dof]:
                speed = self._slider_speed(state.data, axis) if axis.slides else float(state.velocities[axis.dof])
                row = self._row(axis, float(positions[number]), float(state.commands[axis.dof]), speed)
                if row is not None:
                    yield axis.dof, row

    def _angular_motors(self) -> Iterator[_AngularMotor]:
        """The angular motors that act on a body that moves."""
        model = self._compiled.model
        for (child, parent), axes in groupby(self._angular, key=lambda axis: (axis.child, axis.parent)):
            trees = [int(tree) for tree in model.body_treeid[[child, parent]] if tree >= 0]
            if trees:
                own = list(axes)
                dof = int(np.flatnonzero(model.dof_treeid == trees[0])[0])
                yield _AngularMotor(own, np.array([axis.axis for axis in own]), dof)

    def _motor_columns(self, data: Any, motor: _AngularMotor) -> Array:
        """How MuJoCo's velocities rotate the child relative to the parent about each axis."""
        model, axis = self._compiled.model, motor.axes[0]
        both = np.zeros((2, 3, model.nv))
        self._mujoco.mj_jacBody(model, data, None, both[0], axis.child)
        if axis.parent:
            self._mujoco.mj_jacBody(model, data, None, both[1], axis.parent)
        return np.asarray(motor.directions @ (both[0] - both[1]))

    def _slider_speed(self, data: Any, axis: DriveAxis) -> float:
        """The speed that ODE reflects at the stops of a slider: that of the centres of mass, as if nothing rotated."""
        model = self._compiled.model
        both = np.zeros((2, 3, model.nv))
        self._mujoco.mj_jacBodyCom(model, data, both[0], None, axis.child)
        self._mujoco.mj_jacBodyCom(model, data, both[1], None, axis.parent)
        return float(data.xaxis[model.dof_jntid[axis.dof]] @ (both[0] - both[1]) @ data.qvel)

    def _row(self, axis: DriveAxis, position: float, command: float, speed: float) -> _DriveRow | None:
        """The constraint of an axis: its motor between the stops, or a stop."""
        drive, h = axis.drive, self._step_size
        is_low, is_high = position <= axis.low, position >= axis.high
        if not (is_low or is_high):
            cfm = self._cfm if drive.cfm is None else drive.cfm
            most = (drive.max_force or 0.0) * h
            return (command, -most, most, cfm / h, 0.0) if axis.is_powered else None
        erp = self._erp if drive.stop_erp is None else drive.stop_erp
        cfm = self._cfm if drive.stop_cfm is None else drive.stop_cfm
        wanted = erp / h * ((axis.low if is_low else axis.high) - position)
        if axis.low == axis.high:
            return wanted, -inf, inf, cfm / h, 0.0
        force = _force_at_stop(drive, command, is_low) if axis.is_powered else 0.0
        rebound = -(drive.bounce or 0.0) * speed
        if is_low:
            return max(wanted, rebound), 0.0, inf, cfm / h, force
        return min(wanted, rebound), -inf, 0.0, cfm / h, force


def _force_at_stop(drive: Drive, command: float, is_low: bool) -> float:
    """At a stop, ODE's motor applies its full force; away from it, times the fudge factor."""
    most = drive.max_force or 0.0
    if command == 0.0:
        return -most if is_low else most
    factor = 1.0 if drive.fudge_factor is None else drive.fudge_factor
    is_away = (command > 0.0) == is_low
    return float(np.copysign(most * (factor if is_away else 1.0), command))


# --- springs -------------------------------------------------------------------------------------------


class OdeSprings(Struct, frozen=True):
    """The springs of ODE's suspensions and of its soft stops that are equal: degrees of freedom and places in `qpos`.

    Those of suspensions, which come first, are no coordinates of the scene.
    """

    dofs: Indices
    places: Indices
    stiffness: Array
    damping: Array
    rest: Array
    suspension_count: int

    def suspension_energy(self, qpos: Array) -> Array:
        """The energy of the suspensions, J, in one world or in many."""
        count = self.suspension_count
        stretch = qpos[..., self.places[:count]] - self.rest[:count]
        return np.asarray(0.5 * np.sum(self.stiffness[:count] * stretch**2, axis=-1))


def find_springs(compiled: CompiledWorld, coordinates: Indices, soft_stops: Sequence[int]) -> OdeSprings:
    """The springs of suspensions, which are no coordinates of the scene, and of degrees of freedom with soft stops."""
    model, kinds = compiled.model, mujoco_import.load().mjtJoint
    is_other = np.ones(model.nv, dtype=bool)
    is_other[coordinates] = False
    is_concerned = is_other.copy()
    is_concerned[list(soft_stops)] = True
    is_single = (model.jnt_type == int(kinds.mjJNT_HINGE)) | (model.jnt_type == int(kinds.mjJNT_SLIDE))
    first = np.asarray(model.jnt_dofadr)
    has_spring = is_single & (model.jnt_stiffness > 0.0) & is_concerned[first]
    if compiled.skin_springs is not None:
        has_spring &= ~np.isin(first, compiled.skin_springs.points.dofs)
    joints = np.concatenate(
        [np.flatnonzero(has_spring & is_other[first]), np.flatnonzero(has_spring & ~is_other[first])]
    )
    dofs, places = first[joints], model.jnt_qposadr[joints]
    count = int(is_other[dofs].sum())
    springs = model.jnt_stiffness[joints], model.dof_damping[dofs], model.qpos_spring[places]
    return OdeSprings(dofs, places, *springs, suspension_count=count)
