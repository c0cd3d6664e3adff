"""State that the parts of the SDFormat reader share: a document, its version, its tree, values and frames."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from exoskel.diagnostics import Collector
from exoskel.formats.interface import ReadOptions
from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.formats.sdf.names import WORLD
from exoskel.formats.sdf.resource_uris import local_reference
from exoskel.formats.sdf.values import POSE_EULER, POSE_QUATERNION
from exoskel.scene.body import Body
from exoskel.scene.pose import IDENTITY, Euler, Pose, Quaternion
from exoskel.scene.shape import Bounds
from exoskel.source import file_lookup
from exoskel.source.document import Document, Tree
from exoskel.source.file_lookup import FoundFile
from exoskel.source.flat_tree import Node
from exoskel.source.meshes import MeshExtents
from exoskel.source.textures import image_problem
from exoskel.source.vocabulary import ABSENT, ValueType
from exoskel.spatial import Array, array, inverse

Version = tuple[int, int]

OLDEST: Version = (1, 6)
NEWEST: Version = (1, 12)

JOINT_FRAME_AXES: Version = (1, 5)
"""Since this version an axis is expressed in the joint frame; before, in the model frame."""

FRAMES_SINCE: Version = (1, 7)
"""Since this version there are frames, and poses may be relative to them."""

REQUIRED_VERSIONS: dict[str, Version] = {
    "capsule": (1, 8),
    "ellipsoid": (1, 8),
    "screw_thread_pitch": (1, 10),
    "light_on": (1, 9),
    "mimic": (1, 11),
    "cone": (1, 11),
}
"""Elements that we write and that need a newer version than the oldest."""


_MAX_DIGITS = 9


def parse_version(text: str) -> Version:
    """A version as comparable numbers; (0, 0) if it is invalid."""
    major, _, minor = text.strip().partition(".")
    minor = minor.partition(".")[0]
    is_valid = all(part.isascii() and part.isdigit() and len(part) < _MAX_DIGITS for part in (major, minor))
    return (int(major), int(minor)) if is_valid else (0, 0)


def version_text(version: Version) -> str:
    return f"{version[0]}.{version[1]}"


# --- the context ---------------------------------------------------------------------------------------


class StatedPose(Struct, frozen=True):
    """A pose as written, and the name of the frame that it is relative to (empty: the default)."""

    pose: Pose = IDENTITY
    relative_to: str = ""


_DEFAULT_POSE = StatedPose()


class SdfContext:
    """A document being read; `number` is its index among the scene's documents."""

    def __init__(self, document: Document, options: ReadOptions, number: int = 0) -> None:
        self.document = document
        self.options = options
        self.number = number
        self.collector = Collector(CATALOGUE, document, options.strict)
        self.report = self.collector.report
        self.elements: list[Tree] = []
        self.version = (1, 6)
        self._images: dict[str, tuple[str | None, str]] = {}
        self._extents = MeshExtents(options.limits, file_lookup.confinement(document.location, options.paths))

    def value(self, kind: ValueType, name: str, node: Node) -> object:
        """The value of an element that also has attributes; ABSENT if it is empty or invalid."""
        text = self.elements[node.number].text or ""
        if not text.strip():
            return ABSENT
        value = kind.memo.get(text) or kind.value(text)
        if value is not None:
            return value
        outcome = kind.examine(text, literal=False)
        for finding in outcome.findings:
            self.report(finding.key, node.number, token=finding.token, name=name, **finding.details)
        return outcome.value

    def pose(self, owner: Node) -> StatedPose:
        """The pose that an element states."""
        node: Node | None = owner.fields.get("pose")
        if node is None:
            return _DEFAULT_POSE
        frame: str = node.fields.get("@relative_to") or node.fields.get("@frame", "")
        if node.fields.get("@rotation_format") == "quat_xyzw":
            return StatedPose(self._quaternion(node), frame)
        values = self.value(POSE_EULER, "pose", node)
        if not isinstance(values, tuple):
            return StatedPose(relative_to=frame)
        x, y, z, roll, pitch, yaw = values
        # Rotations about fixed x, y, z equal intrinsic rotations about z, y, x.
        degrees: bool = node.fields.get("@degrees", False)
        return StatedPose(Pose((x, y, z), Euler((yaw, pitch, roll), "zyx", degrees)), frame)

    def _quaternion(self, node: Node) -> Pose:
        values = self.value(POSE_QUATERNION, "pose", node)
        if not isinstance(values, tuple):
            return IDENTITY
        x, y, z, qx, qy, qz, qw = values
        if qx == qy == qz == qw == 0.0:
            self.report("SD026", node.number)
            return Pose((x, y, z))
        return Pose((x, y, z), Quaternion((qw, qx, qy, qz)))

    # --- files ----------------------------------------------------------------------------------------

    def find(self, uri: str) -> FoundFile:
        """Find a referenced file."""
        local = local_reference(uri, confine=self.options.paths.confine)
        return file_lookup.find_file(local, self.document.location, self.options.paths)

    def search_hint(self, uri: str) -> str:
        """Where a file was searched that was not found; empty if its reference says so."""
        return file_lookup.search_hint(uri, self.document.location, self.options.paths)

    def find_image(self, uri: str) -> tuple[str | None, str]:
        """The path of the image of a texture, and why it cannot be used, if so."""
        if uri not in self._images:
            path = self.find(uri).path
            within = file_lookup.confinement(self.document.location, self.options.paths)
            self._images[uri] = (None, "it was not found") if path is None else (str(path), image_problem(path, within))
        return self._images[uri]

    def extent(self, path: str) -> Bounds | str:
        """The extent of a mesh file, read once per document, or the reason why it cannot be read."""
        return self._extents.find(path)


MODEL_FRAME = "__model__"
_IDENTITY = array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])


class NamedFrame(Struct, eq=False):
    """A frame of a scope.

    `stated` is its pose relative to the frame it names, or else to `default_frame` (empty: the scope's own frame).
    `inner_transform` is applied after that: from a nested model's placement frame to its own.  The frame is attached
    to `body`, or else to the frame `attached` (empty: the scope's own frame).
    """

    name: str
    source: SdfContext
    node: int
    stated: StatedPose = StatedPose()
    default_frame: str = ""
    inner_transform: Array | None = None
    body: Body | None = None
    attached: str = ""
    fixed: bool = False
    """The frame is attached to the world."""
    attribute: str = ""
    """The attribute that names the frame it is attached to, if it has one."""
    pose_in_scope: Array | None = None


_FrameStep = tuple["NamedFrame | None", "Array | None"]
"""The base of a frame (None: the scope's own frame), and the transform between them (None: identity)."""


_Path = tuple[tuple["Scope", NamedFrame], ...]
"""From the outside to the inside: scopes, and the frames in them of the models that are nested there."""
_FoundFrame = tuple["Scope", "NamedFrame | None", _Path]
"""A scope, a frame in it (None: its own), and how it is reached."""


class Scope:
    """The frames of one model or world."""

    def __init__(self, own: str = MODEL_FRAME) -> None:
        self.own = own
        self.frames: dict[str, NamedFrame] = {}
        self.nested: dict[str, Scope] = {}
        self.merged: list[tuple[NamedFrame, Scope]] = []
        self.canonical: Body | None = None
        self.fixed = own == WORLD

    # --- poses of frames ------------------------------------------------------------------------------

    def has_frame(self, name: str) -> bool:
        return self._step_to(name) is not None

    def transform(self, name: str) -> Array:
        """The 4x4 pose of a known frame, by name, in the scope's own frame."""
        step = self._step_to(name)
        assert step is not None
        frame, between = step
        pose_in_scope = _IDENTITY if frame is None else self.place(frame)
        return pose_in_scope if between is None else pose_in_scope @ between

    def place(self, frame: NamedFrame) -> Array:
        """The 4x4 pose of a frame of this scope in the scope's own frame."""
        chain: list[tuple[NamedFrame, Array | None]] = []
        visited: set[int] = set()
        base: NamedFrame | None = frame
        while base is not None and base.pose_in_scope is None:
            if id(base) in visited:
                base.source.report("SD050.circle", base.node, name=base.name)
                break
            visited.add(id(base))
            above, between = self._step_from(base)
            chain.append((base, between))
            base = above
        at = _IDENTITY if base is None or base.pose_in_scope is None else base.pose_in_scope
        for step, between in reversed(chain):
            at = at if between is None else at @ between
            if not step.stated.pose.is_identity:
                at = at @ step.stated.pose.matrix()
            if step.inner_transform is not None:
                at = at @ step.inner_transform
            step.pose_in_scope = at
        return at

    def direct(self, frame: NamedFrame) -> Pose | None:
        """The pose as written, if it is relative to the scope's own frame; its digits are preserved."""
        base = frame.stated.relative_to or frame.default_frame
        return frame.stated.pose if base in ("", self.own) and frame.inner_transform is None else None

    def _step_from(self, frame: NamedFrame) -> _FrameStep:
        for name in (frame.stated.relative_to, frame.default_frame):
            step = self._step_to(name) if name else None
            if step is not None:
                return step
            if name and name in (frame.stated.relative_to, frame.attached):
                self._report_unknown(frame, name, "the default frame is used")
        return (None, None)

    def _report_unknown(self, frame: NamedFrame, name: str, instead: str) -> None:
        suggestion = frame.source.collector.suggestions.among(self.frames).did_you_mean(name)
        is_base = name == frame.stated.relative_to
        path, attribute = ("pose", "relative_to") if is_base else ("", frame.attribute)
        frame.source.report(
            "SD050.unknown", frame.node, path, attribute=attribute, name=name, instead=instead, suggestion=suggestion
        )

    def check(self, frame: NamedFrame) -> None:
        """Report unknown frames that a frame refers to, even if nothing refers to it."""
        self.place(frame)
        has_base = bool(frame.stated.relative_to) and self._step_to(frame.stated.relative_to) is not None
        if has_base and frame.attached and self._step_to(frame.attached) is None:
            self._report_unknown(frame, frame.attached, "it belongs to no link")

    def _step_to(self, name: str) -> _FrameStep | None:
        found = self._find(name)
        if found is None:
            return None
        scope, frame, path = found
        if not path:
            return (frame, None)
        at = _IDENTITY if frame is None else scope.place(frame)
        for outer, root in path[:0:-1]:
            at = outer.place(root) @ at
        return (path[0][1], at)

    def _find(self, name: str) -> _FoundFrame | None:
        """Search a name in this scope and in those nested in it; each part of a name is looked up once per scope."""
        waiting: list[tuple[Scope, str, _Path]] = [(self, name, ())]
        seen: set[tuple[int, str]] = set()
        while waiting:
            scope, rest, path = waiting.pop()
            if (id(scope), rest) in seen:
                continue
            seen.add((id(scope), rest))
            if rest in ("", scope.own):
                return scope, None, path
            frame = scope.frames.get(rest)
            if frame is not None:
                return scope, frame, path
            splits = list(scope._splits(rest))
            inner = [
                (scope.nested[first], tail, (*path, (scope, scope.frames[first]))) for first, tail in splits if tail
            ]
            if not splits:
                inner = [(one, rest, (*path, (scope, root))) for root, one in scope.merged if rest != one.own]
            waiting += inner[::-1]
        return None

    def _splits(self, name: str) -> Iterator[tuple[str, str]]:
        """The names of nested scopes that a name may begin with, and the rest; a scope's name may contain `::` too."""
        at = name.find("::")
        while at >= 0:
            if name[:at] in self.nested:
                yield name[:at], name[at + 2 :]
            at = name.find("::", at + 1)

    # --- bodies of frames -----------------------------------------------------------------------------

    def body(self, name: str) -> Body | str | None:
        """The body that a frame is attached to, `world`, or None."""
        scope = self
        visited: set[int] = set()
        while True:
            found = scope._find(name)
            if found is None:
                return None
            scope, frame, _ = found
            if frame is None:
                return WORLD if scope.fixed else scope.canonical
            if frame.fixed or frame.body is not None:
                return WORLD if frame.fixed else frame.body
            if id(frame) in visited:
                frame.source.report("SD050.attached", frame.node, name=frame.name)
                return None
            visited.add(id(frame))
            nested = scope.nested.get(frame.name)
            scope, name = (scope, frame.attached) if nested is None else (nested, "")

    @cached_property
    def paths(self) -> dict[int, str]:
        """The names of all bodies, including nested ones, by id; valid once all frames are known."""
        found = {id(frame.body): name for name, frame in self.frames.items() if frame.body is not None}
        for name, scope in self.nested.items():
            found |= {body: f"{name}::{path}" for body, path in scope.paths.items()}
        for _, scope in self.merged:
            found |= scope.paths
        return found

    def first_body(self) -> Body | None:
        """The default canonical link: the first link, or else that of the first nested model."""
        own = next((frame.body for frame in self.frames.values() if frame.body is not None), None)
        inner = (scope.canonical for scope in (*self.nested.values(), *(s for _, s in self.merged)))
        return own or next((body for body in inner if body is not None), None)


def relative(frame: Array, base: Array) -> Pose:
    """One frame in another, both in the same scope."""
    return Pose.from_matrix(inverse(base) @ frame)
