"""Scenes, worlds and models: what a file holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from msgspec import Struct, field

from exoskel.diagnostics import Diagnostic, ExoskelError, Locator, Place, Position
from exoskel.scene.body import Body
from exoskel.scene.inertia import Inertia, Moment
from exoskel.scene.item import Item, NameIndex, TakenName, UnknownName, require
from exoskel.scene.joint import TRAITS, Joint, Kind
from exoskel.scene.pose import IDENTITY, ZERO, Pose, Vector
from exoskel.scene.shape import Geometry, Shape

DEFAULT_GRAVITY: Vector = (0.0, 0.0, -9.81)
DEFAULT_TIME_STEP = 0.001


class ModelIndex:
    """Look-up tables of one model, made when first needed; lists may be changed behind their back."""

    def __init__(self) -> None:
        self.bodies = NameIndex()
        self.joints = NameIndex()
        self._held: set[int] = set()
        self._seen = 0

    def holds(self, joints: Sequence[Joint], body: Body) -> bool:
        """Whether a joint other than a loop already ties `body` to something."""
        if self._seen != len(joints):
            self._held = {id(joint.child) for joint in joints if not joint.loop}
            self._seen = len(joints)
        return id(body) in self._held

    def added(self, joint: Joint) -> None:
        if not joint.loop:
            self._held.add(id(joint.child))
        self._seen += 1


class Model(Item):
    """Bodies and the joints between them.

    `pose` places the model: it moves the bodies, not the world they are joined to.  A `static` model is
    never integrated.  Bodies and joints stand in creation order, parents before children: the order of
    the state vector.
    """

    name: str
    pose: Pose = IDENTITY
    static: bool = False
    bodies: list[Body] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    _index: ModelIndex | None = None

    @property
    def index(self) -> ModelIndex:
        if self._index is None:
            self._index = ModelIndex()
        return self._index

    def body(self, name: str) -> Body:
        return self.bodies[require(self.index.bodies, self.bodies, name, "body", f"model {self.name!r}")]

    def joint(self, name: str) -> Joint:
        return self.joints[require(self.index.joints, self.joints, name, "joint", f"model {self.name!r}")]

    @property
    def dof_count(self) -> int:
        return sum(joint.dof_count for joint in self.joints)

    @property
    def dof_names(self) -> list[str]:
        return [name for joint in self.joints if not joint.loop for name in joint.dof_names]

    @property
    def mass(self) -> float:
        """Total mass of the rigid bodies in kg; soft skins come on top."""
        return sum(body.mass for body in self.bodies)

    def add_body(
        self,
        name: str,
        *,
        pose: Pose = IDENTITY,
        mass: float = 1.0,
        com: Vector = ZERO,
        moment: Moment | None = None,
        shapes: Sequence[Shape | Geometry] = (),
        parent: Body | str | None = None,
        joint: Kind = "free",
        joint_name: str = "",
        **joint_options: Any,
    ) -> Body:
        """Add a body and the joint that holds it; returns the body.

        `pose` is the body's frame in the model at zero joint positions, `parent` a body, its name, or None
        for the world.  Each of `shapes` serves both as visual and as collision shape.  Without a `moment`
        it is derived from the shapes.  `joint_options` are fields of `Joint`, such as `axes`.
        """
        if self.index.bodies.place(self.bodies, name) >= 0:
            raise TakenName(f"model {self.name!r} has a body called {name!r} already")
        own = [s if isinstance(s, Shape) else Shape(geometry=s) for s in shapes]
        body = Body(
            name=name,
            pose=pose,
            inertia=Inertia(mass=mass, com=com, moment=moment),
            visuals=own,
            collisions=[Shape(geometry=s.geometry, pose=s.pose) for s in own],
        )
        holder = self.body(parent) if isinstance(parent, str) else parent
        self.bodies.append(body)
        self.index.bodies.added(self.bodies)
        self.add_joint(joint_name or f"{name}_joint", joint, child=body, parent=holder, **joint_options)
        return body

    def add_joint(self, name: str, kind: Kind, *, child: Body, parent: Body | None = None, **options: Any) -> Joint:
        """Add a joint; returns it.  A body that already hangs on another joint makes this one a loop."""
        if kind not in TRAITS:
            raise ExoskelError(f"there is no joint kind {kind!r}; the kinds are {', '.join(TRAITS)}")
        if self.index.joints.place(self.joints, name) >= 0:
            raise TakenName(f"model {self.name!r} has a joint called {name!r} already")
        for body in (child, parent):
            if body is not None and self.body(body.name) is not body:
                raise UnknownName(f"body {body.name!r} is not in model {self.name!r}; add it first")
        positions = options.pop("positions", None)
        velocities = options.pop("velocities", None)
        joint = Joint(name=name, kind=kind, child=child, parent=parent, **options)
        wanted = TRAITS[kind].axes
        if kind in ("planar", "translational2d") and joint.plane != "arbitrary":
            wanted = 0
        if len(joint.axes) != wanted:
            raise ExoskelError(f"a {kind} joint has {wanted} axes, but {name!r} was given {len(joint.axes)}")
        joint.loop = joint.loop or self.index.holds(self.joints, child)
        if positions is not None:
            joint.positions = positions
        if velocities is not None:
            joint.velocities = velocities
        self.joints.append(joint)
        self.index.joints.added(self.joints)
        self.index.added(joint)
        return joint

    def __repr__(self) -> str:
        return f"Model({self.name!r}, bodies={len(self.bodies)}, joints={len(self.joints)})"


class World(Item):
    """Models under one gravity (m/s²), stepped together by `time_step` (s)."""

    name: str = "world"
    gravity: Vector = DEFAULT_GRAVITY
    time_step: float = DEFAULT_TIME_STEP
    collision_detector: str = ""
    """The word the source names; a preference of the file, empty when it states none."""
    models: list[Model] = field(default_factory=list)
    erp: float | None = None
    """ODE's error reduction of all constraints, if the source states it."""
    cfm: float | None = None
    """ODE's softness of all constraints, if the source states it."""
    passing: list[tuple[str, ...]] = field(default_factory=list)
    """Groups of name parts: two shapes whose names contain parts of one group do not collide."""
    _index: NameIndex = field(default_factory=NameIndex)

    def model(self, name: str) -> Model:
        return self.models[require(self._index, self.models, name, "model", f"world {self.name!r}")]

    def add_model(self, model: Model | str, **options: Any) -> Model:
        """Add a model, or a new empty one of that name; returns it."""
        added = Model(name=model, **options) if isinstance(model, str) else model
        if self._index.place(self.models, added.name) >= 0:
            raise TakenName(f"world {self.name!r} has a model called {added.name!r} already")
        self.models.append(added)
        self._index.added(self.models)
        return added

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
    def mass(self) -> float:
        return sum(model.mass for model in self.models)

    def __post_init__(self) -> None:
        x, y, z = self.gravity
        self.gravity = (float(x), float(y), float(z))
        if not (isfinite(self.time_step) and self.time_step > 0.0):
            raise ExoskelError(f"a time step has to be positive and finite, not {self.time_step}")

    def __repr__(self) -> str:
        return f"World({self.name!r}, models={len(self.models)}, dofs={self.dof_count})"


class Reading(Struct, frozen=True):
    """How a scene was read: the choices that change what a file means."""

    format: str = ""
    format_version: str = ""
    semantics: str = ""
    bare: bool = False
    """The document is a bare skeleton: it states no world of its own."""


class Extension(Item):
    """Data of another application that the source carries along, kept whole; `owner` is what it stands in."""

    name: str
    owner: str


class Scene(Struct, eq=False):
    """What a file holds: its worlds, and everything the reader has to say about it.

    `documents` are the sources that items point into with their `document` number.
    """

    worlds: list[World] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    documents: list[Locator] = field(default_factory=list)
    reading: Reading = Reading()
    extensions: list[Extension] = field(default_factory=list)

    @property
    def world(self) -> World:
        """The only world; an error when there are none or several."""
        if len(self.worlds) == 1:
            return self.worlds[0]
        if self.worlds:
            names = ", ".join(repr(world.name) for world in self.worlds)
            raise ExoskelError(f"the scene has {len(self.worlds)} worlds ({names}); choose one of scene.worlds")
        reason = next((f": {d}" for d in self.diagnostics if d.severity == "error"), "")
        raise ExoskelError(f"the scene holds no world{reason}")

    @property
    def source(self) -> Locator | None:
        """The document the scene was read from, if it was read from one."""
        return self.documents[0] if self.documents else None

    def where(self, item: Item) -> Position | None:
        """The place in the source that an item of the scene came from."""
        if item.document < 0 or item.node < 0:
            return None
        return self.documents[item.document].position(Place(node=item.node))

    def __repr__(self) -> str:
        name = self.source.name if self.source else "no file"
        return f"Scene({name!r}, worlds={len(self.worlds)}, diagnostics={len(self.diagnostics)})"
