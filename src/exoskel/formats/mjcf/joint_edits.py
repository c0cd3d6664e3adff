"""Edits of joints, as edits of the attributes of their elements."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any, Protocol

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
_SINGLE = ("ball", "free", "revolute", "prismatic")
"""Kinds of joints with one element."""


class JointDocument(AttributeEditor, Protocol):
    """What edits the elements of joints."""

    def stated_position(self, node: int, joint: Joint, value: float) -> float: ...
    def remove_limits(self, node: int) -> None: ...


def joint_nodes(document: Document, joint: Joint) -> list[int]:
    """The elements of a joint: one, or one for each of its coordinates."""
    outline, node = document.outline, joint.node
    if node < 0 or joint.document != 0 or outline.tags[node] not in JOINTS:
        raise CannotEditError
    if joint.kind in _SINGLE:
        return [node]
    found = [one for one in joints_of_body(document, outline.parents[node]) if one >= node]
    if len(found) < joint.dof_count:
        raise CannotEditError
    return found[: joint.dof_count]


def joints_of_body(document: Document, body: int) -> list[int]:
    """The joint elements in that of a body."""
    outline = document.outline
    found: list[int] = []
    child = body + 1
    while child < outline.ends[body]:
        if outline.tags[child] in JOINTS:
            found.append(child)
        child = outline.ends[child]
    return found


def edit_dofs(editor: JointDocument, source: Item, item: Item) -> None:
    assert isinstance(source, Joint) and isinstance(item, Joint)
    before, after = dof_rows(source), dof_rows(item)
    if len(before) != len(after):
        raise CannotEditError
    for number, (mine, theirs) in enumerate(zip(before, after, strict=True)):
        changed = [name for name, a, b in zip(DOF_FIELDS, mine, theirs, strict=True) if a != b]
        for name in (one for one in changed if one not in _STATE):
            nodes = joint_nodes(editor.document, source)
            edit = _DOF_EDITS.get(name)
            if edit is None or editor.document.outline.tags[nodes[0]] == "freejoint":
                raise CannotEditError
            node = nodes[number] if len(nodes) > 1 else nodes[0]
            edit(editor, node, item, theirs[DOF_FIELDS.index(name)])


def edit_pose(editor: JointDocument, source: Item, item: Item) -> None:
    assert isinstance(source, Joint) and isinstance(item, Joint)
    if not item.pose.has_no_rotation or editor.document.outline.tags[source.node] != "joint":
        raise CannotEditError
    for node in joint_nodes(editor.document, source):
        editor.set(node, "pos", format_numbers(item.pose.position))


def edit_axes(editor: JointDocument, source: Item, item: Item) -> None:
    assert isinstance(source, Joint) and isinstance(item, Joint)
    nodes = joint_nodes(editor.document, source)
    if len(nodes) != len(item.axes):
        raise CannotEditError
    for node, axis in zip(nodes, item.axes, strict=True):
        editor.set(node, "axis", format_numbers(axis))


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
