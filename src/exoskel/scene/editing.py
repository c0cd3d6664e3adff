"""Copies, subtrees and replacements of bodies and joints, for the editing methods of models and worlds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from fnmatch import fnmatchcase
from typing import Any, TypeVar

import numpy as np
from msgspec import structs

from exoskel import spatial
from exoskel.scene.body import Body, BodyState
from exoskel.scene.edit_tracking import TrackedList, no_edits
from exoskel.scene.item import NO_FIELDS, Item, qualified_name
from exoskel.scene.joint import Joint
from exoskel.scene.pose import Pose
from exoskel.spatial import Array

ItemType = TypeVar("ItemType", bound=Item)

# --- copies --------------------------------------------------------------------------------------------


def copy_body(body: Body) -> Body:
    """A copy that shares no mutable object with the original."""
    new = copy(body)
    new.inertia = copy(body.inertia)
    new.visuals = [copy(shape) for shape in body.visuals]
    new.collisions = [copy(shape) for shape in body.collisions]
    new.markers = [copy(marker) for marker in body.markers]
    new.soft = copy(body.soft)
    new.state = copy(body.state)
    new.ignored_values = dict(body.ignored_values) if body.ignored_values else None
    return new


def copy_joint(joint: Joint, bodies: dict[int, Body]) -> Joint:
    """A copy that connects the copies of its bodies, by the ids of the originals; other parents become the world."""
    new = copy(joint)
    new.child = bodies[id(joint.child)]
    new.parent = None if joint.parent is None else bodies.get(id(joint.parent))
    new._dofs = None if joint._dofs is None else [copy(dof) for dof in joint._dofs]
    return new


def items_of(bodies: Iterable[Body], joints: Iterable[Joint]) -> Iterator[Item]:
    """Bodies and joints, with all that they contain."""
    for body in bodies:
        yield from (body, *body.visuals, *body.collisions, *body.markers)
        if body.soft is not None:
            yield body.soft
    for joint in joints:
        yield joint
        yield from joint._dofs or ()


class CopiedParts:
    """Copies of some bodies and of the joints between them, which belong to no file."""

    def __init__(self, bodies: Sequence[Body], joints: Sequence[Joint]) -> None:
        """Copy bodies and their joints, without loops to other bodies and without the `mimic` of other joints."""
        with no_edits():  # creating copies does not edit the originals
            copies = {id(body): copy_body(body) for body in bodies}
            self.bodies = list(copies.values())
            self.joints = [
                copy_joint(joint, copies)
                for joint in joints
                if id(joint.child) in copies and not (joint.loop and joint.parent and id(joint.parent) not in copies)
            ]
            names = {joint.name for joint in self.joints}
            for joint in self.joints:
                joint.implicit = False
                if joint.mimic is not None and joint.mimic.joint not in names:
                    joint.mimic = None
            for item in items_of(self.bodies, self.joints):
                forget_origin(item)

    def add_prefix(self, prefix: str) -> None:
        """Put a prefix before the names of bodies, joints and degrees of freedom, and in references to them."""
        if not prefix:
            return
        for body in self.bodies:
            body.name = prefix + body.name
        for joint in self.joints:
            joint.name = prefix + joint.name
            if joint.mimic is not None:
                joint.mimic = structs.replace(joint.mimic, joint=prefix + joint.mimic.joint)
            for dof in joint._dofs or ():
                dof.name = dof.name and prefix + dof.name

    def move(self, pose: Pose) -> None:
        """Place the bodies, which are given in a frame, by the pose of that frame."""
        if not pose.is_identity:
            for body in self.bodies:
                body.pose = pose @ body.pose

    def rotate_states(self, rotation: Array) -> None:
        """Rotate the initial motions that are given in the root frame."""
        rotate_states(self.bodies, rotation)


def rotate_states(bodies: Iterable[Body], rotation: Array) -> None:
    """Rotate the initial motions of bodies, which are given in the root frame."""
    if np.allclose(rotation, np.eye(3), rtol=0.0, atol=1e-15):
        return
    for body in bodies:
        if body.state is not None:
            _rotate_state(body.state, rotation)


def _rotate_state(state: BodyState, rotation: Array) -> None:
    for field in ("linear_velocity", "angular_velocity", "force", "torque"):
        setattr(state, field, tuple((rotation @ getattr(state, field)).tolist()))
    finite = state.finite_rotation
    axis: Any = tuple((rotation @ finite.axis).tolist())
    state.finite_rotation = structs.replace(finite, axis=axis)


def relative_rotation(old: Pose, new: Pose) -> Array:
    """The rotation from one pose to another, in the frame that both are given in."""
    rotation: Array = new.rotation.matrix() @ spatial.array(old.rotation.matrix()).T
    return rotation


def forget_origin(item: Item) -> None:
    """Mark an item as created by a program, not read from a file."""
    item.document, item.node, item.given, item.repaired = -1, -1, NO_FIELDS, NO_FIELDS


def bodies_below(joints: Sequence[Joint], root: Body) -> list[Body]:
    """A body and all bodies below it, parents first."""
    found = [root]
    seen = {id(root)}
    for joint in joints:  # parents come before children
        if not joint.loop and joint.parent is not None and id(joint.parent) in seen:
            seen.add(id(joint.child))
            found.append(joint.child)
    return found


def replace_fields(item: Item, new: Item, kept: Collection[str]) -> None:
    """Give an item the values of another one of its type, except for some fields and where it comes from."""
    for name in type(item).__struct_fields__:
        if name not in kept and name not in Item.__struct_fields__:
            value = getattr(new, name)
            setattr(item, name, TrackedList(value) if isinstance(value, list) else value)


# --- paths ---------------------------------------------------------------------------------------------


def matches_path(names: Sequence[str], pattern: str, *, partial: bool) -> bool:
    """Whether the names of an item and of those around it match a path such as `robot/*`.

    `*`, `?` and `[abc]` match within one name; in names, `~1` stands for a slash.  If `partial`, the path may omit the
    first names.
    """
    parts = pattern.split("/")
    if partial:
        names = names[-len(parts) :]
    if len(parts) != len(names):
        return False
    return all(fnmatchcase(qualified_name(name), part) for name, part in zip(names, parts, strict=True))
