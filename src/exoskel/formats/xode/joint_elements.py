"""Writes the joints of XODE: links, anchor, axes and ODE parameters, in the root frame in the initial state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from math import inf

import numpy as np

from exoskel.diagnostics import printable
from exoskel.formats.xode.codes import CATALOGUE
from exoskel.formats.xode.joints import are_parallel
from exoskel.formats.xode.vocabulary import ANCHORED, AXIS_COUNT, DRIVE_ATTRIBUTES, JOINT_KINDS
from exoskel.scene.body import Body
from exoskel.scene.joint import UNLIMITED, Drive, Joint
from exoskel.scene.kinematics import Kinematics
from exoskel.scene.model import Model
from exoskel.scene.pose import Vector, vector_from_array
from exoskel.source.losses import loss
from exoskel.source.markup import Markup, UnwritableError, format_number
from exoskel.source.output_context import OutputContext
from exoskel.spatial import Array, lengths, unit, without_noise

NATIVE: dict[str, str] = {"euler": "ball", **{kind: type for type, kind in JOINT_KINDS.items()}}
"""The XODE joint types by joint kind.  All other kinds are written as an amotor without force.  It constrains nothing
and connects the bodies, so that they stay in one model."""

_AMOTOR_AXES: tuple[Vector, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_TWO_AXES = ("universal", "hinge2")
_CHAIN_ERRORS = 16.0
"""How much larger the rounding errors of a chain of poses are than those of one."""
_NUDGE = 1e-12
"""In rad: far below the tolerance of a certificate."""


def _require_two_directions(joint: Joint, axes: Sequence[Vector]) -> None:
    """Raise UnwritableError for a hinge2 that readers of XODE ignore."""
    if are_parallel(*axes):
        raise UnwritableError(
            f"the axes of the hinge2 joint '{printable(joint.name)}' are parallel, which ODE does not allow: "
            "give them different directions, or use a universal joint"
        )


class XodeJointWriter:
    def __init__(
        self,
        names: dict[int, str],
        places: dict[int, Array],
        kinematics: Kinematics,
        models: Sequence[Model],
        unique: Callable[[str, str], str],
        output: OutputContext,
    ) -> None:
        self.names = names
        self.output = output
        self.places = places
        self.unique = unique
        tree = [joint for model in models for joint in model.joints if not joint.loop]
        self.from_parent = dict(zip(map(id, tree), kinematics.from_parent, strict=True))
        children = np.array([places[id(joint.child)] for joint in tree]).reshape(-1, 4, 4)
        self.frames = dict(zip(map(id, tree), children @ kinematics.from_child, strict=True))
        written = [joint for model in models for joint in model.joints if joint.loop or not model.static]
        self.anchors = self._compute_anchors([joint for joint in written if _kind(joint) in ANCHORED])
        self.axes = self._compute_axes([joint for joint in written if joint.kind in NATIVE])

    def joint(self, joint: Joint, model: Model) -> Markup | None:
        """The element of a joint, or None for a free joint to the world, which XODE does not have."""
        if model.static and not joint.loop:
            return self._fixed_joint(joint)
        if joint.kind == "free" and joint.parent is None:
            return None
        kind = _kind(joint)
        element = Markup("joint", {"name": self.unique(joint.name, "joint")}, item=joint)
        parent_first = _is_parent_first(joint)
        ends = [joint.child, joint.parent]
        for tag, body in zip(("link1", "link2"), reversed(ends) if parent_first else ends, strict=True):
            if body is not None:
                element.add(tag, body=self.names[id(body)])
        inner = element.add(kind)
        if kind in ANCHORED:
            x, y, z = self.anchors[id(joint)]
            inner.add("anchor", x=format_number(x), y=format_number(y), z=format_number(z), absolute="true")
        axes, drives = self._axes_and_drives(joint, kind)
        if kind == "hinge2":
            _require_two_directions(joint, axes)
        if kind == "hinge2" and self.output.target == "pyode":
            self._adapt_hinge2(joint, axes, joint.child if parent_first else joint.parent)
        for axis, drive in zip(axes, drives, strict=True):
            inner.children.append(_axis(axis, drive))
        return element

    def _adapt_hinge2(self, joint: Joint, axes: list[Vector], second: Body | None) -> None:
        """Adapt a hinge2 for PyODE: ODE aborts if it has a single body, or if its axes are parallel.

        PyODE sets the first axis while the second is still ODE's default, the y axis of the second body.  A first
        axis that is parallel to it is rotated by the smallest angle that ODE distinguishes.
        """
        if second is None:
            self.output.rejected.append(loss(joint, CATALOGUE["X922"], "kind"))
            return
        default = self.places[id(second)][:3, 1]
        if np.abs(np.cross(axes[0], default)).max() < _NUDGE:
            perpendicular = unit(np.cross(axes[0], axes[1]))
            axes[0] = vector_from_array(np.array(axes[0]) + _NUDGE * perpendicular)

    def _fixed_joint(self, joint: Joint) -> Markup:
        """A fixed joint to the environment, for a body of a static model."""
        element = Markup("joint", {"name": self.unique(joint.name, "joint")}, item=joint)
        element.add("link1", body=self.names[id(joint.child)])
        element.add("fixed")
        return element

    def _frame(self, joint: Joint) -> Array:
        """The frame of the joint on the child body, in the root frame."""
        known: Array | None = self.frames.get(id(joint))
        frame: Array = self.places[id(joint.child)] @ joint.pose.matrix() if known is None else known
        return frame

    def _compute_anchors(self, joints: Sequence[Joint]) -> dict[int, list[float]]:
        """The positions of joints in the root frame, by the joints' ids.

        Rounding errors are those of the numbers that a position is computed from.  They add up along chains.
        """
        if not joints:
            return {}
        found = np.array([self._frame(joint)[:3, 3] for joint in joints])
        bodies = np.array([self.places[id(joint.child)][:3, 3] for joint in joints])
        scales = lengths(bodies) + lengths([joint.pose.position for joint in joints])
        return dict(zip(map(id, joints), without_noise(found, _CHAIN_ERRORS * scales).tolist(), strict=True))

    def _compute_axes(self, joints: Sequence[Joint]) -> dict[int, list[Vector]]:
        """The axes of joints in the root frame, by the joints' ids."""
        sides = [side for joint in joints for side in self._sides(joint)]
        if not sides:
            return {id(joint): [] for joint in joints}
        units = unit([axis for joint in joints for axis in joint.axes])
        found = iter(without_noise((np.array(sides) @ units[:, :, None])[:, :, 0]).tolist())
        return {id(joint): [(x, y, z) for x, y, z in islice(found, len(joint.axes))] for joint in joints}

    def _sides(self, joint: Joint) -> list[Array]:
        """The orientations that the axes of a joint are in."""
        child, parent = self._frame(joint)[:3, :3], self._parent_frame(joint)[:3, :3]
        if _kind(joint) not in _TWO_AXES:
            return [child] * len(joint.axes)
        found = [child, parent] if joint.swapped else [parent, child]
        if len(joint.axes) != len(found):
            raise ValueError(f"{joint!r} needs two axes")
        # The coordinate is the first link's motion relative to the second's.
        return [-side for side in found] if _is_parent_first(joint) else found

    def _parent_frame(self, joint: Joint) -> Array:
        if joint.loop or id(joint) not in self.from_parent:
            return self._frame(joint)
        own = self.from_parent[id(joint)]
        frame: Array = own if joint.parent is None else self.places[id(joint.parent)] @ own
        return frame

    def _axes_and_drives(self, joint: Joint, kind: str) -> tuple[list[Vector], list[Drive]]:
        count = AXIS_COUNT[kind]
        if joint.kind not in NATIVE:
            return list(_AMOTOR_AXES), [Drive()] * count
        axes = self.axes[id(joint)]
        drives = self._drives(joint)
        if kind in _TWO_AXES and joint.parent is None and not joint.swapped:
            # The environment can only be the second link, so the axes are swapped.
            axes, drives = axes[::-1], drives[::-1]
        return axes[:count], drives[:count]

    def _drives(self, joint: Joint) -> list[Drive]:
        """The ODE parameters of the scene, or else stops from the position limits that are enforced."""
        if joint.drives:  # one for each axis, whatever number the scene has
            missing = len(joint.axes) - len(joint.drives)
            return [*joint.drives[: len(joint.axes)], *[Drive()] * missing]
        if not joint.limits_enforced:
            return [Drive()] * len(joint.axes)
        limits = [dof.position_limits for dof in joint._dofs or ()] or [UNLIMITED] * len(joint.motion)
        positions = joint.positions
        drives: list[Drive] = []
        for index in range(len(joint.axes)):
            low, high = limits[index] if index < len(limits) else UNLIMITED
            position = positions[index] if index < len(positions) else 0.0
            drives.append(
                Drive(
                    low_stop=None if low == -inf else low - position,
                    high_stop=None if high == inf else high - position,
                )
            )
        return drives


def _kind(joint: Joint) -> str:
    """The XODE type of a joint."""
    return NATIVE.get(joint.kind, "amotor")


def _is_parent_first(joint: Joint) -> bool:
    """Whether the parent of a joint is its first link."""
    return _kind(joint) in _TWO_AXES and not joint.swapped and joint.parent is not None


def _axis(axis: Vector, drive: Drive) -> Markup:
    attributes = {name: format_number(value) for name, value in zip("xyz", axis, strict=True)}
    for attribute, (field, _) in DRIVE_ATTRIBUTES.items():
        value = getattr(drive, field)
        if value is not None and abs(value) != inf:
            attributes[attribute] = format_number(value)
    return Markup("axis", attributes)
