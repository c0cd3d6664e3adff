"""Writes the copies that `<replicate>` makes as elements of their own, so that each can be edited."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

import numpy as np

from exoskel import spatial
from exoskel.fates import Fate, Verdict
from exoskel.formats.interface import NodeKey, SourceCopy
from exoskel.formats.mjcf.document_references import find_references, named_kind
from exoskel.formats.mjcf.shape_edits import ROTATIONS, CannotEditError
from exoskel.formats.mjcf.source_edits import EDITED
from exoskel.formats.mjcf.stated_poses import StatedPoses
from exoskel.formats.saving.changes import Changes
from exoskel.scene.body import Body
from exoskel.scene.item import Item
from exoskel.scene.joint import Joint
from exoskel.scene.world import World
from exoskel.source.document import Document
from exoskel.source.markup import RAW_TAG, Markup, UnwritableError, format_numbers
from exoskel.source.positions import Elements
from exoskel.source.splice import OverlapError, Patch
from exoskel.spatial import Array

REPLICATE = "replicate"
_ATTRIBUTES = frozenset({"count", "offset", "euler", "sep"})
_PLACED = frozenset({"body", "frame", "geom", "site", "camera"})
"""Elements whose poses are stated in the frame of a copy."""
_GENERATORS = frozenset({REPLICATE, "composite", "attach", "flexcomp"})
_MOST_COPIES = 1000
_EXPANDED = Verdict(Fate.LOWERED, "replaced by its copies, of which some were edited")


def expand_edited(document: Document, changes: Changes) -> SourceCopy | None:
    """The document with the copies of each `<replicate>` whose content was edited in its place; None without edits."""
    nodes = set(_touched(changes))
    ends = document.outline.ends
    found = [
        node
        for node, tag in enumerate(document.outline.tags)
        if tag == REPLICATE and any(node < one < ends[node] for one in nodes)
    ]
    return expand(document, found)


def expand(document: Document, replicates: Collection[int]) -> SourceCopy | None:
    """The document with the copies of some elements in their places; None if there are none, or that fails."""
    if not replicates:
        return None
    try:
        return _ReplicateExpander(document, replicates).apply()
    except (CannotEditError, OverlapError, UnwritableError, ValueError):
        return None


def _touched(changes: Changes) -> Iterator[int]:
    """The elements of what was edited, removed, or got new content."""
    items: list[Item | None] = [one for source, _ in changes.edited for one in _with_bodies(source)]
    items += [one for gone in changes.removed for one in _with_bodies(gone)]
    for one in changes.added:
        around = [one.owner, *(() if not isinstance(one.item, Joint) else (one.item.child, one.item.parent))]
        items += [changes.sources.get(id(item)) for item in around if isinstance(item, Body)]
    yield from (one.node for one in items if one is not None and not isinstance(one, World) and one.document == 0)


def _with_bodies(item: Item) -> tuple[Item | None, ...]:
    return (item, item.child, item.parent) if isinstance(item, Joint) else (item,)


class _ReplicateExpander:
    def __init__(self, document: Document, replicates: Collection[int]) -> None:
        self.document = document
        self.replicates = sorted(replicates)
        self.outline = document.outline
        self.poses = StatedPoses(document)
        self.patch = Patch(document)
        self._check()

    def _check(self) -> None:
        """Raise CannotEditError for what copies would change: references to them, and poses of default classes."""
        tags, ends = self.outline.tags, self.outline.ends
        inside = {inner for node in self.replicates for inner in range(node + 1, ends[node])}
        names = {(named_kind(self.document, node), self._name(node)) for node in inside if self._name(node)}
        for _, _, kind, name in find_references(self.document):
            if any((kind, one) in names for one in (name, *name.split())):  # MuJoCo copies what refers to copies
                raise CannotEditError
        if any(tags[node] in _GENERATORS for node in inside):
            raise CannotEditError
        for node in self.replicates:
            if not self.document.attributes(node).keys() <= _ATTRIBUTES:
                raise CannotEditError
            if any(
                tags[one] in (REPLICATE, "composite", "attach") for one in self.document.outline.ancestry(node)[:-1]
            ):
                raise CannotEditError
            placed = {tags[child] for child in self.outline.children(node)}
            stated = (child for child, tag in enumerate(tags) if tag in placed and self._is_default(child))
            if not placed <= _PLACED or any(
                {"pos", *ROTATIONS} & self.document.attributes(one).keys() for one in stated
            ):
                raise CannotEditError

    def _name(self, node: int) -> str:
        return self.document.attribute_text(node, "name")

    def _is_default(self, node: int) -> bool:
        return any(self.outline.tags[one] == "default" for one in self.outline.ancestry(node)[:-1])

    def apply(self) -> SourceCopy:
        ends = self.outline.ends
        fates: dict[NodeKey, Verdict] = {}
        numbers: list[int] = []
        node = 0
        while node < len(self.outline.tags):
            if node not in self.replicates:
                numbers.append(node)
                node += 1
                continue
            inside = range(node + 1, ends[node])
            count = self._expand(node)
            numbers += [*inside, *([-1] * len(inside) * (count - 1))]
            fates |= {(node, name): _EXPANDED for name in ("", *self.document.attributes(node))}
            for inner in inside:
                fates |= {(inner, name): EDITED for name in ("name", "pos", *ROTATIONS)}
            node = ends[node]
        kept = {key: fate for key, fate in fates.items() if not key[1] or key[1] in self.document.attributes(key[0])}
        moved = {inner for one in self.replicates for inner in range(one + 1, ends[one])}
        data = self.patch.apply()
        return SourceCopy(
            data, kept, source_numbers=numbers, removed=frozenset(self.replicates), moved=frozenset(moved)
        )

    def _expand(self, node: int) -> int:
        """Replace an element by its copies; returns their number."""
        document = self.document
        count = int(document.attribute_text(node, "count"))
        if not 1 <= count <= _MOST_COPIES:
            raise CannotEditError
        offset = [float(one) for one in (document.attribute_text(node, "offset") or "0 0 0").split()]
        step = self.poses.pose_of({"pos": format_numbers(offset), "euler": document.attribute_text(node, "euler")})
        separator, frame = document.attribute_text(node, "sep"), np.eye(4)
        copies: list[str] = []
        for number in range(count):
            suffix = f"{separator}{number:0{len(str(count))}d}"
            copies += [self._copy(child, frame, suffix) for child in self.outline.children(node)]
            frame = frame @ step
        margin = (Elements(document.scan).margin(node) or b"").decode()
        self.patch.replace(node, Markup(RAW_TAG, verbatim=f"\n{margin}".join(copies)))
        return count

    def _copy(self, node: int, frame: Array, suffix: str) -> str:
        """The text of an element with other names and in another frame."""
        span = Elements(self.document.scan).span(node)
        text = self.document.text[span.start : span.end].decode(self.document.scan.codec).replace("\r\n", "\n")
        part = Document(text.encode())
        patch = Patch(part)
        for inner in range(len(part.outline.tags)):
            if name := part.attribute_text(inner, "name"):
                patch.set_attribute(inner, "name", name + suffix)
        if "fromto" in part.attributes(0):
            ends = np.array(part.attribute_text(0, "fromto").split(), dtype=float).reshape(2, 3)
            moved = ends @ frame[:3, :3].T + frame[:3, 3]
            patch.set_attribute(0, "fromto", format_numbers(spatial.without_noise(moved).ravel().tolist()))
        elif (frame != np.eye(4)).any():
            pose = frame @ self.poses.pose(node)
            patch.set_attribute(0, "pos", format_numbers(spatial.without_noise(pose[:3, 3]).tolist()))
            for name in ROTATIONS:
                patch.remove_attribute(0, name)
            if np.abs(pose[:3, :3] - np.eye(3)).max() > 0.0:
                patch.set_attribute(0, "quat", format_numbers(spatial.quaternion(pose[:3, :3]).tolist()))
        return re.sub(r"\A\s+|\s+\Z", "", patch.apply().decode())
