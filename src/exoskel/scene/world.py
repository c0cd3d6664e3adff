"""Scenes and worlds: the content of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Any, TypeVar, overload

from msgspec import field, structs

from exoskel import display_hooks
from exoskel.diagnostics import Diagnostic, ExoskelError, Locator, Place, Position
from exoskel.display_hooks import html_table
from exoskel.scene.actuator import Activation, Actuator, ActuatorKind, driven_joints, drives_joint, initial_activations
from exoskel.scene.body import Body, Marker
from exoskel.scene.cameras_and_keyframes import Keyframe, SceneCamera, SceneLight, joint_paths, state_of
from exoskel.scene.edit_tracking import Tracked, TrackedList, no_edits, register_owner, track_lists
from exoskel.scene.editing import ItemType, as_pose, matches_path, relative_rotation, rotate_states
from exoskel.scene.equality import Equality, EqualityKind, EqualityTargets, equality_targets, known_equalities
from exoskel.scene.field_checks import ConvertedField, NumberSequence, initially
from exoskel.scene.item import (
    Item,
    NameIndex,
    TakenNameError,
    UnknownNameError,
    check_name,
    not_found_message,
    qualified_name,
    renamed_models,
    replaced_paths,
    require_index,
)
from exoskel.scene.joint import UNLIMITED, Joint
from exoskel.scene.model import Model
from exoskel.scene.pose import Pose, Vector
from exoskel.scene.sensor import SceneSensor, SensorKind, SensorTargets, target_kinds
from exoskel.scene.shape import Shape
from exoskel.scene.source_info import SourceInfo
from exoskel.scene.tendon import Tendon, TendonJoint, TendonParts, TendonPoint, known_tendons

DEFAULT_GRAVITY: Vector = (0.0, 0.0, -9.81)
DEFAULT_TIME_STEP = 0.001
COLLISION_DETECTORS = ("fcl", "fcl_mesh", "dart", "bullet", "ode")
"""The collision detectors of DART."""
NamedValue = TypeVar("NamedValue", SceneCamera, Keyframe, Actuator, Tendon, SceneSensor, Equality)


class World(Item, weakref=True):
    """Models under one gravity (m/s²), stepped together by `time_step` (s)."""

    name: str = "world"
    gravity: ConvertedField[Vector, NumberSequence] = initially(DEFAULT_GRAVITY)
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
    cameras: list[SceneCamera] = field(default_factory=TrackedList)
    lights: list[SceneLight] = field(default_factory=TrackedList)
    keyframes: list[Keyframe] = field(default_factory=TrackedList)
    """Named states of all joints; the initial state is that of the joints themselves."""
    actuators: list[Actuator] = field(default_factory=TrackedList)
    """Motors and servos of joints and tendons; `Joint.actuator` states what a command of the joint itself does."""
    tendons: list[Tendon] = field(default_factory=TrackedList)
    """Fixed tendons of several joints, and spatial tendons over sites."""
    sensors: list[SceneSensor] = field(default_factory=TrackedList)
    equalities: list[Equality] = field(default_factory=TrackedList)
    """Equality constraints that are neither loops nor mimics of joints."""
    _index: NameIndex = field(default_factory=NameIndex)
    _valid_at: int = -1
    """The value of the edit clock when the world was last known to be valid."""

    def model(self, name: str) -> Model:
        """The model of that name.  Raises UnknownNameError."""
        return self.models[require_index(self._index, self.models, name, "model", f"world {self.name!r}")]

    def add_model(self, name: str, *, pose: Pose | NumberSequence | None = None, static: bool = False) -> Model:
        """Add a new empty model; returns it.  `pose` is a pose or a position."""
        check_name("model", name)
        self._require_free(name)
        model = Model(name=name, static=static)
        if pose is not None:
            model.pose = as_pose(pose, "model", name)
        self.models.append(model)
        self._index.note_appended(self.models)
        return model

    def add(self, model: Model, *, name: str | None = None, at: Pose | NumberSequence | None = None) -> Model:
        """Add a copy of a model, built or loaded; returns the copy.

        `name` replaces its name, which must not be in use.  `at` replaces its pose, and may be a position.
        """
        if not isinstance(model, Model):
            raise ExoskelError(f"expected a Model, not {model!r}; use exoskel.merge for scenes and worlds")
        if name is not None:
            check_name("model", name)
        self._require_free(model.name if name is None else name, "add it with name=...")
        copied = model.copy(name=name)
        if at is not None:
            with no_edits():
                copied.pose = as_pose(at, "model", copied.name)
                rotate_states(copied.bodies, relative_rotation(model.pose, copied.pose))
        self.models.append(copied)
        self._index.note_appended(self.models)
        return copied

    def _require_free(self, name: str, hint: str = "") -> None:
        if self._index.index_of(self.models, name) >= 0:
            more = f"; {hint}" if hint else ""
            raise TakenNameError(f"world {self.name!r} already has a model called {name!r}{more}")

    def camera(self, name: str) -> SceneCamera:
        """The camera of that name.  Raises UnknownNameError."""
        return self._named("camera", self.cameras, name)

    def keyframe(self, name: str) -> Keyframe:
        """The keyframe of that name.  Raises UnknownNameError."""
        return self._named("keyframe", self.keyframes, name)

    def add_keyframe(self, name: str, *, time: float = 0.0) -> Keyframe:
        """Add the initial state of all joints, and the initial controls, as a keyframe; returns it."""
        if any(one.name == name for one in self.keyframes):
            raise TakenNameError(f"world {self.name!r} already has a keyframe called {name!r}")
        joints = tuple(state_of(path, joint) for path, joint in joint_paths(self.models))
        controls = tuple((one.name, one.control) for one in self.actuators if one.control)
        made = Keyframe(name, time, joints, controls, tuple(initial_activations(self.actuators).items()))
        self.keyframes.append(made)
        return made

    def actuator(self, name: str) -> Actuator:
        """The actuator of that name.  Raises UnknownNameError."""
        return self._named("actuator", self.actuators, name)

    def add_actuator(
        self,
        name: str,
        joint: Joint | str | None = None,
        *,
        tendon: Tendon | str = "",
        kind: ActuatorKind = "motor",
        coordinate: int = 0,
        gear: float = 1.0,
        gain: float = 1.0,
        damping: float = 0.0,
        bias: NumberSequence = (0.0, 0.0, 0.0),
        control_range: NumberSequence = UNLIMITED,
        force_range: NumberSequence = UNLIMITED,
        control: float = 0.0,
        activation: Activation | None = None,
    ) -> Actuator:
        """Add an actuator of a joint or tendon, given as an object, path or name; returns it.

        See `Actuator` for its values.
        """
        self._require_unused("an actuator", self.actuators, name)
        if (joint is None) == (not tendon):
            raise ExoskelError(f"actuator {name!r} must drive a joint or a tendon")
        path = "" if joint is None else self._driven_path(f"actuator {name!r}", joint, coordinate)
        pulled = self.tendon(tendon if isinstance(tendon, str) else tendon.name).name if tendon else ""
        limits = (control_range, force_range)
        made = Actuator(name, path, coordinate, kind, gear, gain, damping, bias, *limits, control, pulled, activation)
        self.actuators.append(made)
        return made

    def _driven_path(self, owner: str, joint: Joint | str, coordinate: int = 0) -> str:
        """The path of a joint with fixed axes that an actuator or tendon drives."""
        found, model = self._locate(f"joint:{joint}" if isinstance(joint, str) and ":" not in joint else joint)
        path = qualified_name(model.name, found.name)
        if not isinstance(found, Joint) or path not in dict(driven_joints(self.models)):
            raise ExoskelError(f"{owner} cannot drive {found!r}: expected a joint that moves along or about fixed axes")
        if not (isinstance(coordinate, int) and 0 <= coordinate < found.dof_count):
            raise ExoskelError(
                f"{owner} drives coordinate {coordinate!r} of joint {found.name!r}, but must drive 0"
                + (f" to {found.dof_count - 1}" if found.dof_count > 1 else "")
            )
        return path

    def add_sensor(self, name: str, kind: SensorKind, target: str = "", **values: Any) -> SceneSensor:
        """Add a sensor of a site, body, joint, tendon or actuator, given by its path or name; returns it.

        `values` are other fields of `SceneSensor`, such as `target_kind="body"` for sensors of frames.
        """
        self._require_unused("a sensor", self.sensors, name)
        made = SceneSensor(name, kind, values.pop("target_kind", target_kinds(kind)[0]), target, **values)
        for path in SensorTargets(TendonParts(self.models), self.tendons, self.actuators).unknown(made):
            raise UnknownNameError(f"sensor {name!r} refers to {path!r}, which is not in world {self.name!r}")
        self.sensors.append(made)
        return made

    def _require_unused(self, what: str, items: list[NamedValue], name: str) -> None:
        check_name(what.partition(" ")[2], name)
        if any(one.name == name for one in items):
            raise TakenNameError(f"world {self.name!r} already has {what} called {name!r}")

    def equality(self, name: str) -> Equality:
        """The equality constraint of that name.  Raises UnknownNameError."""
        return self._named("equality constraint", self.equalities, name)

    def add_equality(self, name: str, kind: EqualityKind, target: str, other: str = "", **values: Any) -> Equality:
        """Add an equality constraint of two bodies, sites, joints or tendons, given by paths or names; returns it.

        `values` are other fields of `Equality`, such as `target_kind="site"`.
        """
        self._require_unused("an equality constraint", self.equalities, name)
        made = Equality(name, kind, values.pop("target_kind", equality_targets(kind)[0]), target, other, **values)
        for path in EqualityTargets(TendonParts(self.models), self.tendons).unknown(made):
            raise UnknownNameError(f"constraint {name!r} refers to {path!r}, which is not in world {self.name!r}")
        self.equalities.append(made)
        return made

    def sensor(self, name: str) -> SceneSensor:
        """The sensor of that name.  Raises UnknownNameError."""
        return self._named("sensor", self.sensors, name)

    def tendon(self, name: str) -> Tendon:
        """The tendon of that name.  Raises UnknownNameError."""
        return self._named("tendon", self.tendons, name)

    def add_tendon(
        self,
        name: str,
        *,
        joints: Mapping[str, float] | Sequence[TendonJoint] = (),
        path: Sequence[TendonPoint | str] = (),
        **values: Any,
    ) -> Tendon:
        """Add a tendon; returns it.  `values` are other fields of `Tendon`.

        A fixed tendon has `joints`: coefficients by the paths of joints.  A spatial tendon has a `path`; a string in it
        is the path of a site, `model/body/marker`.
        """
        self._require_unused("a tendon", self.tendons, name)
        rows = [TendonJoint(*one) for one in joints.items()] if isinstance(joints, Mapping) else joints
        owner = f"tendon {name!r}"
        rows = [structs.replace(one, joint=self._driven_path(owner, one.joint, one.coordinate)) for one in rows]
        points = [TendonPoint(site=one) if isinstance(one, str) else one for one in path]
        made = Tendon(name, tuple(rows), tuple(points), **values)
        for unknown in TendonParts(self.models).unknown(made):
            raise UnknownNameError(f"{owner} refers to {unknown!r}, which is not in world {self.name!r}")
        self.tendons.append(made)
        return made

    def apply_keyframe(self, keyframe: Keyframe | str) -> None:
        """Set the initial state of joints and the controls to those of a keyframe, given as it is or by its name."""
        found = self.keyframe(keyframe) if isinstance(keyframe, str) else keyframe
        for joint, state in found.states(self.models):
            joint.positions, joint.velocities = state.positions, state.velocities
        controls, activations = dict(found.controls), dict(found.activations)
        for number, actuator in enumerate(self.actuators):
            control, activation = controls.get(actuator.name, 0.0), actuator.activation
            if activation is not None:
                activation = structs.replace(activation, initial=activations.get(actuator.name, 0.0))
            if (control, activation) != (actuator.control, actuator.activation):
                self.actuators[number] = structs.replace(actuator, control=control, activation=activation)

    def _named(self, kind: str, items: list[NamedValue], name: str) -> NamedValue:
        for one in items:
            if one.name == name:
                return one
        raise UnknownNameError(not_found_message(name, [one.name for one in items], kind, f"world {self.name!r}"))

    @overload
    def find(self, pattern: str) -> list[Model | Body | Joint | Shape | Marker]: ...

    @overload
    def find(self, pattern: str, kind: type[ItemType]) -> list[ItemType]: ...

    def find(self, pattern: str, kind: type[Any] = Item) -> list[Any]:
        """The items whose paths match a pattern, in order, of one class if `kind` is given.

        Paths are `model`, `model/body`, `model/joint`, `model/body/shape` and `model/body/marker`.  `*`, `?` and
        `[abc]` match within one name.  As in `rollout(vary=...)`, `body:NAME` is a body of any model, and
        `body:MODEL/NAME` of one model; `model:`, `joint:`, `shape:` and `marker:` work the same way.  In a name, `~1`
        stands for a slash and `~0` for a tilde.
        """
        if not isinstance(pattern, str):
            raise ExoskelError(f"the pattern is {pattern!r}, but must be a string such as 'model/body*'")
        if not isinstance(kind, type):
            raise ExoskelError(f"the kind is {kind!r}, but must be a class such as Body")
        prefix, colon, rest = pattern.partition(":")
        wanted = _KINDS.get(prefix) if colon else None
        path = pattern if wanted is None else rest
        return [
            item
            for item, names in self._items()
            if isinstance(item, wanted or kind)
            and isinstance(item, kind)
            and matches_path(names, path, partial=wanted is not None)
        ]

    def _items(self) -> Iterator[tuple[Model | Body | Joint | Shape | Marker, tuple[str, ...]]]:
        """Yield all items with their names and those of the items around them."""
        for model in self.models:
            yield model, (model.name,)
            for body in model.bodies:
                yield body, (model.name, body.name)
                for shape in body.shapes:
                    yield shape, (model.name, body.name, shape.name)
                for marker in body.markers:
                    yield marker, (model.name, body.name, marker.name)
            for joint in model.joints:
                yield joint, (model.name, joint.name)

    def rename(self, item: Model | Body | Joint | Shape | str, name: str) -> None:
        """Rename a model, body, joint or shape, given as an object or path; the new name must not be in use.

        References to it are updated.  `collision_exempt_groups` get the new name, so that the same bodies collide.
        """
        found, model = self._locate(item)
        before, groups, old = self._exempt_labels(), list(self.collision_exempt_groups), found.name
        if isinstance(found, Model):
            check_name("model", name)
            if name != old:
                self._require_free(name)
            found.name = name
            return
        model.rename(found, name)
        for number, (was, now) in enumerate(zip(before, self._exempt_labels(), strict=True)):
            if was - now:
                self.collision_exempt_groups[number] = (*groups[number], name)
        if before != self._exempt_labels():
            self.collision_exempt_groups = groups
            model.rename(found, old)
            raise ExoskelError(
                f"cannot rename {old!r} to {name!r}: other bodies would collide, because collision_exempt_groups of "
                f"world {self.name!r} match parts of names; change these groups first"
            )

    def prepare_rename(self, item: Tracked, name: str) -> None:
        """Let everything that refers to a model, body, joint or shape of this world follow its new name."""
        if isinstance(item, Joint):
            for model in (one for one in self.models if item in one.joints):
                model.rename_mimics(item, name)
        if not self._has_references or not isinstance(item, Model | Body | Joint | Shape):
            return
        if isinstance(item, Shape):
            if self.tendons and any(item in body.visuals or item in body.collisions for body in self.bodies()):
                parts = TendonParts(self.models)
                self.tendons[:] = [one.with_numbered_shapes(parts) for one in self.tendons]
            return
        for model in self.models:
            if item is model:
                renamed = renamed_models({item.name: name})
                self.map_references(renamed, renamed)
            elif item in (model.bodies if isinstance(item, Body) else model.joints):
                paths = {qualified_name(model.name, item.name): qualified_name(model.name, name)}
                bodies, joints = (paths, {}) if isinstance(item, Body) else ({}, paths)
                self.map_references(replaced_paths(bodies), replaced_paths(joints))

    @property
    def _has_references(self) -> bool:
        lists = (self.cameras, self.lights, self.keyframes, self.actuators, self.tendons, self.sensors, self.equalities)
        return any(lists)

    def map_references(self, body_path: Callable[[str], str], joint_path: Callable[[str], str]) -> None:
        """Replace the paths of bodies and joints in all objects of the world that refer to them."""
        for number, camera in enumerate(self.cameras):
            paths = {"body": body_path(camera.body), "target": body_path(camera.target)}
            self.cameras[number] = structs.replace(camera, **paths)
        for number, light in enumerate(self.lights):
            paths = {"body": body_path(light.body), "target": body_path(light.target)}
            self.lights[number] = structs.replace(light, **paths)
        for number, keyframe in enumerate(self.keyframes):
            joints = tuple(structs.replace(one, joint=joint_path(one.joint)) for one in keyframe.joints)
            if joints != keyframe.joints:
                self.keyframes[number] = structs.replace(keyframe, joints=joints)
        self.actuators[:] = [structs.replace(one, joint=joint_path(one.joint)) for one in self.actuators]
        self.tendons[:] = [one.with_paths(body_path, joint_path) for one in self.tendons]
        self.sensors[:] = [one.with_paths(body_path, joint_path) for one in self.sensors]
        self.equalities[:] = [one.with_paths(body_path, joint_path) for one in self.equalities]

    def _exempt_labels(self) -> list[set[int]]:
        """The ids of the shapes of each of the exempt groups."""
        shapes = [(body.collision_name(one), one) for body in self.bodies() for one in body.collisions]
        return [
            {id(shape) for name, shape in shapes if number in self.exempt_groups_of(name)}
            for number in range(len(self.collision_exempt_groups))
        ]

    def exempt_groups_of(self, name: str) -> list[int]:
        """The numbers of the exempt groups of a shape with this name: those with a part that the name contains."""
        return [i for i, parts in enumerate(self.collision_exempt_groups) if any(part in name for part in parts)]

    def remove(self, item: Model | Body | Joint | Shape | str, *, subtree: bool = False) -> None:
        """Remove a model, body, joint or shape, given as an object or path; see `Model.remove`."""
        found, model = self._locate(item)
        if not isinstance(found, Model):
            model.remove(found, subtree=subtree)
            return
        self.models[:] = [one for one in self.models if one is not found]
        self.drop_dangling_references()

    def drop_dangling_references(self) -> None:
        """Remove what refers to bodies, joints, sites, shapes and tendons that are not in the world."""
        if not self._has_references:
            return
        bodies = {"", *(qualified_name(model.name, body.name) for model in self.models for body in model.bodies)}
        joints = dict(joint_paths(self.models)) if self.keyframes else {}
        for view in [one for one in self.cameras if not {one.body, one.target} <= bodies]:
            self.cameras.remove(view)
        for light in [one for one in self.lights if not {one.body, one.target} <= bodies]:
            self.lights.remove(light)
        for number, keyframe in enumerate(self.keyframes):
            kept = tuple(one for one in keyframe.joints if one.fits(joints.get(one.joint)))
            if len(kept) < len(keyframe.joints):
                self.keyframes[number] = structs.replace(keyframe, joints=kept)
        self.tendons[:] = known_tendons(self.tendons, self.models)
        driven = dict(driven_joints(self.models)) if self.actuators else {}
        tendons = {one.name for one in self.tendons}
        for actuator in [one for one in self.actuators if not (drives_joint(one, driven) or one.tendon in tendons)]:
            self.actuators.remove(actuator)
            self._drop_controls(actuator.name)
        names = {one.name for one in self.actuators}
        stated = {name for keyframe in self.keyframes for name, _ in (*keyframe.controls, *keyframe.activations)}
        for name in stated - names:
            self._drop_controls(name)
        if self.sensors:
            targets = SensorTargets(TendonParts(self.models), self.tendons, self.actuators)
            self.sensors[:] = [one for one in self.sensors if not targets.missing(one)]
        self.equalities[:] = known_equalities(self.equalities, self.models, self.tendons)

    def _drop_controls(self, actuator: str) -> None:
        """Remove the controls and activations of an actuator from all keyframes."""
        for number, keyframe in enumerate(self.keyframes):
            stated = {"controls": keyframe.controls, "activations": keyframe.activations}
            kept = {name: tuple(one for one in pairs if one[0] != actuator) for name, pairs in stated.items()}
            if kept != stated:
                self.keyframes[number] = structs.replace(keyframe, **kept)

    def replace(self, item: Model | str, new: Model) -> Model:
        """Replace the bodies and joints of a model by copies of those of another one; returns the model.

        It keeps its name and pose.
        """
        found = self.model(item) if isinstance(item, str) else item
        self._locate(found)
        copied = new.copy()
        rotate_states(copied.bodies, relative_rotation(new.pose, found.pose))
        found.static = copied.static
        found.bodies, found.joints = copied.bodies, copied.joints
        self.drop_dangling_references()
        return found

    def _locate(self, item: Model | Body | Joint | Shape | str) -> tuple[Model | Body | Joint | Shape, Model]:
        """An item, given as it is or by its path, and the model that it is in."""
        if isinstance(item, str) and "/" not in item and ":" not in item:
            model = self.model(item)
            return model, model
        if isinstance(item, str):
            matching = [one for one in self.find(item) if not isinstance(one, Marker)]
            if len(matching) != 1:
                found = f"{len(matching)} items match" if matching else "no item matches"
                raise UnknownNameError(f"{found} {item!r} in world {self.name!r}; use a path that matches one item")
            item = matching[0]
        for model in self.models:
            if item is model or any(
                item is one for one in chain(model.bodies, model.joints, *(body.shapes for body in model.bodies))
            ):
                return item, model
        raise UnknownNameError(f"{item!r} is not in world {self.name!r}")

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
        super().__post_init__()
        register_owner(self)
        track_lists(self, ("models", "cameras", "lights", "keyframes", "actuators", "tendons", "sensors", "equalities"))
        if not (isfinite(self.time_step) and self.time_step > 0.0):
            raise ExoskelError(f"the time step is {self.time_step}, but must be positive and finite")

    def __repr__(self) -> str:
        return f"World({self.name!r}, models={len(self.models)}, dofs={self.dof_count})"

    def _repr_html_(self) -> str:
        """The models, for notebooks."""
        rows = [
            (model.name, len(model.bodies), len(model.joints), model.dof_count, f"{model.mass:g}", model.static)
            for model in self.models
        ]
        return html_table(repr(self), ("model", "bodies", "joints", "dofs", "mass (kg)", "static"), rows)


_KINDS: dict[str, type[Item]] = {"model": Model, "body": Body, "joint": Joint, "shape": Shape, "marker": Marker}
"""The prefixes of paths."""


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
    source_info: SourceInfo = SourceInfo()
    extensions: list[Extension] = field(default_factory=list)
    options: object = None
    """The options it was read with; `ReadOptions.of` has them with their type."""

    def _repr_html_(self) -> str:
        """The worlds and the viewer's page, if the viewer is installed, for notebooks."""
        tables = "".join(world._repr_html_() for world in self.worlds)
        if self.diagnostics:
            rows = [(one.severity.value, one.code, one.line or "", one.message) for one in self.diagnostics]
            tables += html_table("Diagnostics", ("severity", "code", "line", "message"), rows)
        return (display_hooks.render_html(self) or "") + tables

    stamp: int = -1
    """The value of the edit clock when it was last read or saved; -1 if never."""

    @property
    def world(self) -> World:
        """The only world.  Raises ExoskelError unless the scene has exactly one."""
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
    if isinstance(source, World | Scene):
        return source if isinstance(source, World) else source.world
    if isinstance(source, Model):
        with no_edits():
            return World(name=source.name, models=[source])
    raise ExoskelError(f"expected a Scene, World or Model, not {source!r}; use exoskel.load to read a file")
