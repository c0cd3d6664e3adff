"""State that the parts of the SDFormat reader share: a document, its version, its tree, and its values."""

from __future__ import annotations

from msgspec import Struct

from exoskel.diagnostics import Collector
from exoskel.formats.interface import ReadOptions
from exoskel.formats.sdf.codes import CATALOGUE
from exoskel.formats.sdf.values import POSE_EULER, POSE_QUATERNION
from exoskel.scene.pose import IDENTITY, Euler, Pose, Quaternion
from exoskel.scene.shape import Bounds
from exoskel.source import file_lookup
from exoskel.source.document import Document, Tree
from exoskel.source.file_lookup import FoundFile
from exoskel.source.flat_tree import Node
from exoskel.source.meshes import MeshExtents
from exoskel.source.vocabulary import ABSENT, ValueType

Version = tuple[int, int]

OLDEST: Version = (1, 6)
NEWEST: Version = (1, 12)

JOINT_FRAME_AXES: Version = (1, 5)
"""Since this version an axis is expressed in the joint frame; before, in the model frame."""

REQUIRED_VERSIONS: dict[str, Version] = {
    "capsule": (1, 8),
    "ellipsoid": (1, 8),
    "screw_thread_pitch": (1, 10),
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


class Context:
    """A document being read; `number` is its index among the scene's documents."""

    def __init__(self, document: Document, options: ReadOptions, number: int = 0) -> None:
        self.document = document
        self.options = options
        self.number = number
        self.collector = Collector(CATALOGUE, document, options.strict)
        self.report = self.collector.report
        self.elements: list[Tree] = []
        self.version = (1, 6)
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
        return file_lookup.find_file(uri, self.document.location, self.options.paths)

    def extent(self, path: str) -> Bounds | str:
        """The extent of a mesh file, read once per document, or the reason why it cannot be read."""
        return self._extents.find(path)
