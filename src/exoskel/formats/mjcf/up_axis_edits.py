"""Rotates the world of a document for another up axis: its content is put into a `<frame>` that is rotated.

What the document states in the frame of the world elsewhere is rotated, too: wind, the magnetic field, the poses of
mocap bodies in keyframes, and the centre of the scene.  Gravity and the states of free bodies are edited with those of
the scene.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from exoskel import spatial
from exoskel.formats.interface import SourceCopy
from exoskel.formats.mjcf.source_edits import EDITED
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
    if target in _WITHOUT_FRAMES:
        return None
    try:
        _check_elements(document)
        values = dict(_rotated_values(document, rotation))
    except (_FixedError, ValueError, UnwritableError):
        return None
    patch = Patch(document)
    tags, parents, ends = document.outline.tags, document.outline.parents, document.outline.ends
    numbers: list[int] = []
    quaternion = format_numbers(spatial.quaternion(rotation).tolist())
    for node, tag in enumerate(tags):
        numbers.append(node)
        if tag == "worldbody" and parents[node] == 0 and ends[node] > node + 1:
            patch.enclose_content(node, "frame", {"quat": quaternion})
            numbers.append(-1)
    for (node, name), value in values.items():
        patch.set_attribute(node, name, value)
    fates = {key: EDITED for key in values if key[1] in document.attributes(key[0])}
    return SourceCopy(patch.apply(), fates, source_numbers=numbers)


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
