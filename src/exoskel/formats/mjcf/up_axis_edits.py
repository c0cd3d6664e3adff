"""Rotates the world of a document for another up axis: its content is put into a `<frame>` that is rotated.

For programs that do not read frames, the poses of what is in the world are rotated one by one.

What the document states in the frame of the world elsewhere is rotated, too: wind, the magnetic field, the poses of
mocap bodies in keyframes, and the centre of the scene.  Gravity and the states of free bodies are edited with those of
the scene.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exoskel import spatial
from exoskel.formats.interface import SourceCopy
from exoskel.formats.mjcf.shape_edits import ROTATIONS, CannotEditError
from exoskel.formats.mjcf.source_edits import EDITED
from exoskel.formats.mjcf.stated_poses import StatedPoses
from exoskel.source.document import Document
from exoskel.source.markup import UnwritableError, format_numbers
from exoskel.source.output_context import Target
from exoskel.source.splice import Patch
from exoskel.spatial import Array

_WITHOUT_FRAMES: frozenset[Target] = frozenset({"dm_control", "isaac"})
"""Programs that refuse frames, or may ignore them."""
_VECTORS = {"option": ("wind", "magnetic"), "statistic": ("center",), "key": ("mpos",)}
"""Attributes in the frame of the world: one or more vectors."""
_MAGNETIC = (0.0, -0.5, 0.0)
"""MuJoCo's default magnetic field."""
_GENERATORS = frozenset({"flexcomp", "composite"})
"""Elements that MuJoCo does not place in frames."""


class _FixedError(Exception):
    """The document depends on the axes of the world in a way that is not rotated."""


def rotate_document(document: Document, rotation: Array, target: Target) -> SourceCopy | None:
    """The document with its world rotated; None if a new document is needed."""
    is_framed = target not in _WITHOUT_FRAMES
    values: dict[tuple[int, str], str | None] = {}
    try:
        _check_elements(document)
        values |= _rotated_values(document, rotation)
        if not is_framed:
            values |= _rotated_poses(document, rotation)
    except (_FixedError, CannotEditError, ValueError, UnwritableError):
        return None
    patch = Patch(document)
    tags, parents, ends = document.outline.tags, document.outline.parents, document.outline.ends
    numbers: list[int] = []
    quaternion = format_numbers(spatial.quaternion(rotation).tolist())
    for node, tag in enumerate(tags):
        numbers.append(node)
        if is_framed and tag == "worldbody" and parents[node] == 0 and ends[node] > node + 1:
            patch.enclose_content(node, "frame", {"quat": quaternion})
            numbers.append(-1)
    for (node, name), value in values.items():
        if value is None:
            patch.remove_attribute(node, name)
        else:
            patch.set_attribute(node, name, value)
    fates = {key: EDITED for key in values if key[1] in document.attributes(key[0])}
    return SourceCopy(patch.apply(), fates, source_numbers=numbers)


def _rotated_poses(document: Document, rotation: Array) -> Iterator[tuple[tuple[int, str], str | None]]:
    """The poses of the elements in the world; None for attributes that others replace.

    Raises _FixedError for elements that MuJoCo copies, and if a default class states poses.
    """
    tags, parents = document.outline.tags, document.outline.parents
    world = [node for node, tag in enumerate(tags) if tag == "worldbody" and parents[node] == 0]
    poses, turn = StatedPoses(document), spatial.transform(rotation, np.zeros(3))
    placed = {tags[node] for node in range(len(tags)) if parents[node] in world}
    if not placed <= _PLACED:
        raise _FixedError
    for node, tag in enumerate(tags):
        if tag in placed and "default" in _tags_above(document, node) and _POSES & document.attributes(node).keys():
            raise _FixedError
    for node in (node for node in range(len(tags)) if parents[node] in world):
        stated = document.attributes(node)
        if tags[node] == "light":
            for name, default in _LIGHT.items():
                vector = np.array((document.attribute_text(node, name) or default).split(), dtype=float)
                if vector.shape != (3,):
                    raise _FixedError
                if name in stated or name == "dir":
                    yield (node, name), format_numbers(spatial.without_noise(rotation @ vector).tolist())
            continue
        if "fromto" in stated:
            ends = np.array(document.attribute_text(node, "fromto").split(), dtype=float).reshape(2, 3) @ rotation.T
            yield (node, "fromto"), format_numbers(spatial.without_noise(ends).ravel().tolist())
            continue
        pose = turn @ poses.pose(node)
        if "pos" in stated:
            yield (node, "pos"), format_numbers(spatial.without_noise(pose[:3, 3]).tolist())
        yield from (((node, name), None) for name in ROTATIONS if name in stated and name != "quat")
        yield (node, "quat"), format_numbers(spatial.quaternion(pose[:3, :3]).tolist())


def _tags_above(document: Document, node: int) -> set[str]:
    return {document.outline.tags[one] for one in document.outline.ancestry(node)}


_PLACED = frozenset({"body", "geom", "site", "camera", "light", "frame"})
"""Elements that state their poses in the world."""
_POSES = frozenset({"pos", "dir", "fromto", *ROTATIONS})
_LIGHT = {"pos": "0 0 0", "dir": "0 0 -1"}
"""The vectors of a light and their defaults."""


def _rotated_values(document: Document, rotation: Array) -> Iterator[tuple[tuple[int, str], str]]:
    tags = document.outline.tags
    for node, tag in enumerate(tags):
        for name in _VECTORS.get(tag, ()):
            if stated := document.attribute_text(node, name).split():
                vectors = np.array(stated, dtype=float).reshape(-1, 3) @ rotation.T
                yield (node, name), format_numbers((vectors + 0.0).ravel().tolist())
        if tag == "key" and (stated := document.attribute_text(node, "mquat").split()):
            yield (node, "mquat"), format_numbers(_rotated_quaternions(np.array(stated, dtype=float), rotation))
    if "magnetometer" in tags and not any("magnetic" in document.attributes(n) for n in range(len(tags))):
        options = [node for node, tag in enumerate(tags) if tag == "option"]
        if not options:
            raise _FixedError
        yield (options[-1], "magnetic"), format_numbers((rotation @ _MAGNETIC + 0.0).tolist())


def _rotated_quaternions(stated: Array, rotation: Array) -> list[float]:
    w, x, y, z = spatial.quaternion(rotation).tolist()
    product = np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])
    found: list[float] = (stated.reshape(-1, 4) @ product.T + 0.0).ravel().tolist()
    return found


def _check_elements(document: Document) -> None:
    """Raise _FixedError for elements that have coordinates in the world and are not in a body."""
    tags, parents = document.outline.tags, document.outline.parents
    for node, tag in enumerate(tags):
        if tag in _GENERATORS:
            above = parents[node]
            while tags[above] in ("frame", "replicate"):
                above = parents[above]
            if tags[above] == "worldbody":
                raise _FixedError
        elif (tag == "flex" and "world" in document.attribute_text(node, "body").split()) or (
            tag in ("connect", "weld") and _is_fixed_to_world(document, node)
        ):
            raise _FixedError


def _is_fixed_to_world(document: Document, node: int) -> bool:
    """Whether a constraint states a point or pose in the world."""
    one, other = (document.attribute_text(node, name) for name in ("body1", "body2"))
    if document.outline.tags[node] == "connect":
        return one == "world"
    has_pose = bool({"relpose", "anchor"} & document.attributes(node).keys())
    return has_pose and (one == "world" or (bool(one) and other in ("", "world")))
