"""Models: bodies and the joints between them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, Unpack, overload

from msgspec import Struct, field, structs

from exoskel.diagnostics import ExoskelError
from exoskel.display_hooks import html_table
from exoskel.scene.body import Body
from exoskel.scene.edit_tracking import TrackedList, checks_values, no_edits, reference_owners
from exoskel.scene.editing import (
    CopiedParts,
    JointOptions,
    as_pose,
    bodies_below,
    create_body,
    create_joint,
    relative_rotation,
    replace_fields,
)
from exoskel.scene.field_checks import NumberSequence, check_fields, kind_name
from exoskel.scene.item import Item, NameIndex, TakenNameError, UnknownNameError, check_name, require_index, unique_name
from exoskel.scene.joint import Joint, JointKind
from exoskel.scene.pose import IDENTITY, Pose
from exoskel.scene.shape import Geometry, Shape

_set: Any = Struct.__setattr__
"""Sets a field without advancing the clock of edits."""
FrameName = Literal["parent", "child", "model", "world"]
"""What a pose can be relative to, besides a body."""


class ModelIndex:
    """Look-up tables of one model, built when first needed; they notice changes of the lists."""

    def __init__(self) -> None:
        self.bodies = NameIndex()
        self.joints = NameIndex()
        self._with_parent_joint: set[int] = set()
        self._joint_count = 0

    def has_parent_joint(self, joints: Sequence[Joint], body: Body) -> bool:
        """Whether a joint other than a loop already has `body` as its child."""
        if self._joint_count != len(joints):
            self._with_parent_joint = {id(joint.child) for joint in joints if not joint.loop}
            self._joint_count = len(joints)
        return id(body) in self._with_parent_joint

    def note_appended(self, joint: Joint) -> None:
        """Update the tables after a joint was appended."""
        if not joint.loop:
            self._with_parent_joint.add(id(joint.child))
        self._joint_count += 1


class Model(Item):
    """Bodies and the joints between them.

    `pose` places the model: it moves the bodies, not the world they are connected to.  A `static` model is
    never integrated.  Bodies and joints are in creation order, parents before children: the order of
    the state vector.
    """

    name: str
    pose: Pose = IDENTITY
    static: bool = False
    bodies: list[Body] = field(default_factory=TrackedList)
    joints: list[Joint] = field(default_factory=TrackedList)
    _index: ModelIndex | None = None

    def __post_init__(self) -> None:
        if checks_values():
            check_fields(self)
        if type(self.bodies) is list:
            _set(self, "bodies", TrackedList(self.bodies))
        if type(self.joints) is list:
            _set(self, "joints", TrackedList(self.joints))

    @property
    def index(self) -> ModelIndex:
        found = self._index
        if found is None:
            found = ModelIndex()
            _set(self, "_index", found)
        return found

    def body(self, name: str) -> Body:
        """The body of that name.  Raises UnknownNameError."""
        return self.bodies[require_index(self.index.bodies, self.bodies, name, "body", f"model {self.name!r}")]

    def joint(self, name: str) -> Joint:
        """The joint of that name.  Raises UnknownNameError."""
        return self.joints[require_index(self.index.joints, self.joints, name, "joint", f"model {self.name!r}")]

    @property
    def dof_count(self) -> int:
        return sum(joint.dof_count for joint in self.joints)

    @property
    def dof_names(self) -> list[str]:
        return [name for joint in self.joints if not joint.loop for name in joint.dof_names]

    @property
    def mass(self) -> float:
        """Total mass of the rigid bodies in kg, without soft skins."""
        return sum(body.mass for body in self.bodies)

    def add_body(
        self,
        name: str,
        *,
        parent: Body | str | None = None,
        pose: Pose | NumberSequence | None = None,
        at: Pose | NumberSequence | None = None,
        relative_to: Body | FrameName = "parent",
        mass: float | None = None,
        density: float | None = None,
        com: NumberSequence | None = None,
        moment: NumberSequence | None = None,
        shapes: Sequence[Shape | Geometry] = (),
        joint: JointKind = "free",
        joint_name: str = "",
        joint_at: Pose | NumberSequence | None = None,
        joint_relative_to: Body | FrameName = "child",
        **joint_options: Unpack[JointOptions],
    ) -> Body:
        """Add a body and its joint; returns the body.

        `parent` is a body, its name, or None for the world.  `at` is the body's frame at zero joint positions, as a
        pose or a position: relative to the `parent` (without one, to the model), the `model`, the `world` or a body.
        `pose` is the same relative to the model.  Each of `shapes` is used both as visual and as collision shape.
        The mass is `mass` in kg (default 1), or follows from `density` in kg/m³.  Without `com` or `moment`, these are
        derived from the shapes as solids of uniform density.  `joint_at` places the joint, by default in the frame of
        the body (`child`).  `joint_options` are those of `JointOptions`, such as `axis`, `limits` and `damping`.
        """
        check_name("body", name)
        self._require_free("body", self.index.bodies, self.bodies, name)
        joint_name = joint_name or f"{name}_joint"
        check_name("joint", joint_name)
        self._require_free("joint", self.index.joints, self.joints, joint_name)
        parent_body = None if parent is None else self._own_body(parent)
        with no_edits():  # their values are checked
            if at is not None:
                if pose is not None:
                    raise ExoskelError(f"body {name!r} has both 'pose' and 'at'; give one of them")
                pose = self._frame(relative_to, parent_body, None) @ as_pose(at, "body", name)
            elif pose is not None:
                pose = as_pose(pose, "body", name)
            body = create_body(name, pose, mass=mass, density=density, com=com, moment=moment, shapes=shapes)
            frame = IDENTITY
            if joint_at is not None:
                frame = self._joint_frame(joint_name, joint_at, joint_relative_to, body, parent_body)
            new_joint = create_joint(joint_name, joint, body, parent_body, frame, joint_options)
        self.bodies.append(body)
        self.index.bodies.note_appended(self.bodies)
        self._append_joint(new_joint)
        return body

    def add_joint(
        self,
        name: str,
        kind: JointKind,
        *,
        child: Body | str,
        parent: Body | str | None = None,
        at: Pose | NumberSequence | None = None,
        relative_to: Body | FrameName = "child",
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Add a joint; returns it.  It becomes a loop if `child` already has a parent joint.

        `child` and `parent` are bodies or their names; without a parent, the child is connected to the world.  `at` is
        the joint's frame at zero joint positions, as a pose or a position, by default in the frame of the child.
        `options` are those of `JointOptions`.
        """
        check_name("joint", name)
        self._require_free("joint", self.index.joints, self.joints, name)
        end, start = self._own_body(child), None if parent is None else self._own_body(parent)
        with no_edits():  # its values are checked
            pose = IDENTITY if at is None else self._joint_frame(name, at, relative_to, end, start)
            joint = create_joint(name, kind, end, start, pose, options)
            joint.loop = joint.loop or self.index.has_parent_joint(self.joints, end)
        self._append_joint(joint)
        return joint

    def _require_free(
        self, kind: str, index: NameIndex, items: Sequence[Body] | Sequence[Joint], *names: str, hint: str = ""
    ) -> None:
        for name in names:
            if index.index_of(items, name) >= 0:
                more = f"; {hint}" if hint else ""
                raise TakenNameError(f"model {self.name!r} already has a {kind} called {name!r}{more}")

    def _own_body(self, body: Body | str) -> Body:
        """The body, or the one of that name; raises UnknownNameError if it is not in the model."""
        if isinstance(body, str):
            return self.body(body)
        if not isinstance(body, Body):
            raise ExoskelError(f"expected a body of model {self.name!r} or its name, not {body!r}")
        if self.body(body.name) is not body:
            raise UnknownNameError(f"body {body.name!r} is not in model {self.name!r}; add it first")
        return body

    def _append_joint(self, joint: Joint) -> None:
        self.joints.append(joint)
        self.index.joints.note_appended(self.joints)
        self.index.note_appended(joint)

    def _joint_frame(
        self, name: str, at: Pose | NumberSequence, relative_to: Body | FrameName, child: Body, parent: Body | None
    ) -> Pose:
        """The frame of a joint in its child."""
        pose = as_pose(at, "joint", name)
        if relative_to == "child" or relative_to is child:
            return pose
        return child.pose.inverse() @ self._frame(relative_to, parent, child) @ pose

    def _frame(self, relative_to: Body | FrameName, parent: Body | None, child: Body | None) -> Pose:
        """The frame that poses are relative to, in the model."""
        if isinstance(relative_to, Body):
            return self._own_body(relative_to).pose
        if relative_to == "world":
            return self.pose.inverse()
        frames = {"model": IDENTITY, "parent": IDENTITY if parent is None else parent.pose}
        if child is not None:
            frames["child"] = child.pose
        if not isinstance(relative_to, str) or relative_to not in frames:
            known = ", ".join(map(repr, (*frames, "world")))
            raise ExoskelError(f"relative_to is {relative_to!r}, but must be a body or one of {known}")
        return frames[relative_to]

    # --- editing --------------------------------------------------------------------------------------

    def copy(self, body: Body | str | None = None, *, name: str | None = None) -> Model:
        """A copy of the model, or of a body with all bodies below it, which belongs to no world and no file.

        The copy of a body is a model at that body's frame.  The joint to its parent connects it to the world.  Joints
        that mimic a joint outside of the copy become independent, and loops to other bodies are omitted.
        """
        if body is None:
            parts, pose = CopiedParts(self.bodies, self.joints), self.pose
        else:
            root = self._own_body(body)
            parts, pose = CopiedParts(bodies_below(self.joints, root), self.joints), self.pose @ root.pose
            parts.move(root.pose.inverse())
            with no_edits():
                parts.bodies[0].pose = IDENTITY  # without rounding errors
            name = root.name if name is None else name
        with no_edits():
            return Model(
                name=self.name if name is None else name,
                pose=pose,
                static=self.static,
                bodies=parts.bodies,
                joints=parts.joints,
            )

    def attach(
        self,
        other: Model,
        *,
        to: Body | str,
        at: Pose | NumberSequence | None = None,
        prefix: str = "",
        joint: JointKind | None = None,
        **joint_options: Unpack[JointOptions],
    ) -> list[Body]:
        """Attach a copy of another model to a body; returns the new bodies, the root first.

        `at` is the frame of the other model in the body's frame, as a pose or a position.  What the other model
        connects to the world is connected to the body: by a weld instead of a free joint, and by its own joint
        otherwise.  `joint` and its options replace these joints.  `prefix` is put before all new names.
        """
        if not isinstance(other, Model):
            raise ExoskelError(f"expected a Model, not {other!r}; attach one of the models of a world")
        if not isinstance(prefix, str):
            raise ExoskelError(f"the prefix is {prefix!r}, but must be a string")
        body = self._own_body(to)
        if other.static and not self.static:
            raise ExoskelError(f"model {other.name!r} is static; set static to False before you attach it")
        place = IDENTITY if at is None else as_pose(at, "model", other.name)
        parts = CopiedParts(other.bodies, other.joints)
        with no_edits():  # nothing is in the model yet
            parts.add_prefix(prefix)
            hint = f"attach it with prefix={f'{other.name}_'!r}"
            self._require_free("body", self.index.bodies, self.bodies, *(one.name for one in parts.bodies), hint=hint)
            self._require_free("joint", self.index.joints, self.joints, *(one.name for one in parts.joints), hint=hint)
            parts.move(body.pose @ place)
            parts.rotate_states(relative_rotation(other.pose, self.pose @ body.pose @ place))
            for one in [one for one in parts.joints if one.parent is None]:
                one.parent = body
                if not one.loop and (joint is not None or one.kind == "free"):
                    self._replace_joint(one, joint or "weld", None, "child", joint_options)
        self.bodies.extend(parts.bodies)
        self.joints.extend(parts.joints)
        return parts.bodies

    def rename(self, item: Body | Joint | Shape | str, name: str) -> None:
        """Rename a body, joint or shape; a name selects a body or else a joint.

        References to it are updated.  The new name of a body or joint must not be in use.  `World.rename` updates
        `collision_exempt_groups` too.
        """
        found = self._find_member(item)
        check_name(kind_name(found), name)
        if isinstance(found, Body) and name != found.name:
            self._require_free("body", self.index.bodies, self.bodies, name)
        elif isinstance(found, Joint) and name != found.name:
            self._require_free("joint", self.index.joints, self.joints, name)
            self.rename_mimics(found, name)
        found.name = name

    def rename_mimics(self, joint: Joint, name: str) -> None:
        """Let joints that mimic a joint of this model refer to its new name."""
        for one in self.joints:
            if one.mimic is not None and one.mimic.joint == joint.name:
                one.mimic = structs.replace(one.mimic, joint=name)

    def _drop_dangling_references(self) -> None:
        for owner in reference_owners():
            if any(model is self for model in owner.models):
                owner.drop_dangling_references()

    def remove(self, item: Body | Joint | Shape | str, *, subtree: bool = False) -> None:
        """Remove a body with its joint, a joint or a shape; a name selects a body or else a joint.

        With `subtree`, all bodies below a removed body are removed too; without it they are an error.  Loops that end
        at a removed body are removed as well.  The body of a removed joint gets a free joint.  Joints that mimic a
        removed joint become independent.  Tendons, actuators and others that refer to what is removed are removed, too.
        """
        self._remove(self._find_member(item), subtree=subtree)
        self._drop_dangling_references()

    def _remove(self, found: Body | Joint | Shape, *, subtree: bool) -> None:
        if isinstance(found, Shape):
            for body in self.bodies:
                body.visuals[:] = [shape for shape in body.visuals if shape is not found]
                body.collisions[:] = [shape for shape in body.collisions if shape is not found]
            return
        if isinstance(found, Joint):
            self._free_child(found)
            self._clear_mimics([found])
            return
        below = bodies_below(self.joints, found)
        if len(below) > 1 and not subtree:
            names = ", ".join(repr(body.name) for body in below[1:4])
            more = ", …" if len(below) > 4 else ""
            raise ExoskelError(
                f"body {found.name!r} has bodies below it ({names}{more}); use subtree=True to remove them too"
            )
        gone = set(map(id, below))
        removed = [j for j in self.joints if id(j.child) in gone or id(j.parent) in gone]
        remaining = [j for j in self.joints if id(j.child) not in gone and id(j.parent) not in gone]
        self.joints[:] = remaining
        self._clear_mimics(removed)
        self.bodies[:] = [body for body in self.bodies if id(body) not in gone]

    @overload
    def replace(self, item: Body, new: Body) -> Body: ...

    @overload
    def replace(self, item: Shape, new: Shape | Geometry) -> Shape: ...

    @overload
    def replace(
        self,
        item: Joint,
        new: JointKind,
        *,
        at: Pose | NumberSequence | None = None,
        relative_to: Body | FrameName = "child",
        **options: Unpack[JointOptions],
    ) -> Joint: ...

    @overload
    def replace(
        self,
        item: str,
        new: Body | JointKind,
        *,
        at: Pose | NumberSequence | None = None,
        relative_to: Body | FrameName = "child",
        **options: Unpack[JointOptions],
    ) -> Body | Joint: ...

    def replace(
        self,
        item: Body | Joint | Shape | str,
        new: Any,
        *,
        at: Pose | NumberSequence | None = None,
        relative_to: Body | FrameName = "child",
        **options: Unpack[JointOptions],
    ) -> Body | Joint | Shape:
        """Replace the content of a body, joint or shape; returns it.  What refers to it still does, where it can.

        A body keeps its name and place, and takes mass properties, shapes and everything else from a copy of `new`.  A
        joint keeps its name, its bodies and, without `at`, its frame; `new` is its kind, with options as in
        `add_joint`.  A shape becomes a copy of the shape `new`, or takes only the geometry `new`.
        """
        found = self._find_member(item)
        if isinstance(found, Joint):
            self._replace_joint(found, new, at, relative_to, options)
        elif isinstance(found, Body) and isinstance(new, Body):
            (copied,) = CopiedParts([new], ()).bodies
            replace_fields(found, copied, ("name", "pose"))
        elif isinstance(found, Shape) and isinstance(new, Shape):
            replace_fields(found, new, ())
        elif isinstance(found, Shape):
            found.geometry = new
        else:
            raise ExoskelError(f"body {found.name!r} cannot be replaced by {new!r}; use a Body")
        return found

    def _replace_joint(
        self,
        joint: Joint,
        kind: JointKind,
        at: Pose | NumberSequence | None,
        relative_to: Body | FrameName,
        options: JointOptions,
    ) -> None:
        with no_edits():
            pose = joint.pose
            if at is not None:
                pose = self._joint_frame(joint.name, at, relative_to, joint.child, joint.parent)
            new = create_joint(joint.name, kind, joint.child, joint.parent, pose, options)
        replace_fields(joint, new, ("name", "child", "parent", "loop"))
        self._drop_dangling_references()

    def _find_member(self, item: Body | Joint | Shape | str) -> Body | Joint | Shape:
        if not isinstance(item, str):
            members = chain(self.bodies, self.joints, *(body.shapes for body in self.bodies))
            if not any(item is one for one in members):
                raise UnknownNameError(f"{item!r} is not in model {self.name!r}")
            return item
        at = self.index.joints.index_of(self.joints, item)
        return self.joints[at] if at >= 0 and self.index.bodies.index_of(self.bodies, item) < 0 else self.body(item)

    def _free_child(self, joint: Joint) -> None:
        place = next(i for i, one in enumerate(self.joints) if one is joint)
        if joint.loop:
            del self.joints[place]
            return
        name = unique_name(f"{joint.child.name}_root", {one.name for one in self.joints})
        self.joints[place] = Joint(name=name, kind="free", child=joint.child)

    def _clear_mimics(self, removed: Sequence[Joint]) -> None:
        """Clear the `mimic` of joints that follow a removed joint."""
        names = {joint.name for joint in removed} - {joint.name for joint in self.joints}
        for joint in self.joints:
            if joint.mimic is not None and joint.mimic.joint in names:
                joint.mimic = None

    def __repr__(self) -> str:
        return f"Model({self.name!r}, bodies={len(self.bodies)}, joints={len(self.joints)})"

    def _repr_html_(self) -> str:
        """The bodies with their joints, for notebooks."""
        joints = {id(joint.child): joint for joint in self.joints if not joint.loop}
        rows = [
            (body.name, f"{body.mass:g}", len(body.shapes), *_joint_cells(joints.get(id(body)))) for body in self.bodies
        ]
        return html_table(repr(self), ("body", "mass (kg)", "shapes", "joint", "kind", "parent"), rows)


def _joint_cells(joint: Joint | None) -> tuple[str, str, str]:
    if joint is None:
        return ("", "", "")
    return (joint.name, joint.kind, "world" if joint.parent is None else joint.parent.name)
