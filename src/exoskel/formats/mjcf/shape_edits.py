"""Edits of shapes and markers, as edits of the attributes of geoms and sites."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

import numpy as np

from exoskel import spatial
from exoskel.scene.body import Marker
from exoskel.scene.item import Item
from exoskel.scene.shape import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from exoskel.source.document import Document
from exoskel.source.markup import format_color, format_numbers
from exoskel.spatial import Array

ROTATIONS = ("quat", "euler", "axisangle", "xyaxes", "zaxis")
"""Attributes that state a rotation."""


class CannotEditError(Exception):
    """The document cannot be edited in this way: a new one is needed."""


class AttributeEditor(Protocol):
    """What edits the attributes of elements, by their numbers."""

    document: Document

    def set(self, node: int, name: str, value: str) -> None: ...
    def set_first(self, node: int, name: str, value: float) -> None: ...
    def drop(self, node: int, *names: str) -> None: ...
    def set_pose(self, node: int, matrix: Array) -> None: ...
    def frame(self, node: int) -> Array:
        """The pose in its body of the frames around an element."""


def edit_color(editor: AttributeEditor, source: Item, item: Item) -> None:
    assert isinstance(item, Shape | Marker)
    if item.color is None:
        raise CannotEditError
    editor.set(source.node, "rgba", format_color(item.color))


def edit_friction(editor: AttributeEditor, source: Item, item: Item) -> None:
    assert isinstance(item, Shape)
    editor.set_first(source.node, "friction", 1.0 if item.friction is None else item.friction)


def edit_geometry(editor: AttributeEditor, source: Item, item: Item) -> None:
    assert isinstance(source, Shape) and isinstance(item, Shape)
    sizes, is_other = _half_sizes(item.geometry), type(item.geometry) is not type(source.geometry)
    if sizes is None or editor.document.outline.tags[source.node] != "geom":
        raise CannotEditError
    if is_other:
        if _is_in_defaults(editor.document, _OTHER_SHAPES):
            raise CannotEditError
        editor.drop(source.node, *_OTHER_SHAPES)
        editor.set(source.node, "type", _TYPES[type(item.geometry)])
    if is_other or "fromto" in editor.document.attributes(source.node):
        edit_shape_pose(editor, source, item)
    editor.set(source.node, "size", format_numbers(sizes))


_TYPES: dict[type[object], str] = {
    Box: "box",
    Sphere: "sphere",
    Ellipsoid: "ellipsoid",
    Capsule: "capsule",
    Cylinder: "cylinder",
}
_OTHER_SHAPES = ("mesh", "hfield", "fitscale")
"""Attributes of geoms that have a meaning for some shapes only."""


def _is_in_defaults(document: Document, names: Collection[str]) -> bool:
    """Whether a default class of geoms states one of some attributes."""
    tags, parents = document.outline.tags, document.outline.parents
    return any(
        tag == "geom" and tags[parents[node]] == "default" and not document.attributes(node).keys().isdisjoint(names)
        for node, tag in enumerate(tags)
    )


def edit_shape_pose(editor: AttributeEditor, source: Item, item: Item) -> None:
    assert isinstance(item, Shape)
    if "fromto" in editor.document.attributes(source.node):
        sizes = _half_sizes(item.geometry)
        if sizes is None:
            raise CannotEditError
        editor.drop(source.node, "fromto")
        editor.set(source.node, "size", format_numbers(sizes))
    editor.set_pose(source.node, item.pose.matrix())


def edit_marker_pose(editor: AttributeEditor, source: Item, item: Item) -> None:
    assert isinstance(item, Marker)
    has_ends = "fromto" in editor.document.attributes(source.node)
    if has_ends:
        editor.drop(source.node, "fromto")
        editor.set(source.node, "size", format_numbers(item.size))
    if has_ends or (editor.frame(source.node) != np.eye(4)).any():
        editor.set_pose(source.node, spatial.transform(spatial.quaternion_matrix(item.quaternion), item.offset))
        return
    editor.set(source.node, "pos", format_numbers(item.offset))
    if isinstance(source, Marker) and source.quaternion != item.quaternion:
        editor.drop(source.node, *ROTATIONS)
        editor.set(source.node, "quat", format_numbers(item.quaternion))


def edit_marker_size(editor: AttributeEditor, source: Item, item: Item) -> None:
    assert isinstance(item, Marker)
    editor.set(source.node, "size", format_numbers(item.size))


def edit_marker_kind(editor: AttributeEditor, source: Item, item: Item) -> None:
    assert isinstance(item, Marker)
    editor.set(source.node, "type", item.kind)


def _half_sizes(geometry: object) -> tuple[float, ...] | None:
    """MuJoCo's sizes of a primitive; None for other geometries."""
    match geometry:
        case Box() | Ellipsoid():
            x, y, z = geometry.size
            return (x / 2, y / 2, z / 2)
        case Sphere():
            return (geometry.radius,)
        case Capsule() | Cylinder():
            return (geometry.radius, geometry.height / 2)
    return None
