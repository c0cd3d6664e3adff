"""State that the parts of the URDF reader share, and frames as URDF writes them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import inf, isfinite, pi
from typing import Any

import numpy as np

from exoskel import spatial
from exoskel.diagnostics import Collector
from exoskel.formats.interface import ReadOptions
from exoskel.scene.item import Names, unique_name
from exoskel.scene.joint import Interval, Joint
from exoskel.scene.pose import IDENTITY, ZERO, Euler, Pose, Vector
from exoskel.scene.shape import Bounds
from exoskel.source import file_lookup
from exoskel.source.document import Document
from exoskel.source.file_lookup import FoundFile
from exoskel.source.flat_tree import Node, invalid_fields, stated_fields
from exoskel.source.markup import Markup, format_number, format_numbers
from exoskel.source.meshes import MeshExtents
from exoskel.source.textures import image_problem
from exoskel.source.vocabulary import Element
from exoskel.spatial import Array

_ROLL_PITCH_YAW = "zyx"
"""Rotations about fixed x, y, z equal intrinsic rotations about z, y, x."""


def pose_of(origin: Node | None) -> Pose:
    """The pose of an origin element, with its angles preserved."""
    if origin is None:
        return IDENTITY
    roll, pitch, yaw = origin.fields.get("@rpy", ZERO)
    position: Vector = origin.fields.get("@xyz", ZERO)
    if roll == pitch == yaw == 0.0:
        return Pose(position)
    return Pose(position, Euler((yaw, pitch, roll), _ROLL_PITCH_YAW))


def roll_pitch_yaw(rotation: Array) -> Vector:
    # R = Rz(yaw) Ry(pitch) Rx(roll), so the transpose is Rx(-roll) Ry(-pitch) Rz(-yaw).
    roll, pitch, yaw = (-spatial.without_noise(spatial.euler_xyz(rotation.T), 1.0) + 0.0).tolist()
    return (roll, pitch, yaw)


def add_pose(element: Markup, pose: Pose, frame: Array | None = None) -> None:
    """Add an origin element for a pose that is relative to the parent of `frame`; roll, pitch, yaw are preserved."""
    rotation = pose.rotation
    if frame is None and isinstance(rotation, Euler) and rotation.angles == ZERO:
        _add(element, pose.position, ZERO)
        return
    if frame is None and isinstance(rotation, Euler) and rotation.order == _ROLL_PITCH_YAW:
        yaw, pitch, roll = rotation.in_radians
        if max(abs(roll), abs(pitch), abs(yaw)) <= pi:
            _add(element, pose.position, (roll, pitch, yaw))
            return
    add_transform(element, pose.matrix(), frame)


def add_transform(element: Markup, transform: Array, frame: Array | None = None) -> None:
    """Add an origin element for a transform that is relative to the parent of `frame`."""
    size = 0.0
    if frame is not None:
        size = float(max(np.abs(frame[:3, 3]).max(), np.abs(transform[:3, 3]).max()))
        transform = spatial.inverse(frame) @ transform
    rotation = transform[:3, :3]
    rotated = ZERO if np.array_equal(rotation, np.eye(3)) else roll_pitch_yaw(rotation)
    _add(element, spatial.without_noise(transform[:3, 3], size).tolist(), rotated)


def _add(element: Markup, xyz: Sequence[float], rpy: Sequence[float]) -> None:
    given = {name: format_numbers(values) for name, values in (("xyz", xyz), ("rpy", rpy)) if any(values)}
    if given:
        element.children.append(Markup("origin", given))


# --- the context ---------------------------------------------------------------------------------------


DOCUMENT = 0
"""A freshly read scene has one document."""

UNBOUNDED = 1e30
"""Written for an infinite limit where URDF requires a number."""


def format_bound(value: float) -> str:
    """The text of a limit, which may be infinite."""
    return format_number(value) if isfinite(value) else format_number(UNBOUNDED if value > 0.0 else -UNBOUNDED)


def range_of(lower: float, upper: float) -> Interval:
    """Limits as they were written: an end is infinite if it is exactly the number for that."""
    return (-inf if lower == -UNBOUNDED else lower, inf if upper == UNBOUNDED else upper)


def mimics_itself(joint: Joint, by_name: Mapping[str, Joint], removed: Collection[int] = ()) -> bool:
    """Whether a joint mimics itself through other joints; `removed` are the ids of joints without their mimics."""
    seen: set[str] = set()
    at: Joint | None = joint
    while at is not None and at.mimic is not None and at.name not in seen and id(at) not in removed:
        seen.add(at.name)
        at = by_name.get(at.mimic.joint)
    return at is joint


class UrdfContext:
    """State shared while one document is read."""

    def __init__(self, document: Document, options: ReadOptions, collector: Collector) -> None:
        self.document = document
        self.options = options
        self.report = collector.report
        self.suggestions = collector.suggestions
        self._images: dict[str, tuple[str | None, str]] = {}
        self._extents = MeshExtents(options.limits, file_lookup.confinement(document.location, options.paths))

    def origin(self, node: Node, rule: Element) -> dict[str, Any]:
        """The fields that all items share; `rule` is the row of the node."""
        elements = list(_elements_of_item(node, rule))
        given, repaired = stated_fields(*elements), invalid_fields(*elements)
        return {"document": DOCUMENT, "node": node.number, "given": given, "repaired": repaired}

    def name(self, node: Node, element: str, taken: Names) -> str:
        """A unique name for each element, in the order of the document."""
        found: str | None = node.fields.get("@name")
        if found is None:
            name = unique_name(f"{element}_{len(taken) + 1}", taken)
            if not node.is_invalid("@name"):
                self.report("UR106.name", node.number, element=element, name=name)
        else:
            name = unique_name(found, taken)
            if name != found:
                self.report("UR301", node.number, attribute="name", element=element, name=found, renamed=name)
        taken.add(name)
        return name

    def find_mesh(self, uri: str) -> FoundFile:
        return file_lookup.find_file(uri, self.document.location, self.options.paths)

    def search_hint(self, uri: str) -> str:
        """Where a file was searched that was not found; empty if its reference says so."""
        return file_lookup.search_hint(uri, self.document.location, self.options.paths)

    def find_image(self, uri: str) -> tuple[str | None, str]:
        """The path of the image of a texture, and what is wrong with it, if anything."""
        if uri not in self._images:
            path = self.find_mesh(uri).path
            within = file_lookup.confinement(self.document.location, self.options.paths)
            problem = "" if path is None else image_problem(path, within)
            reason = "was not found" if path is None else f"cannot be used: {problem}" if problem else ""
            self._images[uri] = (None if path is None else str(path), reason)
        return self._images[uri]

    def mesh_extent(self, path: str) -> Bounds | str:
        """The extent of a mesh file, read once per document, or the reason why it cannot be read."""
        return self._extents.find(path)


def _elements_of_item(node: Node, rule: Element) -> Iterator[tuple[Node, Element]]:
    """An element and those inside of it that state values of the same item, each with its row."""
    yield node, rule
    for name, child in rule.children.items():
        found = node.fields.get(name) if child.item is None else None
        if isinstance(found, Node):
            yield from _elements_of_item(found, child)
