"""Edits of joints, as edits of the attributes of their elements."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, Protocol

import numpy as np

from exoskel import spatial
from exoskel.formats.mjcf.names import split_path
from exoskel.formats.mjcf.shape_edits import AttributeEditor, CannotEditError
from exoskel.scene.fields import DOF_FIELDS, dof_rows
from exoskel.scene.item import Item
from exoskel.scene.joint import UNLIMITED, Joint
from exoskel.source.document import Document
from exoskel.source.markup import format_number, format_numbers

JOINTS = ("joint", "freejoint")
"""The tags of joints."""
_STATE = ("position", "velocity")
"""Values that are edited in keyframes."""
FRAME = "frame"
SINGLE = ("ball", "free", "revolute", "prismatic")
"""Kinds of joints with one element."""


class JointDocument(AttributeEditor, Protocol):
    """What edits the elements of joints."""

    def stated_position(self, node: int, joint: Joint, value: float) -> float: ...
    def remove_limits(self, node: int) -> None: ...
    def rename(self, node: int, before: str, after: str) -> None: ...


def joint_nodes(document: Document, joint: Joint) -> list[int]:
    """The elements of a joint: one, or one for each of its coordinates, or those of a split free joint."""
    outline, node = document.outline, joint.node
    if node < 0 or joint.document != 0 or outline.tags[node] not in JOINTS:
        raise CannotEditError
    if joint.kind in SINGLE and not is_split(document, joint):
        return [node]
    count = 4 if joint.kind == "free" else joint.dof_count
    found = [one for one in joints_of_body(document, body_around(document, node)) if one >= node]
    if len(found) < count:
        raise CannotEditError
    return found[:count]


def is_split(document: Document, joint: Joint) -> bool:
    """Whether a free joint consists of three slides and a ball."""
    return joint.kind == "free" and document.attribute_text(joint.node, "type") in ("slide", "ball")


def body_around(document: Document, node: int) -> int:
    """The element of the body that another one is directly in, or in a frame of."""
    outline, above = document.outline, document.outline.parents[node]
    while above > 0 and outline.tags[above] == FRAME:
        above = outline.parents[above]
    return above


def joints_of_body(document: Document, body: int) -> list[int]:
    """The joint elements in that of a body, also those in its frames."""
    outline = document.outline
    found: list[int] = []
    child = body + 1
    while child < outline.ends[body]:
        if outline.tags[child] in JOINTS:
            found.append(child)
        child = child + 1 if outline.tags[child] == FRAME else outline.ends[child]
    return found


def coupling_node(document: Document, joint: Joint) -> int | None:
    """The constraint that lets a joint follow another one; None if it is not known."""
    names = {document.attribute_text(node, "name") for node in joint_nodes(document, joint)} - {""}
    tags, parents = document.outline.tags, document.outline.parents
    found = [
        node
        for node, tag in enumerate(tags)
        if tag == "joint" and tags[parents[node]] == "equality" and document.attribute_text(node, "joint2")
    ]
    found = [node for node in found if document.attribute_text(node, "joint1") in names]
    return found[0] if len(found) == 1 else None


def numbered_joint_node(document: Document, joint: Joint, node: int, name: str) -> int:
    """The element of one of the MuJoCo joints of a joint, which starts at `node`, by its name in a new document."""
    if node < 0 or document.outline.tags[node] not in JOINTS:
        raise CannotEditError
    place = split_path(name)[-1] if joint.name != split_path(name)[-1] else "0"
    siblings = joints_of_body(document, body_around(document, node))
    number = siblings.index(node) + int(place if place.isdigit() else 0)
    if number >= len(siblings):
        raise CannotEditError
    return siblings[number]


def edit_dofs(editor: JointDocument, source: Item, item: Item) -> None:
    assert isinstance(source, Joint) and isinstance(item, Joint)
    before, after = dof_rows(source), dof_rows(item)
    if len(before) != len(after):
        raise CannotEditError
    for number, (mine, theirs) in enumerate(zip(before, after, strict=True)):
        changed = [name for name, a, b in zip(DOF_FIELDS, mine, theirs, strict=True) if a != b]
        for name in (one for one in changed if one not in _STATE):
            nodes = joint_nodes(editor.document, source)
            if name == "name":
                _edit_dof_name(editor, nodes, number, theirs[DOF_FIELDS.index(name)])
                continue
            edit = _DOF_EDITS.get(name)
            if edit is None or editor.document.outline.tags[nodes[0]] == "freejoint":
                raise CannotEditError
            node = nodes[number] if len(nodes) > 1 else nodes[0]
            edit(editor, node, item, theirs[DOF_FIELDS.index(name)])


def _edit_dof_name(editor: JointDocument, nodes: list[int], number: int, name: str) -> None:
    """Rename the element of a coordinate.  It keeps its name if the coordinate has none; single ones have no names."""
    if len(nodes) > 1 and name:
        editor.rename(nodes[number], editor.document.attribute_text(nodes[number], "name"), name)


def edit_pose(editor: JointDocument, source: Item, item: Item) -> None:
    assert isinstance(source, Joint) and isinstance(item, Joint)
    if item.kind == "weld" or (item.kind == source.kind == "free" and not is_split(editor.document, source)):
        return  # the frame of a free joint is in its states
    if not item.pose.has_no_rotation or editor.document.outline.tags[source.node] != "joint":
        raise CannotEditError
    for node in joint_nodes(editor.document, source):
        frame = spatial.inverse(editor.frame(node))
        position = frame[:3, :3] @ item.pose.position + frame[:3, 3]
        editor.set(node, "pos", format_numbers(spatial.without_noise(position).tolist()))


def edit_axes(editor: JointDocument, source: Item, item: Item) -> None:
    assert isinstance(source, Joint) and isinstance(item, Joint)
    nodes = joint_nodes(editor.document, source)
    if len(nodes) != len(item.axes):
        raise CannotEditError
    for node, axis in zip(nodes, item.axes, strict=True):
        frame = editor.frame(node)
        stated = axis if (frame == np.eye(4)).all() else spatial.without_noise(frame[:3, :3].T @ axis).tolist()
        editor.set(node, "axis", format_numbers(stated))


# --- degrees of freedom ----------------------------------------------------------------------------------

_DofEdit = Callable[[JointDocument, int, Joint, Any], None]


def _edit_limits(editor: JointDocument, node: int, joint: Joint, value: Any) -> None:
    if value == UNLIMITED:
        editor.remove_limits(node)
        return
    if not all(map(isfinite, value)):
        raise CannotEditError
    editor.set(node, "limited", "true")
    editor.set(node, "range", format_numbers([editor.stated_position(node, joint, one) for one in value]))


def _edit_force_limits(editor: JointDocument, node: int, joint: Joint, value: Any) -> None:
    if value == UNLIMITED or not all(map(isfinite, value)):
        raise CannotEditError
    editor.set(node, "actuatorfrclimited", "true")
    editor.set(node, "actuatorfrcrange", format_numbers(value))


def _edit_rest(editor: JointDocument, node: int, joint: Joint, value: Any) -> None:
    editor.set(node, "springref", format_number(editor.stated_position(node, joint, value)))


def _dof_number(attribute: str) -> _DofEdit:
    """An edit of the first number of an attribute: others are coefficients of a polynomial."""
    return lambda editor, node, joint, value: editor.set_first(node, attribute, value)


_DOF_EDITS: dict[str, _DofEdit] = {
    "damping": _dof_number("damping"),
    "friction": _dof_number("frictionloss"),
    "stiffness": _dof_number("stiffness"),
    "armature": _dof_number("armature"),
    "rest": _edit_rest,
    "position_limits": _edit_limits,
    "force_limits": _edit_force_limits,
}
