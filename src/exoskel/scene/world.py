"""Scenes, worlds and models: the content of a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any, Literal, Unpack

from msgspec import Struct, field, structs

from exoskel import display_hooks
from exoskel.diagnostics import Diagnostic, ExoskelError, Locator, Place, Position
from exoskel.scene.body import Body
from exoskel.scene.building import JointOptions, NumberSequence, as_pose, create_body, create_joint
from exoskel.scene.edit_tracking import Tracked, TrackedList, no_edits
from exoskel.scene.item import Item, NameIndex, TakenNameError, UnknownNameError, require_index, unique_name
from exoskel.scene.joint import Joint, JointKind
from exoskel.scene.pose import IDENTITY, Pose, Vector
from exoskel.scene.shape import Geometry, Shape

DEFAULT_GRAVITY: Vector = (0.0, 0.0, -9.81)
DEFAULT_TIME_STEP = 0.001
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
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    _index: ModelIndex | None = None

    def __post_init__(self) -> None:
        super().__setattr__("bodies", TrackedList(self.bodies))
        super().__setattr__("joints", TrackedList(self.joints))

    @property
    def index(self) -> ModelIndex:
        if self._index is None:
            with no_edits():  # reading is not an edit
                self._index = ModelIndex()
        return self._index

    def body(self, name: str) -> Body:
        return self.bodies[require_index(self.index.bodies, self.bodies, name, "body", f"model {self.name!r}")]

    def joint(self, name: str) -> Joint:
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
        pose: Pose | None = None,
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
        if self.index.bodies.index_of(self.bodies, name) >= 0:
            raise TakenNameError(f"model {self.name!r} already has a body called {name!r}")
        parent_body = self.body(parent) if isinstance(parent, str) else parent
        if at is not None:
            if pose is not None:
                raise ExoskelError(f"body {name!r} has both 'pose' and 'at'; give one of them")
            frame = self._frame(relative_to, parent_body, None)
            pose = frame @ as_pose(at, "body", name)
        body = create_body(name, pose or IDENTITY, mass=mass, density=density, com=com, moment=moment, shapes=shapes)
        self.bodies.append(body)
        self.index.bodies.note_appended(self.bodies)
        try:
            self.add_joint(
                joint_name or f"{name}_joint",
                joint,
                child=body,
                parent=parent_body,
                at=joint_at,
                relative_to=joint_relative_to,
                **joint_options,
            )
        except Exception:
            self.bodies.pop()  # do not leave a body without its joint
            raise
        return body

    def add_joint(
        self,
        name: str,
        kind: JointKind,
        *,
        child: Body,
        parent: Body | None = None,
        at: Pose | NumberSequence | None = None,
        relative_to: Body | FrameName = "child",
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Add a joint; returns it.  It becomes a loop if `child` already has a parent joint.

        `at` is the joint's frame at zero joint positions, as a pose or a position, by default in the frame of the
        child.  `options` are those of `JointOptions`.
        """
        if self.index.joints.index_of(self.joints, name) >= 0:
            raise TakenNameError(f"model {self.name!r} already has a joint called {name!r}")
        for body in (child, parent):
            if body is not None and self.body(body.name) is not body:
                raise UnknownNameError(f"body {body.name!r} is not in model {self.name!r}; add it first")
        pose = IDENTITY
        if at is not None:
            pose = as_pose(at, "joint", name)
            if relative_to != "child" and relative_to is not child:
                pose = child.pose.inverse() @ self._frame(relative_to, parent, child) @ pose
        joint = create_joint(name, kind, child, parent, pose, options)
        joint.loop = joint.loop or self.index.has_parent_joint(self.joints, child)
        self.joints.append(joint)
        self.index.joints.note_appended(self.joints)
        self.index.note_appended(joint)
        return joint

    def _frame(self, relative_to: Body | FrameName, parent: Body | None, child: Body | None) -> Pose:
        """The frame that poses are relative to, in the model."""
        if isinstance(relative_to, Body):
            if self.body(relative_to.name) is not relative_to:
                raise UnknownNameError(f"body {relative_to.name!r} is not in model {self.name!r}")
            return relative_to.pose
        if relative_to == "world":
            return self.pose.inverse()
        frames = {"model": IDENTITY, "parent": IDENTITY if parent is None else parent.pose}
        if child is not None:
            frames["child"] = child.pose
        if relative_to not in frames:
            known = ", ".join(map(repr, (*frames, "world")))
            raise ExoskelError(f"relative_to is {relative_to!r}, but must be a body or one of {known}")
        return frames[relative_to]

    def rename(self, item: Body | Joint | str, name: str) -> None:
        """Rename a body or joint, or the one of that name (bodies first); the new name must not be in use."""
        found = self._find_member(item)
        index, items = (self.index.bodies, self.bodies) if isinstance(found, Body) else (self.index.joints, self.joints)
        if not name.strip():
            raise ExoskelError("a name must not be empty")
        if name != found.name and index.index_of(items, name) >= 0:
            raise TakenNameError(f"model {self.name!r} already has a {type(found).__name__.lower()} called {name!r}")
        for joint in self.joints if isinstance(found, Joint) else ():
            if joint.mimic is not None and joint.mimic.joint == found.name:
                joint.mimic = structs.replace(joint.mimic, joint=name)
        found.name = name

    def remove(self, item: Body | Joint | str, *, subtree: bool = False) -> None:
        """Remove a body with its joint, or a joint, or the one of that name (bodies first).

        With `subtree`, all bodies below a removed body are removed too; without it they are an error.  Loops that end
        at a removed body are removed as well.  The body of a removed joint gets a free joint.  Joints that mimic a
        removed joint become independent.
        """
        found = self._find_member(item)
        if isinstance(found, Joint):
            self._free_child(found)
            self._clear_mimics([found])
            return
        gone = {id(found)}
        below = [found]
        for joint in self.joints:  # parents come before children
            if not joint.loop and joint.parent is not None and id(joint.parent) in gone:
                gone.add(id(joint.child))
                below.append(joint.child)
        if len(below) > 1 and not subtree:
            names = ", ".join(repr(body.name) for body in below[1:4])
            raise ExoskelError(f"{names} would lose their parent body; remove(..., subtree=True) removes them too")
        removed = [j for j in self.joints if id(j.child) in gone or id(j.parent) in gone]
        remaining = [j for j in self.joints if id(j.child) not in gone and id(j.parent) not in gone]
        self.joints[:] = remaining
        self._clear_mimics(removed)
        self.bodies[:] = [body for body in self.bodies if id(body) not in gone]

    def _find_member(self, item: Body | Joint | str) -> Body | Joint:
        if not isinstance(item, str):
            if not any(item is one for one in (*self.bodies, *self.joints)):
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


class World(Item):
    """Models under one gravity (m/s²), stepped together by `time_step` (s)."""

    name: str = "world"
    gravity: Vector = DEFAULT_GRAVITY
    time_step: float = DEFAULT_TIME_STEP
    collision_detector: str = ""
    """The detector that the source names, as a preference; may be empty."""
    models: list[Model] = field(default_factory=list)
    erp: float | None = None
    """ODE's error reduction parameter (ERP) of all constraints, if the source states it."""
    cfm: float | None = None
    """ODE's constraint force mixing (CFM) of all constraints, if the source states it."""
    collision_exempt_groups: list[tuple[str, ...]] = field(default_factory=list)
    """Groups of name parts: two shapes whose names contain parts of one group do not collide."""
    self_collision: bool = False
    """Whether bodies of one model collide with each other (ODE; see `Joint.collide_connected` for those that a joint
    connects) or not (DART)."""
    _index: NameIndex = field(default_factory=NameIndex)
    _valid_at: int = -1
    """The value of the edit clock when the world was last known to be valid."""

    def model(self, name: str) -> Model:
        return self.models[require_index(self._index, self.models, name, "model", f"world {self.name!r}")]

    def add_model(self, model: Model | str, **options: Any) -> Model:
        """Add a model, or a new empty one of that name; returns it."""
        added = Model(name=model, **options) if isinstance(model, str) else model
        if self._index.index_of(self.models, added.name) >= 0:
            raise TakenNameError(f"world {self.name!r} already has a model called {added.name!r}")
        self.models.append(added)
        self._index.note_appended(self.models)
        return added

    def rename(self, model: Model | str, name: str) -> None:
        """Rename a model; the new name must not be in use."""
        found = self.model(model) if isinstance(model, str) else model
        if not name.strip():
            raise ExoskelError("a name must not be empty")
        if name != found.name and self._index.index_of(self.models, name) >= 0:
            raise TakenNameError(f"world {self.name!r} already has a model called {name!r}")
        found.name = name

    def remove(self, model: Model | str) -> None:
        """Remove a model."""
        found = self.model(model) if isinstance(model, str) else model
        self.models[:] = [one for one in self.models if one is not found]

    def bodies(self) -> Iterator[Body]:
        """The bodies of all models, in state order."""
        for model in self.models:
            yield from model.bodies

    def joints(self) -> Iterator[Joint]:
        """The joints of all models, in state order."""
        for model in self.models:
            yield from model.joints

    @property
    def dof_count(self) -> int:
        return sum(model.dof_count for model in self.models)

    @property
    def self_collision_matters(self) -> bool:
        """Whether `self_collision` has an effect: some model has several bodies with collision shapes."""
        return any(
            sum(any(s.collidable for s in body.collisions) for body in model.bodies) > 1
            for model in self.models
            if not model.static
        )

    @property
    def mass(self) -> float:
        return sum(model.mass for model in self.models)

    def __post_init__(self) -> None:
        self.models = TrackedList(self.models)
        x, y, z = self.gravity
        self.gravity = (float(x), float(y), float(z))
        if not (isfinite(self.time_step) and self.time_step > 0.0):
            raise ExoskelError(f"the time step is {self.time_step}, but must be positive and finite")

    def __repr__(self) -> str:
        return f"World({self.name!r}, models={len(self.models)}, dofs={self.dof_count})"


class Reading(Struct, frozen=True):
    """How a scene was read: the choices that change the meaning of a file."""

    format: str = ""
    format_version: str = ""
    semantics: str = ""
    bare: bool = False
    """The document is a bare skeleton: it has no world element."""


class Extension(Item):
    """Data of another application in the source, preserved whole; `owner` is the item that contains it."""

    name: str
    owner: str


class Scene(Tracked, eq=False):
    """The content of a file: its worlds, and the diagnostics of the reader.

    `documents` are the sources that the `document` numbers of items refer to.
    """

    worlds: list[World] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    documents: list[Locator] = field(default_factory=list)
    reading: Reading = Reading()
    extensions: list[Extension] = field(default_factory=list)
    options: Any = None
    """The options it was read with, for reading it again."""

    def _repr_html_(self) -> str | None:
        return display_hooks.render_html(self)

    stamp: int = -1
    """The value of the edit clock when it was last read or saved; -1 if never."""

    @property
    def world(self) -> World:
        """The only world.  Raises ExoskelError if there are none or several."""
        if len(self.worlds) == 1:
            return self.worlds[0]
        if self.worlds:
            names = ", ".join(repr(world.name) for world in self.worlds)
            raise ExoskelError(f"the scene has {len(self.worlds)} worlds ({names}); choose one of scene.worlds")
        reason = next((f": {d}" for d in self.diagnostics if d.severity == "error"), "")
        raise ExoskelError(f"the scene has no world{reason}")

    @property
    def source(self) -> Locator | None:
        """The document that the scene was read from, if any."""
        return self.documents[0] if self.documents else None

    def where(self, item: Item) -> Position | None:
        """The position in the source that an item comes from, if any."""
        if item.document < 0 or item.node < 0:
            return None
        return self.documents[item.document].position(Place(node=item.node))

    def __repr__(self) -> str:
        name = self.source.name if self.source else "no file"
        return f"Scene({name!r}, worlds={len(self.worlds)}, diagnostics={len(self.diagnostics)})"


SceneLike = Scene | World | Model
"""What functions accept as a scene, loaded or built: a world stands for a scene with that world, a model for a world
with that model and the default gravity and time step."""


def as_scene(source: SceneLike) -> Scene:
    """The scene that a scene, world or model stands for."""
    return source if isinstance(source, Scene) else Scene(worlds=TrackedList([as_world(source)]))


def as_world(source: SceneLike) -> World:
    """The world that a scene with one world, a world or a model stands for."""
    if isinstance(source, World):
        return source
    if isinstance(source, Scene):
        return source.world
    if isinstance(source, Model):
        with no_edits():
            return World(name=source.name, models=[source])
    raise ExoskelError(f"expected a Scene, World or Model, not {source!r}; use exoskel.load to read a file")
