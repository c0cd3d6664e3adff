"""Where everything is: the frames of a document composed, all at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from exoskel import spatial
from exoskel.formats.xode.context import Context
from exoskel.formats.xode.document_layout import DocumentFrame, DocumentLayout
from exoskel.formats.xode.transforms import NOTHING, LocalTransform, TransformReader
from exoskel.scene.pose import IDENTITY, Pose, pose_matrices
from exoskel.spatial import Array

Numbers = NDArray[np.intp]

FARTHEST = 1e300
"""In metres, and as a scale: sums and differences of such places are still numbers."""


class Frames:
    """The transforms of all frames.

    `world` are the frames in the root's outside (scale included), `scale` the scale in each; `inner` and
    `inner_scale` likewise in the body that each is inside of, where there is one.
    """

    def __init__(self, context: Context, layout: DocumentLayout) -> None:
        self.context = context
        self.layout = layout
        reader = TransformReader(context)
        self.local: list[LocalTransform] = [reader.read(frame.node) for frame in layout.frames]
        self.plain = [local.is_identity for local in self.local]
        with np.errstate(all="ignore"):  # what is not finite is told of
            self._compose(layout.frames)
            while (lost := self._beyond()).size:
                self._leave_out(lost.tolist())
                self._compose(layout.frames)

    def _beyond(self) -> Numbers:
        """Frames that are farther away, or of another scale, than numbers hold; of several in a row the first."""
        size = np.maximum(np.abs(self.world), np.abs(self.inner))
        scale = np.minimum(self.scale, self.inner_scale)
        if size.max() <= FARTHEST and scale.min() >= 1.0 / FARTHEST:
            return np.empty(0, dtype=np.intp)
        fine = (size.max(axis=(1, 2)) <= FARTHEST) & (scale >= 1.0 / FARTHEST)
        parent = np.array([frame.parent for frame in self.layout.frames])
        return np.flatnonzero(~fine & ((parent < 0) | fine[parent]))

    def _leave_out(self, numbers: list[int]) -> None:
        for number in numbers:
            frame = self.layout.frames[number]
            what, instead = f"the position or scale of the <{frame.kind}>", "its transform counts as absent"
            self.context.report("X303.overflow", frame.node.number, "transform", what=what, instead=instead)
            self.local[number], self.plain[number] = NOTHING, True

    def _compose(self, frames: list[DocumentFrame]) -> None:
        own = pose_matrices([local.pose for local in self.local])
        factor = np.array([local.scale for local in self.local])
        own[:, :3, :3] *= factor[:, None, None]
        parent = np.array([frame.parent for frame in frames])
        absolute = np.array([local.absolute for local in self.local])
        start = np.where(absolute, 0, parent)
        depth = np.array([frame.depth for frame in frames])
        body = np.array([frame.body for frame in frames])
        is_body = np.array([frame.kind == "body" for frame in frames])
        self.world, self.inner = own.copy(), own.copy()
        self.scale, self.inner_scale = factor.copy(), factor.copy()
        self.inner[is_body], self.inner_scale[is_body] = np.eye(4), 1.0
        self.breaks_out = absolute & (body >= 0) & ~is_body
        for level in range(1, int(depth.max()) + 1):
            members = np.flatnonzero(depth == level)
            self.world[members] = self.world[start[members]] @ own[members]
            self.scale[members] = self.scale[start[members]] * factor[members]
            inside = members[(body[members] >= 0) & ~is_body[members]]
            self.inner[inside] = self.inner[parent[inside]] @ own[inside]
            self.inner_scale[inside] = self.inner_scale[parent[inside]] * factor[inside]
            self.breaks_out[inside] |= self.breaks_out[parent[inside]]
        if self.breaks_out.any():
            self._break_out(np.flatnonzero(self.breaks_out), body)

    def _break_out(self, members: Numbers, body: Numbers) -> None:
        """Below an absolute transform, a place in the body follows from where both are at the start."""
        home = np.array([self.layout.bodies[number].frame for number in body[members].tolist()])
        self.inner[members] = spatial.inverse(self.rigid(home)) @ self.rigid(members)
        self.inner_scale[members] = 1.0

    def rigid(self, numbers: Numbers | list[int]) -> Array:
        """Frames in the root's outside, their scale taken out."""
        out = self.world[numbers].copy()
        out[:, :3, :3] /= self.scale[numbers][:, None, None]
        return out

    def inner_rigid(self, numbers: list[int]) -> Array:
        """Frames in their bodies, their scale taken out."""
        out = self.inner[numbers].copy()
        out[:, :3, :3] /= self.inner_scale[numbers][:, None, None]
        return out

    def pose(self, number: int) -> Pose:
        """A frame in the root's outside, as it was written if nothing around it moves it."""
        local = self.local[number]
        if local.scale == 1.0 and self.unmoved(self._start(number)):
            return local.pose
        return Pose.from_matrix(self.rigid([number])[0])

    def unmoved(self, number: int) -> bool:
        """Whether a frame is the root's outside itself: nothing in its chain moves, turns or scales."""
        while number >= 0:
            if not self.plain[number]:
                return False
            number = self._start(number)
        return True

    def _start(self, number: int) -> int:
        """The frame that a frame's transform starts from: the one around it, or the root (-1: its outside)."""
        return 0 if number > 0 and self.local[number].absolute else self.layout.frames[number].parent

    def pose_in_body(self, number: int) -> Pose:
        """A frame in its body, as it was written if nothing in between moves it."""
        local, frame = self.local[number], self.layout.frames[number]
        home = self.layout.bodies[frame.body].frame
        between = frame.parent
        while between != home and self.plain[between]:
            between = self.layout.frames[between].parent
        if between == home and local.scale == 1.0 and not self.breaks_out[number]:
            return local.pose if not local.is_identity else IDENTITY
        return Pose.from_matrix(self.inner_rigid([number])[0])

    # --- what PyODE composes differently --------------------------------------------------------------

    def report_composition(self) -> None:
        """Rotations and translations that are nested, which PyODE gets wrong."""
        moved, turned = (np.zeros(len(self.local), dtype=bool) for _ in range(2))
        for number, (frame, local) in enumerate(zip(self.layout.frames, self.local, strict=True)):
            fresh = frame.parent < 0 or local.absolute or self._starts_anew(frame)
            above_moved = not fresh and moved[frame.parent]
            above_turned = not fresh and turned[frame.parent]
            if (local.moves and above_turned) or (local.turns and above_moved):
                self.context.report("X515", frame.node.number, "transform")
            moved[number] = above_moved or local.moves
            turned[number] = above_turned or local.turns

    def _starts_anew(self, frame: DocumentFrame) -> bool:
        """Geoms of a body are placed in the body, whatever is around that."""
        above = self.layout.frames[frame.parent]
        return above.kind == "body" and frame.kind != "body"
