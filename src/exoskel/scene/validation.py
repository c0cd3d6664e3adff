"""The validation of a scene: its structure, its numbers, its references, and values that are probably mistakes.

A scene is checked after embedded data is applied, and after edits before a writer or an
engine uses it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from exoskel.diagnostics import Collector, Diagnostic, ExoskelError, NoSource, Severity
from exoskel.scene.actuator import Activation, Actuator, ActuatorKind, driven_joints, drives_joint
from exoskel.scene.body import Body, Marker
from exoskel.scene.cameras_and_keyframes import Keyframe, KeyframeJoint, SceneCamera, SceneLight, joint_paths
from exoskel.scene.codes import CATALOGUE
from exoskel.scene.edit_tracking import CLOCK
from exoskel.scene.equality import Equality
from exoskel.scene.equality_checks import check_equalities, check_solvers
from exoskel.scene.item import Item, qualified_name
from exoskel.scene.joint import TRAITS, Dof, Joint
from exoskel.scene.model import Model
from exoskel.scene.moment_checks import check_moment
from exoskel.scene.sensor import SceneSensor, SensorTargets
from exoskel.scene.shape import Mesh, Shape
from exoskel.scene.tendon import Tendon, TendonParts
from exoskel.scene.unknown_references import UnknownReferences
from exoskel.scene.value_checks import NOT_NAN, NOT_NEGATIVE, POSITIVE, Problem, ValueChecker
from exoskel.scene.world import COLLISION_DETECTORS, Scene, SceneLike, World, as_scene


class InvalidSceneError(ExoskelError, ValueError):
    """A scene is invalid and cannot be written or run.  `diagnostics` has all errors."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics: list[Diagnostic] = diagnostics
        others = len(diagnostics) - 1
        super().__init__(diagnostics[0].message + (f" (and {others} more)" if others else ""))


def check(scene: SceneLike) -> list[Diagnostic]:
    """Check a scene, world or model, and return its problems; an empty list if it has none.

    Files are checked when they are loaded.  Edits are checked before a scene is saved, converted or simulated.  The
    diagnostics of a scene point into its file.
    """
    return _diagnose(as_scene(scene), find_doubtful=True)


def find_invalid(scene: SceneLike) -> list[Diagnostic]:
    """The problems of a scene that concern types, ranges and references, without values that are only doubtful."""
    return _diagnose(as_scene(scene), find_doubtful=False)


def _diagnose(scene: Scene, *, find_doubtful: bool) -> list[Diagnostic]:
    worlds = scene.worlds
    collectors = [Collector(CATALOGUE, document) for document in scene.documents]
    unplaced = Collector(CATALOGUE, NoSource(worlds[0].name if len(worlds) == 1 else "scene"))
    problems = [one for world in worlds for one in _all_problems(world, find_doubtful=find_doubtful)]
    for problem in problems:
        is_known = 0 <= problem.item.document < len(collectors)
        collector = collectors[problem.item.document] if is_known else unplaced
        collector.report(problem.key, problem.item.node if is_known else -1, **dict[str, Any](problem.details))
    return [diagnostic for one in (unplaced, *collectors) for diagnostic in one.diagnostics]


_NOT_TEXT = re.compile("[\\0\\ud800-\\udfff]")
"""Halves of characters, which cannot be encoded, and the end of a text in C."""
_NAMED = (
    ("cameras", SceneCamera),
    ("lights", SceneLight),
    ("keyframes", Keyframe),
    ("tendons", Tendon),
    ("actuators", Actuator),
    ("sensors", SceneSensor),
    ("equalities", Equality),
)
"""The lists of a world whose items have names, and the types of these items."""
_STRUCTURE = ("SC102", "SC103", "SC106")
"""Diagnostics about names and about what joints connect."""


def require_valid(scene: SceneLike, *, trust_reader: bool = True, structure: bool = True) -> None:
    """Raise InvalidSceneError unless a scene is valid.  With `structure=False`, only its values have to be.

    Unless `trust_reader` is False, a scene that was not edited since it was read or checked is valid.  Readers create
    valid scenes or mark them as invalid, except for numbers that are not finite: DART reads them, and very large
    numbers overflow.
    """
    worlds = as_scene(scene).worlds
    now = CLOCK.ticks
    if trust_reader and all(world._valid_at == now for world in worlds):
        return
    errors = [diagnostic for diagnostic in find_invalid(scene) if diagnostic.severity is Severity.ERROR]
    found = errors if structure else [error for error in errors if error.code not in _STRUCTURE]
    if found:
        raise InvalidSceneError(found)
    if not errors:
        mark_valid(worlds, now)


def require_valid_world(scene: SceneLike) -> World:
    """The only world of a scene.  Raises InvalidSceneError unless it is valid, and ExoskelError for several worlds."""
    whole = as_scene(scene)
    require_valid(whole)
    if len(whole.worlds) != 1:
        raise ExoskelError(f"the scene has {len(whole.worlds)} worlds; pass one of them, such as scene.worlds[0]")
    return whole.world


_INVALID = -2
"""The time at which a world is valid that a reader has found to be invalid."""


def mark_valid(worlds: Iterable[World], now: int) -> None:
    """Record that worlds are valid at a time of the edit clock."""
    for world in worlds:
        Struct.__setattr__(world, "_valid_at", now)


def mark_read(worlds: Iterable[World], now: int) -> None:
    """Record that worlds were read at a time of the edit clock: all are valid that the reader did not mark."""
    mark_valid([world for world in worlds if world._valid_at != _INVALID], now)


def mark_invalid(world: World) -> None:
    """Record that a world is invalid, which its reader reports."""
    mark_valid([world], _INVALID)


def world_problems(world: World) -> list[Problem]:
    """All problems of a world that concern types, ranges and references."""
    return _Validator(world).problems()


def _all_problems(world: World, *, find_doubtful: bool) -> list[Problem]:
    """The problems of a world, optionally with doubtful values of the items that are valid."""
    if not find_doubtful:
        return world_problems(world)
    validator = _Validator(world)
    problems = validator.problems()
    if not validator.has_types:
        return problems
    return [*problems, *doubtful_values(world, [one.item for one in problems])]


class _Validator:
    """Collects the problems of one world."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.models = [model for model in world.models if isinstance(model, Model)]
        self.bodies = [body for model in self.models for body in model.bodies if isinstance(body, Body)]
        self.joints = [joint for model in self.models for joint in model.joints if isinstance(joint, Joint)]
        self.values = ValueChecker(self.bodies)
        self.report = self.values.report
        self.references = UnknownReferences(world, self.values)
        self.has_types = False

    def problems(self) -> list[Problem]:
        self.has_types = self._has_types()
        if self.has_types:  # otherwise most other checks are not possible
            self._check_settings()
            self._check_names()
            self._check_tree()
            self.values.check_bodies(self.bodies)
            self.values.check_joints(self.joints)
            solvers = [(joint, joint.solver) for joint in self.joints if joint.solver is not None]
            check_solvers(solvers, "solver", "solver", self.values)
            self._check_texts()
        return self.values.problems

    # --- settings and names ---------------------------------------------------------------------------

    def _has_types(self) -> bool:
        """Check that the lists of the world and its models hold models, bodies and joints."""
        self.values.typed([(model, self.world) for model in self.world.models], "models", Model)
        self.values.typed([(body, model) for model in self.models for body in model.bodies], "bodies", Body)
        self.values.typed([(joint, model) for model in self.models for joint in model.joints], "joints", Joint)
        return not self.values.problems

    def _check_settings(self) -> None:
        world = self.world
        self.values.check_numbers([world], "gravity", [world.gravity], width=3)
        self.values.check_numbers([world], "time_step", [world.time_step], POSITIVE)
        self.values.check_optional([world], "erp")
        self.values.check_optional([world], "cfm")
        field = "collision_exempt_groups"
        for group in world.collision_exempt_groups:
            if not isinstance(group, tuple | list) or not all(isinstance(part, str) for part in group):
                self.values.report_value(world, field, field, group, "a tuple of parts of names")
        self.values.check_poses([(model, model.pose) for model in self.models])
        self._check_views()

    def _check_views(self) -> None:
        """Check cameras, lights and keyframes, and that what they refer to exists."""
        world, check = self.world, self.values
        cameras = check.typed([(one, world) for one in world.cameras], "cameras", SceneCamera)
        check.check_poses([(world, one.pose) for one in cameras], "cameras", "cameras.pose")
        check.check_numbers([world] * len(cameras), "cameras", [one.field_of_view for one in cameras], POSITIVE)
        lights = check.typed([(one, world) for one in world.lights], "lights", SceneLight)
        for name in ("position", "direction", "diffuse", "ambient", "specular", "attenuation"):
            check.check_numbers([world] * len(lights), "lights", [getattr(one, name) for one in lights], width=3)
        stated = check.typed([(one, world) for one in world.keyframes], "keyframes", Keyframe)
        keyframes = [one for one in stated if self._has_valid_parts(one)]
        numbers = [n for one in keyframes for joint in one.joints for n in (*joint.positions, *joint.velocities)]
        numbers += [value for one in keyframes for _, value in (*one.controls, *one.activations)]
        check.check_numbers([world] * len(numbers), "keyframes", numbers)
        for kind, views in (("cameras", cameras), ("lights", lights), ("keyframes", keyframes)):
            counts = Counter(one.name for one in views if one.name)
            for name in (name for name, count in counts.items() if count > 1):
                self.report("SC102", world, kind, owner=check.describe(world), kind=kind, name=name)
        self._check_references(cameras, lights, keyframes)
        self._check_tendons()
        self._check_actuators()
        self._check_sensors()
        check_equalities(world, self.models, check, self.references)

    def _check_sensors(self) -> None:
        """Check the numbers, names and targets of sensors."""
        world, check = self.world, self.values
        sensors: list[SceneSensor] = check.typed([(one, world) for one in world.sensors], "sensors", SceneSensor)
        for name in ("noise", "cutoff"):
            values = [getattr(one, name) for one in sensors]
            check.check_numbers([world] * len(sensors), "sensors", values, NOT_NEGATIVE, path=f"sensors.{name}")
        counts = Counter(one.name for one in sensors)
        for name in (name for name, count in counts.items() if count > 1):
            self.report("SC102", world, "sensors", owner=check.describe(world), kind="sensors", name=name)
        names = [one.name for items in (self.models, self.bodies, self.joints) for one in items]
        if not sensors or not all(isinstance(name, str) for name in names):
            return
        targets = SensorTargets(TendonParts(self.models), world.tendons, world.actuators)
        for one in sensors:
            if one.problem:
                check.report_value(world, "sensors", "sensors", one, "a kind of sensor, and what it measures")
                continue
            for path in targets.missing(one):
                self.references.report("sensors", "sensor", one.name, path, one.coordinate)

    def _check_tendons(self) -> None:
        """Check the numbers, names and paths of tendons."""
        world, check = self.world, self.values
        tendons: list[Tendon] = check.typed([(one, world) for one in world.tendons], "tendons", Tendon)
        before = len(check.problems)
        owners = [world] * len(tendons)
        for name in ("stiffness", "damping", "friction", "armature"):
            values = [getattr(one, name) for one in tendons]
            check.check_numbers(owners, "tendons", values, NOT_NEGATIVE, path=f"tendons.{name}")
        for name in ("limits", "force_limits"):
            ranges = [getattr(one, name) for one in tendons]
            check.check_numbers(owners, "tendons", ranges, NOT_NAN, 2, path=f"tendons.{name}")
        lengths = [one.rest_length for one in tendons if one.rest_length is not None]
        check.check_numbers([world] * len(lengths), "tendons", lengths, width=2, path="tendons.rest_length")
        weights = [joint.coefficient for one in tendons for joint in one.joints]
        weights += [point.divisor for one in tendons for point in one.path]
        check.check_numbers([world] * len(weights), "tendons", weights, path="tendons.joints")
        has_valid_numbers = len(check.problems) == before
        counts = Counter(one.name for one in tendons)
        for name in (name for name, count in counts.items() if count > 1):
            self.report("SC102", world, "tendons", owner=check.describe(world), kind="tendons", name=name)
        names = [one.name for items in (self.models, self.bodies, self.joints) for one in items]
        if not tendons or not has_valid_numbers or not all(isinstance(name, str) for name in names):
            return
        parts = TendonParts(self.models)
        for one in tendons:
            if one.problem or not all(point.is_valid for point in one.path):
                expected = "joints, or a path over two sites"
                check.report_value(world, "tendons", "tendons", one, expected)
            for path in parts.unknown(one):
                self.references.report("tendons", "tendon", one.name, path)

    def _has_valid_parts(self, keyframe: Keyframe) -> bool:
        """Report parts of a keyframe that are not states of joints, or not names of actuators with their controls."""
        check, before = self.values, len(self.values.problems)
        check.typed([(one, self.world) for one in keyframe.joints], "keyframes", KeyframeJoint)
        lists: dict[str, tuple[Any, ...]] = {"control": keyframe.controls, "activation": keyframe.activations}
        for what, pair in ((what, pair) for what, pairs in lists.items() for pair in pairs):
            if not (isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str)):
                expected = f"the name of an actuator and its {what}"
                check.report_value(self.world, "keyframes", f"keyframes.{what}s", pair, expected)
        return len(check.problems) == before

    def _check_actuators(self) -> None:
        """Check the numbers, names and joints of actuators."""
        world, check = self.world, self.values
        actuators: list[Actuator] = check.typed([(one, world) for one in world.actuators], "actuators", Actuator)
        before = len(check.problems)
        owners = [world] * len(actuators)
        for name, width in (("gear", 1), ("gain", 1), ("damping", 1), ("control", 1), ("bias", 3)):
            values = [getattr(one, name) for one in actuators]
            check.check_numbers(owners, "actuators", values, width=width, path=f"actuators.{name}")
        for name in ("control_range", "force_range"):
            ranges = [getattr(one, name) for one in actuators]
            check.check_numbers(owners, "actuators", ranges, NOT_NAN, 2, path=f"actuators.{name}")
        self._check_activations(actuators)
        has_valid_numbers = len(check.problems) == before
        counts = Counter(one.name for one in actuators)
        for name in (name for name, count in counts.items() if count > 1):
            self.report("SC102", world, "actuators", owner=check.describe(world), kind="actuators", name=name)
        names = [one.name for items in (self.models, self.joints) for one in items]
        if not actuators or not has_valid_numbers or not all(isinstance(name, str) for name in names):
            return
        known = dict(driven_joints(self.models))
        for one in actuators:
            self._check_actuator(one, known)

    def _check_activations(self, actuators: Sequence[Actuator]) -> None:
        world, check = self.world, self.values
        stated = [(one.activation, world) for one in actuators if one.activation is not None]
        found: list[Activation] = check.typed(stated, "actuators", Activation)
        owners = [world] * len(found)
        for name in ("time_constant", "initial"):
            values = [getattr(one, name) for one in found]
            check.check_numbers(owners, "actuators", values, path=f"actuators.activation.{name}")
        ranges = [one.range for one in found]
        check.check_numbers(owners, "actuators", ranges, NOT_NAN, 2, path="actuators.activation.range")

    def _check_actuator(self, one: Actuator, joints: Mapping[str, Joint]) -> None:
        world, check = self.world, self.values
        if one.tendon:
            if one.joint:
                check.report_value(world, "actuators", "actuators.joint", one.joint, "no joint beside a tendon")
            if one.tendon not in {tendon.name for tendon in world.tendons}:
                self.references.report("actuators", "actuator", one.name, one.tendon)
        elif not isinstance(one.coordinate, int) or one.coordinate < 0:
            check.report_value(world, "actuators", "actuators.coordinate", one.coordinate, "the number of a coordinate")
        elif not drives_joint(one, joints):
            self.references.report("actuators", "actuator", one.name, one.joint, one.coordinate)
        if one.kind not in get_args(ActuatorKind):
            check.report_value(world, "actuators", "actuators.kind", one.kind, "a kind of actuator")
        elif one.unused_field:
            path, found = f"actuators.{one.unused_field}", getattr(one, one.unused_field)
            check.report_value(world, "actuators", path, found, f"0 for a {one.kind} actuator")
        ranges = {name: getattr(one, name) for name in ("control_range", "force_range")}
        if one.activation is not None:
            ranges["activation.range"] = one.activation.range
            if one.activation.problem:
                expected = "a kind of activation with its time constant"
                check.report_value(world, "actuators", "actuators.activation", one.activation, expected)
        for name, (low, high) in ranges.items():
            if low > high:
                check.report_value(world, "actuators", f"actuators.{name}", (low, high), "a lower and an upper limit")

    def _check_references(
        self, cameras: Sequence[SceneCamera], lights: Sequence[SceneLight], keyframes: Sequence[Keyframe]
    ) -> None:
        """Check that bodies, joints and actuators of cameras, lights and keyframes exist, if these have valid names."""
        names = [one.name for items in (self.models, self.bodies, self.joints) for one in items]
        if not (cameras or lights or keyframes) or not all(isinstance(name, str) for name in names):
            return
        bodies = {qualified_name(model.name, body.name) for model in self.models for body in model.bodies}
        joints = dict(joint_paths(self.models))
        views: list[SceneCamera | SceneLight] = [*cameras, *lights]
        paths = [
            ("camera" if isinstance(one, SceneCamera) else "light", one.name, path, bodies)
            for one in views
            for path in (one.body, one.target)
            if path
        ]
        for keyframe in keyframes:
            for state in (one for one in keyframe.joints if not one.fits(joints.get(one.joint))):
                self.references.report("keyframes", "keyframe", keyframe.name, state.joint)
        actuators = {one.name for one in self.world.actuators if isinstance(one, Actuator)}
        pairs = [(one, name) for one in keyframes for name, _ in (*one.controls, *one.activations)]
        paths += [("keyframe", one.name, name, actuators) for one, name in pairs]
        for what, name, path, known in paths:
            if path not in known:
                self.references.report(f"{what}s", what, name, path)

    def _check_names(self) -> None:
        self._check_scope(self.world, self.models, "models")
        for model in self.models:
            for kind in ("bodies", "joints"):
                items = getattr(model, kind)
                if len(items) > 1 or (items and type(items[0].name) is not str):
                    self._check_scope(model, items, kind)

    def _check_scope(self, owner: Item, items: Sequence[Any], kind: str) -> None:
        """Check that the items of a list have names, each of them once."""
        names = [item.name for item in items]
        if set(map(type, names)) <= {str} and len(set(names)) == len(names):
            return
        known: dict[str, Item] = {}
        for item in items:
            if not isinstance(item.name, str):
                self.values.report_value(item, "name", "name", item.name, "a text")
            elif known.setdefault(item.name, item) is not item:
                described = self.values.describe(owner)
                self.report("SC102", item, "name", [known[item.name]], owner=described, kind=kind, name=item.name)

    def _check_texts(self) -> None:
        """Check that names can be written to files: strings in Python may contain halves of characters."""
        rows = list(self._texts())
        try:
            if b"\0" not in "".join([text for _, _, text in rows]).encode():
                return
        except (TypeError, UnicodeEncodeError):
            pass
        for item, path, text in rows:
            field = path.partition(".")[0]
            if not isinstance(text, str):
                if not isinstance(item, Model | Body | Joint):  # reported with the names of its scope
                    self.values.report_value(item, field, path, text, "a text")
            elif _NOT_TEXT.search(text):
                self.values.report_value(item, field, path, text, "valid characters")

    def _texts(self) -> Iterator[tuple[Item, str, Any]]:
        """The texts of the world and everything in it, each with its item and the path of its field."""
        yield self.world, "name", self.world.name
        yield self.world, "collision_detector", self.world.collision_detector
        for field, kind in _NAMED:
            yield from (
                (self.world, f"{field}.name", one.name) for one in getattr(self.world, field) if isinstance(one, kind)
            )
        yield from ((item, "name", item.name) for items in (self.models, self.bodies, self.joints) for item in items)
        for body in self.bodies:
            for one in (*body.visuals, *body.collisions, *body.markers):
                if isinstance(one, Shape | Marker):
                    yield one, "name", one.name
        for joint in self.joints:
            yield from ((dof, "name", dof.name) for dof in joint._dofs or () if isinstance(dof, Dof))

    # --- structure ------------------------------------------------------------------------------------

    def _check_tree(self) -> None:
        """Check that the joints, without loops, connect the bodies of each model to a tree, parents first."""
        number = {id(body): index for index, body in enumerate(self.bodies)}
        if len(number) != len(self.bodies):
            self._report_repeated_bodies()
        elif self._check_ends():
            tree = [joint for joint in self.joints if not joint.loop]
            child = np.array([number[id(joint.child)] for joint in tree], dtype=np.intp)
            parent = np.array([-1 if j.parent is None else number[id(j.parent)] for j in tree], dtype=np.intp)
            counts = np.bincount(child, minlength=len(self.bodies))
            for index in np.flatnonzero(counts != 1).tolist():
                self._report_parent_joints(self.bodies[index])
            if (counts == 1).all():
                self._check_order(tree, child, parent)

    def _report_repeated_bodies(self) -> None:
        known: set[int] = set()
        for model in self.models:
            for body in model.bodies:
                if id(body) in known:
                    self.report("SC103.repeated", model, "bodies", [body], body=body.name, model=model.name)
                known.add(id(body))

    def _check_ends(self) -> bool:
        """Check that each joint connects two bodies of its model."""
        owner = {id(body): model for model in self.models for body in model.bodies}
        before = len(self.values.problems)
        for model in self.models:
            for joint in model.joints:
                child: Body | None = joint.child
                parent = joint.parent
                if child is None:
                    self.values.report_value(joint, "child", "child", child, "Body")
                elif child is parent:
                    self.report("SC103.self", joint, "parent", [child], joint=joint.name, body=child.name)
                elif owner.get(id(child)) is not model or (parent is not None and owner.get(id(parent)) is not model):
                    self._report_ends_outside(joint, model)
        return len(self.values.problems) == before

    def _report_ends_outside(self, joint: Joint, model: Model) -> None:
        own = {id(body) for body in model.bodies}
        ends: list[tuple[str, Any]] = [("child", joint.child), ("parent", joint.parent)]
        for field, end in ends:
            if end is not None and id(end) not in own:
                details: dict[str, Any] = {"field": field, "body": getattr(end, "name", end), "model": model.name}
                self.report("SC103.outside", joint, field, [end], joint=joint.name, **details)

    def _report_parent_joints(self, body: Body) -> None:
        own = [joint for joint in self.joints if joint.child is body]
        moving = [joint for joint in own if not joint.loop]
        if moving:
            names = [str(joint.name) for joint in moving]
            self.report("SC103.several", moving[1], "loop", moving, body=body.name, joints=names)
        else:
            self.report("SC103.none", body, "loop", own, body=body.name)

    def _check_order(self, joints: Sequence[Joint], child: NDArray[np.intp], parent: NDArray[np.intp]) -> None:
        """Check that no joint is below itself, and that each one follows the joint of its parent body."""
        place = np.empty(len(self.bodies), dtype=np.intp)
        place[child] = np.arange(len(joints))
        late = (parent >= 0) & (place[parent] > np.arange(len(joints)))
        if not late.any():
            return
        above = np.full(len(self.bodies) + 1, -1, dtype=np.intp)  # the last entry is the world
        above[child] = parent
        for _ in range(len(self.bodies).bit_length()):
            above = above[above]
        cycle = [joints[index] for index in np.flatnonzero(above[child] >= 0).tolist()]
        if cycle:
            names = [str(joint.child.name) for joint in cycle[:_MOST_NAMES]]
            self.report("SC103.cycle", cycle[0], "parent", cycle, bodies=names)
            return
        for index in np.flatnonzero(late).tolist():
            above_it = joints[place[parent[index]]]
            joint, body = joints[index], above_it.child.name
            self.report("SC103.order", joint, "parent", [above_it], joint=joint.name, body=body)


_MOST_NAMES = 5
"""How many bodies of a cycle a message lists."""


def doubtful_values(world: World, invalid: Iterable[Item] = ()) -> list[Problem]:
    """Problems of a world whose values have the right types; items that are `invalid` are skipped."""
    found: list[Problem] = []
    skipped = set(map(id, invalid))
    if world.collision_detector and world.collision_detector not in COLLISION_DETECTORS:
        details = {"name": world.collision_detector, "known": ", ".join(COLLISION_DETECTORS)}
        found.append(Problem("SC117", world, "collision_detector", details))
    for model in world.models:
        if not model.bodies:
            found.append(Problem("SC113", model, "bodies", {"model": model.name}))
        for body in model.bodies:
            if id(body) not in skipped:
                found += _body_problems(body, is_static=model.static)
        for joint in model.joints:
            if id(joint) not in skipped:
                found += _joint_problems(joint, model)
    return found


def _body_problems(body: Body, *, is_static: bool) -> list[Problem]:
    found: list[Problem] = []
    if body.mass == 0.0 and not is_static:
        found.append(Problem("SC108", body, "inertia", {"body": body.name}))
    if body.inertia.moment is not None:
        validity = check_moment(body.inertia.moment)
        details: dict[str, Any] = {"body": body.name, "moments": ", ".join(f"{v:.4g}" for v in validity.eigenvalues)}
        if not validity.definite:
            found.append(Problem("SC109.negative", body, "inertia", details))
        elif not validity.triangle:
            found.append(Problem("SC109.triangle", body, "inertia", details))
    for shape in {id(one.geometry): one for one in body.shapes}.values():
        if isinstance(shape.geometry, Mesh) and shape.geometry.path is None:
            found.append(Problem("SC114", shape, "geometry", {"uri": shape.geometry.uri, "body": body.name}))
    materials = {id(one.material): one for one in body.shapes if one.material is not None}
    for shape in materials.values():
        image = shape.material.texture if shape.material is not None else None
        if image is not None and image.path is None:
            found.append(Problem("SC114.texture", shape, "material", {"uri": image.uri, "body": body.name}))
    return found


def _joint_problems(joint: Joint, model: Model) -> list[Problem]:
    found: list[Problem] = []
    if any(not any(axis) for axis in joint.axes):
        found.append(Problem("SC110", joint, "axes", {"joint": joint.name}))
    for name, dof in zip(joint.dof_names, joint._dofs or (), strict=False):
        found += _dof_problems(joint, name, dof)
    if joint.mimic is not None:
        leader = next((one for one in model.joints if joint.mimic.joint == one.name), None)
        details = {"joint": joint.name, "leader": joint.mimic.joint, "model": model.name}
        if leader is None:
            found.append(Problem("SC115.unknown", joint, "mimic", details))
        elif not TRAITS[leader.kind].motion:
            found.append(Problem("SC115.fixed", joint, "mimic", details))
    return found


def _dof_problems(joint: Joint, name: str, dof: Dof) -> list[Problem]:
    low, high = dof.position_limits
    limits = {"dof": name, "low": f"{low:g}", "high": f"{high:g}"}
    found: list[Problem] = []
    if low > high:
        found.append(Problem("SC111.reversed", joint, "dofs", limits))
    elif not low <= dof.position <= high:
        found.append(Problem("SC111.outside", joint, "dofs", {**limits, "found": f"{dof.position:g}"}))
    for field in ("damping", "friction", "stiffness"):
        value = getattr(dof, field)
        if value < 0.0:
            found.append(Problem("SC112", joint, "dofs", {"field": field, "dof": name, "found": f"{value:g}"}))
    return found
