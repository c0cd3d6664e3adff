"""Conversion of joint positions of a world to the coordinates of its output, for all joints of a kind at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from exoskel import spatial
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.pose import pose_matrices
from exoskel.spatial import Array

_ROTATION_VECTORS = ("ball", "free")
"""Joints whose rotation is a vector in their own frame, which the output may have rotated."""
_IDENTITY = np.eye(4)


class OutputCoordinates:
    """The mapping from the coordinates of a world to those of its output.

    `static` are the ids of bodies that never move, and `link_frames` the frames of links in their bodies, by id.
    """

    def __init__(
        self,
        joints: Sequence[Joint],
        others: Sequence[Joint],
        counterparts: Mapping[int, Item],
        static: Collection[int],
        link_frames: Mapping[int, Array],
    ) -> None:
        self.link_frames = link_frames
        places = dict(zip(map(id, others), _first_coordinates(others), strict=True))
        self._static: list[int] = []
        self._lost: list[int] = []
        self._lost_there: list[int] = []
        self._from: list[int] = []
        self._to: list[int] = []
        rotated: list[tuple[Joint, Joint, int, int]] = []
        for joint, first in zip(joints, _first_coordinates(joints), strict=True):
            own = range(first, first + joint.dof_count)
            other = counterparts.get(id(joint))
            if id(joint.child) in static:
                self._static += own
                continue
            there = places[id(other)] if isinstance(other, Joint) else 0
            if not isinstance(other, Joint) or other.dof_count != joint.dof_count:
                self._lost += own
                self._lost_there += range(there, there + other.dof_count) if isinstance(other, Joint) else ()
                continue
            self._from += own[::-1] if joint.swapped != other.swapped and joint.dof_count == 2 else own
            self._to += range(there, there + joint.dof_count)
            if joint.kind == other.kind and joint.kind in _ROTATION_VECTORS:
                rotated.append((joint, other, first, there))
        self._rotated = [
            self._frame_changes([one for one in rotated if one[0].kind == kind]) for kind in _ROTATION_VECTORS
        ]

    def _frame_changes(self, rows: Sequence[tuple[Joint, Joint, int, int]]) -> tuple[Array, list[int], list[int]]:
        """The changes of joint frames, where they differ, and the first coordinates of these joints on both sides."""
        if not rows:
            return np.empty((0, 4, 4)), [], []
        frames, theirs = (pose_matrices([row[side].pose for row in rows]) for side in (0, 1))  # type: ignore[union-attr]
        frames_of_links = np.array([self.link_frames.get(id(row[0].child), _IDENTITY) for row in rows])
        changes = spatial.inverse(theirs) @ spatial.inverse(frames_of_links) @ frames
        changed = np.flatnonzero((changes != _IDENTITY).any(axis=(1, 2))).tolist()
        return changes[changed], [rows[i][2] for i in changed], [rows[i][3] for i in changed]

    def convert(self, positions: Array, initial: Array, there: Array) -> tuple[Array, Array]:
        """Configurations, one per row, in the coordinates of both sides.

        Coordinates that the other side does not have are zero, and static ones at their `initial` positions.  `there`
        are the positions of the output that no coordinate of the world maps to.
        """
        mine, theirs = positions.copy(), np.tile(there, (len(positions), 1))
        theirs[:, self._to] = positions[:, self._from]
        for kind, (changes, first, other) in zip(_ROTATION_VECTORS, self._rotated, strict=True):
            if len(changes):
                wide = np.arange(3 if kind == "ball" else 6)
                rows = positions[:, np.array(first)[:, None] + wide]
                theirs[:, np.array(other)[:, None] + wide] = _in_changed_frames(changes, rows)
        mine[:, self._lost] = 0.0
        theirs[:, self._lost_there] = 0.0
        mine[:, self._static] = initial[self._static]
        return mine, theirs


def _first_coordinates(joints: Sequence[Joint]) -> list[int]:
    """The numbers of the first coordinates of joints."""
    found: list[int] = []
    at = 0
    for joint in joints:
        found.append(at)
        at += joint.dof_count
    return found


def _in_changed_frames(changes: Array, rows: Array) -> Array:
    """Rotation vectors, and translations if any, `(configurations, joints, 3 or 6)`, in changed joint frames."""
    along = rows[..., 3:] if rows.shape[-1] > 3 else np.zeros(3)
    moved = changes @ spatial.transform(spatial.exp(rows[..., :3]), along) @ spatial.inverse(changes)
    return np.concatenate([spatial.log(moved[..., :3, :3]), moved[..., : rows.shape[-1] - 3, 3]], axis=-1)
