"""Frames by name: where links, joints, frames and nested models are, and what they go with.

A scope is a model or a world.  Every frame in it is some transform away from another one, and in the end from the
scope's own frame.  Chains of frames may be as long as the file, so they are walked, not recursed into; only
nested models are.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from exoskel.formats.sdf.context import Source, Stated
from exoskel.scene.body import Body
from exoskel.scene.pose import Pose
from exoskel.spatial import Array, array, inverse

MODEL_FRAME = "__model__"
WORLD = "world"
_IDENTITY = array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


class NamedFrame(Struct, eq=False):
    """A frame of a scope.

    `stated` is its pose in the frame it names, else in the one called `home` (empty: the scope's own).  `behind` is
    applied after that: from a nested model's placement frame to its own.  It goes with `body`, or else with the
    frame called `attached` (empty: the scope's own).
    """

    name: str
    source: Source
    node: int
    stated: Stated = Stated()
    home: str = ""
    behind: Array | None = None
    body: Body | None = None
    attached: str = ""
    fixed: bool = False
    """It goes with the world."""
    placed: Array | None = None


_Step = tuple["NamedFrame | None", "Array | None"]
"""The frame that another one is in (None: the scope's own), and a transform in between (None: none)."""


class Scope:
    """The frames of one model or world."""

    def __init__(self, own: str = MODEL_FRAME) -> None:
        self.own = own
        self.frames: dict[str, NamedFrame] = {}
        self.nested: dict[str, Scope] = {}
        self.merged: list[tuple[NamedFrame, Scope]] = []
        self.canonical: Body | None = None
        self.fixed = own == WORLD

    # --- where frames are -----------------------------------------------------------------------------

    def knows(self, name: str) -> bool:
        return self._step_to(name) is not None

    def transform(self, name: str) -> Array:
        """The 4x4 pose of the frame of that name, which has to be known, in the scope's own frame."""
        step = self._step_to(name)
        assert step is not None
        frame, between = step
        placed = _IDENTITY if frame is None else self.place(frame)
        return placed if between is None else placed @ between

    def place(self, frame: NamedFrame) -> Array:
        """The 4x4 pose of a frame of this scope in the scope's own frame."""
        chain: list[tuple[NamedFrame, Array | None]] = []
        walked: set[int] = set()
        base: NamedFrame | None = frame
        while base is not None and base.placed is None:
            if id(base) in walked:
                base.source.report("SD050.circle", base.node, name=base.name)
                break
            walked.add(id(base))
            above, between = self._step_from(base)
            chain.append((base, between))
            base = above
        at = _IDENTITY if base is None or base.placed is None else base.placed
        for step, between in reversed(chain):
            at = at if between is None else at @ between
            if not step.stated.pose.is_identity:
                at = at @ step.stated.pose.matrix()
            if step.behind is not None:
                at = at @ step.behind
            step.placed = at
        return at

    def direct(self, frame: NamedFrame) -> Pose | None:
        """The pose as written, if it is in the scope's own frame; then no digit of it need change."""
        base = frame.stated.relative_to or frame.home
        return frame.stated.pose if base in ("", self.own) and frame.behind is None else None

    def _step_from(self, frame: NamedFrame) -> _Step:
        for name in (frame.stated.relative_to, frame.home):
            step = self._step_to(name) if name else None
            if step is not None:
                return step
            if name and name in (frame.stated.relative_to, frame.attached):
                self._unknown(frame, name, "the default frame is taken")
        return (None, None)

    def _unknown(self, frame: NamedFrame, name: str, instead: str) -> None:
        suggestion = frame.source.collector.suggestions.among(self.frames).did_you_mean(name)
        frame.source.report("SD050.unknown", frame.node, name=name, instead=instead, suggestion=suggestion)

    def _step_to(self, name: str) -> _Step | None:
        if name in ("", self.own):
            return (None, None)
        frame = self.frames.get(name)
        if frame is not None:
            return (frame, None)
        inside = False
        for first, rest in self._splits(name):
            inside, inner = True, self.nested[first]
            if rest and inner.knows(rest):
                return (self.frames[first], inner.transform(rest))
        if inside:
            return None
        for root, scope in self.merged:
            if name != scope.own and scope.knows(name):
                return (root, scope.transform(name))
        return None

    def _splits(self, name: str) -> Iterator[tuple[str, str]]:
        """The names of nested scopes that a name may begin with, and what is left; a scope's own may hold `::`, too."""
        at = name.find("::")
        while at >= 0:
            if name[:at] in self.nested:
                yield name[:at], name[at + 2 :]
            at = name.find("::", at + 1)

    # --- what frames go with --------------------------------------------------------------------------

    def body(self, name: str) -> Body | str | None:
        """The link that a frame goes with, `world`, or None if there is none."""
        walked: set[int] = set()
        while True:
            if name in ("", self.own):
                return WORLD if self.fixed else self.canonical
            frame = self.frames.get(name)
            if frame is None:
                return self._body_below(name)
            if frame.fixed or frame.body is not None:
                return WORLD if frame.fixed else frame.body
            if name in self.nested:
                return self.nested[name].body("")
            if id(frame) in walked:
                frame.source.report("SD050.attached", frame.node, name=frame.name)
                return None
            walked.add(id(frame))
            name = frame.attached

    def _body_below(self, name: str) -> Body | str | None:
        splits = list(self._splits(name))
        if splits:
            found = (self.nested[first].body(rest) for first, rest in splits if rest)
            return next((body for body in found if body is not None), None)
        return next((scope.body(name) for _, scope in self.merged if scope.knows(name)), None)

    @cached_property
    def paths(self) -> dict[int, str]:
        """The names that lead to links, nested ones included, by identity; asked when all of them are known."""
        found = {id(frame.body): name for name, frame in self.frames.items() if frame.body is not None}
        for name, scope in self.nested.items():
            found |= {body: f"{name}::{path}" for body, path in scope.paths.items()}
        for _, scope in self.merged:
            found |= scope.paths
        return found

    def first_body(self) -> Body | None:
        """The link that the scope goes with when it names none: its first, else that of its first nested model."""
        own = next((frame.body for frame in self.frames.values() if frame.body is not None), None)
        inner = (scope.canonical for scope in (*self.nested.values(), *(s for _, s in self.merged)))
        return own or next((body for body in inner if body is not None), None)


def relative(frame: Array, base: Array) -> Pose:
    """One frame in another, both in the same scope."""
    return Pose.from_matrix(inverse(base) @ frame)
