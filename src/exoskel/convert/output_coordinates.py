"""Configurations of a world in the coordinates that its output has for them, all joints of a kind at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from exoskel import spatial
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.pose import pose_matrices
from exoskel.spatial import Array

_TURNING = ("ball", "free")
"""Joints whose rotation is a vector in their own frame, which may be turned in the other words."""
_UNMOVED = np.eye(4)


class OutputCoordinates:
    """Which coordinates of an output are which of a world.

    `static` are the ids of bodies that stand still, and `shifts` the frames that links have in their bodies, by id.
    """

    def __init__(
        self,
        joints: Sequence[Joint],
        others: Sequence[Joint],
        made: Mapping[int, Item],
        static: Collection[int],
        shifts: Mapping[int, Array],
    ) -> None:
        self.shifts = shifts
        places = dict(zip(map(id, others), _firsts(others), strict=True))
        self._resting: list[int] = []
        self._lost: list[int] = []
        self._lost_there: list[int] = []
        self._from: list[int] = []
        self._to: list[int] = []
        turned: list[tuple[Joint, Joint, int, int]] = []
        for joint, first in zip(joints, _firsts(joints), strict=True):
            own = range(first, first + joint.dof_count)
            other = made.get(id(joint))
            if id(joint.child) in static:
                self._resting += own
                continue
            there = places[id(other)] if isinstance(other, Joint) else 0
            if not isinstance(other, Joint) or other.dof_count != joint.dof_count:
                self._lost += own
                self._lost_there += range(there, there + other.dof_count) if isinstance(other, Joint) else ()
                continue
            self._from += own[::-1] if joint.swapped != other.swapped and joint.dof_count == 2 else own
            self._to += range(there, there + joint.dof_count)
            if joint.kind == other.kind and joint.kind in _TURNING:
                turned.append((joint, other, first, there))
        self._turned = [self._turns([one for one in turned if one[0].kind == kind]) for kind in _TURNING]

    def _turns(self, rows: Sequence[tuple[Joint, Joint, int, int]]) -> tuple[Array, list[int], list[int]]:
        """How the frames of joints that turn differ, where they do, and the first coordinates of these joints."""
        if not rows:
            return np.empty((0, 4, 4)), [], []
        frames, theirs = (pose_matrices([row[side].pose for row in rows]) for side in (0, 1))  # type: ignore[union-attr]
        shifts = np.array([self.shifts.get(id(row[0].child), _UNMOVED) for row in rows])
        changes = spatial.inverse(theirs) @ spatial.inverse(shifts) @ frames
        kept = np.flatnonzero((changes != _UNMOVED).any(axis=(1, 2))).tolist()
        return changes[kept], [rows[i][2] for i in kept], [rows[i][3] for i in kept]

    def both(self, positions: Array, start: Array, there: Array) -> tuple[Array, Array]:
        """Configurations, one a row, as both sides have them.

        What has no such coordinates is at zero, and what stands still at the `start`; `there` is where the output is
        otherwise.
        """
        mine, theirs = positions.copy(), np.tile(there, (len(positions), 1))
        theirs[:, self._to] = positions[:, self._from]
        for kind, (changes, first, other) in zip(_TURNING, self._turned, strict=True):
            if len(changes):
                wide = np.arange(3 if kind == "ball" else 6)
                rows = positions[:, np.array(first)[:, None] + wide]
                theirs[:, np.array(other)[:, None] + wide] = _turned(changes, rows)
        mine[:, self._lost] = 0.0
        theirs[:, self._lost_there] = 0.0
        mine[:, self._resting] = start[self._resting]
        return mine, theirs


def _firsts(joints: Sequence[Joint]) -> list[int]:
    """The numbers of the first coordinates of joints."""
    found: list[int] = []
    at = 0
    for joint in joints:
        found.append(at)
        at += joint.dof_count
    return found


def _turned(changes: Array, rows: Array) -> Array:
    """Rotation vectors, and perhaps translations, `(configurations, joints, 3 or 6)`, in frames that are turned."""
    along = rows[..., 3:] if rows.shape[-1] > 3 else np.zeros(3)
    moved = changes @ spatial.transform(spatial.exp(rows[..., :3]), along) @ spatial.inverse(changes)
    return np.concatenate([spatial.log(moved[..., :3, :3]), moved[..., : rows.shape[-1] - 3, 3]], axis=-1)
